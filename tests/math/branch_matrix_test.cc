#include "capstan/math/branch_matrix.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

#include "tests/support/random_forest.h"

namespace capstan {
namespace {

// Random forests against Eigen's dense factorization.
TEST(BranchMatrix, SolvesLikeADenseFactorization) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(-1, 1);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 1 + trial % 30;
    const test::RandomForest forest(n, &random);
    const BranchPattern& pattern = forest.pattern;
    const VecX& values = forest.values;
    const MatX& dense = forest.dense;
    VecX b(n), y(n);
    for (double& x : b) x = u(random);
    multiply(pattern, values.data(), b.data(), y.data());
    EXPECT_LT((y - dense * b).norm(), 1e-12 * n);
    VecX x = b;
    VecX factored = values;
    ASSERT_EQ(factor(pattern, factored.data()), -1);
    solve_in_place(pattern, factored.data(), x.data());
    EXPECT_LT((x - dense.llt().solve(b)).norm(), 1e-13);
    VecX half_b = b, half_y = y;  // b^T H^-1 y = b^T b
    half_solve_in_place(pattern, factored.data(), half_b.data(), 0, n);
    half_solve_in_place(pattern, factored.data(), half_y.data(), 0, n);
    EXPECT_NEAR(half_b.dot(half_y), b.squaredNorm(), 1e-12 * n);
  }
}

TEST(BranchMatrix, NamesThePivotThatIsNotPositive) {
  const BranchPattern pattern = make_branch_pattern({-1, 0, 1});
  VecX values(6);
  values << 1, 2, 1, 0, 0, 1;  // rows: [1], [2 1], [0 0 1]: not positive definite at the first unknown
  EXPECT_EQ(factor(pattern, values.data()), 0);
}

}  // namespace
}  // namespace capstan
