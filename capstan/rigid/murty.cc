// Murty's principal pivoting: of the indices whose y or w has the wrong sign, the least one changes sides,
// and everything is solved for again. Here on a tableau u = T t + c, where u_i = w_i, t_i = y_i for an index
// at a bound and u_i = y_i, t_i = w_i for a free one: a pivot costs O(n^2).
//
// Limits: finite for P-matrices (positive definite ones), though not in n pivots: exponential at worst. For
// semidefinite ones a pivot may be zero; then the entering index is exchanged with the first free one that it
// moves towards a bound (the criss-cross method: finite for plain problems with sufficient, so all
// semidefinite, matrices); if there is none, the problem is infeasible. A partition that comes again ends as
// `cycled`.
//
// Sources: Murty 1974; den Hertog, Roos and Terlaky, The linear complementarity problem, sufficient matrices,
// and the criss-cross method, 1993; course notes section 3.1.2, whose test of termination is printed the
// wrong way round.
#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "capstan/rigid/lcp_run.h"
#include "capstan/rigid/principal_pivots.h"
#include "capstan/rigid/softening.h"

namespace capstan {
PrincipalPivots::PrincipalPivots(const LcpRun& run)
    : run_(run),
      T_(run.scaled().M),
      c_(run.scaled().q),
      sides_(static_cast<size_t>(run.size()), LcpSide::lower) {
  const LcpProblem& p = run.scaled();
  for (int i = 0; i < run.size(); ++i) {
    if (std::abs(p.upper[i]) < std::abs(p.lower[i])) sides_[i] = LcpSide::upper;
  }
  calc_values();
}

double PrincipalPivots::bound(int i) const {
  const double b = sides_[i] == LcpSide::lower ? run_.scaled().lower[i] : run_.scaled().upper[i];
  return std::isfinite(b) ? b : 0;  // a free variable that did not enter yet
}

void PrincipalPivots::calc_values() {
  VecX t = VecX::Zero(run_.size());
  for (int i = 0; i < run_.size(); ++i) {
    if (sides_[i] != LcpSide::free) t[i] = bound(i);
  }
  u_ = T_ * t + c_;
}

VecX PrincipalPivots::y() const {
  VecX y(run_.size());
  for (int i = 0; i < run_.size(); ++i) y[i] = sides_[i] == LcpSide::free ? u_[i] : bound(i);
  return y;
}

// T of the set after a principal pivot on `set`, one index or two.
void PrincipalPivots::pivot(const std::vector<int>& set) {
  const MatX inverse = T_(set, set).inverse();
  const MatX columns = T_(Eigen::all, set), rows = T_(set, Eigen::all), scaled = columns * inverse;
  const VecX constants = c_(set);
  T_.noalias() -= scaled * rows;
  c_.noalias() -= scaled * constants;
  T_(Eigen::all, set) = scaled;
  T_(set, Eigen::all) = -inverse * rows;
  T_(set, set) = inverse;
  c_(set) = -inverse * constants;
}

// The side where a free index must go, or `free` for one at a bound that must leave it; nullopt if all is
// well.
std::optional<LcpSide> PrincipalPivots::wanted_side(int i, double tolerance) const {
  const LcpProblem& p = run_.scaled();
  if (sides_[i] == LcpSide::free) {
    if (u_[i] < p.lower[i] - tolerance) return LcpSide::lower;
    if (u_[i] > p.upper[i] + tolerance) return LcpSide::upper;
    return std::nullopt;
  }
  const double b = sides_[i] == LcpSide::lower ? p.lower[i] : p.upper[i];
  if (p.lower[i] == p.upper[i]) return std::nullopt;
  if (!std::isfinite(b)) return std::abs(u_[i]) > tolerance ? std::optional(LcpSide::free) : std::nullopt;
  const double inward = sides_[i] == LcpSide::lower ? -u_[i] : u_[i];
  return inward > tolerance ? std::optional(LcpSide::free) : std::nullopt;
}

bool PrincipalPivots::change(int i, LcpSide side) {
  if (side != LcpSide::free) {
    pivot({i});
    sides_[i] = side;
  } else if (std::abs(T_(i, i)) > kSmallestPivot) {
    pivot({i});
    sides_[i] = side;
  } else if (!exchange(i)) {
    return false;
  }
  calc_values();
  return true;
}

bool PrincipalPivots::exchange(int i) {
  const LcpProblem& p = run_.scaled();
  const double direction = u_[i] < 0 ? 1 : -1;  // y_i must move so for w_i to come to zero
  for (int j = 0; j < run_.size(); ++j) {
    const double moved = direction * T_(j, i);
    if (sides_[j] != LcpSide::free || std::abs(moved) <= kSmallestPivot) continue;
    const LcpSide side = moved < 0 ? LcpSide::lower : LcpSide::upper;
    if (!std::isfinite(moved < 0 ? p.lower[j] : p.upper[j])) continue;
    if (std::abs(T_(i, j) * T_(j, i)) <= kSmallestPivot * kSmallestPivot) continue;
    pivot({i, j});
    sides_[i] = LcpSide::free;
    sides_[j] = side;
    return true;
  }
  return false;
}

LcpResult pivot_by_least_index(LcpRun* run, const std::vector<LcpSide>& start) {
  PrincipalPivots pivots(*run);
  for (int i = 0; i < run->size(); ++i) {
    if (start[i] == LcpSide::free) {
      if (std::abs(pivots.diagonal(i)) > kSmallestPivot) pivots.change(i, LcpSide::free);
    } else if (pivots.sides()[i] != start[i]) {
      pivots.put(i, start[i]);
    }
  }
  VisitedSides visited;
  const double tolerance = 0.5 * run->tolerance();
  LcpStatus status = LcpStatus::most_iterations;
  while (run->iterations() < run->max_iterations()) {
    int i = 0;
    while (i < run->size() && !pivots.wanted_side(i, tolerance)) ++i;
    if (i == run->size()) {
      status = LcpStatus::solved;
      break;
    }
    if (!visited.insert(pivots.sides())) {
      status = LcpStatus::cycled;
      break;
    }
    if (!pivots.change(i, *pivots.wanted_side(i, tolerance))) {
      status = LcpStatus::ray_termination;
      break;
    }
    run->record(run->project(pivots.y()));
  }
  // The values of the last partition from M itself, without the rounding of all the pivots.
  std::vector<LcpSide> sides = pivots.sides();
  VecX y = run->project(pivots.y()), refined;
  for (int i = 0; i < run->size(); ++i) {
    const bool is_free = !std::isfinite(run->scaled().lower[i]) && !std::isfinite(run->scaled().upper[i]);
    if (is_free && sides[i] != LcpSide::free)
      return run->finish(y, status);  // rests at zero: no bound to solve for
  }
  if (run->solve_sides(&sides, &refined)) {
    refined = run->project(refined);
    if (run->residual(refined) < run->residual(y)) y = refined;
  }
  return run->finish(y, status);
}

namespace {

LcpResult pivot_from_start(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 20 * problem.size() + 100);
  std::vector<LcpSide> start(static_cast<size_t>(run.size()), LcpSide::lower);
  const LcpProblem& p = run.scaled();
  for (int i = 0; i < run.size(); ++i) {
    if (std::abs(p.upper[i]) < std::abs(p.lower[i])) start[i] = LcpSide::upper;
    if (!std::isfinite(p.lower[i]) && !std::isfinite(p.upper[i])) start[i] = LcpSide::free;
  }
  if (run.has_start()) start = run.sides(run.start());
  return pivot_by_least_index(&run, start);
}

}  // namespace

LcpResult solve_murty(const LcpProblem& problem, const LcpOptions& options) {
  return solve_softened(problem, options, pivot_from_start);
}

}  // namespace capstan
