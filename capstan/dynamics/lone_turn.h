// The turn of a body that hangs alone: a tree of one link on a ball joint that nothing touches.
//
// dynamics/momentum.h gives it the angular momentum it must have where it is after the step, but moved along
// the velocity after the step it loses energy: a gyroscope droops. Moved along the mean of its angular
// velocities before and after,
//
//   R1 = exp(dt (w0 + w1) / 2) R0,   L(R1, w1) = L0 + dt n
//
// with the moment n of its weight half-way, the step is the same forwards and backwards in time: momentum is
// kept as before, energy does not drift, and the error is of second order. What touches something takes part
// in the convex problem and moves along its answer. Free bodies: free_turn.h.
// Limits: what turns by more than a radian in a step is left out; energy lost tames it.
#pragma once

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// Whether the tree is such a body, and slow enough.
bool turns_alone(const Model& model, const State& state, double dt, int tree);

// Its velocity after the step, in place of that of calc_free_motion(), which must have been called on the
// same state, for a scheme with theta = 0.
void calc_lone_turn(const Model& model, const State& state, double dt, int tree, Motion* motion, VecX* v);

// Its position after the step, with that velocity.
void move_lone_turn(const Model& model, const State& state, const VecX& v, double dt, int tree,
                    Motion* motion, VecX* q1);

}  // namespace capstan
