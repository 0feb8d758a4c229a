// Corrections of an answer that lie outside the optimum of the convex problem, by round-off and the error of
// the integrator. Options::conserve_momentum turns them off.
#pragma once

#include <vector>

#include "capstan/dynamics/free_motion.h"
#include "capstan/model/stage_scope.h"
#include "capstan/problem/problem.h"

namespace capstan {

// Floating trees of several links on which constraints with others act, or with the world: their momentum is
// balanced while the problem is solved (dynamics/center_momentum.h).
void find_touched_trees(const Problem& problem, const StageScope& scope, std::vector<int>* trees);

// Trees on which only constraints between their own links act (limits, self-contact, loops) keep their
// momentum exactly: v of their roots is corrected. Bodies that nothing acts on turn by the mean of their
// angular velocities, where the scheme moves positions along the new ones (dynamics/lone_turn.h): `turned`
// are their trees, in v and v* of the motion. Trees whose answer is reused are balanced already.
void balance_trees(const Problem& problem, const State& state, const Scheme& scheme, const StageScope& scope,
                   std::span<const char> is_reused, Motion* motion, VecX* v, std::vector<int>* turned);

}  // namespace capstan
