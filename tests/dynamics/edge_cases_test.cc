// Corners of the dynamics: gravity compensation, forces on floating roots, saturated dofs under tendons,
// nothing that moves, extreme masses and time steps, wrong sizes of inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/step/step.h"
#include "tests/support/random_scene.h"

namespace capstan::edge_cases_test {
namespace {

constexpr Integrator kAll[] = {Integrator::explicit_euler, Integrator::symplectic_euler,
                               Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint};

Body make_body(const std::string& name, const std::string& parent, std::optional<JointType> type,
               const Vec3& com = Vec3(0.1, 0.05, -0.1)) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.inertia = Inertia{1, com, Mat3(Vec3(0.02, 0.03, 0.04).asDiagonal())};
  if (type) {
    Joint joint;
    joint.name = name + "_joint";
    joint.type = *type;
    joint.axis = Vec3(0, 1, 0);
    body.joints.push_back(joint);
  }
  return body;
}

// dv/dt by the articulated-body algorithm, with the joint forces.
VecX acceleration(const Model& model, const State& s) {
  const int n = model.num_velocities();
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  TreeWorkspace tree = make_tree_workspace(model);
  ForceGradient gradient = make_force_gradient(model);
  VecX tau(n), a(n);
  calc_placement(model, s.q, &placement);
  calc_velocity(model, placement, s.v, &velocity);
  calc_forces(model, s.q, s.v, s.control, &tau, &gradient);
  calc_forward_dynamics(model, placement, velocity, tau, &tree, &a);
  return a;
}

State run(const Model& model, Integrator integrator, double dt, double duration) {
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const int steps = static_cast<int>(std::lround(duration / dt));
  for (int i = 0; i < steps; ++i) step(model, {dt, integrator}, {}, &state, &workspace);
  return state;
}

// Order from differences of successive halvings: needs no reference solution.
double self_order(const Model& model, Integrator integrator, double dt, double duration) {
  const State a = run(model, integrator, dt, duration), b = run(model, integrator, dt / 2, duration),
              c = run(model, integrator, dt / 4, duration);
  VecX ab(model.num_velocities()), bc(model.num_velocities());
  difference(model, a.q, b.q, &ab);
  difference(model, b.q, c.q, &bc);
  return std::log2(ab.norm() / bc.norm());
}

// A floating body of which one end does not feel gravity is turned by it: the momentum balance must see the
// moment about the centre of mass. Also with a joint in between.
TEST(EdgeCases, GravityCompensationTurnsAFloatingTree) {
  for (const bool jointed : {false, true}) {
    Scene scene;
    scene.bodies = {make_body("heavy", kWorld, JointType::free),
                    make_body("light", "heavy", jointed ? std::optional(JointType::revolute) : std::nullopt)};
    scene.bodies[1].pose.position = Vec3(1, 0, 0);
    scene.bodies[1].gravity_compensated = true;
    const Model model = compile(scene);
    const State start = initial_state(model);
    const VecX a = acceleration(model, start);
    EXPECT_GT(a.segment<3>(3).norm(), 1);  // [rad/s^2] it does turn
    for (const Integrator i : kAll) {
      const double dt = 1e-7;
      const State end = run(model, i, dt, dt);
      EXPECT_LT((end.v / dt - a).norm(), 1e-5 * a.norm()) << integrator_name(i) << " jointed " << jointed;
    }
    EXPECT_NEAR(self_order(model, Integrator::midpoint, 2e-3, 0.5), 2, 0.15) << jointed;
    EXPECT_NEAR(self_order(model, Integrator::semi_implicit, 1e-3, 0.5), 1, 0.15) << jointed;
  }
}

// A body fully compensated floats without falling or turning.
TEST(EdgeCases, AFullyCompensatedBodyStaysWhereItIs) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::free), make_body("b", "a", JointType::ball)};
  for (Body& body : scene.bodies) body.gravity_compensated = true;
  const Model model = compile(scene);
  for (const Integrator i : kAll) EXPECT_LT(run(model, i, 0.01, 1).v.norm(), 1e-12) << integrator_name(i);
  EXPECT_EQ(calc_mechanics(model, initial_state(model)).gravity, 0);
}

// A free root on a spring, its centre of mass off its origin: the spring force is at the place where the
// scheme evaluates it, or midpoint is of first order only.
TEST(EdgeCases, MidpointIsOfSecondOrderWithForcesOnAFloatingRoot) {
  for (const bool two : {false, true}) {
    Scene scene;
    scene.bodies = {make_body("root", kWorld, JointType::free, Vec3(0.2, 0.1, -0.3))};
    if (two) scene.bodies.push_back(make_body("arm", "root", JointType::revolute));
    scene.bodies[0].joints[0].stiffness = 20;
    scene.bodies[0].joints[0].damping = 0.2;
    scene.initial.v["root_joint"] = {1, -2, 0.5, 2, 1, -3};
    const Model model = compile(scene);
    EXPECT_NEAR(self_order(model, Integrator::midpoint, 4e-3, 0.6), 2, 0.15) << two;
  }
}

// The effort limit bounds actuators, not tendons: a stiff passive tendon on a saturated dof stays implicit.
TEST(EdgeCases, ATendonOnASaturatedDofStaysImplicit) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies = {make_body("cart", kWorld, JointType::prismatic)};
  scene.bodies[0].joints[0].effort_limit = 1;
  Tendon tendon;
  tendon.name = "rope";
  tendon.terms = {{"cart_joint", 1}};
  tendon.stiffness = 1e6;
  tendon.damping = 1e3;
  scene.tendons.push_back(tendon);
  Actuator motor;
  motor.name = "motor";
  motor.joint = "cart_joint";
  motor.control = 50;  // the limit holds: 1 N
  scene.actuators.push_back(motor);
  const Model model = compile(scene);
  State s = initial_state(model);
  s.q[0] = 0.01;
  Motion motion = make_motion(model);
  const double dt = 0.01;
  calc_free_motion(model, s, {}, dt, scheme(Integrator::semi_implicit), &motion);
  EXPECT_NEAR(motion.A[0], 1 + dt * dt * 1e6 + dt * 1e3, 1e-9);
  EXPECT_LE(motion.iterations, 2);
  for (const Integrator i : {Integrator::semi_implicit, Integrator::implicit_euler}) {
    EXPECT_NEAR(run(model, i, dt, 2).q[0], 1e-6, 1e-12) << integrator_name(i);  // 1 N on 1e6 N/m
  }
}

// A position gain has nothing to act on at a free joint: its velocity gain must still be implicit, and the
// step must not fail for a stiffness that is not there.
TEST(EdgeCases, APdActuatorOnAFreeJointDampsOnly) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies = {make_body("a", kWorld, JointType::free, Vec3::Zero())};
  scene.initial.v["a_joint"] = {1, 0, 0, 0, 0, 0};
  Actuator pd;
  pd.name = "pd";
  pd.joint = "a_joint";
  pd.gain = 0;
  pd.bias = Vec3(0, -1e6, -10);
  scene.actuators.push_back(pd);
  const Model model = compile(scene);
  const State s = run(model, Integrator::semi_implicit, 0.01, 0.01);
  EXPECT_NEAR(s.v[0], 1 / (1 + 0.01 * 10), 1e-14);
}

// Which springs act must be told apart exactly: with these numbers a weighted sum could not.
TEST(EdgeCases, TheSignatureTellsWhichTendonActs) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::prismatic), make_body("b", kWorld, JointType::prismatic)};
  const auto add = [&](const char* name, const char* joint, double stiffness) {
    Tendon tendon;
    tendon.name = name;
    tendon.terms = {{joint, 1}};
    tendon.stiffness = stiffness;
    tendon.spring_rest = {-1, 1};
    scene.tendons.push_back(tendon);
  };
  add("first", "a_joint", 3);
  add("second", "b_joint", 2);
  const Model model = compile(scene);
  ForceGradient gradient = make_force_gradient(model);
  VecX tau(2);
  const auto signature_at = [&](double a, double b) {
    calc_forces(model, Vec2(a, b), VecX::Zero(2), VecX::Zero(0), &tau, &gradient);
    return signature(gradient, gradient.all);
  };
  EXPECT_EQ(signature_at(2, 0), signature_at(3, 0));
  EXPECT_NE(signature_at(2, 0), signature_at(0, 2));
  EXPECT_NE(signature_at(2, 0), signature_at(0, 0));
}

TEST(EdgeCases, NothingThatMovesStepsThroughTime) {
  for (const bool fixed_body : {false, true}) {
    Scene scene;
    if (fixed_body) scene.bodies = {make_body("post", kWorld, std::nullopt)};
    const Model model = compile(scene);
    for (const Integrator i : kAll) {
      const State s = run(model, i, 0.01, 0.1);
      EXPECT_EQ(s.step, 10);
      EXPECT_NEAR(s.time, 0.1, 1e-15);
    }
    EXPECT_EQ(calc_mechanics(model, initial_state(model)).total(), 0);
  }
}

// Twelve decades of mass and of time step: a falling and turning body has its exact velocity.
TEST(EdgeCases, MassesAndTimeStepsOfAnySizeFall) {
  for (const double mass : {1e-9, 1e-3, 1e9}) {
    for (const double dt : {1e-9, 1e-3, 10.0}) {
      Scene scene;
      scene.bodies = {make_body("a", kWorld, JointType::free), make_body("b", kWorld, JointType::prismatic)};
      for (Body& body : scene.bodies) {
        body.inertia->mass *= mass;
        body.inertia->about_com *= mass;
      }
      scene.bodies[1].joints[0].axis = Vec3(0, 0, 1);
      const Model model = compile(scene);
      for (const Integrator i : kAll) {
        const State s = run(model, i, dt, 3 * dt);
        EXPECT_NEAR(s.v[2], -3 * dt * 9.81, 1e-12 * dt * 30)
            << mass << " " << dt << " " << integrator_name(i);
        EXPECT_NEAR(s.v[6], -3 * dt * 9.81, 1e-12 * dt * 30)
            << mass << " " << dt << " " << integrator_name(i);
      }
    }
  }
}

// A gram on a tonne on a gram: the mass matrix keeps enough digits that inverse dynamics undoes forward
// dynamics.
TEST(EdgeCases, MassRatiosOfAMillion) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::revolute), make_body("b", "a", JointType::ball),
                  make_body("c", "b", JointType::revolute)};
  for (const int i : {0, 2}) {
    scene.bodies[i].inertia->mass *= 1e-6;
    scene.bodies[i].inertia->about_com *= 1e-6;
  }
  const Model model = compile(scene);
  test::Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const State s = test::random_state(random, model, 2);
    const VecX a = acceleration(model, s);
    Motion motion = make_motion(model);
    calc_free_motion(model, s, {}, 1e-7, scheme(Integrator::symplectic_euler), &motion);
    EXPECT_LT(((motion.v_star - s.v) / 1e-7 - a).norm(), 1e-6 * (1 + a.norm())) << trial;
  }
}

// Rotors on a free joint: reflected inertia adds to M, the momentum correction stands back, order stays.
TEST(EdgeCases, RotorsOnAFreeJoint) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::free)};
  scene.bodies[0].joints[0].rotor_inertia = 0.5;
  scene.initial.v["a_joint"] = {0, 0, 0, 1, 2, 3};
  const Model model = compile(scene);
  EXPECT_FALSE(conserves_momentum(model, 0));
  EXPECT_NEAR(self_order(model, Integrator::midpoint, 4e-3, 0.5), 2, 0.15);
  const VecX a = acceleration(model, initial_state(model));
  EXPECT_LT((run(model, Integrator::semi_implicit, 1e-7, 1e-7).v - initial_state(model).v - 1e-7 * a).norm(),
            1e-5 * 1e-7 * a.norm());
}

// A tendon over two trees pulls both with opposite forces (its damping is not in A: the step is small).
TEST(EdgeCases, ATendonAcrossTreesPullsBoth) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies = {make_body("a", kWorld, JointType::prismatic), make_body("b", kWorld, JointType::prismatic)};
  Tendon tendon;
  tendon.name = "spring";
  tendon.terms = {{"a_joint", 1}, {"b_joint", -1}};
  tendon.stiffness = 50;
  scene.tendons.push_back(tendon);
  scene.initial.q["a_joint"] = {0.1};
  const Model model = compile(scene);
  for (const Integrator i : kAll) {
    const State s = run(model, i, 1e-4, 0.2);
    // Two masses of 1 kg: the stretch oscillates with omega^2 = 2 k.
    EXPECT_NEAR(s.q[0] - s.q[1], 0.1 * std::cos(10 * 0.2), 1e-3) << integrator_name(i);
    EXPECT_NEAR(s.q[0] + s.q[1], 0.1, 1e-12) << integrator_name(i);
  }
}

TEST(EdgeCases, InputsOfTheWrongSizeAreRefused) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::free)};
  const Model model = compile(scene);
  Workspace workspace = make_workspace(model);
  const auto refused = [&](const Input& input, const State& start, const char* fragment) {
    State s = start;
    try {
      step(model, {0.01, Integrator::semi_implicit}, input, &s, &workspace);
      ADD_FAILURE() << "accepted: " << fragment;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(fragment), std::string::npos) << e.what();
    }
    EXPECT_EQ(s.step, 0);
  };
  const State good = initial_state(model);
  Input input;
  input.generalized_force = VecX::Zero(5);
  refused(input, good, "generalized_force has 5 numbers; the model has 6 dofs");
  input = {};
  input.body_forces.push_back({2, Vec3::Zero(), Vec3(1, 0, 0), Vec3::Zero()});
  refused(input, good, "a force acts on body 2; the model has bodies 0 to 1");
  State bad = good;
  bad.v = VecX::Zero(7);
  refused({}, bad, "the state has 7 positions, 7 velocities and 0 controls; the model has 7, 6 and 0");
}

TEST(EdgeCases, AForceThatIsNotFiniteFailsTheStepAndNamesTheJoint) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::free), make_body("b", kWorld, JointType::revolute)};
  const Model model = compile(scene);
  for (const Integrator i : kAll) {
    State s = initial_state(model);
    Workspace workspace = make_workspace(model);
    Input input;
    input.generalized_force = VecX::Zero(7);
    input.generalized_force[6] = NAN;
    const std::uint64_t before = hash(s);
    try {
      step(model, {0.01, i}, input, &s, &workspace);
      ADD_FAILURE() << "accepted by " << integrator_name(i);
    } catch (const StepFailure& e) {
      EXPECT_NE(std::string(e.what()).find("joint 'b_joint' of body 'b'"), std::string::npos) << e.what();
    }
    EXPECT_EQ(hash(s), before);
  }
}

// The closed form for a lone body against the general way, which a damper of no strength asks for.
TEST(FreeBody, IsWhatTheGeneralWayGives) {
  test::Random random(7);
  for (const double spin : {0.0, 1e-6, 1.0, 100.0}) {
    for (const bool even : {false, true}) {
      for (const Integrator integrator :
           {Integrator::explicit_euler, Integrator::symplectic_euler, Integrator::semi_implicit}) {
        Body body = make_body("body", kWorld, JointType::free, Vec3::Zero());
        if (even) body.inertia->about_com = 0.03 * Mat3::Identity();
        if (!even) body.inertia->about_com(0, 1) = body.inertia->about_com(1, 0) = 0.004;
        body.pose.quat_wxyz = test::random_quat(random);
        Scene scene;
        scene.bodies.push_back(body);
        const Model lone = compile(scene);
        scene.bodies[0].joints[0].damping = 1e-300;
        const Model damped = compile(scene);
        State state = initial_state(lone);
        state.q.segment<4>(3) = test::random_quat(random);
        state.v << test::random_vector(random, 1), test::random_vector(random, spin);
        Input input;
        input.generalized_force = VecX::Zero(6);
        input.generalized_force << test::random_vector(random, 1), test::random_vector(random, 1);
        Motion a = make_motion(lone), b = make_motion(damped);
        calc_free_motion(lone, state, input, 0.01, scheme(integrator), &a);
        calc_free_motion(damped, state, input, 0.01, scheme(integrator), &b);
        EXPECT_LT((a.v_star - b.v_star).norm(), 1e-13 * (1 + b.v_star.norm()));
        EXPECT_LT((a.A - b.A).norm(), 1e-14 * b.A.norm());
        EXPECT_LT((a.A_factor - b.A_factor).norm(), 1e-14 * b.A_factor.norm());
      }
    }
  }
}

}  // namespace
}  // namespace capstan::edge_cases_test
