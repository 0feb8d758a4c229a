// Blocked Gauss-Seidel: a sweep solves each contact exactly (solve_one_contact), as if all others kept their
// impulses. Linear convergence, slow where mass ratios are large; what it finds is an answer, to the
// residual.
//
// Sources: Contact course 3.2; Jourdan, Alart, Jean, "A Gauss-Seidel like algorithm to solve frictional
// contact problems".
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr int kSweepsBetweenLooks = 5;
constexpr int kMostHalvings = 100;

// min 1/2 x^T W x + q^T x over the cone, by projected gradients with Barzilai and Borwein's steps.
Vec3 solve_cone(const Mat3& W, const Vec3& q, double mu, Vec3 x) {
  double step = 1 / W.trace();
  Vec3 u = W * x + q;
  for (int i = 0; i < kMostHalvings; ++i) {
    const Vec3 next = project_to_cone(x - step * u, mu), dx = next - x;
    if (dx.norm() <= 1e-14 * next.norm()) return next;
    const Vec3 du = W * dx;
    x = next;
    u += du;
    const double curvature = dx.dot(du);
    step = curvature > 0 ? dx.squaredNorm() / curvature : 1 / W.trace();
  }
  return x;
}

// One row after the other, bounds by the normal impulse at hand, or fixed ones.
Vec3 solve_box(const Mat3& W, const Vec3& q, double mu, double fixed, Vec3 x) {
  for (int i = 0; i < kMostHalvings; ++i) {
    const Vec3 before = x;
    x.z() = std::max(0.0, x.z() - (W.row(2).dot(x) + q.z()) / W(2, 2));
    const double bound = mu * x.z() + fixed;
    for (int r = 0; r < 2; ++r) x[r] = std::clamp(x[r] - (W.row(r).dot(x) + q[r]) / W(r, r), -bound, bound);
    if ((x - before).norm() <= 1e-14 * x.norm()) break;
  }
  return x;
}

// Tangential impulses free or given; the normal one pushes or is zero.
Vec3 solve_fixed_rule(const RigidBlock& block, const Vec3& q) {
  const Mat3& W = block.W;
  Vec3 x;
  if (block.sticks) {
    x = W.inverse() * -q;
    if (x.z() >= 0) return x;
    x.head<2>() = W.topLeftCorner<2, 2>().inverse() * -q.head<2>();
    x.z() = 0;
  } else {
    x.head<2>() = block.given;
    x.z() = std::max(0.0, -(q.z() + W(2, 0) * x.x() + W(2, 1) * x.y()) / W(2, 2));
  }
  return x;
}

Vec3 solve_block(const RigidProblem& problem, const RigidBlock& block, const Vec3& x, const Vec3& u) {
  if (!block.is_contact())
    return Vec3(std::clamp(x[0] - u[0] / block.W(0, 0), block.lower, block.upper), 0, 0);
  const Vec3 q = u - block.W * x;
  switch (problem.options().model) {
    case RigidModel::ncp:
      return solve_one_contact(block.W, q, block.mu);
    case RigidModel::ccp:
      return solve_cone(block.W, q, block.mu, x);
    case RigidModel::box:
      return solve_box(block.W, q, block.mu, 0, x);
    case RigidModel::box_frozen:
      return solve_box(block.W, q, 0, block.bound, x);
    default:
      return solve_fixed_rule(block, q);
  }
}

}  // namespace

// Sliding at the rate s >= 0, u_t = -s x_t: (W + diag(s, s, 0)) x = -q. The cone is left at s = 0, where it
// would stick, and is not with s large, where there is no friction; in between is the answer.
Vec3 solve_one_contact(const Mat3& W, const Vec3& q, double mu) {
  if (q.z() >= 0) return Vec3::Zero();  // it separates
  const auto slide = [&](double s) -> Vec3 {
    Mat3 S = W;
    S(0, 0) += s;
    S(1, 1) += s;
    return S.inverse() * -q;
  };
  const auto excess = [&](const Vec3& x) { return x.head<2>().norm() - mu * x.z(); };
  const Vec3 stick = slide(0);
  if (excess(stick) <= 0) return stick;
  const double size = W.trace();
  if (mu == 0) return Vec3(0, 0, -q.z() / W(2, 2));
  double low = 0, high = size;
  while (excess(slide(high)) > 0 && high < 1e12 * size) low = high, high *= 4;
  double f_low = excess(slide(low)), f_high = excess(slide(high));
  for (int i = 0; i < kMostHalvings && high - low > 1e-15 * high; ++i) {  // Illinois
    const double s = i % 3 == 2 ? 0.5 * (low + high) : (low * f_high - high * f_low) / (f_high - f_low);
    const double f = excess(slide(s));
    if (f > 0) {
      low = s, f_low = f;
      f_high *= 0.5;
    } else {
      high = s, f_high = f;
      f_low *= 0.5;
    }
    if (f == 0) break;
  }
  return slide(high);
}

RigidResult solve_gauss_seidel(const RigidProblem& problem, const VecX& start) {
  RigidResult result;
  result.x = start;
  VecX dv = problem.calc_dv(result.x);
  for (; result.iterations <= problem.options().max_iterations; ++result.iterations) {
    problem.check_deadline();
    if (result.iterations % kSweepsBetweenLooks == 0) {
      result.residual = problem.calc_residual(result.x);
      result.history.push_back(result.residual);
      result.converged = result.residual <= problem.options().tolerance;
      if (result.converged || !std::isfinite(result.residual)) break;
    }
    for (const RigidBlock& block : problem.blocks) {
      const Vec3 x = RigidProblem::segment(block, result.x), u = problem.calc_u(block, dv, x);
      const Vec3 next = solve_block(problem, block, x, u);
      problem.add_impulse(block, next - x, &dv);
      RigidProblem::set_segment(block, next, &result.x);
    }
  }
  return result;
}

}  // namespace capstan
