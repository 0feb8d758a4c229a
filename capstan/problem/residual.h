// The judge: how good an answer (v, impulses) to a step's problem is, whichever solver gave it. It shares no
// sums with the solvers: impulses on contacts go to the links they act on and from there to the joints,
// contact velocities come from the velocities of links. One pass over contacts, links and dofs.
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
  double momentum = 0;         // e_m (SAP eq. 32): |D (A (v - v*) - J^T gamma)| / max(|D A v|, |D J^T gamma|)
  double complementarity = 0;  // e_mu (eq. 33): mean of |g . gamma| over contacts, over the cost, with
                               // g = v_c - v_hat + R gamma. Of law sap; 0 for the others, which have no cone
  double law = 0;              // largest |gamma - gamma(v)| over contacts, relative to the largest impulse
  // Largest |gamma_t| - mu gamma_n [N s], isotropic friction; lagged laws may exceed 0 by mu (n0 - n).
  double cone_violation = 0;
  double penetration = 0;  // [m] largest overlap at the end of the step, linearized: -(phi0 + dt v_n)
  // [m/s] largest speed at which surfaces glide where friction has more to give (|gamma_t| < 0.99 mu
  // gamma_n).
  double stick_slip = 0;
  double friction_gain = 0;     // [J] largest gamma_t . slip over contacts: above 0, energy from friction
  double dissipated_power = 0;  // [W] that friction takes: -sum of gamma_t . slip / dt
  double largest_impulse = 0;   // [N s] of a contact
  double cost = 0;  // [J] of v: 1/2 (v - v*)^T A (v - v*) + sum of l_i, which the solution makes least
};

// Scratch memory, so that a call allocates nothing once it has its size.
struct ResidualWorkspace {
  Velocity velocity;                        // at v
  std::vector<Vec6> wrench;                 // [links] impulses about O_t (torque, force)
  VecX generalized, change, momentum, off;  // [dofs] J^T gamma, A (v - v*), A v, v - v*
};

Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer,
                       ResidualWorkspace* workspace);
Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer);

}  // namespace capstan
