#include "bench/peers/harness.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "bench/peers/capstan_scene.h"
#include "bench/peers/judge.h"
#include "capstan/model/model.h"

namespace bench {
namespace {

constexpr double kSettledSpeed = 1e-3;  // [m/s] mean over bodies

struct Arguments {
  std::string scene = "clutter_walls";
  int n = 40;
  double dt = 0, duration = 0;  // 0: the scene's
  std::uint64_t seed = 0;
  double time_limit = 60;    // [s] of stepping
  bool print_scene = false;  // as JSON, in place of a run
  Settings settings;
};

constexpr const char* kUsage =
    "usage: PROGRAM [--scene NAME] [--n N] [--dt s] [--duration s] [--seed N] [--time-limit s] [--set "
    "name=value]... [--print scene]\n"
    "scenes: clutter_walls, clutter_open, stack, stack_offset, stack_heavy_top, pyramid, incline_stick,\n"
    "        incline_slide, glide, tiles_fast, tiles_slow, tiles_ball, dominoes, scattered, chain, "
    "humanoids,\n"
    "        arm_hand\n";

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw std::runtime_error("'" + option + "' is unknown or lacks its value");
    const std::string value = argv[++i];
    if (option == "--scene") {
      a.scene = value;
    } else if (option == "--n") {
      a.n = std::stoi(value);
    } else if (option == "--dt") {
      a.dt = std::stod(value);
    } else if (option == "--duration") {
      a.duration = std::stod(value);
    } else if (option == "--seed") {
      a.seed = std::stoull(value);
    } else if (option == "--time-limit") {
      a.time_limit = std::stod(value);
    } else if (option == "--print" && value == "scene") {
      a.print_scene = true;
    } else if (option == "--set" && value.find('=') != std::string::npos) {
      a.settings.values[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    } else {
      throw std::runtime_error("there is no option '" + option + " " + value + "'");
    }
  }
  if (a.n < 1) throw std::runtime_error("--n must be at least 1");
  return a;
}

Scene articulated(const std::string& file, int copies, const std::string& keyframe) {
  Scene scene;
  scene.model_file = std::string(CAPSTAN_SOURCE_DIR) + "/scenes/" + file;
  scene.keyframe = keyframe;
  scene.copies = copies;
  scene.dt = 0.005, scene.duration = 5;
  scene.friction = 1;
  scene.plane = true;
  return scene;
}

// A ball of 0.2 kg in the cupped hand of the arm; the model brings its own floor.
Scene arm_hand() {
  Scene scene = articulated("arm_hand.xml", 1, "grasp");
  scene.dt = 0.002, scene.duration = 3;
  scene.plane = false;
  Body object = ball({0.54, 0, 0.375});
  object.half = {0.035, 0.035, 0.035};
  object.mass = 0.2;
  scene.bodies.push_back(object);
  return scene;
}

Scene make_scene(const Arguments& a) {
  const auto make = [&]() -> Scene {
    if (a.scene == "clutter_walls") return clutter(a.n, true, a.seed);
    if (a.scene == "clutter_open") return clutter(a.n, false, a.seed);
    if (a.scene == "stack") return stack(10, 0, 1);
    if (a.scene == "stack_offset") return stack(10, 0.005, 1);
    if (a.scene == "stack_heavy_top") return stack(10, 0, 100);
    if (a.scene == "pyramid") return pyramid(a.n);
    if (a.scene == "incline_stick") return incline(-1);
    if (a.scene == "incline_slide") return incline(5);
    if (a.scene == "glide") return glide();
    if (a.scene == "tiles_fast") return tiles(3, true);
    if (a.scene == "tiles_slow") return tiles(0.3, true);
    if (a.scene == "tiles_ball") return tiles(3, false);
    if (a.scene == "dominoes") return dominoes();
    if (a.scene == "scattered") return scattered(a.n, a.seed);
    if (a.scene == "chain") return chain(a.n);
    if (a.scene == "arm_hand") return arm_hand();
    if (a.scene == "humanoids") return articulated("humanoid_floating.xml", a.n, "standing");
    throw std::runtime_error("there is no scene '" + a.scene + "'");
  };
  Scene scene = make();
  scene.name = a.scene;
  if (a.dt > 0) scene.dt = a.dt;
  if (a.duration > 0) scene.duration = a.duration;
  const capstan::Model model = capstan::compile(make_capstan_scene(scene, {}));
  for (int i = 1; i < model.num_links(); ++i) scene.tracked.push_back(model.bodies[model.links[i].body].name);
  return scene;
}

// [MB] the most memory this process ever had (VmHWM), or has (VmRSS).
double memory_megabytes(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(std::strlen(field) + 1)) / 1024;
  }
  return -1;
}

// Processor time of this thread [s]: on a shared machine the wall clock also counts what others do. (With
// several threads only the wall clock will do.)
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Run {
  std::vector<double> time, contacts, iterations;  // of each step [s]; time as Engine::threads() allows
  double wall = 0;                                 // [s] in all steps
  int threads = 1;
  double residual = -1;
  bool complete = true;
  std::string failure;
};

Run simulate(const Scene& scene, Engine* engine, double time_limit, std::FILE* recording) {
  const long num_steps = std::lround(scene.duration / scene.dt);
  std::vector<Pose> poses(scene.tracked.size());
  const auto record = [&] {
    engine->get_poses(poses);
    if (std::fwrite(poses.data(), sizeof(Pose), poses.size(), recording) != poses.size()) {
      throw std::runtime_error("the poses cannot be recorded: is the disk full?");
    }
  };
  Run run;
  run.threads = engine->threads();
  record();
  double total = 0;
  for (long k = 0; k < num_steps; ++k) {
    if (scene.held_speed != 0) engine->set_speed(scene.held_speed);
    if (scene.start_speed != 0 && k == 0) engine->set_speed(scene.start_speed);
    const double cpu_begin = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    try {
      engine->step();
    } catch (const std::exception& e) {
      run.failure = e.what();
      run.complete = false;
      break;
    }
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.time.push_back(run.threads == 1 ? cpu_seconds() - cpu_begin : wall);
    run.wall += wall;
    total += run.time.back();
    run.contacts.push_back(engine->contacts());
    run.iterations.push_back(engine->iterations());
    run.residual = std::max(run.residual, engine->residual());
    record();
    if (total > time_limit) {
      run.complete = k + 1 == num_steps;
      break;
    }
  }
  return run;
}

double mean(const std::vector<double>& x) {
  return x.empty() ? 0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double quantile(std::vector<double> x, double fraction) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  return x[static_cast<std::size_t>(fraction * static_cast<double>(x.size() - 1) + 0.5)];
}

// Mean time in each complete twentieth of the run [ms]: a run that was stopped early can then be compared
// with another over the part that both have.
std::vector<double> parts(const std::vector<double>& seconds, long num_steps) {
  constexpr long kParts = 20;
  std::vector<double> result;
  for (long k = 0; k < kParts; ++k) {
    const long begin = k * num_steps / kParts, end = (k + 1) * num_steps / kParts;
    if (end > static_cast<long>(seconds.size()) || begin == end) break;
    result.push_back(1e3 * mean({seconds.begin() + begin, seconds.begin() + end}));
  }
  return result;
}

nlohmann::json to_json(const Arguments& a, const Scene& scene, const Run& run, const Verdict& v) {
  const double ms = 1e3, mm = 1e3;
  return {{"scene", a.scene},
          {"n", a.n},
          {"seed", a.seed},
          {"dt", scene.dt},
          {"duration", scene.duration},
          {"engine", kEngineName},
          {"version", engine_version()},
          {"settings", a.settings.values},
          {"steps", run.time.size()},
          {"complete", run.complete},
          {"failure", run.failure},
          {"ms_mean", ms * mean(run.time)},
          {"ms_p50", ms * quantile(run.time, 0.5)},
          {"ms_p95", ms * quantile(run.time, 0.95)},
          {"ms_max", ms * quantile(run.time, 1)},
          {"ms_parts", parts(run.time, std::lround(scene.duration / scene.dt))},
          {"wall_ms_mean", ms * run.wall / static_cast<double>(std::max<std::size_t>(1, run.time.size()))},
          {"threads", run.threads},
          {"iterations", mean(run.iterations)},
          {"contacts", mean(run.contacts)},
          {"residual", run.residual},
          {"penetration_mean_mm", mm * v.penetration_mean},
          {"penetration_peak_mm", mm * v.penetration_peak},
          {"creep_mean_mm_s", mm * v.creep_mean},
          {"creep_max_mm_s", mm * v.creep_max},
          {"settled", v.finite && run.complete && v.creep_mean < kSettledSpeed},
          {"energy_gain_J", v.energy_gain},
          {"energy_released_J", v.energy_released},
          {"top_shift_mm", {mm * v.top_shift[0], mm * v.top_shift[1], mm * v.top_shift[2]}},
          {"height_mean_mm", mm * v.height_mean},
          {"height_min_mm", mm * v.height_min},
          {"height_max_mm", mm * v.height_max},
          {"acceleration", v.acceleration},
          {"joint_gap_mean_mm", mm * v.joint_gap_mean},
          {"joint_gap_peak_mm", mm * v.joint_gap_peak},
          {"finite", v.finite}};
}

nlohmann::json to_json(const Scene& scene) {
  nlohmann::json json = {{"dt", scene.dt},
                         {"duration", scene.duration},
                         {"gravity", scene.gravity},
                         {"friction", scene.friction},
                         {"plane", scene.plane},
                         {"held_speed", scene.held_speed},
                         {"start_speed", scene.start_speed},
                         {"model_file", scene.model_file},
                         {"joints", scene.joints.size()},
                         {"statics", nlohmann::json::array()},
                         {"bodies", nlohmann::json::array()}};
  for (const StaticBox& box : scene.statics)
    json["statics"].push_back({{"centre", box.centre}, {"half", box.half}});
  for (const Body& body : scene.bodies) {
    json["bodies"].push_back({{"is_box", body.is_box},
                              {"half", body.half},
                              {"mass", body.mass},
                              {"position", body.position},
                              {"quat_wxyz", body.quat_wxyz}});
  }
  return json;
}

int run_or_throw(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const Scene scene = make_scene(arguments);
  if (arguments.print_scene) {
    std::cout << to_json(scene) << std::endl;
    return 0;
  }
  Settings settings = arguments.settings;
  std::FILE* recording = std::tmpfile();
  if (recording == nullptr) throw std::runtime_error("there is no room for a temporary file");
  const double memory_before = memory_megabytes("VmRSS");
  Run run;
  {
    const std::unique_ptr<Engine> engine = make_engine(scene, &settings);
    if (!settings.values.empty()) {
      throw std::runtime_error(std::string(kEngineName) + " has no setting '" +
                               settings.values.begin()->first + "'");
    }
    run = simulate(scene, engine.get(), arguments.time_limit, recording);
  }
  const double memory = memory_megabytes("VmHWM");
  nlohmann::json json =
      to_json(arguments, scene, run, judge(scene, recording, static_cast<long>(run.time.size())));
  json["memory_MB"] = memory;
  json["memory_engine_MB"] = memory - memory_before;
  json["compiler"] = CAPSTAN_COMPILER;
  std::fclose(recording);
  std::cout << json << std::endl;
  return 0;
}

}  // namespace

std::string Settings::take(const std::string& name, const std::string& otherwise) {
  const auto found = values.find(name);
  if (found == values.end()) return otherwise;
  const std::string value = found->second;
  values.erase(found);
  return value;
}

double Settings::take(const std::string& name, double otherwise) {
  const std::string value = take(name, std::string());
  return value.empty() ? otherwise : std::stod(value);
}

int run_program(int argc, char** argv) {
  try {
    return run_or_throw(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << kEngineName << ": " << e.what() << "\n" << kUsage;
    return 64;
  }
}

}  // namespace bench
