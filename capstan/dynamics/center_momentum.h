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

// The same, with any scheme, of what floats, has several links and touches something: v* is what gives its
// root the momentum that it had, with what acts on it in the step and with the impulses of constraints, where
// the answer v leads (dynamics/momentum.h). A correction that is taken where the free motion leads errs by
// how far constraints hold it from there, always to the same side: a robot of 20 kg that squats on ice began
// to skate by 0.2 m/s in 10 s at 2 ms. So the first answer is that of the free motion without a correction.
void begin_balancing(const Model& model, int tree, Motion* motion);
// Returns by how much v* changes, relative to v and to what the weight makes of it in a step; 0 where that is
// less than kSettledBalance, and nothing done.
inline constexpr double kSettledBalance = 1e-5;
double balance_touched(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                       const VecX& v, Motion* motion);
// Back to the correction that is taken where the free motion leads.
void forget_balancing(const Model& model, int tree, Motion* motion);

}  // namespace capstan
