// The cone complementarity problem is a convex one: min 1/2 x^T W x + b^T x over cones and intervals. So are
// models whose tangential impulses are free or given. Accelerated projected gradient: Nesterov's momentum,
// step 1 / L with L backtracked, restarted when the momentum points uphill.
//
// Source: Mazhar, Heyn, Negrut, Tasora, "Using Nesterov's method to accelerate multibody dynamics with
// friction and contact".
#include <cmath>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr int kIterationsBetweenLooks = 5;

VecX project(const RigidProblem& problem, const VecX& x) {
  VecX y = VecX::Zero(x.size());
  for (const RigidBlock& block : problem.blocks)
    RigidProblem::set_segment(block, problem.project(block, RigidProblem::segment(block, x)), &y);
  return y;
}

// True: no more iterations.
bool look(const RigidProblem& problem, RigidResult* result) {
  if (result->iterations % kIterationsBetweenLooks != 0) return false;
  result->residual = problem.calc_residual(result->x);
  result->history.push_back(result->residual);
  result->converged = result->residual <= problem.options().tolerance;
  return result->converged || !std::isfinite(result->residual);
}

}  // namespace

RigidResult solve_accelerated_gradient(const RigidProblem& problem, const VecX& start) {
  RigidResult result;
  result.x = project(problem, start);
  VecX y = result.x, gradient, next;
  double L = 0, theta = 1;
  for (const RigidBlock& block : problem.blocks) L = std::max(L, 1 / block.rho);
  const auto value = [&](const VecX& x, const VecX& u) { return 0.5 * x.dot(u + problem.b); };  // u = W x + b
  for (; result.iterations <= problem.options().max_iterations; ++result.iterations) {
    problem.check_deadline();
    if (look(problem, &result)) break;
    gradient = problem.calc_u(y);
    const double f = value(y, gradient);
    for (;; L *= 2) {
      next = project(problem, y - gradient / L);
      const VecX step = next - y;
      const double f_next = value(next, problem.calc_u(next));
      if (f_next <= f + gradient.dot(step) + 0.5 * L * step.squaredNorm() + 1e-12 * std::abs(f) || L > 1e300)
        break;
    }
    const VecX move = next - result.x;
    if (gradient.dot(move) > 0) {
      theta = 1;
      y = next;
    } else {
      const double theta_next =
          0.5 * (std::sqrt(theta * theta * theta * theta + 4 * theta * theta) - theta * theta);
      y = next + theta * (1 - theta) / (theta * theta + theta_next) * move;
      theta = theta_next;
    }
    result.x = next;
    L *= 0.98;
  }
  return result;
}

}  // namespace capstan
