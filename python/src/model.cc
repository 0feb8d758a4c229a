// Model: a compiled scene. Names, sizes, where a joint's numbers are.
#include <fmt/core.h>

#include "capstan/dynamics/tree.h"
#include "capstan/model/mocap.h"
#include "python/src/controls.h"

namespace capstan::python {
namespace {

struct JointView {
  ModelPtr owner;
  int index;
  const ModelJoint& joint() const { return owner->model.joints[index]; }
};

// [dofs] of the limits of scalar joints; infinite elsewhere.
std::pair<FloatArray, FloatArray> limits(const CompiledModel& m) {
  const Model& model = m.model;
  VecX lower = VecX::Constant(model.num_velocities(), -kInfinity), upper = -lower;
  for (const ModelJoint& joint : model.joints) {
    const int n = num_velocities(joint.type);
    if (joint.type == JointType::ball || static_cast<int>(joint.limits.size()) != n) continue;
    for (int k = 0; k < n; ++k) {
      lower[joint.v + k] = joint.limits[k].lower;
      upper[joint.v + k] = joint.limits[k].upper;
    }
  }
  return {to_numpy(lower), to_numpy(upper)};
}

std::string one_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<JointView>(module, "Joint", "A joint of a model: where its numbers are in q and v.")
      .def_prop_ro(
          "name", [](const JointView& j) { return j.joint().name; }, "Name.")
      .def_prop_ro(
          "type", [](const JointView& j) { return joint_type_name(j.joint().type); },
          "'revolute', 'prismatic', 'screw', 'universal', 'ball', 'planar', 'free' or 'weld'.")
      .def_prop_ro(
          "body", [](const JointView& j) { return j.owner->model.bodies[j.joint().body].name; },
          "Name of the body that it moves.")
      .def_prop_ro(
          "q",
          [](const JointView& j) {
            return make_slice(j.joint().q, j.joint().q + num_positions(j.joint().type));
          },
          "Slice of its positions in q.")
      .def_prop_ro(
          "v",
          [](const JointView& j) {
            return make_slice(j.joint().v, j.joint().v + num_velocities(j.joint().type));
          },
          "Slice of its velocities in v.")
      .def_prop_ro(
          "limits",
          [](const JointView& j) {
            std::vector<std::pair<double, double>> list;
            for (const Range& range : j.joint().limits) list.emplace_back(range.lower, range.upper);
            return list;
          },
          "(lower, upper) of each dof [rad or m]; empty where there are none.")
      .def("__repr__", [](const JointView& j) {
        return fmt::format("<capstan.Joint '{}': {} of body '{}'>", j.joint().name,
                           joint_type_name(j.joint().type), j.owner->model.bodies[j.joint().body].name);
      });

  nb::class_<CompiledModel> model(
      module, "Model",
      "A compiled scene, which never changes: sizes, names, and functions of q and v.\n\n"
      "Model(scene) takes a Scene, or what Scene.load() takes. It can be shared by simulations in many "
      "threads.\n\n"
      "q [num_positions] are positions [m, rad, quat_wxyz] and v [num_velocities] velocities [m/s, rad/s], "
      "dofs "
      "being\nnum_velocities.\n\n"
      ">>> model = capstan.Model(\"double_pendulum\")\n"
      ">>> model.num_positions, model.num_velocities, model.joint_names\n(2, 2, ['upper', 'lower'])\n"
      ">>> q = capstan.State(model).q\n"
      ">>> model.mass_matrix(q).shape\n"
      "(2, 2)");
  model.def(nb::new_([](const SceneLike& scene) { return to_model(scene); }), "scene"_a)
      .def_prop_ro(
          "name", [](const CompiledModel& m) { return m.model.name; }, "Name of the scene.")
      .def_prop_ro(
          "scene",
          [](const CompiledModel& m) {
            return PyScene{m.scene, m.diagnostics};
          },
          "A copy of the scene.")
      .def_prop_ro(
          "warnings", [](const CompiledModel& m) { return m.diagnostics.list; },
          "What reading and compiling found: a list of Diagnostic.")
      .def_prop_ro(
          "num_positions", [](const CompiledModel& m) { return m.model.num_positions; }, "Length of q.")
      .def_prop_ro(
          "num_velocities", [](const CompiledModel& m) { return m.model.num_velocities(); },
          "Length of v: degrees of freedom.")
      .def_prop_ro(
          "num_controls", [](const CompiledModel& m) { return m.actuators.size(); },
          "Length of control: actuators.")
      .def_prop_ro(
          "body_names", [](const CompiledModel& m) { return m.bodies.list(); },
          "Names of bodies; [0] is the world.")
      .def_prop_ro(
          "joint_names", [](const CompiledModel& m) { return m.joints.list(); }, "Names of joints.")
      .def_prop_ro(
          "actuator_names", [](const CompiledModel& m) { return m.actuators.list(); },
          "Names, in the order of control.")
      .def_prop_ro(
          "material_names",
          [](const CompiledModel& m) {
            std::vector<std::string> names;
            for (const Material& material : m.model.materials) names.push_back(material.name);
            return names;
          },
          "Names of materials; 'default' is that of shapes that say none.")
      .def("with_friction", &with_friction, "friction"_a, "material"_a = "default",
           "A Model of the same scene with another friction coefficient of a material; this one stays as it "
           "is.\n\n"
           "The same, bit for bit, as the scene compiled with that number, without compiling it. `pairs` of "
           "the scene that\nsay their own friction keep it.\n\n"
           ">>> model = capstan.Model(\"stack\")\n"
           ">>> slippery = model.with_friction(0.05)\n"
           ">>> capstan.Simulation(slippery).run(0.1).steps\n20")
      .def("with_mass", &with_mass, "mass"_a, "body"_a,
           "A Model of the same scene with another mass of a body [kg], and its inertia in proportion; this "
           "one stays as\nit is. The scene is compiled again, for inertia, stiffness and drag depend on "
           "mass.\n\n"
           ">>> model = capstan.Model(\"stack\")\n"
           ">>> heavy = model.with_mass(5, model.body_names[1])\n"
           ">>> float(heavy.body_masses[1])\n5.0")
      .def_prop_ro(
          "shape_names", [](const CompiledModel& m) { return m.shapes.list(); }, "Names of shapes.")
      .def_prop_ro(
          "site_names", [](const CompiledModel& m) { return m.sites.list(); },
          "Names of sites: frames on bodies.")
      .def_prop_ro(
          "keyframe_names", [](const CompiledModel& m) { return m.keyframes.list(); }, "Names of keyframes.")
      .def_prop_ro(
          "sensor_names", [](const CompiledModel& m) { return m.sensor_names.list(); }, "Names of sensors.")
      .def(
          "sensor_index",
          [](const CompiledModel& m, const NameOrNumber& name) { return m.sensor_names.find(name); },
          "name"_a, "Number of a sensor.")
      .def_prop_ro("_sensor_places",
                   [](const CompiledModel& m) {
                     nb::list places;  // (name, number or slice of the numbers)
                     for (const SensorSet::Entry& e : m.sensors.entries) {
                       const nb::object place = e.size == 1 ? nb::object(nb::int_(e.begin))
                                                            : make_slice(e.begin, e.begin + e.size);
                       places.append(nb::make_tuple(e.name, place));
                     }
                     return places;
                   })
      .def_prop_ro(
          "sensor_units",
          [](const CompiledModel& m) {
            Texts units;
            for (const SensorSet::Entry& e : m.sensors.entries) units[e.name.c_str()] = e.unit;
            return units;
          },
          "{sensor: its unit}; '' where it has none, or several.")
      .def_prop_ro(
          "schedule", [](const CompiledModel& m) { return from_points(m.scene.controls); },
          "Controls over time of the scene: a list of points, dicts with the words of scene files.")
      .def(
          "read_schedule",
          [](const CompiledModel& m, const PathLike& path, const std::string& interpolate) {
            return from_points(read_points(m, to_path(path), interpolate));
          },
          "path"_a, "interpolate"_a = "linear",
          "Points of a table (.csv): a column 'time' [s], and one for each actuator by its name. Between its "
          "lines:\n"
          "'constant', 'linear' or 'smooth'.")
      .def(
          "body_index", [](const CompiledModel& m, const NameOrNumber& name) { return m.bodies.find(name); },
          "name"_a, "Number of a body. Takes constant time; raises KeyError with the nearest name.")
      .def(
          "joint_index", [](const CompiledModel& m, const NameOrNumber& name) { return m.joints.find(name); },
          "name"_a, "Number of a joint.")
      .def_prop_ro(
          "mocap_names",
          [](const CompiledModel& m) {
            std::vector<std::string> names;
            for (const int link : find_mocap_links(m.model))
              names.push_back(m.model.bodies[m.model.links[link].body].name);
            return names;
          },
          "Names of the mocap bodies: those that are moved from outside.")
      .def(
          "_activation_index",
          [](const CompiledModel& m, const std::string& name) {
            const int index = m.actuators.find(nb::cast(name));
            if (!m.model.actuators[index].has_activation())
              throw nb::key_error(
                  fmt::format("actuator '{}' has no activation; sim.control sets it", name).c_str());
            return index;
          },
          "name"_a)
      .def(
          "actuator_index",
          [](const CompiledModel& m, const NameOrNumber& name) { return m.actuators.find(name); }, "name"_a,
          "Number of an actuator.")
      .def(
          "shape_index", [](const CompiledModel& m, const NameOrNumber& name) { return m.shapes.find(name); },
          "name"_a, "Number of a shape.")
      .def(
          "joint",
          [](const ModelPtr& m, const NameOrNumber& name) {
            return JointView{m, m->joints.find(name)};
          },
          "name"_a, "A joint, by its name or number.")
      .def_prop_ro(
          "shape_bodies",
          [](const CompiledModel& m) {
            std::vector<int> bodies;
            for (const ModelShape& shape : m.model.shapes) bodies.push_back(shape.body);
            return bodies;
          },
          "Number of the body of each shape.")
      .def_prop_ro(
          "body_masses",
          [](const CompiledModel& m) {
            VecX mass(m.bodies.size());
            for (int i = 0; i < m.bodies.size(); ++i) mass[i] = m.model.bodies[i].mass;
            return to_numpy(mass);
          },
          "Mass of each body alone [kg], shape [bodies].")
      .def_prop_ro(
          "control_range",
          [](const CompiledModel& m) {
            RowMatrix range(m.actuators.size(), 2);
            for (int i = 0; i < m.actuators.size(); ++i) {
              const Range& r = m.model.actuators[i].control_range;
              range.row(i) << r.lower, r.upper;
            }
            return to_numpy(range);
          },
          "(lower, upper) of each control in its unit [N, N m, m, rad, ...], shape [actuators, 2]; infinite "
          "where there\n"
          "is none.")
      .def_prop_ro("limits", &limits,
                   "(lower, upper): joint limits [m or rad], shape [dofs] each; infinite where there are "
                   "none, and for ball and\n"
                   "free joints.")
      .def_prop_ro(
          "dt", [](const CompiledModel& m) { return m.model.options.dt; },
          "Time step that the scene asks for [s].")
      .def_prop_ro(
          "duration", [](const CompiledModel& m) { return m.model.options.duration; },
          "How long the scene is to run [s].")
      .def_prop_ro(
          "gravity", [](const CompiledModel& m) { return to_numpy(m.model.options.gravity); },
          "[m/s^2], world, shape [3].")
      .def_prop_ro(
          "total_mass", [](const CompiledModel& m) { return total_mass(m.model); }, "[kg] of all that moves.")
      .def_prop_ro(
          "fingerprint", [](const CompiledModel& m) { return m.model.fingerprint; },
          "Hash of all that a saved state depends on.")
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(self.ptr()))),
                                   nb::make_tuple(self.attr("scene")));
           })
      .def("__repr__", [](const CompiledModel& m) {
        return fmt::format("<capstan.Model '{}': {} bodies, {} dofs, {} actuators>", one_line(m.model.name),
                           m.bodies.size() - 1, m.model.num_velocities(), m.actuators.size());
      });
  bind_dynamics(model);
  bind_objects(module, model);
}

}  // namespace capstan::python
