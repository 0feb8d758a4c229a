// Force of a muscle (struct Muscle in scene/scene.h has its curves in words), and how it falls with the rate.
//
//   force = -F0 (a FL(L) FV(V) + FP(L)),   negative: it pulls its ends together
//
// FL is made of four parabolas: with m = (shortest + 1) / 2 and n = (1 + longest) / 2,
//
//   0.5 x^2 from `shortest` to m, 1 - 0.5 x^2 on to 1, and the same down to n and `longest`,
//
// x the distance from the end of the parabola where it is flat, in units of its width. Its slope is
// continuous. FV = (1 + V)^2 for -1 < V < 0, lengthening - (y - V)^2 / y up to V = y = lengthening - 1.
// FP = passive 0.5 x^2, x = (L - 1) / (n - 1), up to n, a straight line of the same slope from there on.
// These are the curves of MuJoCo's muscles.
#pragma once

#include "capstan/scene/scene.h"

namespace capstan {

struct MuscleForce {
  double force = 0;    // [N] along the transmission
  double damping = 0;  // -d force / d rate [N s/m] >= 0
};
MuscleForce calc_muscle_force(const Muscle& muscle, double activation, double length, double rate);

}  // namespace capstan
