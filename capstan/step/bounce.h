// Impacts that bounce, before the contact problem of the step is solved.
//
// A pair whose materials have a restitution e > 0 and that meets in this step, faster than a threshold, is
// left at e times the speed it met with. Impacts of a step come one after the other, in rounds, as in a row
// of balls that touch: a round takes all contacts that approach each other now, changes the free velocities
//
//   v* <- argmin 1/2 (v - v*)^T A (v - v*) + l(J v)
//
// with near-rigid contacts that want v_n = v+, and Coulomb friction, and looks again; contacts without
// restitution that what bounced runs into take part with v+ = 0. The convex problem of the step then begins
// with v* and has resting contact left to do. What bounces in the step between two positions must not gain
// or lose height by where in the step that is. With u the speed at first touch, found from the gap phi and
// the acceleration a of the free motion,
//
//   u^2 = u0^2 + 2 a phi,    v+ = that of the parabola that leaves the ground at e u, at the end of the step
//
// (bounce.cc has the formulas for each scheme), so that a ball rebounds to e^2 of its height at any time step
// and any stiffness, and bodies turn back where they touch: an impulse late in the step moves them for what
// is left of it only; what the scheme would move them besides is taken back by the drift, a velocity that
// positions of this step have and the state has not. Of the impacts of a body the first comes first. What is
// hit and lies on something without restitution has that behind itself in the same round. Where Newton's
// restitution and friction would make energy together, e is taken smaller for that round. Limits: e = 0, or
// slower than the threshold or than twice what gravity makes in a step: nothing is done; e = 1 without
// friction: balls keep their energy, what turns nearly (bounce_energy.h). Explicit Euler, which moves bodies
// by old velocities, has no drift.
#pragma once

#include "capstan/contacts/contacts.h"
#include "capstan/problem/problem.h"
#include "capstan/solvers/newton.h"

namespace capstan {

struct BounceWorkspace {
  VecX v_free;                // [dofs] v* before any impact
  std::vector<Vec3> impulse;  // [contacts] of all impacts of the step [N s]; empty: none
  Problem problem;            // of one round
  NewtonWorkspace newton;
  struct Impact {
    int contact = 0, group = 0;  // of the whole problem
    bool is_support = false;     // what is hit lies on it
    double before = 0;           // [m/s] rate of the gap
    double left = 0;             // [s] of the step after the touch
    double after[3] = {};        // wanted; with e, e/2, 0
    double idle_part[3] = {};    // of the step's displacement by the change of velocity: before the touch
    double acceleration = 0;     // [m/s^2] at which free motion closes the gap
  };
  std::vector<Impact> impacts;
  int num_known = 0;      // contacts of the last call
  VecX borne;             // [dofs] what bears bodies adds to their free velocities, as far as it is known
  VecX drift, new_drift;  // [dofs] of positions in this step; of all calls, and of the last one
  bool has_free = false, has_drift = false;  // whether v_free and drift are of this step
  std::vector<Vec3> v_before, v_led, v;      // [contacts] velocity before the step, in free motion, and now
  std::vector<Vec3> v_drift, v_borne;        // [contacts] of new_drift, of borne
  VecX spin;                                 // [dofs] of bodies of revolution: it moves no surface
  std::vector<Vec3> v_spin;                  // [contacts] of spin; empty: none
  std::vector<double> most_left;             // [objects] of its impacts [s]
  std::vector<Vec2> idle_sum;                // [objects] normal impulse, and its idle part
  std::vector<Vec3> v_after;                 // [contacts of a round]
  std::vector<char> takes_part;              // [objects] in a round
  std::vector<char> is_impact;               // [contacts] likewise
  std::vector<char> is_moved;                // [objects] by an impact of this step
};

// Of all contacts, in their frames, with velocities v of the dofs.
void calc_contact_velocities(const Problem& problem, const VecX& v, std::vector<Vec3>* velocities);

// After assemble(), and once more whenever contacts were added: changes the motion's v*, and the rates at
// which gaps change besides. Contacts that will bounce in a later step get no impulse in this one, whatever
// their law. Returns the number of rounds.
int bounce(const Model& model, const Scheme& scheme, const VecX& acceleration, bool is_first,
           Contacts* contacts, Motion* motion, Problem* problem, BounceWorkspace* workspace);
// The velocity that moves positions in this step, when the state's is v: v itself, or `sum`.
const VecX& moving_velocity(const BounceWorkspace& workspace, const VecX& v, double theta_vq, VecX* sum);

}  // namespace capstan
