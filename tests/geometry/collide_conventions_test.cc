// What signed_distance() and collide_convex() promise, as properties on 2,000 random poses per pair of
// shapes.
#include <gtest/gtest.h>

#include "tests/geometry/collision_twins.h"

namespace capstan::collide_conventions_test {
namespace {

using twin::NamedShape;
using twin::Poses;
using twin::shapes;

constexpr int kPoses = 2000;

struct Pair {
  NamedShape A, B;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.A.name << " " << pair.B.name;
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const NamedShape& A : shapes()) {
    for (const NamedShape& B : shapes()) {
      if (A.name != "half_space" || B.name != "half_space") pairs.push_back({A, B});
    }
  }
  return pairs;
}

class Conventions : public testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(AllPairs, Conventions, testing::ValuesIn(all_pairs()), [](const auto& test_info) {
  return test_info.param.A.name + "_" + test_info.param.B.name;
});

// p_B = p_A + d n, unit n, p_A on A and p_B on B; s(n) = d proves that d is not too large.
TEST_P(Conventions, WitnessIsOnBothShapes) {
  const auto& [A, B] = GetParam();
  const bool plane = A.name == "half_space" || B.name == "half_space";
  Poses poses(11);
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.01, 0.02), &X_WA, &X_WB);
    ContactPoint c;
    const double d = signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
    ASSERT_EQ(d, c.distance);
    ASSERT_NEAR(c.normal.norm(), 1, 1e-14);
    ASSERT_LT((c.p_A + d * c.normal - c.p_B).norm(), 1e-15) << k;
    ASSERT_LT(twin::outside(A.collider, X_WA, c.p_A), 1e-8) << k << " d " << d;
    ASSERT_LT(twin::outside(B.collider, X_WB, c.p_B), 1e-8) << k << " d " << d;
    if (!plane) {
      ASSERT_NEAR(twin::separation(A.collider, X_WA, B.collider, X_WB, c.normal), d, 1e-10) << k;
    }
  }
}

// To 1e-9 m only: where a corner touches a rim a whole cone of normals is as good as the best.
TEST_P(Conventions, MovingBackMakesThemTouch) {
  const auto& [A, B] = GetParam();
  Poses poses(12);
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.005, 0.02), &X_WA, &X_WB);
    ContactPoint c;
    signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
    X_WB.p -= c.distance * c.normal;
    ASSERT_NEAR(signed_distance(A.collider, X_WA, B.collider, X_WB), 0, 1e-9) << k << " d " << c.distance;
  }
}

TEST_P(Conventions, SwappingFlipsTheNormal) {
  const auto& [A, B] = GetParam();
  Poses poses(13);
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.002, 0.02), &X_WA, &X_WB);
    ContactPoint c, r;
    signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
    signed_distance(B.collider, X_WB, A.collider, X_WA, &r);
    ASSERT_NEAR(c.distance, r.distance, 1e-10) << k;
    if (std::abs(c.distance) > 1e-4) {
      ASSERT_LT((c.normal + r.normal).norm(), 1e-5) << k << " d " << c.distance;
    }
  }
}

// The signed distance changes no faster than the fastest point of the shapes moves, so steps of 1e-4 m and
// 1e-3 rad change it by less than 1e-4 + 1e-3 * 0.13 (the largest distance of a point from its origin).
TEST_P(Conventions, DistanceIsContinuousAlongPaths) {
  const auto& [A, B] = GetParam();
  Poses poses(14);
  const double lever = 0.13;
  for (int k = 0; k < kPoses / 50; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.005, 0.002), &X_WA, &X_WB);
    const Vec3 v = poses.direction(), w = poses.direction();
    const bool fixed = B.name == "half_space";
    double before = signed_distance(A.collider, X_WA, B.collider, X_WB);
    for (int step = 0; step < 50; ++step) {
      Transform& X = fixed ? X_WA : X_WB;
      X.p += 1e-4 * v;
      X.R = rotation_matrix(quat_exp(1e-3 * w)) * X.R;
      const double d = signed_distance(A.collider, X_WA, B.collider, X_WB);
      ASSERT_LE(std::abs(d - before), 1e-4 + 1e-3 * lever + 1e-10) << k << " " << step;
      before = d;
    }
  }
}

TEST_P(Conventions, SameInEveryFrame) {
  const auto& [A, B] = GetParam();
  Poses poses(15);
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.002, 0.02), &X_WA, &X_WB);
    const Transform X_VW = poses.pose(3);
    const double d = signed_distance(A.collider, X_WA, B.collider, X_WB);
    ASSERT_NEAR(signed_distance(A.collider, X_VW * X_WA, B.collider, X_VW * X_WB), d, 1e-10) << k;
    ASSERT_EQ(signed_distance(A.collider, X_WA, B.collider, X_WB), d);  // same bits
  }
}

// A manifold is empty beyond the margin; else its smallest distance is the signed distance, whatever the
// margin, all points obey p_B = p_A + d n, lie on both shapes and have different features.
TEST_P(Conventions, ManifoldAgreesWithTheDistance) {
  const auto& [A, B] = GetParam();
  Poses poses(16);
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(A.collider, B.collider, poses.uniform(-0.005, 0.02), &X_WA, &X_WB);
    const double d = signed_distance(A.collider, X_WA, B.collider, X_WB);
    for (const double margin : {0.0, 0.005, 0.05}) {
      Manifold m;
      collide_convex(A.collider, X_WA, B.collider, X_WB, margin, &m);
      if (std::abs(d - margin) < 1e-9) continue;
      ASSERT_EQ(m.size > 0, d <= margin) << k << " d " << d << " margin " << margin;
      double smallest = 1e300;
      for (int i = 0; i < m.size; ++i) {
        const ContactPoint& c = m.points[i];
        smallest = std::min(smallest, c.distance);
        ASSERT_LE(c.distance, margin);
        ASSERT_NEAR(c.normal.norm(), 1, 1e-14);
        ASSERT_LT((c.p_A + c.distance * c.normal - c.p_B).norm(), 1e-15);
        // Side lines that cross at a small angle are apart sideways; the rest of the room is for 1 - cos 5
        // deg.
        ASSERT_LT(twin::outside(A.collider, X_WA, c.p_A), 1e-3) << k << " point " << i;
        ASSERT_LT(twin::outside(B.collider, X_WB, c.p_B), 1e-3) << k << " point " << i;
        for (int j = 0; j < i; ++j) ASSERT_NE(c.feature, m.points[j].feature) << k;
      }
      if (m.size > 0) {
        ASSERT_NEAR(smallest, d, 2e-9) << k << " margin " << margin;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::collide_conventions_test
