// A chain of rings of Li and Chou (V-F, Table I, figures 4 and 9), with points of contact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/plot.h"
#include "experiments/filament_runs.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kChainRate = 0.012;  // of the paper, 100 rings at 0.8 ms

std::vector<std::string> chain_row(int count, double dt, double rest, const RingRun& rings) {
  if (!rings.failure.empty())
    return {fmt::format("{}", count), fmt::format("{:g}", 1e3 * dt), "", "", "", "", "a step fails", ""};
  return {
      fmt::format("{}", count),
      fmt::format("{:g}", 1e3 * dt),
      fmt::format("{:.0f}", rings.falling.microseconds()),
      fmt::format("{:.0f}", rings.resting.microseconds()),
      fmt::format("{:.1f}", rings.resting.microseconds() / count),
      fmt::format("{:.3f}", rings.resting.rate()),
      rings.stays_linked ? fmt::format("{:.1e} in {:g} s", rings.most_moved, rest) : "comes apart",
      fmt::format("{:.0f} / {}", rings.resting.contacts / rings.resting.steps, rings.resting.most_contacts)};
}

}  // namespace

Result ring_chain(const Run& run) {
  Result result;
  const double dt = 8e-4, settle = run.is_short ? 0.05 : 1, rest = run.is_short ? 0.05 : 1;
  const std::vector<int> counts =
      run.is_short ? std::vector<int>{4, 8} : std::vector<int>{10, 20, 50, 100, 200, 400};
  Table table{
      "rings",
      fmt::format(
          "Chains of rings, {:g} s after they were let go: cost, and how far the last ring is from where "
          "it was then",
          settle),
      {"rings", "dt [ms]", "us/step falling", "us/step at rest", "us for each ring", "real-time rate",
       "end moves [m]", "contacts, mean / most"},
      {}};
  Series cost{"at rest", {}, {}, LineStyle::solid, true};
  double rate = 0, moved = 0;
  bool passes = true;
  std::vector<std::pair<std::string, FilamentCost>> costs;
  for (const int count : counts) {
    run.tell(0.1, fmt::format("{} rings", count));
    const RingRun rings = hang_rings(count, dt, settle, rest);
    passes = passes && rings.failure.empty() && rings.stays_linked;
    table.rows.push_back(chain_row(count, dt, rest, rings));
    if (!rings.failure.empty()) break;
    cost.x.push_back(count);
    cost.y.push_back(rings.resting.microseconds());
    if (count != 100) continue;
    rate = rings.resting.rate(), moved = rings.most_moved;
    costs.push_back({"100 rings, falling into place", rings.falling});
    costs.push_back({"100 rings at rest", rings.resting});
  }
  result.claim("chains hang, each ring through the next", "no step fails", passes ? "none" : "one fails",
               passes);
  if (run.is_short) {
    result.tables.push_back(table);
    return result;
  }
  double largest = 0, fastest = 0;
  for (const double longer : {2e-3, 4e-3, 8e-3, 1.6e-2}) {
    run.tell(0.4, fmt::format("100 rings at {:g} ms", 1e3 * longer));
    const RingRun rings = hang_rings(100, longer, settle, 10);
    table.rows.push_back(chain_row(100, longer, 10, rings));
    if (!rings.passes()) break;
    largest = longer, fastest = rings.resting.rate();
  }
  result.tables.push_back(table);
  result.tables.push_back(stage_table(costs));
  const double exponent = fitted_order(cost.x, cost.y);
  result.claim("time of a step over the number of rings, 10 to 400: exponent", "1 (figure 9)",
               fmt::format("{:.2f}", exponent), exponent < 1.15);
  result.claim("100 rings at rest: how far the last one moves in 1 s", "at rest",
               fmt::format("{:.1e} m", moved), moved < 1e-4);
  result.claim("real-time rate of 100 rings at 0.8 ms", fmt::format("{}", kChainRate),
               fmt::format("{:.3f}, {:.0f} times as fast", rate, rate / kChainRate), rate > kChainRate);
  result.claim(
      "real-time rate at the largest step that passes the same checks, for 10 s",
      fmt::format("{} at 0.8 ms", kChainRate),
      fmt::format("{:.2f} at {:g} ms, {:.0f} times as fast", fastest, 1e3 * largest, fastest / kChainRate),
      fastest > 10 * kChainRate);
  result.figure("rings", "Time of a step against the number of rings (figure 9)",
                draw_plot({cost}, {640, 400, "", "rings", "step [us]", true, true, {}, {}}));
  result.remarks.push_back(
      "Rings start 17.5 mm apart, where they just hang, so that the chain falls into place by its stretch; "
      "the paper lets "
      "it fall from 12.5 mm.");
  return result;
}

}  // namespace capstan::experiments
