#include "capstan/geometry/ray_cast.h"

#include <gtest/gtest.h>

#include "capstan/geometry/collide.h"
#include "test_meshes.h"

namespace capstan::ray_cast_test {
namespace {

struct Named {
  const char* name;
  Collider collider;
};
std::vector<Named> convex_shapes() {
  std::vector<Vec3> points = sphere_mesh(0.3, 1).vertices;
  return {{"sphere", make_collider(Sphere{0.3})},
          {"box", make_collider(Box{{0.3, 0.2, 0.1}})},
          {"capsule", make_collider(Capsule{0.15, 0.2})},
          {"cylinder", make_collider(Cylinder{0.25, 0.2})},
          {"ellipsoid", make_collider(Ellipsoid{{0.3, 0.2, 0.1}})},
          {"hull", make_collider(std::make_shared<const ConvexHull>(make_convex_hull(points)))},
          {"half_space", make_collider(HalfSpace{})}};
}

// The plain twin: the signed distance of a point. Zero at the hit, of one sign before it; the normal is its
// gradient.
TEST(RayCast, FirstZeroOfTheSignedDistance) {
  const Collider point = make_collider(Sphere{0});
  RandomPoses random(1);
  for (const Named& shape : convex_shapes()) {
    int hits = 0, misses = 0, from_inside = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const Transform X = random.pose(0.2);
      const Vec3 o = random.vector(0.8);
      const Vec3 d = trial % 2 ? random.direction() : Vec3((X.p + random.vector(0.2) - o).normalized());
      const auto distance = [&](double t) {
        return signed_distance(point, {Mat3::Identity(), o + t * d}, shape.collider, X);
      };
      RayHit hit;
      const bool found = ray_cast(shape.collider, X, o, d, 2, &hit);
      const double end = found ? hit.distance : 2;
      const bool inside = distance(0) < 0;
      for (int i = 1; i < 20; ++i) {
        const double s = distance(end * i / 20);
        EXPECT_TRUE(inside ? s < 1e-9 : s > -1e-9) << shape.name << " trial " << trial;
      }
      hits += found;
      misses += !found;
      if (!found) continue;
      from_inside += inside;
      EXPECT_NEAR(distance(hit.distance), 0, 1e-9) << shape.name << " trial " << trial;
      EXPECT_LT((hit.point - (o + hit.distance * d)).norm(), 1e-14);
      EXPECT_NEAR(hit.normal.norm(), 1, 1e-12);
      EXPECT_TRUE(inside ? hit.normal.dot(d) >= -1e-9 : hit.normal.dot(d) <= 1e-9) << shape.name;
      const Vec3 out = hit.point + 1e-4 * hit.normal;
      EXPECT_NEAR(signed_distance(point, {Mat3::Identity(), out}, shape.collider, X), 1e-4, 1e-6)
          << shape.name;
      RayHit shorter;
      EXPECT_FALSE(ray_cast(shape.collider, X, o, d, 0.999 * hit.distance, &shorter));
    }
    EXPECT_GT(hits, 100) << shape.name;
    EXPECT_GT(misses, 100) << shape.name;
    EXPECT_GT(from_inside, 5) << shape.name;
  }
}

TEST(RayCast, BoxOfTrianglesEqualsBox) {
  const Vec3 half(0.3, 0.2, 0.25);
  const Collider box = make_collider(Box{half});
  const Collider mesh = make_collider(Shape(SurfaceMesh{shared(box_mesh(half, 3))}));
  const Collider sdf = make_collider(Shape(SignedDistanceMesh{shared(box_mesh(half, 2)), 16}));
  RandomPoses random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    const Transform X = random.pose(0.2);
    const Vec3 o = random.vector(0.8), d = random.direction();
    RayHit exact, hit;
    const bool found = ray_cast(box, X, o, d, 3, &exact);
    for (const Collider* c : {&mesh, &sdf}) {
      ASSERT_EQ(ray_cast(*c, X, o, d, 3, &hit), found);
      if (!found) continue;
      EXPECT_NEAR(hit.distance, exact.distance, 1e-12);
      EXPECT_LT((hit.normal - exact.normal).norm(), 1e-12);
      EXPECT_GE(hit.triangle, 0);
    }
  }
}

TEST(RayCast, HeightField) {
  HeightField field{5, 5, {1, 1}, 0.1, std::make_shared<std::vector<double>>(25, 0.3)};
  const Collider c = make_collider(Shape(field));
  RayHit hit;
  ASSERT_TRUE(ray_cast(c, {}, {0.2, 0.3, 2}, {0, 0, -1}, 10, &hit));
  EXPECT_NEAR(hit.distance, 1.7, 1e-14);
  EXPECT_EQ(hit.normal, Vec3::UnitZ());
  EXPECT_FALSE(ray_cast(c, {}, {1.2, 0.3, 2}, {0, 0, -1}, 10, &hit));
}

TEST(RayCast, AlongTheAxesAndThroughCorners) {
  RayHit hit;
  const double inf = std::numeric_limits<double>::infinity();
  const Collider box = make_collider(Box{{1, 1, 1}});
  ASSERT_TRUE(ray_cast(box, {}, {-3, 0, 0}, {1, 0, 0}, inf, &hit));
  EXPECT_EQ(hit.distance, 2);
  EXPECT_EQ(hit.normal, Vec3(-1, 0, 0));
  ASSERT_TRUE(ray_cast(box, {}, {0, 0, 0}, {0, 1, 0}, inf, &hit));
  EXPECT_EQ(hit.distance, 1);
  EXPECT_EQ(hit.normal, Vec3(0, 1, 0));
  EXPECT_FALSE(ray_cast(box, {}, {-3, 1.5, 0}, {1, 0, 0}, inf, &hit));
  ASSERT_TRUE(ray_cast(make_collider(Sphere{1}), {}, {0, 0, 0}, {0, 0, 1}, inf, &hit));
  EXPECT_EQ(hit.distance, 1);
  ASSERT_TRUE(ray_cast(make_collider(Cylinder{1, 2}), {}, {0, 0, 5}, {0, 0, -1}, inf, &hit));
  EXPECT_EQ(hit.distance, 3);
  EXPECT_EQ(hit.normal, Vec3::UnitZ());
  ASSERT_TRUE(ray_cast(make_collider(Capsule{1, 2}), {}, {0, 0, 5}, {0, 0, -1}, inf, &hit));
  EXPECT_EQ(hit.distance, 2);
  const Collider mesh = make_collider(Shape(SurfaceMesh{shared(box_mesh({1, 1, 1}, 2))}));
  ASSERT_TRUE(ray_cast(mesh, {}, {0, 0, 3}, {0, 0, -1}, inf, &hit));  // through a vertex of four cells
  EXPECT_EQ(hit.distance, 2);
}

}  // namespace
}  // namespace capstan::ray_cast_test
