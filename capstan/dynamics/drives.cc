#include "capstan/dynamics/drives.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/forces.h"

namespace capstan {
namespace {

// Gains that feed energy in are not implicit: their force is taken at v*.
bool has_gains(const ModelActuator& a) {
  return (a.bias[1] < 0 || a.bias[2] < 0) && a.gain_slope.isZero(0) && !a.muscle;
}

bool has_range(const ModelActuator& a) {
  return std::isfinite(a.force_range.lower) || std::isfinite(a.force_range.upper);
}

}  // namespace

std::vector<Drive> find_drives(const Model& model) {
  struct Pull {
    int actuator;
    double coefficient;
    bool alone;  // the actuator acts on no other dof
  };
  std::vector<std::vector<Pull>> pulls(model.dofs.size());
  std::vector<Drive> drives;
  const auto is_limited = [&](int dof) { return std::isfinite(model.dofs[dof].effort_limit); };
  for (int i = 0; i < static_cast<int>(model.actuators.size()); ++i) {
    const ModelActuator& a = model.actuators[i];
    const std::vector<Transmission::Term>& terms = a.transmission.terms;
    bool any_limit = false, any_pull = false;
    for (const auto& term : terms) {
      pulls[term.dof].push_back({i, term.coefficient, terms.size() == 1 && a.transmission.path < 0});
      any_limit = any_limit || is_limited(term.dof);
      any_pull = any_pull || term.coefficient != 0;
    }
    if (any_limit || !any_pull || !has_gains(a) || !has_range(a) || a.transmission.path >= 0) continue;
    Drive& drive = drives.emplace_back();
    if (terms.size() == 1) {
      drive.transmission.terms = {{terms[0].dof, 1}};
      drive.transmission.tree = a.transmission.tree;
      drive.members = {{i, terms[0].coefficient}};
    } else {
      drive.transmission = a.transmission;
      drive.members = {{i, 1}};
    }
  }
  for (int k = 0; k < static_cast<int>(model.dofs.size()); ++k) {
    if (!is_limited(k)) continue;
    Drive drive;
    drive.transmission.terms = {{k, 1}};
    drive.transmission.tree = model.dofs[k].object;
    drive.effort_limit = model.dofs[k].effort_limit;
    int gains = 0, ranges = 0;
    bool alone = true;
    for (const Pull& pull : pulls[k]) {
      const ModelActuator& a = model.actuators[pull.actuator];
      alone = alone && pull.alone;
      if (pull.coefficient == 0) continue;
      gains += has_gains(a);
      ranges += has_gains(a) && has_range(a);
      drive.members.push_back({pull.actuator, pull.coefficient});
    }
    if (alone && gains > 0 && (gains == 1 || ranges == 0)) drives.push_back(drive);
  }
  return drives;
}

DriveForce calc_drive_force(const Model& model, const Drive& drive, const VecX& q, const VecX& v,
                            const VecX& control) {
  DriveForce sum;
  for (const Drive::Member& member : drive.members) {
    const ModelActuator& a = model.actuators[member.actuator];
    const double c = member.coefficient;
    const ActuatorReading r = read_actuator(model, a, q, v, control[member.actuator]);
    if (!has_gains(a)) {
      sum.force += c * r.force;
      sum.lower += c * r.force;
      sum.upper += c * r.force;
      continue;
    }
    sum.force += c * r.unlimited;
    sum.lower += std::min(c * a.force_range.lower, c * a.force_range.upper);
    sum.upper += std::max(c * a.force_range.lower, c * a.force_range.upper);
    sum.stiffness += c * c * std::max(0.0, -a.bias[1]);
    sum.damping += c * c * std::max(0.0, -a.bias[2]);
  }
  sum.lower = std::clamp(sum.lower, -drive.effort_limit, drive.effort_limit);
  sum.upper = std::clamp(sum.upper, -drive.effort_limit, drive.effort_limit);
  return sum;
}

}  // namespace capstan
