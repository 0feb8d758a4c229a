// Momentum of floating systems with internal motion.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/random_scene.h"
#include "tests/support/scene_text.h"

namespace capstan::momentum_test {
namespace {

Scene floating_humanoid() {
  Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoid_floating.xml");
  scene.options.gravity.setZero();
  return scene;
}

struct Drift {
  double linear = 0, angular = 0;  // relative to the momentum at the start
};

// The humanoid flails with its motors while it floats and turns, for `steps` steps.
Drift drift_of_flailing_humanoid(const Model& model, Integrator integrator, double dt, int steps) {
  State state = initial_state(model);
  state.v.head<6>() << 0.3, -0.2, 0.5, 0.8, -0.4, 0.6;
  Workspace workspace = make_workspace(model);
  const Vec6 start = calc_mechanics(model, state).momentum;
  Drift drift;
  double swing = 0;
  for (int i = 0; i < steps; ++i) {
    for (int k = 0; k < state.control.size(); ++k) state.control[k] = 0.3 * std::sin(3 * state.time + k);
    step(model, {dt, integrator}, {}, &state, &workspace);
    swing = std::max(swing, state.v.tail(model.num_velocities() - 6).norm());
    if ((i + 1) % (steps / 10) == 0) {
      const Vec6 change = calc_mechanics(model, state).momentum - start;
      drift.angular = std::max(drift.angular, change.head<3>().norm() / start.head<3>().norm());
      drift.linear = std::max(drift.linear, change.tail<3>().norm() / start.tail<3>().norm());
    }
  }
  EXPECT_GT(swing, 2) << "the joints should move [rad/s]";
  return drift;
}

TEST(Momentum, OfAFlailingHumanoidIsKeptForTenThousandSteps) {
  const Model model = compile(floating_humanoid());
  for (const Integrator i : {Integrator::symplectic_euler, Integrator::semi_implicit, Integrator::midpoint}) {
    const Drift drift = drift_of_flailing_humanoid(model, i, 0.002, 10'000);
    EXPECT_LT(drift.linear, 1e-9) << integrator_name(i);
    EXPECT_LT(drift.angular, 1e-9) << integrator_name(i);
  }
}

// The theta-method alone keeps momentum only to its order: what the correction is for.
// Limits and self-contact are left out, for smooth motion.
// The next step begins with what balance_position() knows, if nobody has moved the tree meanwhile.
TEST(Momentum, APlacementIsTakenOverAtTheVerySamePositionsOnly) {
  const Model model = compile(floating_humanoid());
  test::Random random(4);
  const State state = test::random_state(random, model, 2);
  Placement start = make_placement(model), plain = start, copied = start;
  Velocity velocity = make_velocity(model);
  calc_placement(model, state.q, &start);
  calc_velocity(model, start, state.v, &velocity);
  MomentumWorkspace workspace = make_momentum_workspace(model);
  EXPECT_FALSE(copy_placement(model, workspace, state.q, 0, &copied));

  VecX q = state.q;
  move(model, state.q, state.v, 0.01, &q);
  const Vec3 moved = q.head<3>();
  balance_position(model, start, velocity, state.v, 0.01, 1, 0, 1, &workspace, &q);
  EXPECT_NE(moved, q.head<3>());
  ASSERT_TRUE(copy_placement(model, workspace, q, 0, &copied));
  calc_placement(model, q, &plain);
  for (int l = 1; l < model.num_links(); ++l) {
    EXPECT_EQ(copied.X_WL[l].R, plain.X_WL[l].R);
    EXPECT_EQ(copied.X_WL[l].p, plain.X_WL[l].p);
    EXPECT_EQ(copied.p_OL[l], plain.p_OL[l]);
    EXPECT_EQ(to_matrix(copied.inertia[l]), to_matrix(plain.inertia[l]));
  }
  EXPECT_EQ(copied.S, plain.S);
  EXPECT_EQ(copied.origin, plain.origin);

  for (double& x : q) {
    const double before = x;
    x = std::nextafter(x, 10);
    EXPECT_FALSE(copy_placement(model, workspace, q, 0, &copied));
    EXPECT_FALSE(take_placement(q, &workspace, &start));
    x = before;
  }
  const double before = q[7];
  q[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(copy_placement(model, workspace, q, 0, &copied));
  EXPECT_FALSE(take_placement(q, &workspace, &start));
  q[7] = before;
  EXPECT_TRUE(take_placement(q, &workspace, &start));
  EXPECT_EQ(start.S, plain.S);
  EXPECT_EQ(start.origin, plain.origin);
  EXPECT_FALSE(take_placement(q, &workspace, &start));  // it is gone
  EXPECT_FALSE(copy_placement(model, workspace, q, 0, &copied));

  MomentumWorkspace unused = make_momentum_workspace(model);
  q.setConstant(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(copy_placement(model, unused, q, 0, &copied));
  EXPECT_FALSE(take_placement(q, &unused, &copied));
}

TEST(Momentum, DriftsAtTheOrderOfTheSchemeWhenTheCorrectionIsOff) {
  Scene scene = floating_humanoid();
  scene.options.conserve_momentum = false;
  for (Body& body : scene.bodies) {
    for (Joint& joint : body.joints) joint.limits.clear();
  }
  for (Tendon& tendon : scene.tendons) tendon.limits.reset();
  for (ShapeInstance& shape : scene.shapes) shape.collides = false;
  const Model model = compile(scene);
  EXPECT_GT(drift_of_flailing_humanoid(model, Integrator::semi_implicit, 0.002, 1000).angular, 1e-4);
  const double coarse = drift_of_flailing_humanoid(model, Integrator::midpoint, 0.001, 1000).angular;
  const double fine = drift_of_flailing_humanoid(model, Integrator::midpoint, 0.0005, 2000).angular;
  EXPECT_GT(coarse, 1e-8);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.5);
}

// Under gravity and an external force the momentum changes by exactly their impulse.
TEST(Momentum, ChangesByTheImpulseOfGravityAndExternalForces) {
  Scene scene = floating_humanoid();
  scene.options.gravity = Vec3(0.5, 0, -9.81);
  const Model model = compile(scene);
  State state = initial_state(model);
  state.v.head<6>() << 0.3, -0.2, 0.5, 0.8, -0.4, 0.6;
  Workspace workspace = make_workspace(model);
  const Vec3 start = calc_mechanics(model, state).momentum.tail<3>();
  Input input;
  input.body_forces.push_back({3, Vec3(0, 0, 1), Vec3(10, -20, 30), Vec3(1, 2, 3)});
  const double dt = 0.005;
  for (int i = 0; i < 400; ++i) step(model, {dt, Integrator::semi_implicit}, input, &state, &workspace);
  const Vec3 impulse = 400 * dt * (total_mass(model) * model.options.gravity + Vec3(10, -20, 30));
  const Vec3 end = calc_mechanics(model, state).momentum.tail<3>();
  EXPECT_LT((end - start - impulse).norm(), 1e-9 * impulse.norm());
}

// A plate spinning at 600 rad/s with dt 10 ms turns 6 rad in a step: momentum is kept and energy never grows.
TEST(Momentum, OfAVeryFastPlateIsKeptAndEnergyDoesNotGrow) {
  Scene scene;
  scene.options.gravity.setZero();
  Body plate;
  plate.name = "plate";
  plate.inertia = Inertia{1, Vec3(0.01, 0.02, -0.01), Mat3(Vec3(1e-3, 2e-3, 2.9e-3).asDiagonal())};
  Joint root;
  root.name = "root";
  root.type = JointType::free;
  plate.joints.push_back(root);
  scene.bodies.push_back(plate);
  for (const double spin : {60.0, 600.0}) {
    scene.initial.v["root"] = {1, 0, 0, 1, spin, 5};
    const Model model = compile(scene);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    const Mechanics start = calc_mechanics(model, state);
    double kinetic = start.kinetic;
    for (int i = 0; i < 500; ++i) {
      step(model, {0.01, Integrator::semi_implicit}, {}, &state, &workspace);
      const double now = calc_mechanics(model, state).kinetic;
      // Below a radian in a step it is kept, with a swing; else it falls.
      ASSERT_LT(now, spin < 100 ? 1.05 * start.kinetic : (1 + 1e-9) * kinetic) << spin << ", step " << i;
      ASSERT_GT(now, spin < 100 ? 0.95 * start.kinetic : 0) << spin << ", step " << i;
      kinetic = now;
    }
    EXPECT_LT((calc_mechanics(model, state).momentum - start.momentum).norm(), 1e-9 * start.momentum.norm())
        << spin;
  }
}

// A handle that turns about its middle axis flips over and over: in each flip a scheme that is not the same
// forwards and backwards loses energy. Its frame is not at its centre of mass.
TEST(Momentum, ALoneBodyKeepsItsEnergy) {
  Scene scene;
  Body handle;
  handle.name = "handle";
  handle.inertia = Inertia{0.5, Vec3(0.03, -0.01, 0.02), Mat3(Vec3(0.001, 0.0028, 0.002).asDiagonal())};
  Joint root;
  root.name = "root";
  root.type = JointType::free;
  handle.joints.push_back(root);
  scene.bodies.push_back(handle);
  scene.initial.v["root"] = {1, 2, 3, 0.1, 0, 10};
  const Model model = compile(scene);
  const auto spin_energy = [&](const State& state) {
    const Mechanics now = calc_mechanics(model, state);
    return now.kinetic - now.momentum.tail<3>().squaredNorm() / (2 * 0.5);
  };
  for (const double dt : {0.001, 0.005, 0.01}) {
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    const Mechanics start = calc_mechanics(model, state);
    const double energy = spin_energy(state);
    const int steps = static_cast<int>(std::lround(20 / dt));
    double least = energy, most = energy;
    for (int i = 0; i < steps; ++i) {
      step(model, {dt, Integrator::semi_implicit}, {}, &state, &workspace);
      least = std::min(least, spin_energy(state));
      most = std::max(most, spin_energy(state));
    }
    std::printf("handle, dt %g: energy of turning %.6f to %.6f of the start\n", dt, least / energy,
                most / energy);
    EXPECT_GT(least, (1 - 40 * dt * dt) * energy) << dt;
    EXPECT_LT(most, (1 + 40 * dt * dt) * energy) << dt;
    // It falls as symplectic Euler has any body fall: gravity acts at once, by half a step's way too much.
    const Vec3 fallen = calc_mechanics(model, state).momentum.tail<3>() - start.momentum.tail<3>();
    EXPECT_LT((fallen - 0.5 * 20 * model.options.gravity).norm(), 1e-9) << dt;
  }
}

// A robot of 20 kg squats on a plate that lies on ice: nothing pushes it sideways, and the floor gives what
// its weight and its own momentum ask for. Balanced where the free motion leads, which is through the floor,
// it skated at 0.4 m/s after 10 s at 5 ms, and the floor gave 0.9 % less.
TEST(Momentum, ARobotThatSquatsOnIceStaysWhereItIs) {
  Scene scene = test::scene_of(R"(
materials: [{name: default, friction: 0}]
shapes: [{type: plane}]
bodies:
  - name: foot
    position: [0, 0, 0.05]
    joint: free
    shape: {type: box, size: [1, 1, 0.1], mass: 1}
    children:
      - name: shank
        position: [0, 0, 0.05]
        joint: {name: ankle, type: revolute, axis: [0, 1, 0], initial: 0.6}
        shape: {type: box, size: [0.06, 0.06, 0.4], position: [0, 0, 0.2], mass: 2, collides: false}
        children:
          - name: thigh
            position: [0, 0, 0.4]
            joint: {name: knee, type: revolute, axis: [0, 1, 0], initial: -1.2}
            shape: {type: box, size: [0.06, 0.06, 0.4], position: [0, 0, 0.2], mass: 2, collides: false}
            children:
              - name: trunk
                position: [0, 0, 0.4]
                joint: {name: hip, type: revolute, axis: [0, 1, 0], initial: 0.6}
                shape: {type: box, size: [0.2, 0.2, 0.2], mass: 15, collides: false}
actuators:
  - {name: a, type: pd, joint: ankle, stiffness: 2000, damping: 40, target: 0.6}
  - {name: k, type: pd, joint: knee, stiffness: 2000, damping: 40, target: -1.2}
  - {name: h, type: pd, joint: hip, stiffness: 2000, damping: 40, target: 0.6}
)");
  const Model model = compile(scene);
  constexpr double kMass = 20, kDuration = 10;
  for (const Integrator scheme :
       {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
    for (const double dt : {0.002, 0.005, 0.01}) {
      State state = initial_state(model);
      Workspace workspace = make_workspace(model);
      StepOptions options = step_options(model);
      options.dt = dt;
      options.integrator = scheme;
      const double start = calc_mechanics(model, state).center_of_mass.x();
      double floor = 0, swing = 0, most = 0;
      for (int i = 0; i < std::lround(kDuration / dt); ++i) {
        const double t = (i + 0.5) * dt, a = std::min(1.0, t / 2), s = 3 * std::numbers::pi * t,
                     part = a * a * (3 - 2 * a);
        state.control << 0.6 + 0.12 * part * std::sin(s), -1.2 + 0.15 * part * std::sin(s + 1),
            0.6 + 0.1 * part * std::sin(s + 2);
        step(model, options, {}, &state, &workspace);
        for (const Vec3& impulse : workspace.newton.impulse) floor += impulse.z();
        swing = std::max(swing, state.v.tail<3>().norm());
        most = std::max(most, std::abs(calc_mechanics(model, state).momentum[3]));
      }
      const Mechanics end = calc_mechanics(model, state);
      EXPECT_GT(swing, 1) << "it should squat [rad/s]";
      EXPECT_LT(most, 0.04) << integrator_name(scheme) << " " << dt;
      EXPECT_LT(std::abs(end.center_of_mass.x() - start), 0.01) << integrator_name(scheme) << " " << dt;
      const double weight = kMass * 9.81 * kDuration;
      EXPECT_NEAR(floor - end.momentum[5], weight, 1e-4 * weight) << integrator_name(scheme) << " " << dt;
    }
  }
}

// m g l / (I w) = 1.962 rad/s, started without nutation.
TEST(Momentum, AGyroscopePrecesses) {
  Scene scene;
  Body wheel;
  wheel.name = "wheel";
  wheel.inertia = Inertia{1, Vec3(0.1, 0, 0), Mat3(Vec3(0.005, 0.00253333, 0.00253333).asDiagonal())};
  Joint pivot;
  pivot.name = "pivot";
  pivot.type = JointType::ball;
  wheel.joints.push_back(pivot);
  scene.bodies.push_back(wheel);
  scene.initial.v["pivot"] = {100, 0, 1.962};
  const Model model = compile(scene);
  for (const double dt : {0.001, 0.002, 0.005}) {
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    Placement placement = make_placement(model);
    const int steps = static_cast<int>(std::lround(1.5 / dt));
    for (int i = 0; i < steps; ++i) step(model, {dt, Integrator::semi_implicit}, {}, &state, &workspace);
    calc_placement(model, state.q, &placement);
    const Vec3 axle = placement.X_WL[1].R.col(0);
    EXPECT_NEAR(std::atan2(axle.y(), axle.x()), 1.5 * 1.962, 0.01) << dt;
    EXPECT_NEAR(axle.z(), 0, 0.01) << dt;
  }
}

}  // namespace
}  // namespace capstan::momentum_test
