#include "capstan/laws/anisotropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace capstan::anisotropy_test {
namespace {

TEST(Matchstick, ParallelSticksHaveTheFullAnisotropy) {
  const Mat2 M = matchstick_tensor({1, 0}, {2, 0}, 0.4, 0.2, 0.7);
  EXPECT_LT((M - Mat2(Vec2(0.2, 0.7).asDiagonal())).norm(), 1e-15);
}

TEST(Matchstick, CrossedSticksAreIsotropic) {
  for (const double turn : {0.0, 0.3, 2.0}) {
    const Vec2 a(std::cos(turn), std::sin(turn)), b(-a.y(), a.x());
    EXPECT_LT((matchstick_tensor(a, b, 0.4, 0.2, 0.7) - 0.4 * Mat2::Identity()).norm(), 1e-12);
  }
}

TEST(Matchstick, ForgetsTheSignOfADirection) {
  const Vec2 a(1, 0.2), b(0.3, -1);
  const Mat2 M = matchstick_tensor(a, b, 0.4, 0.2, 0.7);
  EXPECT_LT((matchstick_tensor(-a, b, 0.4, 0.2, 0.7) - M).norm(), 1e-14);
  EXPECT_LT((matchstick_tensor(a, -b, 0.4, 0.2, 0.7) - M).norm(), 1e-14);
}

// At 45 degrees half way between: mu_t = (0.2 + 0.4)/2 along the bisector, mu_b = (0.7 + 0.4)/2 across it.
TEST(Matchstick, HalfWayBetweenIsTheMean) {
  const Mat2 M = matchstick_tensor({1, 0}, {1, 1}, 0.4, 0.2, 0.7);
  const Vec2 t(std::cos(std::numbers::pi / 8), std::sin(std::numbers::pi / 8)), b(-t.y(), t.x());
  EXPECT_LT((M * t - 0.3 * t).norm(), 1e-14);
  EXPECT_LT((M * b - 0.55 * b).norm(), 1e-14);
}

Vec3 facet(double angle) {
  return {std::sin(angle), 0, std::cos(angle)};
}

TEST(Texture, AFacetPlowsOnlyTheWayItFaces) {
  const std::vector<Vec3> normals = {facet(0.5)};
  const double expected = std::sin(0.5) * 2 / std::numbers::pi * std::tan(0.5);
  EXPECT_NEAR(plowing_friction(normals, {3, 0}), expected, 1e-15);
  EXPECT_EQ(plowing_friction(normals, {-1, 0}), 0);
  EXPECT_NEAR(plowing_friction(normals, {0, 1}), 0, 1e-15);
  EXPECT_NEAR(plowing_friction(normals, {1, 1}), expected / std::sqrt(2), 1e-15);
}

TEST(Texture, AFlatSurfaceHasNoneAndASteepOneIsFinite) {
  EXPECT_EQ(plowing_friction(std::vector<Vec3>{facet(0)}, {1, 0}), 0);
  EXPECT_EQ(plowing_friction(std::vector<Vec3>{}, {1, 0}), 0);
  EXPECT_TRUE(std::isfinite(plowing_friction(std::vector<Vec3>{facet(std::numbers::pi / 2)}, {1, 0})));
}

// A sawtooth on b with its steep sides towards +x: a sliding along +x runs into nothing, for b then moves
// along -x.
TEST(Texture, ASawtoothHoldsOneWay) {
  const std::vector<Vec3> smooth = {facet(0)}, sawtooth = {facet(1.2), facet(-0.2)};
  const DirectionalFriction f = texture_friction(smooth, sawtooth);
  EXPECT_GT(f.minus_x, 10 * f.plus_x);
  EXPECT_NEAR(f.minus_x, 0.5 * std::sin(1.2) * 2 / std::numbers::pi * std::tan(1.2), 1e-14);
  EXPECT_EQ(texture_tensor(f, {-1, 0})(0, 0), f.minus_x);
  EXPECT_EQ(texture_tensor(f, {1, 0})(0, 0), f.plus_x);
}

}  // namespace
}  // namespace capstan::anisotropy_test
