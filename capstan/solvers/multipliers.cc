// The method of multipliers, for problems on which the rest of newton.h stalls: impulses that are a million
// times the momentum of the bodies they squeeze, friction that is stiffer than these bodies by the sixteen
// digits of a number. Each contact gets a compliance 1/rho in series with its law (laws/series.h), strained
// by an impulse of its own, the multiplier:
//
//   v = argmin 1/2 (v - v*)^T A (v - v*) + sum of min_u l(u) + 1/2 rho |u - J v + multiplier/rho|^2
//   multiplier <- gamma(u) = multiplier + rho (u - J v)
//
// The inner problem is smooth, as well conditioned as rho is small, and balances momentum; the outer
// iteration (proximal point on the dual) closes the gap u - J v and converges for any rho, the faster the
// larger it is. No impulse is ever computed from a velocity times a large stiffness, so that round-off does
// not grow with it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/solvers/multipliers.h"

namespace capstan {

// Newton from v, one step at least. The whole step is good if it halves the residual, which round-off blurs
// less than the slope of the cost; else an exact line search.
bool Multipliers::solve_in_series(const NewtonOptions& options, double tolerance, int most_iterations,
                                  IslandResult* result) {
  constexpr double kAccuracy = 1e-3;
  const auto evaluate_at = [&] {
    evaluate(v, true);
    is_solved(options, tolerance, result);
    return result->residual;
  };
  for (double residual = evaluate_at(); result->iterations < most_iterations;) {
    ++result->iterations;
    ++result->factorizations;
    if (!system.solve(group_hessian, dof_hessian, gradient, dv)) return false;
    const double slope0 = dv.dot(gradient);
    v_try = v;
    v += dv;
    ++result->evaluations;
    if (!(evaluate_at() < 0.5 * residual)) {
      v = v_try;
      evaluate_at();
      if (!(slope0 < 0)) return false;
      system.calc_motion(dv, &dU, &contact_dv);
      v += exact_step(slope0, kAccuracy, result) * dv;
      evaluate_at();
    }
    residual = result->residual;
    if (result->converged) return true;
    if (!std::isfinite(residual)) return false;
  }
  return false;
}

// At v, which is evaluated. Then the stopping test, with impulses of the laws at J v; where the gap is less
// than the last bit of the contact's velocity, at u.
bool Multipliers::update_multipliers(const NewtonOptions& options, IslandResult* result) {
  constexpr double kLastBit = std::numeric_limits<double>::epsilon();
  v_try = base + v;
  system.calc_motion(v_try, &dU, &contact_dv);
  result->at_round_off = true;
  sum_groups<false>(
      [&](auto law, int i, int at, Vec3* gamma, Mat3*) {
        *gamma = evaluate_in_series(law, i, at, contact_v[at]).gamma;
        const Vec3 rho = series_stiffness * problem().contact_mass[i];
        const double gap = (*gamma - multiplier[at]).cwiseQuotient(rho).norm();
        multiplier[at] = *gamma;
        if (gap > kLastBit * contact_dv[at].norm()) {
          decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, gamma, nullptr);
          result->at_round_off = false;
        }
        dual[at].gamma = *gamma;
      },
      [&](int g, int r, int k, double*) { return law_dual[k].gamma = scalar_impulse(laws[k], U[g][r]); });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    dof_dual[i].gamma = scalar_impulse(dof_laws[i], law.sign * v[k]);
    impulse[k] += law.sign * dof_dual[i].gamma;
  });
  return is_solved(options, options.relative_tolerance, result);
}

// From v. rho grows while the residual does not fall. Where it began stays the answer until a better one is
// found, so that the cost never rises.
void Multipliers::solve_by_multipliers(const NewtonOptions& options, IslandResult* result) {
  constexpr double kLoose = 1e-3;            // accuracy of inner problems,
  constexpr double kClose = 1e-2;            // until the residual is below this
  constexpr int kInner = 60, kClosing = 10;  // most iterations of an inner problem, far and close
  constexpr int kMostVain = 6;
  constexpr double kStiffest = 1e20;
  constexpr double kAsGood = 10;
  const double residual_before = result->residual;
  v_best = base + v;
  set_laws();
  v = v_best;
  multiplier.assign(contacts.size(), Vec3::Zero());
  dual.resize(contacts.size());
  law_dual.resize(6 * system.num_groups());
  dof_dual.resize(system.num_dof_laws());
  series_stiffness = 1e3;
  double last = 1;  // residual
  int vain = 0;     // updates in a row without progress, all contacts on their laws to the last bit
  result->converged = false;
  while (result->iterations < options.max_iterations && v.allFinite()) {
    const bool close = last < kClose;
    const int most = std::min(options.max_iterations, result->iterations + (close ? kClosing : kInner));
    solve_in_series(options, close ? 0.5 * options.relative_tolerance : kLoose, most, result);
    const bool balanced = result->residual <= kLoose;
    result->has_duals = true;
    if (update_multipliers(options, result)) break;
    if (!std::isfinite(result->residual)) break;  // multipliers that are not finite stay so
    const bool stalls = result->residual > 0.1 * last;
    vain = stalls && result->at_round_off ? vain + 1 : 0;
    if (vain == kMostVain) break;
    if (stalls) series_stiffness = std::min(kStiffest, (balanced ? 10 : 3) * series_stiffness);
    last = result->residual;
    recenter();
  }
  series_stiffness = 0;
  // What was before had digits of v that are lost now, so that nearly as good is better.
  const double good = std::max(residual_before, std::min(kLoose, kAsGood * residual_before));
  if (result->converged || (result->at_round_off && result->residual < good)) return;
  result->has_duals = false;
  set_laws();
  v = v_best;
  evaluate(v, false);
  is_solved(options, options.relative_tolerance, result);
}

}  // namespace capstan
