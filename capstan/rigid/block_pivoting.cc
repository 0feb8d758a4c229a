// Block principal pivoting: every index whose y or w has the wrong sign changes sides at once. A few solves
// with M_FF are usually enough, whatever the size.
//
// Limits: may cycle even for positive definite M; it is given up when ten blocks in a row have not lowered
// the number of wrong signs. Then it is tried with a little compliance (softening.h), and at last finite
// methods take over: incremental pivoting where M is symmetric, else Murty's rule. Rows of M_FF that depend
// on others stay at their bound.
//
// Sources: Kostreva 1978; Judice and Pires 1994; course notes, Algorithm 4.
#include <cmath>

#include "capstan/rigid/lcp_run.h"
#include "capstan/rigid/softening.h"

namespace capstan {
namespace {

constexpr int kPatience = 10;

// Moves every index with a wrong sign to the side where it belongs; how many there were.
int flip_all(const LcpProblem& p, const VecX& y, const VecX& w, double tolerance,
             std::vector<LcpSide>* sides) {
  int count = 0;
  for (int i = 0; i < p.size(); ++i) {
    LcpSide side = (*sides)[i];
    if (side == LcpSide::free) {
      if (y[i] < p.lower[i] - tolerance) side = LcpSide::lower;
      if (y[i] > p.upper[i] + tolerance) side = LcpSide::upper;
    } else if (p.lower[i] < p.upper[i]) {
      const double inward = side == LcpSide::lower ? -w[i] : w[i];
      if (inward > tolerance) side = LcpSide::free;
    }
    if (side != (*sides)[i]) ++count;
    (*sides)[i] = side;
  }
  return count;
}

LcpResult pivot_blocks(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 20 * problem.size() + 100);
  const LcpProblem& p = run.scaled();
  std::vector<LcpSide> sides = run.sides(run.start());
  VecX y;
  int fewest = run.size() + 1, patience = kPatience;
  while (run.iterations() < run.max_iterations() && patience > 0) {
    run.solve_sides(&sides, &y);
    run.record(run.project(y));
    const int wrong = flip_all(p, y, run.w(y), 0.5 * run.tolerance(), &sides);
    if (wrong == 0) break;
    if (wrong < fewest) {
      fewest = wrong;
      patience = kPatience;
    } else {
      --patience;
    }
  }
  return run.finish(y,
                    run.iterations() < run.max_iterations() ? LcpStatus::cycled : LcpStatus::most_iterations);
}

}  // namespace

LcpResult solve_block_pivoting(const LcpProblem& problem, const LcpOptions& options) {
  const LcpResult result = solve_softened(problem, options, pivot_blocks);
  if (result.status != LcpStatus::cycled) return result;
  LcpOptions further = options;
  further.start = result.z;
  const bool is_symmetric = why_unsuitable(*find_lcp_solver("incremental_pivoting"), problem) == nullptr;
  LcpResult other =
      is_symmetric ? solve_incremental_pivoting(problem, further) : solve_murty(problem, further);
  if (other.residual > result.residual) other.z = result.z, other.residual = result.residual;
  other.iterations += result.iterations;
  return other;
}

}  // namespace capstan
