// Fixed points of x = P(x - r u), P the projection to what the model allows. Each block has its r: it starts
// at 1 / trace of its W, shrinks where an iteration moved it more than the one before, and grows slowly
// again.
//
// Source: Contact course 3.4 (proximal operators, blocked and adaptive r-factors).
#include <algorithm>
#include <cmath>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr double kShrink = 0.7, kGrow = 1.02;
constexpr int kSweepsBetweenLooks = 5;

template <bool kAllAtATime>
RigidResult solve(const RigidProblem& problem, const VecX& start) {
  RigidResult result;
  result.x = start;
  VecX dv = problem.calc_dv(result.x), dv_next;
  std::vector<double> r(problem.blocks.size()), last(problem.blocks.size(), INFINITY);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = problem.blocks[k].rho;
  for (; result.iterations <= problem.options().max_iterations; ++result.iterations) {
    if (result.iterations % kSweepsBetweenLooks == 0) {
      result.residual = problem.calc_residual(result.x);
      result.history.push_back(result.residual);
      result.converged = result.residual <= problem.options().tolerance;
      if (result.converged || !std::isfinite(result.residual)) break;
    }
    dv_next = dv;
    VecX& target = kAllAtATime ? dv_next : dv;
    for (std::size_t k = 0; k < r.size(); ++k) {
      const RigidBlock& block = problem.blocks[k];
      const Vec3 x = RigidProblem::segment(block, result.x), u = problem.calc_u(block, dv, x);
      const Vec3 next = problem.project(block, x - r[k] * problem.conditioned(block, u));
      const double change = (next - x).norm();
      r[k] = change > last[k] ? std::max(kShrink * r[k], 1e-4 * block.rho)
                              : std::min(kGrow * r[k], 1.9 * block.rho);
      last[k] = change;
      problem.add_impulse(block, next - x, &target);
      RigidProblem::set_segment(block, next, &result.x);
    }
    if (kAllAtATime) dv.swap(dv_next);
  }
  return result;
}

}  // namespace

RigidResult solve_proximal_gauss_seidel(const RigidProblem& problem, const VecX& start) {
  return solve<false>(problem, start);
}
RigidResult solve_proximal_jacobi(const RigidProblem& problem, const VecX& start) {
  return solve<true>(problem, start);
}

}  // namespace capstan
