// The scans over hulls against plain loops, and the walk to a support vertex against a scan.
#include "capstan/geometry/hull_scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "capstan/geometry/point_distance.h"
#include "capstan/geometry/support.h"
#include "capstan/math/rotation.h"

namespace capstan::hull_scan_test {
namespace {

struct HullScan : testing::Test {
  std::mt19937 random{5};
  std::normal_distribution<double> normal;

  Vec3 point() { return Vec3(normal(random), normal(random), normal(random)); }
  // On an ellipsoid: all points are vertices.
  ConvexHull hull(int size) {
    std::vector<Vec3> points;
    for (int i = 0; i < size; ++i) points.push_back(Vec3(1, 0.5, 0.3).cwiseProduct(point().normalized()));
    return make_convex_hull(points);
  }
  Transform pose() {
    const Vec4 q(normal(random), normal(random), normal(random), normal(random));
    return {rotation_matrix(q.normalized()), 0.3 * point()};
  }
};

TEST_F(HullScan, NearestFaceIsThatOfAPlainLoop) {
  for (const int size : {4, 7, 30, 400}) {
    const ConvexHull h = hull(size);
    for (int trial = 0; trial < 50; ++trial) {
      const Vec3 p = 0.2 * point();
      double most = -kInfinity;
      int best = -1;
      for (int f = 0; f < static_cast<int>(h.faces.size()); ++f) {
        const double s = h.faces[f].normal.dot(p) - h.faces[f].offset;
        if (s > most) {
          most = s;
          best = f;
        }
      }
      EXPECT_EQ(nearest_face(h, p), best);
    }
  }
}

TEST_F(HullScan, VerticesAboveAPlaneAreThoseOfAPlainLoop) {
  for (const int size : {5, 40, 300}) {
    const ConvexHull h = hull(size);
    for (int trial = 0; trial < 50; ++trial) {
      const Transform X = pose();
      const double lowest = 0.4 * normal(random);
      std::vector<int> above;
      std::array<int, kScanDirections + 1> outermost;
      std::array<double, kScanDirections + 1> most;
      outermost.fill(-1);
      most.fill(-kInfinity);
      for (int i = 0; i < static_cast<int>(h.vertices.size()); ++i) {
        const Vec3 v = X * h.vertices[i];
        if (v.z() < lowest) continue;
        above.push_back(i);
        for (int k = 0; k <= kScanDirections; ++k) {
          const double angle = k * 2 * std::numbers::pi / kScanDirections;
          const double reach =
              k == kScanDirections ? v.z() : std::cos(angle) * v.x() + std::sin(angle) * v.y();
          if (reach <= most[k]) continue;
          most[k] = reach;
          outermost[k] = i;
        }
      }
      int found[20];
      ASSERT_EQ(find_vertices_above(h, X, lowest, 20, found), static_cast<int>(above.size()));
      for (int i = 0; i < std::min<int>(20, static_cast<int>(above.size())); ++i)
        EXPECT_EQ(found[i], above[i]);
      EXPECT_EQ(find_outermost_vertices(h, X, lowest), outermost);
    }
  }
}

TEST_F(HullScan, WalksEndAtTheFarthestVertex) {
  for (const int size : {25, 60, 500}) {
    const ConvexHull h = hull(size);
    for (int trial = 0; trial < 200; ++trial) {
      const Vec3 n = point();
      int best = 0;
      for (int i = 1; i < static_cast<int>(h.vertices.size()); ++i)
        if (n.dot(h.vertices[i]) > n.dot(h.vertices[best])) best = i;
      EXPECT_EQ(support_vertex(h, n, -1), best);
      EXPECT_EQ(support_vertex(h, n, trial % 25), best);
    }
  }
}

// A bound on the distance changes no distance below it, and what is told above it is above.
TEST_F(HullScan, DistancesBelowACutoffAreExact) {
  const Collider c = make_collider(std::make_shared<const ConvexHull>(hull(100)));
  int beyond = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Vec3 p = 0.8 * point();
    Vec3 gradient, bounded;
    const double d = point_collider(c, p, kInfinity, &gradient), cutoff = 0.3;
    const double e = point_collider(c, p, cutoff, &bounded);
    if (d > cutoff) {
      ++beyond;
      EXPECT_GT(e, cutoff);
      EXPECT_LE(e, d * (1 + 1e-12));  // a bound of the distance from below
    } else {
      EXPECT_EQ(e, d);
      EXPECT_EQ(gradient, bounded);
    }
  }
  EXPECT_GT(beyond, 50);
}

}  // namespace
}  // namespace capstan::hull_scan_test
