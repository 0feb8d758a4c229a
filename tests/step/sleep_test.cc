// Islands at rest sleep, keep every bit, and wake when something touches them or acts on them: as if they had
// never slept.
#include "capstan/step/sleep.h"

#include <gtest/gtest.h>

#include "tests/support/contact_simulation.h"

namespace capstan::sleep_test {
namespace {

using test::Simulation;

constexpr double kSize = 0.1;  // [m] of a box

// Stacks of three boxes a metre apart, and a ball at rest before the first.
Scene stacks(int n) {
  Scene scene = test::box_on_plane(0.5, 1e5);
  scene.bodies.clear();
  scene.shapes.resize(1);
  for (int i = 0; i < 3 * n; ++i) {
    const std::string name = "box" + std::to_string(i);
    scene.bodies.push_back(test::free_body(name, {1.0 * (i / 3), 0, kSize * (0.5 + i % 3)}));
    scene.shapes.push_back(test::make_shape(name, name, Box{Vec3::Constant(kSize / 2)}, 1));
  }
  scene.bodies.push_back(test::free_body("ball", {-0.5, 0, 0.05}));
  scene.shapes.push_back(test::make_shape("ball", "ball", Sphere{0.05}, 1));
  scene.options.sleep.on = true;
  return scene;
}

Simulation simulate(const Scene& scene) {
  Simulation s(scene, 0.005, ContactLaw::regularized_lagged);
  s.options.sleep = scene.options.sleep;
  return s;
}

// Trees are the bodies, in their order.
bool is_asleep(const Simulation& s, int tree) {
  return !s.state.rest.empty() && s.state.rest[tree].is_asleep();
}

int dof(const Simulation& s, const std::string& body) {
  return s.model.joints[s.model.find_joint(body)].v;
}

// The step from the same state by a simulation that knows no sleep.
State awake_step(const Simulation& s) {
  StepOptions options = s.options;
  options.sleep.on = false;
  Workspace workspace = make_workspace(s.model);
  State state = s.state;
  state.rest.clear();
  step(s.model, options, s.input, &state, &workspace);
  return state;
}

void expect_same_bits(const Simulation& s, const State& expected, int tree_begin, int tree_end) {
  for (int t = tree_begin; t < tree_end; ++t) {
    const Tree& tree = s.model.trees[t];
    EXPECT_EQ(s.state.v.segment<6>(tree.dof_begin), expected.v.segment<6>(tree.dof_begin)) << t;
    const int q = s.model.stages[s.model.links[tree.link_begin].stage_begin].q;
    EXPECT_EQ(s.state.q.segment<7>(q), expected.q.segment<7>(q)) << t;
  }
}

TEST(Sleep, IsOffUnlessAskedFor) {
  Scene scene = stacks(1);
  scene.options.sleep.on = false;
  Simulation s = simulate(scene);
  s.go(2);
  EXPECT_TRUE(s.state.rest.empty());
  EXPECT_EQ(s.report.asleep, 0);
  EXPECT_GT(s.report.contacts, 0);
}

TEST(Sleep, APileAtRestKeepsEveryBitAndCostsNoContacts) {
  Simulation s = simulate(stacks(3));
  s.go(0.4);
  EXPECT_EQ(s.report.asleep, 0) << "sooner than the time they must be still";
  EXPECT_EQ(s.report.solver.islands, 4);
  s.go(2);
  EXPECT_EQ(s.report.asleep, 10);
  for (int t = 0; t < 9; ++t) EXPECT_EQ(s.state.rest[t].island, 3 * (t / 3)) << t;
  EXPECT_EQ(s.state.rest[9].island, 9);
  const State before = s.state;
  s.go(1);
  EXPECT_EQ(s.report.contacts, 0);
  EXPECT_EQ(s.workspace.problem.num_constraints(), 0);
  EXPECT_EQ(s.report.solver.islands, 0);
  EXPECT_EQ(s.state.q, before.q);
  EXPECT_TRUE(s.state.v.isZero(0));
  EXPECT_EQ(s.report.judge.momentum, 0);
  EXPECT_NEAR(s.state.time, 3.4, 1e-9);
}

TEST(Sleep, AThrownBallWakesTheStackItStrikesExactly) {
  Simulation s = simulate(stacks(3));
  s.go(3);
  ASSERT_EQ(s.report.asleep, 10);
  s.state.v[dof(s, "ball")] = 3;
  State before = s.state, expected;
  int steps = 0;
  do {
    ASSERT_LT(++steps, 200);
    before = s.state;
    expected = awake_step(s);
    s.go(s.options.dt);
    EXPECT_FALSE(is_asleep(s, 9));
    for (int t = 3; t < 9; ++t) ASSERT_TRUE(is_asleep(s, t)) << t;
    expect_same_bits(s, expected, 9, 10);
  } while (is_asleep(s, 0));
  EXPECT_EQ(s.report.woken, 3);
  for (int t = 0; t < 3; ++t) EXPECT_FALSE(is_asleep(s, t)) << t;
  expect_same_bits(s, expected, 0, 3);
  expect_same_bits(s, before, 3, 9);
  // It found them before they overlapped, and the stack is pushed.
  EXPECT_LE(s.report.deepest, 1e-4);
  s.go(0.2);
  EXPECT_GT(s.state.q[0], 0.01);
  s.go(8);
  EXPECT_EQ(s.report.asleep, 9) << "the boxes come to rest again, the ball rolls on";
}

TEST(Sleep, AForceWakesItsIslandAndSoDoesItsEnd) {
  Simulation s = simulate(stacks(2));
  s.go(3);
  ASSERT_EQ(s.report.asleep, 7);
  const int top = s.model.find_body("box5");
  s.input.body_forces = {{top, Vec3(1, 0, 0.25), Vec3(1, 0, 0), {0, 0, 0}}};
  const State expected = awake_step(s), before = s.state;
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 3);
  expect_same_bits(s, expected, 3, 6);
  expect_same_bits(s, before, 0, 3);
  s.go(3);  // 1 N does not move it: mu m g is 4.9 N
  EXPECT_EQ(s.report.asleep, 7);
  s.input.body_forces[0].force_W.y() = 1e-9;
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 3) << "another force";
  s.go(3);
  s.input.body_forces.clear();
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 3) << "no force";
  s.input.generalized_force = VecX::Zero(s.model.num_velocities());
  s.go(3);
  EXPECT_EQ(s.report.asleep, 7) << "forces of zero are no forces";
  s.input.generalized_force[dof(s, "box0")] = 20;
  s.go(0.2);
  EXPECT_GT(s.state.q[0], 0.01);
}

TEST(Sleep, SupportThatIsTakenAwayWakesWhatStoodOnIt) {
  Simulation s = simulate(stacks(1));
  s.go(3);
  ASSERT_EQ(s.report.asleep, 4);
  const int q = s.model.joints[s.model.find_joint("box0")].q;
  s.state.q[q] += 10;  // from outside
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 3);
  s.go(1);
  const int q1 = s.model.joints[s.model.find_joint("box1")].q;
  EXPECT_NEAR(s.state.q[q1 + 2], kSize / 2, 1e-3);
}

TEST(Sleep, ABeltThatStartsWakesWhatLiesOnIt) {
  Scene scene = stacks(1);
  scene.shapes[0].surface_velocity = Vec3(0.5, 0, 0);
  Simulation s = simulate(scene);
  s.input.surface_scale = VecX::Zero(static_cast<int>(s.model.shapes.size()));
  s.go(3);
  ASSERT_EQ(s.report.asleep, 4);
  s.input.surface_scale.setOnes();
  const State expected = awake_step(s);
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 4);
  expect_same_bits(s, expected, 0, 4);
  s.go(1);
  EXPECT_GT(s.state.q[0], 0.2);
}

// A lever that a motor holds: rows of its limit are not assembled while it sleeps; its control wakes it.
TEST(Sleep, AControlWakesWhatItMoves) {
  Scene scene;
  Body body;
  body.name = "lever";
  Joint joint;
  joint.name = "hinge";
  joint.type = JointType::revolute;
  joint.axis = Vec3(0, 1, 0);
  joint.limits = {{-1, 1}};
  joint.dry_friction = 0.1;
  body.joints = {joint};
  scene.bodies = {body};
  scene.shapes = {test::make_shape("lever", "lever", Box{Vec3(0.3, 0.05, 0.05)}, 1)};
  Actuator motor;
  motor.name = "motor";
  motor.joint = "hinge";
  motor.gain = 1000;
  motor.bias = Vec3(0, -1000, -50);
  scene.actuators = {motor};
  scene.options.sleep.on = true;
  Simulation s = simulate(scene);
  s.go(5);
  ASSERT_EQ(s.report.asleep, 1);
  EXPECT_EQ(s.workspace.problem.num_constraints(), 0);
  const double angle = s.state.q[0];
  s.go(1);
  EXPECT_EQ(s.state.q[0], angle);
  s.state.control[0] = 0.5;
  State expected = awake_step(s);
  s.go(s.options.dt);
  EXPECT_EQ(s.report.woken, 1);
  EXPECT_EQ(s.state.q, expected.q);
  EXPECT_EQ(s.state.v, expected.v);
  s.go(2);
  EXPECT_NEAR(s.state.q[0], 0.5, 0.01);
}

// A state that is saved while some sleep goes on as the run does, and threads change nothing.
TEST(Sleep, GoesOnFromASavedStateWithAnyNumberOfThreads) {
  Simulation s = simulate(stacks(6));
  s.go(3);
  ASSERT_EQ(s.report.asleep, 19);
  s.state.v[dof(s, "ball")] = 3;
  s.go(0.05);
  ASSERT_EQ(s.report.asleep, 18);
  const std::vector<std::uint8_t> saved = save(s.model, s.state);
  s.go(0.3);
  EXPECT_LT(s.report.asleep, 18);
  s.go(0.7);
  for (const int threads : {1, 2, 4}) {
    Simulation again = simulate(stacks(6));
    again.state = restore(again.model, saved);
    again.options.threads = threads;
    again.go(1);
    EXPECT_EQ(hash(again.state), hash(s.state)) << threads;
    EXPECT_EQ(again.state.rest, s.state.rest);
  }
}

TEST(Sleep, SwitchedOffAllWake) {
  Simulation s = simulate(stacks(1));
  s.go(3);
  const State expected = awake_step(s);
  s.options.sleep.on = false;
  s.go(s.options.dt);
  EXPECT_TRUE(s.state.rest.empty());
  EXPECT_EQ(hash(s.state), hash(expected));
}

TEST(Sleep, AStateOfAnotherModelIsRefused) {
  Simulation s = simulate(stacks(1));
  s.state.rest.resize(2);
  EXPECT_THROW(s.go(s.options.dt), InputError);
}

}  // namespace
}  // namespace capstan::sleep_test
