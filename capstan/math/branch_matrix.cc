#include "capstan/math/branch_matrix.h"

#include <cmath>

#include <algorithm>

#include "capstan/math/clones.h"

namespace capstan {
namespace {

// y -= a x, n numbers each. Rows are short: what four lanes leave goes in two and one.
CAPSTAN_INLINE inline void subtract(double a, const double* x, int n, double* y) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    *reinterpret_cast<Four*>(y + i) -= a * *reinterpret_cast<const Four*>(x + i);
  }
  if (n & 2) {
    *reinterpret_cast<Two*>(y + i) -= a * *reinterpret_cast<const Two*>(x + i);
    i += 2;
  }
  if (n & 1) y[i] -= a * x[i];
}

// y -= a x + b z.
CAPSTAN_INLINE inline void subtract(double a, const double* x, double b, const double* z, int n, double* y) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    *reinterpret_cast<Four*>(y + i) -=
        a * *reinterpret_cast<const Four*>(x + i) + b * *reinterpret_cast<const Four*>(z + i);
  }
  if (n & 2) {
    *reinterpret_cast<Two*>(y + i) -=
        a * *reinterpret_cast<const Two*>(x + i) + b * *reinterpret_cast<const Two*>(z + i);
    i += 2;
  }
  if (n & 1) y[i] -= a * x[i] + b * z[i];
}

}  // namespace

BranchPattern make_branch_pattern(std::vector<int> parent) {
  BranchPattern pattern;
  pattern.parent = std::move(parent);
  const int n = pattern.size();
  pattern.row_start.assign(n + 1, 0);
  for (int k = 0; k < n; ++k) {
    const int p = pattern.parent[k];
    pattern.row_start[k + 1] = pattern.row_start[k] + (p < 0 ? 0 : pattern.row_size(p)) + 1;
  }
  pattern.columns.resize(pattern.num_values());
  for (int k = 0; k < n; ++k) {
    const int p = pattern.parent[k];
    int* row = pattern.columns.data() + pattern.row_start[k];
    if (p >= 0) row = std::copy_n(pattern.columns.data() + pattern.row_start[p], pattern.row_size(p), row);
    *row = k;
  }
  return pattern;
}

int factor(const BranchPattern& pattern, double* values, double smallest_pivot) {
  return factor(pattern, values, smallest_pivot, 0, pattern.size());
}

CAPSTAN_CLONES int factor(const BranchPattern& pattern, double* values, double smallest_pivot, int begin,
                          int end) {
  const int* start = pattern.row_start.data();
  const int* columns = pattern.columns.data();
  for (int k = end - 1; k >= begin; --k) {
    double* row = values + start[k];
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    const double pivot = row[last];
    if (!(pivot > smallest_pivot)) return k;
    const double inverse = 1 / pivot;
    if (last == 0 || k == begin || column[last - 1] != k - 1) {
      for (int i = last - 1; i >= 0; --i) {
        const double a = row[i] * inverse;
        subtract(a, row, i + 1, values + start[column[i]]);
        row[i] = a;
      }
      continue;
    }
    // Together with the parent, which is the row before: the others are loaded and stored once for both.
    double* parent = values + start[k - 1];
    const double a = row[last - 1] * inverse;
    subtract(a, row, last, parent);
    row[last - 1] = a;
    const double parent_pivot = parent[last - 1];
    if (!(parent_pivot > smallest_pivot)) return k - 1;
    const double parent_inverse = 1 / parent_pivot;
    for (int i = last - 2; i >= 0; --i) {
      const double b = row[i] * inverse, c = parent[i] * parent_inverse;
      subtract(b, row, c, parent, i + 1, values + start[column[i]]);
      row[i] = b;
      parent[i] = c;
    }
    --k;
  }
  return -1;
}

void solve_in_place(const BranchPattern& pattern, const double* factored, double* x) {
  solve_in_place(pattern, factored, x, 0, pattern.size());
}

CAPSTAN_CLONES void solve_in_place(const BranchPattern& pattern, const double* factored, double* x, int begin,
                                   int end) {
  const int* start = pattern.row_start.data();
  const int* columns = pattern.columns.data();
  for (int k = end - 1; k >= begin; --k) {  // L^T
    const double* row = factored + start[k];
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    const double xk = x[k];
    for (int i = 0; i < last; ++i) x[column[i]] -= row[i] * xk;
  }
  for (int k = begin; k < end; ++k) {  // D, L
    const double* row = factored + start[k];
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    double xk = x[k] / row[last];
    for (int i = 0; i < last; ++i) xk -= row[i] * x[column[i]];
    x[k] = xk;
  }
}

CAPSTAN_CLONES void half_solve_in_place(const BranchPattern& pattern, const double* factored, int k,
                                        double* x) {
  const int* columns = pattern.columns.data() + pattern.row_start[k];
  for (int i = pattern.row_size(k) - 1; i >= 0; --i) {
    const double* row = factored + pattern.row_start[columns[i]];  // the first i of it are those of x
    const double xi = x[i];
    subtract(xi, row, i, x);
    x[i] = xi / std::sqrt(row[i]);
  }
}

void multiply(const BranchPattern& pattern, const double* values, const double* x, double* y) {
  multiply(pattern, values, x, y, 0, pattern.size());
}

CAPSTAN_CLONES void multiply(const BranchPattern& pattern, const double* values, const double* x, double* y,
                             int begin, int end) {
  std::fill(y + begin, y + end, 0.0);
  for (int k = begin; k < end; ++k) {
    const double* row = values + pattern.row_start[k];
    const int* column = pattern.columns.data() + pattern.row_start[k];
    const int last = pattern.row_size(k) - 1;
    double yk = row[last] * x[k];
    Four sum = {};
    for (int i = 0; i < last;) {
      const int c = column[i];
      if (i + 4 <= last && column[i + 3] == c + 3) {  // four in a row: they ascend
        const Four a = *reinterpret_cast<const Four*>(row + i);
        sum += a * *reinterpret_cast<const Four*>(x + c);
        *reinterpret_cast<Four*>(y + c) += a * x[k];
        i += 4;
      } else {
        yk += row[i] * x[c];
        y[c] += row[i] * x[k];
        ++i;
      }
    }
    y[k] += yk + sum_of(sum);
  }
}

void expand(const BranchPattern& pattern, const double* values, int begin, int end, Eigen::Ref<MatX> dense) {
  const int n = end - begin;
  const long stride = dense.outerStride();
  if (pattern.row_start[end] - pattern.row_start[begin] == n * (n + 1) / 2) {  // no zeros
    const auto mirror = [](const double* value, int size, long leading, double* to) CAPSTAN_INLINE {
      for (int k = 0; k < size; ++k) {
        for (int i = 0; i <= k; ++i) to[k + i * leading] = to[i + k * leading] = *value++;
      }
    };
    const double* value = values + pattern.row_start[begin];
    n == 6 && stride == 6 ? mirror(value, 6, 6, dense.data()) : mirror(value, n, stride, dense.data());
    return;
  }
  if (stride == n) {
    std::fill_n(dense.data(), static_cast<long>(n) * n, 0.0);
  } else {
    dense.setZero();
  }
  const int* columns = pattern.columns.data();
  double *row = dense.data(), *column = dense.data();
  for (int k = begin; k < end; ++k, ++row, column += stride) {
    const int last = pattern.row_start[k + 1];
    for (int i = pattern.row_start[k]; i < last; ++i) {
      const double value = values[i];
      const long c = columns[i] - begin;
      column[c] = value;
      row[c * stride] = value;
    }
  }
}

}  // namespace capstan
