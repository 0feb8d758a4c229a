// Restitution, stabilization and warm starts of rigid models.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rigid_impacts_test {
namespace {

using namespace test;

constexpr double kDt = 0.005;

Scene ball_above_plane(double e, double height) {
  Scene scene = box_on_plane(0.5, 1e6);
  scene.materials[0].restitution = e;
  scene.bodies = {free_body("ball", {0, 0, 0.05 + height})};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.05}, 1)};
  return scene;
}

Simulation rigid(const Scene& scene, RigidModel model, double dt = kDt) {
  Simulation run(scene, dt, ContactLaw::sap);
  run.options.rigid.is_on = true;
  run.options.rigid.options.model = model;
  run.options.rigid.options.tolerance = 1e-9;
  return run;
}

// The upward speed after the first bounce over the speed before that step.
double first_bounce(Simulation* run, double* before) {
  for (int i = 0; i < 1000; ++i) {
    *before = run->state.v[2];
    run->go(run->options.dt);
    if (run->state.v[2] > 0) return run->state.v[2] / -*before;
  }
  return 0;
}

TEST(RigidImpacts, NewtonsRestitutionIsExactForABall) {
  for (int m = 0; m < kNumRigidModels; ++m) {
    Simulation run = rigid(ball_above_plane(0.7, 0.3), static_cast<RigidModel>(m));
    double before = 0;
    EXPECT_NEAR(first_bounce(&run, &before), 0.7, 1e-8) << kRigidModels[m].name;
  }
}

// Poisson's counts what presses: the weight of the step, too.
TEST(RigidImpacts, PoissonsRestitutionGivesBackThePart) {
  Simulation run = rigid(ball_above_plane(0.7, 0.3), RigidModel::ncp);
  run.options.rigid.options.restitution = RigidRestitution::poisson;
  double before = 0;
  const double ratio = first_bounce(&run, &before);
  EXPECT_NEAR(ratio * -before, 0.7 * (-before + kGravity * kDt), 1e-7);
}

TEST(RigidImpacts, WithoutRestitutionABallStays) {
  Simulation run = rigid(ball_above_plane(0.7, 0.3), RigidModel::ncp);
  run.options.rigid.options.restitution = RigidRestitution::none;
  run.go(1);
  EXPECT_LT(run.state.v.norm(), 1e-6);
  EXPECT_NEAR(run.state.q[2], 0.05, 1e-6);
}

// A ball that bounces comes to rest: what is slower than the threshold does not bounce.
TEST(RigidImpacts, ABouncingBallComesToRest) {
  for (const RigidRestitution kind : {RigidRestitution::newton, RigidRestitution::poisson}) {
    Simulation run = rigid(ball_above_plane(0.5, 0.3), RigidModel::ncp);
    run.options.rigid.options.restitution = kind;
    run.go(3);
    EXPECT_LT(run.state.v.norm(), 1e-6);
  }
}

// A cube that begins 2 mm deep, at rest: depth and speed after one step.
struct Sunk {
  double depth, speed;
};
Sunk one_step(RigidStabilization stabilization, double erp, double allowance) {
  Scene scene = box_on_plane(0.5, 1e6);
  scene.bodies[0].pose.position.z() = 0.048;
  Simulation run = rigid(scene, RigidModel::ncp);
  run.options.rigid.options.stabilization = stabilization;
  run.options.rigid.options.erp = erp;
  run.options.rigid.options.allowance = allowance;
  run.go(kDt);
  return {0.05 - run.state.q[2], run.state.v[2]};
}

TEST(RigidStabilization, UndoesOverlapAsItsNameSays) {
  const double depth = 0.002;
  Sunk s = one_step(RigidStabilization::none, 0.3, 0);
  EXPECT_NEAR(s.depth, depth, 1e-9);
  EXPECT_NEAR(s.speed, 0, 1e-7);
  s = one_step(RigidStabilization::baumgarte, 0.3, 0);  // by a velocity that stays
  EXPECT_NEAR(s.depth, 0.7 * depth, 1e-9);
  EXPECT_NEAR(s.speed, 0.3 * depth / kDt, 1e-7);
  s = one_step(RigidStabilization::split_impulse, 0.3, 0);  // by one that does not
  EXPECT_NEAR(s.depth, 0.7 * depth, 1e-9);
  EXPECT_NEAR(s.speed, 0, 1e-7);
  s = one_step(RigidStabilization::projection, -1, 0);
  EXPECT_NEAR(s.depth, 0, 1e-9);
  EXPECT_NEAR(s.speed, 0, 1e-7);
  s = one_step(RigidStabilization::projection, -1, 0.0005);  // all but what is allowed
  EXPECT_NEAR(s.depth, 0.0005, 1e-9);
}

// erp and cfm of a spring and damper: at rest four of them carry the weight, at a depth of m g / 4 k.
TEST(RigidStabilization, ASpringSinksByTheWeight) {
  const double k = 1000;
  Simulation run = rigid(box_on_plane(0.5, 1e6), RigidModel::frictionless);
  run.options.rigid.options.stiffness = k;
  run.options.rigid.options.damping = 50;
  run.go(3);
  EXPECT_NEAR(0.05 - run.state.q[2], kGravity / (4 * k), 1e-6);
  EXPECT_LT(run.state.v.norm(), 1e-6);
}

TEST(RigidWarmStart, ARestingStackNeedsFewerIterations) {
  Scene scene = boxes_in_pairs(2, 2);
  int iterations[2] = {};
  for (const bool warm : {false, true}) {
    Simulation run = rigid(scene, RigidModel::ncp);
    run.options.rigid.options.tolerance = 1e-6;
    run.options.rigid.options.warm_start = warm;
    run.go(1.5);
    for (int i = 0; i < 20; ++i) {
      run.go(kDt);
      iterations[warm] += run.report.solver.iterations;
    }
  }
  EXPECT_GT(iterations[0], 100);
  EXPECT_LT(iterations[1], 0.5 * iterations[0]);
}

}  // namespace
}  // namespace capstan::rigid_impacts_test
