// What a BlockCholesky has inside. Internal to math/.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/math/block_cholesky.h"
#include "capstan/math/block_ordering.h"
#include "capstan/math/block_symbolic.h"

namespace capstan {

// Doubles at an address that is a multiple of 64. Contents are lost when it grows.
class AlignedBuffer {
 public:
  void reserve(long size) {
    if (size + 8 > static_cast<long>(storage_.size())) storage_.resize(size + 8);
  }
  double* data() const {
    return reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(storage_.data()) + 63) / 64 * 64);
  }

 private:
  std::vector<double> storage_;
};

// What factor_frozen() leaves behind: made by the first call that asks for it after analyze().
struct ReducedSystem {
  bool is_known = false;
  std::vector<int> blocks;  // that remain, ascending
  BlockPattern pattern;     // of the Schur complement, over these
  struct Copy {
    int entry, pair;  // of the matrix; of `pattern`, or ~block on the diagonal
  };
  std::vector<Copy> copies;
  struct Part {
    int row, block, size;  // in U of a front; among `blocks`
  };
  std::vector<Part> parts;
  struct Update {
    int front, part_begin, part_end, first_pair;
  };
  std::vector<Update> updates;
};

struct BlockCholesky::Data {
  MatrixGraph graph;
  MinimumDegree minimum_degree;
  std::vector<int> order, other_order, given;
  std::vector<char> one_stage;
  SymbolicAnalysis analysis, other_analysis;
  SymbolicFactor symbolic, other;
  FactorInfo info;
  Ordering asked = Ordering::automatic;
  AlignedBuffer factor, even, odd, kept;
  bool analyzed = false, frozen_factored = false, factored = false;
  ReducedSystem left;  // by the frozen blocks

  double* update(const Front& front) {
    const AlignedBuffer& buffer = front.place == UpdatePlace::kept         ? kept
                                  : front.place == UpdatePlace::even_stack ? even
                                                                           : odd;
    return buffer.data() + front.update;
  }
  void choose_order(const BlockMatrix& matrix, Ordering ordering);
  FactorResult factor_fronts(const BlockMatrix& matrix, bool frozen);
};

}  // namespace capstan
