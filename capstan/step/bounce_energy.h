// The energy of bodies that bounce, as they end the step.
//
// A round of impacts is solved with the inertia that bodies have where the step begins. Where they turn on,
// the energy with which they end is another one: to first order in the angle of a step for what is hit, up to
// several per cent a bounce for a capsule at 5 ms, which grows where nothing takes it away. So the impulses
// of a round are scaled, all by the same factor, which leaves momentum and cones as they are, so that the
// bodies end the step with the energy that the round has told.
#pragma once

#include <vector>

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// The velocities go from `before` to `after` in a round; `idle` [objects] is the part of that change that
// does not move the body in this step, `drift` [dofs] what else does. `work` is the kinetic energy that the
// round has told. Returns the factor, 1 where no body that turns freely (dynamics/free_turn.h) takes part.
double scale_of_energy(const Model& model, const Motion& motion, double dt, const VecX& before,
                       const VecX& after, const std::vector<double>& idle, const VecX& drift, double work);

}  // namespace capstan
