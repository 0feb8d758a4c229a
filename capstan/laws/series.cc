#include "capstan/laws/series.h"

#include <Eigen/Eigenvalues>

namespace capstan {

// Each eigenvalue k of the scaled G becomes k/(1 + k).
Mat3 in_series(const Mat3& G, const Vec3& rho) {
  const Vec3 root = rho.cwiseSqrt(), inverse = root.cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inverse.asDiagonal() * G * inverse.asDiagonal());
  const Vec3 k = eigen.eigenvalues().cwiseMax(0);
  const Mat3 Q = root.asDiagonal() * eigen.eigenvectors();
  return Q * k.cwiseQuotient(k + Vec3::Ones()).asDiagonal() * Q.transpose();
}

// In the principal axes s_i = t_i/(1 + n m_i^2/(rho S)), which leaves one equation for S = sqrt(|w|^2 +
// eps^2).
ResolvedSlip resolve_slip(const ContactData& d, double rho, const Vec2& t, double n) {
  double m[2] = {d.mu_xx, d.mu_yy}, c = 1, s = 0;
  if (d.mu_xy != 0) {
    const double angle = 0.5 * std::atan2(2 * d.mu_xy, d.mu_xx - d.mu_yy);
    const double mean = 0.5 * (d.mu_xx + d.mu_yy), half = std::hypot(0.5 * (d.mu_xx - d.mu_yy), d.mu_xy);
    m[0] = mean + half;
    m[1] = std::max(0.0, mean - half);
    c = std::cos(angle);
    s = std::sin(angle);
  }
  const double p[2] = {c * t.x() + s * t.y(), c * t.y() - s * t.x()};
  const double a[2] = {n * m[0] * m[0] / rho, n * m[1] * m[1] / rho};
  const auto f = [&](double S, double* slope) {
    double w2 = d.slip * d.slip, half_slope = 0;
    for (int i = 0; i < 2; ++i) {
      const double w = m[i] * p[i] * S / (S + a[i]);
      w2 += w * w;
      half_slope += w * w * a[i] / (S * (S + a[i]));
    }
    const double root = std::sqrt(w2);
    *slope = 1 - half_slope / root;
    return S - root;
  };
  const double most = std::sqrt(d.slip * d.slip + m[0] * m[0] * p[0] * p[0] + m[1] * m[1] * p[1] * p[1]);
  const double S = find_root(f, d.slip, most, most);
  const auto turn_back = [&](double x, double y) { return Vec2(c * x - s * y, s * x + c * y); };
  return {turn_back(p[0] * S / (S + a[0]), p[1] * S / (S + a[1])),
          turn_back(-p[0] * a[0] / (S + a[0]), -p[1] * a[1] / (S + a[1]))};
}

SeriesPoint Series<Sap>::evaluate(const ContactData& d, const Vec3& rho, const Vec3& z) {
  if (is_turning(d)) return Series<TurningLaw>::evaluate(d, rho, z);
  ContactData both = d;
  both.slip += 1 / rho.x();
  both.normal.c0 = d.normal.c0 * rho.z() / (d.normal.c0 + rho.z());
  SeriesPoint p;
  Sap::evaluate(both, z, nullptr, &p.gamma, &p.G);
  return p;
}

}  // namespace capstan
