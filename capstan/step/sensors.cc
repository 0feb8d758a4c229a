#include "capstan/step/sensors.h"

#include <fmt/core.h>

#include "capstan/base/closest_name.h"
#include "capstan/math/rotation.h"
#include "capstan/model/inertia.h"
#include "capstan/step/contact_forces.h"

namespace capstan {

namespace {

bool is_of_subtree(SensorType type) {
  return type == SensorType::force || type == SensorType::torque || type == SensorType::subtree_com ||
         type == SensorType::subtree_momentum;
}

std::vector<char> bodies_below(const Model& model, int root) {
  std::vector<char> below(model.bodies.size(), 0);
  for (std::size_t b = 0; b < below.size(); ++b) {  // parents come first
    const int parent = model.bodies[b].parent;
    below[b] =
        static_cast<int>(b) == root || (b > 0 && parent >= 0 && below[static_cast<std::size_t>(parent)]);
  }
  return below;
}

// Each body alone: the model has them summed over links.
std::vector<Inertia> body_inertias(const Model& model, const Scene& scene) {
  std::vector<Inertia> inertias(model.bodies.size());
  std::vector<char> written(model.bodies.size(), 0);
  for (const Body& body : scene.bodies) {
    const int b = model.find_body(body.name);
    if (b < 0 || !body.inertia) continue;
    inertias[static_cast<std::size_t>(b)] = *body.inertia;
    written[static_cast<std::size_t>(b)] = 1;
  }
  for (const ShapeInstance& shape : scene.shapes) {
    const int b = model.find_body(shape.body);
    if (b > 0 && !written[static_cast<std::size_t>(b)])
      add_inertia(shape_inertia(shape), {}, &inertias[static_cast<std::size_t>(b)]);
  }
  return inertias;
}

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
    for (std::size_t l = 1; l < A.size(); ++l) {
      const Link& link = model.links[l];
      A[l] = A[static_cast<std::size_t>(link.parent)] + velocity.bias[l];
      for (int k = link.dof_begin; k < link.dof_end && state.a.size() > 0; ++k)
        A[l] += placement.S[static_cast<std::size_t>(k)] * state.a[k];
    }
  }
};

struct Motion6 {  // of a point that is fixed to a body, world axes
  Vec3 w = Vec3::Zero(), v = Vec3::Zero(), alpha = Vec3::Zero(), a = Vec3::Zero();
};

Motion6 motion_at(const Model& model, const Kinematics& k, int body, const Vec3& p_W) {
  const std::size_t l = static_cast<std::size_t>(model.bodies[static_cast<std::size_t>(body)].link);
  if (l == 0) return {};
  const Vec3 r = p_W - k.placement.origin[static_cast<std::size_t>(model.links[l].object)];
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
  Kinematics k;
  std::vector<ContactForce> contacts = {};

  Transform pose(int body) const { return body_pose(model, k.placement, body); }

  // Mass, mass times centre, momentum of all below a body.
  void sum(const std::vector<char>& below, double* mass, Vec3* moment, Vec3* momentum) const {
    for (std::size_t b = 1; b < below.size(); ++b) {
      if (!below[b] || !(set.inertia[b].mass > 0)) continue;
      const Vec3 com = pose(static_cast<int>(b)) * set.inertia[b].com;
      *mass += set.inertia[b].mass;
      *moment += set.inertia[b].mass * com;
      *momentum += set.inertia[b].mass * motion_at(model, k, static_cast<int>(b), com).v;
    }
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
      add(com, inertia.mass * (m.a - model.options.gravity));
      torque += I * m.alpha + cross(m.w, I * m.w);
    }
    for (const ContactForce& c : contacts) {
      const auto inside = [&](int shape) {
        return below[static_cast<std::size_t>(model.shapes[static_cast<std::size_t>(shape)].body)] != 0;
      };
      if (inside(c.shape_b)) add(c.p_W, -c.force_W());
      if (inside(c.shape_a)) add(c.p_W, c.force_W());
    }
    for (std::size_t i = 0; input && i < input->body_forces.size(); ++i) {
      const BodyForce& f = input->body_forces[i];
      if (!below[static_cast<std::size_t>(f.body)]) continue;
      add(f.point_W, -f.force_W);
      torque -= f.torque_W;
    }
    Vec6 result;
    result << torque, force;
    return result;
  }

  double touch(int body) const {
    double sum = 0;
    for (const ContactForce& c : contacts) {
      if (model.shapes[static_cast<std::size_t>(c.shape_a)].body == body ||
          model.shapes[static_cast<std::size_t>(c.shape_b)].body == body)
        sum += c.normal_force;
    }
    return sum;
  }

  void read(std::size_t i, double* out) const {
    const SensorSet::Entry& e = set.entries[i];
    const auto put = [&](const Vec3& v) { Eigen::Map<Vec3>{out} = v; };
    const bool on_joint = e.type == SensorType::joint_position || e.type == SensorType::joint_velocity;
    const bool on_actuator = e.type >= SensorType::actuator_position && e.type <= SensorType::actuator_force;
    if (e.type == SensorType::clock) {
      *out = state.time;
    } else if (on_joint) {
      const ModelJoint& joint = model.joints[static_cast<std::size_t>(e.index)];
      for (int n = 0; n < e.size; ++n)
        out[n] = e.type == SensorType::joint_position ? state.q[joint.q + n] : state.v[joint.v + n];
    } else if (on_actuator) {
      const ActuatorReading reading = read_actuator(model, model.actuators[static_cast<std::size_t>(e.index)],
                                                    state.q, state.v, state.control[e.index]);
      *out = e.type == SensorType::actuator_position   ? reading.length
             : e.type == SensorType::actuator_velocity ? reading.rate
                                                       : reading.force;
    } else {
      read_frame(e, set.below[i], out, put);
    }
  }

  template <class Put>
  void read_frame(const SensorSet::Entry& e, const std::vector<char>& below, double* out,
                  const Put& put) const {
    const Transform X = pose(e.index) * e.X_BF;
    const Motion6 m = motion_at(model, k, e.index, X.p);
    const Mat3 R_T = X.R.transpose();
    switch (e.type) {
      case SensorType::frame_position:
        return put(X.p);
      case SensorType::frame_quat:
        Eigen::Map<Vec4>(out, 4) = quat_from_matrix(X.R);
        return;
      case SensorType::frame_velocity:
        return put(m.v);
      case SensorType::frame_angular_velocity:
        return put(m.w);
      case SensorType::velocimeter:
        return put(R_T * m.v);
      case SensorType::gyro:
        return put(R_T * m.w);
      case SensorType::accelerometer:
        return put(R_T * (m.a - model.options.gravity));
      case SensorType::force:
        return put(R_T * wrench(below, X.p).tail<3>());
      case SensorType::torque:
        return put(R_T * wrench(below, X.p).head<3>());
      case SensorType::touch:
        *out = touch(e.index);
        return;
      default: {
        double mass = 0;
        Vec3 moment = Vec3::Zero(), momentum = Vec3::Zero();
        sum(below, &mass, &moment, &momentum);
        put(e.type == SensorType::subtree_momentum ? momentum : mass > 0 ? Vec3(moment / mass) : X.p);
      }
    }
  }
};

}  // namespace

std::vector<std::pair<std::string, std::string>> SensorSet::columns() const {
  constexpr const char* kAxes[] = {".x", ".y", ".z"};
  constexpr const char* kQuat[] = {".w", ".x", ".y", ".z"};
  std::vector<std::pair<std::string, std::string>> list;
  for (const Entry& e : entries) {
    const bool on_joint = e.type == SensorType::joint_position || e.type == SensorType::joint_velocity;
    for (int n = 0; n < e.size; ++n) {
      const std::string part = e.size == 1   ? ""
                               : on_joint    ? fmt::format(".{}", n + 1)
                               : e.size == 4 ? kQuat[n]
                                             : kAxes[n];
      list.emplace_back(e.name + part, e.unit.empty() ? "1" : e.unit);
    }
  }
  return list;
}

SensorSet make_sensors(const Model& model, const Scene& scene, const std::vector<Sensor>& sensors,
                       Diagnostics* diagnostics) {
  SensorSet set;
  bool needs_inertia = false;
  for (const Sensor& sensor : sensors) {
    SensorSet::Entry e;
    const SensorTypeInfo& type = sensor_info(sensor.type);
    e.name = sensor.name;
    e.unit = type.unit;
    e.type = sensor.type;
    e.size = type.size;
    const std::string on = type.on;
    std::string target;
    if (on == "joint") {
      target = sensor.joint;
      e.index = model.find_joint(target);
      if (e.index >= 0) {
        const ModelJoint& joint = model.joints[static_cast<std::size_t>(e.index)];
        e.size =
            e.type == SensorType::joint_position ? num_positions(joint.type) : num_velocities(joint.type);
        if (e.size == 1) {
          e.unit = joint.type == JointType::prismatic ? "m" : "rad";
          if (e.type == SensorType::joint_velocity) e.unit += "/s";
        }
      }
    } else if (on == "actuator") {
      target = sensor.actuator;
      e.index = model.find_actuator(target);
    } else if (!on.empty() && sensor.site.empty()) {
      target = sensor.body;
      e.index = target == kWorld ? 0 : model.find_body(target);
    } else if (!on.empty()) {
      target = sensor.site;
      e.index = -1;
      for (const ModelSite& site : model.sites) {
        if (site.name != target) continue;
        e.index = site.body;
        e.X_BF = site.X_BS;
      }
    }
    if (e.index < 0 || (!on.empty() && target.empty())) {
      diagnostics->error(
          sensor.where,
          fmt::format("sensor '{}' of type {} is on '{}', which does not exist", sensor.name, type.name,
                      target),
          on == "frame" ? "write the name of a site or body" : fmt::format("write the name of a {}", on));
      continue;
    }
    e.begin = set.size;
    set.size += e.size;
    needs_inertia = needs_inertia || is_of_subtree(e.type);
    set.below.push_back(is_of_subtree(e.type) ? bodies_below(model, e.index) : std::vector<char>{});
    set.entries.push_back(std::move(e));
  }
  if (needs_inertia) set.inertia = body_inertias(model, scene);
  return set;
}

void read_sensors(const Model& model, const SensorSet& sensors, const State& state,
                  const Workspace* workspace, const Input* input, VecX* values) {
  values->resize(sensors.size);
  Reader reader{model, sensors, state, input, Kinematics(model, state)};
  if (workspace) calc_contact_forces(*workspace, &reader.contacts);
  for (std::size_t i = 0; i < sensors.entries.size(); ++i)
    reader.read(i, values->data() + sensors.entries[i].begin);
}

}  // namespace capstan
