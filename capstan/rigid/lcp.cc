#include "capstan/rigid/lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/rigid/lcp_run.h"

namespace capstan {
namespace {

// Entries of a scaled semidefinite matrix are at most 1: a diagonal that makes one larger than this is
// rounding.
constexpr double kLargestEntry = 1e7;

VecX scaled_bound(const VecX& bound, const VecX& scale) {
  return bound.cwiseQuotient(scale);
}

double rounding(const LcpProblem& scaled, const VecX& y) {
  const VecX sum = scaled.M.cwiseAbs() * y.cwiseAbs() + scaled.q.cwiseAbs();
  return 100 * std::numeric_limits<double>::epsilon() * largest(sum);
}

}  // namespace

bool LcpProblem::is_plain() const {
  return (lower.array() == 0).all() && (upper.array() == kInfinity).all();
}

LcpProblem make_plain_lcp(MatX M, VecX q) {
  const Eigen::Index n = q.size();
  return {std::move(M), std::move(q), VecX::Zero(n), VecX::Constant(n, kInfinity)};
}

const char* name(LcpStatus status) {
  switch (status) {
    case LcpStatus::solved:
      return "solved";
    case LcpStatus::most_iterations:
      return "most_iterations";
    case LcpStatus::ray_termination:
      return "ray_termination";
    case LcpStatus::cycled:
      return "cycled";
    case LcpStatus::singular:
      return "singular";
    case LcpStatus::stalled:
      return "stalled";
    case LcpStatus::unsuitable:
      return "unsuitable";
  }
  return "";
}

double largest(const VecX& x) {
  double result = 0;
  for (double value : x) result = std::isnan(value) ? kInfinity : std::max(result, std::abs(value));
  return result;
}

VecX lcp_scale(const LcpProblem& problem) {
  const int n = problem.size();
  const MatX& M = problem.M;
  VecX scale = VecX::Zero(n);
  for (int i = 0; i < n; ++i) {
    if (M(i, i) != 0) scale[i] = 1 / std::sqrt(std::abs(M(i, i)));
  }
  std::vector<int> without;
  for (int i = 0; i < n; ++i) {
    double entry = 0;
    for (int j = 0; j < n; ++j)
      entry = std::max(entry, scale[j] * std::max(std::abs(M(i, j)), std::abs(M(j, i))));
    if (scale[i] == 0 || scale[i] * entry > kLargestEntry) without.push_back(i);
  }
  for (int i : without) scale[i] = 0;
  VecX found = scale;
  for (int i : without) {
    double entry = 0;
    for (int j = 0; j < n; ++j)
      entry = std::max(entry, scale[j] * std::max(std::abs(M(i, j)), std::abs(M(j, i))));
    found[i] = entry > 0 ? 1 / entry : 1;
  }
  return found;
}

LcpProblem scale_lcp(const LcpProblem& problem, const VecX& scale) {
  return {scale.asDiagonal() * problem.M * scale.asDiagonal(), scale.cwiseProduct(problem.q),
          scaled_bound(problem.lower, scale), scaled_bound(problem.upper, scale)};
}

double lcp_reference(const LcpProblem& scaled) {
  const VecX nearest = VecX::Zero(scaled.size()).cwiseMax(scaled.lower).cwiseMin(scaled.upper);
  const double reference = std::max(largest(scaled.q), largest(scaled.M * nearest + scaled.q));
  return reference > 0 ? reference : 1;
}

VecX natural_map(const LcpProblem& problem, const VecX& y) {
  const VecX w = problem.M * y + problem.q;
  return y - (y - w).cwiseMax(problem.lower).cwiseMin(problem.upper);
}

VecX calc_w(const LcpProblem& problem, const VecX& z) {
  return problem.M * z + problem.q;
}

double natural_residual(const LcpProblem& problem, const VecX& z) {
  const VecX scale = lcp_scale(problem);
  const LcpProblem scaled = scale_lcp(problem, scale);
  return largest(natural_map(scaled, z.cwiseQuotient(scale))) / lcp_reference(scaled);
}

double rounding_floor(const LcpProblem& problem, const VecX& z) {
  const VecX scale = lcp_scale(problem);
  const LcpProblem scaled = scale_lcp(problem, scale);
  return rounding(scaled, z.cwiseQuotient(scale)) / lcp_reference(scaled);
}

LcpRun::LcpRun(const LcpProblem& problem, const LcpOptions& options, int default_iterations)
    : problem_(problem), options_(options), scale_(lcp_scale(problem)) {
  scaled_ = scale_lcp(problem, scale_);
  const double reference = lcp_reference(scaled_);
  scaled_.q /= reference;
  scaled_.lower /= reference;
  scaled_.upper /= reference;
  scale_ *= reference;
  max_iterations_ = options.max_iterations > 0 ? options.max_iterations : default_iterations;
}

VecX LcpRun::start() const {
  return project(has_start() ? VecX(options_.start.cwiseQuotient(scale_)) : VecX(VecX::Zero(size())));
}

double LcpRun::residual(const VecX& y) const {
  return largest(natural_map(scaled_, y));
}

double LcpRun::floor(const VecX& y) const {
  return rounding(scaled_, y);
}

void LcpRun::record(const VecX& y) {
  if (options_.deadline != nullptr) options_.deadline->check();
  ++iterations_;
  if (options_.residuals) options_.residuals->push_back(residual(y));
}

bool LcpRun::is_converged(const VecX& y) {
  if (options_.deadline != nullptr) options_.deadline->check();
  ++iterations_;
  const double r = residual(y);
  if (options_.residuals) options_.residuals->push_back(r);
  return r <= options_.tolerance || (iterations_ % 50 == 0 && r <= floor(y));
}

LcpResult LcpRun::finish(const VecX& y, LcpStatus status) const {
  LcpResult result;
  result.z = project(y.allFinite() ? y : start()).cwiseProduct(scale_);
  result.z = result.z.cwiseMax(problem_.lower).cwiseMin(problem_.upper);
  result.iterations = iterations_;
  result.residual = natural_residual(problem_, result.z);
  if (result.residual <= std::max(options_.tolerance, rounding_floor(problem_, result.z))) {
    result.status = LcpStatus::solved;
  } else {
    result.status = status == LcpStatus::solved ? LcpStatus::singular : status;
  }
  return result;
}

LcpResult LcpRun::unsuitable() const {
  LcpResult result = finish(start(), LcpStatus::unsuitable);
  result.status = LcpStatus::unsuitable;
  return result;
}

std::vector<LcpSide> LcpRun::sides(const VecX& y) const {
  std::vector<LcpSide> sides(size(), LcpSide::free);
  for (int i = 0; i < size(); ++i) {
    if (y[i] <= scaled_.lower[i]) {
      sides[i] = LcpSide::lower;
    } else if (y[i] >= scaled_.upper[i]) {
      sides[i] = LcpSide::upper;
    }
  }
  return sides;
}

bool VisitedSides::insert(const std::vector<LcpSide>& sides) {
  std::string key;
  for (LcpSide side : sides) key.push_back(static_cast<char>(side));
  return seen_.insert(std::move(key)).second;
}

}  // namespace capstan
