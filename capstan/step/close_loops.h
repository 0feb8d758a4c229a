// Closes loops after the positions have moved.
//
// The convex problem of a step sees a loop by its rate J(q0) v. Along a curved path the gap phi at the end
// differs from what that rate says; assembly anticipates the curvature from the velocities before the step,
// and what is left, of third order in dt, is removed here: the smallest change of positions, measured by A,
// after which every rigid constraint has the gap that its law decided on, -dt R gamma (nearly zero),
//
//   min over d  1/2 d^T A d + 1/2 (e + J d)^T R_p^-1 (e + J d),   e = phi(q) + dt R gamma,   q <- q + d,
//
// repeated with the same factor until e is at round-off. R_p is a thousandth of the law's regularization,
// so that constraints that say the same twice (a planar loop) do no harm. Velocities stay; so does the centre
// of mass of bodies that only hold each other, as A d = J^T (...). Limits: no rigid constraint, nothing to
// do. Constraints that contradict each other keep the gap that the step's problem gave them. Wide gaps are
// closed over many steps (laws/recovery.h): e is counted from what this step leaves, and is 0 for wide turns.
// Constraints on rods are left to the next step.
#pragma once

#include <memory>
#include <span>

#include "capstan/problem/problem.h"

namespace capstan {

struct LoopWorkspace {
  struct Data;
  std::shared_ptr<Data> data;
};
LoopWorkspace make_loop_workspace(const Model& model);

// Corrects q1, the positions at the end of the step; law_impulse are the solution's impulses of
// Problem::laws. Returns the largest e that is left [m or rad].
double close_loops(const Model& model, const Problem& problem, std::span<const double> law_impulse,
                   LoopWorkspace* workspace, VecX* q1);

}  // namespace capstan
