// Knots of Li and Chou (V-B, Table I, figures 1 and 4), with points of contact. Parameters are those of the
// authors' public code; what the paper calls real-time rate is simulated time over the time of one thread, on
// hardware that it does not name.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "capstan/io/plot.h"
#include "experiments/filament_runs.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kPaperRate = 0.002;                    // of unknotting number 4, at 0.1 ms
constexpr double kPaperStep = 1e-4, kLargeStep = 5e-4;  // [s]
constexpr double kCollapses = 3;                        // factor by which the loop's area falls in 10 mm

std::string told(const KnotRun& knot) {
  if (!knot.keeps_knot) return fmt::format("passes through itself at {:.3f} s", knot.time);
  if (!knot.failure.empty()) return fmt::format("a step fails after {:.3f} s", knot.time);
  return knot.is_tight ? "tight" : "loose";
}

std::vector<std::string> knot_row(const KnotPull& pull, const std::string& rope, const KnotRun& knot) {
  return {fmt::format("{}", (pull.crossings - 1) / 2),
          rope,
          fmt::format("{}", knot.dofs),
          fmt::format("{:g}", pull.speed),
          fmt::format("{:g}", 1e3 * pull.dt),
          told(knot),
          fmt::format("{:.1f}", knot.pull),
          fmt::format("{:.0f}", knot.cost.microseconds()),
          fmt::format("{:.3f}", knot.cost.rate()),
          fmt::format("{:.0f} / {}", knot.cost.contacts / knot.cost.steps, knot.cost.most_contacts)};
}

// What a rope is made of in the quiet runs.
enum class Made { rod, capsules_of_rope, capsules_of_paper };
constexpr const char* kMade[] = {"rod", "capsules, springs of the rope", "capsules, springs of the paper"};

KnotRun tighten(Made made, const KnotPull& pull) {
  if (made == Made::rod) return tighten_knot(pull);
  return tighten_chain_of_capsules(pull, made == Made::capsules_of_rope ? springs_of_rope() : ChainSprings{});
}

// The knot as it was when its ends had gone some ways.
std::vector<std::string> keyframes(const KnotRun& knot, const std::string& name, const Collapse& collapse) {
  std::vector<std::string> pictures;
  for (const double way : {0.1, collapse.way, collapse.way + 0.012, 0.5}) {
    const auto next = std::lower_bound(knot.ways.begin(), knot.ways.end(), way - 1e-9);
    if (next == knot.ways.end()) continue;
    pictures.push_back(
        draw_knot(knot.shapes[next - knot.ways.begin()], fmt::format("{}, {:.0f} mm", name, 1e3 * *next)));
  }
  return pictures;
}

// Every knot pulled slowly, as a rod and as capsules: where it collapses, and what that costs.
bool pull_quietly(const Run& run, Result* result, Table* runs) {
  Table table{"collapse",
              "Knots pulled slowly, and damped: the 10 mm of way in which the area of the loop falls by the "
              "largest factor, before it is below 3 cm^2",
              {"unknotting number", "rope", "way there [mm]", "area before [cm^2]", "falls by a factor of",
               "pull before: most [N]", "pull within 20 mm: least [N]"},
              {}};
  std::vector<Series> areas, pulls;
  std::vector<std::string> pictures;
  bool keeps_knot = true, rods_collapse = true, capsules_collapse = true;
  double trefoil = 0, published = 0, stiffest = 0, least = 1e9;
  std::string rod_ways, capsule_ways;
  for (const int crossings : {3, 5, 7, 9}) {
    for (const Made made : {Made::rod, Made::capsules_of_rope, Made::capsules_of_paper}) {
      if (made == Made::capsules_of_paper && crossings < 9) continue;
      const std::string name = kMade[static_cast<int>(made)];
      const bool is_rod = made == Made::rod;
      run.tell(0.05 * crossings, fmt::format("{} crossings, {}, slowly", crossings, name));
      KnotPull pull = kQuietPull;
      pull.crossings = crossings;
      const KnotRun knot = tighten(made, pull);
      runs->rows.push_back(knot_row(pull, name, knot));
      const Collapse c = find_collapse(knot);
      table.rows.push_back({fmt::format("{}", (crossings - 1) / 2), name, fmt::format("{:.0f}", 1e3 * c.way),
                            fmt::format("{:.1f}", 1e4 * c.area), fmt::format("{:.1f}", c.factor),
                            fmt::format("{:.2f}", c.pull_before), fmt::format("{:.2f}", c.pull_after)});
      if (is_rod) keeps_knot = keeps_knot && knot.keeps_knot;
      if (is_rod && crossings == 3) trefoil = c.factor;
      if (made == Made::capsules_of_paper) published = c.pull_before;
      if (is_rod && crossings > 3) {
        rods_collapse = rods_collapse && c.factor > kCollapses && c.pull_after < c.pull_before;
        rod_ways += fmt::format("{}{:.0f}", rod_ways.empty() ? "" : ", ", 1e3 * c.way);
        least = std::min(least, c.factor);
        stiffest = c.pull_before;
      }
      if (made == Made::capsules_of_rope && crossings > 3) {
        capsules_collapse = capsules_collapse && c.factor > kCollapses;
        capsule_ways += fmt::format("{}{:.0f}", capsule_ways.empty() ? "" : ", ", 1e3 * c.way);
      }
      const LineStyle line = is_rod                           ? LineStyle::solid
                             : made == Made::capsules_of_rope ? LineStyle::dashed
                                                              : LineStyle::dotted;
      const std::string label = fmt::format("{}, {}", (crossings - 1) / 2, name);
      areas.push_back({label, knot.ways, knot.areas, line, false, (crossings - 3) / 2});
      pulls.push_back({label, knot.ways, knot.pulls, line, false, (crossings - 3) / 2});
      for (double& x : areas.back().x) x *= 1e3;
      for (double& y : areas.back().y) y = std::max(1e4 * y, 0.1);
      for (double& x : pulls.back().x) x *= 1e3;
      if (crossings == 9) {
        for (std::string& picture : keyframes(knot, name, c)) pictures.push_back(std::move(picture));
      }
    }
  }
  result->tables.push_back(table);
  result->claim(
      "a knot snaps through as it tightens: from a loop it collapses at once, unknotting numbers 2 to 4",
      "it does (4)",
      fmt::format("the area falls by a factor of {:.1f} or more within 10 mm of way, after {} mm; the "
                  "pull falls, too",
                  least, rod_ways),
      rods_collapse);
  result->claim("that of unknotting number 1", "(not told)",
                fmt::format("shrinks without: {:.1f} in 10 mm", trefoil), trefoil < 0.5 * kCollapses);
  result->claim(
      "a chain of capsules", "does not snap through",
      fmt::format("with the stiffness of the rope it collapses after {} mm", capsule_ways),
      !capsules_collapse,
      Difference{
          "the springs of the authors' code turn with 2e-3 N m/rad; the rope of their moduli has EI / h = "
          "0.021 N m/rad",
          "it does what the rod does, where its springs have the rope's stiffness", capsules_collapse});
  result->claim("the pull before unknotting number 4 collapses, with the springs of the authors' code",
                "(ours) below half of the rod's: springs that turn a tenth as stiffly",
                fmt::format("{:.2f} N, rod {:.2f} N", published, stiffest), published < 0.5 * stiffest);
  result->figure("keyframes",
                 "Unknotting number 4, rod and capsules, after so many mm of way of the ends (figure 1)",
                 arrange(pictures, 4, 360, 240));
  const std::string x = "way of the ends [mm]";
  result->figure("loops", "The area that the loop of each knot goes around",
                 draw_plot(areas, {800, 420, "", x, "area [cm^2]", false, true, {}, {}}));
  result->figure("pulls", "The pull at the end",
                 draw_plot(pulls, {800, 420, "", x, "pull [N]", false, false, {}, PlotRange{0, 2}}));
  return keeps_knot;
}

}  // namespace

Result knots(const Run& run) {
  Result result;
  Table table{"knots",
              "Torus knots of 300 edges pulled tight, until their ends have gone 0.56 m, or until 10 N",
              {"unknotting number", "rope", "dofs", "speed [m/s]", "dt [ms]", "what", "pull [N]", "us/step",
               "real-time rate", "contacts, mean / most"},
              {}};
  bool none_passes_through = true, all_tight = true;
  std::vector<std::pair<std::string, FilamentCost>> costs;
  const auto pull_fast = [&](int crossings, double dt) {
    run.tell(0.4 + 0.05 * crossings, fmt::format("{} crossings at {:g} ms", crossings, 1e3 * dt));
    const KnotPull pull{.crossings = crossings, .dt = dt};
    const KnotRun knot = tighten_knot(pull);
    none_passes_through = none_passes_through && knot.keeps_knot;
    all_tight = all_tight && knot.passes();
    table.rows.push_back(knot_row(pull, kMade[0], knot));
    costs.push_back({fmt::format("{} crossings, {:g} ms", crossings, 1e3 * dt), knot.cost});
    return knot.cost.rate();
  };
  double slowest = 1e9, paper_rate = 0;
  for (const int crossings : {3, 5, 7, 9}) {
    slowest = std::min(slowest, pull_fast(crossings, run.is_short ? 1e-3 : kLargeStep));
    if (run.is_short) break;
  }
  if (!run.is_short) {
    paper_rate = pull_fast(9, kPaperStep);
    const KnotPull pull{.crossings = 9, .dt = kPaperStep};
    const KnotRun chain = tighten_chain_of_capsules(pull);
    table.rows.push_back(knot_row(pull, kMade[2], chain));
    costs.push_back({"chain of capsules, 9 crossings", chain.cost});
    none_passes_through = pull_quietly(run, &result, &table) && none_passes_through;
  }
  result.tables.push_back(table);
  result.tables.push_back(stage_table(costs));
  result.claim("no rod passes through itself, in any step", "tested by two invariants of knots",
               none_passes_through ? "none does" : "one does", none_passes_through);
  if (run.is_short) return result;
  const auto compared = [](double rate) {
    return fmt::format("{:.3f}, {:.0f} times as fast", rate, rate / kPaperRate);
  };
  result.claim("knots of unknotting numbers 1 to 4 are pulled tight at 0.8 m/s", "4 at 0.1 ms",
               fmt::format("{} at {:g} ms, 4 at 0.1 ms", all_tight ? "all" : "not all", 1e3 * kLargeStep),
               all_tight);
  result.claim("real-time rate at 0.1 ms, unknotting number 4", fmt::format("{}", kPaperRate),
               compared(paper_rate), paper_rate > 10 * kPaperRate);
  result.claim(fmt::format("real-time rate at {:g} ms, the slowest of the four", 1e3 * kLargeStep),
               fmt::format("{} at 0.1 ms", kPaperRate), compared(slowest), slowest > 10 * kPaperRate);
  result.remarks.push_back(
      "A knot is as it is drawn at the start, at rest with bends under stress, and its ends have their full "
      "speed at once; the paper's PD controllers hold them by 1e6 N/m. At 0.8 m/s, without gravity or "
      "friction and hardly damped, the rope whirls about the line of the pull like a skipping rope, and the "
      "knot with it. How it tightens is therefore seen at half that speed with alpha 20 / s, rod and "
      "capsules alike.");
  result.remarks.push_back(
      "Capsules: springs between their ends, with the damping of Capstan's constraints, whose relaxation "
      "time is a step: 3e3 N/m and 2e-3 N m/rad in the authors' code; EA / h and EI / h of the rope are "
      "3.8e4 N/m and 0.021 N m/rad.");
  return result;
}

}  // namespace capstan::experiments
