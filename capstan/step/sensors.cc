#include "capstan/step/sensors.h"

#include <fmt/core.h>

#include <algorithm>

#include "capstan/dynamics/spatial_tendon.h"
#include "capstan/math/rotation.h"
#include "capstan/step/body_forces.h"
#include "capstan/step/contact_forces.h"

namespace capstan {

namespace {

// Velocity and acceleration of links about the origin of their tree (dynamics/tree.h), for one state.
struct Kinematics {
  Placement placement;
  Velocity velocity;
  std::vector<Vec6> A;  // [links]

  Kinematics(const Model& model, const State& state)
      : placement(make_placement(model)),
        velocity(make_velocity(model)),
        A(model.links.size(), Vec6::Zero()) {
    calc_placement(model, state.q, &placement);
    calc_velocity(model, placement, state.v, &velocity);
    for (int l = 1; l < model.num_tree_links(); ++l) {
      const Link& link = model.links[l];
      A[l] = A[link.parent] + velocity.bias[l];
      if (state.a.size() == 0) continue;
      for (int k = link.dof_begin; k < link.dof_end; ++k) A[l] += placement.S[k] * state.a[k];
    }
  }
};

struct Motion6 {  // of a point that is fixed to a body, world axes
  Vec3 w = Vec3::Zero(), v = Vec3::Zero(), alpha = Vec3::Zero(), a = Vec3::Zero();
};

Motion6 motion_at(const Model& model, const Kinematics& k, int body, const Vec3& p_W) {
  const int l = model.bodies[body].link;
  if (l == 0) return {};
  const Vec3 r = p_W - k.placement.origin[model.links[l].object];
  const Vec6 &V = k.velocity.V[l], &A = k.A[l];
  Motion6 m;
  m.w = V.head<3>();
  m.v = V.tail<3>() + cross(m.w, r);
  m.alpha = A.head<3>();
  m.a = A.tail<3>() + cross(m.alpha, r) + cross(m.w, m.v);
  return m;
}

struct Reader {
  const Model& model;
  const SensorSet& set;
  const State& state;
  const Input* input;
  const Workspace* workspace;  // null before the first step
  Kinematics k;
  VecX inputs = calc_actuator_inputs(model, state);
  std::vector<ContactForce> contacts = {};

  Transform pose(int body) const { return body_pose(model, k.placement, body); }

  struct Sum {  // over all below a body
    double mass = 0;
    Vec3 moment = Vec3::Zero();    // mass times centre
    Vec3 momentum = Vec3::Zero();  // linear, and
    Vec3 angular = Vec3::Zero();   // angular about the world's origin
  };
  Sum sum(const std::vector<char>& below) const {
    Sum all;
    for (std::size_t b = 1; b < below.size(); ++b) {
      const Inertia& inertia = set.inertia[b];
      if (!below[b] || !(inertia.mass > 0)) continue;
      const Transform X = pose(static_cast<int>(b));
      const Vec3 com = X * inertia.com;
      const Motion6 m = motion_at(model, k, static_cast<int>(b), com);
      const Vec3 p = inertia.mass * m.v;
      all.mass += inertia.mass;
      all.moment += inertia.mass * com;
      all.momentum += p;
      all.angular += cross(com, p) + X.R * (inertia.about_com * (X.R.transpose() * m.w));
    }
    return all;
  }

  // (torque about p_W, force) that the parent exerts on a body with all below it.
  Vec6 wrench(const std::vector<char>& below, const Vec3& p_W) const {
    Vec3 force = Vec3::Zero(), torque = Vec3::Zero();
    const auto add = [&](const Vec3& at, const Vec3& f) {
      force += f;
      torque += cross(at - p_W, f);
    };
    for (std::size_t b = 1; b < below.size(); ++b) {
      const Inertia& inertia = set.inertia[b];
      if (!below[b] || !(inertia.mass > 0)) continue;
      const Transform X = pose(static_cast<int>(b));
      const Vec3 com = X * inertia.com;
      const Motion6 m = motion_at(model, k, static_cast<int>(b), com);
      const Mat3 I = X.R * inertia.about_com * X.R.transpose();
      const Vec3 g = set.is_weightless[b] ? Vec3(Vec3::Zero()) : model.options.gravity;
      add(com, inertia.mass * (m.a - g));
      torque += I * m.alpha + cross(m.w, I * m.w);
    }
    for (const ContactForce& c : contacts) {
      const auto inside = [&](int shape) { return below[model.shapes[shape].body] != 0; };
      if (inside(c.shape_b)) add(c.p_W, -c.force_W()), torque -= c.torque_W;
      if (inside(c.shape_a)) add(c.p_W, c.force_W()), torque += c.torque_W;
    }
    for (std::size_t i = 0; input && i < input->body_forces.size(); ++i) {
      const BodyForce& f = input->body_forces[i];
      if (!below[f.body]) continue;
      add(f.point_W, -f.force_W);
      torque -= f.torque_W;
    }
    Vec6 result;
    result << torque, force;
    return result;
  }

  bool is_asleep(int body) const { return is_link_asleep(model.bodies[body].link); }

  bool is_link_asleep(int link) const {
    const int object = model.links[link].object;
    return object >= 0 && object < static_cast<int>(state.rest.size()) && state.rest[object].is_asleep();
  }

  bool is_at(const SensorSet::Contact& at, int shape) const {
    return (at.shape < 0 || at.shape == shape) && (at.body < 0 || at.body == model.shapes[shape].body) &&
           (at.object < 0 || at.object == model.links[model.shapes[shape].link].object);
  }

  // Calls each(contact, force) for the contacts of a sensor: with the force on what it is on.
  template <class Each>
  void each_contact(const SensorSet::Entry& e, const Each& each) const {
    for (const ContactForce& c : contacts) {
      if (is_at(e.on, c.shape_b) && is_at(e.other, c.shape_a)) {
        each(c, c.force_W());
      } else if (is_at(e.on, c.shape_a) && is_at(e.other, c.shape_b)) {
        each(c, Vec3(-c.force_W()));
      }
    }
  }

  void read_contacts(const SensorSet::Entry& e, double* out) const {
    const bool sleeps = e.on.is_any() ? e.index > 0 && is_asleep(e.index) : is_asleep(e.index);
    if (sleeps) return;  // what it read last
    Vec3 force = Vec3::Zero();
    double normal = 0;
    int count = 0;
    each_contact(e, [&](const ContactForce& c, const Vec3& f) {
      force += f;
      normal += c.normal_force;
      count += c.normal_force > 0;
    });
    if (e.type == SensorType::contact_force) {
      Vec3::Map(out) = force;
    } else {
      *out = e.type == SensorType::touch ? normal : count;
    }
  }

  // Spring and damper are those of the state, limit and dry friction of the last step.
  void read_tendon_force(const SensorSet::Entry& e, double* out) const {
    const ModelTendon& tendon = model.tendons[e.index];
    const auto& terms = tendon.transmission.terms;
    if (!terms.empty() && is_link_asleep(model.dofs[terms.front().dof].link)) return;  // what it read last
    const TransmissionReading r = read_transmission(model, tendon.transmission, state.q, state.v);
    const double nearest = std::clamp(r.length, tendon.spring_rest.lower, tendon.spring_rest.upper);
    *out = tendon.stiffness * (r.length - nearest) + tendon.damping * r.rate;
    if (workspace) *out += calc_tendon_force(*workspace, e.index);
  }

  // Sum of the actuators on each dof of a joint.
  void read_joint_force(const ModelJoint& joint, int size, double* out) const {
    VecX::Map(out, size).setZero();
    for (std::size_t a = 0; a < model.actuators.size(); ++a) {
      const Transmission transmission = transmission_at(model, k.placement, model.actuators[a].transmission);
      for (const Transmission::Term& term : transmission.terms) {
        const int n = term.dof - joint.v;
        if (n < 0 || n >= size) continue;
        out[n] +=
            term.coefficient * read_actuator(model, model.actuators[a], state.q, state.v, inputs[a]).force;
      }
    }
    for (int n = 0; n < size; ++n) out[n] = std::clamp(out[n], -joint.effort_limit, joint.effort_limit);
  }

  void read(std::size_t i, double* out) const {
    const SensorSet::Entry& e = set.entries[i];
    if (e.type == SensorType::clock) {
      *out = state.time;
    } else if (e.type == SensorType::joint_force) {
      read_joint_force(model.joints[e.index], e.size, out);
    } else if (is_of_joint(e.type)) {
      const ModelJoint& joint = model.joints[e.index];
      for (int n = 0; n < e.size; ++n)
        out[n] = e.type == SensorType::joint_position ? state.q[joint.q + n] : state.v[joint.v + n];
    } else if (e.type == SensorType::tendon_position || e.type == SensorType::tendon_velocity) {
      const TransmissionReading reading =
          read_transmission(model, model.tendons[e.index].transmission, state.q, state.v);
      *out = e.type == SensorType::tendon_position ? reading.length : reading.rate;
    } else if (e.type == SensorType::tendon_force) {
      read_tendon_force(e, out);
    } else if (e.type >= SensorType::actuator_position && e.type <= SensorType::actuator_force) {
      const ActuatorReading reading =
          read_actuator(model, model.actuators[e.index], state.q, state.v, inputs[e.index]);
      *out = e.type == SensorType::actuator_position   ? reading.length
             : e.type == SensorType::actuator_velocity ? reading.rate
                                                       : reading.force;
    } else if (e.type >= SensorType::touch && e.type <= SensorType::contact_count) {
      read_contacts(e, out);
    } else if (e.type >= SensorType::subtree_com) {
      read_subtree(e, set.below[i], out);
    } else {
      read_frame(e, set.below[i], out);
    }
    const double lowest = e.type == SensorType::range_finder ? -1 : -e.cutoff;  // -1: nothing is there
    for (int n = 0; n < e.size; ++n) out[n] = std::clamp(out[n], lowest, e.cutoff);
  }

  void read_subtree(const SensorSet::Entry& e, const std::vector<char>& below, double* out) const {
    const Sum all = sum(below);
    const bool has_mass = all.mass > 0;
    const Vec3 com = has_mass ? Vec3(all.moment / all.mass) : pose(e.index).p;
    Vec3::Map(out) = e.type == SensorType::subtree_com        ? com
                     : e.type == SensorType::subtree_momentum ? all.momentum
                     : e.type == SensorType::subtree_velocity ? Vec3(all.momentum / (has_mass ? all.mass : 1))
                                                              : Vec3(all.angular - cross(com, all.momentum));
  }

  double range(const SensorSet::Entry& e, const Transform& X) const {
    const SceneRayHit hit = cast_ray(model, k.placement, X.p, X.R.col(2), kInfinity, e.index);
    return hit.shape < 0 ? -1 : hit.hit.distance;
  }

  void read_frame(const SensorSet::Entry& e, const std::vector<char>& below, double* out) const {
    if (is_of_forces(e.type) && is_asleep(e.index)) return;  // what it read last
    const auto put = [&](const Vec3& v) { Vec3::Map(out) = v; };
    Transform X = pose(e.index) * e.X_BF;
    Motion6 m = motion_at(model, k, e.index, X.p);
    if (e.relative.body >= 0) {  // as seen from there
      const Transform X_WR = pose(e.relative.body) * e.relative.X_BF;
      const Motion6 r = motion_at(model, k, e.relative.body, X_WR.p);
      const Mat3 R_T = X_WR.R.transpose();
      m.v = R_T * (m.v - r.v - cross(r.w, Vec3(X.p - X_WR.p)));
      m.w = R_T * (m.w - r.w);
      X = inverse(X_WR) * X;
    }
    const Mat3 R_T = X.R.transpose();
    switch (e.type) {
      case SensorType::frame_position:
        return put(X.p);
      case SensorType::frame_quat:
        Vec4::Map(out) = quat_from_matrix(X.R);
        return;
      case SensorType::frame_x_axis:
        return put(X.R.col(0));
      case SensorType::frame_y_axis:
        return put(X.R.col(1));
      case SensorType::frame_z_axis:
        return put(X.R.col(2));
      case SensorType::frame_velocity:
        return put(m.v);
      case SensorType::frame_angular_velocity:
        return put(m.w);
      case SensorType::frame_acceleration:
        return put(m.a);
      case SensorType::frame_angular_acceleration:
        return put(m.alpha);
      case SensorType::frame_proper_acceleration:
        return put(m.a - model.options.gravity);
      case SensorType::velocimeter:
        return put(R_T * m.v);
      case SensorType::gyro:
        return put(R_T * m.w);
      case SensorType::accelerometer:
        return put(R_T * (m.a - model.options.gravity));
      case SensorType::magnetometer:
        return put(R_T * model.options.magnetic_field);
      case SensorType::range_finder:
        *out = range(e, X);
        return;
      case SensorType::force:
        return put(R_T * wrench(below, X.p).tail<3>());
      case SensorType::torque:
        return put(R_T * wrench(below, X.p).head<3>());
      default:
        CAPSTAN_ASSERT(false);
    }
  }
};

}  // namespace

std::vector<std::pair<std::string, std::string>> SensorSet::columns() const {
  constexpr const char* kAxes[] = {".x", ".y", ".z"};
  constexpr const char* kQuat[] = {".w", ".x", ".y", ".z"};
  std::vector<std::pair<std::string, std::string>> list;
  for (const Entry& e : entries) {
    for (int n = 0; n < e.size; ++n) {
      const std::string part = e.size == 1           ? ""
                               : is_of_joint(e.type) ? fmt::format(".{}", n + 1)
                               : e.size == 4         ? kQuat[n]
                                                     : kAxes[n];
      list.emplace_back(e.name + part, e.unit.empty() ? "1" : e.unit);
    }
  }
  return list;
}

void read_sensors(const Model& model, const SensorSet& sensors, const State& state,
                  const Workspace* workspace, const Input* input, VecX* values) {
  if (values->size() != sensors.size) values->setZero(sensors.size);
  Reader reader{model, sensors, state, input, workspace, Kinematics(model, state)};
  if (workspace && adds_forces(model)) reader.input = &workspace->acting;
  if (workspace) calc_contact_forces(*workspace, &reader.contacts);
  for (std::size_t i = 0; i < sensors.entries.size(); ++i)
    reader.read(i, values->data() + sensors.entries[i].begin);
}

}  // namespace capstan
