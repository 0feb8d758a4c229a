// Conventions of collide() for pairs with a mesh, a height field or a signed-distance mesh, on random poses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "capstan/geometry/collide.h"
#include "test_meshes.h"

static long num_allocations = 0;
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

namespace capstan::mesh_property_test {
namespace {

struct Named {
  const char* name;
  Collider collider;
};

std::vector<Named> convex_shapes() {
  std::vector<Vec3> points = sphere_mesh(0.08, 1).vertices;
  return {{"sphere", make_collider(Sphere{0.08})},
          {"box", make_collider(Box{{0.08, 0.06, 0.05}})},
          {"capsule", make_collider(Capsule{0.04, 0.06})},
          {"cylinder", make_collider(Cylinder{0.06, 0.05})},
          {"ellipsoid", make_collider(Ellipsoid{{0.08, 0.06, 0.05}})},
          {"hull", make_collider(std::make_shared<const ConvexHull>(make_convex_hull(points)))},
          {"half_space", make_collider(HalfSpace{})}};
}

HeightField hills() {
  auto heights = std::make_shared<std::vector<double>>();
  for (int r = 0; r < 24; ++r) {
    for (int c = 0; c < 24; ++c) heights->push_back(0.05 * std::sin(0.7 * r) * std::cos(0.5 * c));
  }
  return {24, 24, {0.5, 0.5}, 0.2, heights};
}

std::vector<Named> meshes() {
  return {
      {"box mesh", make_collider(Shape(SurfaceMesh{shared(box_mesh({0.2, 0.15, 0.1}, 3))}))},
      {"open floor", make_collider(Shape(SurfaceMesh{shared(floor_mesh(0.4, 6))}))},
      {"hills", make_collider(Shape(hills()))},
      {"sdf torus", make_collider(Shape(SignedDistanceMesh{shared(torus_mesh(0.15, 0.06, 24, 14)), 32}))}};
}

double smallest(const std::vector<ContactPoint>& contacts) {
  double d = 1e300;
  for (const ContactPoint& c : contacts) d = std::min(d, c.distance);
  return d;
}

bool same(const std::vector<ContactPoint>& a, const std::vector<ContactPoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ContactPoint& x, const ContactPoint& y) {
    return x.p_A == y.p_A && x.p_B == y.p_B && x.normal == y.normal && x.distance == y.distance &&
           x.feature == y.feature;
  });
}

TEST(MeshProperties, ConventionsOnRandomPoses) {
  constexpr double margin = 0.01;
  for (const Named& mesh : meshes()) {
    for (const Named& shape : convex_shapes()) {
      RandomPoses random(1);
      int touching = 0;
      std::vector<ContactPoint> contacts, again, back, without;
      for (int trial = 0; trial < 2000; ++trial) {
        const Transform X_A = random.pose(0.3), X_B = random.pose(0.05);
        contacts.clear(), again.clear(), back.clear(), without.clear();
        collide(shape.collider, X_A, mesh.collider, X_B, margin, &contacts);
        touching += !contacts.empty();
        for (const ContactPoint& c : contacts) {
          ASSERT_TRUE(c.p_A.allFinite() && c.p_B.allFinite());
          ASSERT_NEAR(c.normal.norm(), 1, 1e-12);
          ASSERT_LT((c.p_B - c.p_A - c.distance * c.normal).norm(), 1e-12);
          ASSERT_LE(c.distance, margin);
        }
        for (size_t i = 0; i < contacts.size(); ++i) {
          for (size_t k = 0; k < i; ++k)
            ASSERT_NE(contacts[i].feature, contacts[k].feature) << mesh.name << " " << shape.name;
        }
        if (trial % 10 == 0) {
          collide(shape.collider, X_A, mesh.collider, X_B, margin, &again);
          ASSERT_TRUE(same(contacts, again));
        }
        if (trial % 4 != 0) continue;
        collide(mesh.collider, X_B, shape.collider, X_A, margin, &back);
        ASSERT_EQ(back.size(), contacts.size());
        for (size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i].normal, -contacts[i].normal);
        // Without a margin the depth of what overlaps is the same.
        collide(shape.collider, X_A, mesh.collider, X_B, 0, &without);
        if (smallest(contacts) < -1e-9) {
          ASSERT_NEAR(smallest(without), smallest(contacts), 1e-7)
              << mesh.name << " " << shape.name << " trial " << trial;
        } else if (smallest(contacts) > 1e-9) {
          ASSERT_TRUE(without.empty());
        }
      }
      EXPECT_GT(touching, 100) << mesh.name << " " << shape.name;
    }
  }
}

// Apart from the surface, a step of length h changes the distance by at most h; and so it does down to 2 mm
// of overlap.
TEST(MeshProperties, DistanceIsContinuous) {
  constexpr double margin = 0.03;
  for (const Named& mesh : meshes()) {
    for (const Named& shape : convex_shapes()) {
      RandomPoses random(2);
      int compared = 0;
      std::vector<ContactPoint> contacts;
      for (int path = 0; path < 60; ++path) {
        // From a random pose to 1 cm before the nearest contact.
        Transform X = random.pose(0.35);
        contacts.clear();
        collide(shape.collider, X, mesh.collider, {}, 1, &contacts);
        if (contacts.empty()) continue;
        const ContactPoint nearest = *std::min_element(
            contacts.begin(), contacts.end(), [](auto& a, auto& b) { return a.distance < b.distance; });
        X.p += (nearest.distance - 0.01) * nearest.normal;
        const Vec3 step = 0.0005 * random.direction();
        double last = 1e300;
        for (int i = 0; i < 40; ++i) {
          contacts.clear();
          collide(shape.collider, X, mesh.collider, {}, margin, &contacts);
          const double d = smallest(contacts);
          const bool near = d < 0.9 * margin && d > -0.002;
          if (near && last < 0.9 * margin && last > -0.002) {
            const double most = 0.0005 * (std::min(d, last) < 0 ? 1.5 : 1.001) + 1e-6;
            ASSERT_LT(std::abs(d - last), most) << mesh.name << " " << shape.name << " path " << path;
            ++compared;
          }
          last = d;
          X.p += step;
        }
      }
      EXPECT_GT(compared, 50) << mesh.name << " " << shape.name;
    }
  }
}

TEST(MeshProperties, AllocatesNothingAfterWarmUp) {
  const std::vector<Named> all = meshes(), convex = convex_shapes();
  std::vector<ContactPoint> contacts;
  long before = 0;
  for (int round = 0; round < 2; ++round) {
    RandomPoses random(3);
    before = num_allocations;
    for (int trial = 0; trial < 25; ++trial) {
      const Transform X_A = random.pose(0.3), X_B = random.pose(0.05);
      for (const Named& mesh : all) {
        for (const Named& shape : convex) {
          contacts.clear();
          collide(shape.collider, X_A, mesh.collider, X_B, 0.01, &contacts);
        }
        contacts.clear();
        collide(all[3].collider, X_A, mesh.collider, X_B, 0.01, &contacts);
      }
    }
  }
  EXPECT_EQ(num_allocations - before, 0);
}

}  // namespace
}  // namespace capstan::mesh_property_test
