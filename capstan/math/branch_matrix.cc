#include "capstan/math/branch_matrix.h"

#include <cmath>

#include <algorithm>

#include "capstan/math/branch_lanes.h"
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

// The same with numbers of four matrices.
CAPSTAN_INLINE inline void subtract(const Four& a, const Four* x, int n, Four* y) {
  for (int i = 0; i < n; ++i) y[i] -= a * x[i];
}
CAPSTAN_INLINE inline void subtract(const Four& a, const Four* x, const Four& b, const Four* z, int n,
                                    Four* y) {
  for (int i = 0; i < n; ++i) y[i] -= a * x[i] + b * z[i];
}

CAPSTAN_INLINE inline bool is_above(double smallest, double x) {
  return x > smallest;
}
CAPSTAN_INLINE inline bool is_above(double smallest, const Four& x) {
  return x[0] > smallest && x[1] > smallest && x[2] > smallest && x[3] > smallest;
}

// A Number is a double, or a Four of four matrices. The values of row k are at row_start[k] - first.
template <class Number>
CAPSTAN_INLINE inline int factor_rows(const BranchPattern& pattern, Number* values, int first,
                                      double smallest_pivot, int begin, int end) {
  const int* start = pattern.row_start.data();
  const int* columns = pattern.columns.data();
  for (int k = end - 1; k >= begin; --k) {
    Number* row = values + (start[k] - first);
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    const Number pivot = row[last];
    if (!is_above(smallest_pivot, pivot)) return k;
    const Number inverse = 1 / pivot;
    if (last == 0 || k == begin || column[last - 1] != k - 1) {
      for (int i = last - 1; i >= 0; --i) {
        const Number a = row[i] * inverse;
        subtract(a, row, i + 1, values + (start[column[i]] - first));
        row[i] = a;
      }
      continue;
    }
    // Together with the parent, which is the row before: the others are loaded and stored once for both.
    Number* parent = values + (start[k - 1] - first);
    const Number a = row[last - 1] * inverse;
    subtract(a, row, last, parent);
    row[last - 1] = a;
    const Number parent_pivot = parent[last - 1];
    if (!is_above(smallest_pivot, parent_pivot)) return k - 1;
    const Number parent_inverse = 1 / parent_pivot;
    for (int i = last - 2; i >= 0; --i) {
      const Number b = row[i] * inverse, c = parent[i] * parent_inverse;
      subtract(b, row, c, parent, i + 1, values + (start[column[i]] - first));
      row[i] = b;
      parent[i] = c;
    }
    --k;
  }
  return -1;
}

template <class Number>
CAPSTAN_INLINE inline void solve_rows(const BranchPattern& pattern, const Number* factored, Number* x,
                                      int first, int first_value, int begin, int end) {
  const int* start = pattern.row_start.data();
  const int* columns = pattern.columns.data();
  for (int k = end - 1; k >= begin; --k) {  // L^T
    const Number* row = factored + (start[k] - first_value);
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    const Number xk = x[k - first];
    for (int i = 0; i < last; ++i) x[column[i] - first] -= row[i] * xk;
  }
  for (int k = begin; k < end; ++k) {  // D, L
    const Number* row = factored + (start[k] - first_value);
    const int* column = columns + start[k];
    const int last = start[k + 1] - start[k] - 1;
    Number xk = x[k - first] / row[last];
    for (int i = 0; i < last; ++i) xk -= row[i] * x[column[i] - first];
    x[k - first] = xk;
  }
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
  return factor_rows(pattern, values, 0, smallest_pivot, begin, end);
}

CAPSTAN_CLONES int factor(const BranchPattern& pattern, Four* values, double smallest_pivot, int begin,
                          int end) {
  return factor_rows(pattern, values, pattern.row_start[begin], smallest_pivot, begin, end);
}

void solve_in_place(const BranchPattern& pattern, const double* factored, double* x) {
  solve_in_place(pattern, factored, x, 0, pattern.size());
}

CAPSTAN_CLONES void solve_in_place(const BranchPattern& pattern, const double* factored, double* x, int begin,
                                   int end) {
  solve_rows(pattern, factored, x, 0, 0, begin, end);
}

CAPSTAN_CLONES void solve_in_place(const BranchPattern& pattern, const Four* factored, Four* x, int begin,
                                   int end) {
  solve_rows(pattern, factored, x, begin, pattern.row_start[begin], begin, end);
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
