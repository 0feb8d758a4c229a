#include "capstan/math/branch_blocks.h"

#include <gtest/gtest.h>

#include <random>

#include "capstan/math/block_cholesky.h"
#include "capstan/math/branch_matrix.h"

namespace capstan {
namespace {

TEST(BranchBlocks, Limits) {
  EXPECT_EQ(make_branch_blocks({}).num_blocks(), 0);
  EXPECT_EQ(make_branch_blocks({-1, 0, 1, 2, 3, 4}).num_blocks(), 1);
  const BranchBlocks star = make_branch_blocks({-1, 0, 0, 0});
  EXPECT_EQ(star.num_blocks(), 4);
  EXPECT_EQ(star.parent, (std::vector<int>{-1, 0, 0, 0}));
  // A trunk of 3, an arm of 2, a leg of 2 whose second dof forks; then another tree.
  const BranchBlocks body = make_branch_blocks({-1, 0, 1, 2, 3, 2, 5, 6, 6, -1});
  EXPECT_EQ(body.start, (std::vector<int>{0, 3, 5, 7, 8, 9, 10}));
  EXPECT_EQ(body.parent, (std::vector<int>{-1, 0, 0, 2, 2, -1}));
}

// Random forests with constraints between random dofs: every entry of M + J^T J has a block to go to, the
// factor solves it.
TEST(BranchBlocks, HoldTheMatrixOfTreesWithConstraints) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int sample = 0; sample < 50; ++sample) {
    const int n = 60;
    std::vector<int> parent(n);
    for (int k = 0; k < n; ++k) {
      const unsigned kind = random() % 10;
      parent[k] = k == 0 || kind == 0 ? -1 : kind < 8 ? k - 1 : static_cast<int>(random() % k);
    }
    const BranchBlocks blocks = make_branch_blocks(parent);
    BlockPattern pattern = make_branch_block_pattern(blocks);
    MatX J = MatX::Zero(12, n);  // row r acts on the way from one or two dofs to the root
    for (int r = 0; r < 12; ++r) {
      const int a = static_cast<int>(random() % n), b = r % 3 == 0 ? -1 : static_cast<int>(random() % n);
      for (const int end : {a, b}) {
        for (int k = end; k >= 0; k = parent[k]) J(r, k) += normal(random);
      }
      if (b >= 0) add_branch_pairs(blocks, blocks.block[a], blocks.block[b], &pattern);
    }
    const BranchPattern rows = make_branch_pattern(parent);
    MatX H = J.transpose() * J;
    for (int k = 0; k < n; ++k) {
      H(k, k) += 40;
      for (int m = rows.row_start[k]; m < rows.row_start[k + 1] - 1; ++m) {
        const double value = normal(random);
        H(k, rows.columns[m]) += value;
        H(rows.columns[m], k) += value;
      }
    }
    BlockCholesky cholesky;
    cholesky.analyze(pattern);
    cholesky.matrix.set_zero();
    for (int c = 0; c < n; ++c) {
      for (int r = c; r < n; ++r) {
        if (H(r, c) == 0) continue;
        const int i = blocks.block[r], j = blocks.block[c];
        const int size = cholesky.matrix.block_size(i);
        cholesky.matrix.block(i, j)[r - blocks.start[i] + (c - blocks.start[j]) * size] = H(r, c);
      }
    }
    EXPECT_EQ(cholesky.matrix.dense(), H);
    ASSERT_TRUE(cholesky.factor());
    VecX x = VecX::LinSpaced(n, -1, 1);
    cholesky.solve_in_place(x);
    EXPECT_LE((H * x - VecX::LinSpaced(n, -1, 1)).norm(), 1e-12 * H.norm());
  }
}

}  // namespace
}  // namespace capstan
