// The modified principal pivoting method and FIND-INDICES on N and A^-1, against dense solvers and ranks; and
// that its work grows with the number of contacts as n, by counting.
#include "capstan/rigid/factored_lcp.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "capstan/rigid/active_factor.h"
#include "tests/rigid/lcp_problems.h"

namespace capstan::factored_lcp_test {
namespace {

struct Factored {
  MatX N, A;
  FactoredLcp problem;
};

std::unique_ptr<Factored> random_factored(Random& random, int n, int m, bool with_bias) {
  auto made = std::make_unique<Factored>();
  made->N = random_matrix(random, n, m);
  if (n > 2) made->N.row(n - 1) = made->N.row(0);
  const MatX X = random_matrix(random, m, m + 2);
  made->A = X * X.transpose();
  VecX q = made->N * random_vector(random, m);
  if (with_bias) {
    for (double& x : q) x += uniform(random, 0, 0.3);  // as stabilization does: q is not N v for any v
  }
  made->problem = make_factored_lcp(
      made->N, [llt = Eigen::LLT<MatX>(made->A)](const VecX& f) -> VecX { return llt.solve(f); }, q);
  return made;
}

TEST(ModifiedPpm, AgreesWithAllIndexSets) {
  Random random(1);
  int solved = 0;
  for (int k = 0; k < 4000; ++k) {
    const auto made = random_factored(random, pick(random, 1, 8), pick(random, 1, 6), k % 2 == 1);
    const FactoredLcpResult result = solve_modified_ppm(made->problem);
    const LcpProblem dense = make_dense(made->problem);
    const std::optional<VecX> twin = enumerate(dense);
    if (!twin) {  // a bias can make it infeasible
      EXPECT_EQ(result.status, LcpStatus::ray_termination) << k << " " << name(result.status);
      continue;
    }
    ++solved;
    EXPECT_EQ(result.status, LcpStatus::solved) << k << " " << name(result.status) << " " << result.residual;
    const VecX w = calc_w(dense, result.z);
    EXPECT_LE((w - calc_w(dense, *twin)).cwiseAbs().maxCoeff(), 1e-7) << k;
    EXPECT_LE((w - result.w).cwiseAbs().maxCoeff(), 1e-8) << k;
    EXPECT_GE(result.z.minCoeff(), 0);
    EXPECT_LE((made->A * result.velocity_change - made->N.transpose() * result.z).cwiseAbs().maxCoeff(),
              1e-7);
    EXPECT_LE((result.z.array() > 0).count(), made->problem.num_dofs);
  }
  EXPECT_GE(solved, 3000);
}

TEST(ModifiedPpm, TakesCompliance) {
  Random random(2);
  for (int k = 0; k < 300; ++k) {
    const auto made = random_factored(random, 8, 4, false);
    made->problem.compliance = random_vector(random, 8).cwiseAbs();
    made->problem.q = random_vector(random, 8);
    const FactoredLcpResult result = solve_modified_ppm(made->problem);
    const LcpProblem dense = make_dense(made->problem);
    EXPECT_EQ(result.status, LcpStatus::solved);
    EXPECT_LE((result.z - solve_lemke(dense).z).cwiseAbs().maxCoeff(), 1e-6);
  }
}

TEST(ModifiedPpm, NamesTheInfeasible) {
  Random random(3);
  for (int k = 0; k < 200; ++k) {
    const auto made = random_factored(random, 6, 4, false);
    made->N.row(1) = -made->N.row(0);
    made->problem.q = made->N * random_vector(random, 4);
    made->problem.q[0] -= 1;
    made->problem.q[1] -= 1;
    const FactoredLcpResult result = solve_modified_ppm(made->problem);
    EXPECT_EQ(result.status, LcpStatus::ray_termination) << name(result.status);
  }
}

TEST(ModifiedPpm, AgreesOnHeaps) {
  Random random(4);
  for (const int contacts : {24, 48, 96}) {
    const MatX N = heap_rows(random, 6, contacts);
    const VecX masses = heap_masses(random, 6, 10);
    const FactoredLcp problem = make_factored_lcp(
        N, [masses](const VecX& f) -> VecX { return f.cwiseQuotient(masses); }, N* random_vector(random, 36));
    const FactoredLcpResult result = solve_modified_ppm(problem);
    const LcpProblem dense = make_dense(problem);
    ASSERT_EQ(result.status, LcpStatus::solved);
    EXPECT_LE((result.w - calc_w(dense, solve_lemke(dense).z)).cwiseAbs().maxCoeff(), 1e-7);
  }
}

// At fixed m: pivots, solves with A and multiplications with N do not grow with n; each multiplication is O(n
// m).
TEST(ModifiedPpm, WorkIsLinearInContacts) {
  std::vector<double> pivots;
  for (const int n : {100, 1000, 10000}) {
    double sum = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      Random random(seed);
      MatX N = random_matrix(random, n, 6);
      N.col(2) = N.col(2).cwiseAbs() + VecX::Ones(n);  // all push up
      VecX v = VecX::Zero(6);
      v[2] = -1;
      const FactoredLcp problem = make_factored_lcp(
          N, [](const VecX& f) { return f; }, N * v);
      const FactoredLcpResult result = solve_modified_ppm(problem);
      ASSERT_EQ(result.status, LcpStatus::solved);
      EXPECT_LE(result.multiplications, 2 * result.iterations + 4);
      EXPECT_LE(result.solves, 2 * result.iterations + 2);
      sum += result.iterations;
    }
    pivots.push_back(sum / 10);
  }
  // n grows 100 times; the pivots by less than that to the power 0.15.
  EXPECT_LE(pivots[2] / pivots[0], std::pow(100, 0.15)) << pivots[0] << " " << pivots[1] << " " << pivots[2];
}

TEST(FindIndices, FindsTheRankAndKeepsTheFirst) {
  Random random(5);
  for (int k = 0; k < 500; ++k) {
    const int m = pick(random, 1, 8), rank = pick(random, 1, m), n = pick(random, 1, 20);
    const MatX rows = random_matrix(random, n, rank) * random_matrix(random, rank, m);
    const MatX X = random_matrix(random, m, m + 2);
    const Eigen::LLT<MatX> llt(X * X.transpose());
    const std::vector<int> kept = find_independent_rows(
        n, [&rows](int i) -> VecX { return rows.row(i).transpose(); },
        [&llt](const VecX& f) -> VecX { return llt.solve(f); });
    ASSERT_EQ(static_cast<int>(kept.size()), std::min(rank, n)) << k;
    // Generic rows: the first ones are independent.
    for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], static_cast<int>(i));
  }
  MatX rows(4, 3);
  rows << 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1;
  EXPECT_EQ(
      find_independent_rows(
          4, [&rows](int i) -> VecX { return rows.row(i).transpose(); }, [](const VecX& f) { return f; }),
      (std::vector<int>{0, 3}));
}

TEST(ActiveFactor, SolvesWhateverCameAndWent) {
  Random random(6);
  const MatX X = random_matrix(random, 12, 14), M = X * X.transpose();
  ActiveFactor factor;
  std::vector<int> active;
  for (int k = 0; k < 2000; ++k) {
    const int i = pick(random, 0, 11);
    const auto it = std::find(active.begin(), active.end(), i);
    if (it == active.end()) {
      ASSERT_TRUE(factor.append(M(active, std::vector<int>{i}).col(0), M(i, i), 1e-12));
      active.push_back(i);
    } else {
      factor.remove(static_cast<int>(it - active.begin()));
      active.erase(it);
    }
    const VecX b = random_vector(random, static_cast<int>(active.size()));
    if (!active.empty()) {
      EXPECT_LE((M(active, active) * factor.solve(b) - b).cwiseAbs().maxCoeff(), 1e-10);
    }
  }
  active = {0};
  ActiveFactor twice;
  ASSERT_TRUE(twice.append(VecX(0), 2, 1e-12));
  EXPECT_FALSE(twice.append(VecX::Constant(1, 2), 2, 1e-12));  // the same row again
  EXPECT_EQ(twice.size(), 1);
}

}  // namespace
}  // namespace capstan::factored_lcp_test
