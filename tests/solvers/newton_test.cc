// The Newton solver on random problems: converges, agrees with a plain twin, is judged by the separate
// residual.
#include "capstan/solvers/newton.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <map>

#include "capstan/laws/contact_laws.h"
#include "capstan/math/rotation.h"
#include "capstan/problem/residual.h"
#include "tests/support/random_scene.h"

namespace capstan {
namespace {

using test::Random;

// Random bodies thrown together over a floor, with masses, stiffnesses and frictions over many decades.
Scene random_heap(Random& random, int n, double mass_decades) {
  Scene scene;
  Material m;
  m.name = "default";
  m.stiffness = std::pow(10, test::uniform(random, 2, 12));
  m.friction = test::uniform(random, 0, 1) < 0.1 ? 0 : std::pow(10, test::uniform(random, -2, 1));
  m.dissipation = std::pow(10, test::uniform(random, -1, 2));
  scene.materials = {m};
  ShapeInstance floor;
  floor.name = "floor";
  floor.shape = HalfSpace{};
  scene.shapes.push_back(floor);
  const double size = 0.06 * std::cbrt(n);
  for (int i = 0; i < n; ++i) {
    Body body;
    body.name = "b" + std::to_string(i);
    body.pose = {test::random_vector(random, size) + Vec3(0, 0, 0.8 * size), test::random_quat(random)};
    Joint joint;
    joint.name = body.name;
    joint.type = JointType::free;
    body.joints = {joint};
    scene.bodies.push_back(body);
    ShapeInstance s;
    s.name = s.body = body.name;
    if (i % 2 == 0) {
      s.shape = Sphere{0.05};
    } else {
      s.shape = Box{Vec3::Constant(0.05)};
    }
    s.mass = std::pow(10, test::uniform(random, -mass_decades / 2, mass_decades / 2));
    scene.shapes.push_back(s);
  }
  return scene;
}

struct StepProblem {
  Model model;
  State state;
  Motion motion;
  Contacts contacts;
  Problem problem;
  AssemblyWorkspace assembly;
  NewtonWorkspace newton;

  StepProblem(const Scene& scene, Random& random, double speed, double dt, const ContactOptions& options)
      : model(compile(scene)),
        state(initial_state(model)),
        motion(make_motion(model)),
        newton(make_newton_workspace(model)) {
    for (double& x : state.v) x = test::uniform(random, -speed, speed);
    calc_free_motion(model, state, {}, dt, scheme(Integrator::semi_implicit), &motion);
    CollisionWorkspace collision = make_collision_workspace(model);
    collide(model, motion.placement, &collision, &contacts);
    assemble(model, state, {}, motion, contacts, dt, options, &assembly, &problem);
  }
  Answer answer() const { return {&newton.v, newton.impulse, newton.law_impulse, newton.dof_impulse}; }
};

struct Tally {
  int problems = 0, contacts = 0, tight = 0, failed = 0;
  double worst = 0;
  std::map<int, int> histogram;
};

// Random problems of one law: every one to 1e-5 by the judge's own sums; how many reach 1e-8 is counted.
Tally solve_random_problems(ContactLaw law, bool extreme, int count) {
  Random random(1 + static_cast<int>(law));
  Tally tally;
  for (int trial = 0; trial < count; ++trial) {
    Scene scene = random_heap(random, 1 + trial % 12, extreme && trial % 3 == 0 ? 6 : 1);
    Material& m = scene.materials[0];
    if (!extreme) {
      m.stiffness = std::pow(10, test::uniform(random, 3, 7));
      m.friction = test::uniform(random, 0, 1);
    }
    const double dt = std::pow(10, test::uniform(random, -4, -1.7)),
                 speed = std::pow(10, test::uniform(random, -3, 1));
    ContactOptions o;
    o.law = law;
    o.normal_law = static_cast<NormalLaw>(trial % 3);
    StepProblem s(scene, random, speed, dt, o);
    NewtonOptions options;
    options.relative_tolerance = 1e-8;
    const SolverReport report = solve_newton(s.problem, options, &s.newton);
    const Residual residual = calc_residual(s.problem, s.contacts, s.answer());
    ++tally.problems;
    tally.contacts += s.contacts.size();
    tally.tight += report.converged;
    tally.failed += !(residual.momentum < 1e-5);
    tally.worst = std::max(tally.worst, residual.momentum);
    ++tally.histogram[report.most_iterations];
    // The impulses are those of the law at the answer's velocities; stiff contacts amplify the velocities'
    // round-off.
    EXPECT_LT(residual.law, 1e-3) << trial;
    EXPECT_LE(residual.friction_power, 1e-9) << trial;
  }
  std::printf(
      "%d problems, %d contacts; to 1e-8: %d; not to 1e-5: %d; worst residual %.1e; iterations:problems",
      tally.problems, tally.contacts, tally.tight, tally.failed, tally.worst);
  for (const auto& [iterations, n] : tally.histogram) std::printf(" %d:%d", iterations, n);
  std::printf("\n");
  return tally;
}

// Stiffness 1e2 to 1e12 N/m with centimetres of overlap, mass ratios to 1e6, friction to 10. Sap, with its
// near-rigid floor, solves every one. Without a floor a contact of 1e12 N/m amplifies the last bit of a
// velocity of metres per second to a noticeable impulse: a few problems of the regularized lagged law stop
// there.
TEST(Newton, SapAndRegularizedLaggedConvergeOnExtremeProblems) {
  const Tally sap = solve_random_problems(ContactLaw::sap, true, 2000);
  EXPECT_EQ(sap.failed, 0);
  EXPECT_EQ(sap.tight, sap.problems);
  EXPECT_GT(sap.contacts, 5 * sap.problems);
  const Tally lagged = solve_random_problems(ContactLaw::regularized_lagged, true, 2000);
  EXPECT_LE(lagged.failed, lagged.problems / 1000);
  EXPECT_GE(lagged.tight, 0.97 * lagged.problems);
  EXPECT_LT(lagged.worst, 1e-3);
}

// Stiffness 1e3 to 1e7 N/m, masses within a factor of ten, friction to 1. (Lagged and Similar keep their
// small stiction tolerance however hard a contact is pressed; on the extreme problems above some do not reach
// 1e-5 in 100 iterations.)
TEST(Newton, AllLawsConvergeOnOrdinaryProblems) {
  for (int law = 0; law < 4; ++law) {
    const Tally tally = solve_random_problems(static_cast<ContactLaw>(law), false, 1000);
    EXPECT_EQ(tally.failed, 0) << "law " << law;
    EXPECT_GT(tally.contacts, 5 * tally.problems);
  }
}

// Plain twin: dense matrices from point Jacobians, damped Newton with backtracking on the cost.
TEST(Newton, AgreesWithAPlainDenseMinimization) {
  Random random(5);
  for (int trial = 0; trial < 40; ++trial) {
    ContactOptions o;
    o.law = static_cast<ContactLaw>(trial % 4);
    Scene scene = random_heap(random, 1 + trial % 4, 1);
    scene.materials[0].stiffness = 1e4;
    scene.materials[0].friction = 0.7;
    StepProblem s(scene, random, 0.5, 0.005, o);
    NewtonOptions options;
    options.relative_tolerance = 1e-12;
    solve_newton(s.problem, options, &s.newton);
    const int n = s.model.num_velocities(), nc = s.contacts.size();
    MatX A(n, n), J(3 * nc, n), Ja(3, n), Jb(3, n);
    expand(s.model.system_pattern, s.motion.A.data(), 0, n, A);
    for (int i = 0; i < nc; ++i) {
      calc_point_jacobian(s.model, s.motion.placement, s.model.links[s.contacts.link_a[i]].body,
                          s.contacts.p_WC[i], Ja);
      calc_point_jacobian(s.model, s.motion.placement, s.model.links[s.contacts.link_b[i]].body,
                          s.contacts.p_WC[i], Jb);
      J.middleRows(3 * i, 3) = s.problem.R_WC[i].transpose() * (Jb - Ja);
    }
    const auto cost = [&](const VecX& v, VecX* gradient, MatX* H) {
      const VecX d = v - s.motion.v_star;
      double total = 0.5 * d.dot(A * d);
      if (gradient != nullptr) *gradient = A * d;
      if (H != nullptr) *H = A;
      for (int i = 0; i < nc; ++i) {
        double l;
        Vec3 gamma;
        Mat3 G;
        evaluate(o.law, o.normal_law, s.problem.contacts[i], Vec3(J.middleRows(3 * i, 3) * v), &l, &gamma,
                 &G);
        total += l;
        if (gradient != nullptr) *gradient -= J.middleRows(3 * i, 3).transpose() * gamma;
        if (H != nullptr) *H += J.middleRows(3 * i, 3).transpose() * G * J.middleRows(3 * i, 3);
      }
      return total;
    };
    VecX v = s.motion.v_star, gradient(n);
    MatX H(n, n);
    for (int k = 0; k < 500; ++k) {
      const double now = cost(v, &gradient, &H);
      const VecX dv = -H.llt().solve(gradient);
      double alpha = 1;
      while (alpha > 1e-10 &&
             !(cost(v + alpha * dv, nullptr, nullptr) < now + 1e-4 * alpha * gradient.dot(dv)))
        alpha /= 2;
      v += alpha * dv;
      if (dv.norm() < 1e-13 * (1 + v.norm())) break;
    }
    EXPECT_LT((v - s.newton.v).norm(), 1e-6 * (1 + v.norm())) << "trial " << trial;
  }
}

TEST(Newton, IslandsAreTheConnectedComponents) {
  Random random(3);
  Scene scene = random_heap(random, 6, 1);
  for (int i = 0; i < 6; ++i) scene.bodies[i].pose.position = Vec3(i < 3 ? 0.08 * i : 5 + 0.5 * i, 0, 0.045);
  const StepProblem s(scene, random, 0.1, 0.005, {});
  // Three in a row touch each other (and the floor, which connects nothing); the other three touch the floor
  // alone.
  EXPECT_EQ(s.problem.islands.size(), 4u);
}

}  // namespace
}  // namespace capstan
