// The entangling gripper of Li and Chou (V-D, Table I, figures 4 and 7), with points of contact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/plot.h"
#include "experiments/filament_runs.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kGripperRate = 0.013;  // of the paper, at 1 ms
constexpr double kHeld = 0.1;           // [m] that a tree is up when it counts as lifted

}  // namespace

Result filament_gripper(const Run& run) {
  Result result;
  const int seeds = run.is_short ? 1 : 10;
  Table table{
      "gripper",
      "Twelve filaments grip a tree of sticks: how high it is when the palm is 150 mm up",
      {"seed", "dt [ms]", "tree [mm]", "us/step", "real-time rate", "contacts, mean / most", "failure"},
      {}};
  int lifted = 0, failures = 0;
  double slowest = 1e9, mean = 0;
  std::vector<std::pair<std::string, FilamentCost>> costs;
  const auto grip = [&](int seed, double dt) {
    run.tell(0.1 * seed, fmt::format("gripper, seed {}, {:g} ms", seed, 1e3 * dt));
    const GripRun g = grip_tree(seed, dt, run.is_short ? 0.02 : 5.25);
    table.rows.push_back({fmt::format("{}", seed), fmt::format("{:g}", 1e3 * dt),
                          fmt::format("{:.0f}", 1e3 * g.lifted), fmt::format("{:.0f}", g.cost.microseconds()),
                          fmt::format("{:.3f}", g.cost.rate()),
                          fmt::format("{:.0f} / {}", g.cost.contacts / g.cost.steps, g.cost.most_contacts),
                          g.failure.empty() ? "" : "a step fails"});
    return g;
  };
  for (int seed = 0; seed < seeds; ++seed) {
    const GripRun g = grip(seed, 1e-3);
    failures += !g.failure.empty();
    lifted += g.failure.empty() && g.lifted > kHeld;
    slowest = std::min(slowest, g.cost.rate());
    mean += g.cost.rate() / seeds;
    if (seed == 0) costs.push_back({"gripper, seed 0, 1 ms", g.cost});
  }
  double largest = 1e-3, rate = 0;
  for (const double dt : {2e-3, 5e-3}) {
    if (run.is_short) break;
    const GripRun g = grip(0, dt);
    if (!g.failure.empty() || g.lifted <= kHeld) break;
    largest = dt, rate = g.cost.rate();
    costs.push_back({fmt::format("gripper, seed 0, {:g} ms", 1e3 * dt), g.cost});
  }
  result.tables.push_back(table);
  result.tables.push_back(stage_table(costs));
  if (run.is_short) return result;
  result.claim("real-time rate of the gripper at 1 ms: the slowest seed, the mean",
               fmt::format("{}", kGripperRate),
               fmt::format("{:.3f}, {:.3f}: {:.1f} and {:.1f} times as fast", slowest, mean,
                           slowest / kGripperRate, mean / kGripperRate),
               slowest > kGripperRate);
  result.claim(
      "real-time rate with seed 0 at the largest step that lifts the tree",
      fmt::format("{} at 1 ms", kGripperRate),
      fmt::format("{:.3f} at {:g} ms, {:.1f} times as fast", rate, 1e3 * largest, rate / kGripperRate),
      rate > kGripperRate);
  result.claim("the gripper lifts its tree by 100 mm or more", "it does, with one seed",
               fmt::format("with {} of {} seeds", lifted, seeds), 2 * lifted > seeds);
  result.remarks.push_back(fmt::format(
      "In {} of {} runs of the gripper a step does not converge. Filaments, tree and friction are those of "
      "the "
      "authors' code: each filament curls by five turns in all, which is 122 / m. By 10 pi / m, as the table "
      "of "
      "parameters may be read, a curl unrolls at a fifteenth of that force, and no tree was lifted with six "
      "seeds.",
      failures, seeds));
  result.remarks.push_back(
      "The paper's gripper is lowered and curls up from 3 to 7 s, lifts by 30 mm and puts the tree down "
      "again "
      "within 14 s; here it curls up from 1.25 to 3.25 s and lifts by 150 mm, and natural twist comes with "
      "the "
      "curl.");
  return result;
}

}  // namespace capstan::experiments
