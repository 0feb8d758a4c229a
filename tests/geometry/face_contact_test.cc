// Two faces of solids that bend: distances of their planes where they lie over each other.
#include "capstan/geometry/face_contact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "capstan/geometry/collide.h"
#include "capstan/math/rotation.h"

namespace capstan::face_contact_test {
namespace {

constexpr double kInside = 0.01;

// Outward is +z.
Collider face(int solid, const Vec3& a, const Vec3& b, const Vec3& c) {
  Collider face = make_triangle_collider(a, b, c);
  face.solid = solid;
  face.inside = kInside;
  return face;
}

const Collider kLower = face(0, {-0.05, -0.05, 0}, {0.05, -0.05, 0}, {-0.05, 0.05, 0});
const Collider kUpper = face(1, {-0.05, -0.05, 0}, {0.05, -0.05, 0}, {-0.05, 0.05, 0});

Mat3 turn_about(const Vec3& axis, double angle) {
  return rotation_about(axis, std::cos(angle), std::sin(angle));
}

// Turned over: it looks down.
Transform above(const Vec3& p, const Mat3& turn = Mat3::Identity()) {
  Transform X;
  X.R = turn * Vec3(1, -1, -1).asDiagonal();
  X.p = p;
  return X;
}

std::vector<ContactPoint> touch(const Transform& X_WA, const Transform& X_WB, double margin = 0) {
  std::vector<ContactPoint> points;
  collide(kLower, X_WA, kUpper, X_WB, margin, &points);
  return points;
}

TEST(FaceContact, FacesThatOverlapHaveTheDepthOfTheirPlanes) {
  for (const double gap : {-0.015, -0.001, 0.002}) {
    const std::vector<ContactPoint> points = touch({}, above({0, 0, gap}), 0.01);
    ASSERT_GE(points.size(), 3u) << gap;
    for (const ContactPoint& c : points) {
      EXPECT_NEAR(c.distance, gap, 1e-15);
      EXPECT_LT((c.normal - Vec3::UnitZ()).norm(), 1e-15);
      EXPECT_LT((c.p_B - c.p_A - c.distance * c.normal).norm(), 1e-15);
    }
  }
  EXPECT_TRUE(touch({}, above({0, 0, -2.01 * kInside}), 0.01).empty());  // deeper than both insides
  EXPECT_TRUE(touch({}, above({0, 0, 0.011}), 0.01).empty());
}

TEST(FaceContact, BacksAndSidesDoNotTouch) {
  EXPECT_TRUE(touch({}, {Mat3::Identity(), {0, 0, -0.001}}, 0.01).empty());  // its back
  EXPECT_TRUE(touch({}, above({0.2, 0, -0.001}), 0.01).empty());             // beside it
  EXPECT_TRUE(touch({}, above({0.101, 0, -0.001}), 0.01).empty());           // near, and behind
  EXPECT_TRUE(touch({}, above({0, 0, 0}, turn_about(Vec3::UnitX(), 1.6)), 0.01).empty());
}

// Beside each other, in front: the distance of the triangles, so that pairs that come nearer are known.
TEST(FaceContact, InFrontBesideEachOther) {
  const std::vector<ContactPoint> points = touch({}, above({0.103, 0, 0.004}), 0.01);
  ASSERT_FALSE(points.empty());
  EXPECT_NEAR(points[0].distance, std::hypot(0.003, 0.004), 1e-9);
}

// The conventions of every pair (geometry/contact_point.h), and the same with both exchanged.
TEST(FaceContact, RandomFacesKeepTheConventions) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    const Vec3 axis(uniform(random), uniform(random), uniform(random));
    const Mat3 turn = turn_about(axis.normalized(), 0.3 * uniform(random));
    const Transform X_WB = above(0.02 * Vec3(uniform(random), uniform(random), 0.2 * uniform(random)), turn);
    const std::vector<ContactPoint> points = touch({}, X_WB, 0.005);
    std::vector<ContactPoint> others;
    collide(kUpper, X_WB, kLower, {}, 0.005, &others);
    ASSERT_EQ(points.size(), others.size()) << i;
    const Vec3 n_B = X_WB.R.col(2);
    double least = kInfinity, least_other = kInfinity;
    for (const ContactPoint& c : points) {
      ++found;
      EXPECT_LT((c.normal - (Vec3::UnitZ() - n_B).normalized()).norm(), 1e-12);
      EXPECT_LT((c.p_B - c.p_A - c.distance * c.normal).norm(), 1e-15);
      EXPECT_NEAR(c.p_A.z(), 0, 1e-15);
      EXPECT_NEAR(n_B.dot(c.p_B - X_WB.p), 0, 1e-15);
      least = std::min(least, c.distance);
    }
    for (const ContactPoint& c : others) least_other = std::min(least_other, c.distance);
    if (!points.empty()) {
      EXPECT_NEAR(least, least_other, 1e-12);
    }
  }
  EXPECT_GT(found, 500);
}

}  // namespace
}  // namespace capstan::face_contact_test
