// Bodies that turn while something touches or holds them (dynamics/free_turn.h): tops, gyroscopes,
// collisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/dynamics/free_turn.h"
#include "capstan/math/rotation.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::turns_test {
namespace {

using test::scene_of;
using test::Simulation;

// Its axis is z of the body; its tip is a ball whose centre is 0.002 m up the axis, the centre of mass 0.032.
// It spins about its axis, which is tilted and has no other motion.
constexpr double kTipRadius = 0.002, kArm = 0.03, kTopMass = 0.08, kI1 = 1.9e-5, kI3 = 3.6e-5;
Simulation top(double friction, double tilt, double spin, double dt, ContactLaw law) {
  Scene scene = scene_of(R"(
materials: [{name: m, friction: 0}]
bodies:
  - name: top
    joint: {type: free}
    inertia: {mass: 0.08, com: [0, 0, 0.032], moments: [1.9e-5, 1.9e-5, 3.6e-5]}
    shape: {type: sphere, radius: 0.002, position: [0, 0, 0.002], material: m}
shapes: [{type: plane, material: m}]
)");
  scene.materials[0].friction = friction;
  const double s = std::sin(tilt), c = std::cos(tilt);
  // Turned about the centre of its tip.
  Simulation run(scene, dt, law);
  run.state.q << 0, kTipRadius * s, kTipRadius * (1 - c), std::cos(tilt / 2), std::sin(tilt / 2), 0, 0;
  run.state.v << 0, 0, 0, 0, -spin * s, spin * c;
  return run;
}

double tilt_of(const Simulation& run) {
  const Mat3 R = rotation_matrix(run.state.q.segment<4>(3));
  return std::acos(std::clamp(R(2, 2), -1.0, 1.0));
}

// On ice the centre of mass goes up and down only, and the moment of the floor about it is horizontal and
// across the axis: L3 = I3 w and Lz stay. A top let go at a tilt a nods to the tilt b where
//
//   (Lz - L3 cos b)^2 / (2 I1 sin^2 b) = m g l (cos a - cos b)
double nod(double a, double spin) {
  const double L3 = kI3 * spin, Lz = L3 * std::cos(a);
  double low = a + 1e-6, high = a + 0.5;
  for (int i = 0; i < 100; ++i) {
    const double b = (low + high) / 2, rest = Lz - L3 * std::cos(b);
    const double left = rest * rest / (2 * kI1 * std::sin(b) * std::sin(b));
    (left < kTopMass * test::kGravity * kArm * (std::cos(a) - std::cos(b)) ? low : high) = b;
  }
  return low;
}

TEST(Turns, ATopOnIceNodsAsItShould) {
  const double tilt = 20 * std::numbers::pi / 180, spin = 120, lowest = nod(tilt, spin);
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::sap}) {
    for (const double dt : {0.0005, 0.001, 0.002}) {
      Simulation run = top(0, tilt, spin, dt, law);
      const Mechanics before = calc_mechanics(run.model, run.state);
      double least = 10, most = 0;
      for (int i = 0; i < std::lround(3 / dt); ++i) {
        run.go(dt);
        least = std::min(least, tilt_of(run));
        most = std::max(most, tilt_of(run));
      }
      const Mechanics after = calc_mechanics(run.model, run.state);
      EXPECT_NEAR(most - tilt, lowest - tilt, 0.1 * (lowest - tilt)) << dt;
      EXPECT_NEAR(least, tilt, 0.1 * (lowest - tilt)) << dt;
      EXPECT_NEAR(after.momentum[2], before.momentum[2], 1e-10 * before.momentum[2]);
      EXPECT_NEAR(after.total(), before.total(), 1e-3 * before.total()) << dt;
    }
  }
}

// At 5 ms it turns by 0.6 rad in a step and nods once in 6 of them: no more than that it stands is asked. Its
// turn is taken again where the answer leads, so that momentum is balanced to the tolerance of the last
// solve.
TEST(Turns, ATopOnIceStandsWithLongSteps) {
  const double tilt = 20 * std::numbers::pi / 180;
  Simulation run = top(0, tilt, 120, 0.005, ContactLaw::coulomb);
  const Mechanics before = calc_mechanics(run.model, run.state);
  for (int i = 0; i < 600; ++i) {
    run.go(0.005);
    ASSERT_NEAR(tilt_of(run), tilt, 2 * (nod(tilt, 120) - tilt)) << i;
  }
  const Mechanics after = calc_mechanics(run.model, run.state);
  EXPECT_NEAR(after.momentum[2], before.momentum[2], 1e-5 * before.momentum[2]);
  EXPECT_NEAR(after.total(), before.total(), 0.01 * before.total());
}

// However fast it spins: by up to 1 rad in a step, and it nods by up to 1.9.
TEST(Turns, AFastTopStandsWithLongSteps) {
  for (const double friction : {0.0, 0.3}) {
    for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
      for (const double spin : {80.0, 100.0}) {
        Simulation run = top(friction, 0.35, spin, dt, ContactLaw::coulomb);
        const Mechanics before = calc_mechanics(run.model, run.state);
        double deepest = 0;
        for (int i = 0; i < std::lround(5 / dt); ++i) {
          run.go(dt);
          const Mat3 R = rotation_matrix(run.state.q.segment<4>(3));
          deepest = std::max(deepest, -(run.state.q[2] + kTipRadius * R(2, 2) - kTipRadius));
        }
        EXPECT_LT(deepest, 5e-5) << friction << " " << dt << " " << spin;
        EXPECT_NEAR(calc_mechanics(run.model, run.state).total(), before.total(), 0.03 * before.total())
            << friction << " " << dt << " " << spin;
      }
    }
  }
}

// A free body of revolution, in a thousand radians a second: its momentum stays, its axis goes round L at
// L / I_across and it spins about its axis, which is told in closed form.
TEST(Turns, ASpinIsExactHoweverFast) {
  const Scene scene = scene_of(R"(
options: {gravity: [0, 0, 0]}
bodies:
  - name: wheel
    joint: {type: free, initial_velocity: [0, 0, 0, 5, 0, 1000]}
    inertia: {mass: 1, com: [0, 0, 0.1], moments: [2e-3, 2e-3, 3e-3]}
    shape: {type: cylinder, radius: 0.08, length: 0.05, position: [0, 0, 0.1]}
)");
  Simulation run(scene, 0.01, ContactLaw::coulomb);
  const Vec3 L(5 * 2e-3, 0, 1000 * 3e-3), e(0, 0, 1);
  const double spin = (1 - 1.5) * 1000;
  for (int i = 1; i <= 100; ++i) {
    run.go(0.01);
    const Mat3 R = rotation_matrix(run.state.q.segment<4>(3));
    const Mat3 exact =
        rotation_matrix(quat_exp(0.01 * i * L / 2e-3)) * rotation_matrix(quat_exp(0.01 * i * spin * e));
    ASSERT_LT((R - exact).norm(), 1e-9) << i;
  }
}

// A leaning disc that spins about the vertical and falls over on ice: its rim comes down elsewhere in each
// step, with a contact where it will be. Where such a contact sees the spin as opening, it sinks by 36 mm.
TEST(Turns, ALeaningDiscThatSpinsDoesNotSink) {
  for (const double spin : {40.0, 60.0}) {
    for (const double dt : {0.002, 0.005, 0.01}) {
      Scene scene = scene_of(R"(
materials: [{name: m, friction: 0}]
shapes: [{type: plane, material: m}]
bodies:
  - name: disc
    pose: {position: [0, 0, 0.0917], rpy_deg: [60, 0, 0]}
    joint: {type: free}
    shape: {type: cylinder, radius: 0.1, length: 0.02, mass: 1, material: m}
)");
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.state.v << 0, 0, 0, 0, 0, spin;
      double deepest = 0;
      for (int i = 0; i < std::lround(2 / dt); ++i) {
        run.go(dt);
        deepest = std::max(deepest, run.report.deepest);
      }
      EXPECT_LT(deepest, 1e-3) << spin << " " << dt;
    }
  }
}

// A gyroscope in a frame that stands on its tip. Its wheel is a link of its own, so that the frame does not
// spin: m g l / (I w) = 3.99 rad/s, nearly so while it nods after it was let go. Balanced where the free
// motion leads it fell over at 2 ms.
TEST(Turns, AGyroscopeInAFrameStandsOnItsTip) {
  const Scene scene = scene_of(R"(
materials: [{name: default, friction: 0.8}]
shapes: [{type: plane}]
bodies:
  - name: frame
    position: [0, 0, 0.1096]
    axis: [1, 0, 0]
    angle_deg: 20
    joint: {type: free}
    shapes:
      - {type: sphere, radius: 0.01, position: [0, 0, -0.106], mass: 0.02}
      - {type: box, size: [0.01, 0.01, 0.1], position: [0, 0, -0.05], mass: 0.02, collides: false}
    children:
      - name: wheel
        joint: {type: revolute, axis: [0, 0, 1], initial_velocity: 150}
        shape: {type: cylinder, radius: 0.06, length: 0.02, mass: 0.3, collides: false}
)");
  for (const double dt : {0.001, 0.002, 0.005}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    double around = 0, before = -1.5707963;
    for (int i = 0; i < std::lround(3 / dt); ++i) {
      run.go(dt);
      const Vec3 axis = rotation_matrix(run.state.q.segment<4>(3)).col(2);
      const double tilt = std::acos(axis.z()) * 180 / std::numbers::pi, at = std::atan2(axis.y(), axis.x());
      ASSERT_GT(tilt, 17) << dt << " " << i * dt;
      ASSERT_LT(tilt, 27) << dt << " " << i * dt;
      around += std::remainder(at - before, 2 * std::numbers::pi);
      before = at;
    }
    std::printf("dt %g: goes round at %.3f rad/s\n", dt, around / 3);
    EXPECT_NEAR(around / 3, 3.99, 0.2) << dt;
  }
}

// Two that are alike move as one alone does.
TEST(Turns, TwinsTurnAsOneAlone) {
  const std::string hammer = R"(
    joint: {type: free, initial_velocity: [0, 0, 0, 3, 12, 5]}
    inertia: {mass: 0.5, com: [0.1, 0.02, 0.03], moments: [1e-3, 3e-3, 3.5e-3]}
    shape: {type: box, size: [0.3, 0.05, 0.05], position: [0.1, 0, 0]}
)";
  const std::string first = "options: {gravity: [0, 0, 0]}\nbodies:\n  - name: a" + hammer;
  Simulation one(scene_of(first), 0.005, ContactLaw::coulomb);
  Simulation two(scene_of(first + "  - name: b\n    position: [9, 0, 0]" + hammer), 0.005,
                 ContactLaw::coulomb);
  one.go(2);
  two.go(2);
  EXPECT_LT((one.state.q - two.state.q.head(one.state.q.size())).norm(), 1e-12);
  EXPECT_LT((one.state.v - two.state.v.head(one.state.v.size())).norm(), 1e-12);
}

// A top that sleeps: upright, above the spin at which it is stable.
TEST(Turns, ATopOnAFloorThatHoldsItStands) {
  for (const double dt : {0.001, 0.002, 0.005}) {
    Simulation run = top(0.8, 0.02, 120, dt, ContactLaw::coulomb);
    for (int i = 0; i < std::lround(3 / dt); ++i) {
      run.go(dt);
      ASSERT_LT(tilt_of(run), 0.05) << dt;
    }
  }
}

// Uneven bodies that spin and hit each other off their centres, with friction: impulses are equal and
// opposite on one line, so that the momentum of both about any point stays.
TEST(Turns, CollisionsKeepAngularMomentum) {
  const Scene scene = scene_of(R"(
options: {gravity: [0, 0, 0]}
bodies:
  - name: a
    position: [-0.3, 0.02, 0.01]
    joint: {type: free, initial_velocity: [1.5, 0, 0, 3, -9, 14]}
    shape: {type: box, size: [0.2, 0.1, 0.05], mass: 1}
  - name: b
    position: [0.3, 0, 0]
    joint: {type: free, initial_velocity: [-1, 0.2, 0, -12, 6, 2]}
    inertia: {mass: 0.7, com: [0.02, 0.01, -0.01], moments: [2e-3, 3e-3, 4e-3]}
    shape: {type: cylinder, radius: 0.08, length: 0.15}
)");
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::sap}) {
    for (const double dt : {0.002, 0.01}) {
      Simulation run(scene, dt, law);
      const Vec6 before = calc_mechanics(run.model, run.state).momentum;
      const Vec3 spin = run.state.v.segment<3>(3);
      run.go(1);
      EXPECT_GT((run.state.v.segment<3>(3) - spin).norm(), 1) << "they should have met";
      const Vec6 after = calc_mechanics(run.model, run.state).momentum;
      EXPECT_LT((after.head<3>() - before.head<3>()).norm(), 1e-12) << dt;
      EXPECT_LT((after.tail<3>() - before.tail<3>()).norm(), 1e-12) << dt;
    }
  }
}

// A wheel on a level arm that a ball constraint holds at its end goes round at W = m g l / (I3 w) exactly.
TEST(Turns, AHeldGyroscopeGoesRound) {
  const double mass = 0.5, arm = 0.075, spin = 150, W = mass * test::kGravity * arm / (7.5e-4 * spin);
  Scene scene = scene_of(R"(
bodies:
  - name: rotor
    position: [0, 0, 0.5]
    joint: {type: free, initial_velocity: [0, 0, 0, 150, 0, 0]}
    inertia: {mass: 0.5, com: [0.075, 0, 0], moments: [7.5e-4, 4e-4, 4e-4]}
constraints: [{type: ball, body_a: rotor, point_a: [0, 0, 0], body_b: world, point_b: [0, 0, 0.5]}]
)");
  const double tolerance[] = {0.002, 0.005,
                              0.02};  // of W: the error is of second order in w dt, 0.15 to 0.75
  int at = 0;
  for (const double dt : {0.001, 0.002, 0.005}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.state.v[5] = W;
    const Mechanics before = calc_mechanics(run.model, run.state);
    double angle = 0, last = 0;
    for (int i = 0; i < std::lround(4 / dt); ++i) {
      run.go(dt);
      const Mat3 R = rotation_matrix(run.state.q.segment<4>(3));
      const double now = std::atan2(R(1, 0), R(0, 0));
      angle += std::remainder(now - last, 2 * std::numbers::pi);
      last = now;
      ASSERT_LT(std::abs(R(2, 0)), 0.02) << "the arm stays level";
    }
    const Mechanics after = calc_mechanics(run.model, run.state);
    EXPECT_NEAR(angle / (4 * W), 1, tolerance[at++]) << dt;
    EXPECT_NEAR(after.total(), before.total(), 5e-4 * before.total()) << dt;
    EXPECT_NEAR(after.momentum[2], before.momentum[2], 0.05 * before.momentum[2]) << dt;
  }
}

// A parallelogram goes through poses in which all its bars are in line and it could fold: there the ways of
// an answer tell nothing, and its energy stays.
TEST(Turns, AParallelogramGoesThroughItsFoldedPoses) {
  const Scene scene = scene_of(R"(
options: {gravity: [0, 0, 0]}
bodies:
  - name: crank
    joint: {type: revolute, axis: [0, 1, 0], initial: 0.3, initial_velocity: 3}
    shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.1], mass: 0.1, collides: false}
    children:
      - name: coupler
        position: [0, 0, 0.1]
        joint: {type: revolute, axis: [0, 1, 0], initial: -0.3, initial_velocity: -3}
        shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.3, 0, 0], mass: 0.3, collides: false}
  - name: rocker
    position: [0.3, 0, 0]
    joint: {type: revolute, axis: [0, 1, 0], initial: 0.3, initial_velocity: 3}
    shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.1], mass: 0.1, collides: false}
constraints:
  - {type: ball, body_a: coupler, point_a: [0.3, 0, 0], body_b: rocker, point_b: [0, 0, 0.1]}
)");
  for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const double before = calc_mechanics(run.model, run.state).total();
    run.go(10);
    EXPECT_NEAR(calc_mechanics(run.model, run.state).total(), before, 1e-3 * before) << dt;
    EXPECT_NEAR(std::remainder(run.state.q[0] - run.state.q[2], 2 * std::numbers::pi), 0, 1e-3) << dt;
  }
}

// The mean of a turn against the turn itself, in a thousand steps of Euler's equations: third order.
TEST(Turns, TheMeanTurnIsThatOfEulersEquations) {
  const Mat3 I = Vec3(2, 3, 4.5).asDiagonal();
  const Vec3 L = I * Vec3(1.5, -2, 3);
  const auto error = [&](double dt) {
    constexpr int n = 2000;
    Mat3 R = Mat3::Identity();
    const auto rate = [&](const Mat3& at) { return Vec3(at * (I.inverse() * (at.transpose() * L))); };
    for (int i = 0; i < n; ++i) {
      const Vec3 half = rate(rotation_matrix(quat_exp(dt / n / 2 * rate(R))) * R);
      R = rotation_matrix(quat_exp(dt / n * half)) * R;
    }
    Vec3 g;
    const Vec3 w = calc_mean_turn(I, {}, L, dt, &g);
    EXPECT_LT((w - g - I.inverse() * L).norm(), 1e-14);
    return (rotation_matrix(quat_exp(dt * w)) - R).norm();
  };
  const double coarse = error(0.1), fine = error(0.05);
  EXPECT_LT(coarse, 0.02);
  EXPECT_NEAR(std::log2(coarse / fine), 3, 0.2);
}

// A disc that rolls in a circle sticks: its slip is that of the step, not of the velocities after it.
TEST(Turns, WhatRollsIsToldToStick) {
  for (const double dt : {0.001, 0.005}) {
    Simulation run(scene_of(R"(
materials: [{name: default, friction: 0.5}]
shapes: [{type: plane}]
bodies:
  - name: disc
    pose: {position: [0, 0, 0.0971], rpy_deg: [70, 0, 0]}
    joint: {type: free, initial_velocity: [0.9, 0, 0, 0, 3, 8]}
    shape: {type: cylinder, radius: 0.1, length: 0.02, mass: 1}
)"),
                   dt, ContactLaw::coulomb);
    run.go(0.3);  // it has stopped slipping
    std::vector<ContactForce> forces;
    int pushing = 0, sliding = 0;
    for (double t = 0; t < 0.4; t += dt) {
      run.go(dt);
      calc_contact_forces(run.workspace, &forces);
      for (const ContactForce& f : forces) {
        if (!(f.normal_force > 0)) continue;
        ++pushing;
        sliding += f.region == ContactRegion::sliding && f.friction_W.norm() < 0.45 * f.normal_force;
      }
    }
    EXPECT_GT(pushing, 0.3 / dt);
    EXPECT_EQ(sliding, 0) << dt;
  }
}

}  // namespace
}  // namespace capstan::turns_test
