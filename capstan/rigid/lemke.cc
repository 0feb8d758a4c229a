// Lemke's algorithm: with a cover d > 0 and one more unknown z0,
//
//   w = M z + q + d z0,   w, z, z0 >= 0,   z^T w = 0,
//
// is solved by z = 0 and a large z0. z0 is lowered along a path of complementary pivots until it is zero:
// solved; or until nothing bounds the step: a ray.
//
// Limits: for M copositive-plus (semidefinite, and polyhedral friction) a ray means that the problem is
// infeasible; for others it means nothing. The number of pivots is exponential at worst. A start is of no use
// to it.
//
// Ties are broken lexicographically, with the rows of the inverse of the basis, so that degenerate problems
// do not cycle. The tableau is made anew from the basis every few pivots, or rounding would add up. Sources:
// Lemke 1965; Cottle, Pang and Stone 1992, section 4.4 and 4.9.
#include <Eigen/LU>
#include <cmath>

#include "capstan/rigid/lcp_run.h"
#include "capstan/rigid/plain_form.h"
#include "capstan/rigid/softening.h"

namespace capstan {
namespace {

constexpr double kTie = 1e-12;
constexpr int kPivotsToRefresh = 20;  // or n, where that is more

// Rows: w - M z - d z0 = q, solved for what is basic. Columns: w, z, z0, q.
class Tableau {
 public:
  explicit Tableau(const LcpProblem& problem) : n_(problem.size()), rows_(n_, 2 * n_ + 2), basic_(n_) {
    rows_ << MatX::Identity(n_, n_), -problem.M, VecX::Constant(n_, -1.0), problem.q;
    first_ = rows_;
    for (int i = 0; i < n_; ++i) basic_[i] = i;
  }

  // Solves for the basis again, from the problem itself.
  void refresh() {
    const MatX basis = first_(Eigen::all, basic_);
    const Eigen::PartialPivLU<MatX> lu(basis);
    const MatX rows = lu.solve(MatX(first_));
    if (rows.allFinite()) rows_ = rows;
  }

  int cover() const { return 2 * n_; }
  int basic(int row) const { return basic_[row]; }
  int complement(int variable) const { return variable < n_ ? variable + n_ : variable - n_; }
  const std::vector<int>& basis() const { return basic_; }

  // The row where the cover enters: the lexicographically smallest.
  int first_row() const {
    int best = 0;
    for (int i = 1; i < n_; ++i) {
      if (rows_(i, 2 * n_ + 1) <= rows_(best, 2 * n_ + 1))
        best = i;  // of rows of the identity the last is smallest
    }
    return best;
  }

  // The row that bounds the step of `entering`, or -1.
  int blocking_row(int entering) const {
    int best = -1;
    for (int i = 0; i < n_; ++i) {
      if (rows_(i, entering) <= kSmallestPivot) continue;
      if (best < 0 || is_before(i, best, entering)) best = i;
    }
    return best;
  }

  void pivot(int row, int entering) {
    rows_.row(row) /= rows_(row, entering);
    VecX column = rows_.col(entering);
    column[row] = 0;
    const Eigen::RowVectorXd pivot_row = rows_.row(row);
    rows_.noalias() -= column * pivot_row;
    rows_.col(entering).setZero();
    rows_(row, entering) = 1;
    basic_[row] = entering;
    if (++pivots_ % std::max(kPivotsToRefresh, n_) == 0) refresh();
  }

  VecX z() const {
    VecX z = VecX::Zero(n_);
    for (int i = 0; i < n_; ++i) {
      if (basic_[i] >= n_ && basic_[i] < 2 * n_) z[basic_[i] - n_] = rows_(i, 2 * n_ + 1);
    }
    return z;
  }

 private:
  // Whether row a is lexicographically before row b, each divided by its entry of the entering column. The
  // cover leaves first among those that tie: then the problem is solved.
  bool is_before(int a, int b, int entering) const {
    const double pa = rows_(a, entering), pb = rows_(b, entering);
    const int order = compare(rows_(a, 2 * n_ + 1) / pa, rows_(b, 2 * n_ + 1) / pb);
    if (order != 0) return order < 0;
    if (basic_[a] == cover() || basic_[b] == cover()) return basic_[a] == cover();
    for (int j = 0; j < n_; ++j) {
      const int next = compare(rows_(a, j) / pa, rows_(b, j) / pb);
      if (next != 0) return next < 0;
    }
    return false;
  }
  static int compare(double a, double b) {
    const double difference = a - b;
    if (std::abs(difference) <= kTie * (1 + std::max(std::abs(a), std::abs(b)))) return 0;
    return difference < 0 ? -1 : 1;
  }

  int n_;
  using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  RowMatrix rows_, first_;  // now, and of the basis w
  std::vector<int> basic_;
  int pivots_ = 0;
};

// The values of the last basis from M itself, without the rounding of all the pivots.
VecX refine(const LcpRun& run, const VecX& z, const std::vector<int>& basis) {
  std::vector<LcpSide> sides(static_cast<size_t>(run.size()), LcpSide::lower);
  for (int variable : basis) {
    if (variable >= run.size() && variable < 2 * run.size()) sides[variable - run.size()] = LcpSide::free;
  }
  VecX y;
  if (!run.solve_sides(&sides, &y)) return z;
  y = run.project(y);
  return run.residual(y) < run.residual(run.project(z)) ? y : z;
}

// The same for a problem with bounds, by where y is. A y that is off its bound by rounding alone spoils
// nothing: the better of the two is kept.
VecX refine_sides(const LcpRun& run, const VecX& y) {
  std::vector<LcpSide> sides = run.sides(y);
  VecX refined;
  if (!run.solve_sides(&sides, &refined)) return y;
  refined = run.project(refined);
  return run.residual(refined) < run.residual(y) ? refined : y;
}

// The path on a plain scaled problem: z where it ends, and why.
std::pair<VecX, LcpStatus> follow_path(const LcpProblem& plain, const PlainForm* form, LcpRun* run) {
  const auto seen = [&](const VecX& x) { return form ? form->restore(x) : x; };
  if (plain.q.minCoeff() >= 0) return {VecX::Zero(plain.size()), LcpStatus::solved};
  Tableau tableau(plain);
  int row = tableau.first_row(), entering = tableau.cover();
  while (run->iterations() < run->max_iterations()) {
    const int leaving = tableau.basic(row);
    tableau.pivot(row, entering);
    run->record(run->project(seen(tableau.z())));
    if (leaving == tableau.cover()) {
      return {form ? tableau.z() : refine(*run, tableau.z(), tableau.basis()), LcpStatus::solved};
    }
    entering = tableau.complement(leaving);
    row = tableau.blocking_row(entering);
    if (row < 0) return {tableau.z(), LcpStatus::ray_termination};
  }
  return {tableau.z(), LcpStatus::most_iterations};
}

LcpResult follow_lemke(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 20 * problem.size() + 100);
  const VecX begin = run.project(VecX::Zero(run.size()));
  if (run.residual(begin) == 0) return run.finish(begin, LcpStatus::solved);
  if (problem.is_plain()) {
    const auto [y, status] = follow_path(run.scaled(), nullptr, &run);
    return run.finish(y, status);
  }
  const PlainForm form = make_plain_form(run.scaled());
  const auto [x, status] = follow_path(form.problem, &form, &run);
  return run.finish(refine_sides(run, run.project(form.restore(x))), status);
}

}  // namespace

LcpResult solve_lemke(const LcpProblem& problem, const LcpOptions& options) {
  return solve_softened(problem, options, follow_lemke);
}

}  // namespace capstan
