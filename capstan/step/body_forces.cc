#include "capstan/step/body_forces.h"

#include <cmath>
#include <numbers>

namespace capstan {

namespace {

BodyForce drag(const Model& model, const DragBox& box, const Placement& placement, const Velocity& velocity) {
  const Transform X = body_pose(model, placement, box.body) * box.X_BI;
  const int l = model.bodies[box.body].link;
  const Vec6& V = velocity.V[l];
  const Vec3 at_com =
      V.tail<3>() + cross(Vec3(V.head<3>()), Vec3(X.p - placement.origin[model.links[l].object]));
  const Vec3 v = X.R.transpose() * (at_com - model.options.wind);
  const Vec3 w = X.R.transpose() * V.head<3>();
  const Vec3& s = box.size;
  const double mu = model.options.fluid_viscosity, rho = model.options.fluid_density;
  const double d = s.mean();
  Vec3 force, torque;
  for (int i = 0; i < 3; ++i) {
    const double sj = s[(i + 1) % 3], sk = s[(i + 2) % 3];
    const double fourth = sj * sj * sj * sj + sk * sk * sk * sk;
    force[i] = -3 * std::numbers::pi * mu * d * v[i] - rho / 2 * sj * sk * std::abs(v[i]) * v[i];
    torque[i] = -std::numbers::pi * mu * d * d * d * w[i] - rho / 64 * s[i] * fourth * std::abs(w[i]) * w[i];
  }
  return {box.body, X.p, X.R * force, X.R * torque};
}

}  // namespace

void add_body_forces(const Model& model, const State& state, Placement* placement, Velocity* velocity,
                     Input* input) {
  if (placement->X_WL.empty()) {
    *placement = make_placement(model);
    *velocity = make_velocity(model);
  }
  calc_placement(model, state.q, placement);
  for (const SiteActuator& s : model.site_actuators) {
    const ActuatorReading reading =
        read_actuator(model, model.actuators[s.actuator], state.q, state.v, state.control[s.actuator]);
    const Transform X = body_pose(model, *placement, s.body) * s.X_BS;
    input->body_forces.push_back(
        {s.body, X.p, X.R * (reading.force * s.gear.head<3>()), X.R * (reading.force * s.gear.tail<3>())});
  }
  if (model.drag_boxes.empty()) return;
  calc_velocity(model, *placement, state.v, velocity);
  for (const DragBox& box : model.drag_boxes)
    input->body_forces.push_back(drag(model, box, *placement, *velocity));
}

}  // namespace capstan
