#include "capstan/contacts/broad_phase.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include "capstan/base/diagnostics.h"

static std::atomic<long> num_allocations = 0;
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++num_allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace capstan::broad_phase_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct World {
  std::vector<BroadPhaseCollider> colliders;
  std::vector<std::array<int, 2>> excluded_bodies, excluded_colliders;
  std::vector<Aabb> boxes;
};

// The plain twin.
std::vector<ColliderPair> brute_force(const World& w) {
  const auto listed = [](const std::vector<std::array<int, 2>>& list, int a, int b) {
    for (const auto& e : list) {
      if ((e[0] == a && e[1] == b) || (e[0] == b && e[1] == a)) return true;
    }
    return false;
  };
  const auto is_empty = [](const Aabb& b) { return (b.lower.array() > b.upper.array()).any(); };
  std::vector<ColliderPair> pairs;
  for (int i = 0; i < static_cast<int>(w.boxes.size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(w.boxes.size()); ++j) {
      const BroadPhaseCollider &a = w.colliders[i], &b = w.colliders[j];
      if (a.body == b.body || (a.is_static && b.is_static)) continue;
      if (!(a.group_bits & b.mask_bits) && !(b.group_bits & a.mask_bits)) continue;
      if (listed(w.excluded_bodies, a.body, b.body) || listed(w.excluded_colliders, i, j)) continue;
      if (is_empty(w.boxes[i]) || is_empty(w.boxes[j])) continue;
      const Aabb &p = w.boxes[i], &q = w.boxes[j];
      if ((p.lower.array() <= q.upper.array()).all() && (q.lower.array() <= p.upper.array()).all()) {
        pairs.push_back({i, j});
      }
    }
  }
  return pairs;
}

Aabb random_box(std::mt19937& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  std::uniform_int_distribution<int> die(0, 39);
  const Vec3 c(unit(random), unit(random), unit(random));
  const double size = std::pow(10.0, -1.5 + unit(random));
  Vec3 h = 0.5 * size * (Vec3(unit(random), unit(random), unit(random)).cwiseAbs() + Vec3::Constant(0.05));
  switch (die(random)) {
    case 0:
      return {c, c};  // a point
    case 1:
      h.z() = 0;  // a plate
      break;
    case 2:
      return {{-kInf, -kInf, -kInf}, {kInf, kInf, c.z()}};
    case 3:
      return {};  // empty
    case 4:
      return {Vec3::Constant(-kInf), Vec3::Constant(kInf)};
    case 5:
      return {1e6 * c - h, 1e6 * c + h};  // far away
    case 6:
      return {Vec3::Zero(), Vec3::Zero()};  // many coincide
    case 7:
      return {(10 * c).array().round().matrix() / 10,
              (10 * c).array().round().matrix() / 10 + Vec3::Constant(0.1)};
  }
  return {c - h, c + h};
}

World random_world(int n, std::mt19937& random) {
  std::uniform_int_distribution<int> body(0, n), bits(0, 3), coin(0, 3);
  World w;
  for (int i = 0; i < n; ++i) {
    w.colliders.push_back({body(random), coin(random) == 0, 1u << bits(random), 15u & ~(1u << bits(random))});
    w.boxes.push_back(random_box(random));
  }
  for (int k = 0; k < n / 4; ++k) {
    w.excluded_bodies.push_back({body(random), body(random)});
    w.excluded_colliders.push_back({body(random) % n, body(random) % n});
  }
  return w;
}

std::vector<ColliderPair> copy(std::span<const ColliderPair> pairs) {
  return {pairs.begin(), pairs.end()};
}

TEST(BroadPhase, EqualsBruteForceOnRandomWorlds) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const World w = random_world(1 + trial % 60, random);
    BroadPhase b(w.colliders, w.excluded_bodies, w.excluded_colliders);
    ASSERT_EQ(copy(b.update(w.boxes)), brute_force(w)) << "trial " << trial;
  }
}

TEST(BroadPhase, EqualsBruteForceAlongHistories) {
  std::mt19937 random(12);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> die(0, 199);
  size_t total = 0;
  for (int trial = 0; trial < 40; ++trial) {
    World w = random_world(80, random);
    BroadPhase b(w.colliders, w.excluded_bodies, w.excluded_colliders);
    std::vector<Vec3> velocity(80);
    for (Vec3& v : velocity) v = 0.01 * Vec3(normal(random), normal(random), normal(random));
    for (int step = 0; step < 60; ++step) {
      ASSERT_EQ(copy(b.update(w.boxes)), brute_force(w)) << "trial " << trial << " step " << step;
      total += brute_force(w).size();
      for (int i = 0; i < 80; ++i) {
        w.boxes[i].lower += velocity[i];
        w.boxes[i].upper += velocity[i];
        if (die(random) == 0) w.boxes[i] = random_box(random);  // may become empty, unbounded, bounded
      }
    }
  }
  EXPECT_GT(total, 100000u);  // not a test of empty lists
}

// Enough that every part of an update has several blocks.
TEST(BroadPhase, ThreadsFindTheSame) {
  constexpr int kColliders = 1500;
  std::mt19937 random(15);
  std::normal_distribution<double> normal;
  World w = random_world(kColliders, random);
  BroadPhase a(w.colliders, w.excluded_bodies, w.excluded_colliders), b = a;
  const Threads three(3);
  for (int step = 0; step < 20; ++step) {
    const std::vector<ColliderPair> alone = copy(a.update(w.boxes));
    ASSERT_EQ(copy(b.update(w.boxes, three)), alone) << step;
    ASSERT_GT(alone.size(), 10000u);
    for (int i = 0; i < kColliders; i += 1 + step % 3) {
      const Vec3 way = 0.05 * Vec3(normal(random), normal(random), normal(random));
      w.boxes[i].lower += way;
      w.boxes[i].upper += way;
    }
  }
}

TEST(BroadPhase, HistoryLeavesNoTrace) {
  std::mt19937 random(13);
  World w = random_world(300, random);
  BroadPhase a(w.colliders), b(w.colliders);
  for (int k = 0; k < 5; ++k) {
    World other = random_world(300, random);
    a.update(other.boxes);
  }
  EXPECT_EQ(copy(a.update(w.boxes)), copy(b.update(w.boxes)));
  a.forget();
  EXPECT_EQ(copy(a.update(w.boxes)), copy(b.update(w.boxes)));
}

TEST(BroadPhase, TouchingSidesCount) {
  BroadPhase b(std::vector<BroadPhaseCollider>{{0}, {1}});
  EXPECT_EQ(b.update(std::vector<Aabb>{{{0, 0, 0}, {1, 1, 1}}, {{1, 1, 1}, {2, 2, 2}}}).size(), 1u);
  EXPECT_EQ(b.update(std::vector<Aabb>{{{0, 0, 0}, {1, 1, 1}}, {{1 + 1e-15, 1, 1}, {2, 2, 2}}}).size(), 0u);
}

TEST(BroadPhase, RefusesNotANumberAndWrongCounts) {
  BroadPhase b(std::vector<BroadPhaseCollider>{{0}, {1}});
  const std::vector<Aabb> good{{{0, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}};
  EXPECT_EQ(b.update(good).size(), 1u);
  std::vector<Aabb> bad = good;
  bad[1].upper.y() = std::nan("");
  try {
    b.update(bad);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("collider 1"), std::string::npos) << e.what();
  }
  EXPECT_THROW(b.update(std::span(good).first(1)), InputError);
  EXPECT_EQ(b.update(good).size(), 1u);
}

TEST(BroadPhase, NoColliders) {
  BroadPhase b(std::vector<BroadPhaseCollider>{});
  EXPECT_TRUE(b.update({}).empty());
}

// 2000 boxes circle on a floor and a half space; the pattern repeats, so the second lap allocates nothing.
TEST(BroadPhase, AllocatesNothingAfterWarmUp) {
  const int n = 2000;
  std::mt19937 random(14);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<BroadPhaseCollider> colliders;
  std::vector<Vec3> centre;
  for (int i = 0; i < n; ++i) {
    colliders.push_back({i});
    centre.push_back(Vec3(unit(random), unit(random), unit(random)));
  }
  colliders.push_back({-1, true, 1, 1});
  colliders.push_back({-1, true, 1, 1});
  BroadPhase b(colliders);
  std::vector<Aabb> boxes(n + 2);
  boxes[n] = {{-5, -5, -1}, {5, 5, 0}};
  boxes[n + 1] = {Vec3::Constant(-kInf), {kInf, kInf, 0}};
  long before = 0;
  size_t pairs = 0;
  for (int step = 0; step < 300; ++step) {
    for (int i = 0; i < n; ++i) {
      const double angle = 0.1 * (step % 63) + i;
      const Vec3 c = centre[i] + 0.1 * Vec3(std::cos(angle), std::sin(angle), 0);
      boxes[i] = {c - Vec3::Constant(0.04), c + Vec3::Constant(0.04)};
    }
    if (step == 200) before = num_allocations;
    pairs += b.update(boxes).size();
  }
  EXPECT_EQ(num_allocations - before, 0);
  EXPECT_GT(pairs, 100000u);
}

}  // namespace
}  // namespace capstan::broad_phase_test
