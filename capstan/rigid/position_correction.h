// What undoes overlap without a trace in the velocities: a second, frictionless problem whose velocities move
// positions in this step and are then forgotten.
//
//   split_impulse   the part `erp` of the overlap that there is
//   projection      all of what there will be at the end of the step, by the velocities of the answer
//
// Limits: gaps are linear in the motion, as everywhere in a step. Sources: Contact course 3.4.6; Catto 2005
// (split impulses).
#pragma once

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {

// [dofs] velocities, where x answers the problem; empty: nothing to undo, or not asked for.
VecX calc_position_correction(const RigidProblem& problem, const VecX& x);

}  // namespace capstan
