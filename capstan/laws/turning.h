// Friction against turning: the torques that two surfaces pressed together oppose to their relative angular
// velocity w, about the normal (torsional) and about the tangents (rolling),
//
//   |tau_n| <= c_torsional n,     |tau_t| <= c_rolling n          c: lengths [m], n the normal impulse
//
// each with the soft norm of sliding friction (friction.h), so that the potential is n0 c |w|_s. Sliding,
// spinning and rolling each have a limit of their own: the three are a product of discs, not one ellipsoid
// (Contensou's coupling; docs/laws.md tells what that changes).
//
// A turning is a contact as the solvers see it, whose velocity is v = l w and whose impulse gamma = tau / l
// acts along two tangents, with mu = c / l, and which has no normal law. The arm l [m] makes the mass that it
// moves that of its point: numbers then have the size of those of friction, and so have tolerances, in m/s
// and N s. The bound n0 is the normal impulse of its point: that of the same step where the law finds its
// bounds (coulomb), else that of the beginning of the step, which sap and similar have, too.
//
// Limits: c = 0 or n0 = 0 nothing; w = 0 smooth. It never does work on what turns.
#pragma once

#include "capstan/laws/kelvin_voigt.h"
#include "capstan/laws/lagged.h"

namespace capstan {

// How sap and similar, whose own friction knows its normal impulse, evaluate a turning.
using TurningLaw = LaggedLaw<KelvinVoigt, false>;

inline ContactData make_turning(ContactLaw law, const ContactInput& in) {
  constexpr double kNever = -1e30;  // [m/s] of v_n: there is no normal impulse
  ContactData d;
  d.bias = in.bias;
  d.normal.v_hat = kNever;
  set_friction(in, in.stiction_tolerance, &d);
  d.least_slip = d.slip;
  if (traits(law).has_sigma) d.slip_rate = in.sigma * in.w_t * d.mu_xx * d.mu_xx;
  TurningLaw::set_bound(in.lagged_impulse, &d);
  return d;
}

// Of laws that have no use for least_slip else: sap and similar.
inline bool is_turning(const ContactData& d) {
  return d.least_slip > 0;
}

}  // namespace capstan
