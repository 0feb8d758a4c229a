// Newton's method with a line search on the cost, and what helps it where problems are hard (newton.h).
#include <algorithm>
#include <cmath>

#include "capstan/solvers/island_solver.h"

namespace capstan {

// First and second derivative of the laws' cost at v + alpha dv.
LineDerivatives IslandSolver::along(double alpha) const {
  LineDerivatives d;
  for_each(
      [&](auto law, int, int at) {
        double first, second;
        decltype(law)::evaluate_along(contacts[at], contact_v[at] + alpha * contact_dv[at], contact_dv[at],
                                      &first, &second);
        d.first += first;
        d.second += second;
      },
      [&](int g, int r, int k) {
        double l, h;
        const double gamma = capstan::evaluate(laws[k], U[g][r] + alpha * dU[g][r], &l, &h);
        d.first -= gamma * dU[g][r];
        d.second += h * dU[g][r] * dU[g][r];
      });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    const double dx = law.sign * dv[k];
    double l, h;
    const double gamma = capstan::evaluate(dof_laws[i], law.sign * v[k] + alpha * dx, &l, &h);
    d.first -= gamma * dx;
    d.second += h * dx * dx;
  });
  return d;
}

// The root of the derivative along dv (slope: its value at 0, negative).
double IslandSolver::exact_step(double slope0, IslandResult* result) {
  system.multiply_A(dv, Adv);
  const double first0 = dv.dot(momentum), second0 = dv.dot(Adv);  // of the quadratic part
  const auto derivative = [&](double alpha) {
    ++result->evaluations;
    const LineDerivatives d = along(alpha);
    return LineDerivatives{first0 + alpha * second0 + d.first, second0 + d.second};
  };
  double low = 0, high = 1;
  LineDerivatives at_high = derivative(high);
  const double enough = 1e-12 * std::abs(slope0);
  if (std::abs(at_high.first) <= enough) return high;
  while (at_high.first < 0 && high < 1e3) {
    low = high;
    high *= 2;
    at_high = derivative(high);
  }
  if (at_high.first <= 0) return high;
  double alpha = low == 0 ? 1 : low, last_width = high - low;
  LineDerivatives d = low == 0 ? at_high : derivative(alpha);
  for (int i = 0; i < 100; ++i) {
    if (d.first > 0) high = alpha;
    if (d.first < 0) low = alpha;
    double next = alpha - d.first / d.second;
    const bool newton = next > low && next < high && std::abs(next - alpha) < 0.5 * last_width;
    if (!newton) next = 0.5 * (low + high);
    last_width = std::abs(next - alpha);
    if (next == alpha || high - low < 1e-15 * high) break;
    alpha = next;
    d = derivative(alpha);
    if (std::abs(d.first) <= enough) break;
  }
  return alpha;
}

// The largest of 1, 1/2, 1/4, ... that lets the cost fall by a part of what the slope promises.
double IslandSolver::armijo_step(double slope0, double cost, IslandResult* result) {
  constexpr double kPart = 1e-4;
  double alpha = 1;
  for (int i = 0; i < 60; ++i, alpha /= 2) {
    ++result->evaluations;
    v_try = v + alpha * dv;
    if (evaluate(v_try, false) <= cost + kPart * alpha * slope0) break;
  }
  return alpha;
}

// Counts everything from the present v, whose laws are evaluated. In a hard impact one bit of v moves the
// impulse of a stiff contact by more than the tolerance; counted from nearby, v and the laws keep all their
// digits.
void IslandSolver::recenter() {
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    contacts[i].bias.x() += contact_v[i].x();
    contacts[i].bias.y() += contact_v[i].y();
    contacts[i].normal.v_hat -= contact_v[i].z();
  }
  for (std::size_t i = 0; i < laws.size(); ++i) laws[i].v_hat -= U[i / 6][i % 6];
  for_each_dof_law([&](const DofLaw& law, int k, int i) { dof_laws[i].v_hat -= law.sign * v[k]; });
  base += v;
  system.v_star -= v;
  v.setZero();
}

// From v. Ends when the residual is at most `tolerance`, or round-off hides any further progress.
void IslandSolver::solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                                     IslandResult* result) {
  constexpr int kEnough = 10;  // tiny steps in a row without progress
  double cost = evaluate(v, true), least = kInfinity;
  int stalled = 0;
  while (!is_solved(options, tolerance, result)) {
    if (result->residual < 0.5 * least) stalled = 0;
    least = std::min(least, result->residual);
    result->at_round_off = stalled >= kEnough;
    if (result->at_round_off || result->iterations >= most_iterations || !std::isfinite(result->residual))
      break;
    ++result->iterations;
    ++result->factorizations;
    if (!system.solve(group_hessian, dof_hessian, gradient, dv)) break;
    const double slope0 = dv.dot(gradient);
    if (!(slope0 < 0)) break;
    double alpha;
    if (options.globalization == Globalization::armijo) {
      alpha = armijo_step(slope0, cost, result);
    } else {
      system.calc_motion(dv, &dU, &contact_dv);
      alpha = exact_step(slope0, result);
    }
    const bool tiny = alpha * dv.norm() <= kTinyStep * v.norm();
    stalled = tiny ? stalled + 1 : 0;
    v += alpha * dv;
    if (tiny) {
      evaluate(v, false);
      recenter();
    }
    cost = evaluate(v, true);
  }
}

// Hard contacts with a small stiction tolerance make steep curved valleys, along which Newton's method may
// creep. Here stiffness is first taken a millionth and the stiction tolerance as wide as the speeds at hand;
// both return to what they are tenfold at a time, each answer the start for the next. The point where this
// began stays the answer until a better one is found, so that the cost never rises.
void IslandSolver::solve_by_continuation(const NewtonOptions& options, IslandResult* result) {
  constexpr double kLoose = 1e-2;
  constexpr int kIterationsEach = 60;
  const double best_cost = evaluate(v, false);
  v_best = base + v;
  original = contacts;
  double width = 0, narrowest = kInfinity;  // [m/s]
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const double mu = std::max({contacts[i].mu_xx, contacts[i].mu_yy, 1e-9});
    width = std::max(width, (contact_v[i] + contacts[i].bias).head<2>().norm());
    narrowest = std::min(narrowest, contacts[i].slip / mu);
  }
  const auto set = [&](double stiffness) {
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      contacts[i].slip = std::max(original[i].slip, std::max(contacts[i].mu_xx, contacts[i].mu_yy) * width);
      contacts[i].normal.c0 = stiffness * original[i].normal.c0;
      contacts[i].normal.c1 = stiffness * original[i].normal.c1;
    }
  };
  double stiffness = 1e-6;
  while ((width > narrowest || stiffness < 1) && result->iterations < options.max_iterations) {
    set(stiffness);
    solve_line_search(options, kLoose, std::min(options.max_iterations, result->iterations + kIterationsEach),
                      result);
    width *= 0.1;
    stiffness = std::min(1.0, 10 * stiffness);
  }
  const bool ended = result->iterations < options.max_iterations;
  width = 0;
  set(1);
  solve_line_search(options, options.relative_tolerance, options.max_iterations, result);
  if (result->converged || (ended && evaluate(v, false) <= best_cost)) return;
  v = v_best - base;
  evaluate(v, false);
  is_solved(options, options.relative_tolerance, result);
}

}  // namespace capstan
