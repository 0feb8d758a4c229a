#include "capstan/rigid/plain_form.h"

#include <cmath>

namespace capstan {

PlainForm make_plain_form(const LcpProblem& problem) {
  const int n = problem.size();
  PlainForm form;
  form.c = VecX::Zero(n);
  MatX B = MatX::Zero(n, 2 * n);
  std::vector<int> both;  // columns of x with an upper bound too
  std::vector<double> widths;
  int count = 0;
  for (int i = 0; i < n; ++i) {
    const double lower = problem.lower[i], upper = problem.upper[i];
    if (std::isfinite(lower)) {
      form.c[i] = lower;
      if (lower == upper) continue;
      if (std::isfinite(upper)) both.push_back(count), widths.push_back(upper - lower);
      B(i, count++) = 1;
    } else if (std::isfinite(upper)) {
      form.c[i] = upper;
      B(i, count++) = -1;
    } else {
      B(i, count++) = 1;
      B(i, count++) = -1;
    }
  }
  form.B = B.leftCols(count);
  const int rows = count + static_cast<int>(both.size());
  MatX M = MatX::Zero(rows, rows);
  VecX q(rows);
  M.topLeftCorner(count, count) = form.B.transpose() * problem.M * form.B;
  q.head(count) = form.B.transpose() * (problem.M * form.c + problem.q);
  for (int k = 0; k < static_cast<int>(both.size()); ++k) {
    M(both[k], count + k) = 1;
    M(count + k, both[k]) = -1;
    q[count + k] = widths[k];
  }
  form.problem = make_plain_lcp(std::move(M), std::move(q));
  return form;
}

}  // namespace capstan
