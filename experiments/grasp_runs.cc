#include "experiments/grasp_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace capstan::experiments {
namespace {

constexpr double kRadius = 0.03, kRamp = 1;  // [m] of the circle; [s] in which it grows to that
constexpr double kDropped = 0.03;            // [m] the rod counts as lost when it has slid this far
constexpr double kFingerDamping = 250;       // [N s/m] critical for its 15 g

}  // namespace

Failure time_to_failure(Scene scene, const GraspRun& run) {
  for (Material& m : scene.materials) m.dissipation = run.dissipation;
  for (Actuator& a : scene.actuators) {
    if (a.name.rfind("grip", 0) != 0) continue;
    a.control = -run.grip;
    if (run.hold == Hold::force) continue;
    a.gain = kFinger;
    a.bias = Vec3(0, -kFinger, -kFingerDamping);
    a.control = -run.grip / kFinger - run.depth;
  }
  Simulation s(scene, run.law, run.dt);
  const int z = s.model.joints[s.model.find_joint("rod")].q + 2;
  const double start = s.state.q[z], omega = 2 * std::numbers::pi * run.frequency;
  Failure failure;
  double sum = 0, contacts = 0;
  while (s.state.time < run.longest && failure.time == 0) {
    const double t = s.state.time + run.dt, a = kRadius * std::min(1.0, t / kRamp);
    s.state.control[0] = a * std::cos(omega * t);
    s.state.control[1] = a * std::sin(omega * t);
    s.step();
    for (const Vec3& gamma : s.workspace.newton.impulse) sum += gamma.z();
    contacts += s.report.contacts;
    if (start - s.state.q[z] > kDropped) failure.time = s.state.time;
  }
  failure.grip = 0.5 * sum / s.state.time;
  failure.contacts = contacts / static_cast<double>(s.state.step);
  if (failure.time == 0) failure.time = run.longest;
  return failure;
}

std::string Percent::text() const {
  return fmt::format("{:+.1f} to {:+.1f} %", least, most);
}

Percent compare_times(const std::vector<double>& a, const std::vector<double>& b, double longest) {
  Percent p;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] >= longest || b[i] >= longest) continue;
    const double percent = 100 * (b[i] / a[i] - 1);
    p = {std::min(p.least, percent), std::max(p.most, percent)};
  }
  return p;
}

Series time_errors(const std::string& name, const std::vector<double>& frequencies,
                   const std::vector<double>& reference, const std::vector<double>& times, double longest,
                   LineStyle line) {
  Series r{name, {}, {}, line, true};
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (reference[i] >= longest || times[i] >= longest) continue;
    r.x.push_back(frequencies[i]);
    r.y.push_back(100 * (times[i] / reference[i] - 1));
  }
  return r;
}

}  // namespace capstan::experiments
