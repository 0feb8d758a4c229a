// Forces on bodies that the scene itself makes, taken at the beginning of a step and constant over it.
//
//   site actuators   (force, torque) = gear * force of the actuator, in the axes of the site
//   fluid            each body is braked as the box of its mass and moments, edges s; with v and w of its
//                    centre against the fluid, in its principal axes, d the mean of s:
//
//     force_i  = -3 pi mu d v_i    - 1/2 rho s_j s_k |v_i| v_i
//     torque_i = -pi mu d^3 w_i    - 1/64 rho s_i (s_j^4 + s_k^4) |w_i| w_i
//
// The second line's terms are the drag of a sphere of diameter d in slow flow, and of the faces of the box in
// fast flow, as MuJoCo takes them for bodies without geoms of their own fluid coefficients.
#pragma once

#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/tree.h"
#include "capstan/state/state.h"

namespace capstan {

inline bool adds_forces(const Model& model) {
  return !model.site_actuators.empty() || !model.drag_boxes.empty();
}

// Adds them to `input`. Placement and velocity are scratch memory: made where they are empty.
void add_body_forces(const Model& model, const State& state, Placement* placement, Velocity* velocity,
                     Input* input);

}  // namespace capstan
