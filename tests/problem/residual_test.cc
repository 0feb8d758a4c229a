// The judge against a plain twin and arithmetic, on right and on wrong answers.
#include "capstan/problem/residual.h"

#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/laws/contact_laws.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/random_problem.h"

namespace capstan::residual_test {
namespace {

using test::kGravity;

// Plain twin: dense point Jacobians, one contact at a time; no constraints but contacts and dof laws.
Residual plain_residual(const Problem& problem, const Contacts& contacts, const Answer& answer) {
  const Model& model = *problem.model;
  const Placement& placement = problem.motion->placement;
  const int n = model.num_velocities();
  const VecX& v = *answer.v;
  Residual r;
  VecX generalized = VecX::Zero(n);
  MatX Ja(3, n), Jb(3, n), A = MatX::Zero(n, n);
  for (int i = 0; i < contacts.size(); ++i) {
    calc_point_jacobian(model, placement, model.links[contacts.link_a[i]].body, contacts.p_WC[i], Ja);
    calc_point_jacobian(model, placement, model.links[contacts.link_b[i]].body, contacts.p_WC[i], Jb);
    const MatX J = problem.R_WC[i].transpose() * (Jb - Ja);
    const Vec3 velocity = J * v, gamma = answer.impulse[i];
    generalized += J.transpose() * gamma;
    double cost;
    Vec3 expected;
    evaluate(problem.options.law, problem.options.normal_law, problem.contacts[i], velocity, &cost, &expected,
             nullptr);
    r.cost += cost;
    r.law = std::max(r.law, (gamma - expected).norm());
    r.largest_impulse = std::max(r.largest_impulse, gamma.norm());
    r.dissipated_power -= gamma.head<2>().dot((velocity + problem.contacts[i].bias).head<2>()) / problem.dt;
    r.penetration = std::max(r.penetration, -contacts.distance[i] - problem.dt * velocity.z());
  }
  r.law /= r.largest_impulse;
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i) {
    const DofLaw& law = problem.dof_laws[i];
    generalized[law.dof] += law.sign * answer.dof_impulse[i];
    double cost, hessian;
    evaluate(law.law, law.sign * v[law.dof], &cost, &hessian);
    r.cost += cost;
  }
  expand(model.system_pattern, problem.motion->A.data(), 0, n, A);
  const VecX off = v - problem.motion->v_star, D = A.diagonal().cwiseSqrt().cwiseInverse();
  r.cost += 0.5 * off.dot(A * off);
  r.momentum = D.cwiseProduct(A * off - generalized).norm() /
               std::max(D.cwiseProduct(A * v).norm(), D.cwiseProduct(generalized).norm());
  return r;
}

void expect_like_the_twin(const Problem& problem, const Contacts& contacts, const Answer& answer) {
  const Residual judge = calc_residual(problem, contacts, answer);
  const Residual twin = plain_residual(problem, contacts, answer);
  EXPECT_NEAR(judge.momentum, twin.momentum, 1e-12 + 1e-10 * twin.momentum);
  EXPECT_NEAR(judge.law, twin.law, 1e-10);
  EXPECT_NEAR(judge.cost, twin.cost, 1e-10 * twin.cost);
  EXPECT_NEAR(judge.dissipated_power, twin.dissipated_power, 1e-9 * (1 + std::abs(twin.dissipated_power)));
  EXPECT_NEAR(judge.penetration, twin.penetration, 1e-14);
  EXPECT_EQ(judge.largest_impulse, twin.largest_impulse);
}

// Contacts on links far from the root, joint limits, self-contact; the solver's answer and one that is off.
TEST(Judge, AgreesWithDenseJacobiansOnAHumanoid) {
  const Model model = compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoid.xml"));
  State state = initial_state(model);
  Workspace w = make_workspace(model);
  int judged = 0;
  for (int i = 0; i < 300; ++i) {
    step(model, step_options(model), {}, &state, &w);
    if (i % 20 != 0 || w.contacts.size() == 0) continue;
    ++judged;
    VecX v = w.newton.v;
    std::vector<Vec3> impulse = w.newton.impulse;
    const Answer answer{&v, impulse, w.newton.law_impulse, w.newton.dof_impulse};
    expect_like_the_twin(w.problem, w.contacts, answer);
    for (int k = 0; k < v.size(); ++k) v[k] += 0.01 * ((7 * k) % 5 - 2);
    for (Vec3& gamma : impulse) gamma *= 1.1;
    expect_like_the_twin(w.problem, w.contacts, answer);
  }
  EXPECT_GE(judged, 5);
}

TEST(Judge, SeesTheErrorOfAVelocityThatIsOff) {
  const auto s = test::random_problem(test::Difficulty::ordinary, ContactLaw::lagged, 3);
  ASSERT_TRUE(s->solve({}).converged);
  EXPECT_LT(calc_residual(s->problem, s->contacts, s->answer()).momentum, 1e-5);
  const double cost = calc_residual(s->problem, s->contacts, s->answer()).cost;
  s->newton.v *= 1.01;
  const Residual r = calc_residual(s->problem, s->contacts, s->answer());
  EXPECT_GT(r.momentum, 1e-3);
  EXPECT_GT(r.law, 1e-3);
  EXPECT_GT(r.cost, cost);
}

// 1 kg that slides at about 1 m/s: friction takes mu m g v, and no contact gains. The front edge carries 3/4
// of the weight (friction acts half the base below the centre of mass).
TEST(Judge, OfASlidingBox) {
  for (const ContactLaw law : test::kLaws) {
    test::Simulation s(test::box_on_plane(0.5, 1e5), 0.001, law);
    s.go(0.5);
    s.state.v[0] = 1.5;
    s.go(0.1);
    const Residual& r = s.report.judge;
    const double speed = s.state.v[0];
    EXPECT_GT(r.dissipated_power, 0.1 * kGravity * speed);
    EXPECT_EQ(r.friction_gain, 0);
    EXPECT_EQ(r.stick_slip, 0);
    EXPECT_LT(r.momentum, 1e-8);
    EXPECT_LT(r.law, 1e-8);
    if (law == ContactLaw::sap || law == ContactLaw::similar) continue;  // they glide and bob
    EXPECT_NEAR(r.dissipated_power, 0.5 * kGravity * speed, 1e-3 * kGravity);
    EXPECT_NEAR(r.penetration, 1.5 * kGravity / (4 * 1e5), 1e-3 * kGravity / 4e5);
  }
}

// An answer with its friction turned round is told by its numbers.
TEST(Judge, OfFrictionThatPushes) {
  test::Simulation s(test::box_on_plane(0.5, 1e5), 0.001, ContactLaw::lagged);
  s.go(0.5);
  s.state.v[0] = 1.5;
  s.go(0.1);
  std::vector<Vec3> impulse = s.workspace.newton.impulse;
  double tangential = 0, normal = 0;
  for (Vec3& gamma : impulse) {
    gamma.head<2>() *= -2;
    tangential = std::max(tangential, gamma.head<2>().norm());
    normal = std::max(normal, gamma.z());
  }
  const Workspace& w = s.workspace;
  const Residual r = calc_residual(w.problem, w.contacts,
                                   {&w.newton.v, impulse, w.newton.law_impulse, w.newton.dof_impulse});
  EXPECT_NEAR(r.dissipated_power, -2 * s.report.judge.dissipated_power, 1e-9);
  EXPECT_NEAR(r.friction_gain, tangential * w.newton.v[0], 1e-3 * r.friction_gain);
  EXPECT_NEAR(r.cone_violation, tangential - 0.5 * normal, 0.05 * r.cone_violation);
  EXPECT_GT(r.momentum, 0.01);
}

// A box at rest below its stick-slip threshold: slip at most the stiction tolerance, and it is the judge's.
TEST(Judge, OfABoxThatSticks) {
  Scene scene = test::box_on_plane(0.5, 1e5);
  scene.options.gravity = Vec3(0.3 * kGravity, 0, -kGravity);
  test::Simulation s(scene, 0.001, ContactLaw::lagged);
  s.go(1);
  const Residual& r = s.report.judge;
  EXPECT_GT(r.stick_slip, 0);
  EXPECT_LE(r.stick_slip, 1e-4);
  EXPECT_NEAR(r.stick_slip, s.state.v[0], 1e-3 * r.stick_slip);
  EXPECT_NEAR(r.dissipated_power, 0.3 * kGravity * s.state.v[0], 1e-2 * r.dissipated_power);
  EXPECT_LE(r.cone_violation, 0);
}

// On a belt, friction moves the box and still takes energy: what counts is the slip of the surfaces.
TEST(Judge, OfABoxThatABeltSpeedsUp) {
  Scene scene = test::box_on_plane(0.5, 1e5);
  scene.shapes[0].surface_velocity = Vec3(2, 0, 0);
  test::Simulation s(scene, 0.001, ContactLaw::lagged);
  s.go(0.1);
  const double speed = s.state.v[0];
  EXPECT_NEAR(speed, 0.1 * 0.5 * kGravity, 0.02);
  EXPECT_NEAR(s.report.judge.dissipated_power, 0.5 * kGravity * (2 - speed), 0.05);
  EXPECT_EQ(s.report.judge.friction_gain, 0);
}

}  // namespace
}  // namespace capstan::residual_test
