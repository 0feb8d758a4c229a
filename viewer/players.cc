// The two kinds of player: a live simulation and a recording.
#include <Eigen/Geometry>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "capstan/io/output_file.h"
#include "capstan/model/add_soft_body.h"
#include "viewer/player.h"

namespace capstan::viewer {
namespace {

constexpr double kPullFrequency = 3;  // [Hz] of a dragged tree on its spring
constexpr double kPulledPart = 0.5;  // of a carrier's mass over omega dt: stable, as it is constant in a step
constexpr double kMaxPull = 100;     // [m/s^2] that the spring may accelerate its tree by

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_number(const Json& message, const char* key) {
  const auto it = message.find(key);
  return it != message.end() && it->is_number() && std::isfinite(it->get<double>());
}

bool is_index(const Json& message, const char* key, std::size_t begin, std::size_t end) {
  const auto it = message.find(key);
  return it != message.end() && it->is_number_unsigned() && it->get<std::uint64_t>() >= begin &&
         it->get<std::uint64_t>() < end;
}

bool is_point(const Json& message, const char* key) {
  const auto it = message.find(key);
  if (it == message.end() || !it->is_array() || it->size() != 3) return false;
  for (const Json& x : *it) {
    if (!x.is_number() || !(std::abs(x.get<double>()) < 1e6)) return false;
  }
  return true;
}

Vec3 point(const Json& message, const char* key) {
  const Json& p = message[key];
  return {p[0].get<double>(), p[1].get<double>(), p[2].get<double>()};
}

class LivePlayer : public Player {
 public:
  LivePlayer(const Model& model, const StepOptions& options, const State& start, LiveRecording recording,
             Schedule schedule, SensorSet sensors)
      : model_(model),
        options_(options),
        schedule_(std::move(schedule)),
        sensors_(model, std::move(sensors)),
        recording_(std::move(recording)),
        is_recording_(recording_.open != nullptr),
        start_(start),
        state_(start),
        workspace_(make_workspace(model)),
        maker_(model),
        placement_(make_placement(model)),
        velocity_(make_velocity(model)) {
    options_.stop = &stopping_;  // Ctrl-C does not wait for the end of a long step
    for (int j = 0; j < static_cast<int>(model.joints.size()); ++j) {
      if (num_positions(model.joints[j].type) == 1) scalar_joints_.push_back(j);
    }
    std::vector<LogColumn> numbers = log_numbers();
    numbers.push_back({"timing", "step.wall_time", "s"});
    for (LogColumn& column : sensor_columns(sensors_.sensors())) numbers.push_back(std::move(column));
    sensed_ = sensors_.read(state_, nullptr);
    Json scene = scene_message(model, options, numbers, model.options.duration, "live");
    scene["can_record"] = is_recording_;
    set_scene(scene);
    remember();
  }
  ~LivePlayer() override {
    stop();
    try {
      end_part();
    } catch (const OutputError&) {  // the end of a recording, as if the program had been killed
    }
  }

 protected:
  double advance(double seconds, double budget) override {
    const double until = now() + budget;
    due_ = std::min(due_ + seconds, std::max(0.1, 2 * options_.dt));
    double done = 0;
    while (due_ >= options_.dt && now() < until) {
      if (!take_step()) return done;
      due_ -= options_.dt;
      done += options_.dt;
    }
    return done;
  }
  void step_once() override { take_step(); }
  void reset() override {
    end_part();
    state_ = start_;
    sensed_ = sensors_.read(state_, nullptr);
    contacts_.clear();
    report_ = {};
    pulled_link_ = 0;
    due_ = 0;
    history_.clear();
    history_bytes_ = 0;
    remember();
  }
  // What came after the shown state will be another future.
  void going_on() override {
    while (!history_.empty() && history_.back().state.step > state_.step) {
      history_bytes_ -= history_.back().bytes();
      history_.pop_back();
    }
  }
  void add_to_status(Json* status) const override {
    (*status)["history"] = {history_.front().state.time, history_.back().state.time};
    (*status)["recording"] = recorder_ != nullptr || (is_recording_ && recording_.open);
  }
  std::string check(const std::string& name, const Json& m) const override {
    if (name == "release") return "";
    if (name == "seek") return is_number(m, "time") ? "" : "seek needs a time";
    if (name == "record") {
      if (!recording_.open) return "this simulation was not started with --record";
      return m.contains("on") && m["on"].is_boolean() ? "" : "record needs on: true or false";
    }
    if (name == "control") {
      return is_index(m, "index", 0, model_.actuators.size()) && is_number(m, "value")
                 ? ""
                 : "control needs the index of an actuator and a value";
    }
    if (name == "joint") {
      return is_index(m, "index", 0, scalar_joints_.size()) && is_number(m, "value")
                 ? ""
                 : "joint needs the index of a 1-dof joint and a value";
    }
    if (name == "drag") {
      return is_index(m, "link", 1, model_.links.size()) && is_point(m, "point") && is_point(m, "target")
                 ? ""
                 : "drag needs a link, a point and a target";
    }
    return "a simulation does not know the command '" + name.substr(0, 40) + "'";
  }
  void carry_out(const std::string& name, const Json& m) override {
    if (name == "control") {
      const int index = m["index"].get<int>();
      const Range& range = model_.actuators[index].control_range;
      state_.control[index] = std::clamp(m["value"].get<double>(), range.lower, range.upper);
    } else if (name == "joint") {
      end_part();
      const ModelJoint& joint = model_.joints[scalar_joints_[m["index"].get<int>()]];
      double value = m["value"].get<double>();
      if (!joint.limits.empty()) value = std::clamp(value, joint.limits[0].lower, joint.limits[0].upper);
      state_.q[joint.q] = value;
      state_.v[joint.v] = 0;
      contacts_.clear();  // those of the step before are no longer where things are
    } else if (name == "drag") {
      pulled_link_ = m["link"].get<int>();
      pulled_point_ = point(m, "point");
      pull_target_ = point(m, "target");
    } else if (name == "release") {
      pulled_link_ = 0;
    } else if (name == "record") {
      is_recording_ = m["on"].get<bool>();
      if (!is_recording_) end_part();
    } else if (name == "seek") {
      go_back(m["time"].get<double>());
    }
  }
  Json frame() override {
    if (state_.step > history_.back().state.step) remember();
    return maker_.frame(state_, contacts_, calc_numbers());
  }

 private:
  // A moment that can be gone back to.
  struct Moment {
    State state;
    Report report;
    double wall;
    std::vector<RecordedContact> contacts;
    VecX sensed;
    std::size_t bytes() const {
      return sizeof(Moment) +
             sizeof(double) * (state.q.size() + state.v.size() + state.control.size() + sensed.size()) +
             sizeof(RecordedContact) * contacts.size();
    }
  };

  VecX calc_numbers() const {
    VecX numbers;
    calc_log_numbers(model_, state_, report_, &numbers);
    const Eigen::Index n = numbers.size();
    numbers.conservativeResize(n + 1 + sensed_.size());
    numbers[n] = wall_;
    numbers.tail(sensed_.size()) = sensed_;
    return numbers;
  }
  void remember() {
    history_.push_back({state_, report_, wall_, contacts_, sensed_});
    history_bytes_ += history_.back().bytes();
    while (history_.size() > kMaxMoments || (history_.size() > 1 && history_bytes_ > kMaxHistoryBytes)) {
      history_bytes_ -= history_.front().bytes();
      history_.pop_front();
    }
  }
  void go_back(double time) {
    const auto after = std::upper_bound(history_.begin(), history_.end(), time + kSlack,
                                        [](double t, const Moment& m) { return t < m.state.time; });
    const Moment& moment = after == history_.begin() ? history_.front() : *std::prev(after);
    end_part();
    state_ = moment.state;
    report_ = moment.report;
    wall_ = moment.wall;
    contacts_ = moment.contacts;
    sensed_ = moment.sensed;
    pulled_link_ = 0;
    due_ = 0;
  }

  void end_part() {
    if (!recorder_) return;
    const std::unique_ptr<Recorder> recorder = std::move(recorder_);
    if (recorded_step_ != state_.step) {
      recorder->append(state_, report_, step_failed_ ? nullptr : &workspace_, wall_);
    }
    recorder->close();
  }
  void record(const Workspace* workspace) {
    recorder_->append(state_, report_, workspace, wall_);
    recorded_step_ = state_.step;
  }

  bool take_step() {
    going_on();
    Input input;
    if (!schedule_.empty()) apply_schedule(model_, schedule_, options_.dt, &state_, &input);
    if (pulled_link_ > 0) input.body_forces.push_back(pull());
    try {
      if (is_recording_ && !recorder_) {
        recorder_ = recording_.open(++num_parts_);
        record(nullptr);
      }
      if (recorder_) recorder_->note_input(state_, input);
    } catch (const OutputError& error) {
      is_recording_ = false;
      recorder_.reset();
      pause_with(error.what());
      return false;
    }
    sensors_.note_input(input);
    const double before = now();
    try {
      report_ = step(model_, options_, input, &state_, &workspace_);
      step_failed_ = false;
    } catch (const StepFailure& failure) {
      step_failed_ = true;
      pause_with(failure.what());
      return false;
    }
    wall_ = now() - before;
    calc_recorded_contacts(workspace_, &contacts_);
    sensed_ = sensors_.read(state_, &workspace_);
    if (state_.time - history_.back().state.time > kMomentSpacing) remember();
    if (recorder_ && (state_.step - recorded_step_) % recording_.every == 0) record(&workspace_);
    return true;
  }

  // A damped spring from the pulled point to the target, soft enough to be stable as a constant force over a
  // step.
  BodyForce pull() {
    calc_placement(model_, state_.q, &placement_);
    calc_velocity(model_, placement_, state_.v, &velocity_);
    const Link& link = model_.links[pulled_link_];
    double mass = 0;
    for (int l = model_.objects[link.object].link_begin; l < model_.objects[link.object].link_end; ++l) {
      mass += model_.links[l].mass;
    }
    const double omega = std::min(2 * 3.14159265358979 * kPullFrequency, 0.3 / options_.dt);
    if (const Object& object = model_.objects[link.object]; !object.is_tree()) {
      // Of a rod or a soft body that of the part about the point: it moves alone.
      Vec3 moment;
      const double all =
          object.physics->calc_mass(state_.q.segment(object.q_begin, object.num_positions()), &moment);
      const double own = calc_own_mass(link.object, all);
      mass = std::min(all, kPulledPart * own / (omega * options_.dt));
    }
    const Vec3 p = placement_.X_WL[pulled_link_] * pulled_point_;
    const Vec6& V = velocity_.V[pulled_link_];
    const Vec3 v = V.tail<3>() + V.head<3>().cross(p - placement_.origin[link.object]);
    Vec3 force = mass * (omega * omega * (pull_target_ - p) - 2 * 0.7 * omega * v);
    const double most = kMaxPull * mass;
    if (force.norm() > most) force *= most / force.norm();
    return {link.body, p, force, Vec3::Zero()};
  }

  // [kg] What a force at a point of a rod or a soft body moves within a step. Of a soft body that is a node
  // and what its elasticity, implicit in the step, makes of it: k dt^2, k = E t^2 / size of a sheet of
  // thickness t, but no more than a corner of a rigid body has.
  double calc_own_mass(int id, double all) const {
    const Object& object = model_.objects[id];
    const std::vector<int> soft = find_soft_bodies(model_);
    if (!std::binary_search(soft.begin(), soft.end(), id)) return all / (object.link_end - object.link_begin);
    const SoftBody& body = soft_body_of(model_, id);
    const double node = all / body.num_nodes(), area = body.surface_area(), t = 2 * body.rest_volume() / area;
    const double k = body.spec().young_modulus * t * t / std::sqrt(area);
    return 1 / (1 / (node + options_.dt * options_.dt * k) + kRigidCorner / all);
  }

  static constexpr double kRigidCorner = 4;        // 1/m + r^2/I of the corner of a box, times m, about
  static constexpr double kSlack = 1e-9;           // [s] times are sums of rounded steps
  static constexpr double kMomentSpacing = 0.016;  // [s] at most, but for one step; all that is shown besides
  static constexpr std::size_t kMaxMoments = 3600, kMaxHistoryBytes = std::size_t{100} << 20;

  const Model& model_;
  StepOptions options_;
  Schedule schedule_;  // controls over time; they win over sliders of the page
  SensorReader sensors_;
  VecX sensed_;  // after the step that led to the state
  LiveRecording recording_;
  bool is_recording_;  // as the user wants it
  std::unique_ptr<Recorder> recorder_;
  int num_parts_ = 0;
  std::int64_t recorded_step_ = -1;
  bool step_failed_ = false;    // the last one: the workspace is not of the state
  std::deque<Moment> history_;  // never empty
  std::size_t history_bytes_ = 0;
  State start_, state_;
  Workspace workspace_;
  FrameMaker maker_;
  Placement placement_;
  Velocity velocity_;
  Report report_;
  std::vector<RecordedContact> contacts_;
  std::vector<int> scalar_joints_;
  double due_ = 0, wall_ = 0;  // [s]
  int pulled_link_ = 0;
  Vec3 pulled_point_ = Vec3::Zero(), pull_target_ = Vec3::Zero();  // link frame; world
};

class RecordingPlayer : public Player {
 public:
  explicit RecordingPlayer(std::unique_ptr<Recording> recording)
      : recording_(std::move(recording)),
        maker_(recording_->model()),
        start_(recording_->frame(0).state.time),
        end_(std::max(start_, recording_->frame(recording_->num_frames() - 1).state.time)),
        clock_(start_) {
    const RecordingHeader& h = recording_->header();
    Json scene = scene_message(recording_->model(), h.options, h.numbers, h.duration, "recording");
    scene["start"] = start_;
    scene["end"] = end_;
    set_scene(scene);
  }
  ~RecordingPlayer() override { stop(); }

 protected:
  double advance(double seconds, double) override {
    if (clock_ >= end_) clock_ = start_ - seconds;  // again from the start, after its end was shown
    const double before = clock_;
    clock_ = std::min(clock_ + seconds, end_);
    index_ = recording_->find(clock_ + kSlack);
    if (start_ == end_) pause_with("");
    return clock_ - before;
  }
  void step_once() override {
    index_ = std::min(index_ + 1, recording_->num_frames() - 1);
    clock_ = recording_->frame(index_).state.time;
  }
  void reset() override {
    index_ = 0;
    clock_ = start_;
  }
  std::string check(const std::string& name, const Json& m) const override {
    if (name == "seek") return is_number(m, "time") ? "" : "seek needs a time";
    return "a recording does not know the command '" + name.substr(0, 40) + "'";
  }
  void carry_out(const std::string&, const Json& m) override {
    clock_ = std::clamp(m["time"].get<double>(), start_, end_);
    index_ = recording_->find(clock_ + kSlack);
  }
  Json frame() override {
    const RecordedFrame& f = recording_->frame(index_);
    return maker_.frame(f.state, f.contacts, f.numbers);
  }

 private:
  static constexpr double kSlack = 1e-9;  // [s] times are sums of rounded steps
  std::unique_ptr<Recording> recording_;
  FrameMaker maker_;
  double start_, end_, clock_;
  long index_ = 0;
};

}  // namespace

std::unique_ptr<Player> simulate_live(const Model& model, const StepOptions& options, const State& start,
                                      LiveRecording recording, Schedule schedule, SensorSet sensors) {
  return std::make_unique<LivePlayer>(model, options, start, std::move(recording), std::move(schedule),
                                      std::move(sensors));
}

std::unique_ptr<Player> play_recording(std::unique_ptr<Recording> recording) {
  return std::make_unique<RecordingPlayer>(std::move(recording));
}

}  // namespace capstan::viewer
