#include "python/src/live_view.h"

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>

#include "viewer/html.h"

namespace capstan::python {
namespace {

constexpr double kSpacing = 1.0 / 60;  // [s] between states that are shown

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// Viewers see the newest state that was left here; "pause" holds their picture, not the simulation.
class LiveView::Shown : public viewer::Player {
 public:
  Shown(ModelPtr model, const StepOptions& options, const State& state)
      : model_(std::move(model)), state_(state), maker_(model_->model) {
    std::vector<LogColumn> numbers = log_numbers();
    numbers.push_back({"timing", "step.wall_time", "s"});
    for (LogColumn& column : sensor_columns(model_->sensors)) numbers.push_back(std::move(column));
    read_sensors(model_->model, model_->sensors, state_, nullptr, nullptr, &sensed_);
    set_scene(viewer::scene_message(model_->model, options, numbers, model_->model.options.duration, "live"));
    start(true);
  }
  ~Shown() override { stop(); }

  void leave(const State& state, const Report& report, const Workspace* workspace, const Input& input,
             double wall) {
    const std::lock_guard lock(mutex_);
    read_sensors(model_->model, model_->sensors, state, workspace, workspace ? &input : nullptr, &sensed_);
    advanced_ += std::max(0.0, state.time - state_.time);
    state_ = state;
    report_ = report;
    wall_ = wall;
    contacts_.clear();
    if (workspace != nullptr) calc_recorded_contacts(*workspace, &contacts_);
  }

 protected:
  double advance(double, double) override {
    const std::lock_guard lock(mutex_);
    return std::exchange(advanced_, 0.0);
  }
  void step_once() override {}
  void reset() override {}
  void carry_out(const std::string&, const viewer::Json&) override {}
  std::string check(const std::string& name, const viewer::Json&) const override {
    return name == "release" ? "" : "this simulation is stepped by a Python program, which alone can do that";
  }
  void add_to_status(viewer::Json* status) const override {
    const std::lock_guard lock(mutex_);
    (*status)["history"] = {state_.time, state_.time};
    (*status)["recording"] = false;
  }
  viewer::Json frame() override {
    const std::lock_guard lock(mutex_);
    VecX numbers;
    calc_log_numbers(model_->model, state_, report_, &numbers);
    const Eigen::Index n = numbers.size();
    numbers.conservativeResize(n + 1 + sensed_.size());
    numbers[n] = wall_;
    numbers.tail(sensed_.size()) = sensed_;
    return maker_.frame(state_, contacts_, numbers);
  }

 private:
  ModelPtr model_;
  mutable std::mutex mutex_;  // of what follows
  State state_;
  Report report_;
  std::vector<RecordedContact> contacts_;
  VecX sensed_;
  double wall_ = 0, advanced_ = 0;
  viewer::FrameMaker maker_;
};

LiveView::LiveView(ModelPtr model, const StepOptions& options, const State& state, const std::string& address,
                   unsigned short port)
    : player_(std::make_unique<Shown>(std::move(model), options, state)) {
  viewer::ServerOptions server;
  server.address = address;
  server.port = port;
  server.page = viewer::read_page();
  server.takes_signals = false;  // Ctrl-C is Python's
  server_ = std::make_unique<viewer::Server>(std::move(server), player_.get());
  thread_ = std::thread([this] { server_->run(); });
}

LiveView::~LiveView() {
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

void LiveView::show(const State& state, const Report& report, const Workspace* workspace, const Input& input,
                    double wall, bool is_last) {
  const double now = clock_seconds();
  if (!is_last && now - last_shown_ < kSpacing) return;
  last_shown_ = now;
  player_->leave(state, report, workspace, input, wall);
}

void LiveView::set_pace(double pace) {
  pace_ = pace;
  start_clock_ = -1;
}

double LiveView::seconds_early(double time) {
  if (!(pace_ > 0)) return 0;
  const double now = clock_seconds();
  const double early = start_time_ + (now - start_clock_) * pace_;  // where it should be by now
  // It begins anew after a pause, a reset, or when steps cannot keep up.
  if (start_clock_ < 0 || time < start_time_ || early - time > 0.2 * pace_) {
    start_time_ = time;
    start_clock_ = now;
    return 0;
  }
  return (time - early) / pace_;
}

}  // namespace capstan::python
