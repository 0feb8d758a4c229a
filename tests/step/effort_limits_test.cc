// PD actuators with limits of force in the same optimization problem as contact: the limit holds for the
// motion that contact leaves, not for the one there would be without it (dynamics/drives.h).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "capstan/io/read.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/plain_solvers.h"
#include "tests/support/random_problem.h"
#include "tests/support/scene_text.h"

namespace capstan::effort_limits_test {
namespace {

using test::make_shape;
using test::Random;
using test::Simulation;
using test::StepProblem;
using test::uniform;

enum class Limit { none, of_actuator, of_joint };

// A cart of 1 kg on a rail along x with a PD actuator; no gravity.
Scene cart(double stiffness, double damping, double target, Limit limit, double force) {
  Scene scene;
  scene.options.gravity.setZero();
  Body body;
  body.name = "cart";
  Joint rail;
  rail.name = "rail";
  rail.type = JointType::prismatic;
  rail.axis = Vec3(1, 0, 0);
  if (limit == Limit::of_joint) rail.effort_limit = force;
  body.joints = {rail};
  scene.bodies = {body};
  scene.shapes = {make_shape("cart", "cart", Box{Vec3::Constant(0.05)}, 1)};
  Actuator pd;
  pd.name = "pd";
  pd.joint = "rail";
  pd.gain = stiffness;
  pd.bias = Vec3(0, -stiffness, -damping);
  pd.control = target;
  if (limit == Limit::of_actuator) pd.force_range = {-force, force};
  scene.actuators = {pd};
  return scene;
}

// The impulse that the constraints of the last step gave to each dof.
VecX constraint_impulse(const Simulation& run) {
  const Problem& problem = run.workspace.problem;
  VecX sum = VecX::Zero(run.model.num_velocities());
  for (const ConstraintGroup& group : problem.groups) {
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const Tree& tree = run.model.trees[problem.parts[p].block];
        const auto J = problem.jacobian(group, problem.parts[p]);
        sum.segment(tree.dof_begin, tree.num_dofs()) +=
            (problem.X[i].leftCols(group.num_rows) * J).transpose() * run.workspace.newton.impulse[i];
      }
    }
  }
  return sum;
}

// A stiff PD holds the cart at its place when a ball of 100 kg comes at 3 m/s. What the actuator gave in each
// step is what the cart's momentum changed by, less what the contact gave: never more than the limit allows,
// also in the step of the impact, before which the actuator had nothing to do.
TEST(EffortLimits, HoldInEveryStepOfAnImpact) {
  constexpr double kLimit = 50;
  for (const Limit limit : {Limit::of_actuator, Limit::of_joint}) {
    for (const ContactLaw law : test::kLaws) {
      Scene scene = cart(1e6, 1e3, 0, limit, kLimit);
      scene.bodies.push_back(test::free_body("ball", {0.2, 0, 0}));
      scene.shapes.push_back(make_shape("ball", "ball", Sphere{0.1}, 100));
      Simulation run(scene, 0.005, law);
      run.options.newton.relative_tolerance =
          1e-10;  // of the ball's 300 N s; it is read off the balance of momentum
      run.state.v[1] = -3;
      double most = 0;
      for (int k = 0; k < 100; ++k) {
        const double before = run.state.v[0];
        run.go(run.options.dt);
        const double force = (run.state.v[0] - before - constraint_impulse(run)[0]) / run.options.dt;
        EXPECT_LT(std::abs(force), kLimit * (1 + 1e-6)) << "step " << k;
        most = std::max(most, std::abs(force));
      }
      EXPECT_GT(most, 0.999 * kLimit);
      EXPECT_LT(run.state.q[0], -0.1);  // pushed away
    }
  }
}

// The target is 1 mm within a wall: free, the actuator would stop there with less than its limit; held back
// by the wall it would push with 1000 N if it could.
TEST(EffortLimits, PushAgainstAWallWithTheLimit) {
  constexpr double kLimit = 100;
  for (const Limit limit : {Limit::of_actuator, Limit::of_joint}) {
    Scene scene = cart(1e6, 1e3, 0.001, limit, kLimit);
    scene.shapes.push_back(make_shape("wall", kWorld, HalfSpace{}));
    scene.shapes.back().pose = {Vec3(0.05, 0, 0), Vec4(std::sqrt(0.5), 0, -std::sqrt(0.5), 0)};  // z to -x
    scene.materials = {Material{}};
    scene.materials[0].name = "default";
    scene.materials[0].stiffness = 1e9;
    Simulation run(scene, 0.005, ContactLaw::lagged);
    run.options.newton.relative_tolerance = 1e-10;
    run.go(1);
    EXPECT_NEAR(constraint_impulse(run)[0] / run.options.dt, -kLimit, 1e-6 * kLimit);
    EXPECT_LT(std::abs(run.state.v[0]), 1e-9);
    EXPECT_NEAR(run.state.q[0], kLimit / (4 * 5e8), 1e-9);  // four corners, two surfaces in series
  }
}

// A stop of the joint is a wall, too, and the cart hits it at 10 m/s.
TEST(EffortLimits, HoldAtAStopOfTheJoint) {
  constexpr double kLimit = 20;
  Scene scene = cart(1e5, 1e2, 0.01, Limit::of_actuator, kLimit);
  scene.bodies[0].joints[0].limits = {{-1, 0}};
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.state.q[0] = -0.05;
  run.state.v[0] = 10;
  for (int k = 0; k < 500; ++k) {
    const double before = run.state.v[0];
    run.go(run.options.dt);
    double stop = 0;
    for (std::size_t i = 0; i < run.workspace.problem.dof_laws.size(); ++i) {
      const DofLaw& law = run.workspace.problem.dof_laws[i];
      if (std::isinf(law.law.upper)) stop += law.sign * run.workspace.newton.dof_impulse[i];
    }
    const double force = (run.state.v[0] - before - stop) / run.options.dt;
    ASSERT_LT(std::abs(force), kLimit * (1 + 1e-6)) << "step " << k;
    if (k == 499) {
      EXPECT_NEAR(force, kLimit, 1e-6 * kLimit);
    }
  }
  EXPECT_NEAR(run.state.q[0], 0, 1e-5);
}

// Unequal limits, and a gear: the target pulls the cart against a stop on either side, and the stop feels the
// limit of that side times the gear.
TEST(EffortLimits, OfUnequalSizeActThroughTheGear) {
  for (const double gear : {3.0, -0.5}) {
    for (const double side : {-1.0, 1.0}) {
      Scene scene = cart(1e5, 1e2, 0, Limit::none, 0);
      scene.bodies[0].joints[0].limits = {{-0.1, 0.1}};
      scene.actuators[0].gear[0] = gear;
      scene.actuators[0].force_range = {-7, 11};
      scene.actuators[0].control = side * gear;  // the length is gear times q
      Simulation run(scene, 0.005, ContactLaw::lagged);
      run.options.newton.relative_tolerance = 1e-10;
      run.go(3);
      const double along = side * gear > 0 ? 11 : -7;
      double stop = 0;
      for (std::size_t i = 0; i < run.workspace.problem.dof_laws.size(); ++i) {
        const DofLaw& law = run.workspace.problem.dof_laws[i];
        if (std::isinf(law.law.upper)) stop += law.sign * run.workspace.newton.dof_impulse[i];
      }
      EXPECT_NEAR(stop / run.options.dt, -gear * along, 1e-6) << gear << " " << side;
      EXPECT_NEAR(run.state.q[0], side * 0.1, 1e-4);
    }
  }
}

// Each joint with one to three actuators: PD with a range of its own, PD that the effort limit of the joint
// bounds, with a motor or a second PD beside it; joints of every type, with gears.
void add_actuators(Random& random, Scene* scene) {
  for (Body& body : scene->bodies) {
    for (Joint& joint : body.joints) {
      const int kind = static_cast<int>(uniform(random, 0, 4));
      if (kind >= 2) joint.effort_limit = std::pow(10, uniform(random, -1, 1.5));
      for (int i = 0; i < (kind >= 2 ? kind : 1); ++i) {
        Actuator a;
        a.name = joint.name + "_" + std::to_string(i);
        a.joint = joint.name;
        for (double& x : a.gear) x = uniform(random, -2, 2);
        if (joint.effort_limit < kInfinity) a.gear.tail<5>().setZero();
        a.bias = Vec3(uniform(random, -1, 1), -std::pow(10, uniform(random, 0, 4)), -uniform(random, 0, 100));
        a.gain = -a.bias[1];
        a.control = uniform(random, -1, 1);
        if (kind == 3 && i == 0) a.bias.setZero(), a.gain = 3;  // a motor
        if (kind == 1) a.force_range = {-uniform(random, 0, 30), uniform(random, 0, 10)};
        scene->actuators.push_back(a);
      }
    }
  }
}

// A law that never acts marks every tree as constrained: with the drives as constraints the step ends at the
// v* of free motion, whatever the state of each of them.
TEST(EffortLimits, WithoutContactTheStepIsTheFreeMotion) {
  Random random(3);
  int at_lower = 0, inside = 0, at_upper = 0, trials = 0;
  for (int trial = 0; trial < 90; ++trial) {
    Scene scene = test::random_scene(random, 5);
    add_actuators(random, &scene);
    const Model model = compile(scene);
    if (model.num_velocities() == 0) continue;
    const State state = test::random_state(random, model, 0.3);
    const Integrator schemes[] = {Integrator::semi_implicit, Integrator::implicit_euler,
                                  Integrator::midpoint};
    const Scheme theta = scheme(schemes[trial % 3]);
    const double dt = 0.005;
    Motion motion = make_motion(model);
    calc_free_motion(model, state, {}, dt, theta, &motion);
    ASSERT_TRUE(motion.converged) << trial;
    const VecX v_star = motion.v_star;
    Problem problem;
    AssemblyWorkspace assembly;
    assemble(model, {state, {}, motion, {}}, dt, {}, &assembly, &problem);
    ASSERT_EQ(problem.num_constraints(), 0);
    ScalarLaw nothing;
    nothing.lower = nothing.upper = 0;
    for (const Tree& tree : model.trees) problem.dof_laws.push_back({tree.dof_begin, 1, nothing});
    add_drives(state, theta, &motion, &assembly, &problem);
    if (motion.released.empty()) continue;
    ++trials;
    EXPECT_GT((motion.v_star - v_star).norm(), 1e-6);
    for (const ReleasedDrive& r : motion.released) {
      ++(r.impulse < r.lower ? at_lower : r.impulse > r.upper ? at_upper : inside);
    }
    NewtonWorkspace newton = make_newton_workspace(model);
    NewtonOptions options;
    options.relative_tolerance = 1e-14;
    solve_newton(problem, options, &newton);
    EXPECT_LT((newton.v - v_star).norm(), 1e-12 * (1 + motion.v_star.norm())) << trial;
  }
  EXPECT_GT(trials, 60);
  EXPECT_GT(std::min({at_lower, inside, at_upper}), 20);
}

// The force in free motion is kp x / (1 + dt^2 kp / m); a limit a little above, below, and there.
TEST(EffortLimits, BeginAndCeaseWithoutAJump) {
  const double kp = 1e4, dt = 0.005, x = 0.1, force = kp * x / (1 + dt * dt * kp);
  for (const double off : {-1e-3, -1e-15, 0.0, 1e-15, 1e-3}) {
    Scene scene = cart(kp, 0, x, Limit::of_actuator, force * (1 + off));
    scene.bodies[0].joints[0].limits = {{-0.01, kInfinity}};  // near, but the cart goes away from it
    Simulation run(scene, dt, ContactLaw::lagged);
    run.options.newton.relative_tolerance = 1e-14;
    run.go(dt);
    ASSERT_EQ(run.workspace.motion.released.size(), 1);
    EXPECT_NEAR(run.state.v[0], dt * force * (1 + std::min(off, 0.0)), 1e-12) << off;
  }
}

// An arm that presses on the floor, and slides its links over its own stops. A limit that is never reached
// changes nothing.
TEST(EffortLimits, ThatAreNotReachedChangeNothing) {
  for (const char* file : {"/scenes/arm_hand.xml", "/scenes/quadruped.yaml"}) {
    Scene scene = read_scene(std::string(CAPSTAN_SOURCE_DIR) + file);
    for (Body& body : scene.bodies) {
      for (Joint& joint : body.joints) joint.effort_limit = kInfinity;
    }
    for (Actuator& a : scene.actuators) a.force_range = {};
    Simulation unlimited(scene, 0.002, ContactLaw::lagged);
    for (Actuator& a : scene.actuators) a.force_range = {-1e6, 1e6};
    Simulation limited(scene, 0.002, ContactLaw::lagged);
    for (Simulation* run : {&unlimited, &limited}) run->options.newton.relative_tolerance = 1e-12;
    double worst = 0;
    int released = 0;
    for (int k = 0; k < 300; ++k) {
      limited.state = unlimited.state;
      unlimited.go(0.002);
      limited.go(0.002);
      EXPECT_TRUE(unlimited.workspace.motion.released.empty());
      released += static_cast<int>(limited.workspace.motion.released.size());
      worst = std::max(worst, (unlimited.state.v - limited.state.v).norm() / (1 + unlimited.state.v.norm()));
    }
    EXPECT_LT(worst, 1e-10) << file;
    EXPECT_GT(released, 1000) << file;
  }
}

// One row of the plain twin below: gamma = clamp(at_zero - slope u), u = J v.
struct PlainRow {
  VecX J;
  double at_zero, slope, lower, upper;
};

// Every combination of {at its lower bound, between, at its upper bound} is a linear system; the one whose
// answer agrees with the combination is the answer.
VecX solve_by_enumeration(const MatX& A, const VecX& v_star, const std::vector<PlainRow>& rows) {
  std::vector<int> where(rows.size(), 0);  // -1, 0, 1
  VecX best;
  double least = kInfinity;  // of the largest disagreement
  std::function<void(std::size_t, const MatX&, const VecX&)> place = [&](std::size_t i, const MatX& H,
                                                                         const VecX& p) {
    if (i < rows.size()) {
      const PlainRow& r = rows[i];
      where[i] = 0;
      place(i + 1, H + r.slope * r.J * r.J.transpose(), p + r.at_zero * r.J);
      for (const int side : {-1, 1}) {
        const double bound = side < 0 ? r.lower : r.upper;
        where[i] = side;
        if (std::isfinite(bound)) place(i + 1, H, p + bound * r.J);
      }
      return;
    }
    const VecX v = H.ldlt().solve(p);
    double disagreement = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const PlainRow& r = rows[k];
      const double gamma = r.at_zero - r.slope * r.J.dot(v);
      const double off = where[k] < 0   ? gamma - r.lower
                         : where[k] > 0 ? r.upper - gamma
                                        : std::max(r.lower - gamma, gamma - r.upper);
      disagreement = std::max(disagreement, off);
    }
    if (disagreement < least) least = disagreement, best = v;
  };
  place(0, A, A * v_star);
  EXPECT_LT(least, 1e-9);
  return best;
}

// Arms of three joints near their stops: PD with unequal ranges and gears on the joints, one on a tendon over
// two joints; on the first joint a motor beside the PD, within the effort limit of the joint. A and v* of the
// twin come from the same arm without actuators.
TEST(EffortLimits, AgreeWithEnumerationOnArmsAtTheirStops) {
  Random random(11);
  const double dt = 0.005;
  int saturated = 0, linear = 0, stops = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Scene scene;
    for (int i = 0; i < 3; ++i) {
      Body body;
      body.name = "link" + std::to_string(i);
      if (i > 0) body.parent = "link" + std::to_string(i - 1);
      body.pose = {test::random_vector(random, 0.3), test::random_quat(random)};
      body.inertia = test::random_inertia(random);
      Joint joint;
      joint.name = "joint" + std::to_string(i);
      joint.type = i == 2 && trial % 3 == 0 ? JointType::prismatic : JointType::revolute;
      joint.axis = test::random_vector(random, 1);
      joint.limits = {{-0.01, 0.01}};
      body.joints = {joint};
      scene.bodies.push_back(body);
    }
    scene.bodies[0].joints[0].effort_limit = uniform(random, 1, 30);
    Tendon tendon;
    tendon.name = "tendon";
    tendon.terms = {{"joint1", uniform(random, -1, 1)}, {"joint2", uniform(random, -1, 1)}};
    scene.tendons = {tendon};
    const double motor = uniform(random, -20, 20);
    Scene bare = scene;
    for (int i = 0; i < 4; ++i) {
      Actuator a;
      a.name = "pd" + std::to_string(i);
      if (i < 3) a.joint = "joint" + std::to_string(i);
      if (i == 3) a.tendon = "tendon";
      a.gear[0] = uniform(random, -2, 2);
      a.bias = Vec3(0, -std::pow(10, uniform(random, 1, 6)), -std::pow(10, uniform(random, 0, 2)));
      a.gain = -a.bias[1];
      a.control = uniform(random, -0.05, 0.05);
      a.force_range = {-std::pow(10, uniform(random, 0, 2)), std::pow(10, uniform(random, 0, 2))};
      scene.actuators.push_back(a);
    }
    Actuator push;
    push.name = "motor";
    push.joint = "joint0";
    push.control = motor;
    scene.actuators.push_back(push);

    StepProblem s(scene, random, 1e-3, dt, {});  // slow: velocity terms know the drives
    ASSERT_EQ(s.motion.released.size(), 4);
    const Model model = compile(bare);
    State state = initial_state(model);
    state.q = s.state.q;
    state.v = s.state.v;
    Motion motion = make_motion(model);
    calc_free_motion(model, state, {}, dt, scheme(Integrator::semi_implicit), &motion);
    MatX A(3, 3);
    expand(model.system_pattern, motion.A.data(), 0, 3, A);

    std::vector<PlainRow> rows;
    for (const DofLaw& law : s.problem.dof_laws) {  // the stops, of which this test knows no more
      if (!std::isinf(law.law.upper)) continue;
      rows.push_back(
          {law.sign * VecX::Unit(3, law.dof), law.law.v_hat / law.law.R, 1 / law.law.R, 0, kInfinity});
    }
    stops += static_cast<int>(rows.size());
    const std::size_t first_drive = rows.size();
    for (int i = 0; i < 4; ++i) {
      const Actuator& a = scene.actuators[i];
      VecX c = VecX::Zero(3);
      if (i < 3) c[i] = a.gear[0];
      if (i == 3) c << 0, a.gear[0] * tendon.terms[0].coefficient, a.gear[0] * tendon.terms[1].coefficient;
      const double force = a.gain * a.control + a.bias[1] * c.dot(state.q);
      rows.push_back({c, dt * force, -dt * (dt * a.bias[1] + a.bias[2]), dt * a.force_range.lower,
                      dt * a.force_range.upper});
    }
    {  // the first joint: what the motor leaves of the effort limit, told at the actuator
      PlainRow& r = rows[first_drive];
      const double limit = scene.bodies[0].joints[0].effort_limit, gear = scene.actuators[0].gear[0];
      const auto at_actuator = [&](double total) { return (total - motor) / gear; };
      const double a = dt * at_actuator(limit), b = dt * at_actuator(-limit);
      r.lower = std::clamp(r.lower, std::min(a, b), std::max(a, b));
      r.upper = std::clamp(r.upper, std::min(a, b), std::max(a, b));
    }
    const VecX motor_impulse = dt * motor * VecX::Unit(3, 0);
    const VecX expected = solve_by_enumeration(A, motion.v_star + A.ldlt().solve(motor_impulse), rows);
    for (std::size_t i = first_drive; i < rows.size(); ++i) {
      const double gamma = rows[i].at_zero - rows[i].slope * rows[i].J.dot(expected);
      ++(gamma < rows[i].lower || gamma > rows[i].upper ? saturated : linear);
    }
    NewtonOptions options;
    options.relative_tolerance = 1e-12;
    EXPECT_TRUE(s.solve(options).converged) << trial;
    EXPECT_LT((s.newton.v - expected).norm(), 1e-9 * (1 + expected.norm())) << trial;
    EXPECT_LT(calc_residual(s.problem, s.contacts, s.answer()).momentum, 1e-11) << trial;
  }
  EXPECT_GT(saturated, 30);
  EXPECT_GT(linear, 30);
  EXPECT_GT(stops, 200);
}

// A drive over two trees: two carts on rails, and an actuator that closes the gap between them onto a box
// between two pads, each pushed with the limit.
TEST(EffortLimits, OfATendonOverTwoTreesSqueezeWithTheLimit) {
  constexpr double kLimit = 5;
  Scene scene;
  scene.options.gravity.setZero();
  test::add_pads(0.0601, 0.5, &scene);
  scene.bodies.push_back(test::free_body("box", Vec3::Zero()));
  scene.shapes.push_back(make_shape("box", "box", Box{Vec3::Constant(0.05)}, 1));
  Tendon gap;
  gap.name = "gap";
  gap.terms = {{"left", -1}, {"right", 1}};
  scene.tendons = {gap};
  Actuator squeeze;
  squeeze.name = "squeeze";
  squeeze.tendon = "gap";
  squeeze.gain = 2000;
  squeeze.bias = Vec3(0, -2000, -20);
  squeeze.control = -0.01;
  squeeze.force_range = {-kLimit, kLimit};
  scene.actuators = {squeeze};
  Simulation run(scene, 0.002, ContactLaw::lagged);
  ASSERT_EQ(run.model.actuators[0].transmission.tree, -1);
  run.go(2);
  ASSERT_EQ(run.workspace.motion.released.size(), 1);
  const VecX impulse = constraint_impulse(run) / run.options.dt;
  EXPECT_NEAR(impulse[0], -kLimit, 1e-5);
  EXPECT_NEAR(impulse[1], kLimit, 1e-5);
  EXPECT_LT(run.state.v.norm(), 1e-6);
}

// Of two carts of 1 kg that an actuator draws together, one is held by a stop from the first step; the other
// has no constraint but the actuator, which takes it along into the problem: it is pulled with the limit.
TEST(EffortLimits, OfATendonOverTwoTreesPullAFreeTreeWithTheLimit) {
  constexpr double kLimit = 5;
  Scene scene = cart(0, 0, 0, Limit::none, 0);
  scene.bodies.push_back(scene.bodies[0]);
  scene.bodies[1].name = scene.bodies[1].joints[0].name = "right";
  scene.bodies[1].pose.position.x() = 10;
  scene.shapes.push_back(make_shape("right", "right", Box{Vec3::Constant(0.05)}, 1));
  scene.bodies[0].joints[0].limits = {{-1, 0}};
  Tendon gap;
  gap.name = "gap";
  gap.terms = {{"rail", -1}, {"right", 1}};
  scene.tendons = {gap};
  Actuator& pull = scene.actuators[0];
  pull.joint = "";
  pull.tendon = "gap";
  pull.gain = 2000;
  pull.bias = Vec3(0, -2000, -1);
  pull.control = -5;
  pull.force_range = {-kLimit, 3};
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.options.newton.relative_tolerance = 1e-12;
  for (int k = 1; k <= 200; ++k) {
    run.go(run.options.dt);
    ASSERT_EQ(run.workspace.motion.released.size(), 1);
    ASSERT_NEAR(run.state.v[1], -kLimit * k * run.options.dt, 1e-10);
    ASSERT_NEAR(run.state.q[0], 0, 1e-5);
  }
}

// An arm of two links of 1 m and 1 kg, upright elbow, presses its tip on the floor with gains of 1e6 N m/rad
// whose targets are deep below it, for 10 s. It stays, and the floor carries what the torques and the
// weight give: the pose is upper 45 degrees up, lower 45 degrees down, so that J^T f = -tau - weight is
// two equations for two forces.
TEST(EffortLimits, AStiffArmPressesOnTheFloorForTenSeconds) {
  constexpr double kShoulder = 40, kElbow = 15;
  Scene scene;
  for (const char* name : {"upper", "lower"}) {
    Body link;
    link.name = name;
    link.inertia = Inertia{1, Vec3(0.5, 0, 0), Mat3(Vec3(1e-3, 1 / 12.0, 1 / 12.0).asDiagonal())};
    Joint hinge;
    hinge.name = name;
    hinge.axis = Vec3(0, 1, 0);  // positive turns x down
    link.joints = {hinge};
    scene.bodies.push_back(link);
    Actuator pd;
    pd.name = pd.joint = name;
    pd.gain = 1e6;
    pd.bias = Vec3(0, -1e6, -1e3);
    pd.control = name == std::string("upper") ? -std::numbers::pi / 4 + 0.5 : std::numbers::pi / 2 + 0.5;
    const double limit = name == std::string("upper") ? kShoulder : kElbow;
    pd.force_range = {-limit, limit};
    scene.actuators.push_back(pd);
  }
  scene.bodies[1].parent = "upper";
  scene.bodies[1].pose.position = Vec3(1, 0, 0);
  scene.shapes = {make_shape("tip", "lower", Sphere{0.05}), make_shape("floor", kWorld, HalfSpace{})};
  scene.shapes[0].pose.position = Vec3(1, 0, 0);
  scene.shapes[0].has_mass = false;
  scene.shapes[1].pose.position = Vec3(0, 0, -0.05);
  scene.materials = {Material{}};
  scene.materials[0].name = "default";
  scene.materials[0].friction = 2;
  scene.materials[0].stiction_tolerance = 1e-4;
  scene.initial.q = {{"upper", {-std::numbers::pi / 4}}, {"lower", {std::numbers::pi / 2}}};
  Simulation run(scene, 0.005, ContactLaw::lagged);
  for (int k = 0; k < 2000; ++k) {
    run.go(run.options.dt);
    ASSERT_LT(calc_mechanics(run.model, run.state).kinetic, 1e-2) << "step " << k;
  }
  EXPECT_NEAR(run.state.q[0], -std::numbers::pi / 4, 1e-2);
  // Moments of the forces on the tip about the joints, from the pose as it is.
  const double a = -run.state.q[0], b = run.state.q[1] - a;  // angles above and below the horizontal
  const double x1 = std::cos(a), z1 = std::sin(a), x2 = std::cos(b), z2 = -std::sin(b);
  // About y, a force (fx, fz) at (x, z) has the moment z fx - x fz; contact is 5 cm below the tip's centre.
  const double weight = test::kGravity;
  Eigen::Matrix2d arms;
  arms << z1 + z2 - 0.05, -(x1 + x2), z2 - 0.05, -x2;
  const double w1 = weight * (x1 / 2) + weight * (x1 + x2 / 2), w2 = weight * x2 / 2;
  const Eigen::Vector2d f = arms.lu().solve(-Eigen::Vector2d(kShoulder + w1, kElbow + w2));
  ASSERT_EQ(run.workspace.contacts.size(), 1);
  const Vec3 force = run.workspace.problem.R_WC[0] * run.workspace.newton.impulse[0] / run.options.dt;
  const double sign = force.z() > 0 ? 1 : -1;
  EXPECT_NEAR(sign * force.z(), f[1], 1e-3 * f[1]);
  EXPECT_NEAR(sign * force.x(), f[0], 1e-3 * f[1]);
  // It creeps as a sticking contact does (docs/laws.md), and the stiff gains add nothing to it.
  const double q = std::abs(f[0]) / (2 * f[1]), slip = arms.col(0).dot(run.state.v);
  EXPECT_NEAR(std::abs(slip), 1e-4 * q / std::sqrt(1 - q * q), 1e-6);
}

// Bodies thrown into a heap, each with two actuators along and about random directions that resist its motion
// up to a limit: rows over all six dofs of a body, beside contacts. Every law converges, and sap agrees with
// the dual solver.
TEST(EffortLimits, InAHeapAgreeWithTheDual) {
  int compared = 0, saturated = 0, inside = 0;
  for (int i = 0; i < 60; ++i) {
    Random random(i);
    Scene scene = test::random_heap(random, 1 + i % 4, 1);
    scene.materials[0].stiffness = std::pow(10, uniform(random, 3, 7));
    scene.materials[0].friction = 0.6;
    for (const Body& body : scene.bodies) {
      for (int k = 0; k < 2; ++k) {
        Actuator a;
        a.name = body.name + "_" + std::to_string(k);
        a.joint = body.joints[0].name;
        for (double& x : a.gear) x = uniform(random, -1, 1);
        a.bias = Vec3(uniform(random, -5, 5), 0, -std::pow(10, uniform(random, -1, 6)));
        a.force_range = {-std::pow(10, uniform(random, -1, 3)), std::pow(10, uniform(random, -1, 3))};
        scene.actuators.push_back(a);
      }
    }
    ContactOptions options;
    options.law = test::kLaws[i % 4];
    StepProblem s(scene, random, 1, 0.005, options);
    if (s.contacts.size() == 0) continue;
    EXPECT_GT(s.motion.released.size(), 0);
    NewtonOptions newton;
    newton.relative_tolerance = 1e-9;
    EXPECT_TRUE(s.solve(newton).converged) << i;
    EXPECT_LT(calc_residual(s.problem, s.contacts, s.answer()).momentum, 1e-8) << i;
    for (std::size_t k = 0; k < s.problem.laws.size(); ++k) {
      const double gamma = s.newton.law_impulse[k];
      ++(gamma == s.problem.laws[k].lower || gamma == s.problem.laws[k].upper ? saturated : inside);
    }
    if (options.law != ContactLaw::sap) continue;
    const test::DualAnswer dual = test::solve_dual(s.problem, s.contacts, 1e-13, 300000);
    if (!dual.converged) continue;
    ++compared;
    EXPECT_LT(test::scaled_distance(s.problem, dual.v, s.newton.v), 1e-6) << i;
  }
  EXPECT_GT(compared, 8);
  EXPECT_GT(std::min(saturated, inside), 20);
}

// Forces within a tree, limited or not, do not change its momentum: a quadruped that floats and kicks against
// the stops of its joints.
TEST(EffortLimits, KeepTheMomentumOfAFloatingRobot) {
  Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/quadruped.yaml");
  scene.options.gravity.setZero();
  std::erase_if(scene.shapes, [](const ShapeInstance& shape) { return shape.body == kWorld; });
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.state.v.head<6>() << 0.3, -0.2, 0.5, 0.8, -0.4, 0.6;
  const Vec6 start = calc_mechanics(run.model, run.state).momentum;
  int saturated = 0;
  for (int k = 0; k < 1000; ++k) {
    for (int i = 0; i < run.state.control.size(); ++i)
      run.state.control[i] = 3 * std::sin(10 * run.state.time + i);
    run.go(run.options.dt);
    for (const ReleasedDrive& r : run.workspace.motion.released)
      saturated += r.impulse < r.lower || r.impulse > r.upper;
  }
  EXPECT_GT(saturated, 100);
  const Vec6 change = calc_mechanics(run.model, run.state).momentum - start;
  EXPECT_LT(change.head<3>().norm(), 1e-10 * start.head<3>().norm());
  EXPECT_LT(change.tail<3>().norm(), 1e-10 * start.tail<3>().norm());
}

// A stranger's SCARA arm, whose elbow's servo pushes on against the end of its range: at rest the impulse of
// the limit and that of the servo cancel, and nothing else is there to compare a residual with. Steps of 2 to
// 10 ms failed as not converged. The elbow's torque is 1000 N m/rad times 0.2 rad, or what the servo may
// give.
TEST(EffortLimits, AServoThatPressesOnALimitConvergesAtRest) {
  for (const double effort : {30.0, 50.0, 100.0, 300.0}) {
    const Scene scene = test::scene_of(fmt::format(R"(
bodies:
  - name: upper
    position: [0, 0, 0.5]
    joint: {{name: shoulder, type: revolute, axis: [0, 0, 1]}}
    shape: {{type: box, size: [0.4, 0.06, 0.06], position: [0.2, 0, 0], mass: 4}}
    children:
      - name: fore
        position: [0.4, 0, 0.06]
        joint: {{name: elbow, type: revolute, axis: [0, 0, 1], limits: [-2, 1.0]}}
        shape: {{type: box, size: [0.3, 0.05, 0.05], position: [0.15, 0, 0], mass: 2}}
actuators:
  - {{name: shoulder, type: pd, joint: shoulder, stiffness: 2000, damping: 80, effort_limit: 100}}
  - {{name: elbow, type: pd, joint: elbow, stiffness: 1000, damping: 20, effort_limit: {}, target: 1.2}}
)",
                                                   effort));
    for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
      for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::sap}) {
        Simulation run(scene, dt, law);
        run.options.judge = true;
        while (run.state.time < 2) {
          ASSERT_NO_THROW(run.go(dt)) << "dt " << dt << " effort " << effort << " at " << run.state.time;
          EXPECT_LE(run.report.solver.momentum_residual, 1e-5) << "dt " << dt << " at " << run.state.time;
          EXPECT_LE(run.report.judge.momentum, 2e-5) << "dt " << dt << " at " << run.state.time;
        }
        EXPECT_NEAR(run.state.q[1], 1, 1e-4) << "dt " << dt;
        EXPECT_LT(run.state.v.norm(), 1e-6) << "dt " << dt;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::effort_limits_test
