// The convex problem of friction cones, and of scalars between bounds, by a primal-dual interior point
// method:
//
//   y in K, u = W y + b in K*, y . u = 0,   W semidefinite
//
// Along its path y and u stay inside their cones while their products y o u (of Jordan's algebra) go to zero
// together. With the scaling G of Nesterov and Todd, G y = G^-1 u, a step solves
//
//   (W + G^2) dy = G d - r,   r = W y + b - u,
//
// which is regular whatever W is, with Mehrotra's predictor and corrector. A step costs n^3 / 3; 15 to 30 are
// enough whatever the problem: redundant contacts and contacts between sticking and sliding do not slow it
// down.
//
// Limits: every problem is begun anew, a start is of no use. Where an answer is not strictly complementary
// the error is the root of the last gap: a few 1e-8 of b. Sources: Nesterov and Todd 1997; Vandenberghe, "The
// CVXOPT linear and quadratic cone program solvers", 2010.
#pragma once

#include "capstan/rigid/rigid_problem.h"

namespace capstan {

// `W`, `b`, y are scaled, x = scale * y, with one scale for each block of `problem`, whose friction and
// bounds count. Goes on until the largest component of y - P(y - u) is at `tolerance`, and counts its steps.
// True if it got there.
bool solve_interior_point(const RigidProblem& problem, const MatX& W, const VecX& b, const VecX& scale,
                          double tolerance, VecX* y, int* steps);

}  // namespace capstan
