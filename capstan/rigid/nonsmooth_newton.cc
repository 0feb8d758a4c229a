// Newton's method on H(y) = 0, where H_i vanishes when and only when index i is complementary:
//
//   minimum map          H = y - mid(lower, upper, y - w)
//   Fischer-Burmeister   H = phi(y - lower, -phi(upper - y, -w)),   phi(a, b) = a + b - sqrt(a^2 + b^2);
//                        a bound at infinity drops out: phi(inf, b) = b
//
// The step solves (dH/dy + regularization) dy = -H; backtracking makes |H|^2 / 2 smaller. In scaled units
// both branches of H have slope 1, as the r-factors of the course notes (section 3.3.5) ask.
//
// Limits: a fast method near the answer (a few steps), without guarantee far from it: where no step along dy
// nor along the steepest descent is of use, and M has a positive diagonal, some sweeps of PGS are taken
// instead; if they do not help either it has stalled. Semidefinite M makes dH/dy singular: a regularization
// in proportion to the residual is added to M, which keeps the convergence superlinear.
//
// Sources: Pang 1990 (minimum map); Fischer 1992; Billups 1995 (bounds); De Luca, Facchinei and Kanzow 1996;
// course notes section 3.3, which leaves out the line search.
#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "capstan/rigid/splitting.h"

namespace capstan {
namespace {

constexpr int kSteps = 200;
constexpr int kStepHalvings = 30;
constexpr double kArmijo = 1e-4;

struct Function {  // and its derivatives by y and w, in the generalized sense
  double value, by_y, by_w;
};

Function minimum_map(double y, double w, double lower, double upper) {
  if (y - w <= lower) return {y - lower, 1, 0};
  if (y - w >= upper) return {y - upper, 1, 0};
  return {w, 0, 1};
}

struct Phi {
  double value, by_a, by_b;
};

Phi phi(double a, double b) {
  if (std::isinf(a)) return {b, 0, 1};
  const double length = std::hypot(a, b);
  // At (0, 0) any element of the ball around (1, 1) will do.
  if (length == 0) return {0, 1 - std::sqrt(0.5), 1 - std::sqrt(0.5)};
  // a + b - length, without cancellation where both are positive.
  const double value = a + b > 0 ? 2 * a * b / (a + b + length) : a + b - length;
  return {value, 1 - a / length, 1 - b / length};
}

Function fischer_burmeister(double y, double w, double lower, double upper) {
  const Phi inner = phi(upper - y, -w);  // of upper - y and -w
  const Phi outer = phi(y - lower, -inner.value);
  return {outer.value, outer.by_a + outer.by_b * inner.by_a, outer.by_b * inner.by_b};
}

using Map = Function (*)(double, double, double, double);

class NonsmoothNewton {
 public:
  NonsmoothNewton(LcpRun* run, Map map, bool can_sweep)
      : run_(*run), p_(run->scaled()), map_(map), can_sweep_(can_sweep), rows_(p_.M.transpose()) {}

  LcpResult solve() {
    VecX y = run_.start();
    if (run_.is_solved_at(y)) return run_.finish(y, LcpStatus::solved);
    while (run_.iterations() < run_.max_iterations()) {
      if (!advance(&y)) return run_.finish(run_.project(y), LcpStatus::stalled);
      if (run_.is_converged(run_.project(y))) return run_.finish(run_.project(y), LcpStatus::solved);
    }
    return run_.finish(run_.project(y), LcpStatus::most_iterations);
  }

 private:
  double merit(const VecX& y) const {
    const VecX w = run_.w(y);
    double sum = 0;
    for (int i = 0; i < p_.size(); ++i) {
      const double value = map_(y[i], w[i], p_.lower[i], p_.upper[i]).value;
      sum += 0.5 * value * value;
    }
    return sum;
  }

  // One step: Newton's, or down the gradient, or sweeps. False if none makes H smaller.
  bool advance(VecX* y) {
    const int n = p_.size();
    const VecX w = run_.w(*y);
    VecX H(n), by_y(n), by_w(n);
    for (int i = 0; i < n; ++i) {
      const Function f = map_((*y)[i], w[i], p_.lower[i], p_.upper[i]);
      H[i] = f.value, by_y[i] = f.by_y, by_w[i] = f.by_w;
    }
    MatX jacobian = by_w.asDiagonal() * p_.M;
    jacobian.diagonal() += by_y;
    const VecX gradient = jacobian.transpose() * H;
    const double regularization = std::min(1e-3, 1e-2 * largest(H));
    jacobian.diagonal() += regularization * by_w;
    const VecX step = Eigen::PartialPivLU<MatX>(jacobian).solve(-H);
    if (step.allFinite() && search(step, 0.5 * H.squaredNorm(), -2 * kArmijo * 0.5 * H.squaredNorm(), y))
      return true;
    if (search(-gradient, 0.5 * H.squaredNorm(), -kArmijo * gradient.squaredNorm(), y)) return true;
    return can_sweep_ && sweep(y);
  }

  // The first of the steps 1, 1/2, 1/4, ... that lowers the merit by its part of `slope`.
  bool search(const VecX& step, double merit_here, double slope, VecX* y) const {
    double alpha = 1;
    for (int k = 0; k < kStepHalvings; ++k, alpha *= 0.5) {
      const VecX trial = *y + alpha * step;
      const double there = merit(trial);
      if (there < merit_here && there <= merit_here + alpha * slope) {
        *y = trial;
        return true;
      }
    }
    return false;
  }

  bool sweep(VecX* y) const {
    VecX trial = run_.project(*y);
    for (int k = 0; k < 20; ++k) sweep_forwards(p_, rows_, 1, &trial);
    if (!(merit(trial) < merit(*y))) return false;
    *y = trial;
    return true;
  }

  LcpRun& run_;
  const LcpProblem& p_;
  Map map_;
  bool can_sweep_;
  MatX rows_;
};

LcpResult solve(const LcpProblem& problem, const LcpOptions& options, Map map) {
  LcpRun run(problem, options, kSteps);
  return NonsmoothNewton(&run, map, has_positive_diagonal(problem)).solve();
}

}  // namespace

LcpResult solve_minimum_map_newton(const LcpProblem& problem, const LcpOptions& options) {
  return solve(problem, options, minimum_map);
}

LcpResult solve_fischer_burmeister_newton(const LcpProblem& problem, const LcpOptions& options) {
  return solve(problem, options, fischer_burmeister);
}

}  // namespace capstan
