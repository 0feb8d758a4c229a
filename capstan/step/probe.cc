#include "capstan/step/probe.h"

#include <fmt/core.h>

#include "capstan/base/closest_name.h"
#include "capstan/dynamics/tree.h"

namespace capstan {

namespace {

template <class T>
int index_of(const std::vector<T>& things, const char* kind, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name == name) return static_cast<int>(i);
    names.push_back(things[i].name);
  }
  throw InputError({}, fmt::format("there is no {} '{}'", kind, name),
                   did_you_mean(name, names, fmt::format("the model has {} of that kind", names.size())));
}

struct NamedFrame {
  int body = 0;
  Transform X_BF;
};
NamedFrame find_named_frame(const Model& model, const std::string& name) {
  if (const int body = model.find_body(name); body >= 0) return {body, {}};
  for (const ModelSite& site : model.sites) {
    if (site.name == name) return {site.body, site.X_BS};
  }
  return {body_index(model, name), {}};  // throws
}

Placement placed(const Model& model, const State& state) {
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  return placement;
}

}  // namespace

int body_index(const Model& model, const std::string& name) {
  return index_of(model.bodies, "body", name);
}
int joint_index(const Model& model, const std::string& name) {
  return index_of(model.joints, "joint", name);
}
int site_index(const Model& model, const std::string& name) {
  return index_of(model.sites, "site", name);
}
int shape_index(const Model& model, const std::string& name) {
  return index_of(model.shapes, "shape", name);
}
int actuator_index(const Model& model, const std::string& name) {
  return index_of(model.actuators, "actuator", name);
}

Transform frame_pose(const Model& model, const State& state, const std::string& frame) {
  const NamedFrame f = find_named_frame(model, frame);
  return body_pose(model, placed(model, state), f.body) * f.X_BF;
}

Vec6 frame_velocity(const Model& model, const State& state, const std::string& frame) {
  return frame_jacobian(model, state, frame) * state.v;
}

MatX frame_jacobian(const Model& model, const State& state, const std::string& frame) {
  const NamedFrame f = find_named_frame(model, frame);
  const Placement placement = placed(model, state);
  MatX J = MatX::Zero(6, model.num_velocities());
  calc_body_jacobian(model, placement, f.body, (body_pose(model, placement, f.body) * f.X_BF).p, J);
  return J;
}

MatX dense_mass_matrix(const Model& model, const State& state) {
  const int n = model.num_velocities();
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values = VecX::Zero(model.pattern.num_values());
  calc_mass_matrix(model, placed(model, state), &workspace, &values);
  MatX M = MatX::Zero(n, n);
  if (n > 0) expand(model.pattern, values.data(), 0, n, M);
  return M;
}

BodyForce force_on(const Model& model, const State& state, const std::string& body, const Vec3& force_W,
                   const Vec3& torque_W) {
  const int b = body_index(model, body), link = model.bodies[b].link;
  const Vec3 com = placed(model, state).X_WL[link] * model.links[link].com;
  return {b, com, force_W, torque_W};
}

BodyForce force_at(const Model& model, const std::string& body, const Vec3& point_W, const Vec3& force_W) {
  return {body_index(model, body), point_W, force_W, Vec3::Zero()};
}

std::vector<BodyPairForce> pair_forces(const Model& model, const Workspace& workspace) {
  std::vector<ContactForce> forces;
  calc_contact_forces(workspace, &forces);
  std::vector<BodyPairForce> all, pressing;
  sum_contact_forces(model, forces, &all);
  for (const BodyPairForce& pair : all) {
    if (pair.normal_force > 0) pressing.push_back(pair);
  }
  return pressing;
}

Vec3 contact_force_on(const Model& model, const Workspace& workspace, const std::string& body) {
  const int b = body_index(model, body);
  Vec3 sum = Vec3::Zero();
  for (const BodyPairForce& pair : pair_forces(model, workspace)) {
    if (pair.body_b == b) sum += pair.force_W;
    if (pair.body_a == b) sum -= pair.force_W;
  }
  return sum;
}

}  // namespace capstan
