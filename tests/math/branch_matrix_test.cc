#include "capstan/math/branch_matrix.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

#include "tests/support/random_forest.h"

namespace capstan::branch_matrix_test {
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
    for (int k = 0; k < n; ++k) {  // b^T H^-1 y of what they have at k and its ancestors
      const int m = pattern.row_size(k);
      VecX half_b(m), half_y(m), b_k = VecX::Zero(n), y_k = VecX::Zero(n);
      for (int i = 0; i < m; ++i) {
        const int column = pattern.columns[pattern.row_start[k] + i];
        half_b[i] = b_k[column] = b[column];
        half_y[i] = y_k[column] = y[column];
      }
      half_solve_in_place(pattern, factored.data(), k, half_b.data());
      half_solve_in_place(pattern, factored.data(), k, half_y.data());
      EXPECT_NEAR(half_b.dot(half_y), b_k.dot(dense.llt().solve(y_k)), 1e-12 * n) << k;
    }
  }
}

TEST(BranchMatrix, NamesThePivotThatIsNotPositive) {
  const BranchPattern pattern = make_branch_pattern({-1, 0, 1});
  VecX values(6);
  values << 1, 2, 1, 0, 0, 1;  // rows: [1], [2 1], [0 0 1]: not positive definite at the first unknown
  EXPECT_EQ(factor(pattern, values.data()), 0);
}

}  // namespace
}  // namespace capstan::branch_matrix_test
