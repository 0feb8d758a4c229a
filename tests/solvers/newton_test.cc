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

struct Setup {
  Model model;
  State state;
  Motion motion;
  Contacts contacts;
  Problem problem;
  AssemblyWorkspace assembly;
  NewtonWorkspace newton;

  Setup(const Scene& scene, Random& random, double speed, double dt, const ContactOptions& options)
      : model(compile(scene)),
        state(initial_state(model)),
        motion(make_motion(model)),
        newton(make_newton_workspace(model)) {
    for (double& x : state.v) x = test::uniform(random, -speed, speed);
    calc_free_motion(model, state, {}, dt, scheme(Integrator::semi_implicit), &motion);
    CollisionWorkspace collision = make_collision_workspace(model);
    collide(model, motion.placement, &collision, &contacts);
    assemble(model, state, motion, contacts, dt, options, &assembly, &problem);
  }
  Answer answer() const { return {&newton.v, newton.impulse, newton.law_impulse, newton.dof_impulse}; }
};

ContactOptions random_options(Random& random, int trial) {
  ContactOptions o;
  o.law = static_cast<ContactLaw>(trial % 4);
  if (o.law != ContactLaw::sap)
    o.normal_law = static_cast<NormalLaw>(std::uniform_int_distribution<int>(0, 2)(random));
  return o;
}

TEST(Newton, ConvergesOnRandomProblemsAndTheJudgeAgrees) {
  Random random(1);
  std::map<int, int> histogram;
  int contacts = 0, tight = 0, trials = 3000;
  for (int trial = 0; trial < trials; ++trial) {
    const int n = 1 + trial % 12;
    const Scene scene = random_heap(random, n, trial % 3 == 0 ? 6 : 1);
    const double dt = std::pow(10, test::uniform(random, -4, -1.7)),
                 speed = std::pow(10, test::uniform(random, -3, 1));
    Setup s(scene, random, speed, dt, random_options(random, trial));
    NewtonOptions options;
    options.relative_tolerance = 1e-8;
    const SolverReport report = solve_newton(s.problem, options, &s.newton);
    const Residual residual = calc_residual(s.problem, s.contacts, s.answer());
    contacts += s.contacts.size();
    ++histogram[report.most_iterations];
    tight += report.converged;
    // Every problem to 1e-5 at least, by the judge's own sums.
    EXPECT_LT(residual.momentum, 1e-5)
        << "trial " << trial << ", law " << trial % 4 << ", n " << n << ", dt " << dt;
    // The impulses are those of the law at the answer's velocities. Stiff contacts amplify the round-off of
    // velocities.
    EXPECT_LT(residual.law, 1e-3) << trial;
    EXPECT_LE(residual.friction_power, 1e-9) << trial;
  }
  EXPECT_GT(contacts, 5 * trials);
  EXPECT_GE(tight, 0.999 * trials) << "to 1e-8";
  std::printf("iterations: problems\n");
  for (const auto& [iterations, count] : histogram) std::printf("%4d: %d\n", iterations, count);
}

// Plain twin: gradient descent of the same cost, preconditioned with the dense Hessian bound A + J^T G_max J
// would be as clever; so a dense Newton with tiny damped steps, everything assembled from point Jacobians.
TEST(Newton, AgreesWithAPlainDenseMinimization) {
  Random random(5);
  for (int trial = 0; trial < 40; ++trial) {
    ContactOptions o;
    o.law = static_cast<ContactLaw>(trial % 4);
    Scene scene = random_heap(random, 1 + trial % 4, 1);
    scene.materials[0].stiffness = 1e4;
    scene.materials[0].friction = 0.7;
    Setup s(scene, random, 0.5, 0.005, o);
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
  const Setup s(scene, random, 0.1, 0.005, {});
  // Three in a row touch each other (and the floor, which connects nothing); the other three touch the floor
  // alone.
  EXPECT_EQ(s.problem.islands.size(), 4u);
}

}  // namespace
}  // namespace capstan
