// How many points touch, where, and that they stay the same from step to step.
#include <gtest/gtest.h>

#include <set>

#include "capstan/geometry/distance_kernels.h"
#include "capstan/geometry/manifold.h"
#include "tests/geometry/collision_twins.h"

namespace capstan::manifold_test {
namespace {

using twin::Poses;

constexpr double kMargin = 0.002;

Manifold contacts(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                  double margin = kMargin) {
  Manifold m;
  collide_convex(A, X_WA, B, X_WB, margin, &m);
  return m;
}

Transform tilted(double yaw, const Vec3& axis, double tilt, const Vec3& p) {
  return {rotation_about(axis.normalized(), std::cos(tilt), std::sin(tilt)) *
              rotation_about(Vec3::UnitZ(), std::cos(yaw), std::sin(yaw)),
          p};
}

// Is q (x, y) inside the convex hull of the points, by at least `inset`? Tests every line through two points.
bool inside_hull(const Manifold& m, const Vec3& q, double inset) {
  bool enclosed = false;
  for (int i = 0; i < m.size; ++i) {
    for (int j = 0; j < m.size; ++j) {
      if (i == j) continue;
      const Vec3 e = m.points[j].p_A - m.points[i].p_A;
      const double length = std::hypot(e.x(), e.y());
      if (length < 1e-9) return false;
      double side_q = 0, least = 0;
      const auto side = [&](const Vec3& p) {
        return (e.x() * (p.y() - m.points[i].p_A.y()) - e.y() * (p.x() - m.points[i].p_A.x())) / length;
      };
      for (int k = 0; k < m.size; ++k) least = std::min(least, side(m.points[k].p_A));
      side_q = side(q);
      if (least > -1e-12) {  // an edge of the hull, counter-clockwise
        enclosed = true;
        if (side_q < inset) return false;
      }
    }
  }
  return enclosed;
}

double spread(const Manifold& m) {
  double largest = 0;
  for (int i = 0; i < m.size; ++i) {
    for (int j = 0; j < i; ++j) largest = std::max(largest, (m.points[i].p_A - m.points[j].p_A).norm());
  }
  return largest;
}

TEST(Manifold, BoxOnPlaneHasItsFourCorners) {
  const Collider box = make_collider(Box{{0.1, 0.08, 0.06}}), plane = make_collider(HalfSpace{});
  Poses poses(31);
  std::set<std::uint32_t> features;
  for (int k = 0; k < 2000; ++k) {
    // Tilts below 2 mrad keep the far corner, 0.256 m away, within the margin.
    const Transform X = tilted(poses.uniform(0, 2 * M_PI), {poses.uniform(-1, 1), poses.uniform(-1, 1), 0},
                               poses.uniform(0, 2e-3), {0.3, -0.2, 0.0595});
    const Manifold m = contacts(box, X, plane, {});
    ASSERT_EQ(m.size, 4) << k;
    for (int i = 0; i < 4; ++i) {
      const ContactPoint& c = m.points[i];
      const Vec3 p = X.R.transpose() * (c.p_A - X.p);
      ASSERT_LT((p.cwiseAbs() - Vec3(0.1, 0.08, 0.06)).norm(), 1e-14);
      ASSERT_NEAR(c.distance, c.p_A.z(), 1e-15);  // the plane is z = 0
      ASSERT_LT((c.normal + Vec3::UnitZ()).norm(), 1e-15);
      features.insert(c.feature);
    }
  }
  EXPECT_EQ(features.size(), 4u);  // the same four corners in all 2,000 poses
}

// The upper box stands with its centre over the lower one: its weight must be carried.
// The short way for boxes beside the one for all shapes.
TEST(Manifold, BoxOnPlaneIsWhatTheGeneralWayMakesOfIt) {
  const Collider plane = make_collider(HalfSpace{});
  Poses poses(7);
  int touching[5] = {};
  for (int i = 0; i < 3000; ++i) {
    const Collider box = make_collider(Box{Vec3(0.05, 0.02 + 0.01 * (i % 7), 0.1)});
    const Transform X_WB = {poses.rotation(), Vec3(1, -2, 3)};
    Transform X_WA = {i % 3 == 0 ? Mat3(X_WB.R) : poses.rotation(), X_WB.p};
    X_WA.p += X_WB.R.col(2) * (0.00101 * (i % 130) - 0.01);
    const Transform X_AB = inverse(X_WA) * X_WB;
    Witness w;
    Manifold general, made;
    if (any_half_space(box, plane, X_AB, kMargin, &w) <= kMargin)
      make_manifold(box, X_WA, plane, X_AB, w, true, kMargin, &general);
    collide_convex(box, X_WA, plane, X_WB, kMargin, &made);
    ASSERT_EQ(made.size, general.size) << i;
    ++touching[made.size];
    for (int k = 0; k < made.size; ++k) {
      const ContactPoint &a = made.points[k], &b = general.points[k];
      EXPECT_EQ(a.feature, b.feature);
      EXPECT_NEAR(a.distance, b.distance, 1e-14);
      EXPECT_LT((a.p_A - b.p_A).norm() + (a.p_B - b.p_B).norm() + (a.normal - b.normal).norm(), 1e-14);
    }
  }
  for (const int n : {0, 1, 2, 3, 4}) EXPECT_GT(touching[n], 20) << n;
}

TEST(Manifold, BoxOnBoxSupportsItsWeight) {
  Poses poses(32);
  for (int k = 0; k < 2000; ++k) {
    const Vec3 h_A(poses.uniform(0.05, 0.2), poses.uniform(0.05, 0.2), poses.uniform(0.02, 0.1));
    const Vec3 h_B(poses.uniform(0.05, 0.2), poses.uniform(0.05, 0.2), poses.uniform(0.02, 0.1));
    const Collider A = make_collider(Box{h_A}), B = make_collider(Box{h_B});
    const Transform X_WA = tilted(poses.uniform(0, 2 * M_PI), Vec3::UnitX(), 0, {0, 0, 0});
    const Vec3 offset(poses.uniform(-0.8, 0.8) * h_A.x(), poses.uniform(-0.8, 0.8) * h_A.y(),
                      h_A.z() + h_B.z() - 1e-4);
    const Transform X_WB = tilted(poses.uniform(0, 2 * M_PI), {poses.uniform(-1, 1), poses.uniform(-1, 1), 0},
                                  poses.uniform(0, 1e-3), X_WA.R * offset);
    const Manifold m = contacts(A, X_WA, B, X_WB);
    ASSERT_GE(m.size, 3) << k;
    ASSERT_TRUE(inside_hull(m, X_WB.p, 0.003)) << k << ": " << m.size << " points";
    ASSERT_GT(m.points[0].normal.z(), 1 - 1e-5);
  }
}

TEST(Manifold, AlignedStackHasFourCorners) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}});
  const Manifold m = contacts(box, {}, box, {Mat3::Identity(), {0, 0, 0.2}});
  ASSERT_EQ(m.size, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(m.points[i].distance, 0);
    EXPECT_LT((m.points[i].p_A.cwiseAbs() - Vec3(0.1, 0.1, 0.1)).norm(), 1e-15);
  }
}

TEST(Manifold, EdgesThatCrossTouchOnce) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}});
  // A's edge along x looks up, B's edge along y looks down.
  const Transform X_WA{rotation_about(Vec3::UnitX(), std::sqrt(0.5), std::sqrt(0.5)), Vec3::Zero()};
  const double reach = 0.1 * std::sqrt(2.0);
  const Transform X_WB{rotation_about(Vec3::UnitY(), std::sqrt(0.5), std::sqrt(0.5)),
                       {0.02, 0.03, 2 * reach - 0.001}};
  const Manifold m = contacts(box, X_WA, box, X_WB);
  ASSERT_EQ(m.size, 1);
  EXPECT_NEAR(m.points[0].distance, -0.001, 1e-15);
  EXPECT_LT((m.points[0].p_A - Vec3(0.02, 0, reach)).norm(), 0.031);  // on A's edge y = 0
  EXPECT_NEAR(m.points[0].p_A.y(), 0, 1e-14);
  EXPECT_NEAR(m.points[0].p_B.x(), 0.02, 1e-14);
}

TEST(Manifold, CylinderStandsOnThreeOrMoreAndLiesOnTwo) {
  const Collider cylinder = make_collider(Cylinder{0.07, 0.09});
  const Collider grounds[] = {make_collider(HalfSpace{}), make_collider(Box{{0.5, 0.5, 0.1}}),
                              make_collider(Cylinder{0.4, 0.1})};
  Poses poses(33);
  for (const Collider& ground : grounds) {
    SCOPED_TRACE(static_cast<int>(ground.type));
    const double top = ground.type == ColliderType::half_space ? 0 : 0.1;
    for (int k = 0; k < 500; ++k) {
      const double yaw = poses.uniform(0, 2 * M_PI);
      const Vec3 axis(poses.uniform(-1, 1), poses.uniform(-1, 1), 0);
      const Vec3 at(poses.uniform(-0.1, 0.1), poses.uniform(-0.1, 0.1), top);
      const Transform standing = tilted(yaw, axis, poses.uniform(0, 1) < 0.2 ? 0 : poses.uniform(0, 1e-3),
                                        at + Vec3(0, 0, 0.09 - 1e-4));
      const Manifold m = contacts(cylinder, standing, ground, {});
      ASSERT_GE(m.size, 3) << k;
      ASSERT_TRUE(inside_hull(m, standing.p, 0.02)) << k;

      Transform lying = tilted(yaw, axis, 0, at + Vec3(0, 0, 0.07 - 1e-4));
      const double tip = poses.uniform(0, 5e-3);
      lying.R =
          lying.R * rotation_about(Vec3::UnitX(), std::sin(tip), std::cos(tip));  // nearly a quarter turn
      const Manifold l = contacts(cylinder, lying, ground, {});
      ASSERT_EQ(l.size, 2) << k;
      ASSERT_GT(spread(l), 0.17) << k;
    }
  }
}

TEST(Manifold, CylinderHangsOverAnEdge) {
  // Half of the cap is over the box: the points stay on the box, as far out as the chord at its edge.
  const Collider cylinder = make_collider(Cylinder{0.07, 0.09}), box = make_collider(Box{{0.5, 0.5, 0.1}});
  const Manifold m = contacts(cylinder, {Mat3::Identity(), {0.49, 0, 0.1899}}, box, {});
  ASSERT_EQ(m.size, 5);  // two on the box's edge, three on the rim
  double widest = 0;
  for (int i = 0; i < m.size; ++i) {
    EXPECT_LE(m.points[i].p_B.x(), 0.5 + 1e-9);
    if (m.points[i].p_B.x() > 0.499) widest = std::max(widest, std::abs(m.points[i].p_B.y()));
  }
  EXPECT_NEAR(widest, std::sqrt(0.07 * 0.07 - 0.01 * 0.01), 1e-9);
}

TEST(Manifold, BoxOnCylinderKeepsItsCorners) {
  // A small box on a large cap: its four corners; hanging over the rim: the crossings with the rim.
  const Collider cylinder = make_collider(Cylinder{0.2, 0.05}), box = make_collider(Box{{0.05, 0.05, 0.05}});
  const Manifold inside = contacts(cylinder, {}, box, {Mat3::Identity(), {0.05, 0, 0.0999}});
  ASSERT_EQ(inside.size, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(std::abs(inside.points[i].p_B.x() - 0.05), 0.05, 1e-12);
    EXPECT_NEAR(std::abs(inside.points[i].p_B.y()), 0.05, 1e-12);
  }
  const Manifold over = contacts(cylinder, {}, box, {Mat3::Identity(), {0.18, 0, 0.0999}});
  ASSERT_EQ(over.size, 5);  // two corners, two on the rim at the sides, the end of the rim
  for (int i = 0; i < 5; ++i)
    EXPECT_LE(std::hypot(over.points[i].p_A.x(), over.points[i].p_A.y()), 0.2 + 1e-9);
}

TEST(Manifold, CapsuleLiesOnTwoPoints) {
  const Collider capsule = make_collider(Capsule{0.05, 0.08});
  std::vector<Vec3> slab;
  for (const double x : {-0.3, 0.3}) {
    for (const double y : {-0.3, 0.3}) {
      for (const double z : {-0.1, 0.1}) slab.push_back({x, y, z});
    }
  }
  const Collider grounds[] = {make_collider(HalfSpace{}), make_collider(Box{{0.3, 0.3, 0.1}}),
                              twin::hull_collider(slab), make_collider(Capsule{0.05, 0.3})};
  for (const Collider& ground : grounds) {
    SCOPED_TRACE(static_cast<int>(ground.type));
    const bool rod = ground.type == ColliderType::capsule;
    const double top = ground.type == ColliderType::half_space ? 0 : rod ? 0.05 : 0.1;
    // Both lie along y.
    const Mat3 along_y = rotation_about(Vec3::UnitX(), 0, 1);
    const Transform X_WG{rod ? along_y : Mat3(Mat3::Identity()), Vec3::Zero()};
    const Manifold m = contacts(capsule, {along_y, {0, 0.02, top + 0.05 - 1e-4}}, ground, X_WG);
    ASSERT_EQ(m.size, 2);
    EXPECT_NEAR(spread(m), 0.16, 1e-9);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(m.points[i].distance, -1e-4, 1e-12);
  }
}

TEST(Manifold, HullOnHullAndBoxByItsFaces) {
  const Collider prism = twin::hull_collider(twin::prism_points()),
                 box = make_collider(Box{{0.3, 0.3, 0.05}});
  const Transform above{rotation_about(Vec3::UnitZ(), std::cos(0.3), std::sin(0.3)), {0.01, 0.02, 0.1199}};
  const Manifold m = contacts(prism, {}, prism, above);
  ASSERT_EQ(m.size, 8);  // of twelve
  EXPECT_TRUE(inside_hull(m, above.p, 0.02));
  const Transform over_box{above.R, {0.1, 0.1, 0.1099}};
  const Manifold n = contacts(box, {}, prism, over_box);
  ASSERT_EQ(n.size, 6);
  EXPECT_TRUE(inside_hull(n, over_box.p, 0.02));
  const Manifold p = contacts(prism, {above.R, {0, 0, 0.0599}}, make_collider(HalfSpace{}), {});
  ASSERT_EQ(p.size, 6);
  EXPECT_TRUE(inside_hull(p, Vec3::Zero(), 0.02));
}

TEST(Manifold, BoxOnATriangleOfAFloor) {
  const Collider triangle = make_triangle_collider({-1, -1, 0}, {1, -1, 0}, {0, 1, 0});
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}});
  const Manifold m = contacts(box, {Mat3::Identity(), {0, -0.3, 0.0999}}, triangle, {});
  ASSERT_EQ(m.size, 4);
  EXPECT_TRUE(inside_hull(m, {0, -0.3, 0}, 0.09));
}

// A box that slides and turns a little keeps its features; the points move no faster than the box does.
TEST(Manifold, FeaturesPersistAsABoxSlides) {
  const Collider box = make_collider(Box{{0.1, 0.08, 0.06}}), ground = make_collider(Box{{0.5, 0.5, 0.1}});
  std::vector<std::uint32_t> first;
  for (int step = 0; step < 200; ++step) {
    const double tilt = 1e-5 * std::sin(step);
    const Transform X = tilted(0.3 + 1e-3 * step, {1, 0.3, 0}, tilt, {1e-3 * step, 0, 0.1599});
    const Manifold m = contacts(ground, {}, box, X);
    ASSERT_EQ(m.size, 4);
    std::vector<std::uint32_t> now;
    for (int i = 0; i < 4; ++i) now.push_back(m.points[i].feature);
    if (step == 0) first = now;
    std::sort(now.begin(), now.end());
    std::sort(first.begin(), first.end());
    ASSERT_EQ(now, first) << step;
  }
}

// Tilting a box from flat to its edge never drops the contact and never jumps in depth.
TEST(Manifold, RollingOverAnEdgeIsContinuous) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}}), ground = make_collider(Box{{0.5, 0.5, 0.1}});
  double before = 1;
  for (int step = 0; step <= 900; ++step) {
    const double tilt = step * M_PI / 2 / 900, reach = 0.1 * (std::cos(tilt) + std::sin(tilt));
    const Manifold m =
        contacts(ground, {}, box, tilted(0.4, {0.2, 1, 0}, tilt, {0, 0, 0.1 + reach - 1e-3}), 0);
    ASSERT_GE(m.size, 1) << step;
    double deepest = 1;
    for (int i = 0; i < m.size; ++i) deepest = std::min(deepest, m.points[i].distance);
    if (step > 0) {
      ASSERT_NEAR(deepest, before, 0.2 * M_PI / 2 / 900) << step;
    }
    before = deepest;
  }
}

}  // namespace
}  // namespace capstan::manifold_test
