// The system of an index set: y at its bounds, M_FF y_F = -q_F - M_FB y_B.
#include <Eigen/LU>
#include <cmath>
#include <numeric>

#include "capstan/rigid/lcp_run.h"

namespace capstan {
namespace {

// A pivot below this part of its row (ones on the diagonal) depends on the rows before.
constexpr double kSingular = 1e-11;

// Which of F are independent: elimination with the largest diagonal as pivot. For a semidefinite matrix this
// is a Cholesky factorization with pivoting; others may have a zero diagonal, and are left to the caller.
std::vector<int> dependent_rows(MatX M) {
  const int n = static_cast<int>(M.rows());
  std::vector<int> rest(n), dependent;
  std::iota(rest.begin(), rest.end(), 0);
  while (!rest.empty()) {
    size_t best = 0;
    for (size_t k = 1; k < rest.size(); ++k) {
      if (M(rest[k], rest[k]) > M(rest[best], rest[best])) best = k;
    }
    const int p = rest[best];
    if (M(p, p) <= kSingular) return rest;
    rest.erase(rest.begin() + static_cast<long>(best));
    for (int j : rest) {
      const double factor = M(p, j) / M(p, p);
      for (int i : rest) M(i, j) -= M(i, p) * factor;
    }
  }
  return dependent;
}

double bound_nearest_to_zero(const LcpProblem& problem, int i) {
  const double y = std::min(std::max(0.0, problem.lower[i]), problem.upper[i]);
  return y;
}

}  // namespace

bool LcpRun::solve_sides(std::vector<LcpSide>* sides, VecX* y) const {
  const int n = size();
  std::vector<int> F;
  for (int i = 0; i < n; ++i) {
    if ((*sides)[i] == LcpSide::free) F.push_back(i);
  }
  *y = VecX::Zero(n);
  for (int i = 0; i < n; ++i) {
    if ((*sides)[i] == LcpSide::lower) (*y)[i] = scaled_.lower[i];
    if ((*sides)[i] == LcpSide::upper) (*y)[i] = scaled_.upper[i];
  }
  if (F.empty()) return true;
  MatX M_FF = scaled_.M(F, F);
  Eigen::PartialPivLU<MatX> lu(M_FF);
  const bool is_regular = lu.matrixLU().diagonal().cwiseAbs().minCoeff() > kSingular;
  std::vector<int> solved = F;
  if (!is_regular) {
    solved.clear();
    std::vector<bool> is_dependent(F.size());
    for (int k : dependent_rows(M_FF)) is_dependent[static_cast<size_t>(k)] = true;
    for (size_t k = 0; k < F.size(); ++k) {
      const int i = F[k];
      if (!is_dependent[k]) {
        solved.push_back(i);
        continue;
      }
      const double bound = bound_nearest_to_zero(scaled_, i);
      (*y)[i] = bound;
      if (bound == scaled_.lower[i]) {
        (*sides)[i] = LcpSide::lower;
      } else if (bound == scaled_.upper[i]) {
        (*sides)[i] = LcpSide::upper;
      }
    }
    if (solved.empty()) return false;
    lu.compute(scaled_.M(solved, solved));
  }
  const VecX rest = (scaled_.M * *y + scaled_.q)(solved);
  VecX y_F = lu.solve(-rest);
  // One refinement: rows may differ by many orders in what they cancel.
  const MatX M_solved = scaled_.M(solved, solved);
  y_F += lu.solve(-rest - M_solved * y_F);
  for (size_t k = 0; k < solved.size(); ++k) (*y)[solved[k]] = y_F[static_cast<long>(k)];
  return is_regular;
}

}  // namespace capstan
