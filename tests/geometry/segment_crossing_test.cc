// Segments that pass through each other: by hand, and against many small steps of the same motion.
#include "capstan/geometry/segment_crossing.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <random>

namespace capstan::segment_crossing_test {
namespace {

// Where the lines of two segments at t cross as seen along their common normal: within both, and on which
// side of a is b.
struct View {
  bool within;
  double side;
};
View view(const MovingSegment& a, const MovingSegment& b, double t) {
  const auto at = [&](const MovingSegment& s, int i) { return Vec3((1 - t) * s.begin[i] + t * s.end[i]); };
  const Vec3 a0 = at(a, 0), u = at(a, 1) - a0, b0 = at(b, 0), v = at(b, 1) - b0, w = b0 - a0;
  Eigen::Matrix<double, 3, 2> lines;
  lines << u, -v;
  const Vec2 x = lines.colPivHouseholderQr().solve(w);
  return {x.minCoeff() >= 0 && x.maxCoeff() <= 1, cross(u, v).dot(w)};
}

bool passes_in_small_steps(const MovingSegment& a, const MovingSegment& b) {
  constexpr int kSteps = 4000;
  bool passes = false;
  View before = view(a, b, 0);
  for (int i = 1; i <= kSteps; ++i) {
    const View now = view(a, b, double(i) / kSteps);
    if (now.side * before.side < 0 && now.within && before.within) passes = !passes;
    before = now;
  }
  return passes;
}

TEST(SegmentCrossing, ByHand) {
  const MovingSegment still{{Vec3(-1, 0, 0), Vec3(1, 0, 0)}, {Vec3(-1, 0, 0), Vec3(1, 0, 0)}};
  const auto falls = [](double x, double from, double to) {
    return MovingSegment{{Vec3(x, -1, from), Vec3(x, 1, from)}, {Vec3(x, -1, to), Vec3(x, 1, to)}};
  };
  EXPECT_TRUE(pass_through(still, falls(0.5, 1, -1)));
  EXPECT_TRUE(pass_through(falls(0.5, 1, -1), still));
  EXPECT_FALSE(pass_through(still, falls(0.5, 1, 0.1)));  // stays above
  EXPECT_FALSE(pass_through(still, falls(1.5, 1, -1)));   // past its end
  EXPECT_FALSE(pass_through(still, still));
}

TEST(SegmentCrossing, RandomWays) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto point = [&] { return Vec3(uniform(random), uniform(random), uniform(random)); };
  int passes = 0;
  for (int k = 0; k < 600; ++k) {
    const MovingSegment a{{point(), point()}, {point(), point()}}, b{{point(), point()}, {point(), point()}};
    const bool expected = passes_in_small_steps(a, b);
    passes += expected;
    EXPECT_EQ(pass_through(a, b), expected) << k;
    EXPECT_EQ(pass_through(b, a), expected) << k;
  }
  EXPECT_GT(passes, 30);
  EXPECT_LT(passes, 300);
}

}  // namespace
}  // namespace capstan::segment_crossing_test
