// Chains and rings of blocks against dense factorization.
#include "capstan/math/band_cholesky.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>

namespace capstan::band_cholesky_test {
namespace {

// Each block with the next two, as the nodes of a rod.
BlockPattern pattern(int blocks, bool closed, int last) {
  BlockPattern p;
  p.sizes.assign(blocks, 4);
  p.sizes.back() = last;
  for (int i = 0; i < blocks; ++i) {
    for (int k = 1; k <= 2; ++k) {
      if (closed || i + k < blocks) p.pairs.push_back({i, (i + k) % blocks});
    }
  }
  return p;
}

void fill(int seed, double diagonal, BlockMatrix* H) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  for (int j = 0; j < H->num_blocks(); ++j) {
    for (int e = H->column_start()[j]; e < H->column_start()[j + 1]; ++e) {
      const int i = H->entry_row()[e];
      double* B = H->block(i, j);
      for (int k = 0; k < H->block_size(i) * H->block_size(j); ++k) B[k] = u(random);
      for (int k = 0; i == j && k < H->block_size(i); ++k)
        B[k * (H->block_size(i) + 1)] = diagonal + u(random);
    }
  }
}

TEST(BandCholesky, SolvesChainsAndRings) {
  for (const bool closed : {false, true}) {
    for (const int blocks : {1, 2, 3, 4, 5, 6, 7, 20, 101}) {
      if (closed && blocks < 3) continue;
      BlockMatrix H;
      H.set_pattern(pattern(blocks, closed, closed ? 4 : 3));
      fill(blocks, 20, &H);
      BandCholesky band;
      ASSERT_TRUE(band.analyze(H)) << closed << blocks;
      if (blocks > 10) {
        EXPECT_EQ(band.bandwidth(), closed ? 19 : 11);
      }
      ASSERT_TRUE(band.factor(H));
      const VecX b = VecX::LinSpaced(H.num_rows(), -1, 2);
      VecX x = b;
      band.solve_in_place(x.data());
      const VecX exact = H.dense().ldlt().solve(b);
      EXPECT_LT((x - exact).norm(), 1e-13 * exact.norm()) << closed << blocks;
    }
  }
}

// Dofs of very different inertia, as held ones are.
TEST(BandCholesky, IsAccurateWhereTheDiagonalIsNotEven) {
  BlockMatrix H;
  H.set_pattern(pattern(30, false, 3));
  fill(3, 20, &H);
  for (const int held : {0, 1, 17}) H.block(held, held)[5] = 1e12;
  for (const int light : {4, 9}) {
    double* B = H.block(light, light);
    B[15] = 1e-9;
    for (int k = 0; k < 3; ++k) B[3 + 4 * k] = B[12 + k] = 0;
    for (int j = 0; j < 30; ++j) {
      for (int e = H.column_start()[j] + 1; e < H.column_start()[j + 1]; ++e) {
        const int i = H.entry_row()[e], n = H.block_size(i);
        for (int k = 0; i == light && k < 4; ++k) H.block(i, j)[3 + n * k] = 0;
        for (int k = 0; j == light && k < n; ++k) H.block(i, j)[k + n * 3] = 0;
      }
    }
  }
  BandCholesky band;
  ASSERT_TRUE(band.analyze(H));
  ASSERT_TRUE(band.factor(H));
  const VecX exact = VecX::LinSpaced(H.num_rows(), 1, 2);
  VecX x = H.dense() * exact;
  band.solve_in_place(x.data());
  EXPECT_LT((x - exact).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(BandCholesky, TellsWhatIsNotPositiveOrTooWide) {
  BlockMatrix H;
  H.set_pattern(pattern(12, true, 4));
  fill(1, 20, &H);
  BandCholesky band;
  ASSERT_TRUE(band.analyze(H));
  ASSERT_TRUE(band.factor(H));
  H.block(7, 7)[5] = -20;
  EXPECT_FALSE(band.factor(H));
  H.block(7, 7)[5] = std::nan("");
  EXPECT_FALSE(band.factor(H));
  BlockPattern star = pattern(40, false, 4);
  for (int i = 1; i < 40; ++i) star.pairs.push_back({0, i});
  H.set_pattern(star);
  EXPECT_FALSE(band.analyze(H));
  EXPECT_FALSE(band.is_worth_it());
}

}  // namespace
}  // namespace capstan::band_cholesky_test
