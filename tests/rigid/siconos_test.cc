// The same problems with Siconos (INRIA, Debian's libsiconos-numerics-dev), where it is installed: where both
// have solved a problem with a semidefinite matrix, w is the same to 1e-6; and ours solves all.
#include <LinearComplementarityProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <gtest/gtest.h>
#include <lcp_cst.h>

#include "capstan/rigid/lcp.h"
#include "tests/rigid/lcp_problems.h"

namespace capstan::siconos_test {
namespace {

// z, or nothing where Siconos says that it failed.
std::optional<VecX> solve_with_siconos(const LcpProblem& problem, int solver) {
  MatX M = problem.M;
  VecX q = problem.q, z = VecX::Zero(problem.size()), w = VecX::Zero(problem.size());
  NumericsMatrix matrix;
  NM_null(&matrix);
  NM_fill(&matrix, NM_DENSE, problem.size(), problem.size(), M.data());
  LinearComplementarityProblem lcp{problem.size(), &matrix, q.data()};
  SolverOptions* options = solver_options_create(solver);
  options->dparam[SICONOS_DPARAM_TOL] = 1e-10;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = 10000;
  const int failed = linearComplementarity_driver(&lcp, z.data(), w.data(), options);
  solver_options_delete(options);
  return failed == 0 ? std::optional(z) : std::nullopt;
}

template <class Make>
void compare(const char* kind, const Make& make, bool is_unique) {
  Random random(21);
  int theirs = 0, ours = 0;
  double worst = 0;
  for (int k = 0; k < 500; ++k) {
    const LcpProblem problem = make(random, pick(random, 2, 8));
    const LcpResult result = solve_lemke(problem);
    ours += result.status == LcpStatus::solved;
    const std::optional<VecX> other = solve_with_siconos(problem, SICONOS_LCP_LEMKE);
    // Graded without scale, as it grades itself.
    if (!other || calc_w(problem, *other).cwiseMin(*other).cwiseAbs().maxCoeff() > 1e-9) continue;
    ++theirs;
    if (!is_unique) continue;
    const double difference = (calc_w(problem, result.z) - calc_w(problem, *other)).cwiseAbs().maxCoeff();
    if (difference > 1e-6) {
      std::printf("    %d: residuals %.1e, Siconos %.1e; z up to %.1e and %.1e; scale %.1e to %.1e\n", k,
                  result.residual, natural_residual(problem, *other), result.z.maxCoeff(), other->maxCoeff(),
                  lcp_scale(problem).minCoeff(), lcp_scale(problem).maxCoeff());
    }
    worst = std::max(worst, (calc_w(problem, result.z) - calc_w(problem, *other)).cwiseAbs().maxCoeff());
  }
  std::printf("  %s: %d of 500 solved, Siconos %d; w differs by %.1e\n", kind, ours, theirs, worst);
  EXPECT_EQ(ours, 500);
  EXPECT_GE(theirs, 400);  // else this compares nothing
  EXPECT_LE(worst, 1e-6);
}

TEST(Siconos, HasTheSameAnswers) {
  compare("definite", random_definite, true);
  compare("redundant", random_redundant, true);
  compare("degenerate", random_degenerate, true);
  compare(
      "friction", [](Random& random, int n) { return random_friction(random, n % 3 + 1); }, false);
}

TEST(Siconos, HasTheSameAnswersForHeaps) {
  Random random(22);
  for (const double ratio : {1.0, 100.0}) {
    const LcpProblem problem = random_heap(random, 10, 80, ratio);
    const std::optional<VecX> other = solve_with_siconos(problem, SICONOS_LCP_LEMKE);
    if (!other) continue;
    for (const LcpSolver& solver : lcp_solvers()) {
      const LcpResult result = solver.solve(problem, {});
      if (result.status != LcpStatus::solved) continue;
      EXPECT_LE((calc_w(problem, result.z) - calc_w(problem, *other)).cwiseAbs().maxCoeff(), 1e-6)
          << solver.name;
    }
  }
}

}  // namespace
}  // namespace capstan::siconos_test
