// Derivatives of inverse dynamics tau = ID(q, v, a), in O(n depth) spatial operations.
//
// A change of q_j moves everything after its stage rigidly along S_j. With V_j, A_j the motion right after
// the stage,
//
//   P_j = V_j x S_j,   Q_j = A_j x S_j + V_j x P_j,
//   2 B_k x = V_k x* (I_k x) - I_k (V_k x x) + x x* (I_k V_k),
//
// the force on link k (in the subtree of j) changes by S_j x* f_k + I_k Q_j + 2 B_k P_j for dq_j, and by
// I_k (S_dot_j + P_j) + 2 B_k S_j for dv_j. Summed over subtrees (superscript C) and projected on S_i:
//
//   i on the path to j (or of j's stage):  dtau_i/dq_j = S_i . (S_j x* f_j^C + I_j^C Q_j + 2 B_j^C P_j)
//   i after j:                             dtau_i/dq_j = S_i . (I_i^C Q_j + 2 B_i^C P_j)
//
// (For one-dof stages these are the formulas of Singh, Russo and Wensing 2022; using the motion after the
// stage makes them hold for quaternion stages too, whose axes do not turn with their own motion.) A change of
// q is a turn or slide in the axes of the frame before the stage, as move() has it. The force that takes back
// gravity on weightless bodies is not differentiated.
#pragma once

#include "capstan/dynamics/tree.h"

namespace capstan {

struct DerivativesWorkspace {
  std::vector<Mat6> B;             // [links] 2 B, then composites
  std::vector<Mat6> I;             // [links] composite inertia
  std::vector<Vec6> force;         // [links] composite
  std::vector<Vec6> P, Q;          // [dofs]
  std::vector<Vec6> acceleration;  // [links]
};
DerivativesWorkspace make_derivatives_workspace(const Model& model);

// Adds scale_q dtau/dq + scale_v dtau/dv of tree `t` to the dense block `jacobian` (num_dofs x num_dofs of
// the tree). calc_derivative_terms, of all links or of the links [begin, end) of whole trees, must have been
// called at the same q, v, a.
void calc_derivative_terms(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v, const VecX& a, DerivativesWorkspace* workspace);
void calc_derivative_terms(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v, const VecX& a, DerivativesWorkspace* workspace, int begin, int end);
void add_derivatives(const Model& model, const Placement& placement, const Velocity& velocity,
                     const DerivativesWorkspace& workspace, int t, double scale_q, double scale_v,
                     Eigen::Ref<MatX> jacobian);

}  // namespace capstan
