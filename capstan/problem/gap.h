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

// Where a frame X_BF of a body is; the edge of a rod stretches and takes its points along.
Transform calc_frame(const Model& model, const Placement& placement, int body, const Transform& X_BF);

// Whether both sides are trees or the world: step/close_loops.h does not move other objects.
bool is_between_trees(const Model& model, const ModelConstraint& constraint);

// The objects that rigid constraints act on, ascending; the trees that those between trees act on.
std::vector<int> find_constrained_objects(const Model& model);
std::vector<int> find_constrained_trees(const Model& model);

// q0 moved along v for dt, and the placement there, of these objects alone. The centre of mass of a lone body
// goes on as it does at q0, or, `midway`, as its origin does: v is then a mean velocity.
void calc_placement_ahead(const Model& model, const std::vector<int>& objects, const VecX& q0, const VecX& v,
                          double dt, VecX* q, Placement* placement, bool midway = false);

}  // namespace capstan
