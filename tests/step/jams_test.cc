// What holds by friction because it is wedged: where the law coulomb finds its bounds of friction too small,
// they must grow until the wedge sticks (solvers/coulomb.cc).
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::jams_test {
namespace {

using test::scene_of;
using test::Simulation;

constexpr double kDegree = std::numbers::pi / 180;

// A roller between a flat of the cam and the ring round it: half the wedge's angle is 5 degrees.
Scene roller_clutch(double friction) {
  std::string ring;
  for (int k = 0; k < 72; ++k) {
    const double angle = 5 * kDegree * k;
    ring += fmt::format(
        "      - {{type: box, size: [0.01, 0.0052, 0.01], axis: [0, 0, 1], angle: {}, position: [{}, {}, 0], "
        "density: 7800}}\n",
        angle, 0.055 * std::cos(angle), 0.055 * std::sin(angle));
  }
  return scene_of(fmt::format(R"(
options: {{gravity: [0, 0, 0]}}
materials: [{{name: default, friction: {}, stiffness: 1e7}}]
bodies:
  - name: ring
    joint: {{type: revolute, axis: [0, 0, 1], damping: 0.0025}}
    shapes:
{}
  - name: cam
    joint: {{type: revolute, axis: [0, 0, 1]}}
    shape: {{type: box, size: [0.078636637, 0.04, 0.01], density: 7800}}
  - name: roller
    joint: {{type: planar, initial: [0.0443183185, 0.00781451529, 0]}}
    shape: {{type: cylinder, radius: 0.005, length: 0.01, density: 7800}}
)",
                              friction, ring));
}

// How far the cam turns ahead of the ring, at most [degrees], while it takes the ring along faster and
// faster.
double slip_of_clutch(double friction, double dt) {
  Simulation run(roller_clutch(friction), dt, ContactLaw::coulomb);
  run.input.generalized_force.setZero(run.model.num_velocities());
  double most = 0;
  while (run.state.time < 0.6) {
    run.input.generalized_force[1] = -0.125 * std::min(1.0, run.state.time / 0.3);
    run.report = step(run.model, run.options, run.input, &run.state, &run.workspace);
    most = std::max(most, std::abs(run.state.q[1] - run.state.q[0]));
  }
  EXPECT_LT(run.state.v[1], -30) << "it turns";
  return most / kDegree;
}

// tan(5 degrees) = 0.087.
TEST(Jams, ARollerClutchHoldsAboveItsAngle) {
  for (const double dt : {0.0005, 0.001, 0.002}) {
    EXPECT_LT(slip_of_clutch(0.15, dt), 0.2) << "dt " << dt;
    EXPECT_GT(slip_of_clutch(0.07, dt), 90) << "dt " << dt;
  }
}

// A block on a lever, whose pivot is before the block and beside its face by `offset`, is pressed on a drum
// that turns: friction presses it on further, N (0.1 - mu offset) = 0.3 force, which locks where mu offset >
// 0.1.
double turn_of_drum(double offset, double force, double dt) {
  Simulation run(scene_of(fmt::format(R"(
materials: [{{name: default, friction: 0.4}}]
bodies:
  - name: drum
    joint: {{type: revolute, axis: [0, 1, 0], initial_velocity: -50}}
    shape: {{type: cylinder, radius: 0.1, length: 0.05, rpy_deg: [90, 0, 0], mass: 5}}
  - name: lever
    position: [-0.1, 0, {}]
    joint: {{type: revolute, axis: [0, 1, 0]}}
    gravity_compensated: true
    shapes:
      - {{type: box, size: [0.02, 0.04, 0.02], position: [0.1, 0, {}], mass: 0.05}}
      - {{type: box, size: [0.3, 0.02, 0.01], position: [0.15, 0, 0], mass: 0.1, collides: false}}
)",
                                      0.1 + offset, 0.01 - offset)),
                 dt, ContactLaw::coulomb);
  run.input.generalized_force.setZero(run.model.num_velocities());
  run.input.generalized_force[1] = 0.3 * force;
  run.go(0.5);
  EXPECT_NEAR(run.state.v[0], 0, 1e-3) << "dt " << dt;
  return std::abs(run.state.q[0]);
}

// With the springs of the contact in an integration of its own, the drum stands after 7 to 11 ms (0.3 rad).
TEST(Jams, ASelfLockingBrakeLocks) {
  for (const double dt : {0.0005, 0.001, 0.002, 0.005, 0.01}) {
    EXPECT_LT(turn_of_drum(0.26, 1, dt), 50 * (0.01 + dt)) << "dt " << dt;
    EXPECT_LT(turn_of_drum(0.3, 1, dt), 50 * (0.01 + dt)) << "dt " << dt;
    EXPECT_LT(turn_of_drum(0.4, 10, dt), 50 * (0.01 + dt)) << "dt " << dt;
  }
}

// One that does not lock: torque mu N R = 0.4 * 0.3 * 20 / (0.1 - 0.4 * 0.1) * 0.1 = 4 N m on I = 0.025 kg
// m^2.
TEST(Jams, ABrakeThatDoesNotLockBrakesByItsTorque) {
  for (const double dt : {0.001, 0.005, 0.01}) {
    const double stop = 50 / (4 / 0.025);
    EXPECT_NEAR(turn_of_drum(0.1, 20, dt), 50 * stop / 2, 0.02 * 50 * stop / 2 + 25 * dt) << "dt " << dt;
  }
}

}  // namespace
}  // namespace capstan::jams_test
