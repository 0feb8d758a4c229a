// Contact with arithmetic: rest, stick and slip, impacts, limits, loops. Each for the four contact models
// where it applies.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/math/rotation.h"
#include "capstan/step/contact_forces.h"
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

// A belt takes a box along: friction mu g until it has the belt's speed, then no slip.
TEST(Contact, ABeltTakesABoxAlong) {
  for (int l = 0; l < 4; ++l) {
    Scene scene = box_on_plane(0.3, 1e6);
    scene.initial.q["box"] = {0, 0, 0.05 - kGravity / 4e6, 1, 0, 0, 0};
    scene.shapes[0].surface_velocity = Vec3(0.6, 0, 0);
    Simulation run(scene, 0.001, kLaws[l]);
    run.go(0.1);
    EXPECT_NEAR(run.state.v[0], 0.3 * kGravity * 0.1, 0.01 * 0.3 * kGravity * 0.1) << kLawNames[l];
    std::vector<ContactForce> forces;
    calc_contact_forces(run.workspace, &forces);
    ASSERT_EQ(forces.size(), 4u);
    Vec3 total = Vec3::Zero();
    for (const ContactForce& f : forces) {
      EXPECT_EQ(f.region, ContactRegion::sliding);
      EXPECT_NEAR(f.slip_W.x(), run.state.v[0] - 0.6, 1e-5);
      EXPECT_GT(f.friction_W.x(), 0);
      total += f.force_W();
    }
    const double mass = run.model.links[1].mass;
    EXPECT_NEAR(total.z(), mass * kGravity, 0.01 * mass * kGravity);
    EXPECT_NEAR(total.x(), 0.3 * mass * kGravity, 0.01 * mass * kGravity);
    run.go(0.4);
    EXPECT_NEAR(run.state.v[0], 0.6, 1e-4) << kLawNames[l];
  }
}

// A turntable carries a box round: omega r, with the centripetal force mass omega^2 r from friction.
TEST(Contact, ATurntableCarriesABoxRound) {
  const double omega = 1.5, r = 0.3;
  Scene scene = box_on_plane(0.5, 1e6);
  scene.shapes[0].surface_spin = Vec3(0, 0, omega);
  scene.initial.q["box"] = {r, 0, 0.05 - kGravity / 4e6, 1, 0, 0, 0};
  scene.initial.v["box"] = {0, omega * r, 0, 0, 0, omega};
  Simulation run(scene, 0.0005, ContactLaw::regularized_lagged);
  run.go(1);
  EXPECT_NEAR(std::hypot(run.state.q[0], run.state.q[1]), r, 1e-3);
  EXPECT_NEAR(std::atan2(run.state.q[1], run.state.q[0]), omega, 2e-3);
  std::vector<ContactForce> forces;
  std::vector<BodyPairForce> pairs;
  calc_contact_forces(run.workspace, &forces);
  sum_contact_forces(run.model, forces, &pairs);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].body_a, 0);
  EXPECT_EQ(pairs[0].contacts, pairs[0].sticking);
  const double mass = run.model.links[1].mass;
  EXPECT_NEAR(pairs[0].friction_W.norm(), mass * omega * omega * r, 0.01 * mass * omega * omega * r);
  EXPECT_LT(pairs[0].friction_W.dot(run.state.q.head<3>()), 0);  // towards the axis
  // The same belt at rest and back again, by the input alone.
  run.input.surface_scale = VecX::Zero(run.model.shapes.size());
  run.go(0.5);
  EXPECT_LT(run.state.v.norm(), 1e-4);
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

// The shipped four-bar linkage keeps its loop closed while its crank turns for a minute. A step closes the
// gap it finds, and opens a new one by the curvature of the path, dt^2 / 2 times an acceleration: second
// order.
TEST(Contact, TheFourBarKeepsItsLoop) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/four_bar.xml");
  const auto worst_gap = [&](double dt, double duration) {
    Simulation run(scene, dt, ContactLaw::lagged);
    const ModelConstraint& c = run.model.constraints.at(0);
    run.state = keyframe_state(run.model, "turning");
    Placement placement = make_placement(run.model);
    double worst = 0, turned = 0;
    for (int i = 0; i < duration / dt; ++i) {
      run.go(dt);
      turned = std::max(turned, std::abs(run.state.q[0]));
      calc_placement(run.model, run.state.q, &placement);
      const Vec3 a = body_pose(run.model, placement, c.body_a) * c.X_A->p;
      worst = std::max(worst, (body_pose(run.model, placement, c.body_b) * c.X_B->p - a).norm());
    }
    EXPECT_GT(turned, 10) << "the crank should turn [rad]";
    return worst;
  };
  const double coarse = worst_gap(0.002, 60), fine = worst_gap(0.0005, 10);
  EXPECT_LT(coarse, 3e-5);
  EXPECT_LT(fine, 2e-6);
  EXPECT_NEAR(std::log2(coarse / fine) / 2, 2, 0.3);
}

}  // namespace
}  // namespace capstan
