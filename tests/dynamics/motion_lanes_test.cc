// Copies of a robot in one scene, which are computed in lanes (dynamics/tree_lanes.h), against the plain
// twin: each of them alone in a scene, which is not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capstan/dynamics/motion_batch.h"
#include "capstan/io/read.h"
#include "capstan/scene/compose.h"
#include "capstan/step/step.h"
#include "tests/support/random_scene.h"

namespace capstan::motion_lanes_test {
namespace {

using test::Random;

Instance instance(int i) {
  const double x = 3.0 * i;
  Instance r;
  r.name = "r" + std::to_string(i) + "/";
  r.pose = {Vec3(x, 0.5 * x, -0.2 * x), Vec4(std::cos(x), 0, std::sin(x), 0)};
  return r;
}

Scene copies(const Scene& robot, int n) {
  Scene scene;
  scene.options = robot.options;
  for (int i = 0; i < n; ++i) append(&scene, robot, instance(i));
  return scene;
}

State random_state(Random& random, const Model& model, double speed) {
  State state = test::random_state(random, model, speed);
  for (double& u : state.control) u = test::uniform(random, -1.5, 1.5);
  return state;
}

// What copy i of n has of a vector.
VecX part(const VecX& x, int i, int n) {
  const int size = static_cast<int>(x.size()) / n;
  return x.segment(i * size, size);
}
template <class T>
VecX part(const std::vector<T>& x, int i, int n, int skip = 0) {
  const int size = (static_cast<int>(x.size()) - skip) / n;
  constexpr int kNumbers = sizeof(T) / sizeof(double);
  return Eigen::Map<const VecX>(reinterpret_cast<const double*>(&x[skip + i * size]), size * kNumbers);
}

void expect_near(const VecX& a, const VecX& b, double tolerance, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_LT((a - b).cwiseAbs().maxCoeff(), tolerance * (1 + b.cwiseAbs().maxCoeff())) << what;
}

int num_in_lanes(const Motion& motion) {
  int n = 0;
  for (const MotionLanes& lanes : motion.scratch->lanes) n += lanes.trees.count;
  return n;
}

// n copies in one model, and the same states in models of their own.
struct Twins {
  Model model;
  std::vector<Model> alone;
  Motion motion;

  Twins(const Scene& robot, int n) : model(compile(copies(robot, n))), motion(make_motion(model)) {
    for (int i = 0; i < n; ++i) alone.push_back(compile(instantiate_alone(robot, i)));
  }
  static Scene instantiate_alone(const Scene& robot, int i) {
    Scene scene = instantiate(robot, instance(i));
    scene.options = robot.options;
    return scene;
  }
  int size() const { return static_cast<int>(alone.size()); }

  // Largest number of Newton steps that one took alone.
  int compare(const State& state, const Input& input, double dt, Integrator integrator) {
    const Scheme theta = scheme(integrator);
    const int n = size();
    calc_free_motion(model, state, input, dt, theta, &motion);
    VecX q1 = state.q;
    move_on(model, state, motion.v_star, dt, theta.theta_vq, Threads(1), &motion, &q1);
    int iterations = 0;
    for (int i = 0; i < n; ++i) {
      Motion twin = make_motion(alone[i]);
      EXPECT_EQ(num_in_lanes(twin), 0);
      State s = initial_state(alone[i]);
      s.q = part(state.q, i, n);
      s.v = part(state.v, i, n);
      s.control = part(state.control, i, n);
      Input force;
      force.generalized_force = part(input.generalized_force, i, n);
      calc_free_motion(alone[i], s, force, dt, theta, &twin);
      iterations = std::max(iterations, twin.iterations);
      expect_near(part(motion.placement.X_WL, i, n, 1), part(twin.placement.X_WL, 0, 1, 1), 1e-14, "X_WL");
      expect_near(part(motion.placement.p_OL, i, n, 1), part(twin.placement.p_OL, 0, 1, 1), 1e-14, "p_OL");
      expect_near(part(motion.placement.S, i, n), part(twin.placement.S, 0, 1), 1e-14, "S");
      expect_near(part(motion.placement.origin, i, n), part(twin.placement.origin, 0, 1), 1e-14, "origin");
      expect_near(part(motion.placement.inertia, i, n, 1), part(twin.placement.inertia, 0, 1, 1), 1e-13,
                  "inertia");
      expect_near(part(motion.velocity.V, i, n, 1), part(twin.velocity.V, 0, 1, 1), 1e-13, "V");
      expect_near(part(motion.A, i, n), twin.A, 1e-13, "A");
      expect_near(part(motion.A_factor, i, n), twin.A_factor, 1e-11, "factor");
      expect_near(part(motion.v_star, i, n), twin.v_star, 1e-11, "v*");
      VecX q1_alone = s.q;
      move_on(alone[i], s, part(motion.v_star, i, n), dt, theta.theta_vq, Threads(1), &twin, &q1_alone);
      expect_near(part(q1, i, n), q1_alone, 1e-12, "q1");
      if (::testing::Test::HasFailure()) return -1;
    }
    return iterations;
  }
};

TEST(MotionLanes, RandomTreesMoveAsEachAlone) {
  Random random(11);
  int in_lanes = 0, free_roots = 0, covered = 0;
  for (int i = 0; i < 60; ++i) {
    Scene robot = test::random_scene(random, 2 + i % 7);
    for (Body& body : robot.bodies) {
      for (Joint& joint : body.joints) {
        if (joint.type == JointType::ball || joint.type == JointType::free) joint.stiffness = 0;
        if (joint.type == JointType::free) joint.rotor_inertia = 0;  // else momentum is not conserved
      }
    }
    if (compile(robot).num_velocities() == 0) continue;
    SCOPED_TRACE(i);
    Twins twins(robot, 2 + i % 4);
    for (const MotionLanes& lanes : twins.motion.scratch->lanes) {
      in_lanes += lanes.trees.count;
      free_roots += lanes.trees.has_free_root;
      const Tree& tree = twins.model.trees[lanes.trees.trees[0]];
      for (int l = tree.link_begin; l < tree.link_end; ++l) {
        for (int g = twins.model.links[l].stage_begin; g < twins.model.links[l].stage_end; ++g)
          covered |= 1 << static_cast<int>(twins.model.stages[g].type);
      }
    }
    Input input;
    input.generalized_force = VecX::Zero(twins.model.num_velocities());
    for (double& f : input.generalized_force) f = test::uniform(random, -2, 2);
    for (const Integrator integrator : {Integrator::explicit_euler, Integrator::symplectic_euler,
                                        Integrator::semi_implicit, Integrator::midpoint}) {
      const State state = random_state(random, twins.model, 3);
      ASSERT_GE(twins.compare(state, input, 0.003, integrator), 0) << integrator_name(integrator);
    }
  }
  EXPECT_GT(in_lanes, 80);
  EXPECT_GT(free_roots, 3);
  EXPECT_EQ(covered, 0b11111) << "every type of stage";
}

// Its hamstrings are tendons that pull outside of a range only; its motors have ranges.
Scene humanoid() {
  Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoid_floating.xml");
  for (ShapeInstance& shape : scene.shapes) shape.collides = false;
  for (Tendon& tendon : scene.tendons) tendon.spring_rest = Range{-0.01, 0.01};
  return scene;
}

TEST(MotionLanes, HumanoidsWithTendonsMoveAsEachAlone) {
  Random random(3);
  Twins twins(humanoid(), 7);
  EXPECT_EQ(num_in_lanes(twins.motion), 7);
  EXPECT_EQ(twins.motion.scratch->lanes.size(), 2);
  int further = 0;
  for (int trial = 0; trial < 30; ++trial) {
    const State state = random_state(random, twins.model, 4);
    const int iterations = twins.compare(state, {}, 0.01, Integrator::semi_implicit);
    ASSERT_GE(iterations, 0) << trial;
    further += iterations > 1;
  }
  EXPECT_GT(further, 3) << "tendons should begin or cease to pull within a step";
}

// Whatever lane a tree is in, and whoever is in the others.
TEST(MotionLanes, ATreesBitsAreItsOwn) {
  const Model model = compile(copies(humanoid(), 6));
  Motion motion = make_motion(model);
  ASSERT_EQ(num_in_lanes(motion), 6);
  Random random(8);
  const Scheme theta = scheme(Integrator::semi_implicit);
  const State state = random_state(random, model, 3);
  State turned = state;  // copy i does what copy i - 1 did
  const auto turn = [](const VecX& x, int places, VecX* y) {
    const int size = static_cast<int>(x.size()) / 6;
    for (int i = 0; i < 6; ++i) y->segment((i + places) % 6 * size, size) = x.segment(i * size, size);
  };
  calc_free_motion(model, state, {}, 0.01, theta, &motion);
  VecX q1 = state.q;
  move_on(model, state, motion.v_star, 0.01, 1, Threads(1), &motion, &q1);
  const VecX v = motion.v_star, A = motion.A, factored = motion.A_factor;
  for (int places = 1; places < 6; ++places) {
    turn(state.q, places, &turned.q);
    turn(state.v, places, &turned.v);
    turn(state.control, places, &turned.control);
    Motion other = make_motion(model);
    const Threads threads(places % 2 + 1);
    calc_free_motion(model, turned, {}, 0.01, theta, {.threads = threads}, &other);
    VecX q1_turned = turned.q, expected = v;
    move_on(model, turned, other.v_star, 0.01, 1, threads, &other, &q1_turned);
    turn(v, places, &expected);
    EXPECT_EQ(other.v_star, expected);
    expected.resize(A.size());
    turn(A, places, &expected);
    EXPECT_EQ(other.A, expected);
    turn(factored, places, &expected);
    EXPECT_EQ(other.A_factor, expected);
    expected.resize(q1.size());
    turn(q1, places, &expected);
    EXPECT_EQ(q1_turned, expected);
  }
}

TEST(MotionLanes, WhoSleepsIsLeftAloneAndWhoIsNotFiniteHarmsNobody) {
  const Model model = compile(copies(humanoid(), 4));
  Motion motion = make_motion(model);
  Random random(8);
  const Scheme theta = scheme(Integrator::semi_implicit);
  State state = random_state(random, model, 3);
  calc_free_motion(model, state, {}, 0.01, theta, &motion);
  const VecX v = motion.v_star;
  const auto expect_others = [&](int left) {
    for (int i = 0; i < 4; ++i) {
      if (i == left) continue;
      EXPECT_EQ(part(motion.v_star, i, 4), part(v, i, 4)) << i;
    }
  };
  motion.A.setConstant(7);
  const std::vector<char> asleep = {0, 1, 0, 0};
  calc_free_motion(model, state, {}, 0.01, theta, {.asleep = asleep}, &motion);
  EXPECT_TRUE(part(motion.v_star, 1, 4).isZero(0));
  EXPECT_TRUE((part(motion.A, 1, 4).array() == 7).all());
  EXPECT_FALSE((part(motion.A, 2, 4).array() == 7).any());
  expect_others(1);

  const std::vector<char> unchanged = {1, 1, 0, 1};
  calc_free_motion(model, state, {}, 0.01, theta, {.unchanged = unchanged}, &motion);
  EXPECT_EQ(motion.v_star, v);

  state.control[part(state.control, 0, 4).size() * 2] = std::numeric_limits<double>::quiet_NaN();
  calc_free_motion(model, state, {}, 0.01, theta, &motion);
  EXPECT_FALSE(part(motion.v_star, 2, 4).allFinite());
  EXPECT_FALSE(motion.converged);
  expect_others(2);
}

// The next step finds where a tree is, with the bits that it would compute.
TEST(MotionLanes, AStepFromASavedStateHasTheSameBits) {
  const Model model = compile(copies(humanoid(), 5));
  Random random(2);
  State state = random_state(random, model, 2);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 5; ++i) {
    State saved = state;
    Workspace fresh = make_workspace(model);
    step(model, {0.004}, {}, &saved, &fresh);
    step(model, {0.004}, {}, &state, &workspace);
    EXPECT_EQ(saved.q, state.q) << i;
    EXPECT_EQ(saved.v, state.v) << i;
  }
}

TEST(MotionLanes, FlailingHumanoidsKeepTheirMomentum) {
  Scene scene = copies(humanoid(), 3);
  scene.options.gravity.setZero();
  const Model model = compile(scene);
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::semi_implicit}) {
    Random random(6);
    State state = initial_state(model);
    for (int i = 0; i < 3; ++i)
      state.v.segment<6>(i * state.v.size() / 3) << test::random_vector(random, 1),
          test::random_vector(random, 1);
    Workspace workspace = make_workspace(model);
    ASSERT_EQ(num_in_lanes(workspace.motion), 3);
    const Mechanics start = calc_mechanics(model, state);
    for (int i = 0; i < 2000; ++i) {
      for (int k = 0; k < state.control.size(); ++k) state.control[k] = 0.3 * std::sin(3 * state.time + k);
      step(model, {0.002, integrator}, {}, &state, &workspace);
    }
    const Mechanics end = calc_mechanics(model, state);
    const Vec3 wanted = start.center_of_mass + state.time / total_mass(model) * start.momentum.tail<3>();
    EXPECT_LT((end.momentum - start.momentum).norm(), 1e-10 * start.momentum.norm());
    EXPECT_LT((end.center_of_mass - wanted).norm(), 1e-10);
  }
}

}  // namespace
}  // namespace capstan::motion_lanes_test
