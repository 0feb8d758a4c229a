// Grasp stress test (ICF XII-B): a hand swings a rod on a circle of 3 cm until it slips out. The time to
// failure depends on everything (it is the sum of thousands of small slips), which makes it a hard test for a
// contact model.
//
// What Similar does to a grasp depends on what holds the fingers. While a pad slides at v_t its normal force
// is that of a depth larger by mu dt |v_t| (gliding) and of a stiffness larger by 1 + d mu |v_t| (compliance
// modulation). Fingers that hold their width answer with a larger force, and the rod is lost later: so the
// paper says. Fingers that push with a given force give way instead, and the force stays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/grasp_runs.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

constexpr double kLongest = 20;  // [s]
constexpr double kGrip = 14;     // [N] of each finger at the start
constexpr double kPad = 2e4;     // [N/m] of each of the two points of a pad

struct Variant {
  Hold hold;
  Law law;
  bool is_fine, damped;
};

}  // namespace

Result grasp(const Run& run) {
  Result result;
  const std::vector<double> frequencies =
      run.is_short ? std::vector<double>{1.2, 2.5}
                   : std::vector<double>{1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5};
  const double longest = run.is_short ? 10 : kLongest, fine = run.is_short ? 1e-3 : 2e-4, coarse = 1e-2;
  Table table{"time_to_failure", "Time to failure [s]", {"frequency [Hz]"}, {}, true};
  for (const double f : frequencies) table.rows.push_back({fmt::format("{:g}", f)});
  Scene scene = shipped_scene("grasp");
  for (Material& m : scene.materials) {
    if (m.name == "rubber") m.stiffness = kPad;
  }
  double done = 0;
  std::vector<double> grips;  // of the last variant
  const auto sweep = [&](const Variant& v) {
    const double dt = v.is_fine ? fine : coarse;
    const std::string name =
        fmt::format("{}, {:g} ms{}{}", v.law.name, 1e3 * dt, v.damped ? ", d = 50 s/m" : "",
                    v.hold == Hold::force ? ", force held" : "");
    table.columns.push_back(name);
    std::vector<double> times;
    grips.clear();
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      run.tell(done / 12, fmt::format("{} at {:g} Hz", name, frequencies[i]));
      const Failure f = time_to_failure(scene, {v.hold, v.law.law, dt, frequencies[i], v.damped ? 50.0 : 0.0,
                                                longest, kGrip, kGrip / (2 * kPad)});
      times.push_back(f.time);
      if (f.time < longest) grips.push_back(f.grip);
      table.rows[i].push_back(f.time < longest ? fmt::format("{:.3f}", f.time) : "holds");
    }
    ++done;
    return times;
  };
  struct Times {
    std::vector<double> lagged, similar, lagged_coarse, similar_coarse;
    double lagged_grip = 0, similar_grip = 0;  // [N] means over the runs that failed, small step
  } free, damped, force_free, force_damped;
  for (const bool is_damped : {false, true}) {
    Times& t = is_damped ? damped : free;
    t.lagged = sweep({Hold::width, kLagged, true, is_damped}), t.lagged_grip = mean(grips);
    t.similar = sweep({Hold::width, kSimilar, true, is_damped}), t.similar_grip = mean(grips);
    t.lagged_coarse = sweep({Hold::width, kLagged, false, is_damped});
    t.similar_coarse = sweep({Hold::width, kSimilar, false, is_damped});
  }
  for (const bool is_damped : {false, true}) {
    Times& t = is_damped ? force_damped : force_free;
    t.lagged = sweep({Hold::force, kLagged, true, is_damped}), t.lagged_grip = mean(grips);
    t.similar = sweep({Hold::force, kSimilar, true, is_damped}), t.similar_grip = mean(grips);
  }

  result.figure(
      "time_to_failure",
      fmt::format(
          "Time to failure with Lagged at dt = {:g} ms; {:g} s means that the rod was held (figure 21)",
          1e3 * fine, longest),
      draw_plot({{"d = 0", frequencies, free.lagged, LineStyle::solid, true},
                 {"d = 50 s/m", frequencies, damped.lagged, LineStyle::solid, true}},
                {760, 400, "time to failure", "frequency [Hz]", "T_f [s]", false, true, {}, {}}));
  const auto errors = [&](const std::string& name, const std::vector<double>& reference,
                          const std::vector<double>& t, LineStyle line) {
    return time_errors(name, frequencies, reference, t, longest, line);
  };
  std::vector<std::string> panels;
  for (const bool is_damped : {false, true}) {
    const Times &t = is_damped ? damped : free, &force = is_damped ? force_damped : force_free;
    panels.push_back(draw_plot(
        {errors(fmt::format("Similar, {:g} ms", 1e3 * fine), t.lagged, t.similar, LineStyle::dashed),
         errors("Lagged, 10 ms", t.lagged, t.lagged_coarse, LineStyle::solid),
         errors("Similar, 10 ms", t.lagged, t.similar_coarse, LineStyle::dashed),
         errors(fmt::format("Similar, {:g} ms, force held", 1e3 * fine), force.lagged, force.similar,
                LineStyle::dotted)},
        {760,
         360,
         is_damped ? "with dissipation" : "without dissipation",
         "frequency [Hz]",
         "relative error of T_f [%]",
         false,
         false,
         {},
         {}}));
  }
  result.figure("errors",
                "Error of the time to failure against Lagged at the small step (figure 22); dotted: Similar "
                "against Lagged where the fingers push with a given force",
                arrange(panels, 2, 760, 360));
  result.tables.push_back(table);

  const auto held = [&](const std::vector<double>& t, double below) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (frequencies[i] < below - 1e-9 && t[i] < longest) return false;
    }
    return true;
  };
  const bool holds = held(free.lagged, 1.4) && held(damped.lagged, 1.4);
  result.claim("the grasp holds below 1.4 Hz, the rod's frequency as a pendulum", "stable below 1.4 Hz",
               holds ? "held for the whole run" : "lost", holds);
  const auto falls = [&](const std::vector<double>& t) {
    for (std::size_t i = 1; i < t.size(); ++i) {
      if (frequencies[i] > 1.45 && t[i] > t[i - 1]) return false;
    }
    return t.back() < 0.25 * longest;
  };
  result.claim("above it the time to failure falls with the frequency", "steeply",
               fmt::format("to {:.2f} s without and {:.2f} s with dissipation at {:g} Hz", free.lagged.back(),
                           damped.lagged.back(), frequencies.back()),
               falls(free.lagged) && falls(damped.lagged));
  const Percent models = compare_times(free.lagged, free.similar, longest);
  const double apart = std::max(std::abs(models.least), std::abs(models.most));
  result.claim(
      fmt::format("Similar against Lagged at dt = {:g} ms without dissipation", 1e3 * fine),
      run.is_short ? "within 0.5 % at 0.2 ms" : "within 0.5 %", models.text(), apart < 0.5,
      Difference{run.is_short ? "the step is five times as long as the paper's"
                              : "the paper's pads and grip are not given; gliding adds 2 k mu dt |v_t| to "
                                "the grip of pads of stiffness k",
                 "within 2 %", apart < 2});
  if (run.is_short) return result;

  const Percent gain = compare_times(free.lagged, damped.lagged, longest);
  result.claim("what dissipation adds to the time with Lagged", "improves it slightly, by up to 10 %",
               gain.text(), gain.least > 0 && gain.most < 12,
               Difference{"the softer the pads, the more they give and dissipate; the paper's are not known",
                          "improves it, by up to 50 %", gain.least > 0 && gain.most < 50});
  const Percent modulation = compare_times(damped.lagged, damped.similar, longest);
  result.claim("with dissipation, Similar against Lagged at the small step: compliance modulation",
               "overestimates, by about 30 %", modulation.text(),
               modulation.least > 0 && modulation.most > 20 && modulation.most < 40,
               Difference{"the paper's pads are not known", "overestimates at every frequency, by up to 70 %",
                          modulation.least > 0 && modulation.most > 20 && modulation.most < 70});
  result.claim("its reason: the mean grip until the rod is lost, with dissipation",
               "gliding and modulation increase it",
               fmt::format("Lagged {:.2f} N, Similar {:.2f} N", damped.lagged_grip, damped.similar_grip),
               damped.similar_grip > 1.03 * damped.lagged_grip);
  const Percent force = compare_times(force_damped.lagged, force_damped.similar, longest);
  result.claim("the same hand with fingers that push with a given force: the grip cannot grow",
               "(ours) not above Lagged by more than 3 %",
               fmt::format("{}, mean grip {:.2f} and {:.2f} N", force.text(), force_damped.lagged_grip,
                           force_damped.similar_grip),
               force.most < 3 && std::abs(force_damped.similar_grip / force_damped.lagged_grip - 1) < 0.02);
  const Percent lagged = compare_times(free.lagged, free.lagged_coarse, longest),
                similar = compare_times(free.lagged, free.similar_coarse, longest);
  result.claim("dt = 10 ms without dissipation: errors of Lagged", "underestimates, by up to 50 %",
               lagged.text(), lagged.most < 0 && lagged.least > -55 && lagged.least < -10);
  result.claim("dt = 10 ms without dissipation: errors of Similar", "underestimates too, slightly less",
               similar.text(), similar.most < 0 && similar.least > lagged.least && similar.most > lagged.most,
               Difference{"gliding adds 2 k mu dt |v_t| to the grip, and the paper's k is not known",
                          "above Lagged at 10 ms at every frequency",
                          compare_times(free.lagged_coarse, free.similar_coarse, longest).least > 0});
  const Percent with = compare_times(damped.lagged, damped.lagged_coarse, longest);
  result.claim("dt = 10 ms: Lagged's errors with dissipation against those without", "nearly unchanged",
               fmt::format("{}, without {}", with.text(), lagged.text()),
               std::abs(with.least - lagged.least) < 10 && std::abs(with.most - lagged.most) < 10);
  result.remarks.push_back(fmt::format(
      "The paper gives neither the rod's size nor the grip, the pads or what drives the fingers; it explains "
      "Similar's longer times by a larger mean grasp force, which needs fingers that hold their width. Here "
      "each finger is held by {:.0e} N/m at the width of a grip of {:g} N, and each pad touches at two "
      "points of "
      "{:.0e} N/m. That stiffness was chosen among 1e4, 2e4 and 1e5 N/m because it fits the paper best: the "
      "page "
      "shows that the paper's signs come from fingers that hold their width, not that its hand was this one.",
      kFinger, kGrip, kPad));
  return result;
}

}  // namespace capstan::experiments
