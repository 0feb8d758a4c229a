// The published experiments: lists them, runs them, writes their part of docs/results.
#include <fmt/core.h>

#include <algorithm>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/base/closest_name.h"
#include "experiments/experiment.h"

namespace capstan::cli {
namespace {

using experiments::Claim;
using experiments::Experiment;

int list_experiments() {
  std::size_t width = 0;
  for (const Experiment& e : experiments::all_experiments())
    width = std::max(width, std::string(e.name).size());
  for (const Experiment& e : experiments::all_experiments()) {
    fmt::print("{:<{}}  {} ({})\n", e.name, width, e.title, e.source);
  }
  fmt::print("\nRun some with 'capstan experiments NAME...', all with 'capstan experiments --all'.\n");
  return kOk;
}

const Experiment& find_experiment(const std::string& name) {
  std::vector<std::string> names;
  for (const Experiment& e : experiments::all_experiments()) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  const std::string close = closest_name(name, names);
  throw UsageError(
      "there is no experiment '" + name + "'" +
      (close.empty() ? "; 'capstan experiments' lists them" : "; did you mean '" + close + "'?"));
}

bool run_one(const Experiment& experiment, const ExperimentsOptions& options) {
  const double began = wall_seconds();
  experiments::Run run;
  run.is_short = options.is_short;
  run.folder = options.out;
  ProgressLine progress(experiment.name, 0, true);
  run.progress = [&](double fraction, const std::string& doing) {
    if (progress.is_on()) {
      tell("\r\033[K{} {:3.0f} %  {}", experiment.name, 100 * fraction, doing);
      std::fflush(stderr);
    }
  };
  const experiments::Result result = experiment.run(run);
  if (progress.is_on()) tell("\r\033[K");
  fmt::print("{} ({}, {:.1f} s)\n", experiment.title, experiment.source, wall_seconds() - began);
  for (const Claim& c : result.claims) {
    fmt::print("  {} {}: {}  [published: {}]\n",
               c.holds    ? "holds  "
               : c.good() ? "differs"
                          : "FAILS  ",
               c.what, c.measured, c.published);
    if (!c.holds && c.difference) {
      fmt::print("          {}{}: {}\n",
                 c.difference->holds ? "" : "nor does this hold: ", c.difference->bound, c.difference->why);
    }
  }
  const std::string trouble = experiments::write_result(experiment, result, options.out);
  if (!trouble.empty()) tell("warning: {}\n", trouble);
  std::fflush(stdout);
  return result.good();
}

}  // namespace

int run_experiments(const ExperimentsOptions& options) {
  if (options.names.empty() && !options.all) return list_experiments();
  std::vector<const Experiment*> chosen;
  for (const std::string& name : options.names) chosen.push_back(&find_experiment(name));
  if (options.all) {
    chosen.clear();
    for (const Experiment& e : experiments::all_experiments()) chosen.push_back(&e);
  }
  std::vector<std::string> failed;
  for (const Experiment* e : chosen) {
    if (!run_one(*e, options)) failed.push_back(e->name);
  }
  experiments::write_page(options.out);
  fmt::print("\nFigures, tables and {}/README.md written.\n", options.out);
  for (const std::string& name : failed) tell("error: {}: a statement does not hold\n", name);
  return failed.empty() ? kOk : kClaimFails;
}

}  // namespace capstan::cli
