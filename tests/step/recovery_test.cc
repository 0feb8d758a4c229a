// Starts with errors of position: joints beyond their limits, open loops, bodies that overlap. They are
// undone at the speed that laws/recovery.h tells, and give no more energy than that.
#include "capstan/laws/recovery.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/problem/gap.h"
#include "tests/support/contact_simulation.h"

namespace capstan::recovery_test {
namespace {

using namespace test;

constexpr double kDts[] = {0.001, 0.005, 0.01};

// v_r = 1.
double speed_for(double error) {
  return std::min(1.0, 0.01 + error / 0.1);
}

// A body with one joint along or about z, of inertia (or mass) `inertia`, that starts at `start`.
Scene one_joint(JointType type, double inertia, double start) {
  Scene scene;
  scene.options.gravity.setZero();
  Body body;
  body.name = "body";
  body.inertia = Inertia{inertia, Vec3::Zero(), inertia * Mat3::Identity()};
  Joint joint;
  joint.name = "joint";
  joint.type = type;
  joint.limits = {{-1, 0}};
  body.joints = {joint};
  scene.bodies = {body};
  scene.initial.q["joint"] = {start};
  return scene;
}

TEST(Recovery, AJointBeyondItsLimitComesBackAtTheDocumentedSpeed) {
  for (const JointType type : {JointType::revolute, JointType::prismatic}) {
    for (const double start : {0.5, 0.05, 1e-3}) {
      for (const double dt : kDts) {
        Simulation run(one_joint(type, 0.3, start), dt, ContactLaw::sap);
        const double expected = std::min(speed_for(start), start / dt / (1 + 0.1 / std::numbers::pi));
        run.go(dt);
        // Softness: R gamma = beta^2 / 4 pi^2 of the speed it gives, at most.
        EXPECT_NEAR(run.state.v[0], -expected, 3e-4 * expected) << start << " m or rad at " << dt;
        // A limit pushes and does not pull: what it gave in the first step stays.
        while (run.state.q[0] > 0) run.go(dt);
        EXPECT_NEAR(run.state.time, start / expected, 2.01 * dt);
        EXPECT_NEAR(run.state.v[0], -expected, 1e-3 * expected);
      }
    }
  }
}

TEST(Recovery, WithoutABoundTheErrorIsGoneInOneStep) {
  Simulation run(one_joint(JointType::revolute, 0.3, 0.5), 0.005, ContactLaw::sap);
  run.options.contact.recovery_speed = kInfinity;
  run.go(0.005);
  EXPECT_LT(run.state.v[0], -90);
}

TEST(Recovery, AJointThatMovesOutIsStoppedAndOneThatComesBackFasterIsLeftAlone) {
  for (const double v : {-3.0, 7.0}) {
    Scene scene = one_joint(JointType::revolute, 0.3, 0.5);
    scene.initial.v["joint"] = {v};
    Simulation run(scene, 0.005, ContactLaw::sap);
    run.go(0.005);
    EXPECT_NEAR(run.state.v[0], std::min(v, -1.0), 3e-3);
  }
}

// A load of 1e6 rad/s^2 needs v_hat = 1.27 rad/s at 5 ms, more than recovery allows: the force at rest stays.
TEST(Recovery, ALimitUnderAHeavyLoadGivesWayAsItsFormulaSays) {
  for (const double dt : kDts) {
    for (const double bound : {1.0, kInfinity}) {
      Scene scene = one_joint(JointType::revolute, 1e-6, 0);
      Actuator motor;
      motor.name = motor.joint = "joint";
      motor.control = 1;  // [N m]
      scene.actuators = {motor};
      Simulation run(scene, dt, ContactLaw::sap);
      run.options.contact.recovery_speed = bound;
      run.go(0.5);
      const double pi = std::numbers::pi, tau = 0.1 / pi * dt;
      const double depth = 1e6 * 0.01 / (4 * pi * pi) * dt * (dt + tau);
      EXPECT_NEAR(run.state.q[0], depth, 1e-3 * depth) << dt << " " << bound;
      EXPECT_LT(std::abs(run.state.v[0]), 1e-3 * depth / dt);
    }
  }
}

// Two bodies of 1 and 3 kg, tied `gap` and `turn` away from where the tie wants them.
Scene tied(ConstraintType type, const Vec3& gap, double turn) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies = {free_body("a", Vec3::Zero()), free_body("b", Vec3(0.5, 0, 0) + gap)};
  scene.bodies[0].inertia = Inertia{1, Vec3::Zero(), 0.5 * Mat3::Identity()};
  scene.bodies[1].inertia = Inertia{3, Vec3::Zero(), Vec3(0.2, 0.3, 0.4).asDiagonal()};
  scene.bodies[1].pose.quat_wxyz = Vec4(std::cos(turn / 2), 0, std::sin(turn / 2), 0);
  Constraint tie;
  tie.name = "tie";
  tie.type = type;
  tie.body_a = "a";
  tie.body_b = "b";
  tie.pose_a = Pose{Vec3(0.5, 0, 0)};
  tie.pose_b = Pose{};
  tie.distance = 0.02;
  scene.constraints = {tie};
  return scene;
}

TEST(Recovery, OpenTiesCloseAtTheDocumentedSpeed) {
  for (const ConstraintType type : {ConstraintType::weld, ConstraintType::ball, ConstraintType::distance}) {
    for (const double dt : kDts) {
      const double turn = type == ConstraintType::weld ? 0.7 : 0;
      Simulation run(tied(type, Vec3(0.1, 0.05, -0.2), turn), dt, ContactLaw::sap);
      Placement placement = make_placement(run.model);
      const auto calc_error = [&](bool is_turn) {
        calc_placement(run.model, run.state.q, &placement);
        const ModelConstraint& c = run.model.constraints[0];
        const Vec6 gap = calc_gap(run.model, c, run.state.q, placement);
        if (c.type == ConstraintType::weld) return is_turn ? gap.head<3>().norm() : gap.tail<3>().norm();
        return is_turn ? 0 : gap.norm();
      };
      double way = calc_error(false), angle = calc_error(true), most = 0;
      while (run.state.time < 1.5) {
        run.go(dt);
        for (const bool is_turn : {false, true}) {
          double& before = is_turn ? angle : way;
          const double now = calc_error(is_turn);
          // No faster than the speed for the gap before the step; but for the bend of the path, up to
          // w^2 r dt / 2 = 2.5 mm/s for w = 1 rad/s, r = 0.5 m at 10 ms.
          const double most_closed = speed_for(before) * dt, bend = 2.5e-3 * dt;
          EXPECT_GE(now, before - 1.02 * most_closed - bend) << run.state.time;
          before = now;
        }
        most = std::max(most, calc_mechanics(run.model, run.state).kinetic);
      }
      EXPECT_LT(way + angle, 3e-7);  // the pair turns: what its ties give way by
      // At 1 m/s and 1 rad/s: the reduced mass of 0.75 kg and arms of 0.7 m leave less than this.
      EXPECT_LT(most, 1.0);
      // The centre stays. The force of an open tie acts at both of its points, so that the pair may be left
      // with a turn.
      const Mechanics end = calc_mechanics(run.model, run.state);
      EXPECT_LT(end.momentum.tail<3>().norm(), 1e-9);
      EXPECT_LT(
          (end.center_of_mass - calc_mechanics(run.model, initial_state(run.model)).center_of_mass).norm(),
          1e-9);
    }
  }
}

TEST(Recovery, ACouplerThatStartsWrongFollowsSlowly) {
  Scene scene = one_joint(JointType::revolute, 0.3, 0.5);
  scene.bodies[0].joints[0].limits.clear();
  Constraint coupler;
  coupler.name = "hold";
  coupler.type = ConstraintType::coupler;
  coupler.joint_a = "joint";
  coupler.polynomial = {-0.2, 0, 0, 0, 0};
  scene.constraints = {coupler};
  Simulation run(scene, 0.005, ContactLaw::sap);
  run.go(0.005);
  EXPECT_NEAR(run.state.v[0], -1, 1e-3);
  run.go(1.5);
  EXPECT_NEAR(run.state.q[0], -0.2, 1e-9);
  EXPECT_NEAR(run.state.v[0], 0, 1e-9);
}

// A planar four-bar linkage, whose pin says the same twice across the plane, 0.2 rad from closed.
TEST(Recovery, ALoopThatStartsOpenCloses) {
  for (const double dt : kDts) {
    Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/four_bar.xml");
    scene.options.gravity.setZero();
    Model model = compile(scene);
    State state = initial_state(model);
    state.q[0] += 0.2;
    StepOptions options = step_options(model);
    options.dt = dt;
    Workspace workspace = make_workspace(model);
    double fastest = 0;
    while (state.time < 1) {
      step(model, options, {}, &state, &workspace);
      fastest = std::max(fastest, state.v.cwiseAbs().maxCoeff());
    }
    Placement placement = make_placement(model);
    calc_placement(model, state.q, &placement);
    for (const ModelConstraint& c : model.constraints)
      EXPECT_LT(calc_gap(model, c, state.q, placement).norm(), 1e-6) << dt;
    std::printf("four-bar from 0.2 rad open, dt %g: at most %.3g rad/s\n", dt, fastest);
    EXPECT_LT(fastest, 10);  // 1 m/s over the shortest arm
  }
}

// Two cubes of 1 kg that overlap by half, in nothing.
Scene overlapping() {
  Scene scene = box_on_plane(0.5, 5e5);
  scene.options.gravity.setZero();
  scene.bodies = {free_body("a", Vec3::Zero()), free_body("b", Vec3(0.05, 0, 0))};
  scene.shapes = {make_shape("a", "a", Box{Vec3::Constant(0.05)}, 1),
                  make_shape("b", "b", Box{Vec3::Constant(0.05)}, 1)};
  return scene;
}

TEST(Recovery, BodiesThatOverlapPartNoFasterThanDocumented) {
  for (const NormalLaw normal_law : {NormalLaw::hunt_crossley, NormalLaw::hertz, NormalLaw::kelvin_voigt}) {
    for (const ContactLaw law : kLaws) {
      for (const double dt : kDts) {
        Simulation run(overlapping(), dt, law);
        run.options.contact.normal_law = normal_law;
        const bool is_linear = law == ContactLaw::sap || normal_law == NormalLaw::kelvin_voigt;
        const double bound = is_linear ? 1 : 1 / 50.0;
        double fastest = 0, most = 0;
        while (run.state.time < (is_linear ? 0.2 : 0.5)) {
          run.go(dt);
          fastest = std::max(fastest, run.state.v[6] - run.state.v[0]);
          most = std::max(most, calc_mechanics(run.model, run.state).kinetic);
        }
        EXPECT_LT(fastest, 1.001 * bound) << dt;
        EXPECT_GT(fastest, 0.9 * bound) << dt;  // and no slower
        EXPECT_LT(most, 1.01 * 0.25 * bound * bound) << dt;
        if (is_linear) {
          EXPECT_GT(run.state.q[7] - run.state.q[0], 0.1);
        }
      }
    }
  }
}

// As in Bullet's door.urdf: the post of the hinge stands within the door, 75 mm deep, and pushes at both
// sides of the axis alike. The impulses are large, their sum is nothing but round-off, and that is the
// answer.
TEST(Recovery, ADoorAroundThePostOfItsHingeStays) {
  Scene scene;
  Body door;
  door.name = "door";
  door.inertia = Inertia{1, Vec3(0.35, 0, 0), Vec3(0.05, 0.05, 0.004).asDiagonal()};
  Joint hinge;
  hinge.name = "hinge";
  hinge.type = JointType::revolute;
  door.joints = {hinge};
  scene.bodies = {door};
  ShapeInstance leaf = make_shape("leaf", "door", Box{Vec3(0.45, 0.025, 0.4)});
  leaf.pose.position = Vec3(0.35, 0, 0);
  scene.shapes = {leaf, make_shape("post", kWorld, Box{Vec3(0.05, 0.05, 0.5)})};
  for (const ContactLaw law : {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                               ContactLaw::regularized_lagged, ContactLaw::coulomb}) {
    for (const double dt : kDts) {
      Simulation run(scene, dt, law);
      for (int i = 0; i < 20; ++i) {
        run.go(dt);
        EXPECT_LT(run.report.solver.most_iterations, 50);
        EXPECT_LT(run.report.solver.momentum_residual, 1e-12);
      }
      double pressed = 0;
      for (const Vec3& impulse : run.workspace.newton.impulse) pressed += impulse.z();
      EXPECT_GT(pressed, 1000 * dt) << "or nothing would cancel";
      EXPECT_LT(std::abs(run.state.v[0]), 1e-9);
      EXPECT_LT(std::abs(run.state.q[0]), 1e-9);
    }
  }
}

// Depths of 1 cm under load: v_hat would be 5 m/s.
TEST(Recovery, ASoftSpringUnderLoadRestsAtTheSameDepth) {
  for (const ContactLaw law : {ContactLaw::sap, ContactLaw::lagged}) {
    Simulation run(box_on_plane(0.5, 250), 0.001, law);
    run.options.contact.normal_law = NormalLaw::kelvin_voigt;
    run.state.q[2] -= 0.009;
    run.go(3);
    EXPECT_NEAR(run.state.q[2] - 0.05, -kGravity / 1000, 1e-3 * kGravity / 1000);
  }
}

// Elastic contact is a spring that the material asks for: bounces have the bits they have without a bound.
TEST(Recovery, ElasticBouncesAreNotTouched) {
  for (const NormalLaw normal_law : {NormalLaw::hunt_crossley, NormalLaw::kelvin_voigt}) {
    State end[2];
    double highest = 0;
    for (const bool bounded : {false, true}) {
      Scene scene = box_on_plane(0.5, 1e4);
      scene.shapes[1].shape = Sphere{0.05};
      scene.materials[0].dissipation = scene.materials[0].relaxation_time = 0;
      scene.bodies[0].pose.position.z() = 1.05;
      Simulation run(scene, 1e-4, ContactLaw::lagged);
      run.options.contact.normal_law = normal_law;
      if (!bounded) run.options.contact.recovery_speed = kInfinity;
      run.go(0.5);
      while (run.state.v[2] > 0) run.go(1e-4);
      highest = run.state.q[2] - 0.05;
      end[bounded] = run.state;
    }
    EXPECT_EQ(end[0].q, end[1].q);
    EXPECT_EQ(end[0].v, end[1].v);
    EXPECT_GT(highest, 0.9);
  }
}

TEST(Recovery, ScenesWithoutErrorsKeepTheirBits) {
  for (const char* file : {"humanoid.xml", "quadruped.yaml", "stack.yaml", "slider_crank.yaml"}) {
    State end[2];
    for (const bool bounded : {false, true}) {
      const Model model = compile(read_scene(std::string(CAPSTAN_SOURCE_DIR "/scenes/") + file));
      State state = initial_state(model);
      StepOptions options = step_options(model);
      if (!bounded) options.contact.recovery_speed = kInfinity;
      Workspace workspace = make_workspace(model);
      while (state.time < 1) step(model, options, {}, &state, &workspace);
      end[bounded] = state;
    }
    EXPECT_EQ(end[0].q, end[1].q) << file;
    EXPECT_EQ(end[0].v, end[1].v) << file;
  }
}

// The hand of this scene starts with fingers beyond their limits: 127 rad/s and 404 J in the first step
// without a bound.
TEST(Recovery, AHandThatStartsBeyondItsLimitsGetsNoEnergyOutOfNothing) {
  const Model model = compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/arm_hand.xml"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const double start = calc_mechanics(model, state).total();
  step(model, step_options(model), {}, &state, &workspace);
  EXPECT_LT(state.v.cwiseAbs().maxCoeff(), 13);  // 12.3 of the last joint of a finger, which weighs least
  EXPECT_LT(calc_mechanics(model, state).total() - start, 1);
}

}  // namespace
}  // namespace capstan::recovery_test
