// The list of solvers: what each takes.
#include <cmath>

#include "capstan/rigid/lcp.h"

namespace capstan {

const std::vector<LcpSolver>& lcp_solvers() {
  static const std::vector<LcpSolver> solvers = {
      {"lemke", solve_lemke, true, false, false, "Lemke's path of complementary pivots, lexicographic"},
      {"murty", solve_murty, true, false, false,
       "principal pivots of least index; criss-cross where a pivot is zero"},
      {"block_pivoting", solve_block_pivoting, true, false, false,
       "all wrong signs change sides at once; Murty's rule where that cycles"},
      {"incremental_pivoting", solve_incremental_pivoting, true, true, false,
       "one index after the other is made right (Cottle and Dantzig, Baraff)"},
      {"jacobi", solve_projected_jacobi, true, true, true, "projected Jacobi, all rows at once, damped"},
      {"pgs", solve_pgs, true, true, true, "projected Gauss-Seidel"},
      {"psor", solve_psor, true, true, true, "projected successive overrelaxation"},
      {"symmetric_pgs", solve_symmetric_pgs, true, true, true,
       "projected Gauss-Seidel, forwards and backwards"},
      {"pgs_sm", solve_pgs_sm, true, true, true, "sweeps guess the bounds, exact answers between them"},
      {"nncg", solve_nncg, true, true, true, "conjugate directions of projected Gauss-Seidel sweeps"},
      {"minimum_map_newton", solve_minimum_map_newton, true, false, false,
       "Newton on the minimum map, line search"},
      {"fischer_burmeister_newton", solve_fischer_burmeister_newton, true, false, false,
       "Newton on the Fischer-Burmeister function, line search"},
  };
  return solvers;
}

const LcpSolver* find_lcp_solver(std::string_view name) {
  for (const LcpSolver& solver : lcp_solvers()) {
    if (name == solver.name) return &solver;
  }
  return nullptr;
}

const char* why_unsuitable(const LcpSolver& solver, const LcpProblem& problem) {
  if (!solver.takes_bounds && !problem.is_plain())
    return "it has bounds other than 0 <= z; use lemke or murty";
  if (solver.needs_positive_diagonal && !(problem.M.diagonal().array() > 0).all()) {
    return "its matrix has a diagonal that is not positive; use lemke or murty";
  }
  if (problem.size() == 0) return nullptr;
  const double asymmetry = (problem.M - problem.M.transpose()).cwiseAbs().maxCoeff();
  if (solver.needs_symmetric && asymmetry > 1e-10 * problem.M.cwiseAbs().maxCoeff()) {
    return "its matrix is not symmetric; use lemke or murty";
  }
  return nullptr;
}

}  // namespace capstan
