// Projected Gauss-Seidel with subspace minimization: some sweeps guess which y are at a bound, then the
// equations of the others are solved exactly and projected, as long as this changes the guess.
//
// Limits: symmetric semidefinite M with a positive diagonal. A wrong guess can make the residual worse: then
// the sweeps go on from where they were, so the method is never worse than PGS.
//
// Sources: Silcowitz, Niebe and Erleben, Projected Gauss-Seidel subspace minimization method for interactive
// rigid body dynamics, 2010; course notes, Algorithm 9, with the signs of w at the bounds corrected.
#include "capstan/rigid/splitting.h"

namespace capstan {
namespace {

constexpr int kSweeps = 5;      // before each minimization
constexpr int kSubspaces = 10;  // in a row, at most

// Exact answers on the free indices of y, until these no longer change. True if that is better than y.
bool minimize_subspaces(const LcpRun& run, VecX* y) {
  VecX trial = *y;
  std::vector<LcpSide> sides = run.sides(trial);
  for (int k = 0; k < kSubspaces; ++k) {
    VecX exact;
    run.solve_sides(&sides, &exact);
    trial = run.project(exact);
    const std::vector<LcpSide> next = run.sides(trial);
    if (next == sides) break;
    sides = next;
  }
  if (!(run.residual(trial) < run.residual(*y))) return false;
  *y = trial;
  return true;
}

}  // namespace

LcpResult solve_pgs_sm(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 10000);
  if (!has_positive_diagonal(problem)) return run.unsuitable();
  const MatX rows = run.scaled().M.transpose();
  VecX y = run.start();
  if (run.is_solved_at(y)) return run.finish(y, LcpStatus::solved);
  while (run.iterations() < run.max_iterations()) {
    for (int k = 0; k < kSweeps; ++k) sweep_forwards(run.scaled(), rows, 1, &y);
    minimize_subspaces(run, &y);
    if (run.is_converged(y)) return run.finish(y, LcpStatus::solved);
  }
  return run.finish(y, LcpStatus::most_iterations);
}

}  // namespace capstan
