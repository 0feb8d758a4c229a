// Written once for vectors of W doubles (compiler vector extensions, no intrinsics) and instantiated for the
// plain target (SSE2, NEON) and, on x86-64, for AVX2 with fused multiply-add and for AVX-512; the processor
// decides at start. Tiles of R vectors by up to 4 columns stay in registers. Vectors wider than kPad are for
// most of the rows, and others of kPad for those that remain. Everything is forced inline, because a function
// can only be compiled for AVX2 together with all that it calls.
#include "capstan/math/front_kernels.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "capstan/math/clones.h"

namespace capstan {
namespace {

constexpr int kColumnBlock = 48;  // pivots between two updates of the rest: keeps the operands in the cache

template <int W>
struct VectorOf;
template <>
struct VectorOf<2> {
  typedef double type __attribute__((vector_size(16), may_alias));
  typedef double loose __attribute__((vector_size(16), may_alias, aligned(8)));
};
template <>
struct VectorOf<4> {
  typedef double type __attribute__((vector_size(32), may_alias));
  typedef double loose __attribute__((vector_size(32), may_alias, aligned(8)));
};
template <>
struct VectorOf<8> {
  typedef double type __attribute__((vector_size(64), may_alias, aligned(32)));  // kPad doubles
};

// B: doubles of a vector. R: vectors of a tile, so that R * 4 sums fit into the registers.
template <int B, int R>
struct Kernels {
  static constexpr int W = B < kPad ? B : kPad;
  using V = typename VectorOf<W>::type;
  using Loose = typename VectorOf<W>::loose;  // without alignment
  template <int N>
  using VectorN = typename VectorOf<N>::type;
  static_assert(kPad % W == 0 && B % W == 0);
  static constexpr int kStep = kPad / W;        // vectors that make kPad rows
  static constexpr int kWide = B == 8 ? 8 : 4;  // columns of a tile: there are 32 registers

  // Calls f<N, T>(i) for T vectors of N rows from i on, until all rows [i, end) have been in one; i and
  // end are multiples of kPad.
  template <class F>
  static CAPSTAN_INLINE inline void for_each_tile(int i, int end, const F& f) {
    for (; i + R * B <= end; i += R * B) f.template operator()<B, R>(i);
    if constexpr (B > kPad) {
      for (; i + B <= end; i += B) f.template operator()<B, 1>(i);
    }
    for (; i < end; i += kPad) f.template operator()<W, kStep>(i);
  }

  // sum[r][c] -= A(:, k) B(c, k) over k, A and B in columns of the same leading dimension.
  template <int N, int T, int C>
  static CAPSTAN_INLINE inline void subtract_product(const double* A, const double* B_row, long ld, int depth,
                                                     VectorN<N> (&sum)[T][C]) {
    for (int k = 0; k < depth; ++k, A += ld, B_row += ld) {
      VectorN<N> a[T];
      for (int r = 0; r < T; ++r) a[r] = reinterpret_cast<const VectorN<N>*>(A)[r];
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) sum[r][c] -= a[r] * B_row[c];
      }
    }
  }

  // T vectors of rows, C columns: X = (X - A B^T) D^-T with D a factored C x C lower triangle.
  template <int N, int T, int C>
  static CAPSTAN_INLINE inline void eliminate_rows(const double* A, const double* B_row, long ld, int depth,
                                                   const double* D, double* X) {
    VectorN<N> x[T][C];
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) x[r][c] = reinterpret_cast<const VectorN<N>*>(X + c * ld)[r];
    }
    subtract_product<N, T, C>(A, B_row, ld, depth, x);
    for (int c = 0; c < C; ++c) {
      for (int b = 0; b < c; ++b) {
        for (int r = 0; r < T; ++r) x[r][c] -= x[r][b] * D[c + b * ld];
      }
      for (int r = 0; r < T; ++r) x[r][c] *= D[c + c * ld];
    }
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) reinterpret_cast<VectorN<N>*>(X + c * ld)[r] = x[r][c];
    }
  }

  // Columns [j, j + C) of a panel, after the columns [first, j) of its block; j and first are multiples of
  // kPad.
  template <int C>
  static CAPSTAN_INLINE inline int factor_columns(double* panel, int rows, long ld, int first, int j) {
    const int depth = j - first;
    const double* A = panel + first * ld;
    double* D = panel + j + j * ld;
    // The diagonal tile, with its kPad - C rows of padding.
    V d[kStep][C];
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < kStep; ++r) d[r][c] = reinterpret_cast<const V*>(D + c * ld)[r];
    }
    subtract_product<W, kStep, C>(A + j, A + j, ld, depth, d);
    double t[C][kPad];
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < kPad; ++r) t[c][r] = d[r / W][c][r % W];
    }
    for (int c = 0; c < C; ++c) {
      for (int b = 0; b < c; ++b) {
        for (int r = c; r < C; ++r) t[c][r] -= t[b][r] * t[b][c];
      }
      const double pivot = t[c][c];
      if (!(pivot > 0 && pivot < HUGE_VAL)) {
        D[c + c * ld] = pivot;
        return j + c;
      }
      const double inverse = 1 / std::sqrt(pivot);
      for (int r = c + 1; r < C; ++r) t[c][r] *= inverse;
      t[c][c] = inverse;
    }
    for (int c = 0; c < C; ++c) {
      for (int r = c; r < C; ++r) D[r + c * ld] = t[c][r];
    }
    for_each_tile(j + kPad, rows, [&]<int N, int T>(int i) CAPSTAN_INLINE {
      eliminate_rows<N, T, C>(A + i, A + j, ld, depth, D, panel + i + j * ld);
    });
    return -1;
  }

  // X(:, c) = (assign ? 0 : X(:, c)) - A B(c, :)^T
  template <int N, int T, int C>
  static CAPSTAN_INLINE inline void update_tile(const double* A, const double* B_row, long ld, int depth,
                                                double* X, long ldx, bool assign) {
    VectorN<N> x[T][C];
    if (assign) {
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) x[r][c] = VectorN<N>{};
      }
    } else {
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) x[r][c] = reinterpret_cast<const VectorN<N>*>(X + c * ldx)[r];
      }
    }
    subtract_product<N, T, C>(A, B_row, ld, depth, x);
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) reinterpret_cast<VectorN<N>*>(X + c * ldx)[r] = x[r][c];
    }
  }

  // Columns [j, j + C) of the panel that come after the block of columns A.
  template <int C>
  static CAPSTAN_INLINE inline void update_columns(const double* A, long ld, int depth, int rows, int j,
                                                   double* panel) {
    for_each_tile(j, rows, [&]<int N, int T>(int i) CAPSTAN_INLINE {
      update_tile<N, T, C>(A + i, A + j, ld, depth, panel + i + j * ld, ld, false);
    });
  }

  // The lower triangle of U -= A A^T, a row of tiles at a time: the rows of A stay in the nearest cache.
  // Tiles on the diagonal reach above it by less than kPad rows.
  static CAPSTAN_INLINE inline void update_triangle(const double* A, long ld, int depth, int n, double* U,
                                                    bool assign) {
    const auto update = [&]<int N, int T, int C = 4>(int i, int j) CAPSTAN_INLINE {
      update_tile<N, T, C>(A + i, A + j, ld, depth, U + i + j * static_cast<long>(n), n, assign);
    };
    for_each_tile(0, n, [&]<int N, int T>(int i) CAPSTAN_INLINE {
      int j = 0;
      for (; j + kWide <= i + 4; j += kWide) update.template operator()<N, T, kWide>(i, j);
      for (; j <= i; j += 4) update.template operator()<N, T>(i, j);
      const int end = i + T * N;
      for (j = i + kPad; j < end; j += 4) {
        int k = j;
        if constexpr (B > kPad) {
          for (; k + B <= end; k += B) update.template operator()<B, 1>(k, j);
        }
        for (; k < end; k += kPad) update.template operator()<W, kStep>(k, j);
      }
    });
  }

  static CAPSTAN_INLINE inline int factor(const Front& front, double* panel, double* update) {
    const long ld = front.panel_rows;
    const int rows = front.panel_rows, n = front.num_pivots;
    for (int first = 0; first < n; first += kColumnBlock) {
      const int end = first + kColumnBlock < n ? first + kColumnBlock : n;
      for (int j = first; j < end; j += 4) {
        int failed = -1;
        switch (end - j) {
          case 1:
            failed = factor_columns<1>(panel, rows, ld, first, j);
            break;
          case 2:
            failed = factor_columns<2>(panel, rows, ld, first, j);
            break;
          case 3:
            failed = factor_columns<3>(panel, rows, ld, first, j);
            break;
          default:
            failed = factor_columns<4>(panel, rows, ld, first, j);
        }
        if (failed >= 0) return failed;
      }
      const int depth = end - first;
      const double* A = panel + first * ld;
      for (int j = end; j < n; j += 4) {
        switch (n - j) {
          case 1:
            update_columns<1>(A, ld, depth, rows, j, panel);
            break;
          case 2:
            update_columns<2>(A, ld, depth, rows, j, panel);
            break;
          case 3:
            update_columns<3>(A, ld, depth, rows, j, panel);
            break;
          default:
            update_columns<4>(A, ld, depth, rows, j, panel);
        }
      }
      update_triangle(A + front.pivot_rows, ld, depth, front.update_rows, update, first == 0);
    }
    return -1;
  }

  static CAPSTAN_INLINE inline void add(const double* from, int length, double* to) {
    int r = 0;
    for (; r + W <= length; r += W) {
      *reinterpret_cast<Loose*>(to + r) += *reinterpret_cast<const Loose*>(from + r);
    }
    if (W > 2 && r + 2 <= length) {  // blocks of 6
      using Pair = VectorOf<2>::loose;
      *reinterpret_cast<Pair*>(to + r) += *reinterpret_cast<const Pair*>(from + r);
      r += 2;
    }
    for (; r < length; ++r) to[r] += from[r];
  }

  // Adds `rows` x `columns` numbers.
  static CAPSTAN_INLINE inline void add_block(const double* from, long ld_from, int rows, int columns,
                                              double* to, long ld_to) {
    if (rows == 6) {
      for (int c = 0; c < columns; ++c, from += ld_from, to += ld_to) add(from, 6, to);
    } else {
      for (int c = 0; c < columns; ++c, from += ld_from, to += ld_to) add(from, rows, to);
    }
  }

  // A run of columns of a child's U, from its diagonal on; row k of the parent is at to + k, or to + k + gap
  // where it is no pivot.
  static CAPSTAN_INLINE inline void add_columns(const UpdateRun* runs, const UpdateRun* runs_end,
                                                const double* from, long ld_from, double* to, long ld_to,
                                                int num_pivots, int gap) {
    const auto to_row = [&](const UpdateRun& run) { return to + run.to + (run.to < num_pivots ? 0 : gap); };
    const int columns = runs->length;
    for (int c = 0; c < columns; ++c) {
      add(from + c * ld_from + runs->from + c, columns - c, to_row(*runs) + c * ld_to + c);
    }
    for (const UpdateRun* rows = runs + 1; rows < runs_end; ++rows) {
      add_block(from + rows->from, ld_from, rows->length, columns, to_row(*rows), ld_to);
    }
  }

  static CAPSTAN_INLINE inline void add_to_panel(const Front& child, const UpdateRun* runs,
                                                 const double* child_update, const Front& parent,
                                                 double* panel) {
    const UpdateRun* const end = runs + (child.runs_end - child.runs);
    const long ld_from = child.update_rows, ld_to = parent.panel_rows;
    for (; runs < end && runs->to < parent.num_pivots; ++runs) {
      add_columns(runs, end, child_update + runs->from * ld_from, ld_from, panel + runs->to * ld_to, ld_to,
                  parent.num_pivots, parent.pivot_rows - parent.num_pivots);
    }
  }

  static CAPSTAN_INLINE inline void add_to_update(const Front& child, const UpdateRun* runs,
                                                  const double* child_update, const Front& parent,
                                                  double* update) {
    const UpdateRun* const end = runs + (child.runs_end - child.runs);
    const long ld_from = child.update_rows, ld_to = parent.update_rows;
    for (; runs < end; ++runs) {
      const int column = runs->to - parent.num_pivots;
      if (column < 0) continue;
      add_columns(runs, end, child_update + runs->from * ld_from, ld_from, update + column * ld_to, ld_to,
                  parent.num_pivots, -parent.num_pivots);
    }
  }

  // Solves with a C x C triangle D, forward or (transposed) backward.
  template <int C>
  static CAPSTAN_INLINE inline void solve_triangle(const double* D, long ld, double* y) {
    for (int c = 0; c < C; ++c) {
      for (int b = 0; b < c; ++b) y[c] -= D[c + b * ld] * y[b];
      y[c] *= D[c + c * ld];
    }
  }
  template <int C>
  static CAPSTAN_INLINE inline void solve_triangle_transposed(const double* D, long ld, double* y) {
    for (int c = C - 1; c >= 0; --c) {
      for (int r = c + 1; r < C; ++r) y[c] -= D[r + c * ld] * y[r];
      y[c] *= D[c + c * ld];
    }
  }

  template <int C>
  static CAPSTAN_INLINE inline void forward_columns(const double* panel, long ld, int pivot_rows, int j,
                                                    double* y1) {
    solve_triangle<C>(panel + j + j * ld, ld, y1 + j);
    double x[C];
    for (int c = 0; c < C; ++c) x[c] = y1[j + c];
    for (int i = j + kPad; i < pivot_rows; i += W) {
      V sum = *reinterpret_cast<const Loose*>(y1 + i);
      for (int c = 0; c < C; ++c) sum -= *reinterpret_cast<const V*>(panel + i + (j + c) * ld) * x[c];
      *reinterpret_cast<Loose*>(y1 + i) = sum;
    }
  }

  template <int T>
  static CAPSTAN_INLINE inline void multiply_rows(const double* A, long ld, int n, const double* x,
                                                  double* y) {
    V sum[T];
    for (int r = 0; r < T; ++r) sum[r] = V{};
    for (int k = 0; k < n; ++k, A += ld) {
      for (int r = 0; r < T; ++r) sum[r] += reinterpret_cast<const V*>(A)[r] * x[k];
    }
    for (int r = 0; r < T; ++r) reinterpret_cast<V*>(y)[r] = sum[r];
  }

  static CAPSTAN_INLINE inline void solve_forward(const Front& front, const double* panel, double* y1,
                                                  double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    for (int j = 0; j < n; j += 4) {
      switch (n - j) {
        case 1:
          forward_columns<1>(panel, ld, front.pivot_rows, j, y1);
          break;
        case 2:
          forward_columns<2>(panel, ld, front.pivot_rows, j, y1);
          break;
        case 3:
          forward_columns<3>(panel, ld, front.pivot_rows, j, y1);
          break;
        default:
          forward_columns<4>(panel, ld, front.pivot_rows, j, y1);
      }
    }
    const double* L21 = panel + front.pivot_rows;
    int i = 0;
    for (; i + 4 * kPad <= front.update_rows; i += 4 * kPad) {
      multiply_rows<4 * kStep>(L21 + i, ld, n, y1, below + i);
    }
    for (; i < front.update_rows; i += kPad) multiply_rows<kStep>(L21 + i, ld, n, y1, below + i);
  }

  template <int C>
  static CAPSTAN_INLINE inline void backward_columns(const double* panel, const Front& front, int j,
                                                     double* y1, const double* below) {
    const long ld = front.panel_rows;
    const double* A = panel + j * ld;
    V sum[C];
    for (int c = 0; c < C; ++c) sum[c] = V{};
    for (int i = j + kPad; i < front.pivot_rows; i += W) {
      const V b = *reinterpret_cast<const Loose*>(y1 + i);
      for (int c = 0; c < C; ++c) sum[c] += *reinterpret_cast<const V*>(A + i + c * ld) * b;
    }
    A += front.pivot_rows;
    for (int i = 0; i < front.update_rows; i += W) {
      const V b = *reinterpret_cast<const V*>(below + i);
      for (int c = 0; c < C; ++c) sum[c] += *reinterpret_cast<const V*>(A + i + c * ld) * b;
    }
    for (int c = 0; c < C; ++c) {
      double total = sum[c][0];
      for (int k = 1; k < W; ++k) total += sum[c][k];
      y1[j + c] -= total;
    }
    solve_triangle_transposed<C>(panel + j + j * ld, ld, y1 + j);
  }

  static CAPSTAN_INLINE inline void solve_backward(const Front& front, const double* panel, double* y1,
                                                   const double* below) {
    const int n = front.num_pivots;
    for (int j = (n - 1) / 4 * 4; j >= 0; j -= 4) {
      switch (n - j) {
        case 0:
          break;
        case 1:
          backward_columns<1>(panel, front, j, y1, below);
          break;
        case 2:
          backward_columns<2>(panel, front, j, y1, below);
          break;
        case 3:
          backward_columns<3>(panel, front, j, y1, below);
          break;
        default:
          backward_columns<4>(panel, front, j, y1, below);
      }
    }
  }

  using VM = VectorN<B>;
  static constexpr int kM = kManyColumns / B;  // vectors of a row
  static constexpr int kT = 8 / kM;            // rows at a time

  // sum -= L y: T rows of L, `depth` columns; L(r, k) at L[r + k ld], or transposed at L[k + r ld].
  template <bool kTransposed, int T>
  static CAPSTAN_INLINE inline void subtract_many(const double* L, long ld, int depth, const double* y,
                                                  VM (&sum)[T][kM]) {
    for (int k = 0; k < depth; ++k) {
      VM b[kM];
      for (int c = 0; c < kM; ++c) b[c] = reinterpret_cast<const VM*>(y)[k * kM + c];
      for (int r = 0; r < T; ++r) {
        const double l = kTransposed ? L[k + r * ld] : L[r + k * ld];
        for (int c = 0; c < kM; ++c) sum[r][c] -= b[c] * l;
      }
    }
  }

  // One row, for what remains.
  template <bool kTransposed>
  static CAPSTAN_INLINE inline void subtract_one(const double* L, long ld, int depth, const double* y,
                                                 VM (&sum)[kM]) {
    for (int k = 0; k < depth; ++k) {
      const double l = kTransposed ? L[k] : L[k * ld];
      for (int c = 0; c < kM; ++c) sum[c] -= reinterpret_cast<const VM*>(y)[k * kM + c] * l;
    }
  }

  static CAPSTAN_INLINE inline void solve_forward_many(const Front& front, const double* panel, double* y1,
                                                       double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    VM* y = reinterpret_cast<VM*>(y1);
    for (int j = 0; j < n; j += kT) {
      const int rows = n - j < kT ? n - j : kT;
      if (rows == kT) {
        VM sum[kT][kM];
        for (int r = 0; r < kT; ++r) {
          for (int c = 0; c < kM; ++c) sum[r][c] = y[(j + r) * kM + c];
        }
        subtract_many<false>(panel + j, ld, j, y1, sum);
        for (int r = 0; r < kT; ++r) {
          for (int c = 0; c < kM; ++c) y[(j + r) * kM + c] = sum[r][c];
        }
      }
      for (int r = 0; r < rows; ++r) {
        VM sum[kM];
        for (int c = 0; c < kM; ++c) sum[c] = y[(j + r) * kM + c];
        const int first = rows == kT ? j : 0;
        subtract_one<false>(panel + j + r + first * ld, ld, j + r - first, y1 + first * kManyColumns, sum);
        for (int c = 0; c < kM; ++c) y[(j + r) * kM + c] = sum[c] * panel[(j + r) * (ld + 1)];
      }
    }
    const auto multiply = [&]<int T>(int i, std::integral_constant<int, T>) CAPSTAN_INLINE {
      VM sum[T][kM];
      for (int r = 0; r < T; ++r) {
        for (int c = 0; c < kM; ++c) sum[r][c] = VM{};
      }
      subtract_many<false>(panel + front.pivot_rows + i, ld, n, y1, sum);
      for (int r = 0; r < T; ++r) {
        for (int c = 0; c < kM; ++c) reinterpret_cast<VM*>(below)[(i + r) * kM + c] = sum[r][c];
      }
    };
    int i = 0;
    for (; i + kT <= front.update_rows; i += kT) multiply(i, std::integral_constant<int, kT>());
    if (kT > kPad && i < front.update_rows) multiply(i, std::integral_constant<int, kPad>());
  }

  static CAPSTAN_INLINE inline void solve_backward_many(const Front& front, const double* panel, double* y1,
                                                        const double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots, n_below = front.num_updates;
    VM* y = reinterpret_cast<VM*>(y1);
    for (int j = (n - 1) / kT * kT; j >= 0 && n > 0; j -= kT) {
      const int rows = n - j < kT ? n - j : kT;
      const int done = j + rows;
      if (rows == kT) {
        VM sum[kT][kM];
        for (int r = 0; r < kT; ++r) {
          for (int c = 0; c < kM; ++c) sum[r][c] = y[(j + r) * kM + c];
        }
        subtract_many<true>(panel + front.pivot_rows + j * ld, ld, n_below, below, sum);
        subtract_many<true>(panel + done + j * ld, ld, n - done, y1 + done * kManyColumns, sum);
        for (int r = 0; r < kT; ++r) {
          for (int c = 0; c < kM; ++c) y[(j + r) * kM + c] = sum[r][c];
        }
      }
      for (int r = rows - 1; r >= 0; --r) {
        const double* column = panel + (j + r) * ld;
        VM sum[kM];
        for (int c = 0; c < kM; ++c) sum[c] = y[(j + r) * kM + c];
        if (rows < kT) subtract_one<true>(column + front.pivot_rows, ld, n_below, below, sum);
        subtract_one<true>(column + j + r + 1, ld, done - j - r - 1, y1 + (j + r + 1) * kManyColumns, sum);
        for (int c = 0; c < kM; ++c) y[(j + r) * kM + c] = sum[c] * column[j + r];
      }
    }
  }

  static CAPSTAN_INLINE inline void add_products(const double* a, const double* b, int rows,
                                                 double* product) {
    constexpr int kC = 4;  // columns of a at a time
    for (int first = 0; first < kManyColumns; first += kC) {
      VM sum[kC][kM];
      VM* const out = reinterpret_cast<VM*>(product) + first * kM;
      for (int i = 0; i < kC; ++i) {
        for (int c = 0; c < kM; ++c) sum[i][c] = out[i * kM + c];
      }
      for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < kC; ++i) {
          const double x = a[r * kManyColumns + first + i];
          for (int c = 0; c < kM; ++c) sum[i][c] += reinterpret_cast<const VM*>(b)[r * kM + c] * x;
        }
      }
      for (int i = 0; i < kC; ++i) {
        for (int c = 0; c < kM; ++c) out[i * kM + c] = sum[i][c];
      }
    }
  }
};

// One set of plain functions for a target.
#define CAPSTAN_FRONT_KERNELS(name, target, B, R)                                                         \
  namespace name {                                                                                        \
  target int factor(const Front& f, double* panel, double* update) {                                      \
    return Kernels<B, R>::factor(f, panel, update);                                                       \
  }                                                                                                       \
  target void add_to_panel(const Front& c, const UpdateRun* r, const double* u, const Front& p,           \
                           double* panel) {                                                               \
    Kernels<B, R>::add_to_panel(c, r, u, p, panel);                                                       \
  }                                                                                                       \
  target void add_to_update(const Front& c, const UpdateRun* r, const double* u, const Front& p,          \
                            double* update) {                                                             \
    Kernels<B, R>::add_to_update(c, r, u, p, update);                                                     \
  }                                                                                                       \
  target void solve_forward(const Front& f, const double* panel, double* y1, double* below) {             \
    Kernels<B, R>::solve_forward(f, panel, y1, below);                                                    \
  }                                                                                                       \
  target void solve_backward(const Front& f, const double* panel, double* y1, const double* below) {      \
    Kernels<B, R>::solve_backward(f, panel, y1, below);                                                   \
  }                                                                                                       \
  target void solve_forward_many(const Front& f, const double* panel, double* y1, double* below) {        \
    Kernels<B, R>::solve_forward_many(f, panel, y1, below);                                               \
  }                                                                                                       \
  target void solve_backward_many(const Front& f, const double* panel, double* y1, const double* below) { \
    Kernels<B, R>::solve_backward_many(f, panel, y1, below);                                              \
  }                                                                                                       \
  target void add_products(const double* a, const double* b, int rows, double* product) {                 \
    Kernels<B, R>::add_products(a, b, rows, product);                                                     \
  }                                                                                                       \
  constexpr FrontKernels table = {factor,         add_to_panel,       add_to_update,       solve_forward, \
                                  solve_backward, solve_forward_many, solve_backward_many, add_products,  \
                                  #name};                                                                 \
  }

CAPSTAN_FRONT_KERNELS(plain, , 2, 2)
#if defined(__x86_64__)
CAPSTAN_FRONT_KERNELS(avx2, __attribute__((target("avx2,fma"))), 4, 3)
CAPSTAN_FRONT_KERNELS(avx512, __attribute__((target("avx512f,avx512vl,avx512dq,fma"))), 8, 3)
#endif

const FrontKernels& choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return avx512::table;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::table;
#endif
  return plain::table;
}

}  // namespace

const FrontKernels& front_kernels() {
  static const FrontKernels& kernels = choose();
  return kernels;
}

}  // namespace capstan
