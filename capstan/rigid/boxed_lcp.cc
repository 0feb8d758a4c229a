// Models whose impulses have bounds of their own, as linear complementarity problems with bounds, z = x:
//
//   box, box_frozen    each tangential impulse between -mu x_n and mu x_n, of an x_n that is given. Frozen,
//   it
//                      stays that; else bounds are found anew with each answer, until they are those of the
//                      answer itself
//   no_slip, viscous   tangential impulses of what touches have no bounds: equations
//   viscous_explicit   they are given: both bounds
//   frictionless       they are zero
//
// The matrix is W: symmetric, semidefinite. Bounds that follow need not settle: then, and with lemke, which
// cannot begin with the last answer, they are unknowns of a larger problem (polyhedral_lcp.cc), which has an
// answer. Sources: Contact course 1.7 and 3.2.2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMostBoundRounds = 40;  // of bounds that follow
constexpr int kMostTightenings = 3;   // where the residual of the LCP is small and that of the model is not

void set_bounds(const RigidProblem& problem, const VecX& x, LcpProblem* lcp) {
  const RigidModel model = problem.options().model;
  for (const RigidBlock& block : problem.blocks) {
    if (!block.is_contact()) {
      lcp->lower[block.row] = block.lower;
      lcp->upper[block.row] = block.upper;
      continue;
    }
    for (int r = 0; r < 2; ++r) {
      const double bound = block.sticks                      ? kInfinity
                           : model == RigidModel::box        ? block.mu * std::max(0.0, x[block.row + 2])
                           : model == RigidModel::box_frozen ? block.bound
                                                             : 0;
      lcp->lower[block.row + r] = block.given[r] - bound;
      lcp->upper[block.row + r] = block.given[r] + bound;
    }
    lcp->lower[block.row + 2] = 0;
    lcp->upper[block.row + 2] = kInfinity;
  }
}

}  // namespace

int most_iterations(const RigidSolver& solver, int rows, int asked) {
  const bool is_newton =
      solver.lcp == solve_minimum_map_newton || solver.lcp == solve_fischer_burmeister_newton;
  const bool pivots = solver.lcp == solve_lemke || solver.lcp == solve_murty ||
                      solver.lcp == solve_block_pivoting || solver.lcp == solve_incremental_pivoting;
  return is_newton ? std::min(asked, 200) : pivots ? std::min(asked, 20 * rows + 100) : asked;
}

LcpProblem make_boxed_lcp(const RigidProblem& problem, const VecX& x) {
  LcpProblem lcp;
  lcp.M = problem.calc_W();
  lcp.q = problem.b;
  lcp.lower = VecX::Zero(lcp.q.size());
  lcp.upper = VecX::Zero(lcp.q.size());
  // Rows of contacts that were withdrawn belong to no block: no impulse.
  for (int i = 0; i < lcp.size(); ++i) {
    if (lcp.M(i, i) == 0) lcp.M(i, i) = 1;
  }
  set_bounds(problem, x, &lcp);
  return lcp;
}

RigidResult solve_boxed(const RigidProblem& problem, const VecX& start, const RigidSolver& solver) {
  LcpProblem lcp = make_boxed_lcp(problem, start);
  RigidResult result;
  result.history_step = 1;
  result.x = start;
  LcpOptions options;
  options.deadline = problem.deadline();
  options.tolerance = 0.1 * problem.options().tolerance;
  const bool follows = problem.options().model == RigidModel::box;
  for (int round = 0; round < (follows ? kMostBoundRounds : kMostTightenings); ++round) {
    if (follows) set_bounds(problem, result.x, &lcp);
    options.start = result.x;
    options.max_iterations = most_iterations(
        solver, lcp.size(), std::max(1, problem.options().max_iterations - result.iterations));
    options.residuals = &result.history;
    const LcpResult found = solver.lcp(lcp, options);
    result.x = found.z;
    result.iterations += found.iterations;
    result.residual = problem.calc_residual(result.x);
    result.converged = result.residual <= problem.options().tolerance;
    if (result.converged || result.iterations >= problem.options().max_iterations) break;
    if (!follows && found.status != LcpStatus::solved) break;
    if (!follows || round % 20 == 19) options.tolerance *= 0.1;
  }
  if (follows && !result.converged) {
    const int before = result.iterations;
    RigidResult other = solve_polyhedral(problem, *find_rigid_solver("lemke"));
    other.iterations += before;
    if (other.residual < result.residual) return other;
  }
  return result;
}

}  // namespace capstan
