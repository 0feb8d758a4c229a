#include "apps/capstan/simulate.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>
#include <vector>

#include "apps/capstan/commands.h"
#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/math/rotation.h"
#include "capstan/problem/gap.h"

namespace capstan::cli {
namespace {

constexpr double kProgressSeconds = 0.1;
constexpr double kFarOutOfCone = 0.1;  // of the largest impulse of a step
constexpr double kUnsettled = 0.03;    // of a contact's own impulse
volatile sig_atomic_t caught_signal = 0;
std::atomic<bool> stop_step = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal's handler");
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction previous_actions[std::size(kSignals)];

extern "C" void catch_signal(int number) {
  caught_signal = number;
  stop_step = true;
}

void keep_largest(const Residual& r, Residual* largest) {
  for (double Residual::*x :
       {&Residual::momentum, &Residual::complementarity, &Residual::law, &Residual::cone_violation,
        &Residual::penetration, &Residual::stick_slip, &Residual::friction_gain, &Residual::dissipated_power,
        &Residual::largest_impulse, &Residual::cost}) {
    largest->*x = std::max(largest->*x, r.*x);
  }
}

// What turns about all axes alike turns evenly, however fast. Bodies of revolution may spin, as long as their
// axis does not turn far; that nods, when disturbed, and may do so by twice as much.
struct FastTurns {
  std::vector<Spinner> spinners;  // [trees]

  explicit FastTurns(const Model& model) {
    for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) spinners.push_back(find_spinner(model, t));
    for (const int t : find_constrained_trees(model)) spinners[t] = {};
  }

  void keep(const Model& model, const State& state, double dt, Summary::Turn* fastest) const {
    for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
      const Link& root = model.links[model.trees[t].link_begin];
      if (root.stage_begin == root.stage_end || is_isotropic(root.inertia)) continue;
      const Stage& stage = model.stages[root.stage_begin];
      const bool is_free = stage.type == StageType::free;
      if (!is_free && stage.type != StageType::ball) continue;
      const Vec3 w = state.v.segment<3>(is_free ? stage.v + 3 : stage.v);
      double speed = w.norm();
      if (const Spinner& spinner = spinners[t]; spinner.across != 0) {
        const Vec3 axis = rotation_matrix(state.q.segment<4>(stage.q + 3)) * spinner.axis;
        speed = std::max(cross(axis, w).norm(), 0.5 * (1 - spinner.share) * std::abs(axis.dot(w)));
      }
      if (dt * speed > fastest->angle) *fastest = {dt * speed, state.time, model.trees[t].link_begin};
    }
  }
};

}  // namespace

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StopOnSignal::StopOnSignal() {
  caught_signal = 0;
  stop_step = false;
  struct sigaction action {};
  action.sa_handler = catch_signal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;  // a second Ctrl-C ends the program at once
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previous_actions[i]);
    const bool nohup = kSignals[i] == SIGHUP && previous_actions[i].sa_handler == SIG_IGN;
    if (!nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous_actions[i], nullptr);
}

long count_steps(double start_time, double duration, double dt, double time, long steps_taken) {
  // A step more for less than a thousandth of one would be a step for rounding.
  const auto whole = [dt](double span) {
    return static_cast<long>(std::max(0.0, std::ceil(span / dt - 1e-3)));
  };
  if (steps_taken >= 0) return std::max(0L, whole(duration) - steps_taken);
  return whole(start_time + duration - time);
}

long default_record_every(double dt) {
  return std::max(1L, std::lround(std::min(0.01 / dt, 1e9)));
}

Summary simulate(const Model& model, const StepOptions& given, long num_steps, const Hooks& hooks,
                 State* state) {
  Summary summary;
  StepOptions options = given;
  options.stop = &stop_step;
  Input input;
  Workspace workspace = make_workspace(model);
  VecX row, sensed;
  long logged_step = -1;
  Report report;
  const auto log = [&] {
    if (logged_step == state->step) return;
    if (hooks.log) {
      calc_log_row(model, *state, report, &row);
      if (hooks.sensors) {
        const Workspace* last = summary.num_steps > 0 ? &workspace : nullptr;
        read_sensors(model, *hooks.sensors, *state, last, &input, &sensed);
        row.conservativeResize(row.size() + sensed.size());
        row.tail(sensed.size()) = sensed;
      }
      hooks.log->append(row);
      if (hooks.on_row) hooks.on_row(*state, row);
    }
    if (hooks.contact_log && report.contacts > 0) hooks.contact_log->append(model, state->time, workspace);
    logged_step = state->step;
  };
  long recorded_step = -1;
  double wall_of_step = 0;
  const auto record = [&](const Workspace* last) {
    if (!hooks.recording || recorded_step == state->step) return;
    hooks.recording->append(*state, report, last, wall_of_step);
    recorded_step = state->step;
  };
  const auto keep_frame = [&](long done) {
    const int n = hooks.num_frames;
    if (n <= 0) return;
    const int kept = static_cast<int>(summary.frames.size());
    const long due = n == 1 ? num_steps : std::lround(static_cast<double>(num_steps) * kept / (n - 1));
    if (kept < n && done >= due) summary.frames.push_back(*state);
  };
  const FastTurns fast_turns(model);
  const double time_before = state->time;
  summary.start = calc_mechanics(model, *state);
  log();
  record(nullptr);
  keep_frame(0);
  const double began = wall_seconds();
  const std::clock_t clock_began = std::clock();
  double drawn = began, now = began, in_steps = 0;
  for (long i = 0; i < num_steps && !caught_signal; ++i) {
    if (hooks.control) hooks.control(state);
    if (hooks.schedule) apply_schedule(model, *hooks.schedule, options.dt, state, &input);
    if (hooks.recording) hooks.recording->note_input(*state, input);
    const double before = wall_seconds();
    try {
      report = step(model, options, input, state, &workspace);
    } catch (const StepStopped&) {
      summary.in_step = true;
      break;
    } catch (const StepFailure& failure) {
      summary.failure = failure.what();
      break;
    }
    now = wall_seconds();
    wall_of_step = now - before;
    in_steps += wall_of_step;
    summary.max_step = std::max(summary.max_step, wall_of_step);
    // A step whose momentum is zero but for round-off has nothing that its residual could be relative to.
    const double residual = report.solver.momentum_residual;
    const bool is_nothing = report.solver.converged && residual > 100 * options.newton.relative_tolerance;
    summary.max_residual =
        std::max({summary.max_residual, report.free_motion_residual, is_nothing ? 0 : residual});
    summary.max_iterations =
        std::max({summary.max_iterations, report.free_motion_iterations, report.solver.most_iterations});
    summary.mean_contacts += (report.contacts - summary.mean_contacts) / static_cast<double>(i + 1);
    summary.mean_iterations +=
        (report.solver.most_iterations - summary.mean_iterations) / static_cast<double>(i + 1);
    summary.mean_asleep += (report.asleep - summary.mean_asleep) / static_cast<double>(i + 1);
    summary.asleep = report.asleep;
    summary.deepest = std::max(summary.deepest, report.deepest);
    keep_largest(report.judge, &summary.judge);
    if (report.contacts > 0 || !model.constraints.empty())
      fast_turns.keep(model, *state, options.dt, &summary.fastest);
    summary.out_of_cone += report.judge.cone_violation > kFarOutOfCone * report.judge.largest_impulse;
    summary.unsettled += report.solver.cone_violation > kUnsettled;
    summary.cone_violation = std::max(summary.cone_violation, report.solver.cone_violation);
    summary.times.free_motion += report.times.free_motion;
    summary.times.collide += report.times.collide;
    summary.times.assemble += report.times.assemble;
    summary.times.solve += report.times.solve;
    summary.times.judge += report.times.judge;
    summary.times.advance += report.times.advance;
    summary.not_converged += !report.solver.converged;
    ++summary.num_steps;
    if (summary.num_steps % hooks.log_every == 0) log();
    if (summary.num_steps % hooks.record_every == 0) record(&workspace);
    keep_frame(summary.num_steps);
    if (hooks.checkpoint_every > 0 && summary.num_steps % hooks.checkpoint_every == 0 &&
        summary.num_steps < num_steps) {
      if (hooks.log) hooks.log->flush();
      hooks.checkpoint(*state);
    }
    if (hooks.progress && now - drawn > kProgressSeconds) {
      hooks.progress(static_cast<double>(summary.num_steps) / static_cast<double>(num_steps));
      drawn = now;
    }
  }
  log();
  if (hooks.log) hooks.log->flush();
  const bool whole = summary.num_steps > 0 && summary.failure.empty() && !summary.in_step;
  record(whole ? &workspace : nullptr);
  if (whole && hooks.sensors) {
    read_sensors(model, *hooks.sensors, *state, &workspace, &input, &sensed);
    summary.sensed = sensed;
  }
  summary.signal = caught_signal;
  summary.wall = wall_seconds() - began;
  summary.processor = static_cast<double>(std::clock() - clock_began) / CLOCKS_PER_SEC;
  summary.mean_step = summary.num_steps > 0 ? in_steps / static_cast<double>(summary.num_steps) : 0;
  summary.simulated = state->time - time_before;
  summary.end = calc_mechanics(model, *state);
  return summary;
}

ProgressLine::ProgressLine(std::string label, double duration, bool enabled)
    : label_(std::move(label)),
      duration_(duration),
      began_(wall_seconds()),
      on_(enabled && ::isatty(STDERR_FILENO)) {}

void ProgressLine::draw(double fraction) {
  if (!on_) return;
  constexpr int kWidth = 28;
  const int filled = static_cast<int>(fraction * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  const double elapsed = wall_seconds() - began_;
  tell("\r\033[K{} {} {:3.0f} %  {:.2f} of {:g} s  {:.3g}x real time  {} left", label_, bar, 100 * fraction,
       fraction * duration_, duration_, fraction * duration_ / elapsed,
       clock_text(elapsed * (1 - fraction) / std::max(fraction, 1e-9)));
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) tell("\r\033[K");
  drawn_ = false;
}

}  // namespace capstan::cli
