// L D L^T of a block matrix whose blocks are a chain or a ring: H_ij = 0 for |i - j| > bandwidth.
//
//   H = L D L^T,   L(j + k, j) for 1 <= k <= bandwidth,   column by column
//
// One plain loop over columns, each of which changes the next `bandwidth` ones: for a rod of 100 edges about
// a tenth of the time that the fronts of math/block_cholesky.h take, whose order by minimum degree is better
// for anything that branches. A chain is in its own order; a ring is folded, 0 1 n-1 2 n-2 ..., which doubles
// the bandwidth and leaves no corner.
//
// Limits: a matrix of one block is dense; no blocks are a valid matrix. The same values give the same bits on
// the same machine and build. No call but analyze() allocates.
#pragma once

#include <vector>

#include "capstan/math/block_matrix.h"

namespace capstan {

class BandCholesky {
 public:
  // The order, for matrices of this pattern. False when the band is too wide to be worth it; then there is
  // nothing to call.
  bool analyze(const BlockMatrix& matrix);
  bool is_worth_it() const { return is_worth_it_; }
  int bandwidth() const { return bandwidth_; }  // rows below the diagonal

  // False when H is not positive definite, or not finite; then there is no factor to solve with.
  bool factor(const BlockMatrix& matrix);

  // x = H^-1 x.
  void solve_in_place(double* x) const;

 private:
  bool is_worth_it_ = false;
  int bandwidth_ = 0, stride_ = 0, rows_ = 0;
  std::vector<int> place_;      // [blocks] first row in the order of elimination
  std::vector<int> row_of_;     // [rows] of H, in the order of elimination; empty: the same
  std::vector<double> values_;  // [rows][stride] column j of L from the diagonal down; there 1 / D
};

}  // namespace capstan
