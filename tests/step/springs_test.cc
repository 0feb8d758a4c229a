// Joint springs with the default integrator: slow ones keep their energy, fast ones are damped
// (dynamics/free_motion.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "tests/support/contact_simulation.h"

namespace capstan::springs_test {
namespace {

using test::Simulation;

// `count` blocks of 1 kg on springs of their own, 0.1 m out; 4 and more are computed in lanes.
Scene blocks_on_springs(double stiffness, double damping, int count = 1) {
  std::string text = "capstan: 1\noptions: {gravity: [0, 0, 0]}\nbodies:\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "  - {{name: b{}, position: [0, {}, 0], joint: {{type: prismatic, axis: [1, 0, 0], stiffness: {}, "
        "damping: "
        "{}, initial: 0.1}}, shape: {{type: box, size: [0.1, 0.1, 0.1], mass: 1}}}}\n",
        i, i, stiffness, damping);
  }
  Diagnostics diagnostics;
  return read_yaml_text(text, {}, &diagnostics);
}

struct Swing {
  double largest = 0;  // [m] in the last second
  double period = 0;   // [s] mean, from the times at which it goes through 0
};

Swing swing(const Scene& scene, double dt, double duration, int dof = 0) {
  Simulation run(scene, dt, ContactLaw::coulomb);
  Swing s;
  double first = 0, last = 0;
  int times = 0;
  for (double before = 0.1; run.state.time < duration; before = run.state.q[dof]) {
    run.go(dt);
    const double now = run.state.q[dof];
    if (run.state.time > duration - 1) s.largest = std::max(s.largest, std::abs(now));
    if (before * now > 0) continue;
    last = run.state.time - dt * now / (now - before);
    if (times++ == 0) first = last;
  }
  s.period = 2 * (last - first) / (times - 1);
  return s;
}

TEST(Springs, SwingForMinutesAtAnyStep) {
  for (const double dt : {0.001, 0.005, 0.01}) {
    for (const int count : {1, 5}) {  // alone, and in lanes
      const Swing s = swing(blocks_on_springs(100, 0, count), dt, 100);
      EXPECT_NEAR(s.largest, 0.1, 2 * dt * dt) << dt << " " << count;
      // The trapezoidal rule has the frequency 2/dt atan(w dt / 2).
      EXPECT_NEAR(s.period, std::numbers::pi * dt / std::atan(5 * dt), 1e-6) << dt << " " << count;
    }
  }
}

TEST(Springs, DecayAsTheirDampersSay) {
  // exp(-d t / 2m): 0.2 of it after 10 s. It is farthest out every half period, after 9.5 s at 31 of them.
  const double d = 2 * std::log(5) / 10, wanted = 0.1 * std::exp(-d / 2 * 31 * std::numbers::pi / 10);
  for (const double dt : {0.001, 0.005})
    EXPECT_NEAR(swing(blocks_on_springs(100, d), dt, 10.5).largest, wanted, 0.005 * wanted) << dt;
}

// What the step cannot show does not ring: w dt is 5.
TEST(Springs, ThatAreFastComeToRest) {
  EXPECT_LT(swing(blocks_on_springs(1e6, 0), 0.005, 1.2).largest, 1e-9);
}

// Springs between both: less and less is kept, without a jump.
TEST(Springs, LoseMoreTheFasterTheyAre) {
  double before = 0.11;
  for (const double x : {4.5, 6.0, 9.0, 12.0, 18.0}) {
    const double largest = swing(blocks_on_springs(x / (0.005 * 0.005), 0), 0.005, 1.02).largest;
    EXPECT_LT(largest, before) << x;
    before = largest;
  }
}

// A weight on a spring under gravity goes up and down by mg/k about where it would hang.
TEST(Springs, AWeightGoesUpAndDown) {
  Scene scene = blocks_on_springs(100, 0);
  scene.options.gravity = Vec3(-9.81, 0, 0);
  scene.initial.q.clear();
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  run.state.q[0] = 0;
  double lowest = 0, highest = -1;
  for (int i = 0; i < 4000; ++i) {
    run.go(0.005);
    if (run.state.time < 15) continue;
    lowest = std::min(lowest, run.state.q[0]);
    highest = std::max(highest, run.state.q[0]);
  }
  EXPECT_NEAR(lowest, -2 * 9.81 / 100, 2e-4);
  EXPECT_NEAR(highest, 0, 2e-4);
}

}  // namespace
}  // namespace capstan::springs_test
