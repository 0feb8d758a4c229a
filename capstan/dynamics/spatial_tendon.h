// Spatial tendons: where their stations are, their length L, and dL/dt = c(q) . v.
//
// Within a step the coefficients c are those of one placement: the beginning of the step where the scheme is
// semi-implicit, q^theta where it is implicit (free_motion.h). There the length at another q is L + c . (q -
// q_taken), so that springs and gains on it are in A as those of joints are.
#pragma once

#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/model/model.h"

namespace capstan {

// Sets length and coefficients of a transmission with a path (whose dofs are listed, ascending).
void calc_path(const Model& model, const Placement& placement, Transmission* transmission);

// The same of a copy; others are returned as they are.
Transmission transmission_at(const Model& model, const Placement& placement,
                             const Transmission& transmission);

}  // namespace capstan
