#include "capstan/dynamics/forces.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/hash.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

struct Reading {
  double length = 0, rate = 0;
};

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

ForceGradient make_force_gradient(const Model& model) {
  ForceGradient g;
  g.stiffness = g.damping = g.magnitude = g.actuator_force = VecX::Zero(model.num_velocities());
  g.terms.reserve(model.actuators.size() + model.tendons.size());
  g.saturated.assign(model.num_velocities(), 0);
  return g;
}

ActuatorReading read_actuator(const Model& model, const ModelActuator& a, const VecX& q, const VecX& v,
                              double control) {
  const Reading r = read(model, a.transmission, q, v);
  const double u = std::clamp(control, a.control_range.lower, a.control_range.upper);
  const double force = a.gain * u + a.bias[0] + a.bias[1] * r.length + a.bias[2] * r.rate;
  const double clamped = std::clamp(force, a.force_range.lower, a.force_range.upper);
  const double magnitude = std::abs(a.gain * u) + std::abs(a.bias[0]) + std::abs(a.bias[1] * r.length) +
                           std::abs(a.bias[2] * r.rate);
  return {r.length, r.rate, clamped, clamped != force, magnitude};
}

void calc_forces(const Model& model, const VecX& q, const VecX& v, const VecX& control, VecX* tau,
                 ForceGradient* g) {
  const int n = model.num_velocities();
  g->terms.clear();
  for (int k = 0; k < n; ++k) {
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
  for (const ModelJoint& joint : model.joints) {
    if (joint.stiffness > 0) add_ball_spring(model, joint, q, tau, &g->stiffness);
  }
  for (const ModelTendon& tendon : model.tendons) {
    if (tendon.stiffness == 0 && tendon.damping == 0) continue;
    const Reading r = read(model, tendon.transmission, q, v);
    const double stretch = outside(r.length, tendon.spring_rest);
    const double force = -tendon.stiffness * stretch - tendon.damping * r.rate;
    for (const auto& term : tendon.transmission.terms) {
      (*tau)[term.dof] += term.coefficient * force;
      g->magnitude[term.dof] += std::abs(term.coefficient) * tendon.stiffness * std::abs(r.length);
    }
    if (tendon.transmission.tree >= 0) {
      g->terms.push_back({&tendon.transmission, stretch != 0 ? tendon.stiffness : 0, tendon.damping, false});
    }
  }
  if (model.actuators.empty()) return;
  g->actuator_force.setZero();
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const ModelActuator& a = model.actuators[i];
    const ActuatorReading r = read_actuator(model, a, q, v, control[i]);
    for (const auto& term : a.transmission.terms) {
      g->actuator_force[term.dof] += term.coefficient * r.force;
      g->magnitude[term.dof] += std::abs(term.coefficient) * r.magnitude;
    }
    const bool has_gradient = !r.saturated && (a.bias[1] < 0 || a.bias[2] < 0) && a.transmission.tree >= 0;
    if (has_gradient)
      g->terms.push_back({&a.transmission, std::max(0.0, -a.bias[1]), std::max(0.0, -a.bias[2]), true});
  }
  for (int k = 0; k < n; ++k) {
    const double limit = model.dofs[k].effort_limit;
    const double force = std::clamp(g->actuator_force[k], -limit, limit);
    g->saturated[k] = force != g->actuator_force[k];
    (*tau)[k] += force;
  }
}

std::uint64_t signature(const ForceGradient& g) {
  Hash hash;
  for (const ForceGradient::Term& term : g.terms) {
    hash.add(&term.transmission, sizeof term.transmission);
    hash.add(term.stiffness);
    hash.add(term.damping);
    hash.add(static_cast<std::int64_t>(term.is_actuator));
  }
  if (!g.saturated.empty()) hash.add(g.saturated.data(), g.saturated.size());
  return hash.value;
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
    const double stretch = outside(read(model, tendon.transmission, q, zero).length, tendon.spring_rest);
    twice += tendon.stiffness * stretch * stretch;
  }
  return twice / 2;
}

}  // namespace capstan
