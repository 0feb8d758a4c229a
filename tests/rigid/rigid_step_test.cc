// Whole simulations with complementarity models in place of the convex laws.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "capstan/io/read.h"
#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rigid_step_test {
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

// Four boxes that fall on each other a little askew: each step has an answer (else it throws), and the floor
// carries them in the end.
TEST(RigidStep, EveryModelSolvesAStackThatFalls) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(R"(
capstan: 1
shapes: [{type: plane, name: floor}]
bodies:
  - {name: a, position: [0, 0, 0.06], rpy_deg: [2, 3, 10], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: b, position: [0.01, 0, 0.18], rpy_deg: [-2, 1, 40], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: c, position: [0, 0.01, 0.30], rpy_deg: [1, -2, 0], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: d, position: [-0.01, 0, 0.42], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
)",
                                     {}, &diagnostics);
  for (const RigidModelTraits& model : kRigidModels) {
    if (std::string(model.name) == "viscous_explicit") continue;  // has no friction at rest: it slides apart
    Simulation run = rigid(scene, 0.005, static_cast<RigidModel>(&model - kRigidModels.data()), "");
    EXPECT_NO_THROW(run.go(0.8)) << model.name;
    EXPECT_GT(run.state.time, 0.79) << model.name;
    EXPECT_GT(run.state.q[2], 0.049) << model.name;
  }
}

// A step that is asked to stop does so within its iterations, whatever the solver.
TEST(RigidStep, EverySolverStopsWhenAsked) {
  const std::atomic<bool> stop = true;
  Simulation run(box_on_plane(0.4, 1e6), 0.005, ContactLaw::sap);
  run.go(0.1);
  for (const RigidSolver& solver : rigid_solvers()) {
    for (int m = 0; m < kNumRigidModels; ++m) {
      if (!solver.takes(static_cast<RigidModel>(m))) continue;
      RigidOptions options;
      options.model = static_cast<RigidModel>(m);
      RigidProblem problem(run.workspace.problem, run.workspace.contacts, options);
      problem.b.array() -= 0.1;  // it presses, and is not yet solved
      const Deadline deadline(1, &stop);
      run.workspace.problem.deadline = &deadline;
      EXPECT_THROW(solve_rigid(solver, VecX::Zero(problem.num_rows()), &problem), Deadline::Passed)
          << solver.name << " " << kRigidModels[m].name;
    }
  }
}

TEST(RigidStep, WhatDoesNotConvergeFails) {
  Simulation run = rigid(box_on_plane(0.4, 1e6), 0.002, RigidModel::ncp);
  run.options.rigid.options.max_iterations = 0;
  EXPECT_THROW(run.go(0.1), StepFailure);
}

}  // namespace
}  // namespace capstan::rigid_step_test
