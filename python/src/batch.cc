// Batch: many simulations of one model, stepped by several threads without the interpreter's lock.
//
// Simulations share nothing but the model, and a workspace has no influence on results (step/step.h), but for
// the impulses that a rigid model begins with, of which each simulation keeps its own: bits do not depend on
// the number of threads, nor on which thread steps which simulation.
#include <fmt/core.h>

#include <cmath>
#include <mutex>
#include <thread>

#include "capstan/base/parallel.h"
#include "capstan/math/rotation.h"
#include "python/src/controls.h"

namespace capstan::python {
namespace {

constexpr double kMostNumbers = 2e9;  // of one result: 16 GB

class PyBatch {
 public:
  PyBatch(ModelPtr model, int size, int threads, const StepOptions& options, const State& start)
      : model_(std::move(model)),
        options_(options),
        states_(size, start),
        failure_(size),
        rigid_(size),
        arrays_(std::make_shared<Arrays>()),
        threads_(threads) {
    const Model& m = model_->model;
    options_.threads = 1;
    options_.judge = false;  // there are no reports of batches
    options_.stop = &stop_;
    arrays_->q.resize(size, m.num_positions);
    arrays_->v.resize(size, m.num_velocities());
    arrays_->control.resize(size, model_->actuators.size());
    arrays_->activation.resize(size, num_activations());
    arrays_->time.resize(size);
    arrays_->sensors = RowMatrix::Zero(size, model_->sensors.size);
    for (int i = 0; i < size; ++i) {
      store(i);
      sense(i, nullptr, nullptr);
    }
    set_schedule(model_->scene.controls);
  }

  struct Arrays {
    RowMatrix q, v, control, activation, sensors;
    VecX time;
  };

  const ModelPtr& model() const { return model_; }
  int size() const { return static_cast<int>(states_.size()); }
  int threads() const { return threads_.count(); }
  double dt() const { return options_.dt; }

  FloatArray array(RowMatrix Arrays::*field) {
    RowMatrix& x = (*arrays_).*field;
    return view(x.data(), {static_cast<std::size_t>(x.rows()), static_cast<std::size_t>(x.cols())},
                keep(arrays_));
  }
  FloatArray time() { return view(arrays_->time.data(), {static_cast<std::size_t>(size())}, keep(arrays_)); }

  int check(nb::handle index) const {
    const Py_ssize_t i = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) throw nb::python_error();
    if (i < -size() || i >= size()) {
      throw nb::index_error(fmt::format("there is no simulation {}; the batch has {}", i, size()).c_str());
    }
    return static_cast<int>(i < 0 ? i + size() : i);
  }

  PyState state(const WholeNumber& index) {
    const int i = check(index);
    const Busy busy(&busy_);
    load(i);
    return {model_, states_[i]};
  }

  void set_state(const WholeNumber& index, const PyState& state) {
    const int i = check(index);
    if (state.model->model.fingerprint != model_->model.fingerprint) {
      throw nb::value_error("the state is of another model than this batch");
    }
    State copy = state.state;
    make_sound(model_->model, &copy);
    const Busy busy(&busy_);
    states_[i] = std::move(copy);
    failure_[i].clear();
    rigid_[i].reset();
    store(i);
    sense(i, nullptr, nullptr);
  }

  nb::typed<nb::list, Things> schedule() const { return from_points(points_); }
  void set_schedule(std::vector<ControlPoint> points) {
    Schedule schedule = to_schedule(*model_, points);
    const Busy busy(&busy_);
    schedule_ = std::move(schedule);
    points_ = std::move(points);
  }

  void reset(const WholeNumbers& indices, const std::optional<std::string>& keyframe) {
    const PyState start{model_,
                        keyframe ? keyframe_state(model_->model, *keyframe) : initial_state(model_->model)};
    if (indices.is_none()) {
      for (int i = 0; i < size(); ++i) set_state(nb::borrow<WholeNumber>(nb::int_(i)), start);
    } else {
      for (const nb::handle index : indices) set_state(nb::borrow<WholeNumber>(index), start);
    }
  }

  std::vector<bool> failed() const {
    std::vector<bool> list;
    for (const std::string& why : failure_) list.push_back(!why.empty());
    return list;
  }
  const std::vector<std::string>& failures() const { return failure_; }

  void take_steps(long count) {
    if (count < 0) throw nb::value_error("the number of steps is below 0");
    run(
        count, schedule_, 0, [](int, long, State*) {}, [](int, long, const State&) {});
  }

  // Controls: none, [steps, actuators] for all, or [size, steps, actuators].
  std::tuple<FloatArray, FloatArray, FloatArray, FloatArray, FloatArray> rollout(long steps,
                                                                                 const ArrayLike& controls,
                                                                                 long every, bool sensors) {
    if (steps < 1) throw nb::value_error("steps must be 1 or more");
    if (every < 1 || every > steps) throw nb::value_error("every must be 1 to the number of steps");
    const int num_controls = model_->actuators.size();
    const RowMatrix u = to_controls(controls, steps);
    const long rows = steps / every;
    const Model& m = model_->model;
    const int num_sensed = sensors ? model_->sensors.size : 0;
    const double numbers =
        double(rows) * size() * (m.num_positions + m.num_velocities() + 1 + num_activations() + num_sensed);
    if (numbers > kMostNumbers) {
      raise_value_error(fmt::format(
          "{} simulations with {} rows each are {:.1e} numbers; make `every` larger", size(), rows, numbers));
    }
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    auto q = std::make_shared<RowMatrix>(RowMatrix::Constant(size() * rows, m.num_positions, kNone));
    auto v = std::make_shared<RowMatrix>(RowMatrix::Constant(size() * rows, m.num_velocities(), kNone));
    auto a = std::make_shared<RowMatrix>(RowMatrix::Constant(size() * rows, num_activations(), kNone));
    auto t = std::make_shared<RowMatrix>(RowMatrix::Constant(size(), rows, kNone));
    auto s = std::make_shared<RowMatrix>(RowMatrix::Constant(size() * rows, num_sensed, kNone));
    // Controls that are given take the place of the schedule's; its forces and surfaces still act.
    Schedule schedule = schedule_;
    if (u.rows() > 0) schedule.controls.clear();
    run(
        steps, schedule, sensors ? every : 0,
        [&](int i, long k, State* state) {
          if (num_controls == 0 || u.rows() == 0) return;
          const long row = u.rows() == steps ? k : i * steps + k;
          state->control = u.row(row).transpose();
        },
        [&](int i, long k, const State& state) {
          if ((k + 1) % every != 0) return;
          const long row = (k + 1) / every - 1;
          q->row(i * rows + row) = state.q.transpose();
          v->row(i * rows + row) = state.v.transpose();
          a->row(i * rows + row) = state.activation.transpose();
          (*t)(i, row) = state.time;
          if (num_sensed > 0) s->row(i * rows + row) = arrays_->sensors.row(i);
        });
    const auto n = static_cast<std::size_t>(size()), r = static_cast<std::size_t>(rows);
    return std::tuple(view(t->data(), {n, r}, keep(t)),
                      view(q->data(), {n, r, static_cast<std::size_t>(q->cols())}, keep(q)),
                      view(v->data(), {n, r, static_cast<std::size_t>(v->cols())}, keep(v)),
                      view(a->data(), {n, r, static_cast<std::size_t>(a->cols())}, keep(a)),
                      view(s->data(), {n, r, static_cast<std::size_t>(s->cols())}, keep(s)));
  }

  std::pair<FloatArray, FloatArray> poses() {
    const Busy busy(&busy_);
    for (int i = 0; i < size(); ++i) load(i);
    const int bodies = model_->bodies.size();
    auto position = std::make_shared<RowMatrix>(size() * bodies, 3);
    auto quat = std::make_shared<RowMatrix>(size() * bodies, 4);
    {
      const nb::gil_scoped_release release;
      Placement placement = make_placement(model_->model);
      for (int i = 0; i < size(); ++i) {
        calc_placement(model_->model, states_[i].q, &placement);
        for (int b = 0; b < bodies; ++b) {
          const Transform X = body_pose(model_->model, placement, b);
          position->row(i * bodies + b) = X.p.transpose();
          quat->row(i * bodies + b) = quat_from_matrix(X.R).transpose();
        }
      }
    }
    const auto n = static_cast<std::size_t>(size()), b = static_cast<std::size_t>(bodies);
    return std::pair(view(position->data(), {n, b, 3}, keep(position)),
                     view(quat->data(), {n, b, 4}, keep(quat)));
  }

 private:
  int num_activations() const { return model_->model.has_activations ? model_->actuators.size() : 0; }

  RowMatrix to_controls(nb::handle controls, long steps) const {
    if (controls.is_none()) return {};
    const nb::object array =
        nb::module_::import_("numpy").attr("ascontiguousarray")(controls, "dtype"_a = "float64");
    const auto shape = nb::cast<std::vector<long>>(array.attr("shape"));
    const long num_controls = model_->actuators.size();
    const bool is_for_all = shape == std::vector<long>{steps, num_controls};
    if (!is_for_all && shape != std::vector<long>{size(), steps, num_controls}) {
      raise_value_error(fmt::format("controls must have the shape ({}, {}) or ({}, {}, {})", steps,
                                    num_controls, size(), steps, num_controls));
    }
    if (num_controls == 0) return {};
    RowMatrix u =
        to_matrix(array.attr("reshape")(nb::make_tuple(-1, num_controls)), num_controls, "controls");
    if (!u.allFinite()) throw nb::value_error("controls has a number that is not finite");
    return u;
  }

  void load(int i) {
    State& state = states_[i];
    state.q = arrays_->q.row(i).transpose();
    state.v = arrays_->v.row(i).transpose();
    state.control = arrays_->control.row(i).transpose();
    state.activation = arrays_->activation.row(i).transpose();
    state.time = arrays_->time[i];
    try {
      make_sound(model_->model, &state);
    } catch (const nb::builtin_exception& error) {
      raise_value_error(fmt::format("simulation {}: {}", i, error.what()));
    }
  }

  void store(int i) {
    const State& state = states_[i];
    arrays_->q.row(i) = state.q.transpose();
    arrays_->v.row(i) = state.v.transpose();
    arrays_->control.row(i) = state.control.transpose();
    arrays_->activation.row(i) = state.activation.transpose();
    arrays_->time[i] = state.time;
  }

  // `workspace` and `input` are of the last step; null: there was none.
  void sense(int i, const Workspace* workspace, const Input* input) {
    if (model_->sensors.size == 0) return;
    VecX values = workspace != nullptr ? VecX(arrays_->sensors.row(i).transpose()) : VecX();
    read_sensors(model_->model, model_->sensors, states_[i], workspace, input, &values);
    arrays_->sensors.row(i) = values.transpose();
  }

  void check_control(const Schedule& schedule) const {
    for (const Schedule::Track& track : schedule.controls) {
      for (int i = 0; i < size(); ++i) {
        const double given = arrays_->control(i, track.index);
        if (given == states_[i].control[track.index] || !value_at(track, arrays_->time[i] + options_.dt / 2))
          continue;
        raise_value_error(
            fmt::format("simulation {}: control of '{}' was set to {:g}, but the schedule sets it; "
                        "'batch.schedule = None' ends the "
                        "schedule",
                        i, model_->actuators.list()[track.index], given));
      }
    }
  }

  std::unique_ptr<Workspace> take_workspace() {
    {
      const std::lock_guard lock(mutex_);
      if (!workspaces_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(workspaces_.back());
        workspaces_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(make_workspace(model_->model));
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    workspaces_.push_back(std::move(workspace));
  }

  // before(i, k, state) and after(i, k, state) are called around step k of simulation i. Sensors are read
  // every `sense_every` steps (0: not in between) and after the last one.
  template <class Before, class After>
  void run(long count, const Schedule& schedule, long sense_every, const Before& before, const After& after) {
    const Busy busy(&busy_);
    check_control(schedule);
    for (int i = 0; i < size(); ++i) {
      if (failure_[i].empty()) load(i);
    }
    stop_ = false;
    std::atomic<bool> interrupted = false;
    const struct Store {
      PyBatch* batch;
      ~Store() {
        for (int i = 0; i < batch->size(); ++i) batch->store(i);
      }
    } store_at_end{this};
    {
      const nb::gil_scoped_release release;
      SignalCheck signals;
      const auto caller = std::this_thread::get_id();
      threads_.for_each(size(), [&](int i) {
        if (!failure_[i].empty() || stop_) return;
        std::unique_ptr<Workspace> workspace = take_workspace();
        workspace->rigid = rigid_[i];
        Input input;
        try {
          for (long k = 0; k < count; ++k) {
            before(i, k, &states_[i]);
            if (!schedule.empty()) {
              input.body_forces.clear();
              apply_schedule(model_->model, schedule, options_.dt, &states_[i], &input);
            }
            step(model_->model, options_, input, &states_[i], workspace.get());
            const bool is_due = sense_every > 0 && (k + 1) % sense_every == 0;
            if (is_due || k + 1 == count || stop_) sense(i, workspace.get(), &input);
            after(i, k, states_[i]);
            if (std::this_thread::get_id() == caller && signals.is_due_and_raised())
              interrupted = stop_ = true;
            if (stop_) break;
          }
        } catch (const StepStopped&) {
          return;  // what the workspace holds is half done
        } catch (const StepFailure& failure) {
          failure_[i] = failure.what();
          return;
        }
        rigid_[i] = std::move(workspace->rigid);
        give_back(std::move(workspace));
      });
    }
    if (interrupted) throw nb::python_error();
  }

  ModelPtr model_;
  StepOptions options_;
  std::vector<State> states_;
  std::vector<std::string> failure_;                 // why a simulation stands still, or ""
  std::vector<std::shared_ptr<RigidMemory>> rigid_;  // impulses of the last step by a rigid model
  std::shared_ptr<Arrays> arrays_;
  std::vector<ControlPoint> points_;
  Schedule schedule_;
  Threads threads_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::atomic<bool> stop_ = false, busy_ = false;
};

}  // namespace

void bind_batch(nb::module_& m) {
  using Arrays = PyBatch::Arrays;
  nb::class_<PyBatch>(
      m, "Batch",
      "Many simulations of one model, stepped by several threads: Batch(model, size, threads=1, ...).\n\n"
      "Options are those of Simulation. Results have the same bits for any number of threads, and are\n"
      "those of single simulations. A simulation whose step fails stands still from then on (`failed`,\n"
      "`failures`), until it is reset; the others go on.")
      .def(
          "__init__",
          [](PyBatch* self, const SceneLike& scene, long size, long threads,
             const std::optional<std::string>& keyframe, const nb::kwargs& options) {
            if (size < 1 || size > 1'000'000) throw nb::value_error("size must be 1 to 1000000");
            if (threads < 1 || threads > 1024) throw nb::value_error("threads must be 1 to 1024");
            const ModelPtr model = to_model(scene);
            const State start =
                keyframe ? keyframe_state(model->model, *keyframe) : initial_state(model->model);
            new (self) PyBatch(model, static_cast<int>(size), static_cast<int>(threads),
                               choose_options(model->model, options), start);
          },
          "scene"_a, "size"_a, "threads"_a = 1, "keyframe"_a = nb::none(), "options"_a)
      .def("__len__", &PyBatch::size)
      .def_prop_ro("size", &PyBatch::size, "Number of simulations.")
      .def_prop_ro("threads", &PyBatch::threads, "Number of threads.")
      .def_prop_ro("dt", &PyBatch::dt, "Time step [s].")
      .def_prop_ro(
          "model", [](const PyBatch& b) { return b.model(); }, "The model of all.")
      .def_prop_ro(
          "q", [](PyBatch& b) { return b.array(&Arrays::q); },
          "Positions [m, rad, quat_wxyz], shape [size, model.num_positions]: a view, which steps change and "
          "which may be written "
          "to.")
      .def_prop_ro(
          "v", [](PyBatch& b) { return b.array(&Arrays::v); },
          "Velocities [m/s, rad/s], likewise, shape [size, dofs].")
      .def_prop_ro(
          "control", [](PyBatch& b) { return b.array(&Arrays::control); },
          "Controls, each in its unit [N, N m, m, rad, ...], likewise, shape [size, actuators].")
      .def_prop_ro(
          "activation", [](PyBatch& b) { return b.array(&Arrays::activation); },
          "Activations, in the unit of the control, likewise, shape [size, actuators]; [size, 0] where no "
          "actuator of the model has one.")
      .def_prop_ro("time", &PyBatch::time, "[s], likewise, shape [size].")
      .def_prop_ro("_sensors", [](PyBatch& b) { return b.array(&Arrays::sensors); })
      .def_prop_rw(
          "schedule", &PyBatch::schedule,
          [](PyBatch& b, const PointsLike& points) { b.set_schedule(to_points(*b.model(), points)); },
          nb::for_setter(nb::arg("points").none()),
          "Controls over time that all follow, as Simulation.schedule: at first those of the scene; None for "
          "none.")
      .def("step", &PyBatch::take_steps, "count"_a = 1,
           "Takes steps in every simulation that has not failed.")
      .def("_rollout", &PyBatch::rollout, "steps"_a, "controls"_a.none(), "every"_a, "sensors"_a)
      .def("state", &PyBatch::state, "index"_a, "A copy of the state of one simulation.")
      .def("set_state", &PyBatch::set_state, "index"_a, "state"_a, "Puts one simulation into a state.")
      .def("reset", &PyBatch::reset, "indices"_a = nb::none(), "keyframe"_a = nb::none(),
           "Puts these simulations, or all, back to the start or to a keyframe.")
      .def_prop_ro("failed", &PyBatch::failed, "A list of bool: which simulations stand still.")
      .def_prop_ro("failures", &PyBatch::failures, "A list of str: why, or ''.")
      .def("poses", &PyBatch::poses,
           "(position [size, bodies, 3] [m], quat_wxyz [size, bodies, 4]) of all bodies, now.");
}

}  // namespace capstan::python
