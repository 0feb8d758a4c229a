// Written once for vectors of W doubles (compiler vector extensions, no intrinsics) and instantiated for the
// plain target (SSE2, NEON) and, on x86-64, for AVX2 with fused multiply-add; the processor decides at start.
// Tiles of R vectors by up to 4 columns stay in registers. Everything is forced inline, because a function
// can only be compiled for AVX2 together with all that it calls.
#include "capstan/math/front_kernels.h"

#include <cmath>
#include <cstring>

#define CAPSTAN_INLINE inline __attribute__((always_inline))

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

// W: doubles of a vector. R: vectors of a tile, so that R * 4 sums fit into the registers.
template <int W, int R>
struct Kernels {
  using V = typename VectorOf<W>::type;
  using Loose = typename VectorOf<W>::loose;  // without alignment
  static_assert(kPad % W == 0);
  static constexpr int kStep = kPad / W;  // vectors that make kPad rows

  // sum[r][c] -= A(:, k) B(c, k) over k, A and B in columns of the same leading dimension.
  template <int T, int C>
  static CAPSTAN_INLINE void subtract_product(const double* A, const double* B, long ld, int depth,
                                              V (&sum)[T][C]) {
    for (int k = 0; k < depth; ++k, A += ld, B += ld) {
      V a[T];
      for (int r = 0; r < T; ++r) a[r] = reinterpret_cast<const V*>(A)[r];
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) sum[r][c] -= a[r] * B[c];
      }
    }
  }

  // T vectors of rows, C columns: X = (X - A B^T) D^-T with D a factored C x C lower triangle.
  template <int T, int C>
  static CAPSTAN_INLINE void eliminate_rows(const double* A, const double* B, long ld, int depth,
                                            const double* D, double* X) {
    V x[T][C];
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) x[r][c] = reinterpret_cast<const V*>(X + c * ld)[r];
    }
    subtract_product<T, C>(A, B, ld, depth, x);
    for (int c = 0; c < C; ++c) {
      for (int b = 0; b < c; ++b) {
        for (int r = 0; r < T; ++r) x[r][c] -= x[r][b] * D[c + b * ld];
      }
      for (int r = 0; r < T; ++r) x[r][c] *= D[c + c * ld];
    }
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) reinterpret_cast<V*>(X + c * ld)[r] = x[r][c];
    }
  }

  // Columns [j, j + C) of a panel, after the columns [first, j) of its block; j and first are multiples of
  // kPad.
  template <int C>
  static CAPSTAN_INLINE int factor_columns(double* panel, int rows, long ld, int first, int j) {
    const int depth = j - first;
    const double* A = panel + first * ld;
    double* D = panel + j + j * ld;
    // The diagonal tile, with its kPad - C rows of padding.
    V d[kStep][C];
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < kStep; ++r) d[r][c] = reinterpret_cast<const V*>(D + c * ld)[r];
    }
    subtract_product<kStep, C>(A + j, A + j, ld, depth, d);
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
    int i = j + kPad;
    for (; i + R * W <= rows; i += R * W)
      eliminate_rows<R, C>(A + i, A + j, ld, depth, D, panel + i + j * ld);
    for (; i < rows; i += kPad) eliminate_rows<kStep, C>(A + i, A + j, ld, depth, D, panel + i + j * ld);
    return -1;
  }

  // X(:, c) = (assign ? 0 : X(:, c)) - A B(c, :)^T
  template <int T, int C>
  static CAPSTAN_INLINE void update_tile(const double* A, const double* B, long ld, int depth, double* X,
                                         long ldx, bool assign) {
    V x[T][C];
    if (assign) {
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) x[r][c] = V{};
      }
    } else {
      for (int c = 0; c < C; ++c) {
        for (int r = 0; r < T; ++r) x[r][c] = reinterpret_cast<const V*>(X + c * ldx)[r];
      }
    }
    subtract_product<T, C>(A, B, ld, depth, x);
    for (int c = 0; c < C; ++c) {
      for (int r = 0; r < T; ++r) reinterpret_cast<V*>(X + c * ldx)[r] = x[r][c];
    }
  }

  template <int C>
  static CAPSTAN_INLINE void update_columns(const double* A, long ld, int depth, int rows, int j, double* X,
                                            long ldx, bool assign) {
    int i = j;
    for (; i + R * W <= rows; i += R * W) {
      update_tile<R, C>(A + i, A + j, ld, depth, X + i + j * ldx, ldx, assign);
    }
    for (; i < rows; i += kPad) {
      update_tile<kStep, C>(A + i, A + j, ld, depth, X + i + j * ldx, ldx, assign);
    }
  }

  static CAPSTAN_INLINE int factor(const Front& front, double* panel, double* update, bool assign) {
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
            update_columns<1>(A, ld, depth, rows, j, panel, ld, false);
            break;
          case 2:
            update_columns<2>(A, ld, depth, rows, j, panel, ld, false);
            break;
          case 3:
            update_columns<3>(A, ld, depth, rows, j, panel, ld, false);
            break;
          default:
            update_columns<4>(A, ld, depth, rows, j, panel, ld, false);
        }
      }
      const double* L21 = A + front.pivot_rows;
      for (int j = 0; j < front.update_rows; j += 4) {
        update_columns<4>(L21, ld, depth, front.update_rows, j, update, front.update_rows,
                          assign && first == 0);
      }
    }
    return -1;
  }

  static CAPSTAN_INLINE void add(const double* from, int length, double* to) {
    int r = 0;
    for (; r + W <= length; r += W) {
      *reinterpret_cast<Loose*>(to + r) += *reinterpret_cast<const Loose*>(from + r);
    }
    for (; r < length; ++r) to[r] += from[r];
  }

  static CAPSTAN_INLINE void add_update(const Front& child, const UpdateRun* runs, const double* child_update,
                                        const Front& parent, double* panel, double* update) {
    const int num_runs = child.runs_end - child.runs;
    const long ld = child.update_rows;
    const int gap = parent.pivot_rows - parent.num_pivots;
    for (int a = 0; a < num_runs; ++a) {
      const UpdateRun& columns = runs[a];
      const bool pivot = columns.to < parent.num_pivots;
      for (int c = 0; c < columns.length; ++c) {
        const double* from = child_update + (columns.from + c) * ld;
        double* to =
            pivot ? panel + (columns.to + c) * static_cast<long>(parent.panel_rows)
                  : update + (columns.to + c - parent.num_pivots) * static_cast<long>(parent.update_rows) -
                        parent.num_pivots;
        const int shift = pivot ? gap : 0;  // of rows that are not pivots
        add(from + columns.from + c, columns.length - c, to + columns.to + c);
        for (int b = a + 1; b < num_runs; ++b) {
          const UpdateRun& rows = runs[b];
          add(from + rows.from, rows.length, to + rows.to + (rows.to < parent.num_pivots ? 0 : shift));
        }
      }
    }
  }

  static CAPSTAN_INLINE void solve_forward(const Front& front, const double* panel, double* y1,
                                           double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    for (int j = 0; j < n; ++j) {
      const double* column = panel + j * ld;
      const double x = y1[j] *= column[j];
      for (int i = j + 1; i < n; ++i) y1[i] -= column[i] * x;
    }
    const double* L21 = panel + front.pivot_rows;
    int i = 0;
    for (; i + 4 * kPad <= front.update_rows; i += 4 * kPad)
      multiply_rows<4 * kStep>(L21 + i, ld, n, y1, below + i);
    for (; i < front.update_rows; i += kPad) multiply_rows<kStep>(L21 + i, ld, n, y1, below + i);
  }

  template <int T>
  static CAPSTAN_INLINE void multiply_rows(const double* A, long ld, int n, const double* x, double* y) {
    V sum[T];
    for (int r = 0; r < T; ++r) sum[r] = V{};
    for (int k = 0; k < n; ++k, A += ld) {
      for (int r = 0; r < T; ++r) sum[r] += reinterpret_cast<const V*>(A)[r] * x[k];
    }
    for (int r = 0; r < T; ++r) reinterpret_cast<V*>(y)[r] = sum[r];
  }

  template <int C>
  static CAPSTAN_INLINE void subtract_dots(const double* A, long ld, int rows, const double* x, double* y) {
    V sum[C];
    for (int c = 0; c < C; ++c) sum[c] = V{};
    for (int i = 0; i < rows; i += W) {
      const V b = *reinterpret_cast<const V*>(x + i);
      for (int c = 0; c < C; ++c) sum[c] += *reinterpret_cast<const V*>(A + i + c * ld) * b;
    }
    for (int c = 0; c < C; ++c) {
      double total = sum[c][0];
      for (int k = 1; k < W; ++k) total += sum[c][k];
      y[c] -= total;
    }
  }

  static CAPSTAN_INLINE void solve_backward(const Front& front, const double* panel, double* y1,
                                            const double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    const double* L21 = panel + front.pivot_rows;
    int j = 0;
    for (; j + 4 <= n; j += 4) subtract_dots<4>(L21 + j * ld, ld, front.update_rows, below, y1 + j);
    for (; j < n; ++j) subtract_dots<1>(L21 + j * ld, ld, front.update_rows, below, y1 + j);
    for (j = n - 1; j >= 0; --j) {
      const double* column = panel + j * ld;
      double sum = y1[j];
      for (int i = j + 1; i < n; ++i) sum -= column[i] * y1[i];
      y1[j] = sum * column[j];
    }
  }

  static constexpr int kM = kManyColumns / W;  // vectors of a row

  static CAPSTAN_INLINE void solve_forward_many(const Front& front, const double* panel, double* y1,
                                                double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    V* y = reinterpret_cast<V*>(y1);
    for (int j = 0; j < n; ++j) {
      V x[kM];
      for (int c = 0; c < kM; ++c) x[c] = y[j * kM + c];
      for (int k = 0; k < j; ++k) {
        const double l = panel[j + k * ld];
        for (int c = 0; c < kM; ++c) x[c] -= y[k * kM + c] * l;
      }
      for (int c = 0; c < kM; ++c) y[j * kM + c] = x[c] * panel[j + j * ld];
    }
    constexpr int T = 2;  // rows at a time
    for (int i = 0; i < front.update_rows; i += T) {
      const double* L = panel + front.pivot_rows + i;
      V sum[T][kM];
      for (int r = 0; r < T; ++r) {
        for (int c = 0; c < kM; ++c) sum[r][c] = V{};
      }
      for (int k = 0; k < n; ++k, L += ld) {
        for (int r = 0; r < T; ++r) {
          for (int c = 0; c < kM; ++c) sum[r][c] += y[k * kM + c] * L[r];
        }
      }
      for (int r = 0; r < T; ++r) {
        for (int c = 0; c < kM; ++c) reinterpret_cast<V*>(below)[(i + r) * kM + c] = sum[r][c];
      }
    }
  }

  static CAPSTAN_INLINE void solve_backward_many(const Front& front, const double* panel, double* y1,
                                                 const double* below) {
    const long ld = front.panel_rows;
    const int n = front.num_pivots;
    V* y = reinterpret_cast<V*>(y1);
    for (int j = n - 1; j >= 0; --j) {
      const double* column = panel + j * ld;
      V x[kM];
      for (int c = 0; c < kM; ++c) x[c] = y[j * kM + c];
      for (int i = 0; i < front.num_updates; ++i) {
        for (int c = 0; c < kM; ++c) {
          x[c] -= reinterpret_cast<const V*>(below)[i * kM + c] * column[front.pivot_rows + i];
        }
      }
      for (int i = j + 1; i < n; ++i) {
        for (int c = 0; c < kM; ++c) x[c] -= y[i * kM + c] * column[i];
      }
      for (int c = 0; c < kM; ++c) y[j * kM + c] = x[c] * column[j];
    }
  }
};

// One set of plain functions for a target.
#define CAPSTAN_FRONT_KERNELS(name, target, W, R)                                                            \
  namespace name {                                                                                           \
  target int factor(const Front& f, double* panel, double* update, bool assign) {                            \
    return Kernels<W, R>::factor(f, panel, update, assign);                                                  \
  }                                                                                                          \
  target void add_update(const Front& c, const UpdateRun* r, const double* u, const Front& p, double* panel, \
                         double* update) {                                                                   \
    Kernels<W, R>::add_update(c, r, u, p, panel, update);                                                    \
  }                                                                                                          \
  target void solve_forward(const Front& f, const double* panel, double* y1, double* below) {                \
    Kernels<W, R>::solve_forward(f, panel, y1, below);                                                       \
  }                                                                                                          \
  target void solve_backward(const Front& f, const double* panel, double* y1, const double* below) {         \
    Kernels<W, R>::solve_backward(f, panel, y1, below);                                                      \
  }                                                                                                          \
  target void solve_forward_many(const Front& f, const double* panel, double* y1, double* below) {           \
    Kernels<W, R>::solve_forward_many(f, panel, y1, below);                                                  \
  }                                                                                                          \
  target void solve_backward_many(const Front& f, const double* panel, double* y1, const double* below) {    \
    Kernels<W, R>::solve_backward_many(f, panel, y1, below);                                                 \
  }                                                                                                          \
  constexpr FrontKernels table = {                                                                           \
      factor, add_update, solve_forward, solve_backward, solve_forward_many, solve_backward_many, #name};    \
  }

CAPSTAN_FRONT_KERNELS(plain, , 2, 2)
#if defined(__x86_64__)
CAPSTAN_FRONT_KERNELS(avx2, __attribute__((target("avx2,fma"))), 4, 3)
#endif

const FrontKernels& choose() {
#if defined(__x86_64__)
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
