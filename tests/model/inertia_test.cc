#include "capstan/model/inertia.h"

#include <gtest/gtest.h>

#include <numbers>

#include "capstan/math/rotation.h"
#include "capstan/model/model.h"
#include "tests/support/random_scene.h"

namespace capstan::inertia_test {
namespace {

using std::numbers::pi;
using test::Random;

ShapeInstance make_shape(const Shape& shape, double density) {
  ShapeInstance s;
  s.name = "shape";
  s.body = "body";
  s.shape = shape;
  s.density = density;
  return s;
}

// Textbook moments of solids of density 800 kg/m^3.
TEST(Inertia, OfShapesMatchesClosedForms) {
  struct Solid {
    Shape shape;
    double volume;
    Vec3 per_mass;  // moments over mass
  };
  const double r = 0.3, h = 0.7;  // h is the whole height of the cylinder
  const std::vector<Solid> solids = {
      {Sphere{r}, 4 * pi / 3 * r * r * r, Vec3::Constant(2 * r * r / 5)},
      {Box{Vec3(0.1, 0.2, 0.3)}, 0.2 * 0.4 * 0.6, Vec3(0.16 + 0.36, 0.04 + 0.36, 0.04 + 0.16) / 12},
      {Cylinder{r, h / 2}, pi * r * r * h,
       Vec3((3 * r * r + h * h) / 12, (3 * r * r + h * h) / 12, r * r / 2)},
      {Ellipsoid{Vec3(0.1, 0.2, 0.3)}, 4 * pi / 3 * 0.006, Vec3(0.04 + 0.09, 0.01 + 0.09, 0.01 + 0.04) / 5},
  };
  for (const Solid& solid : solids) {
    SCOPED_TRACE(shape_name(solid.shape));
    const Inertia inertia = shape_inertia(make_shape(solid.shape, 800));
    const double mass = 800 * solid.volume;
    EXPECT_NEAR(inertia.mass, mass, 1e-13 * mass);
    EXPECT_LT((inertia.about_com - mass * Mat3(solid.per_mass.asDiagonal())).norm(), 1e-13 * mass);
    EXPECT_LT(inertia.com.norm(), 1e-15);
  }
}

// A capsule by numerical integration of disks: independent of how shape.cc cuts it into solids.
TEST(Inertia, OfACapsuleMatchesIntegrationOverDisks) {
  const double r = 0.2, half = 0.35;
  double mass = 0, axial = 0, across = 0;
  const int n = 400'000;
  const double length = 2 * (half + r), dz = length / n;
  for (int i = 0; i < n; ++i) {
    const double z = -length / 2 + (i + 0.5) * dz, beyond = std::max(0.0, std::abs(z) - half);
    const double r2 = r * r - beyond * beyond, m = pi * r2 * dz;
    mass += m;
    axial += m * r2 / 2;
    across += m * (r2 / 4 + z * z);
  }
  const Inertia inertia = shape_inertia(make_shape(Capsule{r, half}, 1));
  EXPECT_NEAR(inertia.mass, mass, 1e-9 * mass);
  EXPECT_NEAR(inertia.about_com(2, 2), axial, 1e-9 * axial);
  EXPECT_NEAR(inertia.about_com(0, 0), across, 1e-9 * across);
}

TEST(Inertia, AGivenMassWinsOverTheDensityAndVisualShapesWeighNothing) {
  ShapeInstance s = make_shape(Sphere{0.5}, 1000);
  s.mass = 3;
  EXPECT_NEAR(shape_inertia(s).mass, 3, 1e-15);
  EXPECT_NEAR(shape_inertia(s).about_com(0, 0), 0.4 * 3 * 0.25, 1e-15);
  s.has_mass = false;
  EXPECT_EQ(shape_inertia(s).mass, 0);
  EXPECT_EQ(shape_inertia(make_shape(HalfSpace{}, 1000)).mass, 0);
}

// Two half boxes, placed and turned, are one box.
TEST(Inertia, PartsAddUpToTheWhole) {
  const Vec4 turn = quat_from_axis_angle(Vec3(1, 2, 3).normalized(), 0.7);
  const Inertia whole = shape_inertia([&] {
    ShapeInstance s = make_shape(Box{Vec3(0.2, 0.1, 0.3)}, 500);
    s.pose = {Vec3(1, 2, 3), 2 * turn};  // compile() and readers allow quaternions that are not unit
    return s;
  }());
  Inertia sum;
  for (const double side : {-0.1, 0.1}) {
    ShapeInstance s = make_shape(Box{Vec3(0.1, 0.1, 0.3)}, 500);
    s.pose = {Vec3(1, 2, 3) + rotate(turn, Vec3(side, 0, 0)), turn};
    add_inertia(shape_inertia(s), {}, &sum);
  }
  EXPECT_NEAR(sum.mass, whole.mass, 1e-12);
  EXPECT_LT((sum.com - whole.com).norm(), 1e-14);
  EXPECT_LT((sum.about_com - whole.about_com).norm(), 1e-13);
}

// add_inertia against a cloud of point masses.
TEST(Inertia, AddingMovedPartsMatchesPointMasses) {
  Random random(5);
  for (int trial = 0; trial < 50; ++trial) {
    Inertia sum;
    std::vector<Vec3> points;
    std::vector<double> masses;
    for (int part = 0; part < 3; ++part) {
      const Transform X{rotation_matrix(test::random_quat(random)), test::random_vector(random, 2)};
      Inertia cloud;
      for (int i = 0; i < 4; ++i) {
        const Vec3 p = test::random_vector(random, 1);
        const double m = test::uniform(random, 0.1, 2);
        add_inertia({m, p, Mat3::Zero()}, {}, &cloud);
        points.push_back(X * p);
        masses.push_back(m);
      }
      add_inertia(cloud, X, &sum);
    }
    double mass = 0;
    Vec3 com = Vec3::Zero();
    for (std::size_t i = 0; i < points.size(); ++i) mass += masses[i], com += masses[i] * points[i];
    com /= mass;
    Mat3 I = Mat3::Zero();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Mat3 S = skew(points[i] - com);
      I -= masses[i] * S * S;
    }
    EXPECT_NEAR(sum.mass, mass, 1e-13 * mass);
    EXPECT_LT((sum.com - com).norm(), 1e-13);
    EXPECT_LT((sum.about_com - I).norm(), 1e-12 * I.norm());
  }
}

TEST(Inertia, EveryCloudOfPointsIsPossibleAndTheBoundaryIsSharp) {
  Random random(6);
  for (int trial = 0; trial < 200; ++trial) {
    Inertia inertia = test::random_inertia(random);
    EXPECT_EQ(why_impossible(inertia), "");
    // Flat in one principal direction (largest = sum of the others) is the boundary.
    const Mat3 R = rotation_matrix(test::random_quat(random));
    const double a = test::uniform(random, 0.1, 1), b = test::uniform(random, 0.1, 1);
    inertia.about_com = R * Vec3(a, b, a + b).asDiagonal() * R.transpose();
    EXPECT_EQ(why_impossible(inertia), "");
    inertia.about_com = R * Vec3(a, b, (a + b) * (1 + 1e-6)).asDiagonal() * R.transpose();
    EXPECT_NE(why_impossible(inertia).find("exceeds the sum"), std::string::npos);
  }
  EXPECT_EQ(why_impossible({1e-12, Vec3::Zero(), 1e-24 * Mat3::Identity()}), "");  // scale does not matter
  EXPECT_EQ(why_impossible({1e12, Vec3::Zero(), 1e24 * Mat3::Identity()}), "");
}

TEST(Inertia, ABodyWithoutInertiaTakesThatOfItsShapes) {
  Scene scene;
  Body body;
  body.name = "body";
  Joint joint;
  joint.name = "joint";
  joint.type = JointType::free;
  body.joints.push_back(joint);
  scene.bodies.push_back(body);
  scene.shapes = {make_shape(Sphere{0.1}, 1000), make_shape(Sphere{0.1}, 1000), make_shape(Sphere{9}, 1)};
  scene.shapes[0].pose.position = Vec3(0.5, 0, 0);
  scene.shapes[1].pose.position = Vec3(-0.5, 0, 0);
  scene.shapes[1].name = "b";
  scene.shapes[2].name = "c";
  scene.shapes[2].has_mass = false;
  const Model model = compile(scene);
  const double m = 1000 * 4 * pi / 3 * 1e-3;
  EXPECT_NEAR(model.links[1].mass, 2 * m, 1e-12);
  EXPECT_NEAR(model.links[1].inertia(0, 0), 2 * 0.4 * m * 0.01, 1e-12);
  EXPECT_NEAR(model.links[1].inertia(1, 1), 2 * (0.4 * m * 0.01 + m * 0.25), 1e-12);
  // A given inertia wins: the shapes do not add to it.
  scene.bodies[0].inertia = Inertia{7, Vec3(0, 0, 1), Mat3::Identity()};
  EXPECT_EQ(compile(scene).links[1].mass, 7);
}

}  // namespace
}  // namespace capstan::inertia_test
