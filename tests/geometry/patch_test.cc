// Pressure fields and patches against theory, a plain twin, and their own symmetries.
#include "capstan/geometry/patch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/collide.h"
#include "capstan/math/rotation.h"

namespace capstan::patch_test {
namespace {

constexpr double kPi = std::numbers::pi;

struct Solid {
  Shape shape;
  double modulus = 1e6;
  FieldOptions options = {};
};

struct Sum {
  bool any = false;
  int points = 0, polygons = 0;
  double area = 0, normal_force = 0, stiffness = 0;
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // about the world's origin
};

// On b. The points are those of the last patch in `w`.
Sum sum_of(const PatchWorkspace& w) {
  Sum sum;
  sum.any = !w.points.empty();
  sum.points = static_cast<int>(w.points.size());
  sum.polygons = static_cast<int>(w.polygons.size());
  for (const PatchPoint& p : w.points) {
    const double f = p.stiffness * -p.distance();
    sum.area += p.area;
    sum.normal_force += f;
    sum.stiffness += p.stiffness;
    sum.force += f * p.normal;
    sum.moment += f * cross(p.p, p.normal);
  }
  return sum;
}

Sum patch(const Solid& a, const Transform& X_WA, const Solid& b, const Transform& X_WB, PatchWorkspace* w,
          int most_points = 0, double margin = 0) {
  std::vector<ContactPoint> points;
  collide(make_collider(a.shape), X_WA, make_collider(b.shape), X_WB, 0, &points);
  ContactPoint deepest{};
  for (const ContactPoint& p : points) {
    if (p.distance < deepest.distance) deepest = p;
  }
  if (!(deepest.distance < 0)) return {};
  const auto field_a = make_pressure_field(a.shape, a.options),
             field_b = make_pressure_field(b.shape, b.options);
  calc_patch({field_a.get(), X_WA, a.modulus}, {field_b.get(), X_WB, b.modulus},
             {deepest.normal, -deepest.distance, margin, most_points}, w);
  return sum_of(*w);
}

Transform at(double x, double y, double z, const Vec3& turn = Vec3::Zero()) {
  Transform X;
  X.p = Vec3(x, y, z);
  if (turn.norm() > 0) X.R = rotation_matrix(quat_from_axis_angle(turn.normalized(), turn.norm()));
  return X;
}

const Solid kRigidFloor{HalfSpace{}, kInfinity};

// F = E pi (R^2 - h^2) - 2 pi E (R^3 - h^3) / (3 R), h = R - d: the field 1 - r/R over the disc.
double sphere_force(double E, double R, double d) {
  const double h = R - d;
  return E * kPi * (R * R - h * h) - 2 * kPi * E * (R * R * R - h * h * h) / (3 * R);
}

TEST(Patch, SphereOnRigidPlane) {
  PatchWorkspace w;
  const double R = 0.05;
  for (const double d : {1e-6, 1e-5, 1e-4, 5.61e-4, 1.789e-3, 5e-3, 0.02}) {
    const Sum sum = patch(kRigidFloor, {}, {Sphere{R}, 1e6}, at(0, 0, R - d), &w);
    EXPECT_LE(sum.polygons, 40);
    EXPECT_NEAR(sum.normal_force, sphere_force(1e6, R, d), 0.01 * sphere_force(1e6, R, d)) << d;
    EXPECT_NEAR(sum.area, kPi * (R * R - (R - d) * (R - d)), 0.03 * sum.area) << d;
    EXPECT_NEAR(sum.moment.norm(), 0, 1e-9 * sum.normal_force);
  }
}

TEST(Patch, FinerRingsConverge) {
  PatchWorkspace w;
  const double R = 0.05, d = 1e-3, exact = sphere_force(1e6, R, d);
  double last = kInfinity;
  for (const int rings : {2, 4, 8, 16}) {
    Solid ball{Sphere{R}, 1e6};
    ball.options.rings = rings;
    const double error = std::abs(patch(kRigidFloor, {}, ball, at(0, 0, R - d), &w).normal_force / exact - 1);
    EXPECT_LT(error, 0.6 * last);
    last = error;
  }
  EXPECT_LT(last, 1e-3);
}

// E A / H with H half of its height, but for the rim of the width of the depth: 1 - 2 d / s.
TEST(Patch, BoxOnRigidPlane) {
  PatchWorkspace w;
  const double s = 0.1, E = 1e7, H = s / 2;
  for (const double d : {5e-6, 1e-4, 1e-3}) {
    const Sum sum = patch(kRigidFloor, {}, {Box{Vec3::Constant(s / 2)}, E}, at(0, 0, H - d), &w);
    // The middle has p = E d / H, the four strips at the sides E x / H at the distance x < d from the side,
    // which is a half, or at the corners a third, of it.
    const double middle = (s - 2 * d) * (s - 2 * d), strips = 4 * d * (s - 2 * d), corners = 4 * d * d;
    const double exact = E * d / H * (middle + strips / 2 + corners / 3);
    EXPECT_NEAR(sum.normal_force, exact, 1e-10 * exact);
    EXPECT_NEAR(sum.normal_force, E * s * s / H * d, 2.1 * d / s * exact);
    EXPECT_NEAR(sum.stiffness, E * s * s / H, 5 * d / s * sum.stiffness);
    EXPECT_NEAR(sum.area, s * s, 1e-10);
    EXPECT_LE(sum.points, 16);
  }
}

// The compliance of two bodies is the sum of theirs.
TEST(Patch, TwoBoxesAreInSeries) {
  PatchWorkspace w;
  const double s = 0.1, d = 1e-5;
  const Solid soft{Box{Vec3::Constant(s / 2)}, 1e6}, hard{Box{Vec3(0.2, 0.2, s / 2)}, 3e6};
  const Sum sum = patch(hard, at(0, 0, 0), soft, at(0.01, 0.02, s - d), &w);
  const double k = s * s / (s / 2 / 1e6 + s / 2 / 3e6);
  EXPECT_NEAR(sum.normal_force, k * d, 1e-3 * k * d);
  EXPECT_NEAR(sum.force.z(), sum.normal_force, 1e-3 * sum.normal_force);
  EXPECT_NEAR(sum.stiffness, k, 2e-3 * k);
}

TEST(Patch, RigidIsTheLimitOfStiff) {
  PatchWorkspace w;
  const Solid ball{Sphere{0.05}, 1e6};
  const Transform X = at(0.01, 0.02, 0.049);
  const Sum rigid = patch(kRigidFloor, {}, ball, X, &w);
  const Sum stiff = patch({HalfSpace{}, 1e13}, {}, ball, X, &w);
  EXPECT_NEAR(stiff.normal_force, rigid.normal_force, 1e-4 * rigid.normal_force);
  EXPECT_NEAR(stiff.stiffness, rigid.stiffness, 1e-4 * rigid.stiffness);
  EXPECT_FALSE(patch(kRigidFloor, {}, {Sphere{0.05}, kInfinity}, X, &w).any);
}

TEST(Patch, CylinderStandsAndLies) {
  PatchWorkspace w;
  const double R = 0.03, h = 0.05, E = 1e6, d = 1e-5;
  const Solid can{Cylinder{R, h}, E};
  const Sum stands = patch(kRigidFloor, {}, can, at(0, 0, h - d), &w);
  EXPECT_NEAR(stands.normal_force, E * kPi * R * R / R * d, 5e-3 * stands.normal_force);
  // Lying: the chord at each depth; F = L E / R * integral of (sqrt(R^2 - x^2) - h) dx, nearly 2 L E a d / (3
  // R)
  // * 2, less its ends.
  const double depth = 1e-3;
  const Sum lies = patch(kRigidFloor, {}, can, at(0, 0, R - depth, Vec3(kPi / 2, 0, 0)), &w);
  double exact = 0;
  const int n = 20000;
  const double hh = R - depth, a = std::sqrt(R * R - hh * hh);
  for (int i = 0; i < n; ++i) {
    const double x = -a + (i + 0.5) * 2 * a / n, e = R - std::hypot(x, hh);
    exact += E / R * (2 * a / n) * (e * (2 * h - 2 * e) + e * e);  // the ends: e falls to zero within e
  }
  EXPECT_NEAR(lies.normal_force, exact, 0.01 * exact);
}

TEST(Patch, CapsuleLiesAndStands) {
  PatchWorkspace w;
  const double R = 0.03, h = 0.05, E = 1e6, d = 1e-3;
  const Solid pill{Capsule{R, h}, E};
  const Sum stands = patch(kRigidFloor, {}, pill, at(0, 0, R + h - d), &w);
  EXPECT_NEAR(stands.normal_force, sphere_force(E, R, d), 0.01 * stands.normal_force);
  const Sum lies = patch(kRigidFloor, {}, pill, at(0, 0, R - d, Vec3(0, kPi / 2, 0)), &w);
  double exact = sphere_force(E, R, d);
  const int n = 20000;
  const double hh = R - d, a = std::sqrt(R * R - hh * hh);
  for (int i = 0; i < n; ++i)
    exact += 2 * h * (2 * a / n) * E * (1 - std::hypot(-a + (i + 0.5) * 2 * a / n, hh) / R);
  EXPECT_NEAR(lies.normal_force, exact, 0.01 * exact);
}

// The field of a point of a solid, without any cells.
double plain_field(const Shape& shape, const Vec3& x) {
  if (const auto* s = std::get_if<Sphere>(&shape)) return 1 - x.norm() / s->radius;
  if (const auto* e = std::get_if<Ellipsoid>(&shape)) return 1 - x.cwiseQuotient(e->radii).norm();
  if (const auto* b = std::get_if<Box>(&shape))
    return (b->half_size - x.cwiseAbs()).minCoeff() / b->half_size.minCoeff();
  if (const auto* c = std::get_if<Capsule>(&shape))
    return 1 - (x - Vec3(0, 0, std::clamp(x.z(), -c->half_length, c->half_length))).norm() / c->radius;
  const auto& c = std::get<Cylinder>(shape);
  return std::min(c.radius - x.head<2>().norm(), c.half_length - std::abs(x.z())) /
         std::min(c.radius, c.half_length);
}

// The force on b by brute force: in A and B, p_a - p_b changes its sign across the patch, so that
//   integral of p n dA = integral over the volume of p grad(H(p_b - p_a)) = limit of sums over a grid
// of points with |p_b - p_a| < w: p (grad p_b - grad p_a) / (2 w).
Sum plain_patch(const Solid& a, const Transform& X_WA, const Solid& b, const Transform& X_WB, const Aabb& box,
                int cells) {
  const auto p_of = [&](const Solid& s, const Transform& X, const Vec3& x) {
    return s.modulus * plain_field(s.shape, inverse(X) * x);
  };
  const Vec3 h = (box.upper - box.lower) / cells;
  Sum sum;
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < cells; ++j) {
      for (int k = 0; k < cells; ++k) {
        const Vec3 x = box.lower + Vec3(h.x() * (i + 0.5), h.y() * (j + 0.5), h.z() * (k + 0.5));
        const double pa = p_of(a, X_WA, x), pb = p_of(b, X_WB, x);
        if (pa <= 0 || pb <= 0) continue;
        Vec3 gradient;
        const double step = 1e-7;
        for (int d = 0; d < 3; ++d) {
          const Vec3 dx = step * Vec3::Unit(d);
          gradient[d] = (p_of(b, X_WB, x + dx) - p_of(a, X_WA, x + dx) - p_of(b, X_WB, x - dx) +
                         p_of(a, X_WA, x - dx)) /
                        (2 * step);
        }
        const double width = 1.5 * gradient.cwiseAbs().dot(h);
        if (std::abs(pb - pa) > width) continue;
        // A hat of that width.
        const Vec3 f = h.prod() * 0.5 * (pa + pb) * gradient / width * (1 - std::abs(pb - pa) / width);
        sum.force += f;
        sum.moment += cross(x, f);
      }
    }
  }
  return sum;
}

TEST(Patch, AgreesWithABruteForceTwin) {
  PatchWorkspace w;
  const Solid solids[] = {{Sphere{0.05}, 1e6},
                          {Box{Vec3(0.05, 0.04, 0.03)}, 3e6},
                          {Ellipsoid{Vec3(0.05, 0.04, 0.06)}, 2e6},
                          {Capsule{0.03, 0.04}, 1e6},
                          {Cylinder{0.04, 0.03}, 2e6}};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  int compared = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = i; j < 5; ++j) {
      const Solid &a = solids[i], &b = solids[j];
      const auto turn = [&] { return Vec3(3 * unit(random), 3 * unit(random), 3 * unit(random)); };
      const Transform X_WA = at(0, 0, 0, turn());
      Transform X_WB = at(0.1 * unit(random), 0.1 * unit(random), 0.1, turn());
      // To an overlap of 6 mm.
      ContactPoint c;
      const double distance = signed_distance(make_collider(a.shape), X_WA, make_collider(b.shape), X_WB, &c);
      X_WB.p -= (distance + 0.006) * c.normal;
      Solid fine_a = a, fine_b = b;
      fine_a.options.rings = fine_b.options.rings = 8;
      const Sum coarse = patch(a, X_WA, b, X_WB, &w), fine = patch(fine_a, X_WA, fine_b, X_WB, &w);
      ASSERT_TRUE(fine.any);
      Aabb box;
      for (const Vec3& v : w.vertices) include(box, v);
      const Sum plain = plain_patch(a, X_WA, b, X_WB, inflated(box, 1e-3), 120);
      const double size = plain.force.norm();
      EXPECT_NEAR((fine.force - plain.force).norm(), 0, 0.02 * size) << i << " " << j;
      EXPECT_NEAR((coarse.force - plain.force).norm(), 0, 0.05 * size) << i << " " << j;
      EXPECT_NEAR((fine.moment - plain.moment).norm(), 0, 0.02 * 0.1 * size) << i << " " << j;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 15);
}

TEST(Patch, SwappedBodiesPushTheOtherWay) {
  PatchWorkspace w;
  const Solid solids[] = {
      {Sphere{0.05}, 1e6}, {Box{Vec3(0.05, 0.04, 0.03)}, 3e6}, {Cylinder{0.04, 0.03}, 2e6}};
  for (const Solid& a : solids) {
    for (const Solid& b : solids) {
      const Transform X_WA = at(0, 0, 0, Vec3(0.3, 0.2, 0.1)),
                      X_WB = at(0.02, 0.01, 0.065, Vec3(0.5, -1, 0.2));
      const Sum one = patch(a, X_WA, b, X_WB, &w), other = patch(b, X_WB, a, X_WA, &w);
      EXPECT_EQ(one.any, other.any);
      EXPECT_EQ(one.points, other.points);
      EXPECT_NEAR((one.force + other.force).norm(), 0, 1e-6 * one.force.norm() + 1e-12);
      EXPECT_NEAR((one.moment + other.moment).norm(), 0, 1e-6 * one.moment.norm() + 1e-12);
      EXPECT_NEAR(one.stiffness, other.stiffness, 1e-6 * one.stiffness);
    }
  }
}

// A hull of a cube has the field of a box; a surface of triangles is a plane; tets have the field that their
// vertices tell.
TEST(Patch, MeshesAreWhatTheyAreMadeOf) {
  PatchWorkspace w;
  auto cube = std::make_shared<TriangleMesh>();
  for (int i = 0; i < 8; ++i)
    cube->vertices.push_back(0.05 * Vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1));
  cube->triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                     {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  const Transform X = at(0.03, 0.01, 0.0499, Vec3(0.001, 0.002, 0.4));
  const Sum box = patch(kRigidFloor, {}, {Box{Vec3::Constant(0.05)}, 1e6}, X, &w);
  const Sum hull = patch(kRigidFloor, {}, {ConvexMesh{cube}, 1e6}, X, &w);
  EXPECT_NEAR((box.force - hull.force).norm(), 0, 1e-9 * box.force.norm());
  EXPECT_NEAR((box.moment - hull.moment).norm(), 0, 1e-6 * box.moment.norm());

  auto floor = std::make_shared<TriangleMesh>();
  floor->vertices = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
  floor->triangles = {{0, 1, 2}, {0, 2, 3}};
  for (const Solid& solid : {Solid{Sphere{0.05}, 1e6}, Solid{Box{Vec3::Constant(0.05)}, 1e6}}) {
    const Sum plane = patch(kRigidFloor, {}, solid, X, &w);
    const Sum triangles = patch({SurfaceMesh{floor}, kInfinity}, {}, solid, X, &w);
    // The facets of a ball are 0.1 % of the depth wider for convex partners.
    EXPECT_NEAR((plane.force - triangles.force).norm(), 0, 1e-3 * plane.force.norm());
    EXPECT_NEAR(plane.area, triangles.area, 2e-3 * plane.area);
  }
  // Tets at the edges of the cube have all vertices on its surface, and no pressure: of first order in their
  // size.
  double last = kInfinity;
  for (const int n : {6, 12, 24}) {
    Solid tets{SurfaceMesh{cube}, 1e6};
    tets.options.tets = std::make_shared<TetMesh>(make_box_tets(Vec3::Constant(0.1), {n, n, n}));
    const Sum tet = patch(kRigidFloor, {}, tets, X, &w);
    const double error = std::abs(tet.normal_force / box.normal_force - 1);
    EXPECT_LT(error, 0.6 * last) << n;
    EXPECT_GT(tet.polygons, n * n / 2);
    last = error;
  }
  EXPECT_LT(last, 0.1);
}

TEST(Patch, TetsWithoutAnInsideAreRefused) {
  FieldOptions options;
  options.tets = std::make_shared<TetMesh>(make_box_tets(Vec3::Constant(0.1), {1, 1, 1}));
  auto surface = std::make_shared<TriangleMesh>();
  EXPECT_THROW(make_pressure_field(SurfaceMesh{surface}, options), InputError);
}

// The force does not jump as a solid moves: along random lines, steps of a tenth change it by a tenth.
TEST(Patch, ForceIsContinuousInThePose) {
  PatchWorkspace w;
  const Solid solids[] = {{Sphere{0.05}, 1e6},
                          {Box{Vec3(0.05, 0.04, 0.03)}, 3e6},
                          {Ellipsoid{Vec3(0.05, 0.04, 0.06)}, 2e6},
                          {Capsule{0.03, 0.04}, 1e6},
                          {Cylinder{0.04, 0.03}, 2e6}};
  const Solid partners[] = {
      kRigidFloor, {HalfSpace{}, 1e6}, {Box{Vec3(0.1, 0.1, 0.04)}, 1e6}, {Sphere{0.06}, 2e6}};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const Solid& a : partners) {
    for (const Solid& b : solids) {
      for (int line = 0; line < 4; ++line) {
        Transform X = at(0.02 * unit(random), 0.02 * unit(random), 0.12,
                         Vec3(3 * unit(random), 3 * unit(random), 3 * unit(random)));
        ContactPoint c;
        X.p -=
            (signed_distance(make_collider(a.shape), {}, make_collider(b.shape), X, &c) + 0.004) * c.normal;
        const Vec3 travel = 1e-4 * Vec3(unit(random), unit(random), unit(random));
        const Vec3 turn = 2e-3 * Vec3(unit(random), unit(random), unit(random));
        const auto force = [&](double s) {
          Transform Y = X;
          Y.p += s * travel;
          Y.R = rotation_matrix(quat_from_axis_angle(turn.normalized(), s * turn.norm())) * X.R;
          return patch(a, {}, b, Y, &w).force;
        };
        Vec3 last = force(0);
        const double whole = (force(1) - last).norm(), size = last.norm();
        for (int i = 1; i <= 100; ++i) {
          const Vec3 now = force(i / 100.0);
          EXPECT_LT((now - last).norm(), 0.05 * whole + 0.002 * size) << i;
          last = now;
        }
      }
    }
  }
}

// The pressure of a half space depends on the height alone, so that the patch of any solid with it, whose rim
// has p = 0, pushes along its normal (Gauss): on edges and corners, too. All polygons have that normal, so
// that to slide along the plane opens and closes none.
TEST(Patch, AHalfSpacePushesAlongItsNormal) {
  PatchWorkspace w;
  const Solid floor{HalfSpace{}, 1e6};
  const Solid solids[] = {{Box{Vec3(0.05, 0.04, 0.03)}, 1e6},
                          {Cylinder{0.04, 0.01}, 2e6},
                          {Ellipsoid{Vec3(0.05, 0.04, 0.06)}, 2e6}};
  for (const Solid& solid : solids) {
    for (const Vec3& turn : {Vec3(0, 0, 0.2), Vec3(0, 1e-3, 0), Vec3(0.01, 0.02, 0), Vec3(0, 0.7, 0),
                             Vec3(0.6, 0.5, 0.3), Vec3(kPi / 2, 0, 0)}) {
      for (const double depth : {1e-5, 1e-4, 1e-3}) {
        Transform X = at(0, 0, 0.1, turn);
        ContactPoint c;
        X.p.z() -= signed_distance(make_collider(floor.shape), {}, make_collider(solid.shape), X, &c) + depth;
        const Sum sum = patch(floor, {}, solid, X, &w);
        ASSERT_TRUE(sum.any);
        // Each facet of a round solid is as far out as it is on the average: there are steps between them.
        const double tolerance = std::holds_alternative<Ellipsoid>(solid.shape) ? 1e-3 : 1e-9;
        for (const PatchPoint& p : w.points)
          EXPECT_LT((p.normal - Vec3::UnitZ()).norm(), tolerance) << turn.transpose() << " " << depth;
      }
    }
  }
}

// A box with one edge in the floor: what is near it has points that do not press, and all of its face is then
// covered.
TEST(Patch, PointsAheadDoNotPress) {
  PatchWorkspace w;
  const Solid box{Box{Vec3::Constant(0.05)}, 1e6};
  const Transform X = at(0, 0, 0.0505, Vec3(0, 0.012, 0));
  const Sum alone = patch(kRigidFloor, {}, box, X, &w);
  const Sum with = patch(kRigidFloor, {}, box, X, &w, 0, 2e-3);
  EXPECT_GT(with.points, alone.points);
  double pressing = 0, area = 0, largest = 0;
  for (const PatchPoint& p : w.points) {
    area += p.area;
    if (p.pressure > 0) pressing += p.stiffness * -p.distance();
    if (p.pressure > 0) continue;
    // The gap is what it is to the floor along the normal.
    EXPECT_NEAR(p.distance(), p.p.z() + (0.0505 - 0.05 * std::cos(0.012)) - 0.012 * p.p.x(), 1e-4);
    largest = std::max(largest, p.distance());
  }
  EXPECT_NEAR(pressing, alone.normal_force, 1e-9 * pressing);
  EXPECT_LE(largest, 2e-3);
  EXPECT_NEAR(area, 0.01, 5e-4);
}

// Deeper than the field reaches there is no patch.
TEST(Patch, PunchThrough) {
  PatchWorkspace w;
  const Solid ball{Sphere{0.05}, 1e6};
  EXPECT_TRUE(patch(kRigidFloor, {}, ball, at(0, 0, 0.001), &w).any);
  EXPECT_FALSE(patch(kRigidFloor, {}, ball, at(0, 0, -0.001), &w).any);
  Solid mat{HalfSpace{}, 1e5};
  mat.options.thickness = 0.01;
  EXPECT_TRUE(patch(mat, {}, {Box{Vec3::Constant(0.05)}, kInfinity}, at(0, 0, 0.0405), &w).any);
  EXPECT_FALSE(patch(mat, {}, {Box{Vec3::Constant(0.05)}, kInfinity}, at(0, 0, 0.0395), &w).any);
}

// Friction of a square that spins about its middle: mu p times the mean distance, 0.3825978 s.
TEST(Patch, SpinTorqueOfASquare) {
  PatchWorkspace w;
  patch(kRigidFloor, {}, {Box{Vec3::Constant(0.05)}, 1e7}, at(0, 0, 0.05 - 4.9e-6, Vec3(0, 0, 0.3)), &w);
  double torque = 0, force = 0;
  for (const PatchPoint& p : w.points) {
    force += p.pressure * p.area;
    torque += p.pressure * p.area * p.p.head<2>().norm();
  }
  EXPECT_NEAR(torque / force, 0.0382598, 0.01 * 0.0382598);
}

TEST(Patch, ReducedPatchKeepsForceMomentAndStiffness) {
  PatchWorkspace w;
  Solid ball{Ellipsoid{Vec3(0.05, 0.06, 0.05)}, 1e6};
  ball.options.rings = 12;
  const Transform X = at(0.01, 0.02, 0.048, Vec3(0.1, 0.2, 0.3));
  const Sum all = patch(kRigidFloor, {}, ball, X, &w), few = patch(kRigidFloor, {}, ball, X, &w, 20);
  EXPECT_GT(all.points, 400);
  EXPECT_EQ(few.points, 20);
  EXPECT_NEAR((all.force - few.force).norm(), 0, 1e-12 * all.force.norm());
  EXPECT_NEAR((all.moment - few.moment).norm(), 0, 1e-12 * all.moment.norm());
  EXPECT_NEAR(all.stiffness, few.stiffness, 1e-12 * all.stiffness);
  EXPECT_NEAR(all.area, few.area, 1e-12 * all.area);
}

}  // namespace
}  // namespace capstan::patch_test
