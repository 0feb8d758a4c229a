// A first look: some shipped scenes, simulated, recorded and drawn; then one of them live in the browser.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/base/closest_name.h"
#include "capstan/io/output_file.h"
#include "capstan/io/picture.h"
#include "capstan/io/plot.h"
#include "viewer/browser.h"
#include "viewer/html.h"

namespace capstan::cli {
namespace {

constexpr int kWidth = 640, kHeight = 480;                // [px] of one SVG picture
constexpr int kPictureWidth = 960, kPictureHeight = 600;  // [px] of a PNG
constexpr double kFps = 50;                               // frames in a second
constexpr double kPicturesTime = 300;  // [s] of all PNG, each of which has a limit of its own

using Control = std::function<void(const Model&, State*)>;

struct Case {
  const char* scene;
  const char* title;
  double duration;          // [s]
  const char* camera;       // for the page's address (viewer/page/src/main.ts)
  bool weightless = false;  // gravity off
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
      {"clutter",
       "40 boxes and balls fall into a box",
       3,
       "time=1.1&azimuth=32&elevation=26&zoom=1.45",
       false,
       {}},
      {"pyramid",
       "91 boxes in a pyramid, and a heavy ball",
       2,
       "time=1.4&azimuth=-30&elevation=20&zoom=1.4",
       false,
       {}},
      {"dominoes",
       "fifty dominoes, and a ball",
       2.4,
       "time=1.0&azimuth=-50&elevation=24&zoom=1.5",
       false,
       {}},
      {"conveyor", "two belts and a turntable", 6, "time=3.2&azimuth=-38&elevation=38&zoom=0.8", false, {}},
      {"card_house_and_ball",
       "a house of cards, and a ball",
       2.6,
       "time=2.1&azimuth=28&elevation=16&zoom=1.1",
       false,
       {}},
      {"stack",
       "each box twice as heavy as the one below",
       2,
       "time=2&azimuth=30&elevation=14&zoom=0.9",
       false,
       {}},
      {"humanoid", "a person of 27 dofs falls", 2.4, "time=2.0&azimuth=50&elevation=14&zoom=1.05", false, {}},
      {"humanoid_floating", "the same, running weightless", 1.9, "time=1.9&azimuth=50&elevation=10&zoom=1.2",
       true, stride},
      {"quadruped", "a quadruped trots", 2, "time=1.45&azimuth=40&elevation=14&zoom=1.2", false, trot},
      {"arm_reach", "7-dof arm with a 16-dof hand", 2, "time=1&azimuth=50&elevation=14&zoom=1.2", false, {}},
      {"gyroscope", "a gyroscope precesses", 1.07, "time=1&azimuth=40&elevation=24&zoom=1.3", false, {}},
      {"double_pendulum", "double pendulum", 2.2, "time=2.2&azimuth=15&elevation=8&zoom=1.1", false, {}},
  };
}

struct Result {
  Summary summary;
  std::vector<std::string> files;
  std::string picture;  // SVG
};

std::string html_of(const Case& c, const std::filesystem::path& folder) {
  return folder / (std::string(c.scene) + ".html");
}

// Pictures of replays, where there is a browser to draw them. One that does not work here, or takes minutes,
// is no reason to stop.
void draw_pictures(const std::vector<Case>& drawn, const std::filesystem::path& folder,
                   std::vector<std::string>* files) {
  if (viewer::find_browser().empty()) return;
  tell("drawing {} pictures of them\n", drawn.size());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - begin;
    if (past.count() > kPicturesTime) {
      tell("note: {} of {} pictures are left out: the others took {:.0f} s\n", drawn.size() - i, drawn.size(),
           past.count());
      return;
    }
    const std::string png = folder / (std::string(drawn[i].scene) + ".png");
    try {
      viewer::picture_of_html(html_of(drawn[i], folder),
                              fmt::format("ui=0&theme=light&adapt=0&light=area&{}", drawn[i].camera),
                              kPictureWidth, kPictureHeight, png);
      files->push_back(png);
    } catch (const OutputError& error) {
      tell("note: {}\n", error.what());
    }
  }
}

Result simulate_case(const Case& c, const std::filesystem::path& folder, bool with_page) {
  LoadedScene loaded = load(c.scene, false);
  if (c.weightless) {
    loaded.scene.options.gravity.setZero();
    loaded.model = compile(loaded.scene);
  }
  const Model& model = loaded.model;
  State state = initial_state(model);
  const StepOptions step = step_options(model);
  Result result;
  result.files.push_back(folder / (std::string(c.scene) + ".capstan"));
  RecordingWriter recording(result.files.back(), model,
                            recording_header(loaded.scene, model, loaded.path, step, c.duration));
  const long num_steps = count_steps(0, c.duration, step.dt, 0, 0);
  ProgressLine progress(c.scene, c.duration, true);
  Hooks hooks;
  hooks.recording = &recording;
  hooks.record_every = std::max(1L, std::lround(1 / (kFps * step.dt)));
  hooks.num_frames = 1;
  hooks.progress = [&](double fraction) { progress.draw(fraction); };
  if (c.control) hooks.control = [&](State* s) { c.control(model, s); };
  result.summary = simulate(model, step, num_steps, hooks, &state);
  recording.close();
  progress.clear();
  if (!result.summary.failure.empty()) throw std::runtime_error(result.summary.failure);
  PictureOptions picture{kWidth, kHeight, 0.6, 0.4, 0.28, c.title, {}};
  result.picture = draw_picture(model, result.summary.frames, picture);
  const Summary& s = result.summary;
  fmt::print("{:<18} {:>4} {:>6} {:>8.2f} {:>8.3f} {:>9.1f} {:>8.1f} {:>9.3f} {:>9.1e}\n", c.scene,
             model.num_velocities(), s.num_steps, s.simulated, s.wall, s.simulated / std::max(s.wall, 1e-9),
             s.mean_contacts, 1e3 * s.deepest, s.max_residual);
  std::fflush(stdout);
  if (with_page && result.summary.signal == 0) {
    write_html(result.files[0], html_of(c, folder), kFps);
    result.files.push_back(html_of(c, folder));
  }
  return result;
}

}  // namespace

int demo(const DemoOptions& options) {
  const std::filesystem::path folder = options.out;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw OutputError(folder, error.message());
  std::string no_page;
  try {
    viewer::read_page();
  } catch (const std::runtime_error& reason) {
    no_page = reason.what();
  }
  std::vector<Case> chosen = cases();
  if (!options.only.empty()) {
    std::vector<std::string> names;
    for (const Case& c : chosen) names.push_back(c.scene);
    std::erase_if(chosen, [&](const Case& c) { return options.only != c.scene; });
    if (chosen.empty()) {
      throw UsageError(
          fmt::format("the demo has no scene '{}'; {}", options.only,
                      did_you_mean(options.only, names, fmt::format("it has {}", fmt::join(names, ", ")))));
    }
  }
  fmt::print("{:<18} {:>4} {:>6} {:>8} {:>8} {:>9} {:>8} {:>9} {:>9}\n", "scene", "dofs", "steps", "time [s]",
             "wall [s]", "real time", "contacts", "deep [mm]", "residual");
  std::vector<std::string> files, pictures;
  const bool is_terminal = no_page.empty() && ::isatty(STDOUT_FILENO) && ::isatty(STDIN_FILENO);
  {
    const StopOnSignal stop_on_signal;
    for (const Case& c : chosen) {
      const Result result = simulate_case(c, folder, no_page.empty());
      files.insert(files.end(), result.files.begin(), result.files.end());
      pictures.push_back(result.picture);
      if (result.summary.signal != 0) return 128 + result.summary.signal;
      if (is_terminal && pictures.size() == 1) open_browser(std::filesystem::absolute(html_of(c, folder)));
    }
  }
  if (no_page.empty()) draw_pictures(chosen, folder, &files);
  files.push_back(folder / "demo.svg");
  write_file(files.back(), arrange(pictures, 3, kWidth, kHeight));
  fmt::print(
      "\nThe residual is the certificate: the largest relative error in the balance of momentum of any "
      "step.\n"
      "Written (open the .html files in a browser: they replay, offline):\n");
  for (const std::string& file : files) fmt::print("  {}\n", file);
  if (!no_page.empty()) fmt::print("note: {}\n", no_page);
  if (is_terminal) {
    fmt::print("\nLive, to push things around:\n");
    ViewOptions live;
    live.what = chosen.front().scene;
    return view(live);
  }
  return kOk;
}

}  // namespace capstan::cli
