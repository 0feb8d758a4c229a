// Solving with a factor that is there.
#include <algorithm>

#include "capstan/base/diagnostics.h"
#include "capstan/math/block_cholesky_data.h"
#include "capstan/math/front_kernels.h"

namespace capstan {

void BlockCholesky::solve_in_place(Eigen::Ref<MatX> x) const {
  CAPSTAN_ASSERT(x.rows() == matrix.num_rows());
  solve_in_place(x.data(), static_cast<int>(x.cols()), x.outerStride());
}

void BlockCholesky::solve_in_place(double* x, int columns, long leading_dimension) const {
  const Data& d = *data_;
  CAPSTAN_ASSERT(d.factored);
  const SymbolicFactor& symbolic = d.symbolic;
  const FrontKernels& kernels = front_kernels();
  constexpr int M = kManyColumns;
  // One for each thread that solves: allocates only when it grows.
  thread_local AlignedBuffer scratch;
  const long n = padded(matrix.num_rows()) + kPad;
  scratch.reserve((n + symbolic.largest_update) * (columns > 1 ? M : 1));

  int column = 0;
  for (; columns - column > 1; column += M) {
    const int m = std::min(M, columns - column);
    double* const y = scratch.data();
    double* const below = y + n * M;
    double* const block = x + column * leading_dimension;
    for (const auto& [from, to, length] : symbolic.permutation) {
      for (int r = 0; r < length; ++r) {
        for (int c = 0; c < m; ++c) y[(to + r) * M + c] = block[from + r + c * leading_dimension];
        for (int c = m; c < M; ++c) y[(to + r) * M + c] = 0;
      }
    }
    for (const Front& front : symbolic.fronts) {
      kernels.solve_forward_many(front, d.factor.data() + front.panel, y + front.pivot_start * M, below);
      for (int k = front.rows; k < front.rows_end; ++k) {
        const RowRun& run = symbolic.rows[k];
        for (int r = 0; r < run.length * M; ++r) y[run.to * M + r] += below[run.from * M + r];
      }
    }
    for (auto front = symbolic.fronts.rbegin(); front != symbolic.fronts.rend(); ++front) {
      for (int k = front->rows; k < front->rows_end; ++k) {
        const RowRun& run = symbolic.rows[k];
        std::copy_n(y + run.to * M, run.length * M, below + run.from * M);
      }
      kernels.solve_backward_many(*front, d.factor.data() + front->panel, y + front->pivot_start * M, below);
    }
    for (const auto& [from, to, length] : symbolic.permutation) {
      for (int r = 0; r < length; ++r) {
        for (int c = 0; c < m; ++c) block[from + r + c * leading_dimension] = y[(to + r) * M + c];
      }
    }
  }
  if (column >= columns) return;

  double* const y = scratch.data();
  double* const below = y + n;
  double* const last = x + column * leading_dimension;
  for (const auto& [from, to, length] : symbolic.permutation) std::copy_n(last + from, length, y + to);
  std::fill(y + matrix.num_rows(), y + n, 0.0);  // kernels read a little beyond
  for (const Front& front : symbolic.fronts) {
    kernels.solve_forward(front, d.factor.data() + front.panel, y + front.pivot_start, below);
    for (int k = front.rows; k < front.rows_end; ++k) {
      const RowRun& run = symbolic.rows[k];
      for (int r = 0; r < run.length; ++r) y[run.to + r] -= below[run.from + r];
    }
  }
  for (auto front = symbolic.fronts.rbegin(); front != symbolic.fronts.rend(); ++front) {
    for (int k = front->rows; k < front->rows_end; ++k) {
      const RowRun& run = symbolic.rows[k];
      std::copy_n(y + run.to, run.length, below + run.from);
    }
    kernels.solve_backward(*front, d.factor.data() + front->panel, y + front->pivot_start, below);
  }
  for (const auto& [from, to, length] : symbolic.permutation) std::copy_n(y + to, length, last + from);
}

// With Y = L^-1 P B, W is Y^T Y.
void BlockCholesky::project_inverse(std::span<const ColumnsInBlock> B, int num_columns,
                                    Eigen::Ref<MatX> W) const {
  const Data& d = *data_;
  CAPSTAN_ASSERT(d.factored);
  const std::vector<Front>& fronts = d.symbolic.fronts;
  const int num_fronts = static_cast<int>(fronts.size());
  const FrontKernels& kernels = front_kernels();
  constexpr int M = kManyColumns;
  thread_local AlignedBuffer scratch;
  thread_local std::vector<char> touched;  // [fronts] of the first M columns, then of the next
  const int num_batches = (num_columns + M - 1) / M;
  const long size = (padded(matrix.num_rows()) + kPad) * M;
  scratch.reserve(size * num_batches + d.symbolic.largest_update * M);
  double* const Y = scratch.data();
  double* const below = Y + size * num_batches;
  touched.assign(num_fronts * num_batches, false);
  const auto front_of = [&](int row) {
    const auto next = std::upper_bound(fronts.begin(), fronts.end(), row,
                                       [](int r, const Front& front) { return r < front.pivot_start; });
    return static_cast<int>(next - fronts.begin()) - 1;
  };
  for (const ColumnsInBlock& columns : B) {
    const int first = front_of(d.symbolic.block_start[columns.block]);
    const int last_batch = (columns.first_column + columns.num_columns - 1) / M;
    for (int b = columns.first_column / M; b <= last_batch; ++b) {
      for (int f = first; f >= 0 && !touched[num_fronts * b + f]; f = fronts[f].parent) {
        touched[num_fronts * b + f] = true;
        std::fill_n(Y + size * b + fronts[f].pivot_start * M, fronts[f].num_pivots * M, 0.0);
      }
    }
  }
  for (const ColumnsInBlock& columns : B) {
    const int row = d.symbolic.block_start[columns.block], rows = matrix.block_size(columns.block);
    for (int c = 0; c < columns.num_columns; ++c) {
      const int column = columns.first_column + c;
      double* const y = Y + size * (column / M) + column % M;
      for (int r = 0; r < rows; ++r) y[(row + r) * M] += columns.values[r + c * columns.leading_dimension];
    }
  }
  for (int b = 0; b < num_batches; ++b) {
    double* const y = Y + size * b;
    for (int f = 0; f < num_fronts; ++f) {
      if (!touched[num_fronts * b + f]) continue;
      const Front& front = fronts[f];
      kernels.solve_forward_many(front, d.factor.data() + front.panel, y + front.pivot_start * M, below);
      for (int k = front.rows; k < front.rows_end; ++k) {
        const RowRun& run = d.symbolic.rows[k];
        for (int r = 0; r < run.length * M; ++r) y[run.to * M + r] += below[run.from * M + r];
      }
    }
    for (int a = 0; a <= b; ++a) {
      alignas(64) double product[M * M] = {};
      for (int f = 0; f < num_fronts; ++f) {
        if (!touched[num_fronts * a + f] || !touched[num_fronts * b + f]) continue;
        const long first = fronts[f].pivot_start * M;
        kernels.add_products(Y + size * a + first, y + first, fronts[f].num_pivots, product);
      }
      for (int i = 0; i < std::min(M, num_columns - a * M); ++i) {
        for (int j = 0; j < std::min(M, num_columns - b * M); ++j) {
          W(a * M + i, b * M + j) = W(b * M + j, a * M + i) = product[i * M + j];
        }
      }
    }
  }
}

}  // namespace capstan
