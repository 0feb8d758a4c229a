// How free bodies turn in the steps of staggered schemes (free_motion.h), touched or not.
//
// Impulses change the angular momentum L where a step begins, then the body turns freely: its momentum stays
// and its angular velocity changes as its axes turn. The convex problem is about the velocity w that this
// turn has in the mean,
//
//   L = L0 + dt n + r x gamma,   w = I0^-1 L + g,   R1 = exp(dt w) R0,   w1 = I(R1)^-1 L
//
// I0 where the step begins, so that impulses act on w as on any velocity; g is what free turning adds, half
// of the change of the angular velocity in the step, from the motion without contact. w1 is told as the
// velocity after the step. Momentum is balanced exactly, whatever touches the body; energy does not drift in
// flight, and a top on the floor neither falls nor rises by the step's doing. Where impulses change the
// velocity by dw, w is off by dt |w| |dw| / 2 at most: second order where nothing is hit.
//
// Bodies of revolution may spin fast, by more than 0.3 rad in a step, about an axis e that moves slowly.
// Free, such a body turns at W = L / I_across and in that about its axis, and each of the two stays as it is,
// however fast:
//
//   R1 = exp(dt W) R0 exp(dt s e_body),   s = (1 - I_along / I_across) e . I0^-1 L,   e1 = exp(dt W) e
//
// Its surface is where its axis leads. So w has in the mean the motion of the axis, w x e = (e1 - e) / dt
// across it, and about it the spin, which rubs but moves no surface.
// Limits: balls and cubes turn evenly and need none of this. What turns by more than a radian in a step, of
// bodies of revolution their axis, takes the angular momentum of the end of the step instead (momentum.h),
// and the energy lost tames it.
#pragma once

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// The axis of a body of revolution: of its inertia and of all its shapes that collide.
struct Spinner {
  Vec3 axis = Vec3::Zero();  // in the axes of the link
  double across = 0;         // the moment of inertia; 0: no such body
  double share = 0;          // 1 - I_along / I_across
};
Spinner find_spinner(const Model& model, int tree);

// How a tree turns: not freely, or too fast; by its mean angular velocity; or as a body of revolution that
// spins by more than 0.3 rad in a step. (The mean is better below: what rolls sees its friction at the mean.)
enum class FreeTurn : char { none, mean, spin };
FreeTurn find_free_turn(const Model& model, const State& state, double dt, const Motion& motion, int tree);

// The mean angular velocity of a body with the momentum L where a step begins, and its g: all in the axes
// that the body has there.
Vec3 calc_mean_turn(const Mat3& inertia, const Spinner& spinner, const Vec3& L, double dt, Vec3* g);

// The part of w about the axis of a tree that turns freely and is a body of revolution, in the axes of the
// dofs; else zero.
Vec3 calc_spin(const Model& model, const Motion& motion, int tree, const Vec3& w);
// The same of any free body of revolution, however slowly it spins: what moves no surface.
Vec3 calc_idle_spin(const Model& model, const Motion& motion, int tree, const Vec3& w);
// Of a body that turns at w in a step, the angular velocity that leads where its surface is when it ends: of
// a body of revolution that of the least turn which brings its axis there. All in the axes of the dofs.
Vec3 calc_led_turn(const Model& model, const Motion& motion, double dt, int tree, const Vec3& w);
// Puts that in place of w for all bodies of revolution. Velocities of origins are those that the step begins
// with; or, with `at_end`, ends with (offset_body.h).
void take_out_spins(const Model& model, const Motion& motion, double dt, bool at_end, VecX* v);
// Turns bodies of revolution from where they are in q0, with the velocities v before that.
void add_spins(const Model& model, const Motion& motion, double dt, const VecX& q0, const VecX& v, VecX* q1);
bool has_spinners(const Motion& motion);
// [rad/s] at which the axis of a body of revolution nods when it is disturbed; 0 for other bodies.
double calc_nodding(const Model& model, const Motion& motion, const VecX& v, int tree);
// Those that are held by constraints are not treated so.
void forget_spinners(const std::vector<int>& trees, Motion* motion);

// In place of the angular velocity that v* has after the step: w without contact. Velocities of its origin
// are those that the step begins with (offset_body.h). For trees that turns_freely() says no to: that they do
// not.
void begin_free_turn(const Model& model, const State& state, double dt, int tree, Motion* motion);

// Makes g that of the answer v, where impulses are large and act all the time, as those of loops do: changes
// v*. Returns by how much, relative to the angular velocity; 0 where that is nothing to speak of.
double center_free_turn(const Model& model, double dt, int tree, const VecX& v, Motion* motion);
// g, in the axes of the dofs; zero, and nothing is set, of trees that do not turn freely.
Vec3 free_turn(const Model& model, const Motion& motion, int tree);
void set_free_turn(const Model& model, int tree, const Vec3& g, Motion* motion);

// From w, which has moved the body to q1, to w1, for the same velocity of its centre of mass.
void end_free_turn(const Model& model, const VecX& q1, double dt, int tree, const Motion& motion, VecX* v);

}  // namespace capstan
