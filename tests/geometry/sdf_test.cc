#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/collide.h"
#include "capstan/geometry/sdf_contact.h"
#include "test_meshes.h"

namespace capstan::sdf_test {
namespace {

TEST(SdfGrid, TorusToTheAccuracyOfTheCell) {
  const double R = 0.7, r = 0.25;
  const SdfGrid grid = make_sdf_grid(shared(torus_mesh(R, r, 160, 80)), 64);
  RandomPoses random(1);
  double worst = 0, worst_angle = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const Vec3 p = random.vector(1);
    const double ring = std::hypot(p.x(), p.y());
    const double exact = std::hypot(ring - R, p.z()) - r;
    if (std::abs(exact) > 0.05) continue;  // radius of curvature at least 0.2 m
    const Vec3 n = Vec3((ring - R) * p.x() / ring, (ring - R) * p.y() / ring, p.z()).normalized();
    Vec3 g;
    worst = std::max(worst, std::abs(sdf_value(grid, p, &g) - exact));
    worst_angle = std::max(worst_angle, std::acos(std::min(1.0, g.normalized().dot(n))));
    EXPECT_NEAR(g.norm(), 1, 0.05);
  }
  // cell^2 / (8 R_curvature) for each of two directions is 5e-4 m at a cell of 3 cm; the facets add 4e-4 m.
  EXPECT_LT(worst, 1.5e-3);
  EXPECT_GT(worst, 1e-5);
  EXPECT_LT(worst_angle, std::sqrt(0.75) * grid.cell / 0.2);  // half a diagonal over the radius
}

TEST(SdfGrid, ErrorShrinksWithTheCell) {
  const Vec3 half(0.3, 0.2, 0.25);
  double last = 1;
  for (int resolution : {8, 16, 32, 64}) {
    const SdfGrid grid = make_sdf_grid(shared(box_mesh(half, 1)), resolution);
    RandomPoses random(2);
    double worst = 0;
    for (int trial = 0; trial < 5000; ++trial) {
      const Vec3 p = random.vector(0.4), q = p.cwiseAbs() - half;
      const double exact = q.cwiseMax(0.0).norm() + std::min(0.0, q.maxCoeff());
      if (q.maxCoeff() > 3 * grid.cell) {  // beyond the grid: a lower bound
        EXPECT_LE(sdf_value(grid, p), exact + 0.87 * grid.cell);
        EXPECT_GE(sdf_value(grid, p), 0.5 * exact);
        continue;
      }
      worst = std::max(worst, std::abs(sdf_value(grid, p) - exact));
    }
    EXPECT_LT(worst, 0.87 * grid.cell);  // half a diagonal
    EXPECT_LT(worst, 0.7 * last);
    last = worst;
  }
}

TEST(SdfGrid, GradientIsThatOfTheValue) {
  const SdfGrid grid = make_sdf_grid(shared(sphere_mesh(1, 2)), 16);
  RandomPoses random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const Vec3 p = random.vector(trial % 2 ? 1.2 : 3);
    Vec3 g;
    sdf_value(grid, p, &g);
    // Away from the planes between cells, where the interpolant has a kink.
    const Vec3 x = (p - grid.origin) / grid.cell, f = x - Vec3(x.array().floor());
    if (f.minCoeff() < 1e-3 || f.maxCoeff() > 1 - 1e-3) continue;
    for (int a = 0; a < 3; ++a) {
      const Vec3 e = 1e-6 * Vec3::Unit(a);
      EXPECT_NEAR((sdf_value(grid, p + e) - sdf_value(grid, p - e)) / 2e-6, g[a], 1e-6);
    }
  }
}

TEST(SdfGrid, RefusesWhatHasNoInside) {
  const auto message = [](TriangleMesh mesh, int resolution) {
    try {
      make_sdf_grid(shared(std::move(mesh)), resolution);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message(floor_mesh(1, 3), 16).find("not closed: 12"), std::string::npos);
  TriangleMesh inverted = box_mesh({1, 1, 1}, 1);
  for (auto& t : inverted.triangles) std::swap(t[0], t[1]);
  EXPECT_NE(message(inverted, 16).find("inside out"), std::string::npos);
  EXPECT_NE(message(box_mesh({1, 1, 1}, 1), 100000).find("resolution 100000"), std::string::npos);
}

// The plain twin of the minimization: a dense sampling of the triangle.
TEST(SdfTriangle, MinimumEqualsSampling) {
  const SdfGrid grid = make_sdf_grid(shared(torus_mesh(0.7, 0.25, 40, 20)), 48);
  RandomPoses random(4);
  int near = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Vec3 a = random.vector(1), b = a + random.vector(2 * grid.cell),
               c = a + random.vector(2 * grid.cell);
    double best = 1e300;
    for (int i = 0; i <= 30; ++i) {
      for (int j = 0; i + j <= 30; ++j)
        best = std::min(best, sdf_value(grid, a + i / 30.0 * (b - a) + j / 30.0 * (c - a)));
    }
    Vec3 x;
    const double s = minimize_on_triangle(grid, a, b, c, &x);
    EXPECT_NEAR(s, sdf_value(grid, x), 1e-12);
    EXPECT_LT(s, best + 0.25 * grid.cell) << trial;  // the caller leaves half a cell
    near += s < best + 0.01 * grid.cell;
  }
  EXPECT_GT(near, 480);
}

Collider sdf_collider(TriangleMesh mesh, int resolution) {
  return make_collider(Shape(SignedDistanceMesh{shared(std::move(mesh)), resolution}));
}

void check(const std::vector<ContactPoint>& contacts, double margin) {
  for (const ContactPoint& c : contacts) {
    EXPECT_NEAR(c.normal.norm(), 1, 1e-12);
    EXPECT_LT((c.p_B - c.p_A - c.distance * c.normal).norm(), 1e-9);
    EXPECT_LE(c.distance, margin);
  }
}

double smallest(const std::vector<ContactPoint>& contacts) {
  double d = 1e300;
  for (const ContactPoint& c : contacts) d = std::min(d, c.distance);
  return d;
}

// Two boxes made of triangles against the exact distance of two boxes; swapping flips the normals.
TEST(SdfContact, BoxesEqualBoxes) {
  const Vec3 h1(0.1, 0.08, 0.06), h2(0.07, 0.1, 0.05);
  const Collider A = sdf_collider(box_mesh(h1, 2), 32), B = sdf_collider(box_mesh(h2, 1), 32);
  const Collider box_A = make_collider(Box{h1}), box_B = make_collider(Box{h2});
  RandomPoses random(5);
  int compared = 0, apart = 0, close = 0;
  for (int trial = 0; trial < 3000 && compared < 150; ++trial) {
    const Transform X_A = random.pose(0.1), X_B = {random.rotation(), X_A.p + random.vector(0.2)};
    const double d = signed_distance(box_A, X_A, box_B, X_B);
    if (d < -0.001 || d > 0.01) continue;
    ++compared;
    std::vector<ContactPoint> contacts, back;
    collide(A, X_A, B, X_B, 0.015, &contacts);
    collide(B, X_B, A, X_A, 0.015, &back);
    check(contacts, 0.015);
    ASSERT_FALSE(contacts.empty());
    // Apart, the distances agree. Overlapping, the depth of the deepest point is that of the boxes when a
    // corner is in a face, and less when edges cross: down to the cosine of the normal with a face.
    if (d > 0) {
      // Nearly parallel edges make a flat valley in which the search stops early.
      EXPECT_NEAR(smallest(contacts), d, 1e-4) << "trial " << trial;
      ++apart;
      close += std::abs(smallest(contacts) - d) < 1e-6;
    } else {
      EXPECT_LT(smallest(contacts), 0.3 * d) << "trial " << trial;
      EXPECT_GT(smallest(contacts), d - 1e-5) << "trial " << trial;
    }
    EXPECT_NEAR(smallest(back), smallest(contacts), 1e-8);  // depths equal to 1e-6 of a cell count as one
    const auto deepest = [](const std::vector<ContactPoint>& c) {
      return *std::min_element(c.begin(), c.end(), [](auto& x, auto& y) { return x.distance < y.distance; });
    };
    EXPECT_LT((deepest(contacts).normal + deepest(back).normal).norm(), 0.05);
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(close, 0.9 * apart);
}

// Links of a chain: a torus through the hole of another is free, and touches when moved by the gap.
TEST(SdfContact, LinkedToriAreTrueToTheirHoles) {
  const double R = 0.1, r = 0.02;
  const Collider link = sdf_collider(torus_mesh(R, r, 96, 48), 64);
  // The second link turned by 90 degrees about x, its ring through the hole of the first.
  const Mat3 turned = rotation_about(Vec3::UnitX(), 0, 1);
  std::vector<ContactPoint> contacts;
  collide(link, {}, link, {turned, {R, 0, 0}}, 0.001, &contacts);
  EXPECT_TRUE(contacts.empty());
  // Pulled along x the inner sides meet at 2 R - 2 r.
  for (double depth : {-0.0005, 0.0005}) {
    contacts.clear();
    collide(link, {}, link, {turned, {2 * R - 2 * r + depth, 0, 0}}, 0.001, &contacts);
    ASSERT_FALSE(contacts.empty());
    check(contacts, 0.001);
    EXPECT_NEAR(smallest(contacts), -depth, 1e-4);
    // Points up to 1.5 mm shallower lie within 9 mm of the deepest, 0.45 rad around the tube.
    for (const ContactPoint& c : contacts) EXPECT_GT(std::abs(c.normal.x()), 0.88);
  }
}

TEST(SdfContact, ConvexShapesMeetTheMesh) {
  const Collider torus = sdf_collider(torus_mesh(0.1, 0.03, 64, 32), 48);
  const Collider ball = make_collider(Sphere{0.05});
  std::vector<ContactPoint> contacts;
  collide(ball, {}, torus, {}, 0, &contacts);  // in the hole: 0.07 free
  EXPECT_TRUE(contacts.empty());
  collide(ball, {Mat3::Identity(), {0.021, 0, 0}}, torus, {}, 0, &contacts);
  ASSERT_FALSE(contacts.empty());
  EXPECT_NEAR(smallest(contacts), -0.001, 2e-4);
  contacts.clear();
  collide(torus, {Mat3::Identity(), {0, 0, 0.0295}}, make_collider(HalfSpace{}), {}, 0, &contacts);
  ASSERT_GE(contacts.size(), 3u);  // lies on its ring
  for (const ContactPoint& c : contacts) {
    EXPECT_EQ(c.normal, Vec3(0, 0, -1));
    EXPECT_NEAR(c.distance, -0.0005, 1e-9);
  }
}

// A ring lying on a tessellated floor is held up on all sides.
TEST(SdfContact, RingOnAFloorMeshIsSupported) {
  const Collider torus = sdf_collider(torus_mesh(0.1, 0.03, 64, 32), 48);
  const Collider floor = make_collider(Shape(SurfaceMesh{shared(floor_mesh(0.5, 5))}));
  RandomPoses random(6);
  for (int trial = 0; trial < 20; ++trial) {
    const double yaw = 3 * random.number();
    std::vector<ContactPoint> contacts;
    collide(torus,
            {rotation_about(Vec3::UnitZ(), std::cos(yaw), std::sin(yaw)),
             {0.1 * random.number(), 0.1 * random.number(), 0.0295}},
            floor, {}, 0, &contacts);
    ASSERT_GE(contacts.size(), 3u);
    check(contacts, 0);
    Vec3 mean = Vec3::Zero();
    for (const ContactPoint& c : contacts) {
      EXPECT_LT(c.normal.z(), -0.9);
      EXPECT_GT(c.distance, -0.0007);
      mean += c.p_A / static_cast<double>(contacts.size());
    }
  }
}

TEST(SdfContact, SurfaceMeshesAloneCannotCollide) {
  EXPECT_FALSE(can_collide(ColliderType::mesh, ColliderType::mesh));
  EXPECT_FALSE(can_collide(ColliderType::height_field, ColliderType::mesh));
  EXPECT_TRUE(can_collide(ColliderType::sdf, ColliderType::mesh));
  EXPECT_TRUE(can_collide(ColliderType::box, ColliderType::height_field));
  EXPECT_TRUE(can_collide(ColliderType::mesh, ColliderType::half_space));
  EXPECT_STREQ(shape_name(SignedDistanceMesh{}), "sdf_mesh");
}

}  // namespace
}  // namespace capstan::sdf_test
