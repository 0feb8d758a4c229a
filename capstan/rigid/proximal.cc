// Fixed points of x = P(x - r u), P the projection to what the model allows, r = omega / trace of the block's
// W. Block after block, omega is 1. All at a time, contacts of one body add up: omega shrinks whenever the
// residual has grown, and the best x goes on.
//
// Source: Contact course 3.4 (proximal operators, blocked and adaptive r-factors).
#include <algorithm>
#include <cmath>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr double kShrink = 0.7, kLeast = 1e-3;  // of omega
constexpr double kGrown = 1.5;                  // of the least residual: that is growth
constexpr int kSweepsBetweenTests = 5;

template <bool kAllAtATime>
RigidResult solve(const RigidProblem& problem, const VecX& start) {
  RigidResult result;
  result.x = start;
  VecX dv = problem.calc_dv(result.x), dv_next, best_x = start;
  double omega = 1, best = INFINITY;
  for (; result.iterations <= problem.options().max_iterations; ++result.iterations) {
    problem.check_deadline();
    if (result.iterations % kSweepsBetweenTests == 0) {
      result.residual = problem.calc_residual(result.x);
      result.history.push_back(result.residual);
      result.converged = result.residual <= problem.options().tolerance;
      if (result.converged) break;
      if (result.residual < best) {
        best = result.residual;
        best_x = result.x;
      } else if (kAllAtATime && omega > kLeast && !(result.residual <= kGrown * best)) {
        omega *= kShrink;
        result.x = best_x;
        dv = problem.calc_dv(result.x);
      }
    }
    if (kAllAtATime) dv_next = dv;
    VecX& target = kAllAtATime ? dv_next : dv;
    for (const RigidBlock& block : problem.blocks) {
      const Vec3 x = RigidProblem::segment(block, result.x), u = problem.calc_u(block, dv, x);
      const Vec3 next = problem.project(block, x - omega * block.rho * problem.conditioned(block, u));
      problem.add_impulse(block, next - x, &target);
      RigidProblem::set_segment(block, next, &result.x);
    }
    if (kAllAtATime) dv.swap(dv_next);
  }
  if (!result.converged) {
    result.x = best_x;
    result.residual = best;
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
