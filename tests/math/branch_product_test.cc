#include "capstan/math/branch_product.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <numeric>
#include <random>

#include "tests/support/random_forest.h"

namespace capstan::branch_product_test {
namespace {

// Random forests against Eigen's dense factorization.
TEST(BranchProduct, IsThatOfADenseInverse) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 1 + trial % 30;
    const test::RandomForest forest(n, &random);
    const BranchPattern& pattern = forest.pattern;
    const MatX& dense = forest.dense;
    VecX factored = forest.values;
    ASSERT_EQ(factor(pattern, factored.data()), -1);
    // X H^-1 X^T, of all unknowns and of one with its ancestors, in memory that begins with unknown 0.
    std::vector<int> unknowns(n);
    std::iota(unknowns.begin(), unknowns.end(), 0);
    const int last = pattern.row_start[n - 1];
    const std::vector<int> path(pattern.columns.begin() + last, pattern.columns.end());
    for (const std::vector<int>& list : {unknowns, path}) {
      for (const int rows : {3, 6}) {
        MatX X = MatX::Zero(rows == 3 ? 4 : 8, n), W = MatX::Zero(X.rows(), rows);
        for (const int k : list) X.col(k).head(rows) = VecX::Random(rows);
        const MatX expected = X * dense.llt().solve(X.transpose());
        W.topRows(rows) = 2 * MatX::Identity(rows, rows);
        add_inverse_product(pattern, factored.data(), list, 0, rows, X.data(), W.data());
        W.topRows(rows) -= 2 * MatX::Identity(rows, rows);
        EXPECT_LT((W - expected.leftCols(rows)).norm(), 1e-12 * expected.norm());
      }
    }
    // The diagonal alone, for every path.
    for (int k = 0; k < n; ++k) {
      const int size = pattern.row_size(k);
      MatX X = MatX::Zero(4, n), packed = MatX::Random(4, size);
      for (int i = 0; i < size; ++i) X.col(pattern.columns[pattern.row_start[k] + i]) = packed.col(i);
      const Vec4 expected = (X * dense.llt().solve(X.transpose())).diagonal();
      Vec4 w = Vec4::Constant(2);
      add_inverse_diagonal(pattern, factored.data(), k, packed.data(), w.data());
      EXPECT_LT((w - Vec4::Constant(2) - expected).norm(), 1e-12 * (1 + expected.norm()));
    }
  }
}

}  // namespace
}  // namespace capstan::branch_product_test
