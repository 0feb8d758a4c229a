// Knots of Li and Chou (V-B, Table I, figures 1 and 4), with points of contact. Parameters are those of the
// authors' public code; what the paper calls real-time rate is simulated time over the time of one thread, on
// hardware that it does not name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/plot.h"
#include "experiments/filament_runs.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kPaperRate = 0.002;  // of unknotting number 4, at 0.1 ms

std::string told(const KnotRun& knot) {
  if (!knot.keeps_knot) return fmt::format("passes through itself at {:.3f} s", knot.time);
  if (!knot.failure.empty()) return fmt::format("a step fails after {:.3f} s", knot.time);
  return knot.is_tight ? "tight" : "loose";
}

std::vector<std::string> knot_row(int crossings, const std::string& rope, double dt, const KnotRun& knot) {
  return {fmt::format("{}", crossings),
          fmt::format("{}", (crossings - 1) / 2),
          rope,
          fmt::format("{:g}", 1e3 * dt),
          told(knot),
          fmt::format("{:.1f}", knot.pull),
          fmt::format("{:.0f}", knot.cost.microseconds()),
          fmt::format("{:.3f}", knot.cost.rate()),
          fmt::format("{:.0f} / {}", knot.cost.contacts / knot.cost.steps, knot.cost.most_contacts),
          fmt::format("{:.1f}", knot.cost.tangents / knot.cost.steps)};
}

}  // namespace

Result knots(const Run& run) {
  Result result;
  Table table{"knots",
              "Torus knots pulled tight at 0.8 m/s, 300 edges: until 0.7 s or 10 N",
              {"crossings", "unknotting number", "rope", "dt [ms]", "what", "pull [N]", "us/step",
               "real-time rate", "contacts, mean / most", "tangents"},
              {}};
  const std::vector<int> list = run.is_short ? std::vector<int>{3} : std::vector<int>{3, 5, 7, 9};
  const std::vector<double> steps =
      run.is_short ? std::vector<double>{1e-3} : std::vector<double>{1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3};
  bool none_passes_through = true;
  double slowest_at_paper = 1e9, slowest_at_largest = 1e9;
  std::string largest;
  double least = 1;
  std::vector<std::pair<std::string, FilamentCost>> costs;
  std::vector<Series> areas, pulls;
  const auto draw = [&](const std::string& name, const KnotRun& knot, LineStyle line) {
    areas.push_back({name, knot.times, knot.areas, line, false});
    pulls.push_back({name, knot.times, knot.pulls, line, false});
    for (double& y : areas.back().y) y *= 1e4;
  };
  for (const int crossings : list) {
    double passed = 0, rate = 0;
    for (const double dt : steps) {
      run.tell(0.08 * crossings, fmt::format("knot of {} at {:g} ms", crossings, 1e3 * dt));
      const KnotRun knot = tighten_knot(crossings, dt);
      none_passes_through = none_passes_through && knot.keeps_knot;
      if (knot.passes()) passed = dt, rate = knot.cost.rate();
      if (dt == steps[0]) {
        slowest_at_paper = std::min(slowest_at_paper, knot.cost.rate());
        costs.push_back({fmt::format("knot of {} crossings", crossings), knot.cost});
        draw(fmt::format("{} crossings", crossings), knot, LineStyle::solid);
      }
      table.rows.push_back(knot_row(crossings, "rod", dt, knot));
    }
    least = std::min(least, passed);
    slowest_at_largest = std::min(slowest_at_largest, rate);
    largest += fmt::format("{}{} ms with {} crossings", largest.empty() ? "" : ", ", 1e3 * passed, crossings);
  }
  if (!run.is_short) {
    run.tell(0.85, "chain of capsules");
    const KnotRun chain = tighten_chain_of_capsules(9, steps[0]);
    table.rows.push_back(knot_row(9, "capsules", steps[0], chain));
    draw("9 crossings, capsules", chain, LineStyle::dashed);
    costs.push_back({"chain of capsules, 9 crossings", chain.cost});
  }
  result.tables.push_back(table);
  result.tables.push_back(stage_table(costs));
  result.claim("no rope passes through itself, in any step", "tested by two invariants of knots",
               none_passes_through ? "none does" : "one does", none_passes_through);
  if (run.is_short) return result;
  result.claim("every knot is pulled tight at the paper's step; the largest step that passes", "0.1 ms",
               largest, least >= 1e-4);
  result.claim("real-time rate at 0.1 ms, the slowest of four knots", fmt::format("{}", kPaperRate),
               fmt::format("{:.3f}, {:.0f} times as fast", slowest_at_paper, slowest_at_paper / kPaperRate),
               slowest_at_paper > 10 * kPaperRate);
  result.claim(
      "real-time rate of each at the largest step that it passes, the slowest",
      fmt::format("{} at 0.1 ms", kPaperRate),
      fmt::format("{:.3f}, {:.0f} times as fast", slowest_at_largest, slowest_at_largest / kPaperRate),
      slowest_at_largest > 10 * kPaperRate);
  result.figure("loops", "The area that each knot's loop goes around, at 0.1 ms (figure 1)",
                draw_plot(areas, {800, 400, "", "time [s]", "area [cm^2]", false, false, {}, {}}));
  result.figure("pulls", "The pull at the end",
                draw_plot(pulls, {800, 400, "", "time [s]", "pull [N]", false, false, {}, PlotRange{0, 3}}));
  result.remarks.push_back(
      "A knot is as it is drawn at the start, at rest with bends under stress, and its ends have their full "
      "speed at once; the paper's PD controllers hold them by 1e6 N/m. Capsules: springs between their ends, "
      "3e3 N/m and 2e-3 N m/rad, as in the authors' code; their damping is that of Capstan's constraints, "
      "whose relaxation time is a step. Without gravity or friction, and at this speed, the loop whirls "
      "about the line of the pull "
      "while it shrinks: its area swings by inertia, with rod and capsules alike, and we see no snap-through "
      "in it apart from "
      "that.");
  return result;
}

}  // namespace capstan::experiments
