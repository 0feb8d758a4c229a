// The problem of one contact alone: a mass rho [kg] in each direction of the contact frame, which would move
// at z without the contact,
//
//   u = argmin l(u) + 1/2 (u - z)^T diag(rho) (u - z),     gamma(u) = rho (u - z)
//
// (the proximal map of the law). The solver takes the slope of a law at u rather than at the velocity of its
// iterate: there the impulse is one that the mass behind the contact can bring about, however stiff the law
// is and however deep the iterate would go.
//
//   static Vec3 Resolvent<Law>::resolve(const ContactData&, const Vec3& rho, const Vec3& z);
//
// rho_x = rho_y. Limits: a law without impulse at z gives u = z; rho -> infinity gives u = z; rho -> 0 the
// velocity at which the contact has no impulse.
#pragma once

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "capstan/laws/contact_laws.h"
#include "capstan/math/lanes.h"

namespace capstan {

// Any law: Newton with a line search in three unknowns.
template <class Law>
struct Resolvent {
  static Vec3 resolve(const ContactData& d, const Vec3& rho, const Vec3& z) {
    constexpr double kTolerance = 1e-4;  // the solver's own iteration corrects what is left
    Vec3 u = z;
    for (int i = 0; i < 40; ++i) {
      Vec3 gamma;
      Mat3 H;
      Law::evaluate(d, u, nullptr, &gamma, &H);
      const Vec3 pull = rho.cwiseProduct(u - z), gradient = pull - gamma;
      if (!(gradient.norm() > kTolerance * (pull.norm() + gamma.norm()))) break;
      H.diagonal() += rho;
      const Vec3 du = -H.llt().solve(gradient);
      const double slope0 = gradient.dot(du);
      double a = 1;
      for (int k = 0; k < 30; ++k, a *= 0.5) {  // until the cost along du has about reached its minimum
        double dl, d2l;
        Law::evaluate_along(d, u + a * du, du, &dl, &d2l);
        if (dl + du.dot(rho.cwiseProduct(Vec3(u + a * du - z))) <= -0.5 * slope0) break;
      }
      u += a * du;
    }
    return u;
  }
};

// n(v) = rho (v - z) of a normal law, for z < v_hat. n is convex and falls, so that Newton from the left
// closes in on the root monotonically.
template <class Normal>
double resolve_normal(const NormalData& d, double rho, double z) {
  if (!(z < d.v_hat)) return z;
  if constexpr (requires { Normal::resolve(d, rho, z); }) {
    return Normal::resolve(d, rho, z);
  } else {
    double v = z;
    for (int i = 0; i < 30; ++i) {
      const NormalResponse n = Normal::evaluate(d, v);
      const double step = (n.impulse - rho * (v - z)) / (n.slope + rho);
      v += step;
      if (!(std::abs(step) > 1e-6 * (v - z))) break;
    }
    return v;
  }
}

// Lagged friction does not depend on the normal velocity: two scalar equations.
template <class Normal, bool kRegularized>
struct Resolvent<LaggedLaw<Normal, kRegularized>> {
  static Vec3 resolve(const ContactData& d, const Vec3& rho, const Vec3& z) {
    if (d.mu_xy != 0 || d.mu_xx != d.mu_yy) {  // a tensor: along which direction it slips is not known
      return Resolvent<TensorLaw>::resolve(d, rho, z);
    }
    Vec3 u = z;
    u.z() = resolve_normal<Normal>(d.normal, rho.z(), z.z() + d.bias.z()) - d.bias.z();
    // rho (t - s) = n0 mu^2 s / sqrt(s^2 + eps^2) for the slip s, times mu, t that of z. The right side is
    // concave: Newton from the left closes in monotonically. Both sides by S^3, which saves divisions.
    const double x = z.x() + d.bias.x(), y = z.y() + d.bias.y(), t = d.mu_xx * std::sqrt(x * x + y * y);
    const double a = d.mu_xx * d.mu_xx * d.normal_impulse / rho.x(), e = d.slip;
    if (!(a > 0) || !(t > 0)) return u;
    double s = std::max(t - a, t * e / (e + a));
    for (int i = 0; i < 12; ++i) {
      const double S2 = s * s + e * e, S = std::sqrt(S2), S3 = S2 * S;
      const double step = ((t - s) * S3 - a * s * S2) / (S3 + a * e * e);
      s += step;
      if (!(std::abs(step) > 1e-4 * s)) break;
    }
    const double part = s / t;
    u.x() = part * x - d.bias.x();
    u.y() = part * y - d.bias.y();
    return u;
  }

  // The same for four contacts without tensors; u(i) is z and becomes u.
  template <class U>
  static CAPSTAN_INLINE void resolve(const ContactData* d, const Vec3* rho, const U& u) requires
      requires(const Four& r, Four* v) {
    Normal::resolve(d, r, r, v);
  }
  {
    Four bias, r, z, mu, a, e, x, y, bias_x, bias_y, S;
    gather([&](int i) CAPSTAN_INLINE { return d[i].bias.z(); }, &bias);
    gather([&](int i) CAPSTAN_INLINE { return u(i).z(); }, &z);
    gather([&](int i) CAPSTAN_INLINE { return rho[i].z(); }, &r);
    Normal::resolve(d, r, z + bias, &z);
    for (int i = 0; i < 4; ++i) u(i).z() = z[i] - bias[i];
    gather([&](int i) CAPSTAN_INLINE { return d[i].mu_xx; }, &mu);
    gather([&](int i) CAPSTAN_INLINE { return d[i].normal_impulse; }, &a);
    gather([&](int i) CAPSTAN_INLINE { return rho[i].x(); }, &r);
    a *= mu * mu / r;
    if (!any(a > 0)) return;
    gather([&](int i) CAPSTAN_INLINE { return d[i].slip; }, &e);
    gather([&](int i) CAPSTAN_INLINE { return d[i].bias.x(); }, &bias_x);
    gather([&](int i) CAPSTAN_INLINE { return d[i].bias.y(); }, &bias_y);
    gather([&](int i) CAPSTAN_INLINE { return u(i).x() + d[i].bias.x(); }, &x);
    gather([&](int i) CAPSTAN_INLINE { return u(i).y() + d[i].bias.y(); }, &y);
    square_root(x * x + y * y, &S);
    const Four t = mu * S, low = t - a, high = t * e / (e + a);
    Four s = low > high ? low : high;
    const auto slips = (a > 0) & (t > 0);
    for (int i = 0; i < 12; ++i) {
      const Four S2 = s * s + e * e;
      square_root(S2, &S);
      const Four S3 = S2 * S, step = ((t - s) * S3 - a * s * S2) / (S3 + a * e * e);
      s += step;
      if (!any(slips & ((step > 1e-4 * s) | (-step > 1e-4 * s)))) break;
    }
    for (int i = 0; i < 4; ++i) {
      if (!slips[i]) continue;
      const double part = s[i] / t[i];
      u(i).x() = part * x[i] - bias_x[i];
      u(i).y() = part * y[i] - bias_y[i];
    }
  }

 private:
  struct TensorLaw : LaggedLaw<Normal, kRegularized> {};
};

// A mass behind the contact is one more compliance in series: the same law with R + 1/rho.
template <>
struct Resolvent<Sap> {
  static Vec3 resolve(const ContactData& d, const Vec3& rho, const Vec3& z) {
    if (is_turning(d)) return Resolvent<TurningLaw>::resolve(d, rho, z);
    ContactData series = d;
    series.slip += 1 / rho.x();
    series.normal.c0 = d.normal.c0 * rho.z() / (d.normal.c0 + rho.z());
    Vec3 gamma;
    Sap::evaluate(series, z, nullptr, &gamma, nullptr);
    return z + gamma.cwiseQuotient(rho);
  }
};

// For n contacts, u(i) being z at first.
template <class Law, class U>
CAPSTAN_INLINE inline void resolve_all(const ContactData* contacts, const Vec3* rho, int n, const U& u) {
  int i = 0;
  if constexpr (requires { Resolvent<Law>::resolve(contacts, rho, u); }) {
    const auto is_tensor = [&](int k) {
      return contacts[k].mu_xy != 0 || contacts[k].mu_xx != contacts[k].mu_yy;
    };
    for (; i + 4 <= n; i += 4) {
      if (is_tensor(i) || is_tensor(i + 1) || is_tensor(i + 2) || is_tensor(i + 3)) break;
      Resolvent<Law>::resolve(contacts + i, rho + i, [&](int k) CAPSTAN_INLINE -> Vec3& { return u(i + k); });
    }
  }
  for (; i < n; ++i) u(i) = Resolvent<Law>::resolve(contacts[i], rho[i], u(i));
}

}  // namespace capstan
