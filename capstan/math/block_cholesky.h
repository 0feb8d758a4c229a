// Cholesky factorization of a block-sparse matrix: P H P^T = L L^T, supernodal and multifrontal.
//
//   analyze   an elimination order of the blocks (minimum degree, or nested dissection where that needs fewer
//             operations), then groups of blocks that are eliminated together (supernodes). Kept while the
//             pattern is the same.
//   factor    each supernode, children first, is one dense front [L11; L21] and passes U = sum of its
//             children's U - L21 L21^T on to its parent (Duff and Reid 1983). All work is in dense kernels.
//   solve     with one or many right-hand sides; const and safe to call from several threads at a time.
//
// Frozen blocks are constant over a step because no constraint touches them. factor_frozen() eliminates them
// once; every factor() after that starts from what they leave behind, the Schur complement, which is never
// formed as a dense matrix. The order puts the frozen blocks first where that pays; otherwise frozen are
// those whose elimination needs no block that changes.
//
// Limits: no blocks at all is a valid matrix; diagonal blocks alone factor each apart; one block is dense
// Cholesky. The same values give the same bits on the same machine and build (a processor with AVX2 uses
// fused multiply-add, an older one does not). No call allocates after a pattern as large has been seen, with
// one exception: METIS, which large patterns use when they change.
//
// Use:   cholesky.analyze(pattern);
//        fill cholesky.matrix.block(i, j) or .pair_block(k);
//        if (FactorResult result = cholesky.factor(); !result) ...;
//        cholesky.solve_in_place(x);
#pragma once

#include <memory>
#include <span>

#include "capstan/math/block_matrix.h"

namespace capstan {

enum class Ordering { automatic, minimum_degree, nested_dissection, natural, given };

struct FactorResult {
  int failed_block = -1;  // H is not positive definite (or not finite): found when eliminating this block
  double pivot = 0;       // the pivot that is not above zero
  explicit operator bool() const { return failed_block < 0; }
};

// What the symbolic factorization predicts.
struct FactorInfo {
  Ordering ordering = Ordering::automatic;  // the one used, never `automatic`
  int num_supernodes = 0;
  long matrix_values = 0;  // in the lower triangle of H, whole blocks
  long factor_values = 0;  // in L, explicit zeros of merged supernodes included
  double flops = 0;        // of one factor() including the frozen part; an addition or multiplication is one
  double frozen_flops = 0;
};

// Some columns of a matrix B with as many rows as H, in the rows of one block; B is zero elsewhere.
struct ColumnsInBlock {
  int block, first_column, num_columns;
  const double* values;  // column-major, columns leading_dimension apart
  long leading_dimension;
};

class BlockCholesky {
 public:
  BlockCholesky();
  ~BlockCholesky();
  BlockCholesky(BlockCholesky&&) noexcept;
  BlockCholesky& operator=(BlockCholesky&&) noexcept;

  // Must be called first; cheap when the pattern is that of the call before. Returns whether it was a new
  // one. In either case the values are undefined and the frozen part counts as not yet factored.
  bool analyze(const BlockPattern& pattern, Ordering ordering = Ordering::automatic);

  // The same with an order that is given, of which the frozen blocks are taken first where that pays: that of
  // a mesh is found once, and serves whatever part of it is frozen.
  bool analyze(const BlockPattern& pattern, const std::vector<int>& order);
  const std::vector<int>& order() const;  // of elimination

  // The unfactored matrix. Kept apart from the factor: a Newton iteration rewrites the blocks that change.
  BlockMatrix matrix;

  // Eliminates the frozen blocks: reads their columns and the blocks that couple them to others. To be called
  // again when any of those has changed.
  FactorResult factor_frozen();

  // Eliminates the rest (and the frozen blocks, if that has not been done since analyze). After a failure
  // there is no factor to solve with.
  FactorResult factor();

  // The system that factor_frozen() leaves behind, for those who iterate with it and have no use for the
  // rest: with e the blocks that are eliminated and r those that remain (all that are not frozen, and frozen
  // ones whose elimination would cause too much fill),
  //   S = H_rr - H_re H_ee^-1 H_er,   x_e = -H_ee^-1 H_er x_r where rows e of H x are zero.
  // The blocks of S are remaining(), in this order; valid until the next analyze().
  const std::vector<int>& remaining();
  const BlockPattern& reduced_pattern();
  // After factor_frozen(); S has the reduced pattern.
  void calc_reduced(BlockMatrix* S);
  // Sets the blocks e of x, which has as many rows as H.
  void extend_reduced(double* x) const;

  // x = H^-1 x, column by column.
  void solve_in_place(Eigen::Ref<MatX> x) const;
  void solve_in_place(double* x, int columns, long leading_dimension) const;

  // W = B^T H^-1 B, the whole square, for a few columns that are zero in most blocks: goes only through the
  // supernodes above theirs.
  void project_inverse(std::span<const ColumnsInBlock> B, int num_columns, Eigen::Ref<MatX> W) const;

  const FactorInfo& info() const;

 private:
  struct Data;
  void finish_analysis(Ordering ordering);
  std::unique_ptr<Data> data_;
};

}  // namespace capstan
