// Newton's method with a line search on the cost, and what helps it where problems are hard (newton.h).
#include <algorithm>
#include <cmath>

#include "capstan/solvers/line_search.h"

namespace capstan {

// First and second derivative of the laws' cost at v + alpha dv.
LineDerivatives LineSearch::along(double alpha) const {
  LineDerivatives d;
  for_each(
      [&](auto law, int i, int at) {
        double first, second;
        if (series_stiffness > 0) {
          const SeriesPoint p = evaluate_in_series(law, i, at, contact_v[at] + alpha * contact_dv[at]);
          d.first -= p.gamma.dot(contact_dv[at]);
          d.second += contact_dv[at].dot(p.G * contact_dv[at]);
          return;
        }
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

// The root of the derivative along dv, to a part `accuracy` of slope0, its value at 0, which is negative.
double LineSearch::exact_step(double slope0, double accuracy, IslandResult* result) {
  system.multiply_A(dv, Adv);
  const double first0 = dv.dot(momentum), second0 = dv.dot(Adv);  // of the quadratic part
  const auto derivative = [&](double alpha) {
    ++result->evaluations;
    const LineDerivatives d = along(alpha);
    return LineDerivatives{first0 + alpha * second0 + d.first, second0 + d.second};
  };
  double low = 0, high = 1;
  LineDerivatives at_high = derivative(high);
  const double enough = accuracy * std::abs(slope0);
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

// Counts everything from the present v, whose laws are evaluated. In a hard impact one bit of v moves the
// impulse of a stiff contact by more than the tolerance; counted from nearby, v and the laws keep all their
// digits.
void LineSearch::recenter() {
  for_each([&](auto law, int, int at) { decltype(law)::shift(contact_v[at], &contacts[at]); },
           [&](int g, int r, int k) { laws[k].v_hat -= U[g][r]; });
  for_each_dof_law([&](const DofLaw& law, int k, int i) { dof_laws[i].v_hat -= law.sign * v[k]; });
  base += v;
  system.v_star -= v;
  v.setZero();
}

// From v. Ends when the residual is at most `tolerance`, or round-off hides any further progress.
void LineSearch::solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                                   IslandResult* result) {
  constexpr int kEnough = 10;  // tiny steps in a row without progress
  evaluate(v, true);
  double least = kInfinity;
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
    system.calc_motion(dv, &dU, &contact_dv);
    const double alpha = exact_step(slope0, 1e-12, result);
    const bool tiny = alpha * dv.norm() <= kTinyStep * (base + v).norm();
    stalled = tiny ? stalled + 1 : 0;
    v += alpha * dv;
    if (tiny) {
      evaluate(v, false);
      recenter();
    }
    evaluate(v, true);
  }
}

}  // namespace capstan
