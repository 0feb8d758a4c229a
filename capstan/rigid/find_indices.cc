// FIND-INDICES: rows of full rank, by a Cholesky factorization that grows by one row at a time. O(m^2) for
// each of n rows, and a solve with A.
#include "capstan/rigid/active_factor.h"
#include "capstan/rigid/factored_lcp.h"

namespace capstan {

std::vector<int> find_independent_rows(int num_rows, const std::function<VecX(int i)>& row,
                                       const std::function<VecX(const VecX& f)>& solve_A,
                                       double relative_tolerance) {
  ActiveFactor factor;
  std::vector<int> kept;
  MatX solved;  // A^-1 N^T of those kept: one column each
  for (int i = 0; i < num_rows; ++i) {
    const VecX n = row(i);
    if (static_cast<int>(kept.size()) == n.size())
      break;  // the rank is that of A: nothing more can be independent
    if (solved.cols() == 0) solved.resize(n.size(), n.size());
    const VecX x = solve_A(n);
    const double diagonal = n.dot(x);
    const VecX column = solved.leftCols(static_cast<long>(kept.size())).transpose() * n;
    if (!factor.append(column, diagonal, relative_tolerance * diagonal)) continue;
    solved.col(static_cast<long>(kept.size())) = x;
    kept.push_back(i);
  }
  return kept;
}

}  // namespace capstan
