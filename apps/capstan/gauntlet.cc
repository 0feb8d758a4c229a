// The gauntlet's scenes in Capstan: a table of what came out beside what is right.
#include "bench/gauntlet/gauntlet.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/base/closest_name.h"
#include "capstan/io/output_file.h"

namespace capstan::cli {
namespace {

using gauntlet::KnownFailure;
using gauntlet::Task;
using gauntlet::Verdict;

std::string stem(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

std::vector<std::string> choose_files(const std::vector<std::string>& asked) {
  const std::vector<std::string> all = gauntlet::task_files();
  if (all.empty())
    throw InputError({}, fmt::format("there are no scenes in {}: the gauntlet needs the source tree",
                                     gauntlet::task_folder()));
  if (asked.empty()) return all;
  std::vector<std::string> names, chosen;
  for (const std::string& file : all) names.push_back(stem(file));
  for (const std::string& name : asked) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it != names.end()) {
      chosen.push_back(all[it - names.begin()]);
    } else if (std::filesystem::exists(name)) {
      chosen.push_back(name);
    } else {
      throw UsageError(fmt::format("the gauntlet has no scene '{}'; {}", name,
                                   did_you_mean(name, names, "'capstan gauntlet --list' shows them")));
    }
  }
  return chosen;
}

// "NaN" has no place in JSON, and never is what it means.
nlohmann::json number(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr);
}

std::string text(double x) {
  return std::isfinite(x) ? fmt::format("{:.6g}", x) : "never";
}

nlohmann::json as_json(const Task& task, const Verdict& verdict, double wall) {
  return {{"scene", task.name},
          {"title", task.title},
          {"group", task.group},
          {"unit", task.measure.unit()},
          {"answer", task.answer},
          {"tolerance", task.tolerance},
          {"measured", number(verdict.measured)},
          {"error", number(verdict.error)},
          {"pass", verdict.pass},
          {"trouble", verdict.trouble},
          {"wall", wall}};
}

}  // namespace

int gauntlet(const GauntletOptions& options) {
  const std::vector<std::string> files = choose_files(options.scenes);
  if (files.size() != 1 && !(options.judge.empty() && options.trajectory.empty()))
    throw UsageError("--judge and --trajectory are for one scene: name it");
  StepOptions defaults;
  const StepOptions chosen =
      choose_contact_law(choose_step_options(defaults, options.dt, options.integrator), options.contact_law);
  const std::string law = traits(chosen.contact.law).name;
  const std::string integrator = integrator_name(chosen.integrator);
  const bool expects = options.judge.empty();
  std::size_t width = 5;
  for (const std::string& file : files) width = std::max(width, stem(file).size());
  if (!options.list) {
    fmt::print("{:<{}}  {:>12} {:>12} {:>11} {:>10} {:<7}\n", "scene", width, "measured", "answer", "error",
               "tolerance", "unit");
  }
  nlohmann::json rows = nlohmann::json::array();
  int passed = 0, unexpected = 0;
  for (const std::string& file : files) {
    const Task task = gauntlet::read_task(file);
    if (options.list) {
      fmt::print("{:<{}}  {}\n", task.name, width, task.shows);
      continue;
    }
    const double began = wall_seconds();
    std::string trouble;
    gauntlet::Trajectory trajectory;
    if (options.judge.empty()) {
      const auto runner = gauntlet::make_capstan(task, chosen.dt, {law, options.integrator});
      trajectory = gauntlet::run(task, chosen.dt, runner.get(), &trouble);
      if (!options.trajectory.empty()) gauntlet::write_trajectory(trajectory, options.trajectory);
    } else {
      trajectory = gauntlet::read_trajectory(task.num_recorded(), options.judge);
    }
    const Verdict verdict = gauntlet::judge(task, trajectory, trouble);
    const KnownFailure* known = expects ? task.known_failure(law, integrator, chosen.dt) : nullptr;
    passed += verdict.pass;
    const bool is_odd = expects && verdict.pass == (known != nullptr);
    unexpected += is_odd;
    fmt::print("{:<{}}  {:>12} {:>12} {:>11} {:>10} {:<7} {}{}\n", task.name, width, text(verdict.measured),
               text(task.answer), text(verdict.error), text(task.tolerance), task.measure.unit(),
               verdict.pass ? "pass" : "FAIL",
               !is_odd ? (known ? "  (known: " + known->why + ")" : "")
               : known ? "  (its file says that it fails)"
                       : "");
    if (!trouble.empty()) fmt::print("{:<{}}  {}\n", "", width, trouble);
    std::fflush(stdout);
    rows.push_back(as_json(task, verdict, wall_seconds() - began));
  }
  if (options.list) return kOk;
  fmt::print("{} of {} pass at {:g} ms", passed, files.size(), 1e3 * chosen.dt);
  if (options.judge.empty()) fmt::print(" with law {}", law);
  if (expects) fmt::print("; {} other than their files say", unexpected);
  fmt::print("\n");
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << nlohmann::json{{"dt", chosen.dt}, {"law", law}, {"rows", rows}}.dump(1) << "\n";
    if (!out.flush()) throw OutputError(options.json, "cannot be written");
  }
  return unexpected > 0 ? kClaimFails : kOk;
}

}  // namespace capstan::cli
