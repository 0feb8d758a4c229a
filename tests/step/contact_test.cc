// Contact with arithmetic: rest, stick and slip, impacts, limits, loops. Each for the four contact models
// where it applies.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "capstan/math/rotation.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"

namespace capstan::contact_test {
namespace {

using namespace test;

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

// SAP V-B: a near-rigid point mass rests at beta^2 g dt^2 / 4 pi^2. One sphere, one contact.
TEST(Contact, ANearRigidSphereRestsAtTheDepthOfItsFormula) {
  Scene scene = box_on_plane(0.5, kInfinity);
  scene.shapes[1].shape = Sphere{0.05};
  scene.materials[0].relaxation_time = 0;  // else sap has beta^2 g dt (dt + tau) / 4 pi^2
  const double dt = 0.01;
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, dt, kLaws[l]);
    run.go(3);
    const double depth = kGravity * dt * dt / (4 * std::numbers::pi * std::numbers::pi);
    EXPECT_NEAR(0.05 - run.state.q[2], depth, 1e-3 * depth) << kLawNames[l];
  }
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
        const double creep = kLaws[l] == ContactLaw::sap ? 1.5 * 5e-4 * 0.5 * kGravity * 0.002
                                                         : 1e-5 * load / std::sqrt(1 - load * load);
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

// Pressed down by a hundred times its weight a box creeps at the rate of docs/laws.md: w_t is 4/m at the
// corners of a cube, n0 a quarter of the load. The default is that of the law where the scene has none.
TEST(Contact, WhatBearsALoadCreepsBySigma) {
  constexpr double kDt = 0.01, kLoad = 1000, kPart = 0.5, kFriction = 0.05;
  Scene scene = box_on_plane(kFriction, 1e6);
  scene.options.gravity = Vec3(kPart * kFriction * kLoad, 0, -kLoad);
  const auto creep = [&](ContactLaw law, std::optional<double> sigma) {
    Simulation run(scene, kDt, law);
    run.options.contact.sigma = sigma;
    run.options.newton.relative_tolerance = 1e-12;
    run.go(0.5);
    return run.state.v[0];
  };
  const double by_sigma = kFriction * kLoad * kDt * kPart, of_soft_norm = 1 / std::sqrt(1 - kPart * kPart);
  for (const ContactLaw law : {ContactLaw::regularized_lagged, ContactLaw::coulomb}) {
    for (const double sigma : {1e-4, 1e-5})
      EXPECT_NEAR(creep(law, sigma), sigma * by_sigma * of_soft_norm, 0.01 * sigma * by_sigma);
    EXPECT_EQ(creep(law, {}), creep(law, 1e-5));
    EXPECT_NEAR(creep(law, 1e-7), 1e-6 * kPart * of_soft_norm, 1e-8);  // the stiction tolerance
  }
  EXPECT_NEAR(creep(ContactLaw::sap, 1e-4), 1e-4 * by_sigma, 5e-6 * by_sigma);
  EXPECT_EQ(creep(ContactLaw::sap, {}), creep(ContactLaw::sap, 1e-4));
}

// Braking from 1 m/s: the first-order scheme stops after v^2 / 2 mu g - v dt / 2. Sap and similar lose a
// little more at the start, while they rise to their gliding height.
TEST(Contact, AGlidingBoxStopsWhereItShould) {
  Scene scene = box_on_plane(0.7, 1e6);
  // At its resting depth, so that there is a normal force to lag friction from.
  scene.initial.q["box"] = {0, 0, 0.05 - kGravity / 4e6, 1, 0, 0, 0};
  scene.initial.v["box"] = {1, 0, 0, 0, 0, 0};
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, 0.002, kLaws[l]);
    run.go(1);
    EXPECT_NEAR(run.state.q[0], 1 / (2 * 0.7 * kGravity) - 0.002 / 2, 3e-4) << kLawNames[l];
    EXPECT_LT(run.state.v.norm(), 1e-5) << kLawNames[l];
  }
}

// A step is solved to a part of each body's own impulses: at a small time step friction is a small part of a
// fast box's momentum, and a heavy plate has 100,000 times as much.
TEST(Contact, FrictionIsNotLostBehindLargeMomentum) {
  Scene scene = box_on_plane(0.3, 1e6);
  scene.initial.q["box"] = {0, 0, 0.05 - kGravity / 4e6, 1, 0, 0, 0};
  scene.initial.v["box"] = {2, 0, 0, 0, 0, 0};
  Scene on_plate = scene;
  Body plate = free_body("plate", {0, 0, -0.05});
  plate.joints[0].type = JointType::prismatic;
  plate.joints[0].axis = Vec3(1, 0, 0);
  on_plate.bodies.push_back(plate);
  on_plate.shapes[0] = make_shape("plate", "plate", Box{Vec3(3, 1, 0.05)}, 1e5);
  on_plate.initial.v = {{"box", {0, 0, 0, 0, 0, 0}}, {"plate", {-2}}};
  const double way = 2 * 2 / (2 * 0.3 * kGravity), dt = 1e-4;
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, dt, kLaws[l]);
    run.options.newton.relative_tolerance = NewtonOptions().relative_tolerance;
    run.go(0.8);
    EXPECT_NEAR(run.state.q[0], way, 2e-3 * way) << kLawNames[l];
    Simulation with_plate(on_plate, dt, kLaws[l]);
    with_plate.options.newton.relative_tolerance = NewtonOptions().relative_tolerance;
    with_plate.go(0.8);
    EXPECT_NEAR(with_plate.state.q[0] - with_plate.state.q[7], way, 2e-3 * way) << kLawNames[l];
  }
}

TEST(Contact, ASlidingBallRollsAtFiveSeventhsOfItsSpeed) {
  Scene scene = box_on_plane(0.3, 1e6);
  scene.shapes[1].shape = Sphere{0.05};
  scene.initial.v["box"] = {1, 0, 0, 0, 0, 0};
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, 0.001, kLaws[l]);
    run.go(1);
    EXPECT_NEAR(run.state.v[0], 5.0 / 7, 2e-3) << kLawNames[l];
    EXPECT_NEAR(run.state.v[4] * 0.05, run.state.v[0], 1e-3) << kLawNames[l];  // rolls without slip
  }
}

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
        // The slip is that over the whole step, in which the box turns (problem/assemble_sticking.cc).
        const Vec3 v = run.workspace.problem.R_WC[c].transpose() * (J * run.workspace.newton.v) +
                       run.workspace.problem.sticking_bias[c];
        ASSERT_LE(gamma.head<2>().dot(v.head<2>()), 1e-12) << kLawNames[l];
        ASSERT_GE(gamma.z(), 0);
      }
    }
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
  test::add_pads(0.02, 0.05, &scene);
  for (const int side : {-1, 1}) {
    Actuator push;
    push.name = push.joint = side < 0 ? "left" : "right";
    push.control = -side * 5.4;
    scene.actuators.push_back(push);
  }
  const auto creep = [&](ContactLaw law) {
    Simulation run(scene, 0.002, law);
    run.options.newton.relative_tolerance = 1e-5;
    run.go(1);
    const double before = run.state.q[2];
    run.go(2);
    const double speed = std::abs(run.state.q[2] - before) / 2;
    std::printf("law %d: %.2f um/s\n", static_cast<int>(law), 1e6 * speed);
    return speed;
  };
  EXPECT_LT(creep(ContactLaw::lagged), 1e-6);
  EXPECT_LT(creep(StepOptions().contact.law), 7e-6);
}

// A box on a plane: v is zero, not as small as the tolerance, and no step needs an iteration.
TEST(Contact, WhatLiesStillIsAtRestExactly) {
  Simulation run(test::box_on_plane(0.5, 1e6), 0.01, ContactLaw::regularized_lagged);
  run.options.newton.relative_tolerance = 1e-5;
  run.state.v[2] = -0.1;
  run.go(1);
  for (int i = 0; i < 100; ++i) {
    run.go(0.01);
    EXPECT_EQ(run.report.solver.iterations, 0);
    EXPECT_EQ(run.state.v, VecX::Zero(6));
    EXPECT_LE(run.report.solver.momentum_residual, 1e-5);
  }
}

// A ball that rolls swings about its height by as much as the tolerance allows, and would need an iteration
// in every other step. Its velocity without its part along the free fall needs none.
TEST(Contact, WhatRollsOnLevelGroundNeedsNoIterations) {
  Scene scene = box_on_plane(0.5, 1e5);
  scene.shapes[1].shape = Sphere{0.05};
  Simulation run(scene, 0.01, ContactLaw::regularized_lagged);
  run.options.newton.relative_tolerance = 1e-5;
  run.state.v[0] = 0.3;
  run.state.v[4] = 0.3 / 0.05;
  run.go(1);
  const double speed = run.state.v[0];
  EXPECT_NEAR(speed, 0.3, 1e-3);
  int iterations = 0;
  for (int i = 0; i < 100; ++i) {
    run.go(0.01);
    iterations += run.report.solver.iterations;
    EXPECT_LE(run.report.solver.momentum_residual, 1e-5);
    EXPECT_NEAR(run.state.q[2] - 0.05, -kGravity / 1e5, 1e-3 * kGravity / 1e5);
  }
  EXPECT_LE(iterations, 2);
  EXPECT_NEAR(run.state.v[0], speed, 1e-6);
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
}  // namespace capstan::contact_test
