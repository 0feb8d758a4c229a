// Restitution: impacts are left at e times the speed they came with, at any time step and stiffness.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::bounce_test {
namespace {

using namespace test;

Scene ball_above_floor(double e, double height, double stiffness) {
  Scene scene;
  Material m;
  m.name = "default";
  m.restitution = e;
  m.stiffness = stiffness;
  scene.materials = {m};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.05}, 1)};
  scene.bodies = {free_body("ball", {0, 0, 0.05 + height})};
  return scene;
}

double rebound(const Scene& scene, double dt, ContactLaw law, Integrator integrator) {
  Simulation run(scene, dt, law);
  run.options.integrator = integrator;
  double highest = 0;
  bool is_up = false;
  while (run.state.time < 1.1) {
    run.go(dt);
    is_up = is_up || run.state.v[2] > 0.5;
    if (is_up) highest = std::max(highest, run.state.q[2] - 0.05);
  }
  return highest;
}

// From heights that put the touch anywhere in a step. What is left of the error is the top of the parabola,
// which lies between two steps: g dt^2/8.
TEST(Bounce, ABallReboundsToTheSquare) {
  for (const double stiffness : {1e4, 1e6, 1e8}) {
    for (const double dt : {0.01, 0.005, 0.002, 0.0005}) {
      double worst = 0;
      for (int k = 0; k < 8; ++k) {
        const double e = k % 2 ? 0.8 : 0.5, height = 1 + 0.011 * k;
        for (const ContactLaw law : {ContactLaw::regularized_lagged, ContactLaw::sap}) {
          const double top =
              rebound(ball_above_floor(e, height, stiffness), dt, law, Integrator::semi_implicit);
          worst = std::max(worst, std::abs(top / (e * e * height) - 1));
        }
      }
      std::printf("stiffness %g N/m, dt %g s: rebound off by %.2e of its height at most\n", stiffness, dt,
                  worst);
      EXPECT_LE(worst, 1e-3) << "dt " << dt << " k " << stiffness;
    }
  }
}

// The parabolas through two positions before a bounce and two after it cross on the floor: the ball turns
// back there, not up to a step early in the air.
TEST(Bounce, TurnsBackOnTheFloor) {
  for (const double dt : {0.01, 0.002}) {
    for (const Integrator integrator : {Integrator::semi_implicit, Integrator::midpoint}) {
      Simulation run(ball_above_floor(0.8, 1, 1e6), dt, ContactLaw::coulomb);
      run.options.integrator = integrator;
      std::vector<double> z;
      while (run.state.time < 2) {
        z.push_back(run.state.q[2] - 0.05);
        run.go(dt);
      }
      int bounces = 0;
      const auto bends = [&](std::size_t i) {
        return std::abs(z[i - 1] - 2 * z[i] + z[i + 1] + kGravity * dt * dt) > 1e-9;
      };
      for (std::size_t i = 2; i + 3 < z.size(); ++i) {
        if (bends(i - 1) || !bends(i) || !bends(i + 1) || bends(i + 2)) continue;
        const double down = (z[i] - z[i - 1]) / dt - kGravity * dt / 2;  // speeds at i and i + 1
        const double up = (z[i + 2] - z[i + 1]) / dt + kGravity * dt / 2;
        ++bounces;
        // z_i + down t - g t^2/2 = z_(i+1) + up (t - dt) - g (t - dt)^2/2, linear in t
        const double t = (z[i] - z[i + 1] + up * dt + kGravity * dt * dt / 2) / (up - down + kGravity * dt);
        EXPECT_NEAR(z[i] + down * t - kGravity * t * t / 2, 0, 1e-4) << integrator_name(integrator) << dt;
      }
      EXPECT_EQ(bounces, 3);
    }
  }
}

TEST(Bounce, WithEveryIntegrator) {
  for (const Integrator integrator :
       {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
    for (const double dt : {0.01, 0.002}) {
      const double top =
          rebound(ball_above_floor(0.8, 1, 1e6), dt, ContactLaw::regularized_lagged, integrator);
      EXPECT_NEAR(top, 0.64, 2e-3) << integrator_name(integrator) << " dt " << dt;
    }
  }
}

// e = 1: ten bounces lose nothing, and make nothing.
TEST(Bounce, NothingIsLostAtOne) {
  for (const double dt : {0.01, 0.001}) {
    Simulation run(ball_above_floor(1, 0.5, 1e6), dt, ContactLaw::regularized_lagged);
    const double first = 0.5;
    double last = 0, highest = 0;
    while (run.state.time < 8) {
      run.go(dt);
      highest = std::max(highest, run.state.q[2] - 0.05);
      if (run.state.time > 7) last = std::max(last, run.state.q[2] - 0.05);
    }
    EXPECT_NEAR(last, first, 1e-2 * first) << dt;
    EXPECT_LE(highest, first * 1.001) << dt;
  }
}

// One, two or three balls come in, as many go out, whether they touch at rest or have gaps.
TEST(Bounce, NewtonsCradle) {
  for (const double gap : {0.0, 1e-6, 1e-4, 1e-3}) {
    for (const int num_coming : {1, 2, 3}) {
      for (const double dt : {0.01, 0.005, 0.001}) {
        Scene scene;
        Material m;
        m.name = "default";
        m.restitution = 1;
        m.friction = 0;
        scene.materials = {m};
        constexpr int kBalls = 5;
        constexpr double kRadius = 0.02, kLength = 0.3;
        for (int i = 0; i < kBalls; ++i) {
          Body body = free_body("ball" + std::to_string(i), {i * (2 * kRadius + gap), 0, 0});
          body.joints[0].type = JointType::revolute;
          body.joints[0].axis = Vec3(0, 1, 0);
          scene.bodies.push_back(body);
          scene.shapes.push_back(make_shape(body.name, body.name, Sphere{kRadius}, 0.1));
          scene.shapes.back().pose.position = Vec3(0, 0, -kLength);
          if (i < num_coming) scene.initial.q[body.name] = {0.3};
        }
        Simulation run(scene, dt, ContactLaw::regularized_lagged);
        const double energy = calc_mechanics(run.model, run.state).total();
        VecX most = VecX::Zero(kBalls);
        while (run.state.time < 0.8) {
          run.go(dt);
          most = most.cwiseMax(-run.state.q);
          // That of pendulums swings by some part of dt with this scheme.
          const double swing = num_coming * 0.1 * kGravity * kLength * (1 - std::cos(0.3));
          EXPECT_LE(calc_mechanics(run.model, run.state).total(), energy + 5 * dt * swing);
        }
        for (int i = 0; i < kBalls; ++i) {
          const double expected = i >= kBalls - num_coming ? 0.3 : 0;
          EXPECT_NEAR(most[i], expected, 0.02)
              << "ball " << i << " of " << num_coming << ", gap " << gap << ", dt " << dt;
        }
      }
    }
  }
}

// Of free bodies, of 1 kg each: with the velocities of the parabolas through their positions (semi-implicit).
double true_energy(const Simulation& run) {
  State state = run.state;
  for (int k = 2; k < state.v.size(); k += 6) state.v[k] -= 0.5 * kGravity * run.options.dt;
  return calc_mechanics(run.model, state).total();
}

// Spinning and thrown boxes that hit each other and the floor, with and without friction. Without, boxes spin
// on at 20 rad/s, whose energy the integrator itself changes by some 0.1 % in a step of 10 ms.
TEST(Bounce, EnergyNeverGrows) {
  for (const double dt : {0.01, 0.002}) {
    for (const double mu : {0.0, 0.3, 1.0}) {
      for (const double e : {0.5, 0.9, 1.0}) {
        Scene scene;
        Material m;
        m.name = "default";
        m.restitution = e;
        m.friction = mu;
        scene.materials = {m};
        scene.shapes = {make_shape("floor", kWorld, HalfSpace{})};
        for (int i = 0; i < 6; ++i) {
          const std::string name = "box" + std::to_string(i);
          scene.bodies.push_back(free_body(name, {0.02 * i, 0.01 * i, 0.3 + 0.25 * i}));
          scene.bodies.back().pose.quat_wxyz = Vec4(1, 0.3 * i, -0.2 * i, 0.1).normalized();
          scene.shapes.push_back(make_shape(name, name, Box{Vec3(0.05, 0.08, 0.1)}, 1));
          scene.initial.v[name] = {1, 0.5, -1, 5.0 * i, -3, 8};
        }
        Simulation run(scene, dt, ContactLaw::regularized_lagged);
        const double start = true_energy(run);
        double energy = start, growth = 0, highest = start;
        int rounds = 0;
        while (run.state.time < 2) {
          run.go(dt);
          rounds += run.report.bounce_rounds;
          const double next = true_energy(run);
          growth = std::max(growth, (next - energy) / start);
          highest = std::max(highest, energy = next);
        }
        // What turns freely swings in energy by (w dt)^2 (dynamics/lone_turn.h), also while nothing bounces.
        EXPECT_LE(growth, mu > 0 ? 1e-3 : 2 * dt) << "dt " << dt << " mu " << mu << " e " << e;
        EXPECT_LE(highest, start * 1.01);
        EXPECT_GE(rounds, 10);
        if (e < 1) {
          EXPECT_LE(energy, 0.8 * start);
        }
      }
    }
  }
}

// Two balls in space: velocities of the textbook, and the log has the whole impulse.
TEST(Bounce, TwoBallsMeet) {
  for (const double dt : {0.01, 0.001}) {
    for (const double e : {0.3, 1.0}) {
      Scene scene;
      Material m;
      m.name = "default";
      m.restitution = e;
      scene.materials = {m};
      scene.options.gravity.setZero();
      scene.bodies = {free_body("a", {0, 0, 0}), free_body("b", {0.5, 0, 0})};
      scene.shapes = {make_shape("a", "a", Sphere{0.05}, 2), make_shape("b", "b", Sphere{0.08}, 0.5)};
      scene.initial.v["a"] = {3, 0, 0, 0, 0, 0};
      scene.initial.v["b"] = {-1, 0, 0, 0, 0, 0};
      Simulation run(scene, dt, ContactLaw::regularized_lagged);
      std::vector<ContactForce> forces;
      double impulse = 0;
      while (run.state.time < 0.2) {
        run.go(dt);
        calc_contact_forces(run.workspace, &forces);
        for (const ContactForce& f : forces) impulse += f.normal_force * dt;
      }
      const double expected = (1 + e) * 4 / (1 / 2.0 + 1 / 0.5);
      EXPECT_NEAR(run.state.v[0], 3 - expected / 2, 1e-3) << dt;
      EXPECT_NEAR(run.state.v[6], -1 + expected / 0.5, 1e-3) << dt;
      EXPECT_NEAR(impulse, expected, 1e-3 * expected);
    }
  }
}

// Balls in space turn back where they touch, whenever in a step that is, and impacts of one step come in
// their order: the first ball stops where it meets the second, that one 2 mm farther, where it meets the
// third.
TEST(Bounce, BodiesTurnBackWhereTheyTouch) {
  for (const double dt : {0.01, 0.005, 0.001}) {
    for (const double way : {0.4, 0.404, 0.411, 0.423}) {
      Scene scene;
      Material m;
      m.name = "default";
      m.restitution = 1;
      scene.materials = {m};
      scene.options.gravity.setZero();
      const double x[] = {0, way + 0.1, way + 0.202};
      for (int i = 0; i < 3; ++i) {
        const std::string name = std::string("ball") + std::to_string(i);
        scene.bodies.push_back(free_body(name, {x[i], 0, 0}));
        scene.shapes.push_back(make_shape(name, name, Sphere{0.05}, 1));
      }
      scene.initial.v["ball0"] = {3, 0, 0, 0, 0, 0};
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.go(0.2);
      EXPECT_NEAR(run.state.q[0], way, 1e-5) << dt;
      EXPECT_NEAR(run.state.q[7], x[1] + 0.002, 1e-5) << dt;
      EXPECT_NEAR(run.state.q[14], x[2] + 3 * run.state.time - way - 0.002, 1e-5) << dt;
    }
  }
}

// Without friction a ball that hits a ball, or the middle of a box's face, askew spins nothing, and the pair
// keeps its angular momentum. (A stranger's scenes: the struck body got its impulse where the ball was before
// it got there.)
TEST(Bounce, HitsAtAnAngleSpinNothing) {
  const char* const ball = "{type: sphere, radius: 0.03, mass: 0.17}";
  const char* const box = "{type: box, size: [0.1, 0.2, 0.2], mass: 1}";
  const auto run_to_end = [&](const char* target, const char* from, const char* velocity, double dt) {
    Simulation run(scene_of(fmt::format(R"(
options: {{gravity: [0, 0, 0]}}
materials: [{{name: default, friction: 0, restitution: 1}}]
bodies:
  - {{name: cue, position: {}, joint: {{type: free, initial_velocity: {}}}, shape: {}}}
  - {{name: target, joint: free, shape: {}}}
)",
                                        from, velocity, ball, target)),
                   dt, ContactLaw::coulomb);
    const auto spin = [&] { return Vec3(calc_mechanics(run.model, run.state).momentum.head<3>()); };
    const Vec3 before = spin();
    run.go(0.3);
    ASSERT_GT(run.state.v[6], 0.5);
    EXPECT_LT(run.state.v.segment<3>(9).norm(), 1e-3) << target << dt;
    EXPECT_LT((spin() - before).norm(), 1e-5 * before.norm()) << target << dt;
  };
  for (const double dt : {0.001, 0.005, 0.01}) {
    run_to_end(ball, "[-0.2137, 0.03, 0]", "[2, 0, 0, 0, 0, 0]", dt);
    run_to_end(box, "[-0.4, -0.2, 0]", "[2, 1.25, 0, 0, 0, 0]", dt);  // the middle of its face
  }
}

// Two boxes that turn and meet at an edge. (A stranger's: they lost up to 27 % of their angular momentum at 5
// ms.) What is left is how well the moment of the touch is known.
TEST(Bounce, BoxesKeepTheirAngularMomentum) {
  for (const double dt : {0.001, 0.005}) {
    Simulation run(scene_of(R"(
options: {gravity: [0, 0, 0]}
materials: [{name: default, friction: 0, restitution: 1}]
bodies:
  - name: a
    pose: {position: [-0.3, -0.0048, 0.006], rpy_deg: [76.4, -6.2, 1.4]}
    joint: {type: free, initial_velocity: [2, 0.052, -0.189, 0.191, 2.078, 4.688]}
    shape: {type: box, size: [0.1, 0.15, 0.2], mass: 1}
  - name: b
    pose: {position: [0.3, -0.0406, -0.0197], rpy_deg: [-73.7, 55.7, 34.8]}
    joint: {type: free, initial_velocity: [-2, -0.275, 0.289, 7.436, 2.463, 1.849]}
    shape: {type: box, size: [0.1, 0.15, 0.2], mass: 1}
)"),
                   dt, ContactLaw::coulomb);
    const auto mechanics = [&] { return calc_mechanics(run.model, run.state); };
    const Mechanics before = mechanics();
    run.go(0.5);
    ASSERT_LT(run.state.v[0], 0);
    EXPECT_LT((mechanics().momentum - before.momentum).norm(), 5e-3 * before.momentum.norm()) << dt;
    EXPECT_NEAR(mechanics().total(), before.total(), 2e-3 * before.total()) << dt;
  }
}

// A capsule and a box that turn and bounce about in a room without friction. (A stranger's: the capsule
// gained 42 % in 6 s at 5 ms.)
TEST(Bounce, WhatTurnsKeepsItsEnergy) {
  for (const char* shape :
       {"type: capsule, radius: 0.05, length: 0.15", "type: box, size: [0.1, 0.16, 0.2]"}) {
    for (const double dt : {0.001, 0.005}) {
      Simulation run(scene_of(fmt::format(R"(
options: {{gravity: [0, 0, 0]}}
materials: [{{name: default, friction: 0, restitution: 1}}]
shapes:
  - {{type: plane, position: [0.5, 0, 0], z_axis: [-1, 0, 0]}}
  - {{type: plane, position: [-0.5, 0, 0], z_axis: [1, 0, 0]}}
  - {{type: plane, position: [0, 0.5, 0], z_axis: [0, -1, 0]}}
  - {{type: plane, position: [0, -0.5, 0], z_axis: [0, 1, 0]}}
  - {{type: plane, position: [0, 0, 0.5], z_axis: [0, 0, -1]}}
  - {{type: plane, position: [0, 0, -0.5], z_axis: [0, 0, 1]}}
bodies:
  - name: body
    pose: {{position: [-0.25, -0.25, -0.25], rpy_deg: [22, 44, 53]}}
    joint: {{type: free, initial_velocity: [2.7, 1.4, 2.5, -7.5, -0.6, 7.1]}}
    shape: {{{}, mass: 1}}
)",
                                          shape)),
                     dt, ContactLaw::coulomb);
      const double before = calc_mechanics(run.model, run.state).total();
      run.go(3);
      const double after = calc_mechanics(run.model, run.state).total();
      EXPECT_NEAR(after / before, 1, dt == 0.001 ? 0.01 : 0.05) << shape << ", " << dt;
    }
  }
}

// A ball with backspin: friction of the impact is mu (1 + e) v_n while it slides, and no more than what makes
// it roll.
TEST(Bounce, BackspinOffTheFloor) {
  for (const double dt : {0.01, 0.001}) {
    for (const double mu : {0.1, 1.0}) {
      constexpr double kRadius = 0.05, kE = 0.7, kSpeed = 3, kForward = 2, kSpin = -40;
      Scene scene = ball_above_floor(kE, 0.1, 1e6);
      scene.materials[0].friction = mu;
      scene.options.gravity.setZero();
      scene.initial.v["ball"] = {kForward, 0, -kSpeed, 0, kSpin, 0};
      Simulation run(scene, dt, ContactLaw::regularized_lagged);
      run.go(0.1);
      const double slip = kForward - kSpin * kRadius;                     // at the ground
      const double slides = mu * (1 + kE) * kSpeed, sticks = slip / 3.5;  // change of velocity
      const double change = std::min(slides, sticks);
      EXPECT_NEAR(run.state.v[0], kForward - change, 2e-3) << "dt " << dt << " mu " << mu;
      EXPECT_NEAR(run.state.v[4], kSpin + change * 2.5 / kRadius, 0.1);
      EXPECT_NEAR(run.state.v[2], kE * kSpeed, 2e-3);
    }
  }
}

// Small e: where the ball is higher at the beginning of the step than its rebound will ever be, it must come
// down to the floor and leave it again in the same step, not stop in mid-air (a user's clay ball did).
TEST(Bounce, LittleRestitutionStillReachesTheFloor) {
  for (const double dt : {0.01, 0.005, 0.001}) {
    for (const double e : {0.1, 0.2, 0.3, 0.5}) {
      for (int k = 0; k < 10; ++k) {
        const double height = 1 + 0.0137 * k, u = std::sqrt(2 * kGravity * height);
        if (e * u < 4 * kGravity * dt) continue;  // the hop is a matter of a few steps
        Simulation run(ball_above_floor(e, height, 1e6), dt, ContactLaw::coulomb);
        double top = 0, lowest = 1;
        while (run.state.time < u / kGravity + 2 * e * u / kGravity) {
          run.go(dt);
          const double z = run.state.q[2] - 0.05;
          lowest = std::min(lowest, z);
          if (run.state.time > u / kGravity + dt) top = std::max(top, z);
        }
        EXPECT_NEAR(top, e * e * height, 0.02 * e * e * height + kGravity * dt * dt / 8)
            << "dt " << dt << " e " << e << " height " << height;
        EXPECT_GE(lowest, -5e-5);  // at rest it is 2e-5 deep
      }
    }
  }
}

// Between the impacts of one step and the next nothing is lost with midpoint either.
TEST(Bounce, NothingIsLostAtOneWithMidpoint) {
  for (const double dt : {0.01, 0.001}) {
    const double top = rebound(ball_above_floor(1, 1, 1e6), dt, ContactLaw::coulomb, Integrator::midpoint);
    EXPECT_NEAR(top, 1, 2e-3) << dt;
  }
}

// A ball bounces off a board that lies on the floor as off the floor, whatever the board weighs: what lies on
// something without restitution has it behind itself, and does not fall as free motion has it.
TEST(Bounce, OffABoardThatLiesOnTheFloor) {
  for (const double mass : {0.06, 0.6, 6.0, 60.0}) {
    for (const double dt : {0.001, 0.005, 0.01}) {
      Scene scene;
      Material rubber, wood;
      rubber.name = "rubber";
      rubber.restitution = 0.8;
      wood.name = "default";
      scene.materials = {wood, rubber};
      scene.shapes = {make_shape("floor", kWorld, HalfSpace{}),
                      make_shape("board", "board", Box{Vec3(0.25, 0.25, 0.01)}, mass),
                      make_shape("ball", "ball", Sphere{0.12}, 0.6)};
      scene.shapes[2].material = "rubber";
      scene.bodies = {free_body("board", {0, 0, 0.01}), free_body("ball", {0, 0, 1.14})};
      Simulation run(scene, dt, ContactLaw::coulomb);
      double top = 0;
      bool is_up = false;
      while (run.state.time < 1) {
        run.go(dt);
        is_up = is_up || run.state.v[8] > 0.5;
        if (is_up) top = std::max(top, run.state.q[9] - 0.14);
      }
      EXPECT_NEAR(top, 0.64, 0.002 + 0.5 * dt) << "board " << mass << " kg, dt " << dt;
    }
  }
}

// The direction of a billiard ball hit off its centre, and the spin it takes on, are those of the touch.
TEST(Bounce, NormalAndArmsAreThoseOfTheTouch) {
  constexpr double kRadius = 0.02858;
  for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
    for (const double start : {-0.5, -0.493, -0.4871}) {
      Scene scene;
      Material m;
      m.name = "default";
      m.restitution = 0.95;
      m.friction = 0;
      scene.materials = {m};
      scene.options.gravity.setZero();
      scene.bodies = {free_body("cue", {start, 0.01, 0}), free_body("ball", {0, 0, 0})};
      for (const char* name : {"cue", "ball"})
        scene.shapes.push_back(make_shape(name, name, Sphere{kRadius}, 0.17));
      scene.initial.v["cue"] = {5, 0, 0, 0, 0, 0};
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.go(0.3);
      const double angle = std::atan2(-run.state.v[7], run.state.v[6]);
      EXPECT_NEAR(angle, std::asin(0.01 / (2 * kRadius)), 2e-3) << "dt " << dt << " from " << start;

      scene.materials[0].friction = 0.06;
      scene.bodies[0].pose.position.y() = 0;
      scene.initial.v["cue"] = {5, 0, 0, 0, 200, 0};
      Simulation spin(scene, dt, ContactLaw::coulomb);
      spin.go(0.3);
      // mu (1 + e) v/2 m of tangential impulse at the arm r, of 2/5 m r^2.
      EXPECT_NEAR(spin.state.v[10], -0.06 * 1.95 * 2.5 / (0.4 * kRadius), 0.3) << "dt " << dt;
    }
  }
}

// A wheel that spins on its axle and meets a wall with its rim: what spins moves no surface, so that it is
// hit as one that does not spin, at the touch, and its spin stays.
TEST(Bounce, AWheelThatSpinsAgainstAWall) {
  for (const double spin : {20.0, 100.0}) {
    for (const double dt : {0.001, 0.005, 0.01}) {
      SCOPED_TRACE(testing::Message() << spin << " rad/s, " << dt << " s");
      const Vec3 axis(0.46984631, -0.34202014, 0.81379768);
      const Vec3 w = spin * axis;
      Simulation run(scene_of(fmt::format(R"(
options: {{gravity: [0, 0, 0]}}
materials: [{{name: default, friction: 0, restitution: 0.5}}]
shapes: [{{type: plane, z_axis: [-1, 0, 0], position: [0.5, 0, 0]}}]
bodies:
  - name: wheel
    pose: {{position: [0, 0, 0], rpy_deg: [20, 30, 0]}}
    joint: {{type: free, initial_velocity: [1, 0, 0, {}, {}, {}]}}
    shapes:
      - {{type: cylinder, radius: 0.1, length: 0.02, mass: 1}}
      - {{type: capsule, radius: 0.01, from: [0, 0, -0.12], to: [0, 0, 0.12], mass: 0.1}}
)",
                                          w.x(), w.y(), w.z())),
                     dt, ContactLaw::coulomb);
      const Link& link = run.model.links[1];
      const Vec3 n = Vec3::UnitX();
      const Vec3 arm = 0.1 * (n - axis.x() * axis).normalized() + 0.01 * axis;
      const double across = link.inertia(0, 0);
      const double impulse = 1.5 / (1 / link.mass + cross(arm, n).squaredNorm() / across);
      double deepest = 0;
      while (run.state.time < 0.42 - 0.5 * dt) {
        run.go(dt);
        deepest = std::max(deepest, run.report.deepest);
      }
      EXPECT_NEAR(run.state.v[0], 1 - impulse / link.mass, 0.02);
      const Vec3 turned = run.workspace.motion.placement.X_WL[1].R.col(2);
      EXPECT_NEAR(run.state.v.tail<3>().dot(turned), spin, 0.03 * spin);
      EXPECT_LT(deepest, 1e-4);
    }
  }
}

// Two discs that spin, rim on rim and off centre: they slip while they touch, so that the normal at the touch
// and mu tell all.
TEST(Bounce, DiscsThatSpinRimOnRim) {
  for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
    SCOPED_TRACE(dt);
    Simulation run(scene_of(R"(
options: {gravity: [0, 0, 0]}
materials: [{name: default, friction: 0.2, restitution: 0.9}]
bodies:
  - name: a
    position: [-0.3, 0, 0]
    joint: {type: free, initial_velocity: [2, 0, 0, 0, 0, 50]}
    shape: {type: cylinder, radius: 0.05, length: 0.02, mass: 0.2}
  - name: b
    position: [0, 0.03, 0]
    joint: {type: free, initial_velocity: [0, 0, 0, 0, 0, -80]}
    shape: {type: cylinder, radius: 0.05, length: 0.02, mass: 0.2}
)"),
                   dt, ContactLaw::coulomb);
    run.go(0.5);
    const double ny = 0.3, nx = std::sqrt(1 - ny * ny);
    const double impulse = 0.1 * 1.9 * 2 * nx, friction = 0.2 * impulse;
    const double turn = friction * 0.05 / (0.5 * 0.2 * 0.05 * 0.05);
    const VecX& v = run.state.v;
    EXPECT_NEAR(v[0], 2 - (nx * impulse + ny * friction) / 0.2, 0.02);
    EXPECT_NEAR(v[1], (-ny * impulse + nx * friction) / 0.2, 0.02);
    EXPECT_NEAR(v[5], 50 + turn, 0.8);
    EXPECT_NEAR(v[11], -80 + turn, 0.8);
    EXPECT_NEAR(v[0] + v[6], 2, 1e-9);
  }
}

// What comes to rest stays: a box dropped flat, and a stack that a ball falls on.
TEST(Bounce, ComesToRest) {
  for (const double dt : {0.01, 0.002}) {
    Scene scene = box_on_plane(0.5, 1e6);
    scene.materials[0].restitution = 0.6;
    scene.bodies[0].pose.position.z() = 0.3;
    for (int i = 0; i < 3; ++i) {
      const std::string name = "b" + std::to_string(i);
      scene.bodies.push_back(free_body(name, {0.5, 0, 0.05 + 0.1 * i}));
      scene.shapes.push_back(make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
    }
    scene.bodies.push_back(free_body("ball", {0.51, 0, 0.8}));
    scene.shapes.push_back(make_shape("ball", "ball", Sphere{0.03}, 0.2));
    Simulation run(scene, dt, ContactLaw::regularized_lagged);
    run.go(4);
    int late_rounds = 0;
    while (run.state.time < 5) {
      run.go(dt);
      late_rounds += run.report.bounce_rounds;
    }
    EXPECT_EQ(late_rounds, 0) << dt;
    EXPECT_NEAR(run.state.q[2], 0.05, 1e-4);
    EXPECT_LE(run.state.v.head(24).norm(), 1e-4) << dt;
    EXPECT_NEAR(run.state.q[7 * 3 + 2], 0.25, 1e-3);  // the top of the stack
  }
}

// An impact would move a node of a soft body or of a rod as if it were alone: a floor with restitution made
// 140 J from 2.4, things fell through it, and of 1 N s of a ball that hit a block a tenth was left.
TEST(Bounce, RodsAndSoftBodiesBounceAsTheyYield) {
  const std::string materials = "materials: [{name: bouncy, friction: 0.5, restitution: 0.8}]\n";
  const std::string falling[] = {
      "soft_bodies: [{name: ball, ball: {radius: 0.05, cells: [4]}, position: [0, 0, 0.5], young_modulus: "
      "1e6, "
      "density: 1000}]\n",
      "rods: [{name: rope, line: {from: [0, 0, 0.5], to: [0.5, 0, 0.6]}, edges: 25, diameter: 0.01, "
      "young_modulus: 1e7, density: 1000, damping: {beta: 0.002}}]\n"};
  for (const std::string& what : falling) {
    const Scene scene =
        scene_of(materials + "shapes: [{name: floor, type: plane, material: bouncy}]\n" + what);
    for (const double dt : {0.001, 0.005, 0.01}) {
      Simulation run(scene, dt, ContactLaw::coulomb);
      const double start = calc_mechanics(run.model, run.state).total();
      double highest = 0, lowest = 1;
      while (run.state.time < 0.8) {
        run.go(dt);
        const Mechanics m = calc_mechanics(run.model, run.state);
        highest = std::max(highest, m.total());
        for (int i = 2; i < 12; i += 3) lowest = std::min(lowest, run.state.q[i]);
      }
      // Energies of states half a step apart swing by m g v dt.
      EXPECT_LE(highest, start * (1 + 20 * dt)) << what << dt;
      EXPECT_GE(lowest, -0.01) << what << dt;
    }
  }
  const std::string hammer =
      materials +
      "options: {gravity: [0, 0, 0]}\nbodies: [{name: hammer, position: [-0.2, 0, 0], joint: {type: free, "
      "initial_velocity: [2, 0, 0, 0, 0, 0]}, shape: {type: sphere, radius: 0.03, mass: 0.5, material: "
      "bouncy}}]\n";
  const std::string hit[] = {
      "soft_bodies: [{name: block, box: {size: [0.1, 0.1, 0.1], cells: [4, 4, 4]}, young_modulus: 5e5, "
      "density: "
      "1000, damping: {beta: 0.003}}]\n",
      "rods: [{name: rope, line: {from: [0, -0.2, 0], to: [0, 0.2, 0]}, edges: 20, diameter: 0.02, "
      "young_modulus: 1e6, density: 1000, damping: {beta: 0.003}}]\n"};
  for (const std::string& what : hit) {
    for (const double dt : {0.001, 0.005, 0.01}) {
      Simulation run(scene_of(hammer + what), dt, ContactLaw::coulomb);
      const double start = calc_mechanics(run.model, run.state).total();
      run.go(0.4);
      const Mechanics m = calc_mechanics(run.model, run.state);
      EXPECT_NEAR(m.momentum[3], 1, 1e-6) << what << dt;
      EXPECT_LE(m.total(), start * (1 + 1e-6)) << what << dt;
    }
  }
}

}  // namespace
}  // namespace capstan::bounce_test
