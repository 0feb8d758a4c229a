// Four numbers at a time against one.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "capstan/math/branch_lanes.h"
#include "capstan/math/sine_lanes.h"
#include "capstan/math/spatial_lanes.h"
#include "tests/support/random_forest.h"

namespace capstan::lanes_test {
namespace {

CAPSTAN_CLONES void calc_sines(const double* x, int n, double* sine, double* cosine) {
  for (int i = 0; i < n; i += 4) {
    calc_sine_and_cosine(*reinterpret_cast<const Four*>(x + i), reinterpret_cast<Four*>(sine + i),
                         reinterpret_cast<Four*>(cosine + i));
  }
}

TEST(Lanes, SineAndCosineHaveTheDigitsOfADouble) {
  std::mt19937 random(1);
  std::vector<double> x;
  for (const double size : {1e-9, 0.1, 1.0, 10.0, 1e3, 5e5, 1e9}) {
    std::uniform_real_distribution<double> u(-size, size);
    for (int i = 0; i < 20'000; ++i) x.push_back(u(random));
  }
  for (int i = -1000; i < 1000; ++i) x.push_back(i * 0x1.921fb54442d18p-1);  // multiples of pi/4, nearly
  std::vector<double> sine(x.size()), cosine(x.size());
  calc_sines(x.data(), static_cast<int>(x.size()), sine.data(), cosine.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double s = std::sin(static_cast<long double>(x[i])),
                      c = std::cos(static_cast<long double>(x[i]));
    worst = std::max(
        {worst, std::abs(static_cast<double>(sine[i] - s)), std::abs(static_cast<double>(cosine[i] - c))});
    EXPECT_NEAR(sine[i], static_cast<double>(s), 3.4e-16 * std::abs(static_cast<double>(s)) + 1e-25) << x[i];
  }
  EXPECT_LT(worst, 1.8e-16);  // 1.46e-16 with fused multiply-add, 1.61e-16 without
}

TEST(Lanes, SineOfALaneDependsOnNoOther) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const double x[] = {0.3, -2.0, 700.0, 0.0, 0.3, kNan, 1e12, -0.0}, y[] = {kNan, 0.3, 1e300, 0.0};
  double sine[8], cosine[8], other_sine[4], other_cosine[4];
  calc_sines(x, 8, sine, cosine);
  calc_sines(y, 4, other_sine, other_cosine);
  EXPECT_EQ(sine[0], sine[4]);
  EXPECT_EQ(sine[0], other_sine[1]);
  EXPECT_EQ(cosine[0], other_cosine[1]);
  EXPECT_TRUE(std::isnan(sine[5]) && std::isnan(cosine[5]));
  EXPECT_EQ(sine[6], std::sin(1e12));
  EXPECT_EQ(sine[3], 0);
  EXPECT_EQ(cosine[3], 1);
}

CAPSTAN_CLONES void turn_to_lanes_and_back(const std::array<const double*, 4>& from, int n, Four* lanes,
                                           const std::array<double*, 4>& to) {
  to_lanes(from, n, lanes);
  from_lanes(lanes, n, to);
}

TEST(Lanes, NumbersOfFourPlacesGoToLanesAndBack) {
  for (int n = 0; n < 14; ++n) {
    std::vector<double> x(4 * n + 1), y(4 * n + 1, -1.0), lanes(4 * n + 4, -1.0);
    for (int i = 0; i < 4 * n; ++i) x[i] = i;
    double* to = y.data();
    turn_to_lanes_and_back({x.data(), &x[n], &x[2 * n], &x[3 * n]}, n, reinterpret_cast<Four*>(lanes.data()),
                           {to, to + n, nullptr, to + 3 * n});
    for (int i = 0; i < n; ++i) {
      for (int lane = 0; lane < 4; ++lane) {
        EXPECT_EQ(lanes[4 * i + lane], lane * n + i);
        EXPECT_EQ(y[lane * n + i], lane == 2 ? -1 : lane * n + i);
      }
    }
    EXPECT_EQ(lanes[4 * n], -1);
    EXPECT_EQ(y[4 * n], -1);
  }
}

TEST(BranchLanes, FactorAndSolveAsOneByOne) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 1 + trial % 30;
    const test::RandomForest forest(n, &random);
    const int m = forest.pattern.num_values();
    std::vector<Lanes1> values(m), x(n);
    Four *A = &values[0].x, *b = &x[0].x;
    for (int lane = 0; lane < 4; ++lane) {
      for (int i = 0; i < m; ++i) A[i][lane] = forest.values[i] * (1 + lane);
      for (int k = 0; k < n; ++k) b[k][lane] = std::cos(k + lane);
    }
    ASSERT_EQ(factor(forest.pattern, A, 0, 0, n), -1);
    solve_in_place(forest.pattern, A, b, 0, n);
    for (int lane = 0; lane < 4; ++lane) {
      VecX one = forest.values * (1 + lane), y(n);
      for (int k = 0; k < n; ++k) y[k] = std::cos(k + lane);
      ASSERT_EQ(factor(forest.pattern, one.data()), -1);
      solve_in_place(forest.pattern, one.data(), y.data());
      for (int i = 0; i < m; ++i) EXPECT_NEAR(A[i][lane], one[i], 1e-13 * (1 + std::abs(one[i])));
      for (int k = 0; k < n; ++k) EXPECT_NEAR(b[k][lane], y[k], 1e-12 * (1 + y.norm()));
    }
    A[m - 1][trial % 4] = -1;
    EXPECT_EQ(factor(forest.pattern, A, 0, 0, n), n - 1);
  }
}

}  // namespace
}  // namespace capstan::lanes_test
