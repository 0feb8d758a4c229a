// What all solvers of linear complementarity problems share: the scaled problem that they work on
// (lcp_scale()), the residual of an iterate, and the verdict on where they end.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "capstan/rigid/lcp.h"

namespace capstan {

inline constexpr double kSmallestPivot = 1e-11;  // in scaled units, where entries of M are about 1

// Where an index is: z at a bound, or between and w = 0.
enum class LcpSide : char { lower, free, upper };

class LcpRun {
 public:
  LcpRun(const LcpProblem& problem, const LcpOptions& options, int default_iterations);

  const LcpProblem& scaled() const { return scaled_; }
  int size() const { return scaled_.size(); }
  double tolerance() const { return options_.tolerance; }  // of components of y and w'
  int max_iterations() const { return max_iterations_; }
  const LcpOptions& options() const { return options_; }

  VecX start() const;  // y in the box: the given start, or its point nearest to zero
  bool has_start() const { return options_.start.size() == size(); }
  VecX project(const VecX& y) const { return y.cwiseMax(scaled_.lower).cwiseMin(scaled_.upper); }
  VecX w(const VecX& y) const { return scaled_.M * y + scaled_.q; }
  double residual(const VecX& y) const;  // natural_residual()
  double floor(const VecX& y) const;     // rounding_floor()
  bool is_solved_at(const VecX& y) const { return residual(y) <= tolerance(); }
  // For iterative solvers: counts, records, and tells whether the residual is small enough.
  bool is_converged(const VecX& y);
  void record(const VecX& y);  // for pivoting ones: counts, and records if someone wants it
  int iterations() const { return iterations_; }

  // Grades y: solved if the residual says so, and `status` if not; a method that believes to have solved what
  // it has not is told that its systems were singular.
  LcpResult finish(const VecX& y, LcpStatus status) const;
  LcpResult unsuitable() const;

  std::vector<LcpSide> sides(const VecX& y) const;  // of a y in the box
  // y for given sides: M_FF y_F = -q_F - M_FB y_B. False if M_FF is singular; then rows that depend on others
  // keep the bound that is nearest to zero, where there is one, and `sides` tells so.
  bool solve_sides(std::vector<LcpSide>* sides, VecX* y) const;

 private:
  const LcpProblem& problem_;
  const LcpOptions& options_;
  LcpProblem scaled_;
  VecX scale_;  // z = scale * y
  int max_iterations_ = 0, iterations_ = 0;
};

// Index sets that were there before.
class VisitedSides {
 public:
  bool insert(const std::vector<LcpSide>& sides);  // false if they came again

 private:
  std::unordered_set<std::string> seen_;
};

// What residuals of a scaled problem are relative to.
double lcp_reference(const LcpProblem& scaled);
LcpProblem scale_lcp(const LcpProblem& problem, const VecX& scale);
// y - mid(lower, upper, y - w), with w = M y + q.
VecX natural_map(const LcpProblem& problem, const VecX& y);
double largest(const VecX& x);  // largest absolute value, 0 for none, inf if one is not a number

}  // namespace capstan
