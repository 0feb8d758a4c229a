#include "python/src/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "capstan/io/picture.h"
#include "capstan/io/recording_hdf5.h"
#include "capstan/math/rotation.h"
#include "capstan/step/mocap.h"

namespace capstan::python {
namespace {

struct PairRecord {  // CONTACT_PAIR of capstan/_arrays.py
  std::int32_t body_a, body_b, contacts, sticking, sliding, unused;
  double normal_force;
  Vec3 force, friction, torque;
};
static_assert(sizeof(PairRecord) == 24 + 10 * 8, "no gaps");

struct PatchRecord {  // PATCH of capstan/_arrays.py
  std::int32_t shape_a, shape_b, body_a, body_b, points, unused;
  double area, normal_force, largest_pressure;
  Vec3 centre, force, moment;
};
static_assert(sizeof(PatchRecord) == 24 + 12 * 8, "no gaps");

nb::object dtype(const char* name) {
  return nb::module_::import_("capstan._arrays").attr(name);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

PySimulation::PySimulation(ModelPtr model, const StepOptions& options, State state)
    : model_(std::move(model)),
      options_(options),
      state_(std::move(state)),
      arrays_(std::make_shared<Arrays>()),
      workspace_(std::make_unique<Workspace>(make_workspace(model_->model))),
      placement_(make_placement(model_->model)) {
  const Model& m = model_->model;
  arrays_->q = VecX::Zero(m.num_positions);
  arrays_->v = VecX::Zero(m.num_velocities());
  arrays_->control = VecX::Zero(model_->actuators.size());
  arrays_->activation = VecX::Zero(m.has_activations ? model_->actuators.size() : 0);
  arrays_->generalized_force = VecX::Zero(m.num_velocities());
  arrays_->surface_scale = VecX::Ones(model_->shapes.size());
  store();
  set_schedule(model_->scene.controls);
}

void PySimulation::load() {
  state_.q = arrays_->q;
  state_.v = arrays_->v;
  state_.control = arrays_->control;
  state_.activation = arrays_->activation;
  make_sound(model_->model, &state_);
  // Without an effect they are left out, as the command line does: the same bits, and what sleeps sleeps on.
  const VecX& force = arrays_->generalized_force;
  const VecX& scale = arrays_->surface_scale;
  if (!force.allFinite()) throw nb::value_error("generalized_force has a number that is not finite");
  if (!scale.allFinite()) throw nb::value_error("surface_scale has a number that is not finite");
  if ((force.array() != 0).any()) {
    input_.generalized_force = force;
  } else {
    input_.generalized_force.resize(0);
  }
  if ((scale.array() != 1).any()) {
    input_.surface_scale = scale;
  } else {
    input_.surface_scale.resize(0);
  }
}

void PySimulation::store() {
  arrays_->q = state_.q;
  arrays_->v = state_.v;
  arrays_->control = state_.control;
  arrays_->activation = state_.activation;
  stored_control_ = state_.control;
}

void PySimulation::set_schedule(std::vector<ControlPoint> points) {
  Schedule schedule = to_schedule(*model_, points);
  const Busy busy(&busy_);
  schedule_ = std::move(schedule);
  points_ = std::move(points);
}

void PySimulation::check_control() const {
  for (const Schedule::Track& track : schedule_.controls) {
    const double given = arrays_->control[track.index];
    if (given == stored_control_[track.index]) continue;
    if (!value_at(track, state_.time + options_.dt / 2)) continue;
    raise_value_error(fmt::format(
        "control of '{}' was set to {:g}, but the schedule sets it; 'sim.schedule = None' ends the schedule",
        model_->actuators.list()[track.index], given));
  }
}

// Tracks win over surface_scale where they name a shape, and their forces come beside those of apply_force().
void PySimulation::follow_schedule() {
  if (schedule_.empty()) return;
  scheduled_.body_forces.clear();
  apply_schedule(model_->model, schedule_, options_.dt, &state_, &scheduled_);
  aim_scheduled_mocap(model_->model, schedule_, options_.dt, state_, &input_);
  for (const BodyForce& force : scheduled_.body_forces) input_.body_forces.push_back(force);
  if (!schedule_.surfaces.empty()) input_.surface_scale = arrays_->surface_scale;
  for (const Schedule::Track& track : schedule_.surfaces) {
    if (const auto value = value_at(track, state_.time + options_.dt / 2))
      input_.surface_scale[track.index] = value->x();
  }
}

void PySimulation::aim(int body, const Transform* X_WB) {
  const Busy busy(&busy_);
  if (X_WB == nullptr) {
    targets_.erase(body);
    return;
  }
  const int link = model_->model.bodies[body].link;
  for (const Schedule::Track& track : schedule_.mocap) {
    if (model_->model.bodies[track.index / 6].link == link)
      raise_value_error(fmt::format("the schedule moves '{}'; 'sim.schedule = None' ends the schedule",
                                    model_->bodies.list()[body]));
  }
  targets_[body] = *X_WB;
}

void PySimulation::aim_mocap_bodies() {
  for (const auto& [body, X_WB] : targets_)
    aim_mocap(model_->model, state_, body, X_WB, options_.dt, &input_);
}

FloatArray PySimulation::sensors() {
  const Busy busy(&busy_);
  load();
  read_sensors(model_->model, model_->sensors, state_, has_step_ ? workspace_.get() : nullptr,
               has_step_ ? &input_ : nullptr, &sensed_);
  return to_numpy(sensed_);
}

void PySimulation::place_forces() {
  input_.body_forces.clear();
  if (forces_.empty()) return;
  calc_placement(model_->model, state_.q, &placement_);
  for (const Force& f : forces_) {
    const Vec3 p_W = body_pose(model_->model, placement_, f.body) * f.p_B;
    input_.body_forces.push_back({f.body, p_W, f.force_W, f.torque_W});
  }
}

void PySimulation::place() {
  const Busy busy(&busy_);
  load();
  calc_placement(model_->model, state_.q, &placement_);
}

void PySimulation::append_frame(const Workspace* last, double wall) {
  recorder_->append(state_, report_, last, wall);
  since_record_ = 0;
}

void PySimulation::take_steps(long count) {
  if (count < 0) throw nb::value_error("the number of steps is below 0");
  const Busy busy(&busy_);
  check_control();
  load();
  bool interrupted = false, failed = false;
  std::string failure;
  long taken = 0;
  const struct Store {  // however the loop ends, Python sees the state that it ended with
    PySimulation* simulation;
    ~Store() { simulation->store(); }
  } store_at_end{this};
  try {
    const nb::gil_scoped_release release;
    SignalCheck signals;
    while (taken < count && !interrupted) {
      place_forces();
      follow_schedule();
      aim_mocap_bodies();
      if (recorder_) recorder_->note_input(state_, input_);
      const auto begin = std::chrono::steady_clock::now();
      report_ = step(model_->model, options_, input_, &state_, workspace_.get());
      has_step_ = true;
      ++taken;
      if (recorder_ && ++since_record_ >= record_every_) append_frame(workspace_.get(), seconds_since(begin));
      if (view_) interrupted = show_step(taken == count, seconds_since(begin), &signals);
      if (!interrupted) interrupted = signals.is_due_and_raised();
    }
  } catch (const StepFailure& f) {
    failed = true;
    failure = f.what();
  } catch (...) {  // a bug of ours, or memory: what is half done is not used again
    has_step_ = false;
    workspace_ = std::make_unique<Workspace>(make_workspace(model_->model));
    throw;
  }
  if (failed) {
    has_step_ = false;
    workspace_ = std::make_unique<Workspace>(make_workspace(model_->model));
    raise_step_error(failure, taken);
  }
  if (interrupted) throw nb::python_error();
}

// Shows the state, and waits where it is ahead of the clock: true, with the Python error set, when a signal
// ended that.
bool PySimulation::show_step(bool is_last, double wall, SignalCheck* signals) {
  view_->show(state_, report_, workspace_.get(), input_, wall, is_last);
  for (double early = view_->seconds_early(state_.time); early > 0;
       early = view_->seconds_early(state_.time)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(early, 0.05)));
    if (signals->is_due_and_raised()) return true;
  }
  return false;
}

std::string PySimulation::view(double pace, const std::string& address, int port) {
  if (!(pace >= 0)) throw nb::value_error("pace must be 0 or more");
  if (port < 0 || port > 65535) throw nb::value_error("port must be 0 to 65535");
  const Busy busy(&busy_);
  load();
  if (!view_)
    view_ = std::make_unique<LiveView>(model_, options_, state_, address, static_cast<unsigned short>(port));
  view_->set_pace(pace);
  return view_->url();
}

void PySimulation::close_view() {
  const Busy busy(&busy_);
  const std::unique_ptr<LiveView> closing = std::move(view_);
  const nb::gil_scoped_release release;
}

void PySimulation::raise_step_error(const std::string& text, long taken) const {
  const nb::object type = nb::module_::import_("capstan._errors").attr("StepError");
  const nb::object error = type(text, nb::int_(taken), nb::cast(report_));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

State PySimulation::state() {
  const Busy busy(&busy_);
  load();
  return state_;
}

void PySimulation::set_state(State state) {
  const Busy busy(&busy_);
  make_sound(model_->model, &state);
  state_ = std::move(state);
  targets_.clear();
  has_step_ = false;
  workspace_->rigid.reset();  // impulses of a rigid model, which are not of this state
  report_ = {};
  store();
  if (view_) view_->show(state_, report_, nullptr, {}, 0, true);
}

void PySimulation::change_model(ModelPtr model) {
  const Busy busy(&busy_);
  for (const auto& [is_on, what, end] :
       {std::tuple(recorder_ != nullptr, "is recorded, and a recording has one scene", "stop_recording()"),
        std::tuple(view_ != nullptr, "has a viewer, which shows one scene", "close the View")}) {
    if (is_on) throw std::runtime_error(fmt::format("this simulation {}; {} first", what, end));
  }
  auto workspace = std::make_unique<Workspace>(make_workspace(model->model));
  placement_ = make_placement(model->model);
  model_ = std::move(model);
  workspace_ = std::move(workspace);
  for (Rest& rest : state_.rest) rest = {};  // what slept may slide now
  has_step_ = false;
  report_ = {};
}

void PySimulation::set_time(double time) {
  const Busy busy(&busy_);
  if (!std::isfinite(time)) throw nb::value_error("time is not finite");
  state_.time = time;
}

void PySimulation::choose_option(const std::string& name, nb::handle value) {
  const Busy busy(&busy_);
  set_option(name, value, &options_);
}

FloatArray PySimulation::array(VecX Arrays::*field) {
  VecX& x = (*arrays_).*field;
  return python::view(x.data(), {static_cast<std::size_t>(x.size())}, keep(arrays_));
}

RecordArray PySimulation::contacts() {
  const Busy busy(&busy_);
  std::vector<ContactForce> forces;
  if (has_step_) calc_contact_forces(*workspace_, &forces);
  std::vector<ContactRecord> records;
  const std::vector<ModelShape>& shapes = model_->model.shapes;
  for (const ContactForce& f : forces) {
    if (f.kind == ContactKind::withdrawn) continue;
    records.push_back({f.shape_a, f.shape_b, shapes[f.shape_a].body, shapes[f.shape_b].body,
                       static_cast<std::int32_t>(f.region), static_cast<std::int32_t>(f.kind), f.p_W,
                       f.normal_W, f.force_W(), f.distance, f.normal_force, f.friction_W, f.slip_W, f.area,
                       f.torque_W});
  }
  return to_records(records.data(), records.size() * sizeof(ContactRecord), dtype("CONTACT"));
}

RecordArray PySimulation::contact_pairs() {
  const Busy busy(&busy_);
  std::vector<ContactForce> forces;
  if (has_step_) calc_contact_forces(*workspace_, &forces);
  std::vector<BodyPairForce> pairs;
  sum_contact_forces(model_->model, forces, &pairs);
  std::vector<PairRecord> records;
  for (const BodyPairForce& p : pairs) {
    records.push_back({p.body_a, p.body_b, p.contacts, p.sticking, p.sliding, 0, p.normal_force, p.force_W,
                       p.friction_W, p.torque_W});
  }
  return to_records(records.data(), records.size() * sizeof(PairRecord), dtype("CONTACT_PAIR"));
}

RecordArray PySimulation::patches() {
  const Busy busy(&busy_);
  std::vector<ContactForce> forces;
  if (has_step_) calc_contact_forces(*workspace_, &forces);
  std::vector<PatchForce> patches;
  sum_patch_forces(forces, &patches);
  std::vector<PatchRecord> records;
  const std::vector<ModelShape>& shapes = model_->model.shapes;
  for (const PatchForce& p : patches) {
    records.push_back({p.shape_a, p.shape_b, shapes[p.shape_a].body, shapes[p.shape_b].body, p.points, 0,
                       p.area, p.normal_force, p.largest_pressure, p.centre_W, p.force_W, p.moment_W});
  }
  return to_records(records.data(), records.size() * sizeof(PatchRecord), dtype("PATCH"));
}

void PySimulation::apply_force(int body, const Vec3& force_W, const Vec3& torque_W, const Vec3* point_W) {
  Vec3 p_B = Vec3::Zero();
  if (point_W != nullptr) p_B = inverse(pose(body)) * *point_W;
  const Busy busy(&busy_);
  forces_.push_back({body, p_B, force_W, torque_W});
}

void PySimulation::clear_forces() {
  const Busy busy(&busy_);
  forces_.clear();
  input_.body_forces.clear();
  arrays_->generalized_force.setZero();
}

void PySimulation::clear_surface_scale() {
  const Busy busy(&busy_);
  arrays_->surface_scale.setOnes();
}

Transform PySimulation::pose(int body) {
  place();
  return body_pose(model_->model, placement_, body);
}

Vec6 PySimulation::velocity(int body) {
  place();
  Velocity velocity = make_velocity(model_->model);
  calc_velocity(model_->model, placement_, state_.v, &velocity);
  return body_velocity(model_->model, placement_, velocity, body);
}

std::pair<FloatArray, FloatArray> PySimulation::poses() {
  place();
  const int n = model_->bodies.size();
  RowMatrix position(n, 3), quat(n, 4);
  for (int i = 0; i < n; ++i) {
    const Transform X = body_pose(model_->model, placement_, i);
    position.row(i) = X.p.transpose();
    quat.row(i) = quat_from_matrix(X.R).transpose();
  }
  return {to_numpy(position), to_numpy(quat)};
}

std::string PySimulation::picture(int width, int height, double azimuth, double elevation,
                                  const std::string& title) {
  if (width < 16 || height < 16 || width > 10000 || height > 10000) {
    throw nb::value_error("width and height must be 16 to 10000 [px]");
  }
  if (!std::isfinite(azimuth) || !std::isfinite(elevation)) throw nb::value_error("an angle is not finite");
  PictureOptions options;
  options.width = width;
  options.height = height;
  options.azimuth = azimuth;
  options.elevation = elevation;
  options.title = title;
  return draw_picture(model_->model, {state()}, options);
}

nb::tuple PySimulation::image(const ImageOptions& options) {
  const State now = state();
  auto image = std::make_shared<Image>();
  {
    const nb::gil_scoped_release release;
    *image = draw_image(model_->model, now, options);
  }
  const auto h = static_cast<std::size_t>(options.height), w = static_cast<std::size_t>(options.width);
  const auto view_of = [&](auto* data, std::initializer_list<std::size_t> shape) {
    return nb::cast(nb::ndarray<nb::numpy, std::remove_pointer_t<decltype(data)>>(data, shape, keep(image)));
  };
  return nb::make_tuple(view_of(image->rgb.data(), {h, w, 3}), view_of(image->depth.data(), {h, w}),
                        view_of(image->shapes.data(), {h, w}));
}

void PySimulation::record(const std::string& path, long every) {
  if (every < 1) throw nb::value_error("every must be 1 step or more");
  const Busy busy(&busy_);
  if (recorder_) throw std::runtime_error("this simulation is recorded already; call stop_recording() first");
  load();
  const Model& m = model_->model;
  if (is_hdf5_name(path)) {
    recorder_ = std::make_unique<Hdf5Recorder>(path, m, model_->scene.file, options_,
                                               logged_sensors(m, model_->scene));
  } else {
    const RecordingHeader header =
        recording_header(model_->scene, m, model_->scene.file, options_, m.options.duration);
    recorder_ = std::make_unique<RecordingWriter>(path, m, header);
  }
  record_every_ = every;
  append_frame(nullptr, 0);
}

long PySimulation::stop_recording() {
  const Busy busy(&busy_);
  if (!recorder_) return 0;
  const std::unique_ptr<Recorder> recorder = std::move(recorder_);  // closed, also where closing fails
  if (since_record_ > 0) recorder->append(state_, report_, has_step_ ? workspace_.get() : nullptr, 0);
  recorder->close();
  return recorder->num_frames();
}

}  // namespace capstan::python
