// Grasp stress test (icf.txt XII-B): a hand swings a rod on a circle of 3 cm until it slips out. The time to
// failure depends on everything (it is the sum of thousands of small slips), which makes it a hard test for a
// contact model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kRadius = 0.03, kRamp = 1;  // [m] of the circle; [s] in which it grows to that
constexpr double kDropped = 0.03;            // [m] the rod counts as lost when it has slid this far
constexpr double kLongest = 20;              // [s]

// Seconds until the rod is lost, or kLongest.
double time_to_failure(ContactLaw law, double dt, double frequency, double dissipation, double longest) {
  Scene scene = shipped_scene("grasp");
  for (Material& m : scene.materials) m.dissipation = dissipation;
  Simulation s(scene, law, dt);
  const int rod = s.model.find_body("rod"), z = s.model.joints[s.model.find_joint("rod")].q + 2;
  (void)rod;
  const double start = s.state.q[z], omega = 2 * std::numbers::pi * frequency;
  while (s.state.time < longest) {
    const double t = s.state.time + dt, a = kRadius * std::min(1.0, t / kRamp);
    s.state.control[0] = a * std::cos(omega * t);
    s.state.control[1] = a * std::sin(omega * t);
    s.step();
    if (start - s.state.q[z] > kDropped) return s.state.time;
  }
  return longest;
}

}  // namespace

Result grasp(const Run& run) {
  Result result;
  const std::vector<double> frequencies =
      run.is_short ? std::vector<double>{1.0, 1.8}
                   : std::vector<double>{1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5};
  const double longest = run.is_short ? 4 : kLongest, fine = run.is_short ? 1e-3 : 2e-4, coarse = 1e-2;
  // [with dissipation][law and step]
  struct Variant {
    Law law;
    bool is_fine;
  };
  const std::vector<Variant> variants = {
      {kLagged, true}, {kSimilar, true}, {kLagged, false}, {kSimilar, false}};
  std::vector<Series> failure;
  std::vector<std::string> panels;
  Table table{"time_to_failure", "Time to failure [s]", {"frequency [Hz]"}, {}, true};
  for (const double f : frequencies) table.rows.push_back({fmt::format("{:g}", f)});
  std::vector<std::vector<double>> times[2];
  for (const bool damped : {false, true}) {
    std::vector<Series> relative;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      std::vector<double> t;
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        run.tell((damped ? 0.5 : 0) + 0.12 * static_cast<double>(v),
                 fmt::format("{} at {:g} Hz", variants[v].law.name, frequencies[i]));
        t.push_back(time_to_failure(variants[v].law.law, variants[v].is_fine ? fine : coarse, frequencies[i],
                                    damped ? 50 : 0, longest));
        table.rows[i].push_back(t.back() < longest ? fmt::format("{:.3f}", t.back()) : "holds");
      }
      table.columns.push_back(fmt::format("{}, {:g} ms{}", variants[v].law.name,
                                          1e3 * (variants[v].is_fine ? fine : coarse),
                                          damped ? ", d = 50 s/m" : ""));
      times[damped].push_back(t);
      if (v == 0)
        failure.push_back({damped ? "d = 50 s/m" : "d = 0", frequencies, t, LineStyle::solid, true});
      if (v == 0) continue;
      Series r{table.columns.back(), {}, {}, variants[v].law.line, true};
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        if (times[damped][0][i] >= longest || t[i] >= longest) continue;
        r.x.push_back(frequencies[i]);
        r.y.push_back(100 * (t[i] / times[damped][0][i] - 1));
      }
      relative.push_back(r);
    }
    panels.push_back(draw_plot(relative, {760,
                                          360,
                                          damped ? "with dissipation" : "without dissipation",
                                          "frequency [Hz]",
                                          "relative error of T_f [%]",
                                          false,
                                          false,
                                          {},
                                          {}}));
  }
  result.figure(
      "time_to_failure",
      fmt::format(
          "Time to failure with Lagged at dt = {:g} ms; {:g} s means that the rod was held (figure 21)",
          1e3 * fine, longest),
      draw_plot(failure, {760, 400, "time to failure", "frequency [Hz]", "T_f [s]", false, true, {}, {}}));
  result.figure("errors", "Error of the time to failure against Lagged at the small step (figure 22)",
                arrange(panels, 2, 760, 360));
  result.tables.push_back(table);
  const auto& lagged = times[1][0];
  result.claim("slow circles hold", "stable below 1.4 Hz",
               fmt::format("{:g} Hz: {}", frequencies[0], lagged[0] >= longest ? "held" : "lost"),
               lagged[0] >= longest);
  result.claim("time to failure falls with the frequency", "steeply above 1.4 Hz",
               fmt::format("{:.2f} s at {:g} Hz", lagged.back(), frequencies.back()),
               lagged.back() < 0.25 * longest || (run.is_short && lagged.back() < longest));
  return result;
}

}  // namespace capstan::experiments
