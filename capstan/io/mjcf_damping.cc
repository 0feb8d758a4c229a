// <position dampratio>: the damping of a servo from the inertia it moves,
//
//     kv = 2 dampratio sqrt(kp m),     m = sum over its dofs of M_ii / r_i^2,
//
// with M the mass matrix of the whole model in its reference pose, rotors included, and r_i the rate of the
// actuator's length to dof i (gear, times the coefficient of a tendon). Ratio 1 is critical for a joint that
// nothing else moves. MuJoCo writes a ratio as a positive entry in biasprm[2] of a servo (where kv would be
// negative), and so do <general> actuators and the reader until this is called. Source: MuJoCo's
// engine_setconst.c.
#include <algorithm>
#include <cmath>

#include "capstan/dynamics/tree.h"
#include "capstan/io/mjcf_reader.h"
#include "capstan/model/model.h"
#include "capstan/state/state.h"

namespace capstan::mjcf {

namespace {

bool has_ratio(const Actuator& actuator) {
  return actuator.bias[2] > 0 && actuator.gain == -actuator.bias[1];
}

// Bodies, joints and what pulls on them: all that the mass matrix needs, without collision shapes to prepare.
Scene moving_parts(const Scene& scene) {
  Scene parts;
  parts.options = scene.options;
  parts.bodies = scene.bodies;
  parts.tendons = scene.tendons;
  parts.actuators = scene.actuators;
  const std::map<std::string, std::optional<Inertia>> inertias = calc_inertias(scene);
  for (Body& body : parts.bodies) body.inertia = inertias.at(body.name);
  for (Actuator& actuator : parts.actuators) {
    if (has_ratio(actuator)) actuator.bias[2] = 0;
  }
  return parts;
}

}  // namespace

void settle_damping(Reader& reader) {
  std::vector<Actuator>& actuators = reader.scene.actuators;
  if (std::none_of(actuators.begin(), actuators.end(), has_ratio)) return;
  Diagnostics problems;  // told when the scene itself is compiled
  const Model model = compile(moving_parts(reader.scene), &problems);
  if (!problems.ok()) {
    for (Actuator& actuator : actuators) {
      if (has_ratio(actuator)) actuator.bias[2] = 0;
    }
    return;
  }
  const int n = model.num_velocities();
  const State state = initial_state(model);
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values(model.pattern.num_values());
  MatX M(n, n);
  calc_placement(model, state.q, &placement);
  calc_mass_matrix(model, placement, &workspace, &values);
  expand(model.pattern, values.data(), 0, n, M);
  for (std::size_t i = 0; i < actuators.size(); ++i) {
    Actuator& actuator = actuators[i];
    if (!has_ratio(actuator)) continue;
    double mass = 0;
    for (const Transmission::Term& term : model.actuators[i].transmission.terms) {
      const double rate = term.coefficient;
      if (rate != 0) mass += M(term.dof, term.dof) / (rate * rate);
    }
    actuator.bias[2] = -2 * actuator.bias[2] * std::sqrt(std::max(0.0, actuator.gain * mass));
  }
}

}  // namespace capstan::mjcf
