#include "capstan/physics/elasticity.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

constexpr int kMostSweeps = 12, kMostNewtonSteps = 20;
constexpr double kConverged = 1e-15;
constexpr double kHardlyTurned = 1e-3;  // det of F / |F|^3 above which Newton's iteration finds R

// Columns that are det F times the inverse of F, transposed: dJ/dF.
Mat3 cofactor(const Mat3& F) {
  Mat3 C;
  C.col(0) = cross(F.col(1), F.col(2));
  C.col(1) = cross(F.col(2), F.col(0));
  C.col(2) = cross(F.col(0), F.col(1));
  return C;
}

double determinant(const Mat3& F) {
  return F.col(0).dot(cross(F.col(1), F.col(2)));
}

// Turns S by the rotation of axes p and q that makes S(p, q) zero; V takes it along.
void rotate_away(int p, int q, Mat3* S, Mat3* V) {
  const double off = (*S)(p, q);
  if (off == 0) return;
  const double theta = ((*S)(q, q) - (*S)(p, p)) / (2 * off);
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(1 + theta * theta));
  const double c = 1 / std::sqrt(1 + t * t), s = t * c;
  const int r = 3 - p - q;
  (*S)(p, p) -= t * off;
  (*S)(q, q) += t * off;
  (*S)(p, q) = (*S)(q, p) = 0;
  const double rp = (*S)(r, p), rq = (*S)(r, q);
  (*S)(r, p) = (*S)(p, r) = c * rp - s * rq;
  (*S)(r, q) = (*S)(q, r) = s * rp + c * rq;
  const Vec3 vp = V->col(p), vq = V->col(q);
  V->col(p) = c * vp - s * vq;
  V->col(q) = s * vp + c * vq;
}

// A unit vector perpendicular to n.
Vec3 across(const Vec3& n) {
  int least = 0;
  n.cwiseAbs().minCoeff(&least);
  return cross(n, Vec3::Unit(least)).normalized();
}

// Derivatives of psi(s) for the tangent: A, and the two numbers of each pair of axes.
struct Derivatives {
  Mat3 A;
  Vec3 stretch, turn;  // a + b, a - b
};

Derivatives derivatives(Elasticity kind, const Lame& m, const Vec3& s, double given_pressure) {
  Derivatives d;
  const double J = s.prod(), mu = m.mu;
  if (kind == Elasticity::saint_venant_kirchhoff) {
    const double pressure = 0.5 * m.lambda * (s.squaredNorm() - 3) + given_pressure;
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const double squares = s[i] * s[i] + s[j] * s[j], product = s[i] * s[j];
      d.A(k, k) = mu * (3 * s[k] * s[k] - 1) + pressure + m.lambda * s[k] * s[k];
      d.A(i, j) = d.A(j, i) = m.lambda * product;
      d.stretch[k] = mu * (squares + product - 1) + pressure;
      d.turn[k] = mu * (squares - product - 1) + pressure;
    }
    return d;
  }
  const bool is_neo_hookean = kind == Elasticity::neo_hookean;
  const double bulk = is_neo_hookean ? m.lambda + mu : m.lambda;
  const double pressure = bulk * (J - 1) - (is_neo_hookean ? mu : 0) + given_pressure;  // of dJ
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const double area = s[i] * s[j];
    d.A(k, k) = (is_neo_hookean ? mu : 2 * mu) + bulk * area * area;
    d.A(i, j) = d.A(j, i) = bulk * s[i] * s[j] * s[k] * s[k] + pressure * s[k];
    if (is_neo_hookean) {
      d.stretch[k] = mu - pressure * s[k];
      d.turn[k] = mu + pressure * s[k];
    } else {
      // Where F is nearly flat in both directions, R is not defined; the turn is then as soft as it may be.
      const double sum = std::max(s[i] + s[j], 1e-6);
      d.stretch[k] = 2 * mu - pressure * s[k];
      d.turn[k] = 2 * mu * (1 - 2 / sum) + pressure * s[k];
    }
  }
  return d;
}

}  // namespace

Lame lame_constants(double E, double nu) {
  return {E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))};
}

SingularFrame calc_singular_frame(const Mat3& F) {
  SingularFrame f;
  Mat3 S = F.transpose() * F;
  f.V.setIdentity();
  const double size = S.trace();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    const double off = std::abs(S(0, 1)) + std::abs(S(0, 2)) + std::abs(S(1, 2));
    if (off <= 1e-17 * size) break;
    rotate_away(0, 1, &S, &f.V);
    rotate_away(0, 2, &S, &f.V);
    rotate_away(1, 2, &S, &f.V);
  }
  // The largest first; an exchange of columns turns one of them round to keep V a rotation.
  const auto exchange = [&](int i, int j) {
    if (S(i, i) >= S(j, j)) return;
    std::swap(S(i, i), S(j, j));
    const Vec3 column = f.V.col(i);
    f.V.col(i) = f.V.col(j);
    f.V.col(j) = -column;
  };
  exchange(0, 1);
  exchange(0, 2);
  exchange(1, 2);
  const Mat3 FV = F * f.V;
  const double first = FV.col(0).norm();
  f.U.col(0) = first > 0 ? Vec3(FV.col(0) / first) : Vec3(Vec3::UnitX());
  const Vec3 rest = FV.col(1) - f.U.col(0).dot(FV.col(1)) * f.U.col(0);
  const double second = rest.norm();
  f.U.col(1) = second > 1e-14 * first ? Vec3(rest / second) : across(f.U.col(0));
  f.U.col(2) = cross(f.U.col(0), f.U.col(1));
  f.s = {first, second, f.U.col(2).dot(FV.col(2))};
  return f;
}

Mat3 nearest_rotation(const Mat3& F) {
  const double size = F.norm(), det = determinant(F);
  if (!(det > kHardlyTurned * size * size * size)) {
    const SingularFrame f = calc_singular_frame(F);
    return f.U * f.V.transpose();
  }
  // Newton's iteration R <- (R + R^-T) / 2, scaled in its first steps (Higham 1986).
  Mat3 R = F / std::cbrt(det);
  for (int k = 0; k < kMostNewtonSteps; ++k) {
    const Mat3 C = cofactor(R);
    const Mat3 inverse = C / R.col(0).dot(C.col(0));
    const Mat3 next = 0.5 * (R + inverse);
    const double change = (next - R).squaredNorm();
    R = next;
    if (change < kConverged) break;  // squared: what is left is round-off
  }
  return R;
}

Mat3 linear_strain(const Mat3& R, const Mat3& F) {
  const Mat3 S = R.transpose() * F;
  Mat3 e = 0.5 * (S + S.transpose());
  e.diagonal().array() -= 1;
  return e;
}

ElasticTangent linear_tangent(const Lame& m, const Mat3& R) {
  ElasticTangent t;
  t.U = R;
  t.V.setIdentity();
  t.A.setConstant(m.lambda);
  t.A.diagonal().array() += 2 * m.mu;
  t.a.setConstant(m.mu);
  t.b.setConstant(m.mu);
  return t;
}

double calc_energy_density(Elasticity kind, const Lame& m, const Mat3& F) {
  const double J = determinant(F);
  switch (kind) {
    case Elasticity::neo_hookean:
      return 0.5 * m.mu * (F.squaredNorm() - 3) - m.mu * (J - 1) +
             0.5 * (m.lambda + m.mu) * (J - 1) * (J - 1);
    case Elasticity::saint_venant_kirchhoff: {
      const Mat3 G = 0.5 * (F.transpose() * F - Mat3::Identity());
      return linear_energy(m, G);
    }
    default:
      return m.mu * (F - nearest_rotation(F)).squaredNorm() + 0.5 * m.lambda * (J - 1) * (J - 1);
  }
}

Mat3 calc_stress(Elasticity kind, const Lame& m, const Mat3& F) {
  if (kind == Elasticity::saint_venant_kirchhoff) {
    const Mat3 G = 0.5 * (F.transpose() * F - Mat3::Identity());
    return linear_stress(m, F, G);
  }
  const Mat3 C = cofactor(F);
  const double J = F.col(0).dot(C.col(0));
  if (kind == Elasticity::neo_hookean) return m.mu * F + ((m.lambda + m.mu) * (J - 1) - m.mu) * C;
  return 2 * m.mu * (F - nearest_rotation(F)) + m.lambda * (J - 1) * C;
}

double calc_dilation(Elasticity kind, const Mat3& F) {
  return kind == Elasticity::saint_venant_kirchhoff ? 0.5 * (F.squaredNorm() - 3) : determinant(F) - 1;
}

Mat3 calc_dilation_gradient(Elasticity kind, const Mat3& F) {
  return kind == Elasticity::saint_venant_kirchhoff ? F : cofactor(F);
}

ElasticTangent calc_elastic_tangent(Elasticity kind, const Lame& m, const Mat3& F, bool psd,
                                    double pressure) {
  CAPSTAN_ASSERT(kind != Elasticity::linear_corotational);
  const SingularFrame f = calc_singular_frame(F);
  Derivatives d = derivatives(kind, m, f.s, pressure);
  if (psd) {
    d.stretch = d.stretch.cwiseMax(0);
    d.turn = d.turn.cwiseMax(0);
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(d.A);
    if (eigen.eigenvalues()[0] < 0) {
      const Mat3& Q = eigen.eigenvectors();
      d.A = Q * eigen.eigenvalues().cwiseMax(0).asDiagonal() * Q.transpose();
    }
  }
  return {f.U, f.V, d.A, 0.5 * (d.stretch + d.turn), 0.5 * (d.stretch - d.turn)};
}

}  // namespace capstan
