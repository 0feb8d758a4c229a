// Cases in which formulas divide by zero: finite, deterministic, and right where there is a right answer.
#include <gtest/gtest.h>

#include "tests/geometry/collision_twins.h"

namespace capstan::collide_degenerate_test {
namespace {

using twin::Poses;
using twin::shapes;

constexpr double kTurn = M_PI / 2;

Transform at(double x, double y, double z) {
  return {Mat3::Identity(), {x, y, z}};
}

void expect_sound(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB) {
  ContactPoint c;
  const double d = signed_distance(A, X_WA, B, X_WB, &c);
  ASSERT_TRUE(std::isfinite(d));
  ASSERT_TRUE(c.p_A.allFinite() && c.p_B.allFinite());
  ASSERT_NEAR(c.normal.norm(), 1, 1e-12);
  ASSERT_LT((c.p_A + d * c.normal - c.p_B).norm(), 1e-12);
  Manifold m;
  collide_convex(A, X_WA, B, X_WB, 0.01, &m);
  ASSERT_EQ(m.size > 0, d <= 0.01);
  for (int i = 0; i < m.size; ++i) {
    ASSERT_TRUE(m.points[i].p_A.allFinite() && m.points[i].p_B.allFinite());
    ASSERT_TRUE(std::isfinite(m.points[i].distance));
  }
  if (A.type != ColliderType::half_space && B.type != ColliderType::half_space) {
    ASSERT_NEAR(twin::separation(A, X_WA, B, X_WB, c.normal), d, 1e-9);
  }
  ContactPoint again;
  signed_distance(A, X_WA, B, X_WB, &again);
  ASSERT_TRUE(c.p_A == again.p_A && c.p_B == again.p_B && c.normal == again.normal);
  ASSERT_EQ(d, again.distance);
}

// Same centre and same axes, or turned by quarter turns: every direction is as good as another.
TEST(CollideDegenerate, ConcentricShapes) {
  for (const auto& A : shapes()) {
    for (const auto& B : shapes()) {
      if (A.name == "half_space" && B.name == "half_space") continue;
      SCOPED_TRACE(A.name + " " + B.name);
      for (const double turn : {0.0, kTurn, M_PI}) {
        for (int axis = 0; axis < 3; ++axis) {
          const Transform X{rotation_about(Vec3::Unit(axis), std::cos(turn), std::sin(turn)), Vec3::Zero()};
          expect_sound(A.collider, {}, B.collider, X);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  const Collider ball = make_collider(Sphere{0.1});
  EXPECT_NEAR(signed_distance(ball, at(1, 2, 3), ball, at(1, 2, 3)), -0.2, 1e-15);
  const Collider box = make_collider(Box{{0.1, 0.2, 0.3}});
  EXPECT_NEAR(signed_distance(box, {}, box, {}), -0.2, 1e-15);
  const Collider rod = make_collider(Cylinder{0.05, 0.2});
  EXPECT_NEAR(signed_distance(rod, {}, rod, {}), -0.1, 1e-9);
}

// Faces, edges and corners that meet exactly, with aligned axes, parallel edges and coplanar faces.
TEST(CollideDegenerate, ExactlyTouchingAlongEveryAxis) {
  for (const auto& A : shapes()) {
    for (const auto& B : shapes()) {
      if (A.name == "half_space" || B.name == "half_space") continue;
      SCOPED_TRACE(A.name + " " + B.name);
      for (int x = -1; x <= 1; ++x) {
        for (int y = -1; y <= 1; ++y) {
          for (int z = -1; z <= 1; ++z) {
            if (x == 0 && y == 0 && z == 0) continue;
            const Vec3 n = Vec3(x, y, z).normalized();
            const double apart = twin::extent(A.collider, n) + twin::extent(B.collider, -n);
            for (const double gap : {-1e-3, -1e-9, 0.0, 1e-15, 1e-9, 1e-3}) {
              expect_sound(A.collider, {}, B.collider, {Mat3::Identity(), (apart + gap) * n});
              ASSERT_FALSE(HasFatalFailure()) << x << y << z << " gap " << gap;
            }
          }
        }
      }
    }
  }
}

TEST(CollideDegenerate, BoxesTouchInFaceEdgeAndCorner) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}});
  for (const Vec3& p : {Vec3(0.2, 0, 0), Vec3(0.2, 0.2, 0), Vec3(0.2, 0.2, 0.2), Vec3(0.2, 0.05, -0.03)}) {
    EXPECT_NEAR(signed_distance(box, {}, box, {Mat3::Identity(), p}), 0, 1e-15);
  }
  // Parallel edges, 1 cm apart diagonally.
  const Mat3 R = rotation_about(Vec3::UnitX(), std::sqrt(0.5), std::sqrt(0.5));
  const double reach = 0.1 * std::sqrt(2.0);
  EXPECT_NEAR(signed_distance(box, {R, {0, 0, 0}}, box, {R, {0.03, 0, 2 * reach + 0.01}}), 0.01, 1e-15);
  // Edges parallel to within less than rounding can tell.
  for (const double turn : {1e-3, 1e-6, 1e-9, 1e-12, 1e-15}) {
    const Mat3 T = rotation_about(Vec3::UnitZ(), std::cos(turn), std::sin(turn)) * R;
    // Overlapping, the way out is along a face normal, at 45 degrees.
    EXPECT_NEAR(signed_distance(box, {R, {0, 0, 0}}, box, {T, {0, 0, 2 * reach - 0.001}}),
                -0.001 * std::sqrt(0.5), 0.1 * turn + 1e-12);
    EXPECT_NEAR(signed_distance(box, {R, {0, 0, 0}}, box, {T, {0, 0, 2 * reach + 0.001}}), 0.001, 1e-12);
  }
}

TEST(CollideDegenerate, CapsuleAxesThatMeet) {
  const Collider capsule = make_collider(Capsule{0.05, 0.1}), ball_like = make_collider(Capsule{0.05, 0});
  const Transform across{rotation_about(Vec3::UnitX(), 0, 1), {0, 0.02, 0.03}};
  EXPECT_NEAR(signed_distance(capsule, {}, capsule, across), -0.1, 1e-15);
  EXPECT_NEAR(signed_distance(capsule, {}, capsule, at(0, 0, 0.05)), -0.1, 1e-15);  // one axis in the other
  EXPECT_NEAR(signed_distance(capsule, {}, capsule, at(0, 0, 0.31)), 0.01, 1e-15);  // end to end
  EXPECT_NEAR(signed_distance(ball_like, {}, ball_like, at(0.03, 0.04, 0)), -0.05, 1e-15);
  // Nearly parallel, offset sideways: the angle must not spoil the distance.
  for (const double turn : {1e-3, 1e-6, 1e-8, 1e-10, 1e-13}) {
    const Transform X{rotation_about(Vec3::UnitX(), std::cos(turn), std::sin(turn)), {0.12, 0.0, 0.01}};
    EXPECT_NEAR(signed_distance(capsule, {}, capsule, X), 0.02, 1e-15);
  }
}

// 20 cm long, 0.2 mm thin: needles and plates against each other and against ordinary shapes.
TEST(CollideDegenerate, NeedlesAndPlates) {
  std::vector<Vec3> blade;
  for (const double x : {-0.1, 0.1}) {
    for (const double y : {-0.05, 0.05}) blade.push_back({x, y, y > 0 ? 0.0 : x > 0 ? 1e-4 : -1e-4});
  }
  blade.push_back({0, 0, 2e-4});
  const std::vector<twin::NamedShape> thin = {
      {"needle_box", make_collider(Box{{1e-4, 1e-4, 0.1}})},
      {"plate_box", make_collider(Box{{0.1, 0.1, 1e-4}})},
      {"needle_capsule", make_collider(Capsule{1e-4, 0.1})},
      {"needle_cylinder", make_collider(Cylinder{1e-4, 0.1})},
      {"plate_cylinder", make_collider(Cylinder{0.1, 1e-4})},
      {"needle_ellipsoid", make_collider(Ellipsoid{{1e-4, 1e-4, 0.1}})},
      {"plate_ellipsoid", make_collider(Ellipsoid{{0.1, 0.1, 1e-4}})},
      {"blade", twin::hull_collider(blade)},
      {"box", make_collider(Box{{0.1, 0.08, 0.06}})},
      {"cylinder", make_collider(Cylinder{0.07, 0.09})},
      {"ellipsoid", make_collider(Ellipsoid{{0.1, 0.07, 0.05}})},
  };
  for (const auto& A : thin) {
    for (const auto& B : thin) {
      SCOPED_TRACE(A.name + " " + B.name);
      Poses poses(41);
      for (int k = 0; k < 100; ++k) {
        Transform X_WA, X_WB;
        poses.pair(A.collider, B.collider, -0.01, 0.01, &X_WA, &X_WB);
        ContactPoint c;
        const double d = signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
        ASSERT_NEAR(twin::separation(A.collider, X_WA, B.collider, X_WB, c.normal), d, 1e-6) << k;
        if (d > 0) {
          ASSERT_LT(twin::outside(A.collider, X_WA, c.p_A), 1e-6) << k << " d " << d;
          ASSERT_LT(twin::outside(B.collider, X_WB, c.p_B), 1e-6) << k << " d " << d;
        }
        expect_sound(A.collider, X_WA, B.collider, X_WB);
        ASSERT_FALSE(HasFatalFailure()) << k;
      }
    }
  }
}

// No size at all: still finite.
TEST(CollideDegenerate, ShapesWithoutSize) {
  const Collider nothing[] = {make_collider(Sphere{0}),
                              make_collider(Capsule{0, 0}),
                              make_collider(Capsule{0, 0.1}),
                              make_collider(Box{{0, 0, 0}}),
                              make_collider(Box{{0.1, 0.1, 0}}),
                              make_collider(Box{{0.1, 0, 0}}),
                              make_collider(Cylinder{0.1, 0}),
                              make_collider(Cylinder{0, 0.1}),
                              make_collider(Ellipsoid{{0.1, 0.1, 1e-9}}),
                              make_triangle_collider({0, 0, 0}, {0.1, 0, 0}, {0.2, 0, 0}),
                              make_triangle_collider({0, 0, 0}, {0, 0, 0}, {0, 0, 0})};
  for (const Collider& A : nothing) {
    for (const Collider& B : nothing) {
      for (const Vec3& p : {Vec3(0, 0, 0), Vec3(0, 0, 0.01), Vec3(0.05, 0, 0), Vec3(0.3, 0.1, 0.2)}) {
        SCOPED_TRACE(std::to_string(&A - nothing) + " " + std::to_string(&B - nothing));
        ContactPoint c;
        const double d = signed_distance(A, {}, B, {Mat3::Identity(), p}, &c);
        ASSERT_TRUE(std::isfinite(d) && c.p_A.allFinite() && c.p_B.allFinite() && c.normal.allFinite());
        Manifold m;
        collide_convex(A, {}, B, {Mat3::Identity(), p}, 0.02, &m);
        for (int i = 0; i < m.size; ++i)
          ASSERT_TRUE(m.points[i].p_A.allFinite() && m.points[i].p_B.allFinite());
      }
    }
  }
}

// A box of 100 m under shapes of 20 cm and 2 mm must do what a half space does.
TEST(CollideDegenerate, LargeGroundIsLikeAPlane) {
  const Collider ground = make_collider(Box{{50, 50, 0.5}}), plane = make_collider(HalfSpace{});
  std::vector<Vec3> slab;
  for (const double x : {-50, 50}) {
    for (const double y : {-50, 50}) {
      for (const double z : {-0.5, 0.5}) slab.push_back({x, y, z});
    }
  }
  const Collider hull_ground = twin::hull_collider(slab);
  std::vector<twin::NamedShape> all;
  for (const auto& s : shapes()) {
    if (s.name != "half_space" && s.name != "triangle") all.push_back(s);
  }
  all.push_back({"small_box", make_collider(Box{{1e-3, 2e-3, 1e-3}})});
  all.push_back({"small_cylinder", make_collider(Cylinder{1e-3, 1e-3})});
  all.push_back({"small_capsule", make_collider(Capsule{1e-3, 1e-3})});
  all.push_back({"small_ball", make_collider(Ellipsoid{{1e-3, 2e-3, 1e-3}})});
  for (const auto& s : all) {
    SCOPED_TRACE(s.name);
    Poses poses(42);
    const double size = s.collider.bounding_radius;
    for (int k = 0; k < 200; ++k) {
      // Every fourth stands on a face or lies along its axis, or nearly so.
      Mat3 R = poses.rotation();
      const double tilt = k % 8 == 0 ? 0 : 1e-5;
      if (k % 4 == 0) R = rotation_about(Vec3::UnitX(), std::cos(tilt), std::sin(tilt));
      Transform X{R, {poses.uniform(-20, 20), poses.uniform(-20, 20), 0}};
      X.p.z() = twin::extent(s.collider, -X.R.row(2).transpose()) + poses.uniform(-0.01, 0.01) * size;
      const Transform below = at(0, 0, -0.5);
      const double d = signed_distance(s.collider, X, plane, {});
      ASSERT_NEAR(signed_distance(s.collider, X, ground, below), d, 1e-10) << k;
      ASSERT_NEAR(signed_distance(s.collider, X, hull_ground, below), d, 1e-10) << k;
      Manifold on_plane, on_box, on_hull;
      collide_convex(s.collider, X, plane, {}, 0.02 * size, &on_plane);
      collide_convex(s.collider, X, ground, below, 0.02 * size, &on_box);
      collide_convex(s.collider, X, hull_ground, below, 0.02 * size, &on_hull);
      ASSERT_EQ(on_box.size, on_hull.size) << k;
      if (s.name != "pebble") {  // a plane takes vertices beyond the face, too
        ASSERT_EQ(on_box.size, on_plane.size) << k;
      }
    }
  }
}

// A kilometre from the origin the shapes are still measured in the frame of A.
TEST(CollideDegenerate, FarFromTheOrigin) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}}), rod = make_collider(Cylinder{0.05, 0.1});
  const Vec3 far(1024, -2048, 512);
  const Transform X{rotation_about(Vec3::UnitY(), 0.6, 0.8), {0.18, 0, 0.02}};
  const double d = signed_distance(box, {}, rod, X);
  EXPECT_NEAR(signed_distance(box, {Mat3::Identity(), far}, rod, {X.R, X.p + far}), d, 1e-12);
}

}  // namespace
}  // namespace capstan::collide_degenerate_test
