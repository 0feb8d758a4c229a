// FIND-INDICES: rows of full rank, each orthogonalized against those kept in the metric of A^-1, twice. The
// paper's Cholesky factorization of N A^-1 N^T has the same pivots, but squares what rounding does to rows
// that are nearly dependent. O(m^2) for each of n rows, and a solve with A.
#include <cmath>

#include "capstan/rigid/factored_lcp.h"

namespace capstan {

std::vector<int> find_independent_rows(int num_rows, const std::function<VecX(int i)>& row,
                                       const std::function<VecX(const VecX& f)>& solve_A,
                                       double relative_tolerance) {
  std::vector<int> kept;
  MatX rows, solved;  // orthonormal e_k and A^-1 e_k: one column each
  for (int i = 0; i < num_rows; ++i) {
    VecX n = row(i);
    const long count = static_cast<long>(kept.size());
    if (count == n.size()) break;  // the rank is that of A: nothing more can be independent
    if (rows.cols() == 0) {
      rows.resize(n.size(), n.size());
      solved.resize(n.size(), n.size());
    }
    VecX x = solve_A(n);
    const double whole = n.dot(x);
    for (int pass = 0; pass < 2; ++pass) {
      const VecX along = solved.leftCols(count).transpose() * n;
      n -= rows.leftCols(count) * along;
      x -= solved.leftCols(count) * along;
    }
    const double rest = n.dot(x);
    if (!(rest > relative_tolerance * whole)) continue;
    rows.col(count) = n / std::sqrt(rest);
    solved.col(count) = x / std::sqrt(rest);
    kept.push_back(i);
  }
  return kept;
}

}  // namespace capstan
