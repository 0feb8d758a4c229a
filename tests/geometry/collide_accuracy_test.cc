// How exact the signed distance is, against twins that cannot share its mistakes.
//
// Apart, a pair of witness points bounds the distance from above and a separating plane from below; where
// both agree the distance is proven. Overlapping, s(n) = d bounds the depth from above, and no other
// direction may be better: a dense search over directions, or for polytopes every face normal and every pair
// of edges.
#include <gtest/gtest.h>

#include "capstan/math/rotation.h"
#include "tests/geometry/collision_twins.h"

namespace capstan::collide_accuracy_test {
namespace {

using twin::NamedShape;
using twin::Poses;
using twin::shapes;

template <class Check>
void for_all_pairs(const Check& check) {
  for (std::size_t i = 0; i < shapes().size(); ++i) {
    for (std::size_t j = i; j < shapes().size(); ++j) {
      if (shapes()[i].name == "half_space") continue;
      SCOPED_TRACE(shapes()[i].name + " " + shapes()[j].name);
      check(shapes()[i], shapes()[j]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CollideAccuracy, DistanceIsProvenWhenApart) {
  for_all_pairs([](const NamedShape& A, const NamedShape& B) {
    Poses poses(21);
    for (int k = 0; k < 1000; ++k) {
      Transform X_WA, X_WB;
      poses.pair_at(A.collider, B.collider, std::pow(10, poses.uniform(-5, -1)), &X_WA, &X_WB);
      ContactPoint c;
      const double d = signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
      ASSERT_LT(twin::outside(A.collider, X_WA, c.p_A), 1e-12) << k;
      ASSERT_LT(twin::outside(B.collider, X_WB, c.p_B), 1e-12) << k;
      if (B.name != "half_space") {
        ASSERT_NEAR(twin::separation(A.collider, X_WA, B.collider, X_WB, c.normal), d, 1e-12) << k;
      }
    }
  });
}

// Of capsules it is the distance, unless they are nearly parallel; of others it is below.
TEST(CollideAccuracy, LeastDistanceIsALowerBound) {
  for_all_pairs([](const NamedShape& A, const NamedShape& B) {
    const bool capsules =
        A.collider.type == ColliderType::capsule && B.collider.type == ColliderType::capsule;
    Poses poses(23);
    int exact = 0;
    for (int k = 0; k < 1000; ++k) {
      Transform X_WA, X_WB;
      poses.pair_at(A.collider, B.collider, poses.uniform(-0.01, 0.2), &X_WA, &X_WB);
      if (k % 4 == 0) {  // turned by 1e-5 to 0.1
        X_WB.R = X_WA.R * rotation_matrix(quat_exp(Vec3(std::pow(10, poses.uniform(-5, -1)), 0, 0)));
      }
      const double d = signed_distance(A.collider, X_WA, B.collider, X_WB);
      const double least = least_distance(A.collider, X_WA, B.collider, X_WB);
      ASSERT_LE(least, d + 1e-12) << k;
      const double sine = cross(Vec3(X_WA.R.col(2)), Vec3(X_WB.R.col(2))).norm();
      if (!capsules || sine < 1.001e-3) continue;
      ASSERT_NEAR(least, d, 1e-8) << k;
      ++exact;
    }
    EXPECT_GE(exact,
              capsules ? 800 : 0);  // of the quarter that is turned by little, half is by less than 1e-3
  });
}

TEST(CollideAccuracy, NoDirectionIsBetterThanTheNormal) {
  for_all_pairs([](const NamedShape& A, const NamedShape& B) {
    Poses poses(22);
    for (int k = 0; k < 50; ++k) {
      Transform X_WA, X_WB;
      const double deepest = k % 5 == 0 ? -0.05 : -0.002;
      poses.pair_at(A.collider, B.collider, poses.uniform(deepest, 0), &X_WA, &X_WB);
      ContactPoint c;
      const double d = signed_distance(A.collider, X_WA, B.collider, X_WB, &c);
      if (B.name != "half_space") {
        ASSERT_NEAR(twin::separation(A.collider, X_WA, B.collider, X_WB, c.normal), d, 1e-12) << k;
      }
      ASSERT_GE(d, twin::distance(A.collider, X_WA, B.collider, X_WB) - 1e-10) << k;
    }
  });
}

// Face normals and edges of a polytope.
struct Axes {
  std::vector<Vec3> normals, edges;
};

Axes axes_of(const Collider& c, const Mat3& R) {
  Axes axes;
  if (c.type == ColliderType::box) {
    for (int i = 0; i < 3; ++i) {
      axes.normals.push_back(R.col(i));
      axes.edges.push_back(R.col(i));
    }
  } else if (c.type == ColliderType::hull) {
    for (const auto& f : c.hull->faces) axes.normals.push_back(R * f.normal);
    for (const auto& e : c.hull->edges) {
      axes.edges.push_back(R * (c.hull->vertices[e.vertex[1]] - c.hull->vertices[e.vertex[0]]));
    }
  } else {  // triangle
    const Vec3 n = R * cross(c.vertex[1] - c.vertex[0], c.vertex[2] - c.vertex[0]).normalized();
    axes.normals.push_back(n);
    for (int i = 0; i < 3; ++i) axes.edges.push_back(R * (c.vertex[(i + 1) % 3] - c.vertex[i]));
  }
  return axes;
}

TEST(CollideAccuracy, OverlappingPolytopesAgreeWithAllSeparatingAxes) {
  for (const char* a : {"box", "pebble", "prism", "triangle"}) {
    for (const char* b : {"box", "pebble", "prism"}) {
      SCOPED_TRACE(std::string(a) + " " + b);
      const auto find = [](const std::string& name) {
        return std::find_if(shapes().begin(), shapes().end(), [&](auto& s) { return s.name == name; })
            ->collider;
      };
      const Collider A = find(a), B = find(b);
      Poses poses(23);
      for (int k = 0; k < 200; ++k) {
        Transform X_WA, X_WB;
        poses.pair_at(A, B, poses.uniform(k % 2 ? -0.05 : -0.002, 0), &X_WA, &X_WB);
        const Axes u = axes_of(A, X_WA.R), v = axes_of(B, X_WB.R);
        double best = -1e300;
        const auto offer = [&](const Vec3& n) {
          best =
              std::max({best, twin::separation(A, X_WA, B, X_WB, n), twin::separation(A, X_WA, B, X_WB, -n)});
        };
        for (const Vec3& n : u.normals) offer(n);
        for (const Vec3& n : v.normals) offer(n);
        for (const Vec3& e : u.edges) {
          for (const Vec3& f : v.edges) {
            const Vec3 n = cross(e, f);
            if (n.norm() > 1e-9) offer(n.normalized());
          }
        }
        if (best > 0) continue;  // the axes do not measure a distance
        ASSERT_NEAR(signed_distance(A, X_WA, B, X_WB), best, 1e-12) << k;
      }
    }
  }
}

// Arithmetic by hand.
TEST(CollideAccuracy, KnownDistances) {
  const Collider box = make_collider(Box{{0.1, 0.1, 0.1}}), ball = make_collider(Sphere{0.05});
  const Collider rod = make_collider(Cylinder{0.03, 0.2}), egg = make_collider(Ellipsoid{{0.1, 0.2, 0.3}});
  const auto at = [](double x, double y, double z) { return Transform{Mat3::Identity(), {x, y, z}}; };
  // Corner against corner, the case that separating axes miss: gaps of 3, 4 and 12 cm.
  EXPECT_NEAR(signed_distance(box, at(0, 0, 0), box, at(0.23, 0.24, 0.32)), 0.13, 1e-15);
  // Sphere centre 1 cm inside the +x face: 6 cm deep.
  ContactPoint c;
  EXPECT_NEAR(signed_distance(ball, at(0.09, 0.02, -0.03), box, at(0, 0, 0), &c), -0.06, 1e-15);
  EXPECT_LT((c.normal - Vec3(-1, 0, 0)).norm(), 1e-15);
  EXPECT_LT((c.p_B - Vec3(0.1, 0.02, -0.03)).norm(), 1e-15);
  EXPECT_LT((c.p_A - Vec3(0.04, 0.02, -0.03)).norm(), 1e-15);
  // Crossed cylinders, axes 10 cm apart.
  const Transform lying{rotation_about(Vec3::UnitX(), 0, 1), {0.1, 0, 0}};
  EXPECT_NEAR(signed_distance(rod, at(0, 0, 0), rod, lying, &c), 0.04, 1e-15);
  EXPECT_LT((c.normal - Vec3(1, 0, 0)).norm(), 1e-12);
  // The same, 2 mm deep: the case where a peer is 2 mm wrong.
  EXPECT_NEAR(signed_distance(rod, at(0, 0, 0), rod, {lying.R, {0.058, 0, 0}}, &c), -0.002, 1e-15);
  EXPECT_LT((c.normal - Vec3(1, 0, 0)).norm(), 1e-12);
  // Ellipsoids end to end, overlapping by 1 cm.
  EXPECT_NEAR(signed_distance(egg, at(0, 0, 0), egg, at(0, 0.39, 0)), -0.01, 1e-15);
  // A sphere at the centre of an ellipsoid is nearest its shortest axis.
  EXPECT_NEAR(signed_distance(ball, at(0, 0, 0), egg, at(0, 0, 0)), -0.15, 1e-15);
}

}  // namespace
}  // namespace capstan::collide_accuracy_test
