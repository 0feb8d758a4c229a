#pragma once

#include "capstan/dynamics/free_motion.h"
#include "capstan/problem/problem.h"

namespace capstan {

// Trees on which only constraints between their own links act (limits, self-contact, loops) keep their
// momentum exactly: v of their roots is corrected. One of the corrections that lie outside the optimum of the
// convex problem, by round-off and the error of the integrator; Options::conserve_momentum turns it off.
// Trees whose answer is reused are balanced already.
void balance_trees_with_inner_constraints(const Problem& problem, const State& state, const Scheme& scheme,
                                          std::span<const char> is_reused, Motion* motion, VecX* v);

}  // namespace capstan
