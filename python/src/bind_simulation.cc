#include <fmt/core.h>

#include <cmath>

#include "capstan/math/rotation.h"
#include "python/src/simulation.h"

namespace capstan::python {

void bind_simulation(nb::module_& m) {
  using Sim = PySimulation;
  using Arrays = Sim::Arrays;
  nb::class_<Sim>(m, "Simulation", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](Sim* self, const SceneLike& scene, const std::optional<std::string>& keyframe,
             const nb::kwargs& options) {
            const ModelPtr model = to_model(scene);
            new (self) Sim(model, choose_options(model->model, options),
                           keyframe ? keyframe_state(model->model, *keyframe) : initial_state(model->model));
          },
          "scene"_a, "keyframe"_a = nb::none(), "options"_a)
      .def_prop_ro(
          "model", [](const Sim& s) { return s.model(); },
          "The model. It never changes; set_friction() and set_mass() put another in its place.")
      .def(
          "set_friction",
          [](Sim& s, double friction, const std::string& material) {
            s.change_model(with_friction(*s.model(), friction, material));
          },
          "friction"_a, "material"_a = "default",
          "Goes on with another friction coefficient of a material, from the state that there is.\n\n"
          "The next step is, bit for bit, that of a scene written with this number. `pairs` of the scene "
          "that "
          "say their\nown friction keep it. What sleeps wakes; contacts and report are empty until the next "
          "step. `model` is a new one\n(Model.with_friction()), and bytes that save() made before are of the "
          "old one. reset() keeps the number.\n\n"
          ">>> sim = capstan.load(\"stack\").run(0.1)\n"
          ">>> sim.set_friction(0.2)\n"
          ">>> sim.step()")
      .def(
          "set_mass",
          [](Sim& s, double mass, const std::string& body) {
            s.change_model(with_mass(*s.model(), mass, body));
          },
          "mass"_a, "body"_a,
          "Goes on with another mass of a body [kg], and its inertia in proportion; else as set_friction(). "
          "Velocities stay,\nso momentum changes.\n\n"
          ">>> sim = capstan.load(\"stack\")\n"
          ">>> sim.set_mass(2.5, sim.model.body_names[1])\n"
          ">>> sim.body(1).mass\n2.5")
      .def("step", &Sim::take_steps, "count"_a = 1,
           "Takes steps of dt each. Other Python threads run meanwhile; Ctrl-C ends it between two steps.\n\n"
           "Raises StepError when a step cannot be made: the state is then that before this step, and the "
           "error's\n"
           "steps_taken says how many were made.")
      .def_prop_rw("time", &Sim::time, &Sim::set_time, "[s]")
      .def_prop_ro("steps", &Sim::steps, "Steps taken since the start.")
      .def_prop_ro(
          "report", [](const Sim& s) { return s.report(); }, "What the last step did: a Report.")
      .def_prop_rw(
          "state",
          [](Sim& s) {
            return PyState{s.model(), s.state()};
          },
          [](Sim& s, const PyState& state) {
            if (state.model->model.fingerprint != s.model()->model.fingerprint) {
              throw nb::value_error("the state is of another model than this simulation");
            }
            s.set_state(state.state);
          },
          "The whole state: a copy. Setting it goes back to that state, bit for bit.")
      .def_prop_ro(
          "hash", [](Sim& s) { return hash(s.state()); },
          "64 bits that differ, in practice, whenever any bit of the state does; as the command line prints.")
      .def(
          "reset",
          [](Sim& s, const std::optional<std::string>& keyframe) {
            const Model& model = s.model()->model;
            s.set_state(keyframe ? keyframe_state(model, *keyframe) : initial_state(model));
            s.clear_forces();
            s.clear_surface_scale();
          },
          "keyframe"_a = nb::none(),
          "Goes back to the start, or to a keyframe of the scene. Forces from outside (apply_force(),\n"
          "generalized_force) and surface_scale go back, too; options and the schedule stay.")
      .def("_array",
           [](Sim& s, int which) {
             constexpr VecX Arrays::*kFields[] = {&Arrays::q,
                                                  &Arrays::v,
                                                  &Arrays::control,
                                                  &Arrays::generalized_force,
                                                  &Arrays::surface_scale,
                                                  &Arrays::activation};
             if (which < 0 || which >= std::ssize(kFields)) throw nb::index_error("no such array");
             return s.array(kFields[which]);
           })
      .def("_sensors", &Sim::sensors)
      .def_prop_rw(
          "schedule", &Sim::schedule,
          [](Sim& s, const PointsLike& points) { s.set_schedule(to_points(*s.model(), points)); },
          nb::for_setter(nb::arg("points").none()),
          "Controls over time that steps follow: at first those of the scene. A list of points, dicts with "
          "the\n"
          "words of scene files (docs/scene.md, controls); or set it to the path of a .csv table, or to None "
          "for none.\n\n>>> sim = capstan.load(\"arm_reach\")\n>>> sim.schedule = [{\"time\": 0, "
          "\"control\": {sim.model.actuator_names[0]: 0.1}}]\n>>> sim.schedule[0][\"time\"]\n0.0")
      .def("_option", &Sim::option, "name"_a)
      .def("_set_option", &Sim::choose_option, "name"_a, "value"_a.none())
      .def_prop_ro(
          "contacts", &Sim::contacts,
          "Contacts of the last step: a record array, shape [contacts], of dtype capstan.CONTACT, which says "
          "fields and units;\nthe user's own.\n\n"
          ">>> sim = capstan.load(\"stack\").run(0.1)\n"
          ">>> sim.contacts[\"force\"].shape[1]\n3")
      .def_prop_ro(
          "contact_pairs", &Sim::contact_pairs,
          "Contact forces [N] of the last step, summed over each pair of bodies: shape [pairs], dtype "
          "capstan.CONTACT_PAIR.")
      .def_prop_ro(
          "patches", &Sim::patches,
          "Patches of the last step (docs/patches.md): force [N], moment [N m], area [m^2], centre [m] and "
          "largest pressure\n[Pa] of each, shape [patches], dtype capstan.PATCH.")
      .def(
          "apply_force",
          [](Sim& s, const NameOrNumber& body, const ArrayLike& force, const ArrayLike& torque,
             const ArrayLike& point) {
            const int index = s.model()->bodies.find(body);
            const Vec3 f = to_vec3(force, "force"), t = to_vec3(torque, "torque");
            if (point.is_none()) return s.apply_force(index, f, t, nullptr);
            const Vec3 p = to_vec3(point, "point");
            s.apply_force(index, f, t, &p);
          },
          "body"_a, "force"_a = nb::make_tuple(0, 0, 0), "torque"_a = nb::make_tuple(0, 0, 0),
          "point"_a = nb::none(),
          "A force [N] and torque [N m], world axes, shape [3] each, on a body in all steps from now on, "
          "until "
          "clear_forces().\n\n"
          "The force acts at the point of the body that is now at `point` [3] [m, world] and moves with the "
          "body; None: at\nthe origin of its frame. Several forces add up.\n\n>>> sim = "
          "capstan.load(\"stack\")\n>>> sim.apply_force(1, force=[0, 0, -20])\n>>> "
          "sim.run(0.1).clear_forces()")
      .def("clear_forces", &Sim::clear_forces,
           "Ends all forces of apply_force(), and zeroes generalized_force.")
      .def("_pose",
           [](Sim& s, int body) {
             if (body < 0 || body >= s.model()->bodies.size()) throw nb::index_error("no such body");
             const Transform X = s.pose(body);
             return std::tuple(to_numpy(X.p), to_numpy(VecX(quat_from_matrix(X.R))),
                               to_numpy(RowMatrix(X.R)));
           })
      .def("_velocity",
           [](Sim& s, int body) {
             if (body < 0 || body >= s.model()->bodies.size()) throw nb::index_error("no such body");
             return to_numpy(VecX(s.velocity(body)));
           })
      .def(
          "_aim",
          [](Sim& s, int body, const ArrayLike& position, const ArrayLike& quat, const ArrayLike& rotation) {
            // What is not given is as it was told before, or as it is.
            const Transform* told = s.target(body);
            Transform X = told != nullptr ? *told : s.pose(body);
            if (!position.is_none()) X.p = to_vec3(position, "position");
            if (!rotation.is_none()) X.R = to_matrix(rotation, 3, "rotation");
            if (!quat.is_none()) {
              const VecX q = to_vector(quat, 4, "quat_wxyz");
              if (!(q.norm() > 1e-9)) throw nb::value_error("quat_wxyz has no direction");
              X.R = rotation_matrix(Vec4(q / q.norm()));
            }
            if (!X.p.allFinite() || !X.R.allFinite()) throw nb::value_error("a pose that is not finite");
            s.aim(body, &X);
          },
          "body"_a, "position"_a = nb::none(), "quat"_a = nb::none(), "rotation"_a = nb::none())
      .def("_release", [](Sim& s, int body) { s.aim(body, nullptr); })
      .def("poses", &Sim::poses, "(position [bodies, 3] [m], quat_wxyz [bodies, 4]) of all bodies, now.")
      .def("picture", &Sim::picture, "width"_a = 960, "height"_a = 720, "azimuth"_a = 0.65,
           "elevation"_a = 0.32, "title"_a = "",
           "A drawing of the scene as it is now: SVG text. Angles of the camera in rad.")
      .def(
          "_image",
          [](Sim& s, int width, int height, const ArrayLike& eye, const ArrayLike& target,
             const ArrayLike& up, double fov, double azimuth, double elevation, int samples, bool shadows) {
            if (width < 1 || height < 1 || width > 8192 || height > 8192)
              throw nb::value_error("width and height must be 1 to 8192 [px]");
            if (samples < 1 || samples > 4) throw nb::value_error("samples must be 1 to 4");
            if (!std::isfinite(azimuth) || !std::isfinite(elevation))
              throw nb::value_error("an angle is not finite");
            ImageOptions options{width, height, {}, azimuth, elevation, samples, shadows};
            if (!eye.is_none())
              options.camera = {to_vec3(eye, "eye"), to_vec3(target, "target"), to_vec3(up, "up"), fov};
            return s.image(options);
          },
          "width"_a, "height"_a, "eye"_a.none(), "target"_a.none(), "up"_a.none(), "fov"_a, "azimuth"_a,
          "elevation"_a, "samples"_a, "shadows"_a)
      .def("_view", &Sim::view, "pace"_a, "address"_a, "port"_a)
      .def("_close_view", &Sim::close_view)
      .def(
          "_record", [](Sim& s, const PathLike& path, long every) { s.record(to_path(path), every); },
          "path"_a, "every"_a)
      .def("stop_recording", &Sim::stop_recording, "Ends a recording. Returns how many frames it has.")
      .def_prop_ro("is_recording", &Sim::is_recording, "Whether record() is at work.");
}

}  // namespace capstan::python
