#include "capstan/dynamics/forces.h"

#include <gtest/gtest.h>

#include "capstan/step/step.h"
#include "tests/support/random_scene.h"

namespace capstan::forces_test {
namespace {

using test::Random;

// Two branches, coupled by a tendon with a spring, a damper and a PD actuator on it.
Scene hand() {
  Scene scene;
  Random random(4);
  for (const char* name : {"palm", "finger", "thumb"}) {
    Body body;
    body.name = name;
    body.parent = std::string(name) == "palm" ? kWorld : "palm";
    body.pose.position = Vec3(0.1, 0, 0);
    body.inertia = test::random_inertia(random);
    Joint joint;
    joint.name = std::string(name) + "_joint";
    joint.axis = Vec3(0, 1, 0);
    body.joints.push_back(joint);
    scene.bodies.push_back(body);
  }
  Tendon tendon;
  tendon.name = "tendon";
  tendon.terms = {{"finger_joint", 0.5}, {"thumb_joint", -0.3}};
  tendon.stiffness = 40;
  tendon.damping = 2;
  tendon.spring_rest = {-0.001, 0.001};
  scene.tendons.push_back(tendon);
  Actuator pd;
  pd.name = "pd";
  pd.tendon = "tendon";
  pd.gain = 100;
  pd.bias = Vec3(0, -100, -5);
  pd.control = 0.1;
  scene.actuators.push_back(pd);
  return scene;
}

TEST(Forces, GradientMatchesFiniteDifferences) {
  Random random(2);
  for (int trial = 0; trial < 30; ++trial) {
    const Model model = compile(trial == 0 ? hand() : test::random_scene(random, 6));
    const int n = model.num_velocities();
    if (n == 0) continue;
    State s = test::random_state(random, model, 1);
    // Rotation springs are differentiated at their rest, where the approximation K = k 1 is exact.
    for (const ModelJoint& joint : model.joints) {
      if (joint.type == JointType::ball) s.q.segment<4>(joint.q) = Vec4(1, 0, 0, 0);
      if (joint.type == JointType::free) s.q.segment<7>(joint.q) = model.initial.q.segment<7>(joint.q);
    }
    ForceGradient gradient = make_force_gradient(model), scratch = make_force_gradient(model);
    VecX tau(n), plus(n), minus(n);
    calc_forces(model, s.q, s.v, s.control, &tau, &gradient);
    MatX K = gradient.stiffness.asDiagonal(), D = gradient.damping.asDiagonal();
    for (const auto& term : gradient.terms) {
      for (const auto& i : term.transmission->terms) {
        for (const auto& j : term.transmission->terms) {
          K(i.dof, j.dof) += term.stiffness * i.coefficient * j.coefficient;
          D(i.dof, j.dof) += term.damping * i.coefficient * j.coefficient;
        }
      }
    }
    const double h = 1e-6;
    for (int k = 0; k < n; ++k) {
      VecX q = s.q;
      move(model, s.q, VecX::Unit(n, k), h, &q);
      calc_forces(model, q, s.v, s.control, &plus, &scratch);
      move(model, s.q, VecX::Unit(n, k), -h, &q);
      calc_forces(model, q, s.v, s.control, &minus, &scratch);
      EXPECT_LT(((plus - minus) / (2 * h) + K.col(k)).norm(), 1e-7 * (1 + K.norm())) << trial;
      calc_forces(model, s.q, s.v + h * VecX::Unit(n, k), s.control, &plus, &scratch);
      calc_forces(model, s.q, s.v - h * VecX::Unit(n, k), s.control, &minus, &scratch);
      EXPECT_LT(((plus - minus) / (2 * h) + D.col(k)).norm(), 1e-7 * (1 + D.norm())) << trial;
    }
  }
}

// Potential energy and force of springs agree: dE = -tau . dq.
TEST(Forces, SpringsAreTheGradientOfTheirEnergy) {
  Random random(8);
  for (int trial = 0; trial < 30; ++trial) {
    Scene scene = test::random_scene(random, 6);
    for (Body& body : scene.bodies) {
      for (Joint& joint : body.joints) joint.damping = 0;
    }
    const Model model = compile(scene);
    const int n = model.num_velocities();
    if (n == 0) continue;
    const State s = test::random_state(random, model, 0);
    ForceGradient gradient = make_force_gradient(model);
    VecX tau(n), q = s.q;
    calc_forces(model, s.q, VecX::Zero(n), s.control, &tau, &gradient);
    for (int k = 0; k < n; ++k) {
      const double h = 1e-6;
      move(model, s.q, VecX::Unit(n, k), h, &q);
      const double plus = calc_spring_energy(model, q);
      move(model, s.q, VecX::Unit(n, k), -h, &q);
      EXPECT_NEAR((plus - calc_spring_energy(model, q)) / (2 * h), -tau[k], 1e-7 * (1 + std::abs(tau[k])))
          << trial;
    }
  }
}

TEST(Forces, ATendonAcrossBranchesIsImplicitInA) {
  const Model model = compile(hand());
  EXPECT_TRUE(model.trees[0].coupled);
  State s = initial_state(model);
  s.q[1] = 0.1;  // stretches the tendon beyond its slack
  Motion motion = make_motion(model);
  const double dt = 0.01;
  calc_free_motion(model, s, {}, dt, scheme(Integrator::semi_implicit), &motion);
  MatX A(3, 3), M(3, 3);
  expand(model.system_pattern, motion.A.data(), 0, 3, A);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values(model.pattern.num_values());
  calc_mass_matrix(model, motion.placement, &workspace, &values);
  expand(model.pattern, values.data(), 0, 3, M);
  const Vec3 c(0, 0.5, -0.3);
  const double stiffness = 100 + 40, damping = 5 + 2;
  EXPECT_LT((A - M - (dt * dt * stiffness + dt * damping) * c * c.transpose()).norm(), 1e-12 * A.norm());
  EXPECT_LT(motion.residual, 1e-12);
}

// v* where tendons begin to act, cease to, or go from one end of their slack to the other within a step, and
// actuators reach the limits of their force, against the momentum balance written out.
TEST(Forces, TheFreeMotionBalancesForcesThatSetInOnTheWay) {
  Scene scene = hand();
  scene.options.conserve_momentum = false;
  scene.actuators[0].tendon.clear();
  scene.actuators[0].joint = "palm_joint";
  scene.actuators[0].force_range = {-2, 2};
  scene.bodies[1].joints[0].stiffness = 3;
  scene.bodies[2].joints[0].damping = 0.2;
  const Model model = compile(scene);
  Motion motion = make_motion(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  ForceGradient gradient = make_force_gradient(model);
  ASSERT_TRUE(is_piecewise_linear(model, gradient.all));
  Random random(5);
  const double dt = 0.01;
  int changes = 0, jumps = 0, saturated = 0;
  for (int trial = 0; trial < 500; ++trial) {
    State s = initial_state(model);
    for (int k = 0; k < 3; ++k)
      s.q[k] = test::uniform(random, -0.01, 0.01), s.v[k] = test::uniform(random, -1, 1);
    s.control[0] = test::uniform(random, -0.01, 0.01);
    calc_free_motion(model, s, {}, dt, scheme(Integrator::semi_implicit), &motion);
    VecX values(model.pattern.num_values()), bias(3), tau(3), q = s.q;
    MatX M(3, 3);
    calc_mass_matrix(model, motion.placement, &workspace, &values);
    expand(model.pattern, values.data(), 0, 3, M);
    // Velocity terms at the mean of old and new velocities, unless these change by more than there is.
    Velocity velocity = make_velocity(model);
    calc_velocity(model, motion.placement, 0.5 * (s.v + motion.v_star), &velocity);
    VecX bias_at_start(3);
    calc_inverse_dynamics(model, motion.placement, velocity, nullptr, &workspace, &bias);
    calc_inverse_dynamics(model, motion.placement, motion.velocity, nullptr, &workspace, &bias_at_start);
    calc_forces(model, s.q, s.v, s.control, &tau, &gradient);
    const int before = gradient.terms[0].side;
    move(model, s.q, motion.v_star, dt, &q);
    calc_forces(model, q, motion.v_star, s.control, &tau, &gradient);
    // The spring of a slow joint keeps its energy: it is taken at q0 + dt (v - v0) / 4.
    tau[1] += 3 * (q[1] - s.q[1] - dt * (motion.v_star[1] - s.v[1]) / 4);
    const int after = gradient.terms[0].side;
    changes += before != after, jumps += before * after < 0, saturated += gradient.terms[1].side != 0;
    const auto off = [&](const VecX& terms) -> double {
      return (M * (motion.v_star - s.v) + dt * (terms - tau)).norm();
    };
    // They are found to 1e-9 of the velocities.
    EXPECT_LT(std::min(off(bias), 1e3 * off(bias_at_start)),
              1e-9 * ((M * s.v).norm() + dt * gradient.magnitude.norm()))
        << trial;
  }
  EXPECT_GT(changes, 50);
  EXPECT_GT(jumps, 20);
  EXPECT_GT(saturated, 50);
  EXPECT_LT(saturated, 450);
}

TEST(Forces, OfMotorsAreTheSameWhenAskedAgain) {
  Scene scene = hand();
  scene.actuators[0].bias = Vec3(0.1, 0, 0);
  scene.actuators[0].force_range = {-2, 2};
  scene.bodies[1].joints[0].effort_limit = 0.5;
  const Model model = compile(scene);
  ForceGradient gradient = make_force_gradient(model), fresh = make_force_gradient(model);
  ASSERT_TRUE(gradient.all.has_motors_only);
  Random random(6);
  int limited = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const State a = test::random_state(random, model, 1), b = test::random_state(random, model, 1);
    const VecX control = VecX::Constant(1, test::uniform(random, -0.03, 0.03));
    VecX tau(3), expected(3);
    calc_forces(model, gradient.all, a.q, a.v, control, &tau, &gradient);
    calc_forces(model, gradient.all, b.q, b.v, control, &tau, &gradient, true);
    calc_forces(model, fresh.all, b.q, b.v, control, &expected, &fresh);
    EXPECT_EQ(tau, expected) << trial;
    EXPECT_EQ(gradient.saturated, fresh.saturated) << trial;
    limited += fresh.saturated[1] != 0;
  }
  EXPECT_GT(limited, 20);
  EXPECT_LT(limited, 80);
}

// PD control with an effort limit: saturated it pushes with the limit exactly, and Newton finds the switch.
TEST(Forces, EffortAndForceLimitsHold) {
  for (const bool by_joint : {true, false}) {
    Scene scene;
    scene.options.gravity.setZero();
    Body body;
    body.name = "cart";
    body.inertia = Inertia{2, Vec3::Zero(), Mat3::Identity()};
    Joint joint;
    joint.name = "rail";
    joint.type = JointType::prismatic;
    joint.axis = Vec3(1, 0, 0);
    if (by_joint) joint.effort_limit = 3;
    body.joints.push_back(joint);
    scene.bodies.push_back(body);
    Actuator pd;
    pd.name = "pd";
    pd.joint = "rail";
    pd.gain = 1e4;
    pd.bias = Vec3(0, -1e4, -3e4);  // 3 s of closing in: it does not overshoot while saturated
    if (!by_joint) pd.force_range = {-3, 3};
    pd.control = 1;
    scene.actuators.push_back(pd);
    const Model model = compile(scene);
    for (const Integrator i : {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
      State s = initial_state(model);
      Workspace workspace = make_workspace(model);
      for (int k = 0; k < 10; ++k) step(model, {0.01, i}, {}, &s, &workspace);
      EXPECT_NEAR(s.v[0], 10 * 0.01 * 3 / 2, 1e-12) << integrator_name(i);
      for (int k = 0; k < 3000; ++k) step(model, {0.01, i}, {}, &s, &workspace);
      EXPECT_NEAR(s.q[0], 1, 1e-3) << integrator_name(i);
    }
  }
}

TEST(Forces, AnActuatorOnABallJointPullsToItsTarget) {
  Scene scene;
  scene.options.gravity.setZero();
  Body body;
  body.name = "head";
  body.inertia = Inertia{1, Vec3::Zero(), 0.1 * Mat3::Identity()};
  Joint joint;
  joint.name = "neck";
  joint.type = JointType::ball;
  joint.damping = 1;
  body.joints.push_back(joint);
  scene.bodies.push_back(body);
  Actuator pd;
  pd.name = "turn";
  pd.joint = "neck";
  pd.gear << 0, 0, 1, 0, 0, 0;
  pd.gain = 10;
  pd.bias = Vec3(0, -10, 0);
  pd.control = 0.5;
  scene.actuators.push_back(pd);
  const Model model = compile(scene);
  State s = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int k = 0; k < 2000; ++k) step(model, {0.01, Integrator::semi_implicit}, {}, &s, &workspace);
  EXPECT_NEAR(2 * std::atan2(s.q[3], s.q[0]), 0.5, 1e-6);
}

}  // namespace
}  // namespace capstan::forces_test
