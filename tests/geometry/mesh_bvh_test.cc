#include "capstan/geometry/mesh_bvh.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/base/diagnostics.h"
#include "test_meshes.h"

namespace capstan::mesh_bvh_test {
namespace {

// Nearest point by fine barycentric sampling and local refinement.
double brute_triangle_distance(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
  double best = 1e300, u0 = 0, v0 = 0, step = 1;
  for (int level = 0; level < 40; ++level) {
    const double cu = u0, cv = v0;
    for (int i = -4; i <= 4; ++i) {
      for (int j = -4; j <= 4; ++j) {
        double u = std::clamp(cu + step * i / 4, 0.0, 1.0), v = std::clamp(cv + step * j / 4, 0.0, 1.0);
        if (u + v > 1) {
          const double s = (u + v - 1) / 2;
          u = std::clamp(u - s, 0.0, 1.0), v = 1 - u;
        }
        const double d = (p - (a + u * (b - a) + v * (c - a))).norm();
        if (d < best) best = d, u0 = u, v0 = v;
      }
    }
    step *= 0.6;
  }
  return best;
}

TEST(ClosestPointOnTriangle, EqualsSampling) {
  RandomPoses random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const Vec3 a = random.vector(1), b = random.vector(1), c = random.vector(1), p = random.vector(2);
    TriangleFeature feature;
    const Vec3 q = closest_point_on_triangle(p, a, b, c, &feature);
    EXPECT_NEAR((p - q).norm(), brute_triangle_distance(p, a, b, c), 1e-6);
  }
}

TEST(ClosestPointOnTriangle, FeatureSaysWhereItIs) {
  const Vec3 a(0, 0, 0), b(1, 0, 0), c(0, 1, 0);
  const auto feature = [&](const Vec3& p) {
    TriangleFeature f;
    closest_point_on_triangle(p, a, b, c, &f);
    return f;
  };
  using enum TriangleFeature;
  EXPECT_EQ(feature({0.2, 0.2, 1}), face);
  EXPECT_EQ(feature({0.5, -1, 1}), edge_0);
  EXPECT_EQ(feature({1, 1, 1}), edge_1);
  EXPECT_EQ(feature({-1, 0.5, 1}), edge_2);
  EXPECT_EQ(feature({-1, -1, 1}), vertex_0);
  EXPECT_EQ(feature({2, 0, 1}), vertex_1);
  EXPECT_EQ(feature({0, 2, 1}), vertex_2);
}

TEST(ClosestPointOnTriangle, DegenerateTrianglesAreSegmentsAndPoints) {
  TriangleFeature f;
  const Vec3 p(0.3, 1, 0), o(0, 0, 0), x(1, 0, 0), h(0.5, 0, 0);
  EXPECT_NEAR((closest_point_on_triangle(p, o, x, h, &f) - Vec3(0.3, 0, 0)).norm(), 0, 1e-15);
  EXPECT_NEAR((closest_point_on_triangle(p, h, o, x, &f) - Vec3(0.3, 0, 0)).norm(), 0, 1e-15);
  EXPECT_NEAR((closest_point_on_triangle(p, x, x, x, &f) - x).norm(), 0, 1e-15);
  EXPECT_NEAR((closest_point_on_triangle(p, x, x, o, &f) - Vec3(0.3, 0, 0)).norm(), 0, 1e-15);
}

struct Meshes : testing::Test {
  std::vector<MeshBvh> all;
  Meshes() {
    for (TriangleMesh m :
         {floor_mesh(1, 7), box_mesh({0.3, 0.5, 0.7}, 3), torus_mesh(0.7, 0.25, 20, 12), sphere_mesh(1, 3)}) {
      all.push_back(make_mesh_bvh(shared(std::move(m))));
    }
  }
};

TEST_F(Meshes, ClosestPointEqualsBruteForce) {
  RandomPoses random(2);
  for (const MeshBvh& bvh : all) {
    for (int trial = 0; trial < 1000; ++trial) {
      const Vec3 p = random.vector(1.5);
      double best = 1e300;
      for (size_t t = 0; t < bvh.mesh->triangles.size(); ++t) {
        TriangleFeature f;
        const int i = static_cast<int>(t);
        best = std::min(
            best, (p - closest_point_on_triangle(p, bvh.vertex(i, 0), bvh.vertex(i, 1), bvh.vertex(i, 2), &f))
                      .norm());
      }
      EXPECT_EQ(closest_point(bvh, p).distance, best);
      EXPECT_EQ(closest_point(bvh, p, 0.999 * best).triangle, -1);
      EXPECT_GE(closest_point(bvh, p, 1.001 * best).triangle, 0);
    }
  }
}

TEST_F(Meshes, OverlapEqualsBruteForce) {
  RandomPoses random(3);
  for (const MeshBvh& bvh : all) {
    for (int trial = 0; trial < 300; ++trial) {
      const Vec3 c = random.vector(1), h = random.vector(0.3).cwiseAbs();
      const Aabb box{c - h, c + h};
      std::vector<int> found, expected;
      for_each_overlap(bvh, box, [&](int t) { found.push_back(t); });
      for (int t = 0; t < static_cast<int>(bvh.mesh->triangles.size()); ++t) {
        Aabb b;
        for (int k = 0; k < 3; ++k) include(b, bvh.vertex(t, k));
        if (overlaps(b, box)) expected.push_back(t);
      }
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected);
    }
  }
}

TEST_F(Meshes, RayCastEqualsPlainLoop) {
  RandomPoses random(4);
  int hits = 0;
  for (const MeshBvh& bvh : all) {
    for (int trial = 0; trial < 1000; ++trial) {
      const Vec3 o = random.vector(1.5), d = random.direction();
      double best = 10;
      for (int t = 0; t < static_cast<int>(bvh.mesh->triangles.size()); ++t) {
        // Plane, then inside by the three areas.
        const Vec3 &a = bvh.vertex(t, 0), &b = bvh.vertex(t, 1), &c = bvh.vertex(t, 2);
        const Vec3 n = cross(b - a, c - a);
        const double at = n.dot(a - o) / n.dot(d);
        if (!(at >= 0 && at < best)) continue;
        const Vec3 p = o + at * d;
        const double u = n.dot(cross(b - a, p - a)), v = n.dot(cross(c - b, p - b)),
                     w = n.dot(cross(a - c, p - c));
        if (u >= 0 && v >= 0 && w >= 0) best = at;
      }
      MeshRayHit hit;
      const bool found = ray_cast(bvh, o, d, 10, &hit);
      EXPECT_EQ(found, best < 10);
      if (found) {
        EXPECT_NEAR(hit.t, best, 1e-12);
      }
      hits += found;
    }
  }
  EXPECT_GT(hits, 500);
}

TEST_F(Meshes, SignOfABoxAndATorus) {
  RandomPoses random(5);
  const Vec3 h(0.3, 0.5, 0.7);
  EXPECT_TRUE(all[1].solid);
  EXPECT_FALSE(all[0].solid);
  for (int trial = 0; trial < 5000; ++trial) {
    const Vec3 p = random.vector(1);
    const Vec3 q = p.cwiseAbs() - h;
    const double exact = q.cwiseMax(0.0).norm() + std::min(0.0, q.maxCoeff());
    EXPECT_NEAR(closest_point_signed(all[1], p).distance, exact, 1e-12);
    const double torus = std::hypot(std::hypot(p.x(), p.y()) - 0.7, p.z()) - 0.25;
    if (std::abs(torus) > 0.03) {
      EXPECT_EQ(closest_point_signed(all[2], p).distance < 0, torus < 0);
    }
  }
}

TEST(MeshBvh, NamesBadMeshes) {
  EXPECT_THROW(make_mesh_bvh(shared({})), InputError);
  EXPECT_THROW(make_mesh_bvh(shared({{{0, 0, 0}}, {{0, 0, 1}}})), InputError);
  EXPECT_THROW(make_mesh_bvh(shared({{{0, 0, 0}, {1, 0, 0}, {0, std::nan(""), 0}}, {{0, 1, 2}}})),
               InputError);
}

TEST(HeightFieldMesh, FollowsTheHeights) {
  HeightField field{3, 4, {3, 2}, 1, std::make_shared<std::vector<double>>(12, 0.5)};
  const TriangleMesh mesh = height_field_mesh(field);
  EXPECT_EQ(mesh.triangles.size(), 12u);
  EXPECT_EQ(mesh.vertices.front(), Vec3(-3, -2, 0.5));
  EXPECT_EQ(mesh.vertices.back(), Vec3(3, 2, 0.5));
  const MeshBvh bvh = make_height_field_bvh(field);
  for (const Vec3& n : bvh.face_normal) EXPECT_EQ(n, Vec3::UnitZ());
  field.rows = 5;
  EXPECT_THROW(height_field_mesh(field), InputError);
}

}  // namespace
}  // namespace capstan::mesh_bvh_test
