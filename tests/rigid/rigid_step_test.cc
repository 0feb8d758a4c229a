// Whole simulations with complementarity models in place of the convex laws.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/io/read.h"
#include "tests/support/contact_simulation.h"

namespace capstan {
namespace {

using namespace test;

Simulation rigid(const Scene& scene, double dt, RigidModel model,
                 const std::string& solver = "gauss_seidel") {
  Simulation run(scene, dt, ContactLaw::sap);
  run.options.rigid.is_on = true;
  run.options.rigid.options.model = model;
  run.options.rigid.solver = solver;
  return run;
}

TEST(RigidStep, ABoxStopsAfterItsDistance) {
  for (const char* solver : {"gauss_seidel", "proximal_gauss_seidel"}) {
    Simulation run = rigid(box_on_plane(0.4, 1e6), 0.002, RigidModel::ncp, solver);
    run.go(0.2);
    const double before = run.state.q[0];
    run.state.v[0] = 1;
    run.go(1);
    EXPECT_NEAR(run.state.q[0] - before, 1 / (2 * 0.4 * kGravity), 0.002) << solver;
    EXPECT_LT(run.state.v.norm(), 1e-6) << solver;
  }
}

// The steady gap of the convex relaxation is h mu v: a box that is pulled as hard as friction holds it.
TEST(RigidStep, TheConvexModelGlidesAboveTheFloor) {
  Scene scene = box_on_plane(0.5, 1e6);
  Simulation ncp = rigid(scene, 0.01, RigidModel::ncp), ccp = rigid(scene, 0.01, RigidModel::ccp);
  const double m = total_mass(ncp.model);
  for (Simulation* run : {&ncp, &ccp}) {
    run->go(0.2);
    run->state.v[0] = 1;
    run->input.generalized_force = VecX::Zero(6);
    run->input.generalized_force[0] = 0.5 * m * kGravity;  // as much as friction takes
    run->go(1);
  }
  const double v = ccp.state.v[0];
  ASSERT_GT(v, 0.5);
  EXPECT_NEAR(ccp.state.q[2] - ncp.state.q[2], 0.01 * 0.5 * v, 0.1 * 0.01 * 0.5 * v);
}

TEST(RigidStep, JointsLimitsAndLoopsHold) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/slider_crank.yaml");
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  State convex = initial_state(model), state = convex;
  Workspace w = make_workspace(model), w_convex = make_workspace(model);
  StepOptions with_model = options;
  with_model.rigid.is_on = true;
  with_model.rigid.options.tolerance = 1e-10;
  with_model.rigid.options.max_iterations = 200000;
  for (int i = 0; i < 100; ++i) {
    step(model, options, {}, &convex, &w_convex);
    step(model, with_model, {}, &state, &w);
  }
  EXPECT_LT((state.q - convex.q).norm(), 1e-5);
}

TEST(RigidStep, WhatDoesNotConvergeFails) {
  Simulation run = rigid(box_on_plane(0.4, 1e6), 0.002, RigidModel::ncp);
  run.options.rigid.options.max_iterations = 0;
  EXPECT_THROW(run.go(0.1), StepFailure);
}

}  // namespace
}  // namespace capstan
