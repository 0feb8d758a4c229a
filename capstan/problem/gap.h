// Gaps of the constraints that close loops: how far a ball, weld, distance or coupler is from holding.
#pragma once

#include "capstan/dynamics/tree.h"

namespace capstan {

// ball: 3 rows, where B's point is seen from A's [m, world axes]; weld: the turn from A to B [rad], then the
// same; distance: 1 row, length minus distance [m]; coupler: 1 row, q_a minus its polynomial in q_b.
int num_rows(ConstraintType type);
Vec6 calc_gap(const Model& model, const ModelConstraint& constraint, const VecX& q,
              const Placement& placement);

// Whether a constraint is to hold exactly: on, not a spring, and between parts that can move.
bool is_rigid(const Model& model, const ModelConstraint& constraint);

// The trees that rigid constraints act on, ascending.
std::vector<int> find_constrained_trees(const Model& model);

// q0 moved along v for dt, and the placement there, of these trees alone.
void calc_placement_ahead(const Model& model, const std::vector<int>& trees, const VecX& q0, const VecX& v,
                          double dt, VecX* q, Placement* placement);

}  // namespace capstan
