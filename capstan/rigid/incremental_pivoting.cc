// Incremental pivoting: indices are made right one after the other, and those that are right stay so. The
// index j is driven, y_j += alpha d, while
//
//   M_FF dy_F = -M_Fj d,   dw = M_.F dy_F + M_.j d,
//
// keeps w_F = 0, until w_j is zero, y_j at its other bound, a y_F at a bound or a w at zero; that one changes
// sides.
//
// Limits: symmetric semidefinite M. If nothing bounds the step, the problem is infeasible. Each pivot costs
// O(n k), with k free; the factor of M_FF is updated, not made anew. Steps of no length are counted: too many
// end as `cycled`.
//
// Sources: Cottle and Dantzig 1968; Baraff 1994; course notes, Algorithm 3, which as printed replaces y_j by
// alpha instead of adding it, and does not update w_j.
#include <algorithm>
#include <cmath>

#include "capstan/rigid/active_factor.h"
#include "capstan/rigid/lcp_run.h"
#include "capstan/rigid/softening.h"

namespace capstan {
namespace {

class IncrementalPivoting {
 public:
  explicit IncrementalPivoting(LcpRun* run)
      : run_(*run), p_(run->scaled()), y_(VecX::Zero(run->size())), tolerance_(0.5 * run->tolerance()) {
    y_ = run_.project(y_);
    w_ = run_.w(y_);
    sides_ = run_.sides(y_);
    is_right_.resize(sides_.size());
    is_parked_.resize(sides_.size());
    for (int i = 0; i < run_.size(); ++i) is_right_[i] = is_right_at_start(i);
  }

  LcpStatus solve() {
    for (int j; (j = next()) >= 0;) {
      const LcpStatus status = drive(j);
      if (status != LcpStatus::solved) return status;
      is_right_[j] = true;
    }
    return LcpStatus::solved;
  }

  VecX refined() const {
    std::vector<LcpSide> sides = sides_;
    VecX y;
    run_.solve_sides(&sides, &y);
    y = run_.project(y);
    return run_.residual(y) < run_.residual(run_.project(y_)) ? y : y_;
  }

 private:
  struct Block {
    double alpha = kInfinity;
    int index = -1;
    LcpSide side = LcpSide::free;
  };

  bool is_right_at_start(int i) const {
    if (p_.lower[i] == p_.upper[i]) return true;
    if (sides_[i] == LcpSide::lower) return w_[i] >= -tolerance_;
    if (sides_[i] == LcpSide::upper) return w_[i] <= tolerance_;
    return false;  // inside: it must join F or come to a bound
  }

  // The worst of those that are not right, first of all among those that the start has off their bounds; or
  // -1.
  int next() const {
    const bool has_start = run_.has_start();
    int best = -1;
    double worst = -1;
    bool best_hinted = false;
    for (int i = 0; i < run_.size(); ++i) {
      if (is_right_[i] && !(is_parked_[i] && std::abs(w_[i]) > tolerance_)) continue;
      const bool hinted = has_start && run_.options().start[i] != 0;
      if (std::abs(w_[i]) > worst ? hinted >= best_hinted : hinted > best_hinted) {
        best = i, worst = std::abs(w_[i]), best_hinted = hinted;
      }
    }
    return best;
  }

  LcpStatus drive(int j) {
    int without_length = 0;
    is_parked_[j] = false;
    while (true) {
      const double d = w_[j] < 0 ? 1 : -1;
      const VecX dy_F = factor_.solve(-d * p_.M(F_, std::vector<int>{j}).col(0));
      VecX dw = d * p_.M.col(j);
      for (size_t k = 0; k < F_.size(); ++k) dw += dy_F[static_cast<long>(k)] * p_.M.col(F_[k]);
      const Block block = find_block(j, d, dy_F, dw);
      if (block.index < 0) return LcpStatus::ray_termination;
      for (size_t k = 0; k < F_.size(); ++k) y_[F_[k]] += block.alpha * dy_F[static_cast<long>(k)];
      y_[j] += block.alpha * d;
      w_ += block.alpha * dw;
      for (int f : F_) w_[f] = 0;
      if (!change(block, j)) return LcpStatus::singular;
      run_.record(run_.project(y_));
      if (block.index == j) return LcpStatus::solved;
      if (run_.iterations() >= run_.max_iterations()) return LcpStatus::most_iterations;
      without_length = block.alpha > 0 ? 0 : without_length + 1;
      if (without_length > 2 * run_.size() + 10) return LcpStatus::cycled;
    }
  }

  // What ends the step first.
  Block find_block(int j, double d, const VecX& dy_F, const VecX& dw) const {
    Block block;
    const auto consider = [&block](double alpha, int index, LcpSide side) {
      if (alpha < block.alpha) block = {std::max(alpha, 0.0), index, side};
    };
    if (std::abs(w_[j]) <= tolerance_ * 1e-3) {
      consider(0, j, LcpSide::free);
    } else if (d * dw[j] > kSmallestPivot) {
      consider(-w_[j] / dw[j], j, LcpSide::free);
    }
    if (d > 0) consider(p_.upper[j] - y_[j], j, LcpSide::upper);
    if (d < 0) consider(y_[j] - p_.lower[j], j, LcpSide::lower);
    for (size_t k = 0; k < F_.size(); ++k) {
      const int i = F_[k];
      const double step = dy_F[static_cast<long>(k)];
      if (step < -kSmallestPivot) consider((p_.lower[i] - y_[i]) / step, i, LcpSide::lower);
      if (step > kSmallestPivot) consider((p_.upper[i] - y_[i]) / step, i, LcpSide::upper);
    }
    for (int i = 0; i < run_.size(); ++i) {
      if (!is_right_[i] || sides_[i] == LcpSide::free || p_.lower[i] == p_.upper[i]) continue;
      const double inward = sides_[i] == LcpSide::lower ? -1 : 1;
      if (inward * dw[i] > kSmallestPivot) consider(-w_[i] / dw[i], i, LcpSide::free);
    }
    return block;
  }

  bool change(const Block& block, int j) {
    const int i = block.index;
    if (block.side == LcpSide::free) {
      VecX column(static_cast<long>(F_.size()));
      for (size_t k = 0; k < F_.size(); ++k) column[static_cast<long>(k)] = p_.M(F_[k], i);
      if (factor_.append(column, p_.M(i, i), 0.1 * kSmallestPivot)) {
        F_.push_back(i);
        sides_[i] = LcpSide::free;
        w_[i] = 0;
      } else if (i != j) {
        return false;
      } else if (y_[i] > p_.lower[i] && y_[i] < p_.upper[i]) {
        is_parked_[i] = true;  // w is zero as long as those in F hold that it depends on
      }
      return true;
    }
    const auto it = std::find(F_.begin(), F_.end(), i);
    if (it != F_.end()) {
      factor_.remove(static_cast<int>(it - F_.begin()));
      F_.erase(it);
    }
    sides_[i] = block.side;
    y_[i] = block.side == LcpSide::lower ? p_.lower[i] : p_.upper[i];
    return true;
  }

  LcpRun& run_;
  const LcpProblem& p_;
  VecX y_, w_;
  std::vector<LcpSide> sides_;
  std::vector<bool> is_right_;
  std::vector<bool> is_parked_;  // between its bounds, not in F: w is zero without it
  std::vector<int> F_;           // in the order of the factor
  ActiveFactor factor_;
  double tolerance_;
};

LcpResult pivot_incrementally(const LcpProblem& problem, const LcpOptions& options) {
  LcpRun run(problem, options, 20 * problem.size() + 100);
  if ((problem.M.diagonal().array() < 0).any()) return run.unsuitable();
  IncrementalPivoting method(&run);
  const LcpStatus status = method.solve();
  return run.finish(method.refined(), status);
}

}  // namespace

LcpResult solve_incremental_pivoting(const LcpProblem& problem, const LcpOptions& options) {
  return solve_softened(problem, options, pivot_incrementally);
}

}  // namespace capstan
