#include "capstan/dynamics/tree_derivatives.h"

#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// Matrix of v x (motion to motion); that of v x* is -transpose.
Mat6 cross_matrix(const Vec6& v) {
  Mat6 M;
  M.topLeftCorner<3, 3>() = M.bottomRightCorner<3, 3>() = skew(v.head<3>());
  M.topRightCorner<3, 3>().setZero();
  M.bottomLeftCorner<3, 3>() = skew(v.tail<3>());
  return M;
}

// Matrix of x -> x x* f.
Mat6 cross_force_matrix(const Vec6& f) {
  Mat6 M;
  M.topLeftCorner<3, 3>() = -skew(f.head<3>());
  M.topRightCorner<3, 3>() = M.bottomLeftCorner<3, 3>() = -skew(f.tail<3>());
  M.bottomRightCorner<3, 3>().setZero();
  return M;
}

// Both of one ball, or both slides or both turns of one free joint.
bool in_same_stage(const Model& model, int i, int j) {
  if (model.dofs[i].joint != model.dofs[j].joint || model.dofs[i].q >= 0) return false;
  const int first = model.joints[model.dofs[i].joint].v;
  return (i - first) / 3 == (j - first) / 3;
}

}  // namespace

DerivativesWorkspace make_derivatives_workspace(const Model& model) {
  DerivativesWorkspace w;
  w.B.assign(model.num_links(), Mat6::Zero());
  w.I.assign(model.num_links(), Mat6::Zero());
  w.force.assign(model.num_links(), Vec6::Zero());
  w.acceleration.assign(model.num_links(), Vec6::Zero());
  w.P.assign(model.num_velocities(), Vec6::Zero());
  w.Q.assign(model.num_velocities(), Vec6::Zero());
  return w;
}

void calc_derivative_terms(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v, const VecX& a, DerivativesWorkspace* w) {
  calc_derivative_terms(model, placement, velocity, v, a, w, 1, model.num_tree_links());
}

void calc_derivative_terms(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v, const VecX& a, DerivativesWorkspace* w, int begin, int end) {
  Vec6 minus_g = Vec6::Zero();
  minus_g.tail<3>() = -model.options.gravity;
  for (int l = begin; l < end; ++l) {
    const Link& link = model.links[l];
    Vec6 V = link.parent == 0 ? Vec6(Vec6::Zero()) : velocity.V[link.parent];
    Vec6 A = link.parent == 0 ? minus_g : w->acceleration[link.parent];
    const auto advance = [&](int first, int last) {
      for (int k = first; k < last; ++k) {
        V += v[k] * placement.S[k];
        A += a[k] * placement.S[k] + v[k] * velocity.S_dot[k];
      }
      for (int k = first; k < last; ++k) {
        w->P[k] = cross_motion(V, placement.S[k]);
        w->Q[k] = cross_motion(A, placement.S[k]) + cross_motion(V, w->P[k]);
      }
    };
    for (int s = link.stage_begin; s < link.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      if (stage.type == StageType::free) {
        advance(stage.v, stage.v + 3);
        advance(stage.v + 3, stage.v + 6);
      } else {
        advance(stage.v, stage.v + (stage.type == StageType::ball ? 3 : 1));
      }
    }
    w->acceleration[l] = A;
    const Vec6& V_l = velocity.V[l];
    const RigidInertia& I = placement.inertia[l];
    const Vec6 h = I * V_l;
    w->I[l] = to_matrix(I);
    const Mat6 X = cross_matrix(V_l);
    w->B[l] = -X.transpose() * w->I[l] - w->I[l] * X + cross_force_matrix(h);
    w->force[l] = I * A + cross_force(V_l, h);
  }
  for (int l = end - 1; l >= begin; --l) {
    const int p = model.links[l].parent;
    if (p == 0) continue;
    w->I[p] += w->I[l];
    w->B[p] += w->B[l];
    w->force[p] += w->force[l];
  }
}

void add_derivatives(const Model& model, const Placement& placement, const Velocity& velocity,
                     const DerivativesWorkspace& w, int t, double scale_q, double scale_v,
                     Eigen::Ref<MatX> jacobian) {
  const Tree& tree = model.trees[t];
  const int base = tree.dof_begin;
  for (int l = tree.link_begin; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    for (int j = link.dof_begin; j < link.dof_end; ++j) {
      // Column j for rows i on the path to j, and of j's own stage.
      const Vec6 motion_q = scale_q * w.P[j] + scale_v * placement.S[j];
      const Vec6 motion_a = scale_q * w.Q[j] + scale_v * (velocity.S_dot[j] + w.P[j]);
      const Vec6 F =
          scale_q * cross_force(placement.S[j], w.force[l]) + w.I[l] * motion_a + w.B[l] * motion_q;
      for (int i = j; i >= 0; i = model.pattern.parent[i])
        jacobian(i - base, j - base) += placement.S[i].dot(F);
    }
    // Rows i of this link for columns j before them.
    for (int i = link.dof_begin; i < link.dof_end; ++i) {
      const Vec6 IS = w.I[l] * placement.S[i];
      const Vec6 BS = w.B[l].transpose() * placement.S[i];
      for (int j = model.pattern.parent[i]; j >= 0; j = model.pattern.parent[j]) {
        double entry = scale_q * (IS.dot(w.Q[j]) + BS.dot(w.P[j])) +
                       scale_v * (IS.dot(velocity.S_dot[j] + w.P[j]) + BS.dot(placement.S[j]));
        if (in_same_stage(model, i, j))
          entry += scale_q * placement.S[i].dot(cross_force(placement.S[j], w.force[l]));
        jacobian(i - base, j - base) += entry;
      }
    }
  }
}

}  // namespace capstan
