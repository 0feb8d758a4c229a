// A physics that the library does not know goes through every stage: it falls, rests, hangs, sticks, sleeps,
// is saved, judged and solved in one island with robots and boxes.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/dynamics/objects.h"
#include "capstan/solvers/island_system.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/point_masses.h"

namespace capstan::objects_test {
namespace {

using namespace test;

constexpr double kRadius = 0.01;

// A chain along x from `start`, masses of m kg, springs k.
PointMasses chain(int count, const Vec3& start, double spacing, double m, double k) {
  PointMasses masses;
  for (int i = 0; i < count; ++i) {
    masses.mass.push_back(m);
    masses.position.push_back(start + Vec3(i * spacing, 0, 0));
    if (i > 0) masses.springs.push_back({i - 1, i, k, 0, spacing});
  }
  return masses;
}

// A ball on each mass, a capsule along each spring.
void add(const PointMasses& masses, const std::string& name, Simulation* run, bool with_springs = false) {
  const int object = add_object(name, std::make_shared<PointMasses>(masses), &run->model);
  const int n = static_cast<int>(masses.mass.size());
  for (int i = 0; i < n; ++i)
    add_carrier_shape(object, i, make_shape(name + std::to_string(i), "", Sphere{kRadius}), 0, &run->model);
  for (int s = 0; s < static_cast<int>(masses.springs.size()) && with_springs; ++s) {
    add_carrier_shape(
        object, n + s,
        make_shape(name + "_s" + std::to_string(s), "", Capsule{kRadius, 0.5 * masses.springs[s].length}), 0,
        &run->model);
  }
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
}

Scene floor_only(double friction, double stiffness) {
  Scene scene = box_on_plane(friction, stiffness);
  scene.bodies.clear();
  scene.shapes.resize(1);
  return scene;
}

TEST(Objects, FallAsPointMassesDo) {
  Simulation run(floor_only(0.5, 1e5), 0.001, ContactLaw::coulomb);
  add(chain(3, {0, 0, 5}, 0.1, 0.2, 1e3), "chain", &run);
  run.go(0.5);
  // Symplectic: z0 - g dt^2 n (n + 1) / 2.
  EXPECT_NEAR(run.state.q[2], 5 - kGravity * 1e-6 * 500 * 501 / 2, 1e-10);
  const Mechanics m = calc_mechanics(run.model, run.state);
  EXPECT_NEAR(m.momentum[5], -0.6 * kGravity * 0.5, 1e-10);
  EXPECT_NEAR(m.center_of_mass.x(), 0.1, 1e-10);
}

TEST(Objects, RestAtMgOverKWithAllLaws) {
  const double k = 1e4, m = 0.2;
  for (int l = 0; l < 5; ++l) {
    Simulation run(floor_only(0.5, k), 0.005, l < 4 ? kLaws[l] : ContactLaw::coulomb);
    add(chain(3, {0, 0, kRadius}, 0.1, m, 1e3), "chain", &run);
    run.go(2);
    EXPECT_EQ(run.report.contacts, 3);
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(run.state.q[3 * i + 2] - kRadius, -m * kGravity / k, 1e-3 * m * kGravity / k);
    EXPECT_LT(run.state.v.norm(), 1e-6);
    EXPECT_LT(run.report.judge.momentum, 1e-6);
    EXPECT_LT(run.report.judge.law, 1e-6);
  }
}

TEST(Objects, HangAsAChainStretchesByItsLoads) {
  // Fixed at the top; spring i carries the masses below it: stretch i = m g (n - i) / k.
  const int n = 6;
  const double m = 0.1, k = 500, spacing = 0.1;
  PointMasses masses = chain(n, {0, 0, 2}, spacing, m, k);
  masses.mass[0] = kInfinity;
  for (int i = 0; i < n; ++i) masses.position[i] = {0, 0, 2 - i * spacing};
  for (PointMasses::Spring& s : masses.springs) s.damping = 2;
  for (const Integrator integrator : {Integrator::semi_implicit, Integrator::implicit_euler}) {
    Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
    add(masses, "chain", &run);
    run.options.integrator = integrator;
    run.go(8);
    double z = 2;
    for (int i = 1; i < n; ++i) {
      z -= spacing + m * kGravity * (n - i) / k;
      EXPECT_NEAR(run.state.q[3 * i + 2], z, 1e-6) << i;
    }
  }
}

TEST(Objects, ASpringSwingsWithItsPeriod) {
  // Two masses on a spring, no gravity: w^2 = 2 k / m. Midpoint keeps the energy of linear springs.
  Scene scene = floor_only(0.5, 1e5);
  scene.options.gravity.setZero();
  PointMasses masses = chain(2, {0, 0, 1}, 0.1, 0.3, 60);
  masses.springs[0].length = 0.09;
  Simulation run(scene, 0.001, ContactLaw::coulomb);
  add(masses, "pair", &run);
  run.options.integrator = Integrator::midpoint;
  const double w = std::sqrt(2 * 60 / 0.3), energy = calc_mechanics(run.model, run.state).total();
  run.go(1);
  EXPECT_NEAR(run.state.q[3] - run.state.q[0], 0.09 + 0.01 * std::cos(w), 2e-5);
  EXPECT_NEAR(calc_mechanics(run.model, run.state).total(), energy, 1e-9 * energy);
}

TEST(Objects, FrictionHoldsAndSlidesAtItsAngle) {
  for (const double ratio : {0.95, 1.05}) {
    Scene scene = floor_only(0.5, 1e5);
    const double angle = std::atan(0.5 * ratio);
    scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    add(chain(3, {0, 0, kRadius}, 0.1, 0.2, 1e3), "chain", &run);
    run.go(1);
    const double a = kGravity * (std::sin(angle) - 0.5 * std::cos(angle));
    EXPECT_NEAR(run.state.q[0], ratio < 1 ? 0 : 0.5 * a, ratio < 1 ? 1e-3 : 0.02 * a) << ratio;
  }
}

TEST(Objects, ABoxRestsOnSpringsThatRestOnTheFloor) {
  // Contacts on springs and on masses, in one island with a rigid body: the weight arrives at the floor.
  Scene scene = box_on_plane(0.5, 1e5);
  scene.bodies[0].pose.position = Vec3(0.15, 0.05, 3 * kRadius + 0.05);
  Simulation run(scene, 0.002, ContactLaw::coulomb);
  for (const double y : {0.02, 0.08}) {
    PointMasses masses = chain(4, {0, y, kRadius}, 0.1, 0.05, 2e5);
    for (PointMasses::Spring& s : masses.springs) s.damping = 20;
    add(masses, y < 0.05 ? "left" : "right", &run, true);
  }
  run.go(2);
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double on_floor = 0;
  int on_springs = 0;
  for (const ContactForce& f : forces) {
    if (f.shape_a == 0) on_floor += f.normal_force;
    on_springs += f.shape_a == 1 || f.shape_b == 1;
  }
  EXPECT_GE(on_springs, 2);
  EXPECT_NEAR(on_floor, (1 + 8 * 0.05) * kGravity, 1e-4);
  EXPECT_EQ(run.report.solver.islands, 1);
  EXPECT_NEAR(run.state.q[2], 2 * kRadius + 0.05, 1e-4);
  EXPECT_LT(run.state.v.norm(), 1e-4);
  EXPECT_LT(run.report.judge.momentum, 1e-5);
}

TEST(Objects, AFastMassDoesNotPassAThinPlate) {
  Scene scene = floor_only(0.5, 1e5);
  ShapeInstance plate = make_shape("plate", kWorld, Box{Vec3(0.5, 0.5, 0.001)});
  plate.pose.position = Vec3(0, 0, 1);
  scene.shapes.push_back(plate);
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  add(chain(2, {0, 0, 1.2}, 0.1, 0.2, 1e3), "chain", &run, true);
  run.state.v[2] = run.state.v[5] = -40;
  for (int i = 0; i < 40; ++i) {
    run.go(0.005);
    ASSERT_GT(run.state.q[2], 1) << i;
    ASSERT_GT(run.state.q[5], 1) << i;
  }
}

TEST(Objects, SleepAreSavedAndRestoredBitForBit) {
  Simulation run(floor_only(0.5, 1e4), 0.005, ContactLaw::coulomb);
  add(chain(3, {0, 0, kRadius + 0.02}, 0.1, 0.2, 1e3), "chain", &run);
  run.go(0.1);
  Simulation again(floor_only(0.5, 1e4), 0.005, ContactLaw::coulomb);
  add(chain(3, {0, 0, kRadius + 0.02}, 0.1, 0.2, 1e3), "chain", &again);
  again.state = restore(again.model, save(run.model, run.state));
  EXPECT_EQ(hash(again.state), hash(run.state));
  run.go(0.1);
  again.go(0.1);
  EXPECT_EQ(hash(again.state), hash(run.state));
  run.options.sleep.on = true;
  run.go(3);
  EXPECT_EQ(run.report.asleep, 1);
  EXPECT_EQ(run.state.v.norm(), 0);
  const VecX q = run.state.q;
  run.go(0.5);
  EXPECT_EQ(run.state.q, q);
  run.input.generalized_force = VecX::Zero(run.model.num_velocities());
  run.input.generalized_force[2] = 10;
  run.go(0.1);
  EXPECT_GT(run.state.q[2], q[2] + 0.05);  // pulled up: it woke
}

TEST(Objects, ThreadsGiveTheSameBits) {
  std::uint64_t hashes[2];
  for (const int threads : {1, 2}) {
    Simulation run(box_on_plane(0.5, 1e5), 0.005, ContactLaw::coulomb);
    add(chain(60, {-3, 0, 0.3}, 0.1, 0.05, 1e4), "chain", &run, true);
    run.options.threads = threads;
    run.go(0.5);
    hashes[threads - 1] = hash(run.state);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// Blocks that nothing touches are eliminated once in a step; the answer is that of the whole system.
TEST(Objects, FrozenBlocksDoNotChangeTheAnswer) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  PointMasses masses = chain(40, {0, 0, 0.5}, 0.1, 0.05, 1e4);
  masses.position[39].z() = kRadius - 1e-4;  // one of them touches
  add(masses, "chain", &run);
  run.go(0.005);
  ASSERT_EQ(run.report.contacts, 1);
  ASSERT_GT(run.report.solver.iterations, 0);
  // Dense: (A + J^T G J) v = A v* + ... is what the judge checks, by other sums.
  EXPECT_LT(run.report.judge.momentum, 1e-8);
  EXPECT_LT(run.report.judge.law, 1e-8);
}

// The answer of a chain of which most masses are eliminated balances momentum in all of them.
TEST(Objects, AChainMovesAsItsWholeSystem) {
  const int n = 60;
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  PointMasses masses = chain(n, {0, 0, 0.02}, 0.1, 0.05, 1e4);
  const int object = add_object("chain", std::make_shared<PointMasses>(masses), &run.model);
  for (int i = 0; i < n; i += 6)
    add_carrier_shape(object, i, make_shape(std::to_string(i), "", Sphere{kRadius}), 0, &run.model);
  run.state = initial_state(run.model);
  run.workspace = make_workspace(run.model);
  int condensed = 0;
  for (int k = 0; k < 100; ++k) {
    run.go(0.005);
    if (run.report.contacts == 0) continue;
    const Problem& problem = run.workspace.problem;
    const VecX& v = run.workspace.newton.v;
    VecX gradient = VecX::Zero(v.size());
    multiply_A(run.model, run.workspace.motion, 0, v - run.workspace.motion.v_star, &gradient);
    const double size = gradient.norm();
    for (std::size_t g = 0; g < problem.groups.size(); ++g) {
      const ConstraintGroup& group = problem.groups[g];
      Vec6 f = Vec6::Zero();
      for (int c = group.contact_begin; c < group.contact_end; ++c)
        f += problem.X[c].transpose() * run.workspace.newton.impulse[c];
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const DofBlock& block = run.model.blocks[problem.parts[p].block];
        const Eigen::Map<const MatX> J(problem.jacobians.data() + problem.parts[p].jacobian, group.num_rows,
                                       block.size);
        gradient.segment(block.dof_begin, block.size) -= J.transpose() * f.head(group.num_rows);
      }
    }
    EXPECT_LE(gradient.norm(), 1e-5 * size) << "step " << k;
    condensed += run.report.solver.iterations > 0;
  }
  EXPECT_GT(condensed, 10);
}

TEST(Objects, WhatIsNotFiniteIsTold) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  add(chain(2, {0, 0, 1}, 0.1, 0.2, 1e3), "chain", &run);
  const State before = run.state;
  run.input.generalized_force = VecX::Constant(run.model.num_velocities(), std::nan(""));
  EXPECT_THROW(run.go(0.005), StepFailure);
  EXPECT_EQ(hash(run.state), hash(before));
}

TEST(Objects, MistakesAreTold) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  Workspace too_early = make_workspace(run.model);
  add(chain(2, {0, 0, 1}, 0.1, 0.2, 1e3), "chain", &run);
  EXPECT_THROW(step(run.model, run.options, run.input, &run.state, &too_early), InputError);
  EXPECT_THROW(add_carrier_shape(0, 0, make_shape("ball", "", Sphere{kRadius}), 7, &run.model), InputError);
  run.input.body_forces.push_back({});
  run.input.body_forces[0].body = 99;
  EXPECT_THROW(run.go(0.005), InputError);
}

}  // namespace
}  // namespace capstan::objects_test
