// Nonsmooth nonlinear conjugate gradients: the step of a sweep of projected Gauss-Seidel, g = y - PGS(y), is
// taken for a gradient, and directions are combined as Fletcher and Reeves do:
//
//   beta = |g|^2 / |g of before|^2,   y <- PGS(y) + beta p,   p <- beta p - g;   beta > 1: p = 0, a restart.
//
// Limits: as PGS, a positive diagonal, and in theory symmetric M. No proof of convergence. A step can leave
// the box; the answer is always that of a sweep, which is in it. Much faster than PGS where ratios of mass
// are large.
//
// Sources: Silcowitz-Hansen, Niebe and Erleben, A nonsmooth nonlinear conjugate gradient method for
// interactive contact force problems, 2010; course notes, Algorithm 10.
#include "capstan/rigid/splitting.h"

namespace capstan {

LcpResult solve_nncg(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 10000);
  if (!has_positive_diagonal(problem)) return run.unsuitable();
  const MatX rows = run.scaled().M.transpose();
  VecX y = run.start(), direction = VecX::Zero(run.size());
  if (run.is_solved_at(y)) return run.finish(y, LcpStatus::solved);
  double last = 0;  // |g|^2 of the sweep before
  while (run.iterations() < run.max_iterations()) {
    VecX swept = y;
    sweep_forwards(run.scaled(), rows, 1, &swept);
    if (run.is_converged(swept)) return run.finish(swept, LcpStatus::solved);
    const VecX g = y - swept;
    const double beta = last > 0 ? g.squaredNorm() / last : 0;
    last = g.squaredNorm();
    y = swept;
    if (beta > 1 || beta == 0) {
      direction = beta == 0 ? VecX(-g) : VecX(VecX::Zero(run.size()));
    } else {
      y += beta * direction;
      direction = beta * direction - g;
    }
  }
  sweep_forwards(run.scaled(), rows, 1, &y);
  return run.finish(y, LcpStatus::most_iterations);
}

}  // namespace capstan
