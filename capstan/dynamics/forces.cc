#include "capstan/dynamics/forces.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "capstan/dynamics/muscle.h"
#include "capstan/dynamics/spatial_tendon.h"
#include "capstan/math/clones.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

bool has_constant_gain(const ModelActuator& a) {
  return a.gain_slope[0] == 0 && a.gain_slope[1] == 0 && !a.muscle;
}

// A motor does not look where it is.
bool is_motor(const ModelActuator& a) {
  return a.bias[1] == 0 && a.bias[2] == 0 && has_constant_gain(a);
}

using Reading = TransmissionReading;

// Along the coefficients of a path, which are those of q0.
Reading read_path(const Model& model, const Transmission& transmission, const VecX& q0, const VecX& q,
                  const VecX& v) {
  Reading r{transmission.length, 0};
  for (const Transmission::Term& term : transmission.terms) {
    const ModelDof& dof = model.dofs[term.dof];
    r.rate += term.coefficient * v[term.dof];
    if (dof.q >= 0) {
      r.length += term.coefficient * (q[dof.q] - q0[dof.q]);
      continue;
    }
    const ModelJoint& joint = model.joints[dof.joint];
    const int n = term.dof - joint.v, turn = joint.type == JointType::free ? 3 : 0;
    const int quat = joint.q + turn;
    r.length +=
        term.coefficient *
        (n < turn
             ? q[joint.q + n] - q0[joint.q + n]
             : quat_log(quat_multiply(q.segment<4>(quat), quat_conjugate(q0.segment<4>(quat))))[n - turn]);
  }
  return r;
}

Reading read(const Model& model, const Transmission& transmission, const VecX& q, const VecX& v) {
  Reading r;
  for (const Transmission::Term& term : transmission.terms) {
    const ModelDof& dof = model.dofs[term.dof];
    r.rate += term.coefficient * v[term.dof];
    if (dof.q >= 0) {
      r.length += term.coefficient * q[dof.q];
    } else if (model.joints[dof.joint].type == JointType::ball) {
      const ModelJoint& joint = model.joints[dof.joint];
      r.length += term.coefficient * quat_log(q.segment<4>(joint.q))[term.dof - joint.v];
    }
  }
  return r;
}

// Where the gain is not constant.
ActuatorReading calc_reading_of_gain(const ModelActuator& a, const Reading& r, double u) {
  ActuatorReading reading{r.length, r.rate};
  double stiffness = 0, damping = 0;
  if (a.muscle) {
    const MuscleForce f = calc_muscle_force(*a.muscle, u, r.length, r.rate);
    reading.unlimited = f.force;
    reading.magnitude = std::abs(f.force);
    damping = f.damping;
  } else {
    const double gain = a.gain + a.gain_slope.dot(Vec2(r.length, r.rate));
    reading.unlimited = gain * u + a.bias[0] + a.bias[1] * r.length + a.bias[2] * r.rate;
    reading.magnitude = std::abs(gain * u) + std::abs(a.bias[0]) + std::abs(a.bias[1] * r.length) +
                        std::abs(a.bias[2] * r.rate);
    stiffness = -a.bias[1] - a.gain_slope[0] * u;
    damping = -a.bias[2] - a.gain_slope[1] * u;
  }
  reading.force = std::clamp(reading.unlimited, a.force_range.lower, a.force_range.upper);
  reading.saturated = reading.force != reading.unlimited;
  reading.stiffness = std::max(0.0, stiffness);
  reading.damping = std::max(0.0, damping);
  return reading;
}

// What an actuator makes of what it sees.
inline ActuatorReading calc_reading(const ModelActuator& a, const Reading& r, double control) {
  const double u = std::clamp(control, a.input_range.lower, a.input_range.upper);
  if (!has_constant_gain(a)) return calc_reading_of_gain(a, r, u);
  const double force = a.gain * u + a.bias[0] + a.bias[1] * r.length + a.bias[2] * r.rate;
  const double clamped = std::clamp(force, a.force_range.lower, a.force_range.upper);
  const double magnitude = std::abs(a.gain * u) + std::abs(a.bias[0]) + std::abs(a.bias[1] * r.length) +
                           std::abs(a.bias[2] * r.rate);
  return {r.length,
          r.rate,
          clamped,
          force,
          clamped != force,
          magnitude,
          std::max(0.0, -a.bias[1]),
          std::max(0.0, -a.bias[2])};
}

signed char sign_of(double x) {
  return static_cast<signed char>((x > 0) - (x < 0));
}

double outside(double x, const Range& range) {
  return x < range.lower ? x - range.lower : x > range.upper ? x - range.upper : 0;
}

// Rotation (and for free joints translation) springs pull back to the identity (for free: to the pose at the
// start).
void add_ball_spring(const Model& model, const ModelJoint& joint, const VecX& q, VecX* tau, VecX* stiffness) {
  int iq = joint.q, iv = joint.v;
  if (joint.type == JointType::free) {
    tau->segment<3>(iv) -= joint.stiffness * (q.segment<3>(iq) - model.initial.q.segment<3>(iq));
    stiffness->segment<3>(iv).array() += joint.stiffness;
    iq += 3, iv += 3;
  }
  const Vec4 rest = joint.type == JointType::free ? Vec4(model.initial.q.segment<4>(iq)) : identity_quat();
  const Vec3 phi = quat_log(quat_multiply(q.segment<4>(iq), quat_conjugate(rest)));
  tau->segment<3>(iv) -= joint.stiffness * phi;
  stiffness->segment<3>(iv).array() += joint.stiffness;
}

}  // namespace

std::vector<ForceRange> make_force_ranges(const Model& model, const std::vector<int>& bounds) {
  std::vector<ForceRange> ranges(bounds.size() - 1);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].dof_begin = bounds[i];
    ranges[i].dof_end = bounds[i + 1];
  }
  const auto range_of = [&](int dof) -> ForceRange& {
    return ranges[std::upper_bound(bounds.begin(), bounds.end(), dof) - bounds.begin() - 1];
  };
  for (int i = 0; i < static_cast<int>(model.joints.size()); ++i) {
    if (model.joints[i].stiffness > 0) range_of(model.joints[i].v).joints.push_back(i);
  }
  for (int i = 0; i < static_cast<int>(model.tendons.size()); ++i) {
    const ModelTendon& tendon = model.tendons[i];
    if (tendon.transmission.terms.empty() || (tendon.stiffness == 0 && tendon.damping == 0)) continue;
    range_of(tendon.transmission.terms.front().dof).tendons.push_back(i);
  }
  for (int i = 0; i < static_cast<int>(model.actuators.size()); ++i) {
    const Transmission& transmission = model.actuators[i].transmission;
    if (transmission.terms.empty()) continue;
    ForceRange& range = range_of(transmission.terms.front().dof);
    range.actuators.push_back(i);
    range.has_motors_only = range.has_motors_only && is_motor(model.actuators[i]);
  }
  return ranges;
}

ForceGradient make_force_gradient(const Model& model) {
  ForceGradient g;
  g.stiffness = g.damping = g.magnitude = g.actuator_force = VecX::Zero(model.num_velocities());
  for (const ModelTendon& tendon : model.tendons) g.terms.push_back({&tendon.transmission, 0, 0, false});
  g.first_actuator = static_cast<int>(g.terms.size());
  for (const ModelActuator& a : model.actuators) g.terms.push_back({&a.transmission, 0, 0, true});
  g.saturated.assign(model.num_velocities(), 0);
  g.all = make_force_ranges(model, {0, model.num_velocities()}).front();
  g.paths = std::make_shared<std::vector<Transmission>>();
  g.path_of.assign(g.terms.size(), -1);
  g.path_q = VecX::Zero(model.num_positions);
  for (std::size_t i = 0; i < g.terms.size(); ++i) {
    if (g.terms[i].transmission->path < 0) continue;
    g.path_of[i] = static_cast<int>(g.paths->size());
    g.paths->push_back(*g.terms[i].transmission);
  }
  for (std::size_t i = 0; i < g.terms.size(); ++i) {
    if (g.path_of[i] >= 0) g.terms[i].transmission = &(*g.paths)[g.path_of[i]];
  }
  return g;
}

void take_paths(const Model& model, const ForceRange& range, const Placement& placement, const VecX& q,
                ForceGradient* g) {
  if (g->paths->empty()) return;
  const auto take = [&](int term) {
    if (g->path_of[term] < 0) return;
    Transmission& path = (*g->paths)[g->path_of[term]];
    calc_path(model, placement, &path);
    for (const Transmission::Term& t : path.terms) {  // these alone: another thread has the other dofs
      const ModelJoint& joint = model.joints[model.dofs[t.dof].joint];
      const int n = num_positions(joint.type);
      g->path_q.segment(joint.q, n) = q.segment(joint.q, n);
    }
  };
  for (const int i : range.tendons) take(i);
  for (const int i : range.actuators) take(g->first_actuator + i);
}

ActuatorReading read_actuator(const Model& model, const ModelActuator& a, const VecX& q, const VecX& v,
                              double control) {
  return calc_reading(a, read_transmission(model, a.transmission, q, v), control);
}

TransmissionReading read_transmission(const Model& model, const Transmission& transmission, const VecX& q,
                                      const VecX& v) {
  if (transmission.path < 0) return read(model, transmission, q, v);
  Placement placement = make_placement(model);
  calc_placement(model, q, &placement);
  return read_path(model, transmission_at(model, placement, transmission), q, q, v);
}

void calc_forces(const Model& model, const VecX& q, const VecX& v, const VecX& control, VecX* tau,
                 ForceGradient* g) {
  if (model.has_spatial_tendons) {
    Placement placement = make_placement(model);
    calc_placement(model, q, &placement);
    take_paths(model, g->all, placement, q, g);
  }
  calc_forces(model, g->all, q, v, control, tau, g);
}

CAPSTAN_FLAT_CLONES void calc_forces(const Model& model, const ForceRange& range, const VecX& q,
                                     const VecX& v, const VecX& control, VecX* tau, ForceGradient* g,
                                     bool again) {
  for (int k = range.dof_begin; k < range.dof_end; ++k) {
    const ModelDof& dof = model.dofs[k];
    double t = -dof.damping * v[k];
    double size = std::abs(t);
    if (dof.stiffness > 0) {
      const double spring = dof.stiffness * (q[dof.q] - dof.spring_reference);
      t -= spring;
      size += std::abs(spring);
    }
    (*tau)[k] = t;
    g->magnitude[k] = size;
    g->stiffness[k] = dof.stiffness;
    g->damping[k] = dof.damping;
  }
  for (const int i : range.joints) add_ball_spring(model, model.joints[i], q, tau, &g->stiffness);
  const auto read_now = [&](const Transmission& transmission) {
    return transmission.path < 0 ? read(model, transmission, q, v)
                                 : read_path(model, transmission, g->path_q, q, v);
  };
  for (const int i : range.tendons) {
    const ModelTendon& tendon = model.tendons[i];
    const Transmission& transmission = *g->terms[i].transmission;
    const Reading r = read_now(transmission);
    const double stretch = outside(r.length, tendon.spring_rest);
    const double force = -tendon.stiffness * stretch - tendon.damping * r.rate;
    for (const auto& term : transmission.terms) {
      (*tau)[term.dof] += term.coefficient * force;
      g->magnitude[term.dof] += std::abs(term.coefficient) * tendon.stiffness * std::abs(r.length);
    }
    g->terms[i].side = sign_of(stretch);
    if (transmission.tree >= 0) {
      g->terms[i].stiffness = stretch != 0 ? tendon.stiffness : 0;
      g->terms[i].damping = tendon.damping;
    }
  }
  if (range.actuators.empty()) return;
  const bool are_known = again && range.has_motors_only;
  for (int k = range.dof_begin; k < range.dof_end && !are_known; ++k) g->actuator_force[k] = 0;
  for (const int i : are_known ? std::span<const int>() : std::span(range.actuators)) {
    const ModelActuator& a = model.actuators[i];
    const Transmission& transmission = *g->terms[g->first_actuator + i].transmission;
    const ActuatorReading r = calc_reading(a, is_motor(a) ? Reading{} : read_now(transmission), control[i]);
    for (const auto& term : transmission.terms) {
      g->actuator_force[term.dof] += term.coefficient * r.force;
      g->magnitude[term.dof] += std::abs(term.coefficient) * r.magnitude;
    }
    const bool has_gradient = !r.saturated && a.transmission.tree >= 0;
    ForceGradient::Term& term = g->terms[g->first_actuator + i];
    term.stiffness = has_gradient ? r.stiffness : 0;
    term.damping = has_gradient ? r.damping : 0;
    term.side = sign_of(r.unlimited - r.force);
  }
  for (int k = range.dof_begin; k < range.dof_end; ++k) {
    const double limit = model.dofs[k].effort_limit;
    const double force = std::clamp(g->actuator_force[k], -limit, limit);
    g->saturated[k] = sign_of(g->actuator_force[k] - force);
    (*tau)[k] += force;
  }
}

std::uint64_t signature(const ForceGradient& g, const ForceRange& range) {
  std::uint64_t value = 14695981039346656037ull;  // as in base/hash.h, but whole numbers at a time
  const auto mix = [&](std::uint64_t x) {
    value = (value ^ x) * 1099511628211ull;
    value ^= value >> 29;
  };
  const auto add = [&](const ForceGradient::Term& term) {
    mix(std::bit_cast<std::uint64_t>(term.stiffness));
    mix(std::bit_cast<std::uint64_t>(term.damping) + static_cast<std::uint64_t>(term.side));
  };
  for (const int i : range.tendons) add(g.terms[i]);
  if (range.has_motors_only) return value;
  for (const int i : range.actuators) add(g.terms[g.first_actuator + i]);
  for (int k = range.dof_begin; k < range.dof_end; ++k) mix(static_cast<std::uint64_t>(g.saturated[k]));
  return value;
}

bool is_piecewise_linear(const Model& model, const ForceRange& range) {
  const auto is_linear = [&](const Transmission& transmission) {
    return transmission.tree >= 0 && transmission.path < 0 &&
           std::all_of(transmission.terms.begin(), transmission.terms.end(),
                       [&](const Transmission::Term& term) { return model.dofs[term.dof].q >= 0; });
  };
  return range.joints.empty() &&
         std::all_of(range.tendons.begin(), range.tendons.end(),
                     [&](int i) { return is_linear(model.tendons[i].transmission); }) &&
         std::all_of(range.actuators.begin(), range.actuators.end(), [&](int i) {
           const ModelActuator& a = model.actuators[i];
           return (is_motor(a) && a.transmission.path < 0) ||
                  (has_constant_gain(a) && a.bias[1] <= 0 && a.bias[2] <= 0 &&
                   a.transmission.terms.size() == 1 && is_linear(a.transmission));
         });
}

bool has_paths(const Model& model, const ForceRange& range) {
  return std::any_of(range.tendons.begin(), range.tendons.end(),
                     [&](int i) { return model.tendons[i].transmission.path >= 0; }) ||
         std::any_of(range.actuators.begin(), range.actuators.end(),
                     [&](int i) { return model.actuators[i].transmission.path >= 0; });
}

double calc_spring_energy(const Model& model, const VecX& q) {
  double twice = 0;
  for (const ModelDof& dof : model.dofs) {
    if (dof.stiffness > 0) twice += dof.stiffness * std::pow(q[dof.q] - dof.spring_reference, 2);
  }
  for (const ModelJoint& joint : model.joints) {
    if (joint.stiffness == 0) continue;
    int iq = joint.q;
    Vec4 rest = identity_quat();
    if (joint.type == JointType::free) {
      twice += joint.stiffness * (q.segment<3>(iq) - model.initial.q.segment<3>(iq)).squaredNorm();
      iq += 3;
      rest = model.initial.q.segment<4>(iq);
    }
    twice += joint.stiffness * quat_log(quat_multiply(q.segment<4>(iq), quat_conjugate(rest))).squaredNorm();
  }
  const VecX zero = VecX::Zero(model.num_velocities());
  for (const ModelTendon& tendon : model.tendons) {
    if (tendon.stiffness == 0) continue;
    const double stretch =
        outside(read_transmission(model, tendon.transmission, q, zero).length, tendon.spring_rest);
    twice += tendon.stiffness * stretch * stretch;
  }
  return twice / 2;
}

}  // namespace capstan
