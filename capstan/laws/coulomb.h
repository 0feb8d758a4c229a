// Coulomb's law: friction in the cone of the normal impulse of the same step, without gliding.
//
// Slip has an elastic part, R_t gamma_t, and the rest w, along which friction reaches its limit. With the
// normal law l_n (any of contact.h) and a given number s [m/s],
//
//   l(v) = min over w of  l_n(v_n - mu |w| + s) + |v_t - w|^2 / (2 R_t),      R_t = sigma w_t
//
// a convex potential, whose impulses are in the cone for every v. In velocities, with r = |v_t|, t = v_t / r:
//
//   sticking  r <= mu R_t n(v_n + s):  gamma = (-v_t/R_t, n),       w = 0
//   sliding   else:  y the root of n(y) = (y - z)/C,  z = v_n + s - mu r,  C = mu^2 R_t
//                    gamma = n(y) (-mu t, 1),   mu |w| = v_n + s - y,   l = l_n(y) + (y - z)^2/(2 C)
//                    G = k a a^T + mu n/r [I - t t^T, 0; 0, 0],  a = (-mu t, 1),  k = -n'(y)/(1 - C n'(y))
//   open      z >= v_hat
//
// As it stands the normal law takes v_n - mu |w| for the speed of separation: what slides would glide at the
// height mu dt |w|, the price of a potential. It pays it where s = mu |w|: then gamma_n is n(v_n), and all of
// this is Coulomb's law. step/coulomb.h finds that s (De Saxce's bipotential, Cadoux's fixed point). s is
// part of bias.z. Limits: mu = 0 the normal law; sigma -> 0 no slip below the limit; with the normal law of
// sap this is sap's own law, shifted by s. A tensor of friction takes the soft norm |M v_t|_s of similar.h
// for mu |w|.
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact.h"
#include "capstan/laws/friction.h"
#include "capstan/laws/similar.h"

namespace capstan {

// The root y of n(y) = rho (y - z), for z < v_hat, to round-off. n is convex and falls, so that Newton from
// the left closes in monotonically.
template <class Normal>
double find_normal_root(const NormalData& d, double rho, double z) {
  if constexpr (requires { Normal::resolve(d, rho, z); }) {
    return Normal::resolve(d, rho, z);
  } else {
    double y = z;
    for (int i = 0; i < 100; ++i) {
      const NormalResponse n = Normal::evaluate(d, y);
      const double step = (n.impulse - rho * (y - z)) / (n.slope + rho);
      y += step;
      if (!(std::abs(step) > 1e-15 * (y - z))) break;
    }
    return y;
  }
}

// ContactData: slip is R_t (or, of a tensor, the width eps of the soft norm), mu_xx is mu.
template <class Normal>
struct Coulomb {
  static ContactData make(const ContactInput& in) {
    ContactData d;
    d.bias = in.bias;
    d.normal = Normal::make(in);
    set_friction(in, in.stiction_tolerance, &d);
    if (!is_tensor(d)) d.slip = std::max(in.sigma * in.w_t, kSmallestRegularization);
    return d;
  }

  static bool is_tensor(const ContactData& d) { return d.mu_xy != 0 || d.mu_xx != d.mu_yy; }

  static void shift(const Vec3& v, ContactData* d) {
    if (is_tensor(*d)) return Similar<Normal>::shift(v, d);
    d->bias.x() += v.x();
    d->bias.y() += v.y();
    d->normal.v_hat -= v.z();
  }

  static void evaluate(const ContactData& d, const Vec3& v, double* cost, Vec3* gamma, Mat3* G) {
    if (is_tensor(d)) return Similar<Normal>::evaluate(d, v, cost, gamma, G);
    const Terms s = terms(d, v);
    if (s.sticks) {
      if (cost) *cost = s.n.cost + 0.5 * s.r * s.r / d.slip;
      if (gamma) *gamma = Vec3(-s.x / d.slip, -s.y / d.slip, s.n.impulse);
      if (G) *G = Vec3(1 / d.slip, 1 / d.slip, s.n.slope).asDiagonal();
      return;
    }
    const double mu = d.mu_xx, inverse_r = s.r > 0 ? 1 / s.r : 0;
    const double tx = s.x * inverse_r, ty = s.y * inverse_r, n = s.n.impulse;
    if (cost) *cost = s.n.cost + 0.5 * s.compliance * n * n;
    if (gamma) *gamma = Vec3(-mu * n * tx, -mu * n * ty, n);
    if (G) {
      const double k = s.slope(), along = k * mu * mu, across = mu * n * inverse_r;
      (*G)(0, 0) = along * tx * tx + across * ty * ty;
      (*G)(1, 1) = along * ty * ty + across * tx * tx;
      (*G)(0, 1) = (*G)(1, 0) = (along - across) * tx * ty;
      (*G)(0, 2) = (*G)(2, 0) = -k * mu * tx;
      (*G)(1, 2) = (*G)(2, 1) = -k * mu * ty;
      (*G)(2, 2) = k;
    }
  }

  static void evaluate_along(const ContactData& d, const Vec3& v, const Vec3& dv, double* dl, double* d2l) {
    if (is_tensor(d)) return Similar<Normal>::evaluate_along(d, v, dv, dl, d2l);
    const Terms s = terms(d, v);
    const double n = s.n.impulse;
    if (s.sticks) {
      *dl = (s.x * dv.x() + s.y * dv.y()) / d.slip - n * dv.z();
      *d2l = (dv.x() * dv.x() + dv.y() * dv.y()) / d.slip + s.n.slope * dv.z() * dv.z();
      return;
    }
    const double mu = d.mu_xx, inverse_r = s.r > 0 ? 1 / s.r : 0;
    const double along = (s.x * dv.x() + s.y * dv.y()) * inverse_r;
    const double across = (s.x * dv.y() - s.y * dv.x()) * inverse_r;
    const double dz = dv.z() - mu * along;
    *dl = -n * dz;
    *d2l = s.slope() * dz * dz + mu * n * inverse_r * across * across;
  }

  static bool has_impulse(const ContactData& d, const Vec3& v) {
    const double x = v.x() + d.bias.x(), y = v.y() + d.bias.y(), z = v.z() + d.bias.z();
    if (is_tensor(d)) return Similar<Normal>::separation(d, v, SoftSlip(d, x, y)) < d.normal.v_hat;
    return z - d.mu_xx * std::sqrt(x * x + y * y) < d.normal.v_hat;
  }

  static ContactRegion region(const ContactData& d, const Vec3& v) {
    if (is_tensor(d)) return Similar<Normal>::region(d, v);
    const Terms s = terms(d, v);
    if (s.sticks) return ContactRegion::sticking;
    return s.n.impulse > 0 ? ContactRegion::sliding : ContactRegion::open;
  }

  // mu |w|, by which the normal law's speed of separation is less than v_n + s; 0 where it is open.
  static double glide(const ContactData& d, const Vec3& v) {
    if (is_tensor(d)) {
      const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
      return Similar<Normal>::separation(d, v, slip) < d.normal.v_hat ? slip.norm : 0;
    }
    const Terms s = terms(d, v);
    return s.sticks || !(s.n.impulse > 0) ? 0 : std::max(0.0, d.mu_xx * s.r - s.compliance * s.n.impulse);
  }

  struct Terms {
    double x, y, r;
    NormalResponse n;
    double compliance;  // C
    bool sticks;
    double slope() const { return n.slope / (1 + compliance * n.slope); }
  };

  static Terms terms(const ContactData& d, const Vec3& v) {
    Terms s;
    s.x = v.x() + d.bias.x();
    s.y = v.y() + d.bias.y();
    s.r = std::sqrt(s.x * s.x + s.y * s.y);
    const double separation = v.z() + d.bias.z(), mu = d.mu_xx;
    s.compliance = mu * mu * d.slip;
    s.sticks = false;
    if (separation < d.normal.v_hat) {
      s.n = Normal::evaluate(d.normal, separation);
      s.sticks = mu > 0 && s.r <= mu * d.slip * s.n.impulse;
      if (s.sticks || !(mu > 0)) return s;
    }
    const double z = separation - mu * s.r;
    if (!(mu > 0) || z >= d.normal.v_hat) {
      s.n = {};
    } else {
      s.n = Normal::evaluate(d.normal, find_normal_root<Normal>(d.normal, 1 / s.compliance, z));
    }
    return s;
  }
};

}  // namespace capstan
