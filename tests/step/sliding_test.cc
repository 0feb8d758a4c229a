// Friction that changes between sliding, rolling and nothing, against sums by hand: a box that lands sliding,
// strokes of a cue, a wheel that is braked too hard, a slab pulled from under a stack, a grip that opens, a
// ball that meets a wall with spin.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::sliding_test {
namespace {

using test::kGravity;
using test::scene_of;
using test::Simulation;

// [rad] between the body's z axis and the world's.
double tilt(const Simulation& run, const char* body) {
  Placement placement = make_placement(run.model);
  calc_placement(run.model, run.state.q, &placement);
  return std::acos(std::min(1.0, body_pose(run.model, placement, run.model.find_body(body)).R(2, 2)));
}

// Thrown level, it lands flat at u = sqrt(2 g h); the impact takes mu u of its speed, the floor the rest.
TEST(Sliding, AThrownBoxLandsAndSlides) {
  constexpr double kMu = 0.3, kHeight = 0.1, kSpeed = 2;
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.3}]
shapes: [{type: half_space, name: floor}]
bodies:
  - name: box
    position: [0, 0, 0.125]
    joint: {type: free, initial_velocity: [2, 0, 0, 0, 0, 0]}
    shape: {type: box, size: [0.2, 0.2, 0.05], mass: 1}
)");
  const double fall = std::sqrt(2 * kHeight / kGravity), after = kSpeed - kMu * kGravity * fall;
  const double distance = kSpeed * fall + after * after / (2 * kMu * kGravity);
  for (const double dt : {0.005, 0.002, 0.001}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(1.5);
    EXPECT_NEAR(run.state.q[0], distance, 0.01 * distance) << "dt " << dt;
    EXPECT_LT(run.state.v.norm(), 1e-4);
    EXPECT_LT(tilt(run, "box"), 1e-4);
  }
}

// A stroke of J at the height h over the middle of a ball: v = J / m, r w = 5/2 (h / r) v. It slides for 2/7
// |v - r w| / (mu g) and rolls on at 5/7 (1 + h / r) v: at h = 2/5 r from the start, faster than that with
// top spin.
TEST(Sliding, StrokesOfACue) {
  constexpr double kMu = 0.2, kRadius = 0.03, kMass = 0.17, kSpeed = 1.5;
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.2}]
shapes: [{type: half_space, name: table}]
bodies:
  - {name: ball, position: [0, 0, 0.03], joint: free, shape: {type: sphere, radius: 0.03, mass: 0.17}}
)");
  for (const double dt : {0.005, 0.001}) {
    for (const double height : {-0.6, -0.2, 0.0, 0.4, 0.7}) {  // of the radius
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.go(0.1);  // it settles
      const double force = kMass * kSpeed / dt;
      run.input.generalized_force.setZero(6);
      run.input.generalized_force[0] = force;
      run.input.generalized_force[4] = force * height * kRadius;
      run.go(dt);
      run.input.generalized_force.setZero();
      const double spin = 2.5 * height * kSpeed, rolling = (kSpeed + spin / 2.5) / 1.4;
      const double slides = std::abs(kSpeed - spin) / (3.5 * kMu * kGravity);
      EXPECT_NEAR(run.state.v[0], kSpeed, 2 * kMu * kGravity * dt) << "dt " << dt << " height " << height;
      if (slides > 4 * dt) {
        run.go(0.5 * slides);
        const double way = spin < kSpeed ? -1 : 1;
        EXPECT_NEAR(run.state.v[0], kSpeed + way * 0.5 * slides * kMu * kGravity, 2 * kMu * kGravity * dt)
            << "dt " << dt << " height " << height;
      }
      run.go(slides + 5 * dt);
      EXPECT_NEAR(run.state.v[0], rolling, 2e-3 * kSpeed) << "dt " << dt << " height " << height;
      EXPECT_NEAR(run.state.v[4] * kRadius, rolling, 2e-3 * kSpeed);
    }
  }
}

// Braked with twice the moment that friction can hold, a solid wheel slides: v falls by mu g, r w by 2 mu g.
// Released, r w grows by 2 mu g until it rolls.
TEST(Sliding, AWheelBrakedTooHardSlidesAndRollsAgain) {
  constexpr double kMu = 0.5, kRadius = 0.3, kMass = 10, kSpeed = 4, kBraked = 0.2;
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.5}]
shapes: [{type: half_space, name: road}]
bodies:
  - name: wheel
    position: [0, 0, 0.3]
    rpy_deg: [90, 0, 0]
    joint: {type: free, initial_velocity: [4, 0, 0, 0, 13.3333333333, 0]}
    shape: {type: cylinder, radius: 0.3, length: 0.1, mass: 10}
)");
  for (const double dt : {0.005, 0.001}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const double rate = kMu * kGravity, slack = 2 * rate * dt;
    run.input.generalized_force.setZero(6);
    run.input.generalized_force[4] = -2 * kMu * kMass * kGravity * kRadius;
    run.go(kBraked);
    const double v = kSpeed - rate * kBraked, rim = kSpeed - 2 * rate * kBraked;
    EXPECT_NEAR(run.state.v[0], v, slack) << "dt " << dt;
    EXPECT_NEAR(run.state.v[4] * kRadius, rim, 2 * slack) << "dt " << dt;
    run.input.generalized_force.setZero();
    run.go((v - rim) / (3 * rate) + 5 * dt);
    const double rolling = v - (v - rim) / 3;
    EXPECT_NEAR(run.state.v[0], rolling, slack) << "dt " << dt;
    EXPECT_NEAR(run.state.v[4] * kRadius, run.state.v[0], 1e-3) << "dt " << dt;
  }
}

// While the slab slides under the stack, it carries that along by mu g t^2 / 2; then the stack stands on the
// floor, 2 mm lower.
TEST(Sliding, ASlabIsPulledFromUnderAStack) {
  constexpr double kMu = 0.3, kPull = 4;
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.3}]
shapes: [{type: half_space, name: floor, position: [0, 0, -0.002]}]
bodies:
  - name: slab
    position: [0.3, 0, -0.001]
    joint: {type: prismatic, axis: [1, 0, 0], initial_velocity: 4}
    shape: {type: box, size: [0.8, 0.3, 0.00199], mass: 1e4}
  - {name: lower, position: [0, 0, 0.05], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: upper, position: [0, 0, 0.15], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
)");
  for (const double dt : {0.005, 0.001}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const int lower = run.model.objects[run.model.links[run.model.find_body("lower")].object].q_begin;
    const int upper = run.model.objects[run.model.links[run.model.find_body("upper")].object].q_begin;
    const double under = 0.01;  // the slab's end is still 10 mm before the stack
    run.go(under);
    const double moved = 0.5 * kMu * kGravity * under * under;
    EXPECT_NEAR(run.state.q[lower], moved, kMu * kGravity * under * dt) << "dt " << dt;
    EXPECT_NEAR(run.state.q[upper], run.state.q[lower], 1e-4);
    run.go(1);
    // It leaves them between the times at which its end passes their one side and the other.
    const double last = 0.15 / kPull;
    EXPECT_LT(run.state.q[lower], 1.5 * kMu * kGravity * last * last) << "dt " << dt;
    EXPECT_NEAR(run.state.q[lower + 2], 0.048, 2e-5) << "dt " << dt;
    EXPECT_NEAR(run.state.q[upper + 2], 0.148, 4e-5) << "dt " << dt;
    EXPECT_NEAR(run.state.q[upper], run.state.q[lower], 2e-3) << "dt " << dt;
    EXPECT_LT(tilt(run, "lower") + tilt(run, "upper"), 1e-3) << "dt " << dt;
  }
}

// Pads that hold a box by friction go apart at once: from that step on it falls freely, neither dragged
// aside nor turned nor held.
TEST(Sliding, AnObjectFallsWhenTheGripOpens) {
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.8}]
bodies:
  - {name: box, position: [0, 0, 1], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 0.5}}
  - name: left
    position: [-0.07, 0, 1]
    joint: {type: prismatic, axis: [1, 0, 0]}
    shape: {type: box, size: [0.04, 0.06, 0.06], mass: 0.2}
  - name: right
    position: [0.07, 0, 1]
    joint: {type: prismatic, axis: [1, 0, 0]}
    shape: {type: box, size: [0.04, 0.06, 0.06], mass: 0.2}
)");
  for (const double dt : {0.01, 0.005, 0.001}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const auto dof = [&](const char* body) {
      return run.model.objects[run.model.links[run.model.find_body(body)].object].dof_begin;
    };
    run.input.generalized_force.setZero(run.model.num_velocities());
    run.input.generalized_force[dof("left")] = 20;
    run.input.generalized_force[dof("right")] = -20;
    run.go(1);
    const int box = dof("box");
    EXPECT_LT(run.state.v.segment<3>(box).norm(), 1e-5) << "dt " << dt;
    run.input.generalized_force *= -1;
    for (int n = 1; n <= 20; ++n) {
      run.go(dt);
      EXPECT_NEAR(run.state.v[box + 2], -kGravity * n * dt, 0.02 * kGravity * dt) << "dt " << dt << " " << n;
      EXPECT_LT(run.state.v.segment<2>(box).norm() + 0.1 * run.state.v.segment<3>(box + 3).norm(), 1e-4);
    }
  }
}

// A ball flies at a wall, spinning: its rim's slip is braked by mu (1 + e) u at most.
TEST(Sliding, ABallWithSpinOffAWall) {
  constexpr double kRadius = 0.05, kE = 0.7, kSpeed = 3, kSpin = 40;
  for (const double mu : {0.1, 1.0}) {
    const Scene scene =
        scene_of("options: {gravity: [0, 0, 0]}\nmaterials: [{name: default, restitution: 0.7, friction: " +
                 std::to_string(mu) + R"(}]
shapes: [{type: half_space, name: wall, rpy_deg: [0, -90, 0]}]
bodies:
  - name: ball
    position: [-0.15, 0, 0]
    joint: {type: free, initial_velocity: [3, 0, 1, 0, 40, 0]}
    shape: {type: sphere, radius: 0.05, mass: 1}
)");
    for (const double dt : {0.01, 0.005, 0.001}) {
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.go(0.1);
      // The point of the ball at the wall goes up at 1 - w r.
      const double slip = 1 - kSpin * kRadius;
      const double change = std::min(mu * (1 + kE) * kSpeed, std::abs(slip) / 3.5);
      EXPECT_NEAR(run.state.v[0], -kE * kSpeed, 2e-3) << "dt " << dt << " mu " << mu;
      EXPECT_NEAR(run.state.v[2], 1 + change, 2e-3) << "dt " << dt << " mu " << mu;
      EXPECT_NEAR(run.state.v[4], kSpin - 2.5 * change / kRadius, 0.1) << "dt " << dt << " mu " << mu;
    }
  }
}

}  // namespace
}  // namespace capstan::sliding_test
