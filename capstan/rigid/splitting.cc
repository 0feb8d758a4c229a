// Projected splitting methods: y <- mid(lower, upper, y - omega B^-1 (M y + q)), where B is a part of M that
// is easily inverted.
//
//   Jacobi             B = D, all rows at once; omega is 1 over the largest eigenvalue of D^-1 M, by power
//   iteration PGS                B = D + L: row after row, each with the newest values PSOR               the
//   same with 0 < omega < 2; 1.3 if nothing is asked for symmetric PGS      a sweep forwards and one
//   backwards
//
// Limits: a positive diagonal. They converge for symmetric semidefinite M (Jacobi for omega < 2 over that
// eigenvalue: at omega = 1 it diverges when contacts share bodies), linearly, and slowly at large ratios of
// mass. For an infeasible problem y grows without end until the sweeps are done.
//
// Sources: Cryer 1971; Mangasarian 1977; course notes, Algorithms 5 to 7. As printed, Algorithm 5 has the
// wrong sign of b and the merit of Algorithm 7 calls the first sweep from zero a divergence; the natural
// residual ends these.
#include <algorithm>
#include <cmath>

#include "capstan/rigid/splitting.h"

namespace capstan {
namespace {

constexpr int kMostSweeps = 10000;

// The largest eigenvalue of a scaled matrix (ones on the diagonal), from below.
double largest_eigenvalue(const MatX& M) {
  VecX x = VecX::Ones(M.rows());
  for (Eigen::Index i = 0; i < x.size(); ++i) x[i] += 0.1 * static_cast<double>(i % 7);
  double value = 1;
  for (int k = 0; k < 30; ++k) {
    const VecX next = M * x;
    value = next.norm() / x.norm();
    if (!(value > 0)) return 1;
    x = next / next.norm();
  }
  return value;
}

template <class Sweep>
LcpResult iterate(const LcpProblem& problem, const LcpOptions& options, const Sweep& sweep) {
  LcpRun run(problem, options, kMostSweeps);
  if (!has_positive_diagonal(problem)) return run.unsuitable();
  const MatX rows = run.scaled().M.transpose();
  VecX y = run.start();
  if (run.is_solved_at(y)) return run.finish(y, LcpStatus::solved);
  while (run.iterations() < run.max_iterations()) {
    sweep(run.scaled(), rows, &y);
    if (run.is_converged(y)) return run.finish(y, LcpStatus::solved);
  }
  return run.finish(y, LcpStatus::most_iterations);
}

void relax_row(const LcpProblem& p, const MatX& rows, int i, double omega, VecX* y) {
  const double w = rows.col(i).dot(*y) + p.q[i];
  (*y)[i] = std::clamp((*y)[i] - omega * w / rows(i, i), p.lower[i], p.upper[i]);
}

}  // namespace

bool has_positive_diagonal(const LcpProblem& problem) {
  return (problem.M.diagonal().array() > 0).all();
}

void sweep_forwards(const LcpProblem& p, const MatX& rows, double omega, VecX* y) {
  for (int i = 0; i < p.size(); ++i) relax_row(p, rows, i, omega, y);
}

void sweep_backwards(const LcpProblem& p, const MatX& rows, double omega, VecX* y) {
  for (int i = p.size() - 1; i >= 0; --i) relax_row(p, rows, i, omega, y);
}

LcpResult solve_projected_jacobi(const LcpProblem& problem, const LcpOptions& options) {
  double omega = options.relaxation;
  return iterate(problem, options, [&omega](const LcpProblem& p, const MatX&, VecX* y) {
    if (omega <= 0) omega = 1 / largest_eigenvalue(p.M);
    const VecX w = p.M * *y + p.q;
    *y = (*y - omega * w.cwiseQuotient(p.M.diagonal())).cwiseMax(p.lower).cwiseMin(p.upper);
  });
}

LcpResult solve_pgs(const LcpProblem& problem, const LcpOptions& options) {
  return iterate(problem, options,
                 [](const LcpProblem& p, const MatX& rows, VecX* y) { sweep_forwards(p, rows, 1, y); });
}

LcpResult solve_psor(const LcpProblem& problem, const LcpOptions& options) {
  const double omega = options.relaxation > 0 ? options.relaxation : 1.3;
  return iterate(problem, options, [omega](const LcpProblem& p, const MatX& rows, VecX* y) {
    sweep_forwards(p, rows, omega, y);
  });
}

LcpResult solve_symmetric_pgs(const LcpProblem& problem, const LcpOptions& options) {
  return iterate(problem, options, [](const LcpProblem& p, const MatX& rows, VecX* y) {
    sweep_forwards(p, rows, 1, y);
    sweep_backwards(p, rows, 1, y);
  });
}

}  // namespace capstan
