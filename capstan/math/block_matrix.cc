#include "capstan/math/block_matrix.h"

#include <algorithm>
#include <utility>

#include "capstan/base/diagnostics.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"

namespace capstan {
namespace {

// y_i += B x_j and y_j += B^T x_i for a block of R x C, sizes known when compiling or (-1) not.
template <int R, int C>
void multiply_block(const double* block, int rows, int columns, const double* xi, const double* xj,
                    double* yi, double* yj) {
  const Eigen::Map<const Eigen::Matrix<double, R, C>> B(block, rows, columns);
  using Rows = Eigen::Matrix<double, R, 1>;
  using Columns = Eigen::Matrix<double, C, 1>;
  Eigen::Map<Rows>(yi, rows).noalias() += B * Eigen::Map<const Columns>(xj, columns);
  Eigen::Map<Columns>(yj, columns).noalias() += B.transpose() * Eigen::Map<const Rows>(xi, rows);
}

// The same for columns of a chain of blocks of four, from column j on as far as all blocks in them are of
// four: rods are nearly all of these. Returns the first column that is not.
CAPSTAN_CLONES int multiply_fours(int first, int num_blocks, const int* sizes, const int* start,
                                  const int* column_start, const int* entry_row, const long* value_start,
                                  const double* values, const double* x, double* y) {
  int j = first;
  for (; j < num_blocks && sizes[j] == 4; ++j) {
    for (int e = column_start[j] + 1; e < column_start[j + 1]; ++e) {
      if (sizes[entry_row[e]] != 4) return j;
    }
    const double* const D = values + value_start[column_start[j]];
    const double* const xj = x + start[j];
    // Below the diagonal only: what is above it is not used.
    Four own = {D[0] * xj[0], D[1] * xj[0], D[2] * xj[0], D[3] * xj[0]};
    own += Four{D[1] * xj[1], D[5] * xj[1], D[6] * xj[1], D[7] * xj[1]};
    own += Four{D[2] * xj[2], D[6] * xj[2], D[10] * xj[2], D[11] * xj[2]};
    own += Four{D[3] * xj[3], D[7] * xj[3], D[11] * xj[3], D[15] * xj[3]};
    for (int e = column_start[j] + 1; e < column_start[j + 1]; ++e) {
      const Four* const B = reinterpret_cast<const Four*>(values + value_start[e]);
      const int at = start[entry_row[e]];
      const Four xi = *reinterpret_cast<const Four*>(x + at);
      Four& yi = *reinterpret_cast<Four*>(y + at);
      yi += B[0] * xj[0] + B[1] * xj[1] + (B[2] * xj[2] + B[3] * xj[3]);
      own += Four{sum_of(B[0] * xi), sum_of(B[1] * xi), sum_of(B[2] * xi), sum_of(B[3] * xi)};
    }
    *reinterpret_cast<Four*>(y + start[j]) += own;
  }
  return j;
}

// The same of three: soft bodies.
CAPSTAN_CLONES int multiply_threes(int first, int num_blocks, const int* sizes, const int* start,
                                   const int* column_start, const int* entry_row, const long* value_start,
                                   const double* values, const double* x, double* y) {
  int j = first;
  for (; j < num_blocks && sizes[j] == 3; ++j) {
    for (int e = column_start[j] + 1; e < column_start[j + 1]; ++e) {
      if (sizes[entry_row[e]] != 3) return j;
    }
    const double* const D = values + value_start[column_start[j]];
    const double* const xj = x + start[j];
    // Below the diagonal only, as above.
    const double own[3] = {D[0] * xj[0] + D[1] * xj[1] + D[2] * xj[2],
                           D[1] * xj[0] + D[4] * xj[1] + D[5] * xj[2],
                           D[2] * xj[0] + D[5] * xj[1] + D[8] * xj[2]};
    Four sums[3] = {};
    for (int e = column_start[j] + 1; e < column_start[j + 1]; ++e) {
      const double* const B = values + value_start[e];
      const int at = start[entry_row[e]];
      Four a, b, c, xi, yi;
      load(B, &a);
      load(B + 3, &b);
      load(B + 6, &c);
      load(x + at, &xi);
      load(y + at, &yi);
      yi += a * xj[0] + (b * xj[1] + c * xj[2]);
      store(yi, y + at);
      sums[0] += a * xi;
      sums[1] += b * xi;
      sums[2] += c * xi;
    }
    double* const yj = y + start[j];
    for (int k = 0; k < 3; ++k) yj[k] += own[k] + (sums[k][0] + sums[k][1] + sums[k][2]);
  }
  return j;
}

}  // namespace

bool BlockMatrix::set_pattern(const BlockPattern& pattern) {
  if (!start_.empty() && pattern == pattern_) return false;
  const int n = static_cast<int>(pattern.sizes.size());
  const int num_pairs = static_cast<int>(pattern.pairs.size());
  CAPSTAN_ASSERT(pattern.frozen.empty() || static_cast<int>(pattern.frozen.size()) == n);

  // Counting sort of the pairs by row, then by column; equal ones become neighbours.
  scratch_.assign(n + 1, 0);
  for (const auto& [a, b] : pattern.pairs) {
    CAPSTAN_ASSERT(a >= 0 && b >= 0 && a < n && b < n);
    ++scratch_[std::max(a, b)];
  }
  for (int i = 0, sum = 0; i <= n; ++i) sum += std::exchange(scratch_[i], sum);
  position_.resize(2 * static_cast<std::size_t>(num_pairs));
  int* by_row = position_.data();
  int* by_column = by_row + num_pairs;
  for (int k = 0; k < num_pairs; ++k) {
    by_row[scratch_[std::max(pattern.pairs[k][0], pattern.pairs[k][1])]++] = k;
  }
  scratch_.assign(n + 1, 0);
  for (const auto& [a, b] : pattern.pairs) ++scratch_[std::min(a, b)];
  for (int i = 0, sum = 0; i <= n; ++i) sum += std::exchange(scratch_[i], sum);
  for (int k = 0; k < num_pairs; ++k) {
    by_column[scratch_[std::min(pattern.pairs[by_row[k]][0], pattern.pairs[by_row[k]][1])]++] = by_row[k];
  }

  new_column_start_.resize(n + 1);
  new_entry_row_.clear();
  pair_entry_.resize(num_pairs);
  for (int j = 0, k = 0; j < n; ++j) {
    new_column_start_[j] = static_cast<int>(new_entry_row_.size());
    new_entry_row_.push_back(j);
    for (; k < scratch_[j]; ++k) {  // scratch_[j] has become the end of column j
      const auto [a, b] = pattern.pairs[by_column[k]];
      if (new_entry_row_.back() != std::max(a, b)) new_entry_row_.push_back(std::max(a, b));
      pair_entry_[by_column[k]] = static_cast<int>(new_entry_row_.size()) - 1;
    }
  }
  new_column_start_[n] = static_cast<int>(new_entry_row_.size());

  const bool had_frozen =
      std::find_if(frozen_.begin(), frozen_.end(), [](char c) { return c != 0; }) != frozen_.end();
  const bool same =
      !start_.empty() && pattern.sizes == sizes_ && new_column_start_ == column_start_ &&
      new_entry_row_ == entry_row_ &&
      (pattern.frozen.empty() ? !had_frozen
                              : std::equal(frozen_.begin(), frozen_.end(), pattern.frozen.begin(),
                                           [](char a, char b) { return (a != 0) == (b != 0); }));
  pattern_ = pattern;
  if (same) return false;

  sizes_ = pattern.sizes;
  if (pattern.frozen.empty()) {
    frozen_.assign(n, 0);
  } else {
    frozen_ = pattern.frozen;
  }
  column_start_.swap(new_column_start_);
  entry_row_.swap(new_entry_row_);
  start_.resize(n + 1);
  start_[0] = 0;
  for (int i = 0; i < n; ++i) {
    CAPSTAN_ASSERT(sizes_[i] >= 0);
    start_[i + 1] = start_[i] + sizes_[i];
  }
  value_start_.resize(entry_row_.size() + 1);
  long values = 0;
  for (int j = 0; j < n; ++j) {
    for (int e = column_start_[j]; e < column_start_[j + 1]; ++e) {
      value_start_[e] = values;
      values += static_cast<long>(sizes_[entry_row_[e]]) * sizes_[j];
    }
  }
  value_start_.back() = values;
  values_.resize(values);
  return true;
}

int BlockMatrix::find(int i, int j) const {
  CAPSTAN_ASSERT(j >= 0 && i >= j && i < num_blocks());
  if (i == j) return column_start_[j];
  const auto begin = entry_row_.begin() + column_start_[j] + 1,
             end = entry_row_.begin() + column_start_[j + 1];
  const auto it = std::lower_bound(begin, end, i);
  CAPSTAN_ASSERT(it != end && *it == i);
  return static_cast<int>(it - entry_row_.begin());
}

void BlockMatrix::copy_values(const BlockMatrix& other) {
  CAPSTAN_ASSERT(value_start_ == other.value_start_);
  values_ = other.values_;
}

void BlockMatrix::set_zero() {
  std::fill(values_.begin(), values_.end(), 0.0);
}

void BlockMatrix::set_zero_off_diagonal() {
  for (int j = 0; j < num_blocks(); ++j) {
    const long begin = value_start_[column_start_[j]] + static_cast<long>(sizes_[j]) * sizes_[j];
    const long end = value_start_[column_start_[j + 1]];
    std::fill(values_.begin() + begin, values_.begin() + end, 0.0);
  }
}

void BlockMatrix::multiply(const double* x, double* y) const {
  std::fill(y, y + num_rows(), 0.0);
  for (int j = 0; j < num_blocks(); ++j) {
    j = multiply_fours(j, num_blocks(), sizes_.data(), start_.data(), column_start_.data(), entry_row_.data(),
                       value_start_.data(), values_.data(), x, y);
    const int threes = multiply_threes(j, num_blocks(), sizes_.data(), start_.data(), column_start_.data(),
                                       entry_row_.data(), value_start_.data(), values_.data(), x, y);
    if (threes > j) {
      j = threes - 1;
      continue;
    }
    if (j == num_blocks()) return;
    const int nj = sizes_[j];
    const double* xj = x + start_[j];
    double* yj = y + start_[j];
    const double* D = entry_block(column_start_[j]);
    for (int c = 0; c < nj; ++c) {
      double sum = D[c + c * nj] * xj[c];
      for (int r = c + 1; r < nj; ++r) {
        yj[r] += D[r + c * nj] * xj[c];
        sum += D[r + c * nj] * xj[r];
      }
      yj[c] += sum;
    }
    for (int e = column_start_[j] + 1; e < column_start_[j + 1]; ++e) {
      const int i = entry_row_[e], ni = sizes_[i];
      const double* xi = x + start_[i];
      double* yi = y + start_[i];
      if (ni == 6 && nj == 6) {
        multiply_block<6, 6>(entry_block(e), 6, 6, xi, xj, yi, yj);
      } else if (ni == 3 && nj == 3) {  // beside others
        multiply_block<3, 3>(entry_block(e), 3, 3, xi, xj, yi, yj);
      } else if (ni == 4 && nj == 4) {
        multiply_block<4, 4>(entry_block(e), 4, 4, xi, xj, yi, yj);
      } else {
        multiply_block<-1, -1>(entry_block(e), ni, nj, xi, xj, yi, yj);
      }
    }
  }
}

VecX BlockMatrix::operator*(const VecX& x) const {
  CAPSTAN_ASSERT(x.size() == num_rows());
  VecX y(num_rows());
  multiply(x.data(), y.data());
  return y;
}

MatX BlockMatrix::dense() const {
  MatX H = MatX::Zero(num_rows(), num_rows());
  for (int j = 0; j < num_blocks(); ++j) {
    for (int e = column_start_[j]; e < column_start_[j + 1]; ++e) {
      const int i = entry_row_[e];
      const Eigen::Map<const MatX> B(entry_block(e), sizes_[i], sizes_[j]);
      for (int c = 0; c < sizes_[j]; ++c) {
        for (int r = i == j ? c : 0; r < sizes_[i]; ++r) {
          H(start_[i] + r, start_[j] + c) = H(start_[j] + c, start_[i] + r) = B(r, c);
        }
      }
    }
  }
  return H;
}

}  // namespace capstan
