// What swings on a rope or as one keeps its energy (physics/rod_swing.cc), at steps far above the period of
// stretch waves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/step.h"

namespace capstan::rod_swing_test {
namespace {

struct SwingRun {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;

  SwingRun(const std::string& yaml, double dt, Integrator integrator) : model(compile(read(yaml))) {
    begin();
    options = step_options(model);
    options.dt = dt;
    options.integrator = integrator;
  }
  static Scene read(const std::string& yaml) {
    Diagnostics diagnostics;
    Scene scene = read_yaml_text("capstan: 1\n" + yaml, {}, &diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    return scene;
  }
  void begin() {
    state = initial_state(model);
    workspace = make_workspace(model);
  }
  double energy() const { return calc_mechanics(model, state).total(); }
  void advance() { step(model, options, {}, &state, &workspace); }
};

constexpr const char* kPendulum = R"(
bodies:
  - {name: bob, position: [0.34202, 0, -0.93969], joint: free, shape: {type: sphere, radius: 0.03, mass: 1}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0.34202, 0, -0.93969]}, edges: 20, diameter: 0.003,
     young_modulus: 1e9, density: 1000, fixed_nodes: [first],
     attach: [{node: last, body: bob, point: [0, 0, 0]}]}
)";

// 20 degrees, ten periods. Forces at the end of a step alone leave 0.217 m of 0.342 m at 5 ms.
TEST(RodSwing, APendulumKeepsItsAmplitude) {
  for (const Integrator integrator : {Integrator::semi_implicit, Integrator::midpoint}) {
    for (const double dt : {0.01, 0.005, 0.001}) {
      if (integrator == Integrator::midpoint && dt > 0.005) continue;  // stretch waves grow: docs/rods.md
      SwingRun run(kPendulum, dt, integrator);
      const double start = run.energy();
      double amplitude = 0, most = start;
      while (run.state.time < 20) {
        run.advance();
        if (run.state.time > 17.5) amplitude = std::max(amplitude, run.state.q[0]);
        most = std::max(most, run.energy());
      }
      EXPECT_NEAR(amplitude, 0.34202, 0.02 * 0.34202) << integrator_name(integrator) << ", dt " << dt;
      // Of 0.59 J that swing. Velocities of semi_implicit are those between positions: gravity's work in half
      // a step, m g v dt / 2, belongs to them.
      const double between = integrator == Integrator::midpoint ? 0 : 0.5 * 9.81 * 0.4 * dt;
      EXPECT_LT(most - start, 0.006 + between) << integrator_name(integrator) << ", dt " << dt;
    }
  }
}

// The first mode of a hanging rope, J0(2.4048 sqrt(z / L)) with z from the free end; w = 1.2024 sqrt(g / L).
TEST(RodSwing, AHangingRopeHasTheFirstModeOfTheory) {
  constexpr int kEdges = 40;
  for (const double dt : {0.005, 0.001}) {
    Scene scene;
    Model model = compile(scene);
    RodSpec rope;
    const double w = 0.5 * 2.404826 * std::sqrt(9.81), size = 0.02;
    for (int i = 0; i <= kEdges; ++i) {
      const double z = 1 - double(i) / kEdges;
      rope.nodes.push_back({size * std::cyl_bessel_j(0, 2.404826 * std::sqrt(z)), 0, -double(i) / kEdges});
    }
    rope.rest_length.assign(kEdges, 1.0 / kEdges);
    rope.rest = RodRest::straight;
    rope.section.width = 0.004;
    rope.young_modulus = 1e7;
    rope.density = 1000;
    rope.pinned_nodes = {0};
    add_rod("rope", std::make_shared<Rod>(rope), 0, &model);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    StepOptions options = step_options(model);
    options.dt = dt;
    const auto end = [&] { return state.q[4 * kEdges]; };
    double last = end(), first_pass = 0, last_pass = 0, amplitude = 0;
    int passes = 0;
    while (state.time < 10) {
      step(model, options, {}, &state, &workspace);
      if (last > 0 && end() <= 0) {
        last_pass = state.time - dt * end() / (end() - last);
        if (passes++ == 0) first_pass = last_pass;
      }
      if (state.time > 8.3) amplitude = std::max(amplitude, std::abs(end()));
      last = end();
    }
    ASSERT_GE(passes, 3);
    EXPECT_NEAR((passes - 1) * 2 * M_PI / (last_pass - first_pass), w, 0.01 * w) << dt;
    EXPECT_NEAR(amplitude, size, 0.06 * size) << dt;
  }
}

}  // namespace
}  // namespace capstan::rod_swing_test
