// Contact with arithmetic: rest, stick and slip, impacts, limits, loops. Each for the four contact models
// where it applies.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/math/rotation.h"
#include "capstan/step/step.h"

namespace capstan {
namespace {

constexpr double kGravity = 9.81;
constexpr ContactLaw kLaws[] = {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                                ContactLaw::regularized_lagged};
const char* const kLawNames[] = {"sap", "lagged", "similar", "regularized_lagged"};

ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape,
                         double mass = 0) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.has_mass = mass > 0;
  if (mass > 0) s.mass = mass;
  return s;
}

Body free_body(const std::string& name, const Vec3& position) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints.push_back(joint);
  return body;
}

// A 1 kg cube of 10 cm on the plane z = 0; both surfaces of stiffness 2 k, so that the contact has k.
Scene box_on_plane(double friction, double stiffness) {
  Scene scene;
  Material m;
  m.name = "default";
  m.friction = friction;
  m.stiffness = 2 * stiffness;
  scene.materials = {m};
  scene.bodies = {free_body("box", {0, 0, 0.05})};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}),
                  make_shape("box", "box", Box{Vec3::Constant(0.05)}, 1)};
  return scene;
}

struct Simulation {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Report report;
  Input input;

  Simulation(const Scene& scene, double dt, ContactLaw law)
      : model(compile(scene)), state(initial_state(model)), workspace(make_workspace(model)) {
    options.dt = dt;
    options.contact.law = law;
    options.newton.relative_tolerance = 1e-8;
  }
  void go(double duration) {
    const int steps = static_cast<int>(std::lround(duration / options.dt));
    for (int i = 0; i < steps; ++i) report = step(model, options, input, &state, &workspace);
  }
};

TEST(Contact, ABoxRestsAtDepthMgOverK) {
  for (int l = 0; l < 4; ++l) {
    // Four corners carry the weight: each contact has stiffness k.
    Simulation run(box_on_plane(0.5, 1e4), 0.001, kLaws[l]);
    run.go(2);
    EXPECT_EQ(run.report.contacts, 4);
    EXPECT_NEAR(run.state.q[2] - 0.05, -kGravity / (4 * 1e4), 1e-3 * kGravity / (4 * 1e4)) << kLawNames[l];
    EXPECT_LT(run.state.v.norm(), 1e-6) << kLawNames[l];
    double weight = 0;
    for (const Vec3& gamma : run.workspace.newton.impulse) weight += gamma.z();
    EXPECT_NEAR(weight, kGravity * 0.001, 1e-6 * kGravity * 0.001) << kLawNames[l];
  }
}

// sap.txt V-B: a near-rigid point mass rests at beta^2 g dt^2 / 4 pi^2. One sphere, one contact.
TEST(Contact, ANearRigidSphereRestsAtTheDepthOfItsFormula) {
  Scene scene = box_on_plane(0.5, kInfinity);
  scene.shapes[1].shape = Sphere{0.05};
  scene.materials[0].relaxation_time = 0;  // else beta^2 g dt (dt + tau) / 4 pi^2
  const double dt = 0.01;
  Simulation run(scene, dt, ContactLaw::sap);
  run.go(3);
  const double depth = kGravity * dt * dt / (4 * std::numbers::pi * std::numbers::pi);
  EXPECT_NEAR(0.05 - run.state.q[2], depth, 0.01 * depth);
}

TEST(Contact, AnInclineHoldsBelowTheFrictionAngleAndSlidesAboveIt) {
  for (int l = 0; l < 4; ++l) {
    for (const double degrees : {-0.1, 0.1, 5.0}) {
      Scene scene = box_on_plane(0.5, 1e6);
      const double angle = std::atan(0.5) + degrees * std::numbers::pi / 180;
      scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
      Simulation run(scene, 0.002, kLaws[l]);
      run.go(1);
      const double expected = kGravity * (std::sin(angle) - 0.5 * std::cos(angle));
      if (degrees < 0) {
        // Creep: sigma mu g dt for sap, times w m / 4 (w of a corner, a quarter of the load); for the others
        // the soft norm v / sqrt(v^2 + v_s^2) must reach load / mu.
        const double load = std::tan(angle) / 0.5;
        const double creep = kLaws[l] == ContactLaw::sap ? 1.5 * 1e-3 * 0.5 * kGravity * 0.002
                                                         : 1e-4 * load / std::sqrt(1 - load * load);
        EXPECT_LT(std::abs(run.state.v[0]), 1.05 * creep) << kLawNames[l] << " " << degrees;
      } else if (degrees > 1) {
        const double before = run.state.v[0];
        run.go(1);
        EXPECT_NEAR(run.state.v[0] - before, expected, 1e-3 * expected) << kLawNames[l];
      } else {
        EXPECT_GT(run.state.v[0], 0.5 * expected) << kLawNames[l];
      }
    }
  }
}

// Braking from 1 m/s: the first-order scheme stops after v^2 / 2 mu g - v dt / 2.
TEST(Contact, AGlidingBoxStopsWhereItShould) {
  Scene scene = box_on_plane(0.7, 1e6);
  // At its resting depth, so that there is a normal force to lag friction from.
  scene.initial.q["box"] = {0, 0, 0.05 - kGravity / 4e6, 1, 0, 0, 0};
  scene.initial.v["box"] = {1, 0, 0, 0, 0, 0};
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.go(1);
  EXPECT_NEAR(run.state.q[0], 1 / (2 * 0.7 * kGravity) - 0.002 / 2, 3e-4);
  EXPECT_LT(run.state.v.norm(), 1e-5);
}

TEST(Contact, ASlidingBallRollsAtFiveSeventhsOfItsSpeed) {
  Scene scene = box_on_plane(0.3, 1e6);
  scene.shapes[1].shape = Sphere{0.05};
  scene.initial.v["box"] = {1, 0, 0, 0, 0, 0};
  for (const ContactLaw law : {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar}) {
    Simulation run(scene, 0.001, law);
    run.go(1);
    EXPECT_NEAR(run.state.v[0], 5.0 / 7, 2e-3);
    EXPECT_NEAR(run.state.v[4] * 0.05, run.state.v[0], 1e-3);  // rolls without slip
  }
}

TEST(Contact, FrictionNeverDoesPositiveWork) {
  Scene scene = box_on_plane(0.5, 1e5);
  scene.initial.q["box"] = {0, 0, 0.2, 0.9, 0.3, 0.2, 0.1};
  scene.initial.v["box"] = {2, 1, 0, 3, -4, 5};
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, 0.002, kLaws[l]);
    for (int i = 0; i < 500; ++i) {
      run.go(0.002);
      for (std::size_t c = 0; c < run.workspace.newton.impulse.size(); ++c) {
        // Contact velocity from the group's motion, recomputed from scratch at the solution.
        const Vec3& gamma = run.workspace.newton.impulse[c];
        const Contacts& contacts = run.workspace.contacts;
        MatX J(3, 6);
        calc_point_jacobian(run.model, run.workspace.motion.placement, 1, contacts.p_WC[c], J);
        const Vec3 v = run.workspace.problem.R_WC[c].transpose() * (J * run.workspace.newton.v);
        ASSERT_LE(gamma.head<2>().dot(v.head<2>()), 1e-12) << kLawNames[l];
        ASSERT_GE(gamma.z(), 0);
      }
    }
  }
}

TEST(Contact, ATenHighStackStands) {
  for (const bool heavy_top : {false, true}) {
    Scene scene = box_on_plane(1, 1e6);
    scene.bodies.clear();
    scene.shapes.resize(1);
    for (int i = 0; i < 10; ++i) {
      const std::string name = "b" + std::to_string(i);
      scene.bodies.push_back(free_body(name, {0, 0, 0.05 + 0.1 * i}));
      scene.shapes.push_back(
          make_shape(name, name, Box{Vec3::Constant(0.05)}, heavy_top && i == 9 ? 100 : 1));
    }
    Simulation run(scene, 0.002, ContactLaw::lagged);
    run.options.newton.relative_tolerance = 1e-6;
    run.go(5);
    const int top = run.model.joints[9].q;
    EXPECT_LT(run.state.q.segment<2>(top).norm(), 1e-3) << "heavy top " << heavy_top;
    EXPECT_NEAR(run.state.q[top + 2], 0.95, heavy_top ? 3e-3 : 3e-4) << "heavy top " << heavy_top;
    EXPECT_LT(run.state.v.norm(), 1e-3);
  }
}

// The pinched capsule that users of MuJoCo complain about: 45 g between two pads of 5.4 N each, mu 0.7, dt 2
// ms.
TEST(Contact, APinchedCapsuleCreepsLessThanTenMicrometresASecond) {
  Scene scene;
  Material m;
  m.name = "default";
  m.friction = 0.7;
  scene.materials = {m};
  scene.bodies = {free_body("capsule", {0, 0, 0})};
  scene.shapes = {make_shape("capsule", "capsule", Capsule{0.01, 0.03}, 0.045)};
  for (const int side : {-1, 1}) {
    Body pad;
    pad.name = side < 0 ? "left" : "right";
    pad.pose.position = Vec3(side * 0.02, 0, 0);
    Joint slide;
    slide.name = pad.name;
    slide.type = JointType::prismatic;
    slide.axis = Vec3(1, 0, 0);
    pad.joints = {slide};
    scene.bodies.push_back(pad);
    scene.shapes.push_back(make_shape(pad.name, pad.name, Box{Vec3(0.01, 0.02, 0.02)}, 0.05));
    Actuator push;
    push.name = pad.name;
    push.joint = pad.name;
    push.control = -side * 5.4;
    scene.actuators.push_back(push);
  }
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.options.newton.relative_tolerance = 1e-5;
  run.go(1);
  const double before = run.state.q[2];
  run.go(2);
  EXPECT_LT(std::abs(run.state.q[2] - before) / 2, 10e-6);
}

TEST(Contact, JointLimitsHold) {
  Scene scene;
  Body body;
  body.name = "arm";
  body.inertia = Inertia{1, Vec3(0.5, 0, 0), 0.01 * Mat3::Identity()};
  Joint joint;
  joint.name = "hinge";
  joint.axis = Vec3(0, 1, 0);
  joint.limits = {{-1, 0.5}};
  body.joints = {joint};
  scene.bodies = {body};
  Simulation run(scene, 0.002, ContactLaw::lagged);
  run.go(3);
  EXPECT_NEAR(run.state.q[0], 0.5, 1e-5);  // gravity turns it to its upper limit
  EXPECT_LT(std::abs(run.state.v[0]), 1e-9);
}

// Dry friction of 2 N m holds a torque of 1.9 and yields 0.1 N m of acceleration to one of 2.1.
TEST(Contact, DryFrictionHoldsBelowItsForce) {
  Scene scene;
  scene.options.gravity.setZero();
  Body body;
  body.name = "wheel";
  body.inertia = Inertia{1, Vec3::Zero(), Mat3::Identity()};
  Joint joint;
  joint.name = "axle";
  joint.dry_friction = 2;
  body.joints = {joint};
  scene.bodies = {body};
  Simulation run(scene, 0.01, ContactLaw::lagged);
  run.input.generalized_force = VecX::Constant(1, 1.9);
  run.go(1);
  EXPECT_LT(std::abs(run.state.v[0]), 1e-4);
  run.input.generalized_force[0] = 2.1;
  run.go(1);
  EXPECT_NEAR(run.state.v[0], 0.1, 1e-3);
}

}  // namespace
}  // namespace capstan
