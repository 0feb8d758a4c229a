// The Schur complement that eliminated blocks leave behind, as a matrix of its own.
#include <algorithm>

#include "capstan/base/diagnostics.h"
#include "capstan/math/block_cholesky_data.h"
#include "capstan/math/front_kernels.h"

namespace capstan {
namespace {

void make_reduced(const BlockMatrix& matrix, const SymbolicFactor& symbolic, ReducedSystem* result) {
  const int n = matrix.num_blocks();
  std::vector<int> at(n, -1);  // among those that remain
  std::size_t next = 0;
  for (const Front& front : symbolic.fronts) {
    const int end = front.pivot_start + front.num_pivots;
    for (; next < symbolic.block_order.size(); ++next) {
      const int b = symbolic.block_order[next];
      if (matrix.block_size(b) > 0 && symbolic.block_start[b] >= end) break;
      const bool remains = matrix.block_size(b) > 0 ? !front.frozen : !matrix.frozen(b);
      if (remains) at[b] = 0;
    }
  }
  result->blocks.clear();
  result->pattern.sizes.clear();
  result->pattern.pairs.clear();
  result->copies.clear();
  result->parts.clear();
  result->updates.clear();
  for (int b = 0; b < n; ++b) {
    if (at[b] < 0) continue;
    at[b] = static_cast<int>(result->blocks.size());
    result->blocks.push_back(b);
    result->pattern.sizes.push_back(matrix.block_size(b));
  }
  for (const int b : result->blocks) {
    for (int e = matrix.column_start()[b]; e < matrix.column_start()[b + 1]; ++e) {
      const int row = matrix.entry_row()[e];
      if (at[row] < 0) continue;
      if (row == b) {
        result->copies.push_back({e, ~at[b]});
        continue;
      }
      result->copies.push_back({e, static_cast<int>(result->pattern.pairs.size())});
      result->pattern.pairs.push_back({at[row], at[b]});
    }
  }
  // Blocks by their rows in the order of elimination.
  const auto block_of = [&](int row) {
    const auto after =
        std::upper_bound(symbolic.block_order.begin(), symbolic.block_order.end(), row,
                         [&](int r, int b) { return r < symbolic.block_start[b] + matrix.block_size(b); });
    return *after;
  };
  for (int f = 0; f < static_cast<int>(symbolic.fronts.size()); ++f) {
    const Front& front = symbolic.fronts[f];
    if (front.place != UpdatePlace::kept) continue;
    ReducedSystem::Update update{f, static_cast<int>(result->parts.size()), 0,
                                 static_cast<int>(result->pattern.pairs.size())};
    for (int k = front.rows; k < front.rows_end; ++k) {
      const RowRun& run = symbolic.rows[k];
      for (int row = 0; row < run.length;) {
        const int b = block_of(run.to + row), size = matrix.block_size(b);
        result->parts.push_back({run.from + row, at[b], size});
        row += size;
      }
    }
    update.part_end = static_cast<int>(result->parts.size());
    for (int i = update.part_begin; i < update.part_end; ++i) {
      for (int j = update.part_begin; j < i; ++j)
        result->pattern.pairs.push_back({result->parts[i].block, result->parts[j].block});
    }
    result->updates.push_back(update);
  }
  result->is_known = true;
}

const ReducedSystem& reduced_of(const BlockMatrix& matrix, const SymbolicFactor& symbolic,
                                ReducedSystem* reduced) {
  if (!reduced->is_known) make_reduced(matrix, symbolic, reduced);
  return *reduced;
}

}  // namespace

const std::vector<int>& BlockCholesky::remaining() {
  CAPSTAN_ASSERT(data_->analyzed);
  return reduced_of(matrix, data_->symbolic, &data_->left).blocks;
}

const BlockPattern& BlockCholesky::reduced_pattern() {
  CAPSTAN_ASSERT(data_->analyzed);
  return reduced_of(matrix, data_->symbolic, &data_->left).pattern;
}

void BlockCholesky::calc_reduced(BlockMatrix* S) {
  CAPSTAN_ASSERT(data_->frozen_factored);
  const ReducedSystem& reduced = reduced_of(matrix, data_->symbolic, &data_->left);
  S->set_zero();
  for (const ReducedSystem::Copy& copy : reduced.copies) {
    const double* from = matrix.entry_block(copy.entry);
    if (copy.pair < 0) {
      const int b = ~copy.pair;
      std::copy_n(from, S->block_size(b) * S->block_size(b), S->block(b, b));
    } else {
      const auto [row, column] = reduced.pattern.pairs[copy.pair];
      std::copy_n(from, S->block_size(row) * S->block_size(column), S->pair_block(copy.pair));
    }
  }
  for (const ReducedSystem::Update& update : reduced.updates) {
    const Front& front = data_->symbolic.fronts[update.front];
    const double* U = data_->update(front);  // its lower triangle
    const long ld = front.update_rows;
    int pair = update.first_pair;
    for (int i = update.part_begin; i < update.part_end; ++i) {
      const ReducedSystem::Part& a = reduced.parts[i];
      for (int j = update.part_begin; j < i; ++j, ++pair) {
        const ReducedSystem::Part& b = reduced.parts[j];
        const double* from = U + a.row + b.row * ld;
        double* to = S->pair_block(pair);
        const bool transposed = a.block < b.block;
        for (int c = 0; c < b.size; ++c) {
          for (int r = 0; r < a.size; ++r)
            to[transposed ? c + r * b.size : r + c * a.size] += from[r + c * ld];
        }
      }
      double* to = S->block(a.block, a.block);
      for (int c = 0; c < a.size; ++c) {
        for (int r = c; r < a.size; ++r) to[r + c * a.size] += U[a.row + r + (a.row + c) * ld];
      }
    }
  }
}

void BlockCholesky::extend_reduced(double* x) const {
  const Data& d = *data_;
  CAPSTAN_ASSERT(d.frozen_factored);
  const SymbolicFactor& symbolic = d.symbolic;
  const FrontKernels& kernels = front_kernels();
  thread_local AlignedBuffer scratch;
  const long n = padded(matrix.num_rows()) + kPad;
  scratch.reserve(n + symbolic.largest_update);
  double* const y = scratch.data();
  double* const below = y + n;
  for (const auto& [from, to, length] : symbolic.permutation) std::copy_n(x + from, length, y + to);
  std::fill(y + matrix.num_rows(), y + n, 0.0);  // kernels read a little beyond
  for (auto front = symbolic.fronts.rbegin(); front != symbolic.fronts.rend(); ++front) {
    if (!front->frozen) continue;
    std::fill_n(y + front->pivot_start, front->num_pivots, 0.0);
    for (int k = front->rows; k < front->rows_end; ++k) {
      const RowRun& run = symbolic.rows[k];
      std::copy_n(y + run.to, run.length, below + run.from);
    }
    kernels.solve_backward(*front, d.factor.data() + front->panel, y + front->pivot_start, below);
  }
  for (const auto& [from, to, length] : symbolic.permutation) std::copy_n(y + to, length, x + from);
}

}  // namespace capstan
