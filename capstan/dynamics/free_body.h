// The free motion of a rigid body that flies alone, its frame in its centre of mass: in closed form, but for
// the turn of an uneven body. It does what dynamics/free_motion.h and momentum.h do for any tree.
#pragma once

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// Whether the tree is such a body; joint forces (springs, damping, actuators) must not act on it either.
bool is_free_body(const Model& model, int tree);

// A, its factor and v*, with momentum conserved, at motion->placement. `force` are the generalized forces
// other than gravity.
void calc_free_body(const Model& model, const State& state, const VecX& force, double dt,
                    const Scheme& scheme, int tree, Motion* motion);

}  // namespace capstan
