#include "capstan/geometry/mesh_contact.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/geometry/collide.h"
#include "capstan/geometry/support.h"
#include "test_meshes.h"

namespace capstan::mesh_contact_test {
namespace {

Collider octagon_hull() {
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i) {
    for (double z : {-0.06, 0.06})
      points.push_back({0.1 * std::cos(M_PI * i / 4), 0.1 * std::sin(M_PI * i / 4), z});
  }
  return make_collider(std::make_shared<const ConvexHull>(make_convex_hull(points)));
}

struct Named {
  const char* name;
  Collider collider;
};
std::vector<Named> convex_shapes() {
  return {{"sphere", make_collider(Sphere{0.1})},
          {"box", make_collider(Box{{0.1, 0.07, 0.05}})},
          {"capsule", make_collider(Capsule{0.05, 0.08})},
          {"cylinder", make_collider(Cylinder{0.08, 0.06})},
          {"ellipsoid", make_collider(Ellipsoid{{0.1, 0.07, 0.05}})},
          {"hull", octagon_hull()}};
}

double smallest(const std::vector<ContactPoint>& contacts) {
  double d = 1e300;
  for (const ContactPoint& c : contacts) d = std::min(d, c.distance);
  return d;
}

void check_conventions(const std::vector<ContactPoint>& contacts, double margin) {
  for (const ContactPoint& c : contacts) {
    ASSERT_TRUE(c.p_A.allFinite() && c.p_B.allFinite() && c.normal.allFinite());
    EXPECT_NEAR(c.normal.norm(), 1, 1e-12);
    EXPECT_LT((c.p_B - c.p_A - c.distance * c.normal).norm(), 1e-12);
    EXPECT_LE(c.distance, margin);
  }
}

// Sliding over a tessellated floor in tiny steps, at any yaw, slightly sunk or slightly above: the normal is
// exactly -z (from the shape down to the floor) and the depth exact.
TEST(MeshContact, NoGhostCollisionsOnAFlatFloor) {
  const MeshBvh floor = make_mesh_bvh(shared(floor_mesh(1, 13)));
  RandomPoses random(1);
  for (const Named& shape : convex_shapes()) {
    for (double height : {-0.002, -1e-5, 0.0, 0.0008}) {
      for (int run = 0; run < 4; ++run) {
        const double yaw = M_PI * random.number();
        const Vec3 start = random.vector(0.6), way = random.direction();
        std::vector<ContactPoint> contacts;
        for (int step = 0; step < 300; ++step) {
          Transform X;
          X.R = rotation_about(Vec3::UnitZ(), std::cos(yaw), std::sin(yaw));
          if (shape.collider.type == ColliderType::capsule && run % 2) {  // lying
            X.R = X.R * rotation_about(Vec3::UnitY(), 0, 1);
          }
          int start_vertex = 0;
          const Vec3 lowest = support(shape.collider, -(X.R.transpose() * Vec3::UnitZ()), &start_vertex);
          X.p = start + 0.0007 * step * way;
          X.p.z() = height - (X.R * lowest).z() + shape.collider.rounding;
          contacts.clear();
          collide_mesh(shape.collider, X, floor, {}, 0.001, &contacts);
          ASSERT_FALSE(contacts.empty()) << shape.name << " at " << X.p.transpose();
          for (const ContactPoint& c : contacts) {
            ASSERT_EQ(c.normal, Vec3(0, 0, -1)) << shape.name << " height " << height << " step " << step;
            ASSERT_NEAR(c.distance, height, 1e-9) << shape.name;
          }
          ASSERT_LE(contacts.size(), 8u);
          if (shape.collider.type == ColliderType::box) {  // its four corners
            ASSERT_EQ(contacts.size(), 4u);
            for (const ContactPoint& c : contacts) {
              const Vec3 local = X.R.transpose() * (c.p_A - X.p);
              ASSERT_LT((local.cwiseAbs() - shape.collider.size).norm(), 1e-9);
            }
          }
          if (shape.collider.type == ColliderType::cylinder) {
            ASSERT_GE(contacts.size(), 3u);
          }
          if (shape.collider.type == ColliderType::capsule && run % 2) {
            ASSERT_EQ(contacts.size(), 2u);
          }
        }
      }
    }
  }
}

// A tilted shape presses a corner into the floor: still +z, still the depth of the lowest point.
TEST(MeshContact, TiltedShapesOnAFlatFloorGetTheFaceNormal) {
  const MeshBvh floor = make_mesh_bvh(shared(floor_mesh(1, 40)));
  RandomPoses random(2);
  for (const Named& shape : convex_shapes()) {
    for (int trial = 0; trial < 500; ++trial) {
      Transform X = random.pose(0.5);
      int start = 0;
      const Vec3 lowest = support(shape.collider, -(X.R.transpose() * Vec3::UnitZ()), &start);
      const double height = trial % 2 ? -0.002 : 0.0004;
      X.p.z() = height - (X.R * lowest).z() + shape.collider.rounding;
      std::vector<ContactPoint> contacts;
      collide_mesh(shape.collider, X, floor, {}, 0.001, &contacts);
      ASSERT_FALSE(contacts.empty()) << shape.name << " trial " << trial;
      check_conventions(contacts, 0.001);
      for (const ContactPoint& c : contacts)
        ASSERT_EQ(c.normal, Vec3(0, 0, -1)) << shape.name << " trial " << trial;
      ASSERT_NEAR(smallest(contacts), height, 2e-9) << shape.name << " trial " << trial;
    }
  }
}

TEST(MeshContact, AnOpenSheetHasTwoSides) {
  const MeshBvh floor = make_mesh_bvh(shared(floor_mesh(1, 9)));
  for (const Named& shape : convex_shapes()) {
    for (double side : {1.0, -1.0}) {
      int start = 0;
      const double reach =
          support(shape.collider, -side * Vec3::UnitZ(), &start).z() * -side + shape.collider.rounding;
      std::vector<ContactPoint> contacts;
      collide_mesh(shape.collider, {Mat3::Identity(), {0.03, 0.04, side * (reach - 0.001)}}, floor, {}, 0,
                   &contacts);
      ASSERT_FALSE(contacts.empty()) << shape.name;
      for (const ContactPoint& c : contacts) {
        EXPECT_EQ(c.normal, Vec3(0, 0, -side)) << shape.name;
        EXPECT_NEAR(c.distance, -0.001, 1e-9);
      }
    }
  }
}

// A box made of triangles against the box itself: the same distance when apart, or slightly sunk.
TEST(MeshContact, BoxMeshEqualsBox) {
  const Vec3 half(0.3, 0.2, 0.25);
  const Collider box = make_collider(Box{half});
  RandomPoses random(3);
  for (int cells : {1, 4}) {
    const MeshBvh mesh = make_mesh_bvh(shared(box_mesh(half, cells)));
    for (const Named& shape : convex_shapes()) {
      int compared = 0, apart = 0;
      for (int trial = 0; trial < 4000; ++trial) {
        const Transform X_WM = random.pose(1);
        const Transform X_WC = {random.rotation(), X_WM * random.vector(0.45)};
        ContactPoint exact;
        const double d = signed_distance(shape.collider, X_WC, box, X_WM, &exact);
        if (d < -0.002 || d > 0.02) continue;
        std::vector<ContactPoint> contacts;
        collide_mesh(shape.collider, X_WC, mesh, X_WM, 0.03, &contacts);
        ASSERT_FALSE(contacts.empty()) << shape.name << " d " << d;
        check_conventions(contacts, 0.03);
        ASSERT_NEAR(smallest(contacts), d, 2e-6) << shape.name << " cells " << cells << " trial " << trial;
        const auto deepest =
            std::min_element(contacts.begin(), contacts.end(),
                             [](const auto& a, const auto& b) { return a.distance < b.distance; });
        if (d > 1e-4) {
          EXPECT_GT(deepest->normal.dot(exact.normal), 1 - 1e-5) << shape.name;
        }
        ++compared;
        apart += d > 0;
      }
      EXPECT_GT(compared, 50) << shape.name;
      EXPECT_GT(apart, 30) << shape.name;
    }
  }
}

// Apart from any mesh, the least distance is that of the nearest triangle (plain loop over all).
TEST(MeshContact, DistanceEqualsTheNearestTriangle) {
  const MeshBvh torus = make_mesh_bvh(shared(torus_mesh(0.4, 0.12, 24, 14)));
  RandomPoses random(4);
  for (const Named& shape : convex_shapes()) {
    int compared = 0;
    for (int trial = 0; trial < 600; ++trial) {
      const Transform X_WC = random.pose(0.6), X_WM = random.pose(0.1);
      double best = 1e300;
      for (size_t t = 0; t < torus.mesh->triangles.size(); ++t) {
        const int i = static_cast<int>(t);
        const Collider triangle =
            make_triangle_collider(torus.vertex(i, 0), torus.vertex(i, 1), torus.vertex(i, 2));
        best = std::min(best, signed_distance(shape.collider, X_WC, triangle, X_WM));
        if (best < 1e-4) break;
      }
      if (best < 1e-4 || closest_point_signed(torus, inverse(X_WM) * X_WC.p).distance < 0) continue;
      std::vector<ContactPoint> contacts;
      collide_mesh(shape.collider, X_WC, torus, X_WM, 0.05, &contacts);
      check_conventions(contacts, 0.05);
      if (best <= 0.0499) {
        ASSERT_FALSE(contacts.empty()) << shape.name << " best " << best;
        EXPECT_NEAR(smallest(contacts), best, 1e-7) << shape.name;
        ++compared;
      } else if (best > 0.05) {
        EXPECT_TRUE(contacts.empty()) << shape.name;
      }
    }
    EXPECT_GT(compared, 30);
  }
}

// A shape that overlaps a solid is never without a contact, and the contact parts them.
TEST(MeshContact, OverlapAlwaysHasAContact) {
  const MeshBvh torus = make_mesh_bvh(shared(torus_mesh(0.4, 0.12, 24, 14)));
  RandomPoses random(5);
  int overlapping = 0;
  for (const Named& shape : convex_shapes()) {
    for (int trial = 0; trial < 600; ++trial) {
      const Transform X_WC = random.pose(0.5);
      bool overlap = closest_point_signed(torus, X_WC.p).distance < 0;
      for (int t = 0; t < static_cast<int>(torus.mesh->triangles.size()) && !overlap; ++t) {
        overlap = signed_distance(
                      shape.collider, X_WC,
                      make_triangle_collider(torus.vertex(t, 0), torus.vertex(t, 1), torus.vertex(t, 2)),
                      {}) < -1e-6;
      }
      if (!overlap) continue;
      ++overlapping;
      std::vector<ContactPoint> contacts;
      collide_mesh(shape.collider, X_WC, torus, {}, 0, &contacts);
      check_conventions(contacts, 0);
      ASSERT_FALSE(contacts.empty()) << shape.name << " trial " << trial;
    }
  }
  EXPECT_GT(overlapping, 500);
}

TEST(MeshContact, HalfSpaceTouchesTheLowestVertices) {
  const MeshBvh box = make_mesh_bvh(shared(box_mesh({0.1, 0.2, 0.3}, 5)));
  const Collider ground = make_collider(HalfSpace{});
  for (double yaw : {0.0, 0.3, 1.2}) {
    const Transform X{rotation_about(Vec3::UnitZ(), std::cos(yaw), std::sin(yaw)), {5, 6, 0.299}};
    std::vector<ContactPoint> contacts;
    collide_mesh(ground, {}, box, X, 0, &contacts);
    ASSERT_EQ(contacts.size(), 4u);
    for (const ContactPoint& c : contacts) {
      EXPECT_EQ(c.normal, Vec3::UnitZ());
      EXPECT_NEAR(c.distance, -0.001, 1e-12);
      const Vec3 local = X.R.transpose() * (c.p_B - X.p);
      EXPECT_NEAR(std::abs(local.x()), 0.1, 1e-12);  // the corners
      EXPECT_NEAR(std::abs(local.y()), 0.2, 1e-12);
    }
  }
}

TEST(MeshContact, HeightFieldPushesUpFromAnyDepth) {
  HeightField field{21, 21, {1, 1}, 0.5, std::make_shared<std::vector<double>>(441, 0.1)};
  const MeshBvh ground = make_height_field_bvh(field);
  const Collider ball = make_collider(Sphere{0.05});
  for (double z : {0.149, 0.12, 0.1, 0.05, -0.1, -0.3}) {
    std::vector<ContactPoint> contacts;
    collide_mesh(ball, {Mat3::Identity(), {0.123, 0.234, z}}, ground, {}, 0, &contacts);
    ASSERT_EQ(contacts.size(), 1u) << z;
    EXPECT_LT((contacts[0].normal - Vec3(0, 0, -1)).norm(), 1e-12) << z;
    EXPECT_NEAR(contacts[0].distance, z - 0.15, 1e-12);
  }
}

// A valley: two contacts, one on each slope.
TEST(MeshContact, BallInAValleyHasTwoContacts) {
  auto heights = std::make_shared<std::vector<double>>();
  for (int r = 0; r < 11; ++r) {
    for (int c = 0; c < 11; ++c) heights->push_back(std::abs(c - 5) * 0.2);
  }
  const MeshBvh ground = make_height_field_bvh({11, 11, {1, 1}, 0.5, heights});
  std::vector<ContactPoint> contacts;
  const double r = 0.3;
  collide_mesh(make_collider(Sphere{r}), {Mat3::Identity(), {0, 0.07, std::sqrt(2.0) * (r - 0.001)}}, ground,
               {}, 0, &contacts);
  ASSERT_EQ(contacts.size(), 2u);
  for (const ContactPoint& c : contacts) {
    EXPECT_NEAR(c.distance, -0.001, 1e-12);
    EXPECT_NEAR(c.normal.z(), -std::sqrt(0.5), 1e-12);
  }
}

}  // namespace
}  // namespace capstan::mesh_contact_test
