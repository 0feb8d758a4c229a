#include "capstan/problem/soft_weights.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "capstan/dynamics/tree.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// Scalar dofs at their references, balls unturned; where a tree floats makes no difference.
VecX reference_position(const Model& model) {
  VecX q = model.initial.q;
  for (const ModelDof& dof : model.dofs)
    if (dof.q >= 0 && dof.joint >= 0 && model.joints[dof.joint].type != JointType::free)
      q[dof.q] = dof.reference;
  for (const ModelJoint& joint : model.joints)
    if (joint.type == JointType::ball) q.segment<4>(joint.q) = Vec4(1, 0, 0, 0);
  return q;
}

}  // namespace

void calc_soft_weights(const Model& model, SoftWeights* weights) {
  weights->dof.assign(model.num_velocities(), 0);
  weights->link.assign(model.num_links(), {0, 0});
  weights->is_known = true;
  std::vector<char> is_wanted(model.objects.size(), 0);
  const auto want = [&](int link) {
    if (link > 0 && link < model.num_tree_links()) is_wanted[model.links[link].object] = 1;
  };
  for (const ModelJoint& joint : model.joints)
    if (joint.soft_limits) want(model.dofs[joint.v].link);
  for (const ModelConstraint& c : model.constraints) {
    if (!c.soft) continue;
    if (c.type == ConstraintType::coupler) {
      for (const int joint : {c.joint_a, c.joint_b})
        if (joint >= 0) want(model.dofs[model.joints[joint].v].link);
    } else {
      want(model.bodies[c.body_a].link);
      want(model.bodies[c.body_b].link);
    }
  }
  if (std::find(is_wanted.begin(), is_wanted.end(), 1) == is_wanted.end()) return;
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values(model.pattern.num_values());
  calc_placement(model, reference_position(model), &placement);
  calc_mass_matrix(model, placement, &workspace, &values);
  MatX J(6, model.num_velocities());
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Object& tree = model.objects[t];
    const int begin = tree.dof_begin, n = tree.num_dofs();
    if (is_wanted[t] == 0 || n == 0) continue;
    MatX M(n, n);
    expand(model.pattern, values.data(), begin, begin + n, M);
    const MatX inverse = M.llt().solve(MatX::Identity(n, n));
    for (int k = 0; k < n; ++k) weights->dof[begin + k] = inverse(k, k);
    for (int link = tree.link_begin; link < tree.link_end; ++link) {
      if (is_mocap(model, link)) continue;
      const Vec3 com = placement.X_WL[link] * model.links[link].com;
      calc_body_jacobian(model, placement, model.links[link].body, com, J);
      const MatX of_tree = J.middleCols(begin, n);
      const VecX W = (of_tree * inverse * of_tree.transpose()).diagonal();
      weights->link[link] = {W.tail<3>().mean(), W.head<3>().mean()};
    }
  }
}

}  // namespace capstan
