// The judge: how good an answer (v, impulses) to a step's problem is, whichever solver gave it. It shares no
// sums with the solvers: forces go through point Jacobians of the bodies, contact velocities come from body
// velocities.
#pragma once

#include <span>
#include <vector>

#include "capstan/problem/problem.h"

namespace capstan {

// v and impulses of a problem, as any solver returns them.
struct Answer {
  const VecX* v = nullptr;
  std::span<const Vec3> impulse;        // [contacts] in the contact frame, on b from a [N s]
  std::span<const double> law_impulse;  // [scalar laws]
  std::span<const double> dof_impulse;  // [dof laws]
};

struct Residual {
  double momentum = 0;  // e_m (sap.txt eq. 32): |D (A (v - v*) - J^T gamma)| / max(|D A v|, |D J^T gamma|)
  double law = 0;       // largest |gamma - gamma(v)| over contacts, relative to the largest impulse
  double cone_violation =
      0;  // largest |gamma_t| - mu gamma_n [N s], isotropic friction; lagged laws may exceed 0 by n0 - n
  double penetration = 0;  // [m] largest overlap at the end of the step, linearized: -(phi0 + dt v_n)
  double stick_slip =
      0;  // [m/s] largest tangential speed of contacts within the friction cone (|gamma_t| < 0.99 mu gamma_n)
  double friction_power =
      0;  // [J] largest gamma_t . v_t over contacts: positive would be energy from friction
  double largest_impulse = 0;  // [N s] of a contact
  double cost = 0;  // [J] of v: 1/2 (v - v*)^T A (v - v*) + sum of l_i, which the solution makes least
  double complementarity = 0;  // e_mu (eq. 33) of law sap: mean of |g . gamma| over contacts, over the cost;
                               // g = v_c - v_hat + R gamma
};

Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer);

}  // namespace capstan
