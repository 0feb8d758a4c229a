// Trees that loops hold, where the scheme moves them along the mean of old and new velocities.
//
// The contact problem has for the momentum m(v) of a tree its tangent at v*, the free motion, without the
// derivative of velocity terms, which is not symmetric. Contacts are in the way of that for a step or two;
// what a loop holds is far from its free motion in every step, and would gain or lose energy in proportion to
// dt. So m is taken where the answer leads, and the problem is solved again. What a floating tree would need
// to keep its momentum if it were free does not count then.
#pragma once

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// Whether the scheme moves positions along the mean of old and new velocities.
inline bool moves_along_mean(const Scheme& scheme) {
  return scheme.theta_vq > 0 && scheme.theta_vq < 1;
}

// Moves v* of a tree to where the tangent of its free motion tells the momentum that the answer v has.
// Returns by how much, relative to v; 0 where that is nothing to speak of.
double center_momentum(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                       const VecX& v, Motion* motion);
// Takes that back: v* is that of the free motion.
void forget_centering(const Model& model, int tree, Motion* motion);

}  // namespace capstan
