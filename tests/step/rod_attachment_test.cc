// Rods attached to bodies: what they carry, how they swing, and what each gives to the other.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include <cmath>
#include <numbers>

#include "capstan/dynamics/tree.h"
#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/problem/gap.h"
#include "capstan/step/step.h"

namespace capstan::rod_attachment_test {
namespace {

struct RodRun {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;

  explicit RodRun(const std::string& yaml) : model(compile(read(yaml))), state(initial_state(model)) {
    workspace = make_workspace(model);
    options = step_options(model);
  }
  static Scene read(const std::string& yaml) {
    Diagnostics diagnostics;
    Scene scene = read_yaml_text("capstan: 1\n" + yaml, {}, &diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    return scene;
  }
  void go(double until) {
    while (state.time < until - 0.5 * options.dt) step(model, options, {}, &state, &workspace);
  }
  int rod() const { return find_rods(model).front(); }
  const Rod& spec() const { return rod_of(model, rod()); }
  VecX q() const {
    const Object& o = model.objects[rod()];
    return state.q.segment(o.q_begin, o.num_positions());
  }
  // The largest of all constraints [m or rad].
  double gap() const {
    Placement placement = make_placement(model);
    calc_placement(model, state.q, &placement);
    double largest = 0;
    for (const ModelConstraint& c : model.constraints)
      largest = std::max(largest, calc_gap(model, c, state.q, placement).lpNorm<Eigen::Infinity>());
    return largest;
  }
};

// Each node of a soft body is a body. What touches the cord there, triangles and edges of the surface, moves
// with it: a contact would pump energy into the sack. The cord stretches by m g L / E A.
TEST(RodAttachment, ASoftSackHangsOnACordByANode) {
  for (const char* end :
       {"node: last, body: sack/112", "node: last, body: sack/124", "edge: last, body: sack/112"}) {
    const double x = std::string(end).find("124") == std::string::npos ? 0.0 : 0.1;
    for (const double dt : {0.002, 0.01}) {
      RodRun run(fmt::format(R"(
options: {{dt: {dt}}}
rods:
  - {{name: cord, line: {{from: [{x}, {x}, 2], to: [{x}, {x}, 1]}}, edges: 20, diameter: 0.006, young_modulus: 1e8, density: 1000,
     damping: {{beta: 0.001}}, fixed_nodes: [first], attach: [{{{end}}}]}}
soft_bodies:
  - {{name: sack, box: {{size: [0.2, 0.2, 0.2], cells: [4, 4, 4]}}, position: [0, 0, 0.9], young_modulus: 2e5,
     poisson_ratio: 0.3, density: 500, damping: {{alpha: 4, beta: 0.005}}}}
)",
                             fmt::arg("dt", dt), fmt::arg("x", x), fmt::arg("end", end)));
      while (run.state.time < 2) {
        const Report report = step(run.model, run.options, {}, &run.state, &run.workspace);
        ASSERT_EQ(report.contacts, 0) << end << ", dt " << dt << ", " << run.state.time;
      }
      const double area = std::numbers::pi * 0.003 * 0.003, sack = 4, cord = 1000 * area;
      const double stretch = 9.81 * (sack + cord / 2) / (1e8 * area);
      // By its corner it still swings, and bends the end of the cord that is fixed to its edge.
      const bool swings = x > 0, is_bent = end[0] == 'e';
      EXPECT_NEAR(Rod::node(run.q(), 20).z(), 1 - stretch, (swings || is_bent ? 0.05 : 2e-3) * stretch)
          << end << ", dt " << dt;
      EXPECT_LT(run.state.v.norm(), swings ? 0.5 : 0.05) << end << ", dt " << dt;
    }
  }
}

// The same by a rigid rod and a constraint.
TEST(RodAttachment, ASoftSackHangsOnARigidRodByANode) {
  for (const double dt : {0.002, 0.01}) {
    RodRun run(fmt::format(R"(
options: {{dt: {}}}
bodies:
  - {{name: link, position: [0, 0, 2], joint: {{name: ceiling, type: ball, damping: 0.05}},
     shape: {{type: capsule, radius: 0.003, from: [0, 0, 0], to: [0, 0, -1], mass: 0.2}}}}
soft_bodies:
  - {{name: sack, box: {{size: [0.2, 0.2, 0.2], cells: [4, 4, 4]}}, position: [0, 0, 0.9], young_modulus: 2e5,
     poisson_ratio: 0.3, density: 500, damping: {{alpha: 4, beta: 0.005}}}}
constraints:
  - {{type: ball, body_a: link, point_a: [0, 0, -1], body_b: sack/112}}
)",
                           dt));
    while (run.state.time < 2) {
      const Report report = step(run.model, run.options, {}, &run.state, &run.workspace);
      ASSERT_EQ(report.contacts, 0) << "dt " << dt << ", " << run.state.time;
    }
    EXPECT_LT(run.gap(), 1e-3) << "dt " << dt;
    EXPECT_LT(run.state.v.norm(), 0.05) << "dt " << dt;
  }
}

TEST(RodAttachment, ARopeCarriesWhatHangsOnIt) {
  RodRun run(R"(
options: {dt: 0.002}
bodies:
  - {name: bob, position: [0, 0, -0.52], joint: free, shape: {type: sphere, radius: 0.02, mass: 0.5}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0, 0, -0.5]}, edges: 25, diameter: 0.004, young_modulus: 1e7,
     density: 2000, damping: {alpha: 20, beta: 0.01}, fixed_nodes: [first], attach: [{node: last, body: bob}]}
)");
  run.go(3);
  const Rod& rod = run.spec();
  const double g = 9.81, area = std::numbers::pi * 0.002 * 0.002, edge = 0.02 * area * 2000;
  for (int i = 0; i < 25; ++i) {
    // Below edge i are the nodes from i + 1 on; half an edge's mass sits at the last one.
    const double carried = 0.5 + edge * (24.5 - i);
    EXPECT_NEAR(rod.tension(run.q(), i), carried * g, 2e-4 * carried * g) << i;
  }
  EXPECT_LT(run.gap(), 1e-7);
}

// About a node that is fixed: rope of mass M, bob of mass m whose centre is the last node.
TEST(RodAttachment, APendulumHasThePeriodOfTheory) {
  RodRun run(R"(
options: {dt: 0.0005, integrator: midpoint}
bodies:
  - {name: bob, position: [0.025, 0, -0.49937], joint: free,
     inertia: {mass: 0.05, moments: [1e-5, 1e-5, 1e-5]}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0.025, 0, -0.49937]}, edges: 10, diameter: 0.002, young_modulus: 1e9,
     density: 3000, fixed_nodes: [first], attach: [{node: last, body: bob, point: [0, 0, 0]}]}
)");
  const double L = std::hypot(0.025, 0.49937), m = 0.05, g = 9.81, amplitude = 0.05,
               M = 3000 * std::numbers::pi * 0.001 * 0.001 * L;
  const double expected = 2 * std::numbers::pi * std::sqrt((m + M / 3) * L / ((m + M / 2) * g)) *
                          (1 + amplitude * amplitude / 16);
  // Times at which the bob passes below the fixed node.
  std::vector<double> passes;
  double last = 0.025;
  while (run.state.time < 4) {
    step(run.model, run.options, {}, &run.state, &run.workspace);
    const double x = run.state.q[0];
    if (last > 0 && x <= 0) passes.push_back(run.state.time - run.options.dt * (0 - x) / (last - x));
    last = x;
  }
  ASSERT_GE(passes.size(), 3u);
  EXPECT_NEAR((passes.back() - passes.front()) / double(passes.size() - 1), expected, 2e-3 * expected);
  EXPECT_LT(run.gap(), 1e-6);
}

TEST(RodAttachment, WhatTheBodyGainsTheRodLoses) {
  RodRun run(R"(
options: {dt: 0.001, gravity: [0, 0, 0]}
bodies:
  - {name: brick, position: [0.35, 0, 0], joint: {type: free, initial_velocity: [1, 2, 0, 0, 0, 3]},
     shape: {type: box, size: [0.1, 0.05, 0.03], mass: 0.3}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0.3, 0, 0]}, edges: 15, diameter: 0.01, young_modulus: 1e6,
     density: 1000, attach: [{node: last, body: brick}]}
)");
  const Mechanics before = calc_mechanics(run.model, run.state);
  const auto momentum_of_rod = [&] {
    const Object& o = run.model.objects[run.rod()];
    return Vec3(run.spec().calc_momentum(run.q(), run.state.v.segment(o.dof_begin, o.num_dofs())).tail<3>());
  };
  EXPECT_EQ(momentum_of_rod().norm(), 0);
  run.go(0.3);
  const Mechanics after = calc_mechanics(run.model, run.state);
  EXPECT_GT(momentum_of_rod().norm(), 0.02);
  EXPECT_LT((after.momentum - before.momentum).tail<3>().norm(), 1e-9 * before.momentum.tail<3>().norm());
  EXPECT_LT((after.momentum - before.momentum).head<3>().norm(), 1e-2 * before.momentum.head<3>().norm());
  EXPECT_LT(after.total(), before.total() * 1.0001);
  EXPECT_LT(run.gap(), 1e-5);
}

constexpr const char* kStrip = R"(
rods:
  - {name: strip, line: {from: [0, 0, 0], to: [0.3, 0, 0]}, edges: 15, director: [0, 0, 1],
     section: {type: rectangle, width: 0.006, height: 0.02}, young_modulus: 1e8, density: 1000,
     damping: {alpha: 10, beta: 0.02}, )";

// A clamp on a body that cannot move is a clamp.
TEST(RodAttachment, AnEdgeOnAWallIsACantilever) {
  const std::string wall = "options: {dt: 0.005}\nbodies: [{name: wall, position: [1, 2, 3]}]\n";
  RodRun clamped(wall + kStrip + "clamped_edges: [first]}\n");
  RodRun attached(wall + kStrip + "attach: [{edge: first, body: wall}]}\n");
  clamped.go(2);
  attached.go(2);
  const double sag = -Rod::node(clamped.q(), 15).z();
  EXPECT_GT(sag, 0.02);
  // The attached edge may stretch, and gives way by the softness of a tie.
  EXPECT_NEAR(-Rod::node(attached.q(), 15).z(), sag, 1e-3 * sag);
  EXPECT_LT(attached.gap(), 1e-6);
}

// A strip on a hub that is turned: the edge turns with it, about its own axis, too.
TEST(RodAttachment, AnEdgeTurnsWithItsBody) {
  for (const std::string axis : {"[1, 0, 0]", "[0, 0, 1]"}) {
    RodRun run(R"(
options: {dt: 0.002, gravity: [0, 0, 0]}
bodies:
  - {name: hub, joint: {type: revolute, axis: )" +
               axis + R"(, initial_velocity: 4},
     inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}}
)" + kStrip + "attach: [{edge: first, body: hub}]}\n");
    run.go(1);
    EXPECT_GT(run.state.q[0], 3) << axis;  // the strip takes some of the speed
    EXPECT_LT(run.gap(), 2e-4) << axis;
    const Mat3 R = Eigen::AngleAxisd(run.state.q[0], run.model.stages[0].axis).toRotationMatrix();
    const RodEdge edge = run.spec().edge(run.q(), 0);
    EXPECT_LT((edge.tangent - R * Vec3(1, 0, 0)).norm(), 2e-4) << axis;
    EXPECT_LT((edge.m1 - R * Vec3(0, 0, 1)).norm(), 2e-4) << axis;
  }
}

TEST(RodAttachment, ASoftOneIsASpring) {
  RodRun run(R"(
options: {dt: 0.002}
bodies:
  - {name: bob, position: [0, 0, -0.52], joint: free, shape: {type: sphere, radius: 0.02, mass: 0.5}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0, 0, -0.5]}, edges: 10, diameter: 0.004, young_modulus: 1e8,
     density: 1000, damping: {alpha: 20, beta: 0.001}, fixed_nodes: [first],
     attach: [{node: last, body: bob, stiffness: 1000, relaxation_time: 0.05}]}
)");
  run.go(3);
  EXPECT_NEAR(run.gap(), 0.5 * 9.81 / 1000, 1e-4 * 0.005);
}

}  // namespace
}  // namespace capstan::rod_attachment_test
