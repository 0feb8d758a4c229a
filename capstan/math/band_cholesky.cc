#include "capstan/math/band_cholesky.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/clones.h"

namespace capstan {
namespace {

constexpr int kWidest = 24;  // rows: a ring of blocks of four has 19

// The largest distance of rows that H couples, when block b begins at place[b].
int calc_bandwidth(const BlockMatrix& H, const std::vector<int>& place) {
  int width = 0;
  for (int j = 0; j < H.num_blocks(); ++j) {
    for (int e = H.column_start()[j]; e < H.column_start()[j + 1]; ++e) {
      const int i = H.entry_row()[e], first = std::min(place[i], place[j]);
      width =
          std::max({width, place[i] + H.block_size(i) - 1 - first, place[j] + H.block_size(j) - 1 - first});
    }
  }
  return width;
}

std::vector<int> places(const BlockMatrix& H, const std::vector<int>& order) {
  std::vector<int> place(H.num_blocks());
  int row = 0;
  for (const int b : order) {
    place[b] = row;
    row += H.block_size(b);
  }
  return place;
}

// Columns of `values`, each `stride` numbers from its diagonal down, a multiple of four. The pivot that is
// not above zero, or -1.
CAPSTAN_CLONES int factor_band(int rows, int stride, double* values) {
  alignas(32) double column[kWidest + 4] = {};
  for (int j = 0; j < rows; ++j) {
    double* const a = values + static_cast<long>(j) * stride;
    if (!(a[0] > 0) || !std::isfinite(a[0])) return j;
    const double inverse = 1 / a[0];
    for (int k = 0; k < stride; k += 4)
      *reinterpret_cast<Four*>(column + k) = *reinterpret_cast<Four*>(a + k);
    a[0] = inverse;
    for (int k = 1; k < stride; ++k) {
      const double l = column[k] * inverse;
      a[k] = l;
      double* const next = a + static_cast<long>(k) * stride;
      // What lies beyond the end of `column` is zero, and so is what it is taken from.
      for (int r = 0; r < stride - k; r += 4)
        *reinterpret_cast<Four*>(next + r) -= l * *reinterpret_cast<const Four*>(column + k + r);
    }
  }
  return -1;
}

// solve_band() for a stride of 12, which rods have. What a row of x changes, or is changed by, goes along in
// registers: from memory, a load of four would wait for the store of one of them.
CAPSTAN_CLONES void solve_band_of_12(int rows, const double* values, double* x) {
  const Four* const at = reinterpret_cast<const Four*>(x);
  Four w0 = at[0], w1 = at[1], w2 = at[2];  // x from row j on
  for (int j = 0; j < rows; ++j) {
    const Four* const a = reinterpret_cast<const Four*>(values + 12L * j);
    const double y = w0[0];
    w0 -= y * a[0];
    w1 -= y * a[1];
    w2 -= y * a[2];
    x[j] = y * values[12L * j];
    const Four next = {x[j + 12], 0, 0, 0};
    w0 = __builtin_shufflevector(w0, w1, 1, 2, 3, 4);
    w1 = __builtin_shufflevector(w1, w2, 1, 2, 3, 4);
    w2 = __builtin_shufflevector(w2, next, 1, 2, 3, 4);
  }
  w0 = w1 = w2 = Four{};  // x from row j + 2 on: that of j + 1 is not waited for
  double last = 0;
  for (int j = rows - 1; j >= 0; --j) {
    const double* const a = values + 12L * j;
    const Four sum = *reinterpret_cast<const Four*>(a + 2) * w0 + *reinterpret_cast<const Four*>(a + 6) * w1 +
                     Four{a[10], a[11], 0, 0} * w2;
    const double own = x[j] - sum_of(sum) - a[1] * last;
    x[j] = own;
    w2 = __builtin_shufflevector(w1, w2, 3, 4, 5, 6);
    w1 = __builtin_shufflevector(w0, w1, 3, 4, 5, 6);
    w0 = __builtin_shufflevector(Four{last, last, last, last}, w0, 0, 4, 5, 6);
    last = own;
  }
}

CAPSTAN_CLONES void solve_band(int rows, int stride, const double* values, double* x) {
  if (stride == 12) return solve_band_of_12(rows, values, x);
  for (int j = 0; j < rows; ++j) {
    const double* const a = values + static_cast<long>(j) * stride;
    const double y = x[j];
    for (int k = 0; k < stride; k += 4)
      *reinterpret_cast<Four*>(x + j + k) -= y * *reinterpret_cast<const Four*>(a + k);
    x[j] = y * a[0];
  }
  for (int j = rows - 1; j >= 0; --j) {
    const double* const a = values + static_cast<long>(j) * stride;
    Four sum = *reinterpret_cast<const Four*>(a);
    sum[0] = 0;  // which is 1 / D
    sum *= *reinterpret_cast<const Four*>(x + j);
    for (int k = 4; k < stride; k += 4)
      sum += *reinterpret_cast<const Four*>(a + k) * *reinterpret_cast<const Four*>(x + j + k);
    x[j] -= sum_of(sum);
  }
}

}  // namespace

bool BandCholesky::analyze(const BlockMatrix& H) {
  const int n = H.num_blocks();
  std::vector<int> chain(n), folded(n);
  for (int i = 0; i < n; ++i) {
    chain[i] = i;
    folded[i] = i == 0 ? 0 : i % 2 == 1 ? (i + 1) / 2 : n - i / 2;
  }
  place_ = places(H, chain);
  bandwidth_ = calc_bandwidth(H, place_);
  row_of_.clear();
  if (const std::vector<int> other = places(H, folded); calc_bandwidth(H, other) < bandwidth_) {
    place_ = other;
    bandwidth_ = calc_bandwidth(H, place_);
    row_of_.resize(H.num_rows());
    for (int b = 0; b < n; ++b) {
      for (int k = 0; k < H.block_size(b); ++k) row_of_[place_[b] + k] = H.block_start(b) + k;
    }
  }
  is_worth_it_ = bandwidth_ < kWidest;
  if (!is_worth_it_) return false;
  rows_ = H.num_rows();
  stride_ = (bandwidth_ + 4) / 4 * 4;
  values_.assign(static_cast<std::size_t>(rows_ + stride_) * stride_, 0.0);
  return true;
}

bool BandCholesky::factor(const BlockMatrix& H) {
  std::fill(values_.begin(), values_.end(), 0.0);
  for (int j = 0; j < H.num_blocks(); ++j) {
    const int nj = H.block_size(j);
    for (int e = H.column_start()[j]; e < H.column_start()[j + 1]; ++e) {
      const int i = H.entry_row()[e], ni = H.block_size(i), p = place_[i], q = place_[j];
      const double* const B = H.entry_block(e);
      if (p > q) {
        for (int c = 0; c < nj; ++c)
          std::copy_n(B + c * ni, ni, values_.data() + static_cast<long>(q + c) * stride_ + (p - q - c));
      } else if (p < q) {  // transposed
        for (int r = 0; r < ni; ++r) {
          double* const column = values_.data() + static_cast<long>(p + r) * stride_ + (q - p - r);
          for (int c = 0; c < nj; ++c) column[c] = B[r + c * ni];
        }
      } else {
        for (int c = 0; c < nj; ++c)
          std::copy_n(B + c * (ni + 1), ni - c, values_.data() + static_cast<long>(q + c) * stride_);
      }
    }
  }
  return factor_band(rows_, stride_, values_.data()) < 0;
}

void BandCholesky::solve_in_place(double* x) const {
  thread_local std::vector<double> work;
  if (static_cast<int>(work.size()) < rows_ + stride_) work.resize(rows_ + stride_);
  std::fill(work.begin() + rows_, work.begin() + rows_ + stride_, 0.0);
  if (row_of_.empty()) {
    std::copy_n(x, rows_, work.begin());
  } else {
    for (int r = 0; r < rows_; ++r) work[r] = x[row_of_[r]];
  }
  solve_band(rows_, stride_, values_.data(), work.data());
  if (row_of_.empty()) {
    std::copy_n(work.begin(), rows_, x);
  } else {
    for (int r = 0; r < rows_; ++r) x[row_of_[r]] = work[r];
  }
}

}  // namespace capstan
