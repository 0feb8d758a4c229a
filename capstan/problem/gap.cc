#include "capstan/problem/gap.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/objects.h"
#include "capstan/dynamics/place_carriers.h"
#include "capstan/math/rotation.h"
#include "capstan/state/state.h"

namespace capstan {

int num_rows(ConstraintType type) {
  if (type == ConstraintType::weld) return 6;
  return type == ConstraintType::ball ? 3 : 1;
}

Vec6 calc_gap(const Model& model, const ModelConstraint& c, const VecX& q, const Placement& placement) {
  Vec6 gap = Vec6::Zero();
  if (c.type == ConstraintType::coupler) {
    const auto relative = [&](int joint) {
      return q[model.joints[joint].q] - model.dofs[model.joints[joint].v].reference;
    };
    gap[0] = relative(c.joint_a) - c.polynomial[0];
    if (c.joint_b < 0) return gap;
    const double x = relative(c.joint_b);
    double power = 1;
    for (int k = 1; k < 5; ++k) gap[0] -= c.polynomial[k] * (power *= x);
    return gap;
  }
  const Transform X_WA = calc_frame(model, placement, c.body_a, *c.X_A);
  const Transform X_WB = calc_frame(model, placement, c.body_b, *c.X_B);
  const Vec3 p_AB = X_WB.p - X_WA.p;
  if (c.type == ConstraintType::weld) {
    gap << quat_log(quat_from_matrix(X_WB.R * X_WA.R.transpose())), p_AB;
  } else if (c.type == ConstraintType::distance) {
    gap[0] = p_AB.norm() - c.distance;
  } else {
    gap.head<3>() = p_AB;
  }
  return gap;
}

bool is_rigid(const Model& model, const ModelConstraint& c) {
  if (!c.active || c.soft || !std::isinf(c.stiffness)) return false;
  return c.type == ConstraintType::coupler || model.bodies[c.body_a].link != model.bodies[c.body_b].link;
}

Transform calc_frame(const Model& model, const Placement& placement, int body, const Transform& X_BF) {
  Transform X_WF = body_pose(model, placement, body) * X_BF;
  const int link = model.bodies[body].link;
  if (link < model.num_tree_links()) return X_WF;
  const Object& object = model.objects[model.links[link].object];
  X_WF.p = object.physics->place_point(placement.q.segment(object.q_begin, object.num_positions()),
                                       link - object.link_begin, X_BF.p);
  return X_WF;
}

bool is_between_trees(const Model& model, const ModelConstraint& c) {
  const int end = model.num_tree_links();
  return c.type == ConstraintType::coupler ||
         (model.bodies[c.body_a].link < end && model.bodies[c.body_b].link < end);
}

namespace {

std::vector<int> find_constrained(const Model& model, bool trees_only) {
  std::vector<int> objects;
  for (const ModelConstraint& c : model.constraints) {
    if (!is_rigid(model, c) || (trees_only && !is_between_trees(model, c))) continue;
    for (const int side : {0, 1}) {
      int link = 0;
      if (c.type == ConstraintType::coupler) {
        const int joint = side == 0 ? c.joint_a : c.joint_b;
        if (joint >= 0) link = model.dofs[model.joints[joint].v].link;
      } else {
        link = model.bodies[side == 0 ? c.body_a : c.body_b].link;
      }
      if (link != 0) objects.push_back(model.links[link].object);
    }
  }
  std::sort(objects.begin(), objects.end());
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  return objects;
}

}  // namespace

std::vector<int> find_constrained_objects(const Model& model) {
  return find_constrained(model, false);
}
std::vector<int> find_constrained_trees(const Model& model) {
  return find_constrained(model, true);
}

void calc_placement_ahead(const Model& model, const std::vector<int>& objects, const VecX& q0, const VecX& v,
                          double dt, VecX* q, Placement* placement, bool midway) {
  for (const int t : objects) {
    const Object& object = model.objects[t];
    if (!object.is_tree()) {
      const int n = object.num_positions();
      object.physics->move(q0.segment(object.q_begin, n), v.segment(object.dof_begin, object.num_dofs()), dt,
                           q->segment(object.q_begin, n));
      place_carriers(model, *q, t, placement);
      continue;
    }
    const Tree& tree = model.trees[t];
    move(model, q0, v, dt, q, model.links[tree.link_begin].stage_begin,
         model.links[tree.link_end - 1].stage_end);
    calc_placement(model, *q, placement, tree.link_begin, tree.link_end);
    // A lone body's centre of mass goes straight on, wherever its origin is (dynamics/offset_body.h).
    const Link& root = model.links[tree.link_begin];
    const Stage& stage = model.stages[root.stage_begin];
    const bool is_one_body = tree.link_end == tree.link_begin + 1 && stage.type == StageType::free;
    if (!is_one_body || root.com.isZero(0) || !model.options.conserve_momentum || midway) continue;
    const Vec3 w = root.X_PL.R * v.segment<3>(stage.v + 3);
    const Vec3 r1 = placement->X_WL[tree.link_begin].R * root.com;
    const Vec3 r0 = rotation_matrix(quat_exp(-dt * w)) * r1;
    q->segment<3>(stage.q) += root.X_PL.R.transpose() * (dt * cross(w, r0) - (r1 - r0));
    calc_placement(model, *q, placement, tree.link_begin, tree.link_end);
  }
}

}  // namespace capstan
