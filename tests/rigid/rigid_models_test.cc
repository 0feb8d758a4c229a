// Every model of rigid contact: they agree where they must, differ as theory says, and each of its solvers
// finds the same motion.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/random_problem.h"

namespace capstan::rigid_models_test {
namespace {

using namespace test;

constexpr double kDt = 0.01;

RigidOptions options_of(RigidModel model) {
  RigidOptions options;
  options.model = model;
  options.erp = 0.2;  // the same for all
  options.tolerance = 1e-8;
  options.max_iterations = 20000;
  return options;
}

const RigidSolver& solver_of(RigidModel model) {
  return *find_rigid_solver(default_solver(model));
}

// A cube of 1 kg that rests on the floor and then moves at v: its next velocity.
struct Moving {
  Simulation run;
  Moving(double mu, const Vec3& v) : run(box_on_plane(mu, 1e6), kDt, ContactLaw::sap) {
    run.go(0.5);
    run.state.v.head<3>() = v;
    run.go(kDt);
  }
  RigidProblem problem(const RigidOptions& options) const {
    return RigidProblem(run.workspace.problem, run.workspace.contacts, options);
  }
  VecX next(const RigidOptions& options, const RigidSolver& solver) const {
    RigidProblem p = problem(options);
    const RigidResult result = solve_rigid(solver, VecX::Zero(p.num_rows()), &p);
    EXPECT_TRUE(result.converged) << traits(options.model).name << " " << solver.name << " "
                                  << result.residual;
    return run.workspace.motion.v_star + p.calc_dv(result.x);
  }
  VecX next(RigidModel model) const { return next(options_of(model), solver_of(model)); }
};

TEST(RigidModels, AgreeWhereABoxSticks) {
  const Moving box(0.8, {0.01, 0.02, 0});
  const VecX ncp = box.next(RigidModel::ncp);
  EXPECT_LT(ncp.head<2>().norm(), 1e-7);
  for (const RigidModel model :
       {RigidModel::ccp, RigidModel::box, RigidModel::box_frozen, RigidModel::stewart_trinkle,
        RigidModel::anitescu_potra, RigidModel::no_slip})
    EXPECT_LT((box.next(model) - ncp).norm(), 1e-6) << traits(model).name;
}

TEST(RigidModels, AgreeWithoutFriction) {
  const Moving box(0, {1, 0.5, 0});
  const VecX without = box.next(RigidModel::frictionless);
  EXPECT_NEAR(without[0], 1, 1e-9);
  for (const RigidModel model : {RigidModel::ncp, RigidModel::ccp, RigidModel::box, RigidModel::box_frozen,
                                 RigidModel::stewart_trinkle, RigidModel::anitescu_potra})
    EXPECT_LT((box.next(model) - without).norm(), 1e-6) << traits(model).name;
}

// Between two corners the polygon is off the circle by at most 2 sin(pi / 2k) of mu times the normal impulse;
// at a corner not at all.
TEST(RigidModels, PolyhedralFrictionConvergesToTheCone) {
  const double mu = 0.3;
  std::vector<double> errors;
  const Moving box(mu, Vec3(2 * std::cos(1.0), 2 * std::sin(1.0), 0));
  const VecX cone = box.next(RigidModel::ncp);
  const double normal = cone[2] - box.run.workspace.motion.v_star[2];  // impulse over mass
  for (const int k : {4, 8, 16, 32, 64}) {
    RigidOptions options = options_of(RigidModel::stewart_trinkle);
    options.directions = k;
    const VecX v = box.next(options, solver_of(options.model));
    errors.push_back((v.head<2>() - cone.head<2>()).norm());
    EXPECT_LE(errors.back(), 2 * std::sin(std::numbers::pi / (2 * k)) * mu * normal * 1.001 + 1e-6) << k;
  }
  EXPECT_GT(errors[0], 0.05 * mu * normal);
  EXPECT_LT(errors[4], 0.2 * errors[0]);
}

TEST(RigidModels, ViscousFrictionSlowsByItsImpulse) {
  const Moving box(0.5, {1, 0, 0});
  const double c = 1;  // of each of four contacts; with 3 the box would tip, and stand on two
  RigidOptions options = options_of(RigidModel::viscous);
  options.viscosity = c;
  const int touching = box.problem(options).blocks.size();
  ASSERT_EQ(touching, 4);
  EXPECT_NEAR(box.next(options, solver_of(options.model))[0], 1 / (1 + 4 * c * kDt), 1e-6);
  options.model = RigidModel::viscous_explicit;
  EXPECT_NEAR(box.next(options, solver_of(options.model))[0], 1 - 4 * c * kDt, 1e-6);
}

// On an incline of `angle`, as gravity that is tilted: the velocity after some time.
double slide_down(RigidModel model, double mu, double angle, double duration, double viscosity = 0.1) {
  Scene scene = box_on_plane(mu, 1e6);
  scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
  Simulation run(scene, kDt, ContactLaw::sap);
  run.options.rigid.is_on = true;
  run.options.rigid.options = options_of(model);
  run.options.rigid.options.viscosity = viscosity;
  run.go(duration);
  EXPECT_NEAR(run.state.v[1], 0, 1e-6) << traits(model).name;
  return run.state.v[0];
}

TEST(RigidModels, ABoxOnAnInclineSticksOrSlides) {
  const double angle = 0.3, weight = kGravity * std::sin(angle), normal = kGravity * std::cos(angle);
  for (const RigidModel model :
       {RigidModel::ncp, RigidModel::ccp, RigidModel::box, RigidModel::box_frozen,
        RigidModel::stewart_trinkle, RigidModel::anitescu_potra, RigidModel::no_slip}) {
    EXPECT_NEAR(slide_down(model, 1.2 * std::tan(angle), angle, 0.5), 0, 1e-6) << traits(model).name;
  }
  // Directions of boxes and of polygons of four corners are axes of the contact frame, which need not be the
  // incline's: friction is between mu / sqrt(2) and sqrt(2) mu there.
  for (const RigidModel model : {RigidModel::ncp, RigidModel::ccp}) {
    EXPECT_NEAR(slide_down(model, 0.1, angle, 0.5), 0.5 * (weight - 0.1 * normal), 0.01)
        << traits(model).name;
  }
  EXPECT_NEAR(slide_down(RigidModel::frictionless, 0.5, angle, 0.5), 0.5 * weight, 1e-6);
  EXPECT_NEAR(slide_down(RigidModel::no_slip, 0, angle, 0.5), 0, 1e-6);
  // Four contacts at c each: the weight's part along the incline is 4 c v in the end.
  EXPECT_NEAR(slide_down(RigidModel::viscous, 0.5, angle, 3, 5), weight / (4 * 5), 1e-3);
}

// What leaves is not held: a box that is thrown up spins on.
TEST(RigidModels, NothingSticksThatLeaves) {
  Moving box(0.5, {0.3, 0, 1});
  for (const RigidModel model : {RigidModel::no_slip, RigidModel::viscous})
    EXPECT_NEAR(box.next(model)[0], 0.3, 1e-9) << traits(model).name;
}

// A foot that slips and is pressed on lightly, where friction lifts it more than what presses it: with W_tn =
// 0.8, sticking would take a normal impulse of -0.7 / 0.36. Without friction it would press with 0.1 and
// slip. It is lifted instead, and does not slip under way: u_t = 0, x_t = 1, u_n = -0.1 + 0.8. Of viscous
// friction, in proportion to the slip, W_tt + R = 1 + 1 / (dt c) = 2: x_t = 0.5, u_n = -0.1 + 0.4, u_t =
// -0.5.
TEST(RigidModels, WhatPressesDoesNotSlip) {
  MatX J(3, 3);
  J << 1, 0, 0, 0, 1, 0, 0.8, 0, 0.6;
  RigidBlock block;
  block.num_rows = 3;
  block.mu = 0.5;
  for (const RigidModel model : {RigidModel::no_slip, RigidModel::viscous}) {
    RigidOptions options = options_of(model);
    options.viscosity = 100;
    for (const char* solver : {"modified_ppm", "lemke", "gauss_seidel"}) {
      RigidProblem p(J, Vec3(-1, 0, -0.1), kDt, {block}, options);
      const RigidResult result = solve_rigid(*find_rigid_solver(solver), VecX::Zero(3), &p);
      ASSERT_TRUE(result.converged) << solver;
      const bool sticks = model == RigidModel::no_slip;
      const Vec3 velocity = Vec3(-1, 0, -0.1) + J * J.transpose() * result.x;
      EXPECT_NEAR(result.x[0], sticks ? 1 : 0.5, 1e-6) << solver;
      EXPECT_NEAR(result.x[2], 0, 1e-6) << solver;
      EXPECT_NEAR(velocity.x(), sticks ? 0 : -0.5, 1e-6) << solver;
      EXPECT_NEAR(velocity.z(), sticks ? 0.7 : 0.3, 1e-6) << solver;
    }
  }
}

// In a corner the wall holds what the floor would lift: the overlap stays, and the step has an answer.
TEST(RigidModels, ABoxInACornerStaysWithoutSlip) {
  Scene scene = box_on_plane(0.5, 1e6);
  scene.bodies[0].pose.position = Vec3(0.049, 0, 0.049);
  ShapeInstance wall = make_shape("wall", kWorld, Box{Vec3(0.05, 0.5, 0.5)});
  wall.pose.position = Vec3(-0.05, 0, 0.5);
  scene.shapes.push_back(wall);
  Simulation run(scene, kDt, ContactLaw::sap);
  run.options.rigid.is_on = true;
  run.options.rigid.options.model = RigidModel::no_slip;
  run.options.rigid.options.stabilization = RigidStabilization::baumgarte;
  run.go(0.2);
  EXPECT_LT(run.state.v.norm(), 1e-6);
  EXPECT_NEAR(run.state.q[2], 0.049, 1e-3);
}

TEST(RigidModels, EverySolverFindsTheSameMotion) {
  const Moving boxes[] = {{0.3, {1.5, 0.4, 0}}, {0.9, {0.02, 0.01, 0}}};
  for (int m = 0; m < kNumRigidModels; ++m) {
    const RigidModel model = static_cast<RigidModel>(m);
    for (const Moving& box : boxes) {
      const VecX v = box.next(model);
      for (const RigidSolver& solver : rigid_solvers()) {
        if (!solver.takes(model)) continue;
        RigidOptions options = options_of(model);
        if (std::string(solver.name) == "interior_point") options.tolerance = 1e-7;  // its limit (its header)
        EXPECT_LT((box.next(options, solver) - v).norm(), 1e-5) << solver.name << ", " << traits(model).name;
      }
    }
  }
}

// Velocities of convex models are unique: all that solve a random heap find those of the pivoting method.
TEST(RigidModels, SolversOfConvexModelsAgreeInHeaps) {
  for (const RigidModel model : {RigidModel::no_slip, RigidModel::viscous, RigidModel::frictionless}) {
    int solved = 0, by_ppm = 0, tried = 0;
    for (int i = 0; i < 20; ++i) {
      const auto s = random_problem(Difficulty::ordinary, ContactLaw::sap, i);
      if (s->contacts.size() == 0) continue;
      RigidOptions options = options_of(model);
      options.viscosity = 10;
      options.erp = -1;  // by velocities a heap without slip may be unable to undo its overlap
      const RigidProblem problem(s->problem, s->contacts, options);
      const RigidResult reference = solve_reduced(problem, VecX::Zero(problem.num_rows()));
      ++tried;
      by_ppm += reference.converged;
      if (!reference.converged) continue;
      const VecX u = problem.calc_dv(reference.x);
      for (const char* name :
           {"lemke", "murty", "block_pivoting", "incremental_pivoting", "pgs", "nncg", "admm"}) {
        const RigidResult result = find_rigid_solver(name)->solve(problem, VecX::Zero(problem.num_rows()));
        if (!result.converged) continue;
        ++solved;
        EXPECT_LT((problem.calc_dv(result.x) - u).norm(), 1e-4 * (1 + u.norm())) << name << " " << i;
      }
    }
    EXPECT_EQ(by_ppm, tried) << traits(model).name;
    EXPECT_GT(solved, 5 * tried) << traits(model).name;
  }
}

TEST(RigidModels, OtherPairsAreRefusedByName) {
  Simulation run(box_on_plane(0.5, 1e6), kDt, ContactLaw::sap);
  run.options.rigid.is_on = true;
  run.options.rigid.options.model = RigidModel::ncp;
  run.options.rigid.solver = "lemke";
  try {
    run.go(kDt);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("newton"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace capstan::rigid_models_test
