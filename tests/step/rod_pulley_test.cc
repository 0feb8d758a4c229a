// Ropes over pegs and pulleys (problem/assemble_lean.cc): with weights at their ends they run as Euler and
// Atwood have it, at any time step, and hold where friction holds them.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::rod_pulley_test {
namespace {

using test::kGravity;
using test::scene_of;
using test::Simulation;

constexpr double kRadius = 0.05, kLight = 0.2, kHeavy = 0.3;

// A steel wire of 0.2 mm over a cylinder, on a hinge or fixed; weights hang 0.4 m below its axis.
Simulation wire_over(const char* hinge, double friction, double dt, ContactLaw law = ContactLaw::coulomb) {
  return {scene_of(fmt::format(R"(
materials: [{{name: default, friction: {}}}]
bodies:
  - name: light
    position: [-0.0501, 0, -0.4]
    joint: free
    shape: {{type: sphere, radius: 0.02, mass: 0.2, collides: false}}
  - name: heavy
    position: [0.0501, 0, -0.4]
    joint: free
    shape: {{type: sphere, radius: 0.02, mass: 0.3, collides: false}}
  - name: wheel
    joint: {}
    shape: {{type: cylinder, radius: 0.05, length: 0.05, rpy_deg: [90, 0, 0], mass: 0.2}}
rods:
  - name: wire
    points: [[-0.0501, 0, -0.4], [-0.0501, 0, 0.0501], [0.0501, 0, 0.0501], [0.0501, 0, -0.4]]
    rounding: 0.0501
    edges: 120
    diameter: 0.0002
    young_modulus: 2e10
    density: 7800
    damping: {{beta: 0.02}}
    rest: straight
    attach: [{{node: first, body: light}}, {{node: last, body: heavy}}]
)",
                               friction, hinge)),
          dt, law};
}

// Of the heavy weight, downwards, from 0.1 to 0.3 s: the wire is taut then.
double acceleration(Simulation run) {
  run.go(0.1);
  const double before = run.state.v[8], at = run.state.time;
  run.go(0.2);
  return -(run.state.v[8] - before) / (run.state.time - at);
}

// What hangs from both sides presses straight down on the peg, however fast the wire runs: forces are told
// along the normals that the step had, those of its end.
TEST(RodPulley, TheForceOnThePegPointsDown) {
  for (const double dt : {0.01, 0.005, 0.002}) {
    Simulation run = wire_over("fixed", 0.02, dt);
    run.go(0.2);
    Vec3 sum = Vec3::Zero();
    std::vector<ContactForce> forces;
    while (run.state.time < 0.4) {
      run.go(dt);
      calc_contact_forces(run.workspace, &forces);
      for (const ContactForce& f : forces)
        sum += run.model.shapes[f.shape_a].name == "wheel_cylinder" ? Vec3(f.force_W()) : Vec3(-f.force_W());
    }
    std::printf("wire at %.2f m/s, %g ms: force on it %.4f across, of what is up\n", -run.state.v[8],
                1e3 * dt, sum.x() / sum.z());
    EXPECT_GT(sum.z(), 0);
    EXPECT_LT(std::abs(sum.x()), 0.004 * sum.z()) << dt;
  }
}

// Without friction nothing brakes it; with friction, the tensions differ by exp(mu pi).
TEST(RodPulley, AWireRunsOverAPeg) {
  for (const double mu : {0.0, 0.1}) {
    const double ratio = std::exp(mu * std::numbers::pi);
    const double expected = kGravity * (kHeavy - ratio * kLight) / (kHeavy + ratio * kLight);
    for (const double dt : {0.001, 0.002, 0.005})
      EXPECT_NEAR(acceleration(wire_over("fixed", mu, dt)), expected, 0.03 * kGravity / 5) << mu << " " << dt;
  }
}

// The wheel has half of its mass at its rim.
TEST(RodPulley, APulleyTurnsWithTheWire) {
  const double expected = kGravity * (kHeavy - kLight) / (kHeavy + kLight + 0.1);
  for (const double dt : {0.001, 0.002, 0.005})
    EXPECT_NEAR(acceleration(wire_over("{type: revolute, axis: [0, 1, 0]}", 0.8, dt)), expected,
                0.04 * expected)
        << dt;
}

// A ratio of weights of 1.5 below exp(0.3 pi) = 2.57: what hangs on the wire stays.
TEST(RodPulley, FrictionHolds) {
  for (const double dt : {0.001, 0.005, 0.01}) {
    Simulation run = wire_over("fixed", 0.3, dt);
    run.go(0.5);
    const double before = run.state.q[9];
    run.go(1);
    EXPECT_NEAR(run.state.q[9], before, 2e-5) << dt;
  }
}

// A yo-yo: its cord is wound on it four times, under tension, tied to it within and held above. It falls at
// g / (1 + I / m R^2), R to the middle of the cord, 3.00 m/s^2. With its side of the contacts at the arms of
// the beginning of the step it fell at 2.0 at 2 ms.
TEST(RodPulley, AYoYoFalls) {
  constexpr double kMass = 0.2, kSpin = 2e-4, kMiddle = 0.021;
  constexpr int kEdges = 24, kTurns = 4;
  const double edge = 2 * std::numbers::pi * kMiddle / kEdges;
  std::string points;
  for (int i = 0; i <= kEdges * kTurns; ++i) {
    const double a = 2 * std::numbers::pi * (kTurns - static_cast<double>(i) / kEdges);
    points += fmt::format("[{}, {}, {}], ", kMiddle * std::cos(a), -0.0024 * a / (2 * std::numbers::pi),
                          -kMiddle * std::sin(a));
  }
  for (int i = 1; i < 10; ++i) points += fmt::format("[{}, 0, {}], ", kMiddle, i * edge);
  const Scene scene = scene_of(fmt::format(R"(
bodies:
  - name: yoyo
    joint: free
    inertia: {{mass: 0.2, moments: [1e-4, 2e-4, 1e-4]}}
    shape: {{type: cylinder, radius: 0.02, length: 0.04, axis: [1, 0, 0], angle_deg: 90}}
rods:
  - name: cord
    points: [{}]
    diameter: 0.002
    young_modulus: 2e7
    density: 300
    damping: {{beta: 0.002}}
    rest: {{curvature: [0, 0]}}
    fixed_nodes: [last]
    attach: [{{node: first, body: yoyo}}]
)",
                                           points));
  Simulation run(scene, 0.002, ContactLaw::coulomb);
  run.go(0.1);
  const double before = run.state.v[2];
  run.go(0.2);
  const double fall = (before - run.state.v[2]) / 0.2,
               expected = kGravity / (1 + kSpin / (kMass * kMiddle * kMiddle));
  fmt::print("a yo-yo falls at {:.3f} m/s^2, without a cord's weight and stiffness at {:.3f}\n", fall,
             expected);
  EXPECT_NEAR(fall, expected, 0.03 * expected);
}

// A rubber band around a roller in space stays there, without a motion. What it would need to keep its own
// angular momentum was many times that of the band, and threw it off at 5 and 10 ms.
TEST(RodPulley, ABandStaysOnARoller) {
  for (const double dt : {0.001, 0.005, 0.01}) {
    Simulation run(scene_of(R"(
options: {gravity: [0, 0, 0]}
materials: [{name: default, friction: 0.5}]
bodies:
  - name: roller
    joint: free
    inertia: {mass: 0.2, moments: [1e-4, 1e-4, 2e-4]}
    shape: {type: cylinder, radius: 0.02, length: 0.04}
rods:
  - name: band
    circle: {radius: 0.021}
    edges: 24
    diameter: 0.002
    young_modulus: 2e7
    density: 300
    stretch: 0.02
    damping: {beta: 0.002}
)"),
                   dt, ContactLaw::coulomb);
    run.go(0.5);
    EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-3) << dt;
    EXPECT_LT((run.state.q.head<3>()).norm(), 1e-4) << dt;
  }
}

// A belt beside the middle of a crowned pulley runs towards it; on a flat one it stays where it is. The
// shipped scene, four times as fast; a turn of the belt takes 1.2 s.
TEST(RodPulley, ABeltRunsToTheMiddleOfACrown) {
  const auto run_belt = [](const Shape* pulley) {
    Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/crowned_pulley.yaml");
    scene.actuators[0].control *= 4;
    if (pulley) {
      scene.shapes[0].shape = *pulley;
      scene.shapes[0].pose = scene.shapes[1].pose;
    }
    Simulation run(scene, 0.006, ContactLaw::coulomb);
    run.go(1.2);
    const Object& belt = run.model.objects.back();
    double mean = 0;
    for (int i = 0; i < 50; ++i) mean += run.state.q[belt.q_begin + 4 * i + 1] / 50;
    EXPECT_NEAR(run.state.v[1], run.state.v[0], 0.08 * run.state.v[0]);  // it takes the drum along
    return mean;
  };
  EXPECT_LT(run_belt(nullptr), 0.0185);  // of 0.02 at the start
  const Shape flat = Cylinder{0.03, 0.08};
  EXPECT_NEAR(run_belt(&flat), 0.02, 2e-4);
}

}  // namespace
}  // namespace capstan::rod_pulley_test
