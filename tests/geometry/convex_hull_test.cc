#include "capstan/geometry/convex_hull.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/mesh.h"
#include "capstan/math/rotation.h"

namespace capstan::convex_hull_test {
namespace {

double hull_volume(const ConvexHull& hull) {
  TriangleMesh mesh{hull.vertices, {}};
  for (size_t f = 0; f < hull.faces.size(); ++f) {
    const auto loop = hull.face_loop(static_cast<int>(f));
    for (size_t k = 1; k + 1 < loop.size(); ++k) mesh.triangles.push_back({loop[0], loop[k], loop[k + 1]});
  }
  EXPECT_TRUE(is_closed(mesh));
  return volume_properties(mesh).volume;
}

// All the promises of the header, by brute force.
void check(const ConvexHull& hull, const std::vector<Vec3>& points, double tolerance) {
  const int V = static_cast<int>(hull.vertices.size()), E = static_cast<int>(hull.edges.size()),
            F = static_cast<int>(hull.faces.size());
  EXPECT_EQ(V - E + F, 2);
  for (int f = 0; f < F; ++f) {
    const auto& face = hull.faces[f];
    EXPECT_NEAR(face.normal.norm(), 1, 1e-14);
    for (const Vec3& p : points) EXPECT_LE(face.normal.dot(p), face.offset + tolerance);
    const auto loop = hull.face_loop(f);
    EXPECT_GE(loop.size(), 3u);
    for (size_t k = 0; k < loop.size(); ++k) {
      const Vec3 &a = hull.vertices[loop[k]], &b = hull.vertices[loop[(k + 1) % loop.size()]],
                 &c = hull.vertices[loop[(k + 2) % loop.size()]];
      EXPECT_NEAR(face.normal.dot(a), face.offset, tolerance);
      EXPECT_GT(cross(b - a, c - b).dot(face.normal), 0) << "loops turn counter-clockwise";
    }
  }
  for (const auto& e : hull.edges) {
    EXPECT_LT(e.vertex[0], e.vertex[1]);
    EXPECT_NE(e.face[0], e.face[1]);
  }
  for (int v = 0; v < V; ++v) {
    EXPECT_GE(hull.neighbours(v).size(), 3u);
    EXPECT_EQ(hull.neighbours(v).size(), hull.faces_at(v).size());
  }
}

std::vector<Vec3> cube(double h) {
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i) points.push_back(h * Vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1));
  return points;
}

std::string message(const std::vector<Vec3>& points) {
  try {
    make_convex_hull(points);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(ConvexHull, CubeHasSixFacesInAnyPose) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 200; ++trial) {
    const Vec4 q = Vec4(normal(random), normal(random), normal(random), normal(random)).normalized();
    const double scale = std::pow(10.0, normal(random));
    const Vec3 shift = scale * Vec3(normal(random), normal(random), normal(random));
    std::vector<Vec3> points;
    // A lattice of 4 x 4 x 4: points inside faces, inside edges and inside the cube must all go.
    for (int i = 0; i < 64; ++i) {
      points.push_back(rotate(q, scale * Vec3(i % 4 - 1.5, i / 4 % 4 - 1.5, i / 16 - 1.5)) + shift);
    }
    const ConvexHull hull = make_convex_hull(points);
    ASSERT_EQ(hull.vertices.size(), 8u) << trial;
    ASSERT_EQ(hull.faces.size(), 6u) << trial;
    ASSERT_EQ(hull.edges.size(), 12u);
    check(hull, points, 1e-12 * scale * 10);
    EXPECT_NEAR(hull_volume(hull), 27 * scale * scale * scale, 1e-11 * 27 * scale * scale * scale);
  }
}

TEST(ConvexHull, RandomPointsAreEnclosed) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Vec3> points;
    for (int i = 0; i < 4 + 5 * trial; ++i) {
      points.push_back(Vec3(normal(random), normal(random), normal(random)));
      if (trial % 2) points.back() = 0.1 * points.back().normalized();
    }
    const ConvexHull hull = make_convex_hull(points);
    check(hull, points, 1e-7);
    if (trial % 2) {
      EXPECT_EQ(hull.vertices.size(), points.size());  // all on a sphere
    }
    EXPECT_GT(hull_volume(hull), 0);
  }
}

TEST(ConvexHull, VolumeOfTheMeshItCameFrom) {  // a prism of 48 sides
  std::vector<Vec3> points;
  const int n = 48;
  for (int i = 0; i < n; ++i) {
    const double a = 2 * M_PI * i / n;
    for (double z : {-0.5, 0.5}) points.push_back({std::cos(a), std::sin(a), z});
  }
  const ConvexHull hull = make_convex_hull(points);
  EXPECT_EQ(hull.faces.size(), n + 2u);
  EXPECT_EQ(hull.edges.size(), 3u * n);
  EXPECT_NEAR(hull_volume(hull), 0.5 * n * std::sin(2 * M_PI / n), 1e-12);
  check(hull, points, 1e-12);
}

TEST(ConvexHull, PlatesAndNeedles) {
  for (const Vec3& size : {Vec3(1, 1, 1e-3), Vec3(1, 1e-3, 1e-3), Vec3(1, 1, 1e-5)}) {
    std::vector<Vec3> points = cube(1);
    for (Vec3& p : points)
      p = rotate(quat_from_axis_angle(Vec3(1, 2, 3).normalized(), 0.7), p.cwiseProduct(size));
    const ConvexHull hull = make_convex_hull(points);
    EXPECT_EQ(hull.faces.size(), 6u);
    EXPECT_NEAR(hull_volume(hull), 8 * size.prod(), 1e-9 * size.prod());
  }
}

TEST(ConvexHull, NamesWhatIsWrong) {
  EXPECT_NE(message({}).find("got none"), std::string::npos);
  EXPECT_NE(message({Vec3(1, 2, 3), Vec3(1, 2, 3), Vec3(1, 2, 3), Vec3(1, 2, 3)}).find("coincide"),
            std::string::npos);
  EXPECT_NE(message({{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}).find("line"), std::string::npos);
  EXPECT_NE(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0.3, 0.4, 0}}).find("plane"),
            std::string::npos);
  EXPECT_NE(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, std::nan("")}}).find("point 3"),
            std::string::npos);
  EXPECT_EQ(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}), "");
}

// Thicker than what counts as flat, but all of it lies in one plane as faces are merged: a hull without a
// vertex ended the program.
TEST(ConvexHullErrors, WhatIsTooFlatForASolid) {
  for (const double thickness : {1e-9, 1e-8, 1e-7, 1e-6}) {
    const std::vector<Vec3> points = {Vec3(0, 0, 0), Vec3(0.1, 0, 0), Vec3(0, 0.1, 0), Vec3(0, 0, thickness)};
    try {
      const ConvexHull hull = make_convex_hull(points, 1e-6);
      EXPECT_GE(hull.vertices.size(), 4u) << thickness;
      EXPECT_GT(thickness, 1e-9);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("flat"), std::string::npos) << error.what();
      EXPECT_LT(thickness, 1e-6);
    }
  }
}

}  // namespace
}  // namespace capstan::convex_hull_test
