#include "capstan/rigid/interior_point.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr int kMostSteps = 60;
constexpr double kToBoundary = 0.99;    // part of the way to it that a step may go
constexpr double kSmallestGap = 1e-24;  // of the square of the largest |b|: no digits are left
constexpr double kRegularization =
    1e-13;                       // of the diagonal, and a hundred times as much while it is too little
constexpr int kRefinements = 3;  // which take its error away

// A cone of friction as Lorentz's: x = (mu y_n, y_t), s = (u_n / mu, u_t).
struct Cone {
  int row = 0;
  double mu = 1;
  Vec3 x = Vec3::UnitX(), s = Vec3::UnitX();           // inside
  Vec3 dx = Vec3::Zero(), ds = Vec3::Zero();           // step
  Mat3 G = Mat3::Identity(), Ginv = Mat3::Identity();  // of Nesterov and Todd
  Vec3 lambda = Vec3::Zero();                          // G x

  Vec3 to_primal(const Vec3& y) const { return {mu * y.z(), y.x(), y.y()}; }
  Vec3 from_dual(const Vec3& v) const { return {v[1], v[2], mu * v[0]}; }  // transpose of to_primal
};

// A bound: below y, or above it for sign -1.
struct Bound {
  int row;
  double sign, t, z;  // slack and multiplier
  double dt, dz;
};

double det(const Vec3& v) {
  return (v[0] - v.tail<2>().norm()) * (v[0] + v.tail<2>().norm());
}
Vec3 product(const Vec3& a, const Vec3& b) {
  Vec3 c;
  c << a.dot(b), a[0] * b.tail<2>() + b[0] * a.tail<2>();
  return c;
}
// y of a o y = d.
Vec3 divide(const Vec3& a, const Vec3& d) {
  const double first = (a[0] * d[0] - a.tail<2>().dot(d.tail<2>())) / det(a);
  Vec3 y;
  y << first, (d.tail<2>() - first * a.tail<2>()) / a[0];
  return y;
}

void scale_cone(Cone* c) {
  const double dx = std::sqrt(det(c->x)), ds = std::sqrt(det(c->s));
  const Vec3 J(1, -1, -1), x = c->x / dx, s = c->s / ds;
  const double gamma = std::sqrt(0.5 * (1 + x.dot(s)));
  const Vec3 w = (s + J.cwiseProduct(x)) / (2 * gamma);
  const Vec3 v = (w + Vec3::UnitX()) / std::sqrt(2 * (w[0] + 1)), Jv = J.cwiseProduct(v);
  const double beta = std::sqrt(ds / dx);
  c->G = beta * (2 * v * v.transpose() - Mat3(J.asDiagonal()));
  c->Ginv = (2 * Jv * Jv.transpose() - Mat3(J.asDiagonal())) / beta;
  c->lambda = c->G * c->x;
}

// The largest step at which v + t dv is in the cone.
double step_to_boundary(const Vec3& v, const Vec3& dv) {
  const double a = dv[0] * dv[0] - dv.tail<2>().squaredNorm(),
               b = v[0] * dv[0] - v.tail<2>().dot(dv.tail<2>()), c = det(v);
  double t = kInfinity;
  if (dv[0] < 0) t = -v[0] / dv[0];
  const double root = b * b - a * c;
  if (root < 0) return t;
  // The smallest positive zero of a t^2 + 2 b t + c, c > 0, without cancellation.
  const double q = -(b + std::copysign(std::sqrt(root), b));
  for (const double zero : {q != 0 ? c / q : kInfinity, a != 0 ? q / a : kInfinity}) {
    if (zero > 0) t = std::min(t, zero);
  }
  return t;
}

class InteriorPoint {
 public:
  InteriorPoint(const RigidProblem& problem, const MatX& W, const VecX& b, const VecX& scale)
      : W_(W), b_(b), y_(VecX::Zero(b.size())), is_free_(b.size(), false) {
    const double size = std::max(b.cwiseAbs().maxCoeff(), 1e-300);
    for (const RigidBlock& block : problem.blocks) {
      const int r = block.row;
      if (block.is_contact() && block.mu > 0) {
        Cone cone;
        cone.row = r;
        cone.mu = block.mu;
        cone.x = cone.s = size * Vec3::UnitX();
        y_[r + 2] = size / block.mu;
        cones_.push_back(cone);
        is_free_[r] = is_free_[r + 1] = is_free_[r + 2] = true;
        continue;
      }
      const int row = block.is_contact() ? r + 2 : r;  // without friction: the normal impulse alone
      const double lower = block.is_contact() ? 0 : block.lower / scale[r];
      const double upper = block.is_contact() ? kInfinity : block.upper / scale[r];
      y_[row] = std::clamp(0.0, lower, upper);
      if (lower == upper) continue;
      is_free_[row] = true;
      const double width = upper - lower;
      if (std::isfinite(lower)) y_[row] = lower + std::min(size, 0.5 * width);
      if (!std::isfinite(lower) && std::isfinite(upper)) y_[row] = upper - size;
      if (std::isfinite(lower)) bounds_.push_back({row, 1, y_[row] - lower, size, 0, 0});
      if (std::isfinite(upper)) bounds_.push_back({row, -1, upper - y_[row], size, 0, 0});
    }
    for (int i = 0; i < b.size(); ++i) {
      if (is_free_[i]) rows_.push_back(i);
    }
    least_gap_ = kSmallestGap * size * size;
  }

  const VecX& y() const { return y_; }

  // One step along the path; false if there is none.
  bool advance() {
    const double before = gap();
    const int count = static_cast<int>(cones_.size() + bounds_.size());
    if (!(before > least_gap_ * std::max(1, count))) return false;
    for (Cone& cone : cones_) scale_cone(&cone);
    if (!factorize()) return false;
    solve(0, false);
    const double t = std::min(1.0, longest_step());
    const double sigma = std::pow(1 - t, 3);
    solve(sigma * before / std::max(1, count), true);
    const double step = std::min(1.0, kToBoundary * longest_step());
    if (!std::isfinite(step) || !dy_.allFinite()) return false;
    y_ += step * dy_;
    for (Cone& cone : cones_) {
      cone.x = cone.to_primal(y_.segment<3>(cone.row));
      cone.s += step * cone.ds;
      if (!(det(cone.x) > 0 && det(cone.s) > 0)) return false;
    }
    for (Bound& bound : bounds_) {
      bound.t += step * bound.dt;
      bound.z += step * bound.dz;
    }
    return step > 1e-8;
  }

 private:
  double gap() const {
    double sum = 0;
    for (const Cone& cone : cones_) sum += cone.x.dot(cone.s);
    for (const Bound& bound : bounds_) sum += bound.t * bound.z;
    return cones_.empty() && bounds_.empty() ? least_gap_ + 1 : sum;
  }

  bool factorize() {
    MatX H = W_;
    for (const Cone& cone : cones_) {
      const Mat3 G2 = cone.G * cone.G;
      Mat3 added;
      for (int j = 0; j < 3; ++j) added.col(j) = cone.from_dual(G2 * cone.to_primal(Vec3::Unit(j)));
      H.block<3, 3>(cone.row, cone.row) += added;
    }
    for (const Bound& bound : bounds_) H(bound.row, bound.row) += bound.z / bound.t;
    H_ = H(rows_, rows_);
    for (double part = kRegularization; part < 1e-5; part *= 100) {
      MatX regular = H_;
      regular.diagonal() *= 1 + part;
      factor_.compute(regular);
      if (factor_.info() == Eigen::Success) return true;
    }
    return false;
  }

  // The step towards products of `target`; `corrects` with what the step before left of second order.
  void solve(double target, bool corrects) {
    VecX right = -(W_ * y_ + b_);
    for (Cone& cone : cones_) {
      Vec3 d = target * Vec3::UnitX() - product(cone.lambda, cone.lambda);
      if (corrects) d -= product(cone.G * cone.dx, cone.Ginv * cone.ds);
      // ds = s_new - s = G d' - G^2 dx, with u = from_dual(s) on the right.
      cone.ds = cone.G * divide(cone.lambda, d);
      right.segment<3>(cone.row) += cone.from_dual(cone.s + cone.ds);
    }
    for (Bound& bound : bounds_) {
      const double second = corrects ? bound.dt * bound.dz : 0;
      bound.dz = (target - second) / bound.t - bound.z;
      right[bound.row] += bound.sign * (bound.z + bound.dz);
    }
    const VecX wanted = right(rows_);
    VecX found = factor_.solve(wanted);
    for (int k = 0; k < kRefinements; ++k) found += factor_.solve(VecX(wanted - H_ * found));
    dy_ = VecX::Zero(y_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) dy_[rows_[i]] = found[static_cast<long>(i)];
    for (Cone& cone : cones_) {
      cone.dx = cone.to_primal(dy_.segment<3>(cone.row));
      cone.ds -= cone.G * (cone.G * cone.dx);
    }
    for (Bound& bound : bounds_) {
      bound.dt = bound.sign * dy_[bound.row];
      bound.dz -= bound.z / bound.t * bound.dt;
    }
  }

  double longest_step() const {
    double t = kInfinity;
    for (const Cone& cone : cones_)
      t = std::min({t, step_to_boundary(cone.x, cone.dx), step_to_boundary(cone.s, cone.ds)});
    for (const Bound& bound : bounds_) {
      if (bound.dt < 0) t = std::min(t, -bound.t / bound.dt);
      if (bound.dz < 0) t = std::min(t, -bound.z / bound.dz);
    }
    return t;
  }

  const MatX& W_;
  const VecX& b_;
  VecX y_, dy_;
  std::vector<bool> is_free_;
  std::vector<int> rows_;  // that are not given
  std::vector<Cone> cones_;
  std::vector<Bound> bounds_;
  MatX H_;  // W + G^2 of these rows
  Eigen::LLT<MatX> factor_;
  double least_gap_ = 0;
};

double projection_error(const RigidProblem& problem, const MatX& W, const VecX& b, const VecX& scale,
                        const VecX& y) {
  const VecX v = y - (W * y + b);
  double worst = 0;
  for (const RigidBlock& block : problem.blocks) {
    const int r = block.row;
    if (block.is_contact()) {
      const Vec3 off = y.segment<3>(r) - project_to_cone(v.segment<3>(r), block.mu);
      worst = std::max(worst, off.cwiseAbs().maxCoeff());
    } else {
      const double to = std::clamp(v[r], block.lower / scale[r], block.upper / scale[r]);
      worst = std::max(worst, std::abs(y[r] - to));
    }
  }
  return worst;
}

}  // namespace

bool solve_interior_point(const RigidProblem& problem, const MatX& W, const VecX& b, const VecX& scale,
                          double tolerance, VecX* y, int* steps) {
  InteriorPoint path(problem, W, b, scale);
  VecX best = path.y();
  double least = projection_error(problem, W, b, scale, best);
  for (int k = 0; k < kMostSteps && least > tolerance; ++k) {
    problem.check_deadline();
    ++*steps;
    const bool goes_on = path.advance();
    const double error = projection_error(problem, W, b, scale, path.y());
    if (error < least) least = error, best = path.y();
    if (!goes_on) break;
  }
  *y = best;
  return least <= tolerance;
}

}  // namespace capstan
