#include "capstan/problem/delassus_operator.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "capstan/dynamics/objects.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/plain_solvers.h"
#include "tests/support/point_masses.h"
#include "tests/support/random_problem.h"

namespace capstan::delassus_operator_test {
namespace {

using namespace test;

VecX random_vector(int n, int seed) {
  Random random(seed);
  VecX x(n);
  for (double& value : x) value = uniform(random, -1, 1);
  return x;
}

TEST(DelassusOperator, IsThatOfDenseMatrices) {
  int contacts = 0;
  for (int i = 0; i < 20; ++i) {
    const auto s = random_problem(Difficulty::ordinary, ContactLaw::sap, i);
    const MatX A = dense_A(s->problem);
    MatX J(3 * s->contacts.size() + scalar_rows(s->problem).rows(), A.cols());
    J << contact_rows(s->problem, s->contacts), scalar_rows(s->problem);
    if (J.rows() == 0) continue;
    const MatX W = J * Eigen::LLT<MatX>(A).solve(J.transpose());
    const DelassusOperator delassus(s->problem);
    ASSERT_EQ(delassus.num_rows(), J.rows());
    const VecX x = random_vector(delassus.num_rows(), i),
               v = random_vector(static_cast<int>(A.cols()), 100 + i);
    EXPECT_LT((delassus.multiply(x) - W * x).norm(), 1e-9 * (W * x).norm()) << i;
    EXPECT_LT((delassus.multiply_J(v) - J * v).norm(), 1e-12 * (J * v).norm()) << i;
    EXPECT_LT((delassus.multiply_JT(x) - J.transpose() * x).norm(), 1e-12 * (J.transpose() * x).norm()) << i;
    const std::vector<Mat3> diagonal = delassus.diagonal_blocks();
    for (int a = 0; a < s->contacts.size(); ++a) {
      EXPECT_LT((diagonal[a] - W.block<3, 3>(3 * a, 3 * a)).norm(), 1e-9 * diagonal[a].norm());
      const Mat3 W_ab = W.block<3, 3>(3 * a, 0);
      EXPECT_LT((delassus.block(a, 0) - W_ab).norm(), 1e-9 * W.norm());
    }
    contacts += s->contacts.size();
  }
  EXPECT_GT(contacts, 100);
}

// Impulses of the solver, put through W by hand, give the solver's velocities: also for what is not a tree.
TEST(DelassusOperator, GivesTheVelocitiesOfTheAnswer) {
  Scene scene = box_on_plane(0.5, 1e5);
  Simulation run(scene, 0.001, ContactLaw::regularized_lagged);
  PointMasses masses;
  for (int i = 0; i < 4; ++i) {
    masses.mass.push_back(0.2);
    masses.position.push_back(Vec3(0.05 * i - 0.1, 0.01 * i, 0.105 + 0.05 * (i % 2)));
    if (i > 0) masses.springs.push_back({i - 1, i, 500, 0, 0.06});
  }
  const int object = add_object("chain", std::make_shared<PointMasses>(masses), &run.model);
  for (int i = 0; i < 4; ++i)
    add_carrier_shape(object, i, make_shape("m" + std::to_string(i), "", Sphere{0.01}), 0, &run.model);
  run.state = initial_state(run.model);
  run.workspace = make_workspace(run.model);
  run.options.newton.relative_tolerance = 1e-10;
  run.go(0.2);
  const Workspace& w = run.workspace;
  ASSERT_GT(w.contacts.size(), 4);
  const DelassusOperator delassus(w.problem);
  VecX impulses(delassus.num_rows());
  for (int i = 0; i < w.contacts.size(); ++i)
    impulses.segment<3>(delassus.row_of_contact(i)) = w.newton.impulse[i];
  const VecX v = delassus.velocity(impulses);
  // Forces of objects are those at the answer to 1e-6 (step/relinearize.h).
  EXPECT_LT((v - w.newton.v).norm(), 1e-6 * (w.motion.v_star - w.newton.v).norm());
  // W is symmetric.
  const VecX x = random_vector(delassus.num_rows(), 1), y = random_vector(delassus.num_rows(), 2);
  EXPECT_NEAR(x.dot(delassus.multiply(y)), y.dot(delassus.multiply(x)),
              1e-9 * x.norm() * delassus.multiply(y).norm());
}

}  // namespace
}  // namespace capstan::delassus_operator_test
