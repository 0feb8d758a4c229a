// The factored Hessian against differences of the gradient, whose sums are the test's own: dense matrices and
// the laws' impulses.
#include "capstan/solvers/answer_factor.h"

#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/step/step.h"
#include "tests/support/plain_solvers.h"
#include "tests/support/random_problem.h"

namespace capstan::answer_factor_test {
namespace {

using test::Difficulty;

struct DenseProblem {
  const Problem& problem;
  MatX A, J_contacts, J_laws;

  DenseProblem(const Problem& p, const Contacts& contacts)
      : problem(p),
        A(test::dense_A(p)),
        J_contacts(test::contact_rows(p, contacts)),
        J_laws(test::scalar_rows(p)) {}

  VecX gradient(const VecX& v) const {
    VecX g = A * (v - problem.motion->v_star);
    const VecX velocity = J_contacts * v, rate = J_laws * v;
    for (int i = 0; i < static_cast<int>(problem.contacts.size()); ++i) {
      Vec3 gamma;
      evaluate(problem.options.law, problem.options.normal_law, problem.contacts[i],
               Vec3(velocity.segment<3>(3 * i)), nullptr, &gamma, nullptr);
      g -= J_contacts.middleRows(3 * i, 3).transpose() * gamma;
    }
    const int n = static_cast<int>(problem.laws.size());
    for (int i = 0; i < rate.size(); ++i) {
      const ScalarLaw& law = i < n ? problem.laws[i] : problem.dof_laws[i - n].law;
      g -= J_laws.row(i).transpose() * scalar_impulse(law, rate[i]);
    }
    return g;
  }
};

// How far H^-1 (H d), with H d from differences, is from the directions d; in the norm of A.
double error_of(const AnswerFactor& factor, const DenseProblem& dense, const VecX& v, const MatX& directions,
                double h) {
  MatX X(directions.rows(), directions.cols());
  for (int k = 0; k < X.cols(); ++k) {
    const VecX step = h * directions.col(k);
    X.col(k) = (dense.gradient(v + step) - dense.gradient(v - step)) / (2 * h);
  }
  factor.solve_in_place(X);
  const VecX scale = dense.A.diagonal().cwiseSqrt();
  return (scale.asDiagonal() * (X - directions)).norm() / (scale.asDiagonal() * directions).norm();
}

TEST(AnswerFactor, SolvesWithTheDerivativeOfTheGradient) {
  int contacts = 0, close = 0, count = 0;
  for (const ContactLaw law :
       {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar, ContactLaw::regularized_lagged}) {
    for (int i = 0; i < 25; ++i) {
      const auto s = test::random_problem(Difficulty::ordinary, law, i);
      NewtonOptions options;
      options.relative_tolerance = 1e-10;
      ASSERT_TRUE(s->solve(options).converged);
      const AnswerFactor factor(s->problem, s->newton.v);
      ASSERT_TRUE(factor);
      const DenseProblem dense(s->problem, s->contacts);
      test::Random random(7 + i);
      MatX directions(s->model.num_velocities(), 3);
      for (double& x : directions.reshaped()) x = test::uniform(random, -1, 1);
      // Laws have kinks (a contact opens, sticks): differences over one of them are not the derivative.
      const double error = std::min(error_of(factor, dense, s->newton.v, directions, 1e-7),
                                    error_of(factor, dense, s->newton.v, directions, 1e-9));
      ++count;
      close += error < 1e-4;
      contacts += s->contacts.size();
    }
  }
  EXPECT_GT(contacts, 500);
  EXPECT_GE(close, 0.95 * count) << "of " << count;
}

TEST(AnswerFactor, IsThereAfterAStepThatNeededNoIteration) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/four_bar.xml");  // loops, joints
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace w = make_workspace(model);
  StepOptions options = step_options(model);
  for (int i = 0; i < 20; ++i) step(model, options, {}, &state, &w);
  const AnswerFactor factor(w.problem, w.newton.v);
  ASSERT_TRUE(factor);
  const DenseProblem dense(w.problem, w.contacts);
  const int n = model.num_velocities();
  EXPECT_LT(error_of(factor, dense, w.newton.v, MatX::Identity(n, n), 1e-6), 1e-6);
}

}  // namespace
}  // namespace capstan::answer_factor_test
