// State: what changes from step to step. Its arrays are views of the state's own memory.
#include <fmt/core.h>

#include "python/src/support.h"

namespace capstan::python {
namespace {

template <VecX State::*field>
FloatArray get(nb::handle self) {
  VecX& x = nb::cast<PyState&>(self).state.*field;
  return view(x.data(), {static_cast<std::size_t>(x.size())}, self);
}

// Keeps the memory, which views look at.
template <VecX State::*field>
void set(PyState& self, const ArrayLike& numbers) {
  VecX& x = self.state.*field;
  const VecX y = to_vector(numbers, x.size(), "the array");
  std::copy(y.begin(), y.end(), x.begin());
}

nb::bytes to_bytes(const PyState& s) {
  const std::vector<std::uint8_t> bytes = save(s.model->model, s.state);
  return nb::bytes(bytes.data(), bytes.size());
}

PyState from_bytes(const ModelPtr& model, const nb::bytes& bytes) {
  const auto* data = static_cast<const std::uint8_t*>(bytes.data());
  PyState state{model, restore(model->model, {data, data + bytes.size()})};
  if (state.state.a.size() == 0) state.state.a = VecX::Zero(model->model.num_velocities());
  return state;
}

}  // namespace

void bind_state(nb::module_& m) {
  nb::class_<PyState>(
      m, "State",
      "Where everything is and how it moves, at one time. State(model, keyframe=None) is the start.\n\n"
      "q, v, a, control and activation are views: writing to them changes the state.\n\n"
      ">>> state = capstan.State(capstan.Model(\"double_pendulum\"))\n"
      ">>> state.q[0] = 0.5\n"
      ">>> float(capstan.State.from_bytes(state.model, state.to_bytes()).q[0])\n0.5")
      .def(
          "__init__",
          [](PyState* self, const ModelPtr& model, const std::optional<std::string>& keyframe) {
            new (self) PyState{
                model, keyframe ? keyframe_state(model->model, *keyframe) : initial_state(model->model)};
          },
          "model"_a, "keyframe"_a = nb::none())
      .def_prop_ro(
          "model", [](const PyState& s) { return s.model; }, "The model that it is a state of.")
      .def_prop_rw(
          "time", [](const PyState& s) { return s.state.time; },
          [](PyState& s, double time) { s.state.time = time; }, "[s]")
      .def_prop_ro(
          "steps", [](const PyState& s) { return s.state.step; }, "Steps taken since the start.")
      .def_prop_rw("q", &get<&State::q>, &set<&State::q>,
                   "Positions, shape [model.num_positions] [m, rad, quat_wxyz].")
      .def_prop_rw("v", &get<&State::v>, &set<&State::v>,
                   "Velocities, shape [model.num_velocities] [m/s, rad/s].")
      .def_prop_rw("a", &get<&State::a>, &set<&State::a>,
                   "Accelerations in the last step, shape [model.num_velocities] [m/s^2, rad/s^2].")
      .def_prop_rw("control", &get<&State::control>, &set<&State::control>,
                   "u of each actuator in its unit [N, N m, m, rad, ...], shape [model.num_controls].")
      .def_prop_rw("activation", &get<&State::activation>, &set<&State::activation>,
                   "What the force of each actuator follows in place of its control, in the same unit, shape "
                   "[model.num_controls]; 0 where\nan actuator has none, and shape [0] where no actuator of "
                   "the model has one.")
      .def_prop_ro(
          "hash", [](const PyState& s) { return hash(s.state); },
          "64 bits that differ, in practice, whenever any bit of the state does; as the command line prints.")
      .def("to_bytes", &to_bytes, "The whole state as bytes; State.from_bytes() gives it back bit for bit.")
      .def_static("from_bytes", &from_bytes, "model"_a, "data"_a,
                  "The state that to_bytes() was called of. Raises InputError when the bytes are damaged or "
                  "of another\n"
                  "model.")
      .def(
          "copy", [](const PyState& s) { return s; }, "A state of its own.")
      .def("__copy__", [](const PyState& s) { return s; })
      .def("__deepcopy__", [](const PyState& s, nb::handle) { return s; })
      .def("__reduce__",
           [](nb::handle self) {
             const auto& s = nb::cast<const PyState&>(self);
             return nb::make_tuple(nb::module_::import_("capstan._pickle").attr("make_state"),
                                   nb::make_tuple(s.model, to_bytes(s)));
           })
      .def("__repr__", [](const PyState& s) {
        return fmt::format("<capstan.State of '{}': t = {:g} s>", s.model->model.name, s.state.time);
      });
}

}  // namespace capstan::python
