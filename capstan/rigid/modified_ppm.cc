// The modified principal pivoting method on N and A^-1: active rows only (see factored_lcp.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/rigid/active_factor.h"
#include "capstan/rigid/factored_lcp.h"
#include "capstan/rigid/lcp_run.h"

namespace capstan {
namespace {

constexpr double kDependent = 1e-11;  // part of W_ii

class ModifiedPpm {
 public:
  ModifiedPpm(const FactoredLcp& problem, const LcpOptions& options)
      : problem_(problem), position_(static_cast<size_t>(problem.size()), -1) {
    max_iterations_ = options.max_iterations > 0 ? options.max_iterations : 20 * problem.size() + 100;
    reference_ = std::max(largest(problem.q), std::numeric_limits<double>::min());
    tolerance_ = options.tolerance * reference_;
    residuals_ = options.residuals;
    deadline_ = options.deadline;
    velocity_ = VecX::Zero(problem.num_dofs);
    calc_w();
  }

  FactoredLcpResult solve() {
    LcpStatus status = pivot_as_printed();
    if (status == LcpStatus::cycled) {
      restart();
      status = pivot_dual();
    }
    return finish(status);
  }

 private:
  // Algorithm 1: the most negative w comes in, the most negative z goes out, both at once.
  LcpStatus pivot_as_printed() {
    VisitedSides visited;
    std::vector<LcpSide> sides(position_.size(), LcpSide::lower);
    while (result_.iterations < max_iterations_) {
      const int in = most_negative_w();
      int out = most_negative_z();
      if (in < 0 && out < 0) return LcpStatus::solved;
      const int out_index = out < 0 ? -1 : active_[out];
      if (in >= 0 && !append(in)) {
        // Its row depends on the active ones: in exchange for the one that its growth brings to zero first.
        const VecX r = factor_.solve(column_);
        const int blocking = first_to_zero(r).first;
        if (blocking < 0) return LcpStatus::ray_termination;
        const int other = active_[blocking];
        remove(blocking);
        if (!append(in)) return LcpStatus::singular;
        sides[other] = LcpSide::lower;
      }
      if (in >= 0) sides[in] = LcpSide::free;
      if (out_index >= 0 && position_[out_index] >= 0) {
        remove(position_[out_index]);
        sides[out_index] = LcpSide::lower;
      }
      solve_active();
      count();
      if (!visited.insert(sides)) return LcpStatus::cycled;
    }
    return LcpStatus::most_iterations;
  }

  // Goldfarb and Idnani: z stays >= 0, and each step raises the dual objective, so that no active set comes
  // again.
  LcpStatus pivot_dual() {
    while (result_.iterations < max_iterations_) {
      const int in = most_negative_w();
      if (in < 0) return LcpStatus::solved;
      double z_in = 0, w_in = w_[in];
      while (true) {
        calc_column(in);
        const VecX r = factor_.solve(column_);
        const double pivot = diagonal_ - column_.dot(r);
        const auto [blocking, blocked] = first_to_zero(r);
        const double full = pivot > kDependent * diagonal_ ? -w_in / pivot : kInfinity;
        const double step = std::min(full, blocked);
        if (step == kInfinity) return LcpStatus::ray_termination;
        z_ -= step * r;
        z_in += step;
        w_in += step * std::max(pivot, 0.0);
        if (full <= blocked) break;
        remove(blocking);
        count();
        if (result_.iterations >= max_iterations_) return LcpStatus::most_iterations;
      }
      if (!append(in)) return LcpStatus::singular;
      solve_active();
      z_ = z_.cwiseMax(0.0);
      count();
    }
    return LcpStatus::most_iterations;
  }

  // Which active z is first at zero when z -= t r, and at which t; -1 and inf if none.
  std::pair<int, double> first_to_zero(const VecX& r) const {
    int best = -1;
    double least = kInfinity;
    for (int k = 0; k < static_cast<int>(active_.size()); ++k) {
      if (r[k] <= kDependent) continue;
      const double t = std::max(z_[k], 0.0) / r[k];
      if (t < least) least = t, best = k;
    }
    return {best, least};
  }

  // Entries of W of row i with the active ones and with itself.
  void calc_column(int i) {
    const VecX n = problem_.row(i);
    solved_ = problem_.solve_A(n);
    ++result_.solves;
    diagonal_ = n.dot(solved_) + compliance(i);
    column_ = solves_.leftCols(static_cast<long>(active_.size())).transpose() * n;
  }

  bool append(int i) {
    calc_column(i);
    if (!factor_.append(column_, diagonal_, kDependent * diagonal_)) return false;
    const long k = static_cast<long>(active_.size());
    if (k >= solves_.cols()) solves_.conservativeResize(problem_.num_dofs, std::max(2 * k, 16L));
    solves_.col(k) = solved_;
    position_[i] = static_cast<int>(k);
    active_.push_back(i);
    z_.conservativeResize(k + 1);
    z_[k] = 0;
    return true;
  }

  void remove(int k) {
    factor_.remove(k);
    position_[active_[k]] = -1;
    active_.erase(active_.begin() + k);
    const long rest = static_cast<long>(active_.size()) - k;
    solves_.middleCols(k, rest) = solves_.middleCols(k + 1, rest).eval();
    z_.segment(k, rest) = z_.tail(rest).eval();
    z_.conservativeResize(static_cast<long>(active_.size()));
    for (int j = k; j < static_cast<int>(active_.size()); ++j) position_[active_[j]] = j;
  }

  void solve_active() {
    VecX q(static_cast<long>(active_.size()));
    for (size_t k = 0; k < active_.size(); ++k) q[static_cast<long>(k)] = problem_.q[active_[k]];
    z_ = factor_.solve(-q);
    calc_w();
    // One refinement with the w that this gives.
    for (size_t k = 0; k < active_.size(); ++k) q[static_cast<long>(k)] = w_[active_[k]];
    z_ -= factor_.solve(q);
    calc_w();
  }

  void calc_w() {
    velocity_.setZero();
    if (!active_.empty()) velocity_ = solves_.leftCols(static_cast<long>(active_.size())) * z_;
    w_ = problem_.multiply_N(velocity_) + problem_.q;
    ++result_.multiplications;
    for (size_t k = 0; k < active_.size(); ++k)
      w_[active_[k]] += compliance(active_[k]) * z_[static_cast<long>(k)];
  }

  int most_negative_w() const {
    int best = -1;
    for (int i = 0; i < problem_.size(); ++i) {
      if (position_[i] < 0 && w_[i] < -tolerance_ && (best < 0 || w_[i] < w_[best])) best = i;
    }
    return best;
  }
  int most_negative_z() const {
    int best = -1;
    const double tolerance = 1e-12 * largest(z_);
    for (int k = 0; k < static_cast<int>(active_.size()); ++k) {
      if (z_[k] < -tolerance && (best < 0 || z_[k] < z_[best])) best = k;
    }
    return best;
  }

  void restart() {
    while (!active_.empty()) remove(static_cast<int>(active_.size()) - 1);
    calc_w();
  }

  double residual() const {
    double worst = 0;
    for (int i = 0; i < problem_.size(); ++i) {
      worst = std::max(worst, position_[i] >= 0 ? std::abs(w_[i]) : -w_[i]);
    }
    return worst / reference_;
  }

  void count() {
    if (deadline_ != nullptr) deadline_->check();
    ++result_.iterations;
    if (residuals_) residuals_->push_back(residual());
  }

  FactoredLcpResult finish(LcpStatus status) {
    z_ = z_.cwiseMax(0.0);
    calc_w();
    result_.z = VecX::Zero(problem_.size());
    for (size_t k = 0; k < active_.size(); ++k) result_.z[active_[k]] = z_[static_cast<long>(k)];
    result_.w = w_;
    result_.velocity_change = velocity_;
    result_.residual = residual();
    result_.status = status;
    if (result_.residual * reference_ <= 2 * tolerance_) {
      result_.status = LcpStatus::solved;
    } else if (status == LcpStatus::solved) {
      result_.status = LcpStatus::singular;
    }
    return std::move(result_);
  }

  double compliance(int i) const { return problem_.compliance.size() > 0 ? problem_.compliance[i] : 0; }

  const FactoredLcp& problem_;
  double tolerance_ = 0, reference_ = 1, diagonal_ = 0;
  int max_iterations_ = 0;
  std::vector<double>* residuals_ = nullptr;
  const Deadline* deadline_ = nullptr;
  std::vector<int> active_, position_;  // rows in the order of the factor; where each is, or -1
  ActiveFactor factor_;                 // of W on the active rows
  MatX solves_;                         // A^-1 N^T of the active rows
  VecX z_, w_, velocity_, column_, solved_;
  FactoredLcpResult result_;
};

}  // namespace

FactoredLcp make_factored_lcp(const MatX& N, std::function<VecX(const VecX&)> solve_A, VecX q) {
  FactoredLcp problem;
  problem.num_dofs = static_cast<int>(N.cols());
  problem.multiply_N = [&N](const VecX& v) -> VecX { return N * v; };
  problem.row = [&N](int i) -> VecX { return N.row(i).transpose(); };
  problem.solve_A = std::move(solve_A);
  problem.q = std::move(q);
  return problem;
}

LcpProblem make_dense(const FactoredLcp& problem) {
  MatX W(problem.size(), problem.size());
  for (int i = 0; i < problem.size(); ++i) W.col(i) = problem.multiply_N(problem.solve_A(problem.row(i)));
  if (problem.compliance.size() > 0) W.diagonal() += problem.compliance;
  return make_plain_lcp(0.5 * (W + W.transpose()), problem.q);
}

FactoredLcpResult solve_modified_ppm(const FactoredLcp& problem, const LcpOptions& options) {
  return ModifiedPpm(problem, options).solve();
}

}  // namespace capstan
