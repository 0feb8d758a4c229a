// Alternating directions: x and its projection p apart, tied by a multiplier z; with blocks scaled so that
// their diagonals of W are about one,
//
//   (W + rho) x = rho (p - z) - b - phi,   p <- P(x + z),   z <- z + x - p
//
// At the end -rho z is the velocity as the model's condition has it, u + mu |u_t| n for ncp: phi = mu |rho
// z_t| n is that of the last iterate, and zero for convex models. W + rho is factored when rho is changed, to
// balance the two residuals.
//
// admm_newton() lets this find which contacts are open, stick or slide, and ends with Newton's method on
// Alart and Curnier's function of those that are closed,
//
//   F_n = x_n - max(0, x_n - u_n),   F_t = x_t - disk(x_t - u_t, radius mu max(0, x_n - u_n))
//
// with a line search. Redundant contacts make its matrix singular: the proximal point method takes W +
// epsilon and b - epsilon x_k in place of W and b, x_k what it found before, with an epsilon that shrinks
// from 1e-3 to 1e-7. Where that does not get there, the lift mu |u_t| is held while the convex problem with
// it is solved (interior_point.h), and taken anew from its answer, again and again. ccp is that convex
// problem alone.
//
// Limits: ccp and others that are convex converge for any rho that stays; ncp has no proof. Sources: Boyd et
// al., "Distributed optimization and statistical learning via the alternating direction method of
// multipliers"; Acary, Bremond and Huber, "On solving contact problems with Coulomb friction", 2018; Alart
// and Curnier 1991; Acary, Cadoux, Lemarechal and Malick, "A formulation of the linear discrete Coulomb
// friction problem via convex optimization", 2011.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/rigid/interior_point.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr int kBetweenLooks = 5;
constexpr int kBetweenChanges = 20, kLastChange = 1000;  // of rho
constexpr double kUnbalanced = 3;                        // ratio of the residuals at which rho is changed
constexpr double kRelaxation = 1.5;
constexpr int kFirstTry = 25;  // iterations before Newton's method is tried; then after twice as many
constexpr int kProximalSteps = 60;
constexpr double kFirstEpsilon = 1e-3, kLeastEpsilon = 1e-7, kMostEpsilon = 1;
constexpr int kNewtonSteps = 20, kHalvings = 7;
constexpr int kEasy = 5;  // Newton steps of a proximal one, after which epsilon may shrink fast
constexpr double kInnerReduction = 1e-4;  // of |F|
constexpr int kMostLifts = 60;            // of the fixed point mu |u_t|

class Admm {
 public:
  Admm(const RigidProblem& problem, const VecX& start) : problem_(problem) {
    const int n = problem.num_rows();
    scale_ = VecX::Ones(n);
    for (const RigidBlock& block : problem.blocks)
      scale_.segment(block.row, block.num_rows).setConstant(std::sqrt(block.num_rows * block.rho));
    W_ = scale_.asDiagonal() * problem.calc_W() * scale_.asDiagonal();
    b_ = scale_.cwiseProduct(problem.b);
    p_ = project(start.cwiseQuotient(scale_));
    z_ = VecX::Zero(n);
    if (!start.isZero(0)) {
      const VecX u = W_ * p_ + b_;
      for (const RigidBlock& block : problem.blocks)
        RigidProblem::set_segment(block, problem.conditioned(block, RigidProblem::segment(block, u)) / -rho_,
                                  &z_);
    }
    factorize();
  }

  RigidResult solve(bool with_newton) {
    RigidResult result;
    result.history_step = kBetweenLooks;
    int next_try = kFirstTry;
    for (; result.iterations <= problem_.options().max_iterations; ++result.iterations) {
      problem_.check_deadline();
      if (result.iterations % kBetweenLooks == 0) {
        result.residual = residual(p_);
        result.history.push_back(result.residual);
        if (result.residual <= problem_.options().tolerance || !std::isfinite(result.residual)) break;
      }
      if (with_newton && result.iterations >= next_try) {
        const int before = result.iterations;
        if (problem_.options().model == RigidModel::ncp
                ? finish_by_newton(&result) || finish_by_lifts(&result)
                : finish_convex(&result))
          break;
        next_try = result.iterations + 2 * before;
      }
      iterate(result.iterations);
    }
    grade(&result);
    return result;
  }

  // By the path of interior points alone.
  RigidResult solve_by_path() {
    RigidResult result;
    result.history_step = 1;
    problem_.options().model == RigidModel::ncp ? finish_by_lifts(&result) : finish_convex(&result);
    grade(&result);
    return result;
  }

 private:
  void grade(RigidResult* result) const {
    result->x = scale_.cwiseProduct(p_);
    result->residual = problem_.calc_residual(result->x);
    result->converged = result->residual <= problem_.options().tolerance;
  }

  void factorize() {
    MatX H = W_;
    H.diagonal().array() += rho_;
    factor_.compute(H);
  }

  VecX project(const VecX& y) const {
    VecX p = VecX::Zero(y.size());
    for (const RigidBlock& block : problem_.blocks) {
      const double s = scale_[block.row];
      const Vec3 x = problem_.project(block, s * RigidProblem::segment(block, y));
      RigidProblem::set_segment(block, x / s, &p);
    }
    return p;
  }

  double residual(const VecX& y) const { return problem_.calc_residual(scale_.cwiseProduct(y)); }

  void iterate(int iteration) {
    VecX right = rho_ * (p_ - z_) - b_;
    if (problem_.options().model == RigidModel::ncp) {
      for (const RigidBlock& block : problem_.blocks) {
        if (block.is_contact()) right[block.row + 2] -= block.mu * rho_ * z_.segment<2>(block.row).norm();
      }
    }
    VecX y = factor_.solve(right);
    const VecX before = p_;
    const VecX relaxed = kRelaxation * y + (1 - kRelaxation) * p_;
    p_ = project(relaxed + z_);
    z_ += relaxed - p_;
    if (iteration % kBetweenChanges != kBetweenChanges - 1 || iteration > kLastChange) return;
    const double primal = (y - p_).norm() / std::max({y.norm(), p_.norm(), 1e-300});
    const double dual = (p_ - before).norm() / std::max({z_.norm(), 1e-300});
    const double ratio = std::sqrt(primal / std::max(dual, 1e-300));
    if (!(ratio > kUnbalanced || ratio < 1 / kUnbalanced)) return;
    const double change = std::clamp(ratio, 0.1, 10.0);
    rho_ *= change;
    z_ /= change;
    factorize();
  }

  // The proximal point method, each of its problems by Newton's method. True: p is an answer.
  bool finish_by_newton(RigidResult* result) {
    VecX center = p_;
    double epsilon = kFirstEpsilon;
    for (int outer = 0; outer < kProximalSteps; ++outer) {
      VecX y = center;
      const int steps = solve_near(center, epsilon, &y);
      result->iterations += std::abs(steps);
      const VecX next = project(y);
      const double r = residual(next);
      if (steps > 0) result->history.push_back(r);
      if (r <= problem_.options().tolerance) {
        p_ = next;
        return true;
      }
      if (steps > 0) {
        center = y;
        epsilon = std::max(kLeastEpsilon, epsilon * (steps <= kEasy ? 0.1 : 0.5));
      } else if (epsilon >= kMostEpsilon) {
        return false;
      } else {
        epsilon = std::min(kMostEpsilon, 10 * epsilon);
      }
    }
    return false;
  }

  bool solve_convex(const VecX& b, VecX* y, RigidResult* result) const {
    const double tolerance = 0.1 * problem_.options().tolerance * b_.cwiseAbs().maxCoeff();
    return solve_interior_point(problem_, W_, b, scale_, tolerance, y, &result->iterations);
  }

  // Convex models. True: p is an answer.
  bool finish_convex(RigidResult* result) {
    VecX y = p_;
    solve_convex(b_, &y, result);
    y = project(y);
    const double r = residual(y);
    result->history.push_back(r);
    if (r < residual(p_)) p_ = y;
    return r <= problem_.options().tolerance;
  }

  // The fixed point of the lift mu |u_t|. True: p is an answer.
  bool finish_by_lifts(RigidResult* result) {
    VecX y = p_;
    double least = residual(y);
    for (int k = 0; k < kMostLifts; ++k) {
      const VecX u = W_ * y + b_;
      VecX lifted = b_;
      for (const RigidBlock& block : problem_.blocks) {
        if (block.is_contact()) lifted[block.row + 2] += block.mu * u.segment<2>(block.row).norm();
      }
      solve_convex(lifted, &y, result);
      const VecX next = project(y);
      const double r = residual(next);
      result->history.push_back(r);
      if (r < least) least = r, p_ = next;
      if (r <= problem_.options().tolerance) return true;
    }
    return false;
  }

  // The answer y for W + epsilon, b - epsilon center. How many steps it took; negative: they did not get
  // there.
  int solve_near(const VecX& center, double epsilon, VecX* y) const {
    double r = proximal_error(*y, center, epsilon);
    const double first = r,
                 enough = std::max(kInnerReduction * r, 1e-3 * problem_.options().tolerance * b_.norm());
    for (int i = 1; i <= kNewtonSteps; ++i) {
      const VecX step = newton_step(*y, center, epsilon);
      if (!step.allFinite()) return -i;
      double t = 1, next = 0;
      for (int k = 0; k < kHalvings; ++k, t *= 0.5) {
        next = proximal_error(*y + t * step, center, epsilon);
        if (next < (1 - 1e-3 * t) * r) break;
      }
      if (!(next < r)) return r < 0.1 * first ? i : -i;
      *y += t * step;
      r = next;
      if (r <= enough) return i;
    }
    return r < 0.1 * first ? kNewtonSteps : -kNewtonSteps;
  }

  VecX calc_u(const VecX& y, const VecX& center, double epsilon) const {
    return W_ * y + b_ + epsilon * (y - center);
  }

  // |F|.
  double proximal_error(const VecX& y, const VecX& center, double epsilon) const {
    const VecX u = calc_u(y, center, epsilon);
    double sum = 0;
    for (const RigidBlock& block : problem_.blocks) {
      const int r = block.row;
      if (block.is_contact()) {
        const double normal = std::max(0.0, y[r + 2] - u[r + 2]), radius = block.mu * normal;
        Vec2 tau = y.segment<2>(r) - u.segment<2>(r);
        const double length = tau.norm();
        if (length > radius) tau *= radius / length;
        sum += (y.segment<2>(r) - tau).squaredNorm() + (y[r + 2] - normal) * (y[r + 2] - normal);
      } else {
        const double off = y[r] - std::clamp(y[r] - u[r], block.lower / scale_[r], block.upper / scale_[r]);
        sum += off * off;
      }
    }
    return std::sqrt(sum);
  }

  // dy of F + dF dy = 0, where rows of W stand for du. Rows that are not closed go straight to their bounds.
  VecX newton_step(const VecX& y, const VecX& center, double epsilon) const {
    const int n = problem_.num_rows();
    const VecX u = calc_u(y, center, epsilon);
    VecX step = VecX::Zero(n);
    std::vector<int> rows;  // unknown
    for (const RigidBlock& block : problem_.blocks) {
      const int r = block.row;
      if (block.is_contact()) {
        if (y[r + 2] - u[r + 2] > 0) {
          rows.insert(rows.end(), {r, r + 1, r + 2});
        } else {
          step.segment<3>(r) = -y.segment<3>(r);
        }
      } else {
        const double lower = block.lower / scale_[r], upper = block.upper / scale_[r];
        const double to = std::clamp(y[r] - u[r], lower, upper);
        if (to > lower && to < upper) {
          rows.push_back(r);
        } else {
          step[r] = to - y[r];
        }
      }
    }
    const int m = static_cast<int>(rows.size());
    MatX M(m, m);
    for (int j = 0; j < m; ++j) {
      for (int i = 0; i < m; ++i) M(i, j) = W_(rows[i], rows[j]);
      M(j, j) += epsilon;
    }
    const VecX known = W_ * step;
    VecX F(m);
    for (int i = 0; i < m; ++i) F[i] = u[rows[i]] + known[rows[i]];
    std::vector<int> at(n, -1);
    for (int i = 0; i < m; ++i) at[rows[i]] = i;
    for (const RigidBlock& block : problem_.blocks) {
      if (block.is_contact() && at[block.row] >= 0) make_sliding(block, y, u, known, at[block.row], &M, &F);
    }
    const VecX found = Eigen::PartialPivLU<MatX>(M).solve(-F);
    for (int i = 0; i < m; ++i) step[rows[i]] = found[i];
    return step;
  }

  // Where a contact slides, its tangential equations are others: rows `i` and i + 1 of M and F have those of
  // u.
  void make_sliding(const RigidBlock& block, const VecX& y, const VecX& u, const VecX& known, int i, MatX* M,
                    VecX* F) const {
    const int r = block.row;
    const double normal = y[r + 2] - u[r + 2];
    const Vec2 tau = y.segment<2>(r) - u.segment<2>(r);
    const double length = tau.norm(), radius = block.mu * normal;
    if (length <= radius) return;
    const Vec2 t = tau / length;
    const Mat2 across = radius / length * (Mat2::Identity() - t * t.transpose());
    // dF_t = dx_t - mu t (dx_n - du_n) - across (dx_t - du_t), du = W dx: rows of M are du now.
    const MatX du = M->middleRows(i, 3);
    M->middleRows(i, 2) = across * du.topRows(2) + block.mu * t * du.row(2);
    M->block<2, 2>(i, i) += Mat2::Identity() - across;
    M->block<2, 1>(i, i + 2) -= block.mu * t;
    F->segment<2>(i) =
        y.segment<2>(r) - radius * t + block.mu * t * known[r + 2] + across * known.segment<2>(r);
  }

  const RigidProblem& problem_;
  MatX W_;
  VecX scale_, b_, p_, z_;  // x = scale * p
  double rho_ = 1;
  Eigen::LLT<MatX> factor_;
};

}  // namespace

RigidResult solve_admm(const RigidProblem& problem, const VecX& start) {
  return Admm(problem, start).solve(false);
}

RigidResult solve_cone_path(const RigidProblem& problem, const VecX& start) {
  return Admm(problem, start).solve_by_path();
}

RigidResult solve_admm_newton(const RigidProblem& problem, const VecX& start) {
  return Admm(problem, start).solve(true);
}

}  // namespace capstan
