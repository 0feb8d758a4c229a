// Every solver of linear complementarity problems against all index sets, on random problems of its class;
// what has no answer must end with a name. The judge of residuals is tested first, with problems solved by
// hand.
#include "capstan/rigid/lcp.h"

#include <gtest/gtest.h>

#include "tests/rigid/lcp_problems.h"

namespace capstan::lcp_test {
namespace {

struct Tally {
  int solved = 0, named = 0, wrong = 0;
  double worst = 0;  // of w against the twin
};

// Solves `count` problems with every solver in question; each must be right where it says so.
template <class Make>
Tally run(const LcpSolver& solver, int count, int max_size, const Make& make, bool must_solve = true) {
  Random random(7);
  Tally tally;
  for (int k = 0; k < count; ++k) {
    const LcpProblem problem = make(random, pick(random, 2, max_size));
    const std::optional<VecX> twin = enumerate(problem);
    const LcpResult result = solver.solve(problem, {});
    EXPECT_NEAR(result.residual, natural_residual(problem, result.z), 1e-15);
    EXPECT_TRUE(result.z.allFinite());
    if (result.status != LcpStatus::solved) {
      ++tally.named;
      if (must_solve)
        ADD_FAILURE() << solver.name << " problem " << k << ": " << name(result.status) << " "
                      << result.residual << " after " << result.iterations;
      continue;
    }
    ++tally.solved;
    EXPECT_LE(result.residual, 1e-10) << solver.name << " problem " << k;
    EXPECT_TRUE(twin) << solver.name << " problem " << k << ": the twin found no answer";
    if (twin)
      tally.worst =
          std::max(tally.worst, (calc_w(problem, result.z) - calc_w(problem, *twin)).cwiseAbs().maxCoeff());
  }
  return tally;
}

TEST(Lcp, JudgesAnswersByHand) {
  // w = 2 z - 4: z = 2. In scaled units y = z sqrt(2), q' = -4 / sqrt(2).
  LcpProblem problem = make_plain_lcp(MatX::Constant(1, 1, 2), VecX::Constant(1, -4));
  EXPECT_EQ(natural_residual(problem, VecX::Constant(1, 2)), 0);
  EXPECT_NEAR(natural_residual(problem, VecX::Zero(1)), 1, 1e-15);
  EXPECT_NEAR(natural_residual(problem, VecX::Constant(1, 2.001)), 0.001 / 2, 1e-12);
  problem.upper[0] = 1.5;  // w = -1 < 0 there: right
  EXPECT_EQ(natural_residual(problem, VecX::Constant(1, 1.5)), 0);
  problem.lower[0] = 3, problem.upper[0] = 5;  // w = 2 > 0 there: right
  EXPECT_EQ(natural_residual(problem, VecX::Constant(1, 3)), 0);
  EXPECT_GT(natural_residual(problem, VecX::Constant(1, 5)), 0.1);
}

TEST(Lcp, ResidualDoesNotDependOnUnits) {
  Random random(1);
  for (int k = 0; k < 100; ++k) {
    const LcpProblem problem = with_bounds(random, random_redundant(random, 6));
    const VecX z = random_vector(random, 6);
    VecX units(6);
    for (double& u : units) u = std::exp(5 * uniform(random));
    LcpProblem other = problem;  // z' = z / units, w' = units w
    other.M = units.asDiagonal() * problem.M * units.asDiagonal();
    other.q = units.cwiseProduct(problem.q);
    other.lower = problem.lower.cwiseQuotient(units);
    other.upper = problem.upper.cwiseQuotient(units);
    const double residual = natural_residual(problem, z);
    EXPECT_NEAR(natural_residual(other, z.cwiseQuotient(units)), residual, 1e-11 * residual);
  }
}

class EverySolver : public testing::TestWithParam<LcpSolver> {};

// Sweeps converge linearly, at a rate that some random problem makes as slow as one likes.
bool is_sweep(const LcpSolver& solver) {
  return solver.needs_positive_diagonal;
}

// Pivoting ends at rounding. Others end at a residual r of 1e-10, and then for semidefinite M
// (w - w*)^2 <= |M| (y - y*)^T M (y - y*) = O(r), so that w is known to sqrt(r).
double w_bound(const LcpSolver& solver) {
  const bool is_pivoting = solver.solve == solve_lemke || solver.solve == solve_murty ||
                           solver.solve == solve_block_pivoting || solver.solve == solve_incremental_pivoting;
  return is_pivoting ? 1e-7 : 1e-5;
}

TEST_P(EverySolver, SolvesDefinite) {
  const Tally tally = run(GetParam(), 3000, 8, random_definite, !is_sweep(GetParam()));
  EXPECT_GE(tally.solved, 2990);
  EXPECT_LE(tally.worst, 1e-7);
}

TEST_P(EverySolver, SolvesRedundantContacts) {
  const Tally tally = run(GetParam(), 3000, 8, random_redundant, !is_sweep(GetParam()));
  EXPECT_GE(tally.solved, GetParam().solve == solve_projected_jacobi ? 2900 : 2950);  // the slowest of all
  EXPECT_LE(tally.worst, 1e-7);
}

TEST_P(EverySolver, SolvesDegenerate) {
  const Tally tally = run(GetParam(), 3000, 8, random_degenerate, !is_sweep(GetParam()));
  EXPECT_GE(tally.solved, 2900);
  EXPECT_LE(tally.worst, w_bound(GetParam()));
}

TEST_P(EverySolver, SolvesBounded) {
  const auto definite = [](Random& random, int n) { return with_bounds(random, random_definite(random, n)); };
  const Tally tally = run(GetParam(), 2000, 6, definite, !is_sweep(GetParam()));
  EXPECT_GE(tally.solved, 1990);
  EXPECT_LE(tally.worst, 1e-7);
  const auto redundant = [](Random& random, int n) {
    return with_bounds(random, random_redundant(random, n));
  };
  const Tally semidefinite = run(GetParam(), 2000, 6, redundant, false);
  EXPECT_LE(semidefinite.worst, 1e-7);
  std::printf("  %s, redundant with bounds: %d of 2000 solved\n", GetParam().name, semidefinite.solved);
}

TEST_P(EverySolver, NamesTheInfeasible) {
  Random random(3);
  for (int k = 0; k < 300; ++k) {
    const LcpProblem problem = random_infeasible(random, pick(random, 2, 8));
    LcpOptions options;
    options.max_iterations = 300;
    const LcpResult result = GetParam().solve(problem, options);
    EXPECT_NE(result.status, LcpStatus::solved) << k;
    EXPECT_TRUE(result.z.allFinite());
    EXPECT_GT(result.residual, 1e-10);
    if (!is_sweep(GetParam()) && std::string_view(GetParam().name).find("newton") == std::string_view::npos) {
      EXPECT_EQ(result.status, LcpStatus::ray_termination)
          << GetParam().name << " " << k << " " << name(result.status);
    }
  }
}

// Polyhedral friction: only Lemke's method must solve it; no other may claim what is not so.
TEST_P(EverySolver, IsHonestOnFriction) {
  Random random(4);
  int solved = 0;
  for (int k = 0; k < 1000; ++k) {
    const LcpProblem problem = random_friction(random, pick(random, 1, 3));
    const LcpResult result = GetParam().solve(problem, {});
    if (is_sweep(GetParam())) {
      EXPECT_EQ(result.status, LcpStatus::unsuitable);
    }
    if (result.status != LcpStatus::solved) continue;
    ++solved;
    const VecX w = calc_w(problem, result.z);
    EXPECT_GE(result.z.minCoeff(), 0);
    EXPECT_GE(w.minCoeff(), -1e-8);
    EXPECT_LE(w.cwiseMin(result.z).cwiseAbs().maxCoeff(), 1e-8);
  }
  std::printf("  %s: %d of 1000 problems of friction solved\n", GetParam().name, solved);
  if (GetParam().solve == solve_lemke) {
    EXPECT_EQ(solved, 1000);
  }
}

TEST_P(EverySolver, BeginsAtAnAnswer) {
  if (GetParam().solve == solve_lemke) GTEST_SKIP() << "has no start";
  Random random(5);
  for (int k = 0; k < 50; ++k) {
    const LcpProblem problem = random_definite(random, 8);
    LcpOptions options;
    options.start = *enumerate(problem);
    EXPECT_LE(GetParam().solve(problem, options).iterations, GetParam().solve(problem, {}).iterations);
  }
}

TEST_P(EverySolver, AgreesOnHeaps) {
  Random random(6);
  for (const double ratio : {1.0, 100.0}) {
    const LcpProblem problem = random_heap(random, 6, 48, ratio);
    const LcpResult reference = solve_lemke(problem);
    ASSERT_EQ(reference.status, LcpStatus::solved);
    LcpOptions options;
    options.max_iterations = is_sweep(GetParam()) ? 100000 : 0;
    std::vector<double> residuals;
    options.residuals = &residuals;
    const LcpResult result = GetParam().solve(problem, options);
    EXPECT_EQ(result.status, LcpStatus::solved) << name(result.status) << " " << result.residual;
    EXPECT_EQ(static_cast<int>(residuals.size()), result.iterations);
    EXPECT_LE((calc_w(problem, result.z) - calc_w(problem, reference.z)).cwiseAbs().maxCoeff(), 1e-6);
  }
}

// Half of all rows are redundant and many answers are at bounds: rounding decides over pivots there.
TEST(Lcp, PivotsInStacksOfBoxes) {
  Random random(8);
  for (int k = 0; k < 40; ++k) {
    const LcpProblem problem = random_faces(random, pick(random, 1, 5));
    std::optional<VecX> w;
    for (const char* name_of : {"block_pivoting", "incremental_pivoting", "lemke"}) {
      const LcpResult result = find_lcp_solver(name_of)->solve(problem, {});
      EXPECT_EQ(result.status, LcpStatus::solved)
          << name_of << " problem " << k << ": " << name(result.status) << " " << result.residual;
      if (!w) w = calc_w(problem, result.z);
      EXPECT_LE((calc_w(problem, result.z) - *w).cwiseAbs().maxCoeff(), 1e-7) << name_of << " problem " << k;
    }
  }
}

TEST_P(EverySolver, TakesTheEmptyAndTheTrivial) {
  EXPECT_EQ(GetParam().solve(make_plain_lcp(MatX(0, 0), VecX(0)), {}).status, LcpStatus::solved);
  const LcpProblem separating = make_plain_lcp(MatX::Identity(2, 2), VecX::Ones(2));
  EXPECT_EQ(GetParam().solve(separating, {}).z, VecX::Zero(2));
  EXPECT_EQ(GetParam().solve(make_plain_lcp(MatX::Identity(2, 2), VecX::Zero(2)), {}).status,
            LcpStatus::solved);
}

INSTANTIATE_TEST_SUITE_P(Lcp, EverySolver, testing::ValuesIn(lcp_solvers()),
                         [](const auto& solver) { return std::string(solver.param.name); });

TEST(Lcp, RefusesByName) {
  LcpProblem problem = make_plain_lcp(MatX::Identity(2, 2), VecX::Constant(2, -1));
  EXPECT_EQ(why_unsuitable(*find_lcp_solver("pgs"), problem), nullptr);
  problem.M(0, 1) = 1;
  EXPECT_EQ(why_unsuitable(*find_lcp_solver("lemke"), problem), nullptr);
  EXPECT_NE(std::string(why_unsuitable(*find_lcp_solver("pgs"), problem)).find("symmetric"),
            std::string::npos);
  problem.M(0, 1) = problem.M(1, 1) = 0;
  EXPECT_NE(std::string(why_unsuitable(*find_lcp_solver("pgs"), problem)).find("diagonal"),
            std::string::npos);
  EXPECT_EQ(solve_pgs(problem).status, LcpStatus::unsuitable);
  EXPECT_EQ(find_lcp_solver("simplex"), nullptr);
}

}  // namespace
}  // namespace capstan::lcp_test
