// Functions of a model at q and v: kinematics, dynamics, rays. Spatial vectors are (angular, linear), world
// axes.
#include <fmt/core.h>

#include "capstan/contacts/contacts.h"
#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/tree.h"
#include "capstan/geometry/collide.h"
#include "capstan/math/rotation.h"
#include "python/src/support.h"

namespace capstan::python {
namespace {

// A body, or a site on one.
struct Frame {
  int body = 0;
  Transform X_BF;
};

Frame find_frame(const CompiledModel& m, nb::handle name) {
  if (nb::isinstance<nb::str>(name)) {
    const std::string text = nb::cast<std::string>(name);
    if (!m.bodies.has(text) && m.sites.has(text)) {
      const ModelSite& site = m.model.sites[m.sites.find(name)];
      return {site.body, site.X_BS};
    }
  }
  return {m.bodies.find(name), {}};
}

// q and v from outside, checked, and where they put everything.
struct At {
  At(const CompiledModel& m, nb::handle q_given, nb::handle v_given = nb::handle()) : model(m.model) {
    State state = initial_state(model);
    state.q = to_finite_vector(q_given, model.num_positions, "q");
    if (v_given.is_valid()) state.v = to_finite_vector(v_given, model.num_velocities(), "v");
    make_sound(model, &state);
    q = state.q;
    v = state.v;
    placement = make_placement(model);
    calc_placement(model, q, &placement);
    if (v_given.is_valid()) {
      velocity = make_velocity(model);
      calc_velocity(model, placement, v, &velocity);
    }
  }
  Transform pose(const Frame& frame) const { return body_pose(model, placement, frame.body) * frame.X_BF; }

  const Model& model;
  VecX q, v;
  Placement placement;
  Velocity velocity;
};

FloatArray frame_pose(const CompiledModel& m, const ArrayLike& q, const NameOrNumber& frame) {
  const Transform X = At(m, q).pose(find_frame(m, frame));
  RowMatrix T = RowMatrix::Identity(4, 4);
  T.topLeftCorner<3, 3>() = X.R;
  T.topRightCorner<3, 1>() = X.p;
  return to_numpy(T);
}

std::pair<FloatArray, FloatArray> poses(const CompiledModel& m, const ArrayLike& q) {
  const At at(m, q);
  RowMatrix position(m.bodies.size(), 3), quat(m.bodies.size(), 4);
  for (int i = 0; i < m.bodies.size(); ++i) {
    const Transform X = body_pose(m.model, at.placement, i);
    position.row(i) = X.p.transpose();
    quat.row(i) = quat_from_matrix(X.R).transpose();
  }
  return {to_numpy(position), to_numpy(quat)};
}

FloatArray jacobian(const CompiledModel& m, const ArrayLike& q, const NameOrNumber& name,
                    const ArrayLike& point) {
  const At at(m, q);
  const Frame frame = find_frame(m, name);
  const Vec3 p_W = point.is_none() ? at.pose(frame).p : to_vec3(point, "point");
  MatX J = MatX::Zero(6, m.model.num_velocities());
  calc_body_jacobian(m.model, at.placement, frame.body, p_W, J);
  return to_numpy(RowMatrix(J));
}

FloatArray frame_velocity(const CompiledModel& m, const ArrayLike& q, const ArrayLike& v,
                          const NameOrNumber& name) {
  const At at(m, q, v);
  const Frame frame = find_frame(m, name);
  Vec6 V = body_velocity(m.model, at.placement, at.velocity, frame.body);
  const Vec3 arm = body_pose(m.model, at.placement, frame.body).R * frame.X_BF.p;
  V.tail<3>() += cross(V.head<3>(), arm);
  return to_numpy(VecX(V));
}

FloatArray mass_matrix(const CompiledModel& m, const ArrayLike& q) {
  const At at(m, q);
  const int n = m.model.num_velocities();
  TreeWorkspace workspace = make_tree_workspace(m.model);
  VecX values = VecX::Zero(m.model.pattern.num_values());
  calc_mass_matrix(m.model, at.placement, &workspace, &values);
  MatX M = MatX::Zero(n, n);
  if (n > 0) expand(m.model.pattern, values.data(), 0, n, M);
  return to_numpy(RowMatrix(M));
}

FloatArray inverse_dynamics(const CompiledModel& m, const ArrayLike& q, const ArrayLike& v,
                            const ArrayLike& a) {
  const At at(m, q, v);
  const int n = m.model.num_velocities();
  const VecX acceleration = a.is_none() ? VecX(VecX::Zero(n)) : to_finite_vector(a, n, "a");
  TreeWorkspace workspace = make_tree_workspace(m.model);
  VecX tau = VecX::Zero(n);
  calc_inverse_dynamics(m.model, at.placement, at.velocity, &acceleration, &workspace, &tau);
  return to_numpy(tau);
}

FloatArray forward_dynamics(const CompiledModel& m, const ArrayLike& q, const ArrayLike& v,
                            const ArrayLike& tau) {
  const At at(m, q, v);
  const int n = m.model.num_velocities();
  const VecX force = to_finite_vector(tau, n, "tau");
  TreeWorkspace workspace = make_tree_workspace(m.model);
  VecX a = VecX::Zero(n);
  calc_forward_dynamics(m.model, at.placement, at.velocity, force, &workspace, &a);
  return to_numpy(a);
}

FloatArray joint_forces(const CompiledModel& m, const ArrayLike& q, const ArrayLike& v,
                        const ArrayLike& control) {
  const At at(m, q, v);
  const VecX u = to_finite_vector(control, m.actuators.size(), "control");
  VecX tau = VecX::Zero(m.model.num_velocities());
  ForceGradient gradient = make_force_gradient(m.model);
  calc_forces(m.model, at.q, at.v, u, &tau, &gradient);
  return to_numpy(tau);
}

FloatArray integrate(const CompiledModel& m, const ArrayLike& q, const ArrayLike& v, double dt) {
  const At at(m, q);
  const VecX along = to_finite_vector(v, m.model.num_velocities(), "v");
  if (!std::isfinite(dt)) throw nb::value_error("dt is not finite");
  VecX q1 = at.q;
  move(m.model, at.q, along, dt, &q1);
  return to_numpy(q1);
}

FloatArray position_difference(const CompiledModel& m, const ArrayLike& q0, const ArrayLike& q1) {
  const At from(m, q0), to(m, q1);
  VecX v = VecX::Zero(m.model.num_velocities());
  difference(m.model, from.q, to.q, &v);
  return to_numpy(v);
}

nb::typed<nb::dict, nb::str, nb::float_> energy(const CompiledModel& m, const ArrayLike& q,
                                                const ArrayLike& v) {
  const At at(m, q, v);
  State state = initial_state(m.model);
  state.q = at.q;
  state.v = at.v;
  const Mechanics mechanics = calc_mechanics(m.model, state);
  nb::typed<nb::dict, nb::str, nb::float_> result;
  result["kinetic"] = mechanics.kinetic;
  result["gravity"] = mechanics.gravity;
  result["spring"] = mechanics.spring;
  result["total"] = mechanics.total();
  return result;
}

std::optional<Things> ray(const CompiledModel& m, const ArrayLike& q, const ArrayLike& origin,
                          const ArrayLike& direction, double max_distance) {
  const At at(m, q);
  const Vec3 from = to_vec3(origin, "origin");
  const Vec3 along = to_vec3(direction, "direction");
  const double length = along.norm();
  if (!(length > 1e-150) || !std::isfinite(length)) throw nb::value_error("direction has no length");
  if (!(max_distance > 0)) throw nb::value_error("max_distance must be above 0");
  const SceneRayHit hit = cast_ray(m.model, at.placement, from, along / length, max_distance);
  if (hit.shape < 0) return std::nullopt;
  Things result;
  result["shape"] = hit.shape;
  result["distance"] = hit.hit.distance;
  result["point"] = to_numpy(hit.hit.point);
  result["normal"] = to_numpy(hit.hit.normal);
  return result;
}

// Of all pairs of shapes of two bodies that collide: the nearest.
Things distance(const CompiledModel& m, const ArrayLike& q, const NameOrNumber& body_a,
                const NameOrNumber& body_b) {
  const At at(m, q);
  const int a = m.bodies.find(body_a), b = m.bodies.find(body_b);
  if (a == b) throw nb::value_error("give two bodies");
  ContactPoint nearest{}, point{};
  nearest.distance = kInfinity;
  int shape_a = -1, shape_b = -1;
  const std::vector<ModelShape>& shapes = m.model.shapes;
  const auto count = static_cast<int>(shapes.size());
  for (int i = 0; i < count; ++i) {
    if (shapes[i].body != a || !shapes[i].collides) continue;
    for (int j = 0; j < count; ++j) {
      if (shapes[j].body != b || !shapes[j].collides) continue;
      for (const int k : {i, j}) {
        if (!is_convex(shapes[k].collider.type))
          raise_value_error(
              fmt::format("shape '{}' is not convex; distances are of convex shapes", shapes[k].name));
      }
      if (shapes[i].collider.type == ColliderType::half_space &&
          shapes[j].collider.type == ColliderType::half_space)
        continue;
      signed_distance(shapes[i].collider, shape_pose(m.model, at.placement, i), shapes[j].collider,
                      shape_pose(m.model, at.placement, j), &point);
      if (point.distance >= nearest.distance) continue;
      nearest = point;
      shape_a = i;
      shape_b = j;
    }
  }
  if (shape_a < 0) throw nb::value_error("the two bodies have no shapes that could touch");
  Things result;
  result["distance"] = nearest.distance;
  result["point_a"] = to_numpy(nearest.p_A);
  result["point_b"] = to_numpy(nearest.p_B);
  result["normal"] = to_numpy(nearest.normal);
  result["shape_a"] = shape_a;
  result["shape_b"] = shape_b;
  return result;
}

RecordArray collide_at(const CompiledModel& m, const ArrayLike& q) {
  const At at(m, q);
  Contacts contacts;
  collide_all_pairs(m.model, at.placement, &contacts);
  std::vector<ContactRecord> records;
  const Vec3 zero = Vec3::Zero();
  for (int i = 0; i < contacts.size(); ++i) {
    if (!contacts.is_point(i)) continue;
    const int a = contacts.shape_a[i], b = contacts.shape_b[i];
    records.push_back({a, b, m.model.shapes[a].body, m.model.shapes[b].body, 0, 0, contacts.p_WC[i],
                       contacts.normal[i], zero, contacts.distance[i], 0, zero, zero,
                       contacts.material[i].area, zero});
  }
  return to_records(records.data(), records.size() * sizeof(ContactRecord),
                    nb::module_::import_("capstan._arrays").attr("CONTACT"));
}

}  // namespace

void bind_dynamics(nb::class_<CompiledModel>& model) {
  model
      .def("frame_pose", &frame_pose, "q"_a, "frame"_a,
           "Pose of a body or site in the world: a matrix, shape [4, 4], with its position [m] in the last "
           "column. "
           "A name that\nboth have is the body's.\n\n"
           ">>> model = capstan.Model(\"arm_reach\")\n"
           ">>> model.frame_pose(capstan.State(model).q, \"flange\").shape\n(4, 4)")
      .def("poses", &poses, "q"_a,
           "(position [bodies, 3] [m], quat_wxyz [bodies, 4]) of all bodies at q [num_positions].")
      .def("frame_velocity", &frame_velocity, "q"_a, "v"_a, "frame"_a,
           "(angular [rad/s], linear [m/s]) velocity of a body's or site's origin, world axes, shape [6].")
      .def("jacobian", &jacobian, "q"_a, "frame"_a, "point"_a = nb::none(),
           "J with (angular [rad/s], linear [m/s] velocity) = J v, world axes, shape [6, dofs].\n\n"
           "The linear part is that of the body's or site's origin, or of the point of the body that is now "
           "at `point`\n"
           "[3] [m, world].\n\n"
           ">>> model = capstan.Model(\"double_pendulum\")\n"
           ">>> model.jacobian(capstan.State(model).q, 1).shape\n(6, 2)")
      .def("mass_matrix", &mass_matrix, "q"_a,
           "M [kg, kg m, kg m^2], rotor inertia included, shape [dofs, dofs].")
      .def("inverse_dynamics", &inverse_dynamics, "q"_a, "v"_a, "a"_a,
           "tau = M a + bias: forces [N or N m] that give the accelerations a [m/s^2, rad/s^2], shape "
           "[dofs].\n\n"
           "With gravity and rotor inertia; springs, damping and actuators are in joint_forces().")
      .def(
          "bias",
          [](const CompiledModel& m, const ArrayLike& q, const ArrayLike& v) {
            return inverse_dynamics(m, q, v, nb::borrow<ArrayLike>(nb::none()));
          },
          "q"_a, "v"_a, "Coriolis, centrifugal and gravity terms: tau = M a + bias [N or N m], shape [dofs].")
      .def("forward_dynamics", &forward_dynamics, "q"_a, "v"_a, "tau"_a,
           "a = M^-1 (tau - bias) [m/s^2, rad/s^2], without contact, springs, damping and actuators, shape "
           "[dofs].")
      .def("joint_forces", &joint_forces, "q"_a, "v"_a, "control"_a,
           "Forces of springs, damping, tendons and actuators [N or N m], shape [dofs].")
      .def(
          "center_of_mass",
          [](const CompiledModel& m, const ArrayLike& q) {
            return to_numpy(calc_center_of_mass(m.model, At(m, q).placement));
          },
          "q"_a, "Of all that moves [m], world, shape [3].")
      .def("energy", &energy, "q"_a, "v"_a,
           "{'kinetic', 'gravity', 'spring', 'total'} [J] at q [num_positions] and v [dofs].")
      .def("integrate", &integrate, "q"_a, "v"_a, "dt"_a = 1.0,
           "q [m, rad, quat_wxyz] moved along v [dofs] for dt [s], shape [num_positions]: plain numbers add "
           "up, "
           "quaternions\nturn and stay unit.")
      .def("difference", &position_difference, "q0"_a, "q1"_a,
           "v [m/s, rad/s] with integrate(q0, v) = q1, shape [dofs].")
      .def("collide", &collide_at, "q"_a,
           "Contacts at q, without any motion: a record array, shape [contacts], of dtype capstan.CONTACT, "
           "which says "
           "fields and\nunits; forces are zero.")
      .def("distance", &distance, "q"_a, "body_a"_a, "body_b"_a,
           "Signed distance of two bodies at q [num_positions]: {'distance' [m], negative where they "
           "overlap, 'point_a', "
           "'point_b' [m, "
           "world],\n'normal' from a to b, 'shape_a', 'shape_b': the nearest pair of their shapes}. Of "
           "convex shapes.\n\n>>> model = capstan.Model(\"stack\")\n>>> "
           "abs(model.distance(capstan.State(model).q, 1, 2)[\"distance\"]) < 1e-3\nTrue")
      .def(
          "ray_cast", &ray, "q"_a, "origin"_a, "direction"_a, "max_distance"_a = kInfinity,
          "The nearest hit of a ray with a shape that collides, at q [num_positions]: {'shape', 'distance' "
          "[m], "
          "'point' [3]\n[m, world], 'normal' [3]}, or None. origin [3] [m], direction [3] of any "
          "length.\n\n>>> model = capstan.Model(\"stack\")\n>>> hit = model.ray_cast(capstan.State(model).q, "
          "origin=[0, 0, 10], direction=[0, 0, -1])\n>>> hit[\"distance\"] < 10\nTrue");
}

}  // namespace capstan::python
