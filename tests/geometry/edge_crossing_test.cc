// Edges of soft surfaces: which contacts of their capsules are contacts of the surfaces.
#include "capstan/geometry/edge_crossing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "capstan/geometry/collide.h"

namespace capstan::edge_crossing_test {
namespace {

constexpr double kRadius = 0.001, kHalf = 0.1;

// The edge of a solid whose faces left and right of it look along these, in the frame of the edge.
Collider edge(const Vec3& left, const Vec3& right) {
  Collider c = make_collider(Capsule{kRadius, kHalf});
  c.is_edge = true;
  c.vertex[0] = left.normalized();
  c.vertex[1] = right.normalized();
  return c;
}

// z of the edge along `along`, its x along `out`, the middle of its normals.
Transform frame(const Vec3& along, const Vec3& out, const Vec3& p) {
  Transform X;
  X.R << out, cross(along, out), along;
  X.p = p;
  return X;
}

const Vec3 kX(1, 0, 0), kY(0, 1, 0), kZ(0, 0, 1);
const Vec3 kDown = -kZ;
// A right angle, convex and concave, and a flat edge. With z along the edge, left and right of it.
const Collider kSharp = edge({1, -1, 0}, {1, 1, 0}), kConcave = edge({1, 1, 0}, {1, -1, 0}),
               kFlat = edge({1, 0, 0}, {1, 0, 0});

std::vector<ContactPoint> touch(const Collider& A, const Transform& X_WA, const Collider& B,
                                const Transform& X_WB) {
  std::vector<ContactPoint> points;
  collide(A, X_WA, B, X_WB, 0.01, &points);
  return points;
}

TEST(EdgeCrossing, EdgesThatCrossTouchInOnePoint) {
  const Transform lower = frame(kX, kZ, Vec3::Zero()), upper = frame(kY, kDown, {0.03, 0.02, 0.004});
  for (const auto& [A, B] : {std::pair(kSharp, kSharp), std::pair(kSharp, kFlat), std::pair(kFlat, kSharp)}) {
    const std::vector<ContactPoint> points = touch(A, lower, B, upper);
    ASSERT_EQ(points.size(), 1u);
    EXPECT_LT((points[0].normal - kZ).norm(), 1e-12);
    EXPECT_NEAR(points[0].distance, 0.004 - 2 * kRadius, 1e-12);
    EXPECT_LT((points[0].p_A - Vec3(0.03, 0, kRadius)).norm(), 1e-12);
  }
  EXPECT_TRUE(touch(kFlat, lower, kFlat, upper).empty());     // vertices and faces have it
  EXPECT_TRUE(touch(kConcave, lower, kFlat, upper).empty());  // nothing sharp
}

TEST(EdgeCrossing, NotBeyondTheEndsNorAlongEachOther) {
  const Transform lower = frame(kX, kZ, Vec3::Zero());
  EXPECT_TRUE(touch(kSharp, lower, kSharp, frame(kY, kDown, {kHalf + 0.003, 0, 0.001})).empty());
  EXPECT_TRUE(touch(kSharp, lower, kSharp, frame(kX, kDown, {0.01, 0, 0.004})).empty());
  const Vec3 near = Vec3(1, 0.05, 0).normalized();
  EXPECT_TRUE(touch(kSharp, lower, kSharp, frame(near, kDown, {0, 0, 0.004})).empty());
}

// Two boxes on each other, turned by 30 degrees: seen from the side, the edge of the upper one is inside of
// that of the lower one. Its normal would push them aside; it is not one of both.
TEST(EdgeCrossing, NoNormalThatTheSurfacesDoNotHave) {
  const Vec3 along = Vec3(std::cos(0.5), std::sin(0.5), 0);
  const Vec3 side = (kZ + kY).normalized();  // 45 degrees: normals up and along y
  const Transform lower = frame(kX, side, Vec3::Zero());
  const Transform upper = frame(along, (cross(along, kZ) + kDown).normalized(), {0, 0, 0.001});
  ASSERT_EQ(touch(kSharp, lower, kSharp, upper).size(), 1u);  // straight above: up is one of both
  // Turned about x by 70 degrees the upper edge comes from where the lower one has no normal.
  const Transform turned = frame(along, -(cross(along, kZ) + kDown).normalized(), {0, 0, 0.001});
  EXPECT_TRUE(touch(kSharp, lower, kSharp, turned).empty());
}

// Edges get thinner as they get flat, or come out of each other's normals, and are lines before they have no
// contact: no force begins with a jump.
TEST(EdgeCrossing, ForcesAreContinuous) {
  constexpr double kHeight = 0.0004;  // between the two lines
  const auto least_distance = [&](double bend, double turn) {
    const Collider ridge =
        edge({std::cos(bend / 2), -std::sin(bend / 2), 0}, {std::cos(bend / 2), std::sin(bend / 2), 0});
    const Vec3 out = Vec3(0, std::sin(turn), std::cos(turn));  // the middle of its normals
    const std::vector<ContactPoint> points =
        touch(ridge, frame(kX, out, Vec3::Zero()), kSharp, frame(kY, kDown, {0.01, 0.02, kHeight}));
    return points.empty() ? kInfinity : points[0].distance;
  };
  EXPECT_NEAR(least_distance(1, 0), kHeight - 2 * kRadius, 1e-12);
  EXPECT_NEAR(least_distance(0.2, 0.05), kHeight - 2 * kRadius, 1e-12);  // the other one is sharp
  double last = least_distance(1, 0);
  bool ends = false;
  for (double turn = 0; turn < 1.2 && !ends; turn += 0.001) {
    const double distance = least_distance(1, turn);
    ends = distance == kInfinity;
    EXPECT_LT(std::abs((ends ? kHeight : distance) - last), 0.01 * kRadius) << turn;
    last = distance;
  }
  EXPECT_TRUE(ends);
  const Collider lower = edge({1, 0, 0}, {1, 0, 0});
  last = kHeight;
  for (double bend = 0.1; bend < 0.6; bend += 0.001) {
    const Collider upper =
        edge({std::cos(bend / 2), -std::sin(bend / 2), 0}, {std::cos(bend / 2), std::sin(bend / 2), 0});
    const std::vector<ContactPoint> points =
        touch(lower, frame(kX, kZ, Vec3::Zero()), upper, frame(kY, kDown, {0.01, 0.02, kHeight}));
    const double distance = points.empty() ? kHeight : points[0].distance;
    EXPECT_LT(std::abs(distance - last), 0.01 * kRadius) << bend;
    last = distance;
  }
  EXPECT_NEAR(last, kHeight - 2 * kRadius, 1e-12);
}

// A little through each other: parted the way they came.
TEST(EdgeCrossing, EdgesThatWentThroughArePushedBack) {
  const Transform lower = frame(kX, kZ, Vec3::Zero());
  for (const double z : {0.0005, -0.0005}) {
    const std::vector<ContactPoint> points = touch(kSharp, lower, kSharp, frame(kY, kDown, {0, 0, z}));
    ASSERT_EQ(points.size(), 1u) << z;
    EXPECT_LT((points[0].normal - kZ).norm(), 1e-9) << z;
    EXPECT_NEAR(points[0].distance, z - 2 * kRadius, 1e-12);
    EXPECT_LT((points[0].p_A - Vec3(0, 0, kRadius)).norm(), 1e-9);
    EXPECT_LT((points[0].p_B - Vec3(0, 0, z - kRadius)).norm(), 1e-9);
  }
}

}  // namespace
}  // namespace capstan::edge_crossing_test
