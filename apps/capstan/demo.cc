// A first look: some shipped scenes, simulated, logged and drawn.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/output_file.h"
#include "capstan/io/picture.h"
#include "capstan/io/plot.h"

namespace capstan::cli {
namespace {

constexpr int kWidth = 640, kHeight = 480;  // [px] of one picture
constexpr double kLogSeconds = 0.01;        // between rows

using Control = std::function<void(const Model&, State*)>;

struct Case {
  const char* scene;
  const char* title;
  double duration;  // [s]
  int num_frames;
  std::string trail_body;     // leaves a trail; "": none
  Vec3 trail_point;           // [m] there
  double azimuth, elevation;  // [rad] of the camera
  bool weightless = false;    // gravity off
  Control control;
};

// Targets of the legs as in a trot: diagonal legs together, 1.5 strides a second.
void trot(const Model& model, State* state) {
  const double phase = 2 * 3.14159265358979 * 1.5 * state->time;
  const double ease = std::min(1.0, state->time);
  for (const char* leg : {"fl", "fr", "rl", "rr"}) {
    const bool first = std::string(leg) == "fl" || std::string(leg) == "rr";
    const double s = std::sin(phase + (first ? 0 : 3.14159265358979));
    const double c = std::cos(phase + (first ? 0 : 3.14159265358979));
    const auto set = [&](const char* joint, double target) {
      const int actuator = model.find_actuator(fmt::format("{}_{}", leg, joint));
      if (actuator >= 0) state->control[actuator] = target;
    };
    set("hip", 0.8 + 0.45 * ease * s);
    set("knee", -1.6 - 0.5 * ease * std::max(0.0, c));
  }
}

// Running on the spot: torques that pull the joints to swinging targets, 1.2 strides a second.
void stride(const Model& model, State* state) {
  const double s = std::min(1.0, 2 * state->time) * std::sin(2 * 3.14159265358979 * 1.2 * state->time);
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const ModelActuator& actuator = model.actuators[i];
    const ModelDof& dof = model.dofs[actuator.transmission.terms.at(0).dof];
    const bool left = actuator.name.starts_with("left");
    const auto is = [&](const char* ending) { return actuator.name.ends_with(ending); };
    const double side = left ? s : -s;
    const double target = is("shoulder_x")   ? 0.15
                          : is("shoulder_y") ? -0.7 * side
                          : is("elbow")      ? 1.3
                          : is("hip_y")      ? 0.35 + 0.6 * side
                          : is("knee")       ? 0.7 - 0.6 * side
                                             : 0;
    const double rate = state->v[actuator.transmission.terms[0].dof];
    state->control[static_cast<int>(i)] = std::clamp(3 * (target - state->q[dof.q]) - 0.3 * rate, -1.0, 1.0);
  }
}

std::vector<Case> cases() {
  return {
      {"clutter", "40 boxes and balls fall into a box", 3, 1, "", {}, 0.55, 0.6, false, {}},
      {"double_pendulum", "double pendulum", 2.2, 9, "lower", {0, 0, -1}, 0.25, 0.12, false, {}},
      {"gyroscope", "gyroscope", 1.07, 4, "rotor", {0.12, 0, 0}, 0.5, 0.42, false, {}},
      {"free_body", "T-handle in weightlessness", 2.6, 1, "handle", {0.05, 0, 0}, 0.6, 0.35, false, {}},
      {"spring_chain", "chain of springs", 10, 1, "", {}, 0.5, 0.3, false, {}},
      {"humanoid_floating",
       "person of 27 dofs, running weightless",
       1.9,
       1,
       "",
       {},
       0.45,
       0.15,
       true,
       stride},
      {"arm_reach", "7-dof arm with a 16-dof hand", 2, 6, "palm", {0, 0, 0}, 0.9, 0.25, false, {}},
      {"quadruped", "quadruped, trotting", 2, 1, "", {}, 0.75, 0.25, false, trot},
  };
}

struct Result {
  std::string name;
  int num_dofs;
  Summary summary;
  std::vector<std::string> files;
  std::string picture;
};

Result simulate_case(const Case& c, const std::filesystem::path& folder) {
  LoadedScene loaded = load(c.scene, false);
  Model& model = loaded.model;
  if (c.weightless) model.options.gravity.setZero();
  State state = initial_state(model);
  const StepOptions step = step_options(model);
  Result result{c.scene, model.num_velocities(), {}, {}, {}};
  const auto file = [&](const std::string& ending) {
    result.files.push_back(folder / (std::string(c.scene) + ending));
    return result.files.back();
  };

  const LogHeader header = log_header(model, loaded.path, step);
  const std::unique_ptr<Log> log = open_log(file(".csv"), header);
  std::vector<Series> energies;
  std::vector<int> energy_columns;
  for (int i = 0; i < static_cast<int>(header.columns.size()); ++i) {
    if (header.columns[i].group != "energy") continue;
    energies.push_back({header.columns[i].name.substr(7), {}, {}});
    energy_columns.push_back(i);
  }
  PictureOptions picture{kWidth, kHeight, c.azimuth, c.elevation, 0.28, c.title, {}};
  Placement placement = make_placement(model);
  const int trail_body = model.find_body(c.trail_body);

  const long num_steps = count_steps(0, c.duration, step.dt, 0, 0);
  ProgressLine progress(c.scene, c.duration, true);
  Hooks hooks;
  hooks.log = log.get();
  hooks.log_every = std::max(1L, std::lround(kLogSeconds / step.dt));
  hooks.num_frames = c.num_frames;
  hooks.progress = [&](double fraction) { progress.draw(fraction); };
  hooks.on_row = [&](const State& s, const VecX& row) {
    for (std::size_t k = 0; k < energies.size(); ++k) {
      energies[k].x.push_back(s.time);
      energies[k].y.push_back(row[energy_columns[k]]);
    }
    if (trail_body <= 0) return;
    calc_placement(model, s.q, &placement);
    picture.trail.push_back(body_pose(model, placement, trail_body) * c.trail_point);
  };
  if (c.control) hooks.control = [&](State* s) { c.control(model, s); };

  result.summary = simulate(model, step, num_steps, hooks, &state);
  log->close();
  progress.clear();
  if (!result.summary.failure.empty()) throw std::runtime_error(result.summary.failure);
  result.picture = draw_picture(model, result.summary.frames, picture);
  write_file(file(".svg"), result.picture);
  PlotOptions plot;
  plot.title = std::string("energy: ") + c.title;
  plot.y_label = "energy [J]";
  write_file(file("_energy.svg"), draw_plot(energies, plot));
  const Summary& s = result.summary;
  fmt::print("{:<18} {:>4} {:>7} {:>8.2f} {:>8.3f} {:>9.1f} {:>12.5g} {:>12.5g} {:>9.1e}\n", c.scene,
             result.num_dofs, s.num_steps, s.simulated, s.wall, s.simulated / std::max(s.wall, 1e-9),
             s.start.total(), s.end.total(), s.max_residual);
  std::fflush(stdout);
  return result;
}

}  // namespace

int demo(const DemoOptions& options) {
  const std::filesystem::path folder = options.out;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw OutputError(folder, error.message());
  fmt::print("{:<18} {:>4} {:>7} {:>8} {:>8} {:>9} {:>12} {:>12} {:>9}\n", "scene", "dofs", "steps",
             "time [s]", "wall [s]", "real time", "energy at 0", "at the end", "residual");
  const StopOnSignal stop_on_signal;
  std::vector<std::string> files, pictures;
  for (const Case& c : cases()) {
    const Result result = simulate_case(c, folder);
    files.insert(files.end(), result.files.begin(), result.files.end());
    const bool bare = std::string(c.scene) == "spring_chain" || std::string(c.scene) == "free_body";
    if (!bare) pictures.push_back(result.picture);
    if (result.summary.signal != 0) return 128 + result.summary.signal;
  }
  files.push_back(folder / "demo.svg");
  write_file(files.back(), arrange(pictures, 3, kWidth, kHeight));
  fmt::print("\nWritten (open the .svg files in a browser):\n");
  for (const std::string& file : files) fmt::print("  {}\n", file);
  return kOk;
}

}  // namespace capstan::cli
