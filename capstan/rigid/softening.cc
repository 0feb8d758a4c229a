#include "capstan/rigid/softening.h"

#include <Eigen/QR>

namespace capstan {
namespace {

constexpr double kSoftest[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5};  // of the diagonal, which is 1
constexpr int kMostPolishes = 10;
constexpr double kRank = 1e-10;  // of the largest pivot

}  // namespace

VecX polish(const LcpRun& run, VecX y) {
  const LcpProblem& p = run.scaled();
  double residual = run.residual(y);
  for (int k = 0; k < kMostPolishes && residual > run.tolerance(); ++k) {
    const VecX w = run.w(y);
    VecX next = y;
    std::vector<int> F;
    for (int i = 0; i < p.size(); ++i) {
      if (y[i] - w[i] <= p.lower[i]) {
        next[i] = p.lower[i];
      } else if (y[i] - w[i] >= p.upper[i]) {
        next[i] = p.upper[i];
      } else {
        F.push_back(i);
      }
    }
    if (!F.empty()) {
      const MatX M_FF = p.M(F, F);
      Eigen::CompleteOrthogonalDecomposition<MatX> decomposition;
      decomposition.setThreshold(kRank);
      decomposition.compute(M_FF);
      for (int pass = 0; pass < 2; ++pass) {  // the second one takes away what rounding left
        const VecX w_F = run.w(next)(F);
        const VecX change = decomposition.solve(w_F);
        for (std::size_t j = 0; j < F.size(); ++j) next[F[j]] -= change[static_cast<long>(j)];
      }
    }
    next = run.project(next);
    const double reached = run.residual(next);
    if (!(reached < residual)) break;
    y = next;
    residual = reached;
  }
  return y;
}

LcpResult solve_softened(const LcpProblem& problem, const LcpOptions& options,
                         LcpResult (*solve)(const LcpProblem&, const LcpOptions&)) {
  LcpResult best = solve(problem, options);
  if (best.status == LcpStatus::solved || problem.size() == 0) return best;
  const LcpRun run(problem, options, 1);
  int iterations = best.iterations;
  for (const double eps : kSoftest) {
    LcpProblem soft = run.scaled();
    soft.M.diagonal().array() += eps;
    LcpOptions soft_options = options;
    soft_options.start = VecX();
    const LcpResult found = solve(soft, soft_options);
    iterations += found.iterations;
    const LcpResult polished = run.finish(polish(run, run.project(found.z)), best.status);
    if (polished.residual < best.residual) best = polished;
    if (best.status == LcpStatus::solved) break;
  }
  best.iterations = iterations;
  return best;
}

}  // namespace capstan
