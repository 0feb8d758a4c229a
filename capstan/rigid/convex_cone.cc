// The cone complementarity problem is a convex one: min 1/2 x^T W x + b^T x over cones and intervals.
//
//   accelerated_gradient   Nesterov's momentum, step 1 / L with L backtracked, restarted when the momentum
//   points
//                          uphill
//   admm                   x and its projection y apart, tied by a scaled multiplier z; W + rho factored
//   once, and
//                          again when rho is changed to balance the two residuals
//
// Sources: Mazhar, Heyn, Negrut, Tasora, "Using Nesterov's method to accelerate multibody dynamics with
// friction and contact"; Boyd et al., "Distributed optimization and statistical learning via the alternating
// direction method of multipliers".
#include <Eigen/Cholesky>
#include <cmath>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr int kIterationsBetweenLooks = 5;
constexpr int kBetweenChanges = 20, kLastChange = 400;  // of rho: with a rho that stays ADMM converges

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

RigidResult solve_admm(const RigidProblem& problem, const VecX& start) {
  RigidResult result;
  result.x = project(problem, start);
  const MatX W = problem.calc_W();
  const int n = static_cast<int>(W.rows());
  double rho = n > 0 ? W.trace() / n : 1;
  Eigen::LLT<MatX> factor;
  const auto factorize = [&] {
    MatX H = W;
    H.diagonal().array() += rho;
    factor.compute(H);
  };
  factorize();
  VecX z = VecX::Zero(n), x = result.x, before;
  for (; result.iterations <= problem.options().max_iterations; ++result.iterations) {
    if (look(problem, &result)) break;
    x = factor.solve(rho * (result.x - z) - problem.b);
    before = result.x;
    result.x = project(problem, x + z);
    z += x - result.x;
    if (result.iterations % kBetweenChanges != kBetweenChanges - 1 || result.iterations > kLastChange)
      continue;
    const double primal = (x - result.x).norm(), dual = (result.x - before).norm();
    const double scale = primal > 10 * dual ? 2 : dual > 10 * primal ? 0.5 : 1;
    if (scale == 1) continue;
    rho *= scale;
    z /= scale;
    factorize();
  }
  return result;
}

}  // namespace capstan
