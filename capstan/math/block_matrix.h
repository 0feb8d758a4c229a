// Symmetric matrices of dense blocks of any sizes, most of them zero: H = A + J^T G J of a Newton step.
//
// Block i has sizes[i] rows (the dofs of a tree, of a node...). Diagonal blocks are always there; an
// off-diagonal block is there for every pair of the pattern. Only the lower triangle is stored: block (i, j),
// i > j, whole, and the lower triangle of block (i, i). Each block is dense and column-major, its leading
// dimension is its number of rows.
#pragma once

#include <array>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

struct BlockPattern {
  std::vector<int> sizes;  // [blocks] rows of each block; 0 is allowed
  std::vector<std::array<int, 2>>
      pairs;                 // (i, j) or (j, i) in any order; repeated pairs and i = j are harmless
  std::vector<char> frozen;  // [blocks], or empty for none: see math/block_cholesky.h

  bool operator==(const BlockPattern&) const = default;
};

class BlockMatrix {
 public:
  // Takes over a pattern; values are undefined afterwards. Returns false, and keeps all but the numbering of
  // pairs, when the set of pairs, the sizes and the frozen blocks are those it has already. Memory only
  // grows.
  bool set_pattern(const BlockPattern& pattern);

  int num_blocks() const { return static_cast<int>(sizes_.size()); }
  int num_rows() const { return start_.empty() ? 0 : start_.back(); }
  int block_size(int i) const { return sizes_[i]; }
  int block_start(int i) const { return start_[i]; }  // the first row of block i in vectors
  bool frozen(int i) const { return frozen_[i] != 0; }

  void set_zero();
  void copy_values(const BlockMatrix& other);  // of the same sizes and pairs
  void set_zero_off_diagonal();                // all but the diagonal blocks

  // Block (i, j), i >= j, which must be in the pattern: sizes[i] x sizes[j], column-major, leading dimension
  // sizes[i]. Of a diagonal block only the lower triangle is ever read. Finding an off-diagonal one takes a
  // binary search.
  double* block(int i, int j) { return values_.data() + value_start_[find(i, j)]; }
  const double* block(int i, int j) const { return values_.data() + value_start_[find(i, j)]; }

  // The block of pattern.pairs[k]: always that below the diagonal, (max, min) of the pair. No search.
  double* pair_block(int k) { return values_.data() + value_start_[pair_entry_[k]]; }
  const double* pair_block(int k) const { return values_.data() + value_start_[pair_entry_[k]]; }

  // y = H x.
  void multiply(const double* x, double* y) const;
  VecX operator*(const VecX& x) const;

  // The whole symmetric matrix, for tests.
  MatX dense() const;

  // Block columns: entries column_start[j] to column_start[j + 1], the diagonal block first, then by rows.
  const std::vector<int>& column_start() const { return column_start_; }
  const std::vector<int>& entry_row() const { return entry_row_; }
  const double* entry_block(int entry) const { return values_.data() + value_start_[entry]; }

 private:
  int find(int i, int j) const;

  BlockPattern pattern_;  // as given: equal vectors need no sorting
  std::vector<int> sizes_, start_;
  std::vector<char> frozen_;
  std::vector<int> column_start_, entry_row_, pair_entry_;
  std::vector<long> value_start_;
  std::vector<double> values_;
  std::vector<int> new_column_start_, new_entry_row_, scratch_, position_;
};

}  // namespace capstan
