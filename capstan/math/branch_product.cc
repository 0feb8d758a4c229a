#include "capstan/math/branch_product.h"

#include "capstan/math/clones.h"

namespace capstan {
namespace {

// With L^-T X, whose rows are final from the last unknown on.
template <int kRows>
CAPSTAN_INLINE inline void add_inverse_product(const BranchPattern& pattern, const double* factored,
                                               std::span<const int> unknowns, int first, double* X,
                                               double* W) {
  constexpr int kFours = (kRows + 3) / 4, kColumns = 4 * kFours;
  Four* const x = reinterpret_cast<Four*>(X);
  Four sum[kRows][kFours] = {};
  for (auto k = unknowns.rbegin(); k != unknowns.rend(); ++k) {
    const double* at = X + (*k - first) * kColumns;
    int r = 0;
    while (r < kRows && at[r] == 0) ++r;
    if (r == kRows) continue;
    const double* row = factored + pattern.row_start[*k];
    const int* column = pattern.columns.data() + pattern.row_start[*k];
    const int last = pattern.row_size(*k) - 1;
    Four xk[kFours], scaled[kFours];
    const double inverse = 1 / row[last];
    for (int c = 0; c < kFours; ++c) {
      xk[c] = x[(*k - first) * kFours + c];
      scaled[c] = inverse * xk[c];
    }
    for (int i = 0; i < last; ++i) {
      for (int c = 0; c < kFours; ++c) x[(column[i] - first) * kFours + c] -= row[i] * xk[c];
    }
    for (r = 0; r < kRows; ++r) {
      for (int c = 0; c < kFours; ++c) sum[r][c] += at[r] * scaled[c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kFours; ++c) reinterpret_cast<Four*>(W)[r * kFours + c] += sum[r][c];
  }
}

}  // namespace

CAPSTAN_CLONES void add_inverse_product(const BranchPattern& pattern, const double* factored,
                                        std::span<const int> unknowns, int first, int rows, double* X,
                                        double* W) {
  if (rows <= 3) {
    add_inverse_product<3>(pattern, factored, unknowns, first, X, W);
  } else {
    add_inverse_product<6>(pattern, factored, unknowns, first, X, W);
  }
}

CAPSTAN_CLONES void add_inverse_diagonal(const BranchPattern& pattern, const double* factored, int k,
                                         double* X, double* w) {
  Four* const x = reinterpret_cast<Four*>(X);
  const int* path = pattern.columns.data() + pattern.row_start[k];
  Four sum = *reinterpret_cast<Four*>(w);
  for (int i = pattern.row_size(k) - 1; i >= 0; --i) {
    const double* row = factored + pattern.row_start[path[i]];  // the first i of it are those of x
    const Four xi = x[i];
    sum += 1 / row[i] * xi * xi;
    for (int j = 0; j < i; ++j) x[j] -= row[j] * xi;
  }
  *reinterpret_cast<Four*>(w) = sum;
}

}  // namespace capstan
