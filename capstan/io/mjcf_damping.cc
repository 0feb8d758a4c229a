// <position dampratio>: the damping of a servo from the inertia it moves,
//
//     kv = 2 dampratio sqrt(kp m),     1 / m = r^T M^-1 r,
//
// with M the mass matrix of the whole model in its reference pose, rotors included, and r the rate of the
// actuator's length to each dof (gear, times the coefficient of a tendon). Limit: a lone joint of inertia I
// and gear g has m = I / g^2, and ratio 1 is critical. MuJoCo writes a ratio as a positive entry in
// biasprm[2] of a servo (where kv would be negative), and so do <general> actuators and the reader until this
// is called. Checked against MuJoCo 4.0.
//
// <muscle force="-1" scale="s">: F0 = s / |M^-1 r|, until then -s.
//
// <joint springdamper="tc zeta">: of the same inertia, 1 / m = (M^-1)_ii (its mean over the dofs of a ball),
//
//     stiffness = m / (tc zeta)^2,    damping = 2 m / tc
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <set>

#include "capstan/dynamics/spatial_tendon.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/mjcf_reader.h"
#include "capstan/model/model.h"
#include "capstan/state/state.h"

namespace capstan::mjcf {

namespace {

bool has_ratio(const Actuator& actuator) {
  return actuator.bias[2] > 0 && actuator.gain == -actuator.bias[1];
}

bool has_scale(const Actuator& actuator) {
  return actuator.muscle && actuator.muscle->force < 0;
}

// Bodies, joints and what pulls on them: all that the mass matrix needs, without collision shapes to prepare.
Scene moving_parts(const Scene& scene) {
  Scene parts;
  parts.options = scene.options;
  parts.bodies = scene.bodies;
  parts.tendons = scene.tendons;
  parts.actuators = scene.actuators;
  parts.sites = scene.sites;
  std::set<std::string> wrapped;
  for (const Tendon& tendon : scene.tendons)
    for (const TendonPoint& point : tendon.path) wrapped.insert(point.name);
  for (const ShapeInstance& shape : scene.shapes) {
    if (wrapped.count(shape.name) == 0) continue;
    parts.shapes.push_back(shape);
    parts.shapes.back().collides = parts.shapes.back().has_mass = false;
    parts.shapes.back().material = "default";
  }
  const std::map<std::string, std::optional<Inertia>> inertias = calc_inertias(scene);
  for (Body& body : parts.bodies) body.inertia = inertias.at(body.name);
  for (Actuator& actuator : parts.actuators) {
    if (has_ratio(actuator)) actuator.bias[2] = 0;
    if (has_scale(actuator)) actuator.muscle->force = 1;
  }
  return parts;
}

}  // namespace

void settle_damping(Reader& reader) {
  std::vector<Actuator>& actuators = reader.scene.actuators;
  if (std::none_of(actuators.begin(), actuators.end(),
                   [](const Actuator& a) { return has_ratio(a) || has_scale(a); }) &&
      reader.spring_dampers.empty())
    return;
  Diagnostics problems;  // told when the scene itself is compiled
  const Model model = compile(moving_parts(reader.scene), &problems);
  if (!problems.ok()) {
    for (Actuator& actuator : actuators) {
      if (has_ratio(actuator)) actuator.bias[2] = 0;
      if (has_scale(actuator)) actuator.muscle->force = 1;
    }
    return;
  }
  if (model.num_velocities() == 0) return;
  const int n = model.num_velocities();
  const State state = initial_state(model);
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values(model.pattern.num_values());
  MatX M(n, n);
  calc_placement(model, state.q, &placement);
  calc_mass_matrix(model, placement, &workspace, &values);
  expand(model.pattern, values.data(), 0, n, M);
  const Eigen::LDLT<MatX> factor(M);
  for (std::size_t i = 0; i < actuators.size(); ++i) {
    Actuator& actuator = actuators[i];
    if (!has_ratio(actuator) && !has_scale(actuator)) continue;
    VecX r = VecX::Zero(n);
    const Transmission transmission = transmission_at(model, placement, model.actuators[i].transmission);
    for (const Transmission::Term& term : transmission.terms) r[term.dof] += term.coefficient;
    if (has_scale(actuator)) {
      actuator.muscle->force *= -1 / std::max(1e-15, factor.solve(r).norm());
      continue;
    }
    const double inverse_mass = r.dot(factor.solve(r));
    actuator.bias[2] =
        inverse_mass > 0 ? -2 * actuator.bias[2] * std::sqrt(std::max(0.0, actuator.gain) / inverse_mass) : 0;
  }
  for (const auto& [name, spring] : reader.spring_dampers) {
    const ModelJoint& read = model.joints[model.find_joint(name)];
    const int dofs = num_velocities(read.type);
    double inverse_mass = 0;
    for (int k = 0; k < dofs; ++k) inverse_mass += factor.solve(VecX::Unit(n, read.v + k))[read.v + k] / dofs;
    const auto [b, j] = reader.joint_index.at(name);
    Joint& joint = reader.scene.bodies[b].joints[j];
    if (!(inverse_mass > 0)) continue;
    joint.stiffness = 1 / (inverse_mass * spring[0] * spring[0] * spring[1] * spring[1]);
    joint.damping = 2 / (inverse_mass * spring[0]);
  }
}

}  // namespace capstan::mjcf
