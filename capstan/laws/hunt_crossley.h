// Linear spring with Hunt-Crossley dissipation (ICF eq. 22-23):
//
//   f_n(phi, v) = k (-phi)_+ (1 - d v)_+
//
// Discrete: with the depth x = x0 - dt v, x0 = -phi0, the impulse n(v) = dt k x_+ (1 - d v)_+ ends at
// v_hat = min(x0/dt, 1/d). In u = v_hat - v > 0 both factors are sums of positive terms,
//
//   x = dt (p + u),  1 - d v = s + d u,   p = x0/dt - v_hat >= 0,  s = 1 - d v_hat >= 0,  p s = 0,
//   n   = (p + u)(c0 + c1 u) = u (c0 + c1 (p + u))     c0 = dt^2 k s,  c1 = dt^2 k d
//   l   = integral of n = u^2 (c0/2 + c1 (p/2 + u/3))
//   -n' = c0 + c1 (p + 2 u)
//
// so nothing cancels (the antiderivative of the paper is the same up to a constant, and subtracts large
// terms). Limits: d = 0 a plain spring. k = 0 nothing. x0 = mg/k at v = 0 gives n = m g dt. dt -> 0: n/dt ->
// f_n(phi0, v). k infinite: near_rigid_stiffness. -n' jumps at u = 0 (from c0 + c1 p to 0); n does not.
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact.h"
#include "capstan/math/lanes.h"

namespace capstan {

// v_hat, p and s of any law of the form x^e (1 - d v); shared with Hertz.
struct HuntCrossleyRange {
  double v_hat, p, s;
};

inline HuntCrossleyRange hunt_crossley_range(const ContactInput& in) {
  const double v_touch = -in.distance / in.dt;
  if (in.dissipation * v_touch <= 1) return {v_touch, 0, 1 - in.dissipation * v_touch};
  const double v_hat = 1 / in.dissipation;
  return {v_hat, v_touch - v_hat, 0};
}

struct HuntCrossley {
  static double stiffness(const ContactInput& in) {
    return std::isinf(in.stiffness) ? near_rigid_stiffness(in) : in.stiffness;
  }

  static double force(const ContactInput& in, double phi, double v_n) {
    return stiffness(in) * std::max(0.0, -phi) * std::max(0.0, 1 - in.dissipation * v_n);
  }

  static NormalData make(const ContactInput& in) {
    const HuntCrossleyRange range = hunt_crossley_range(in);
    const double K = in.dt * in.dt * stiffness(in);
    return {range.v_hat, K * range.s, K * in.dissipation, range.p};
  }

  static NormalResponse evaluate(const NormalData& c, double v_n) {
    const double u = c.v_hat - v_n;
    if (u <= 0) return {};  // not for NaN: that must reach the solver's check
    return {u * u * (0.5 * c.c0 + c.c1 * (0.5 * c.offset + u / 3)),  //
            u * (c.c0 + c.c1 * (c.offset + u)),                      //
            c.c0 + c.c1 * (c.offset + 2 * u)};
  }

  // The root v of n(v) = rho (v - z), for z < v_hat (resolve.h): a quadratic equation in u = v_hat - v.
  static double resolve(const NormalData& c, double rho, double z) {
    const double free = c.v_hat - z, b = c.c0 + c.c1 * c.offset + rho;
    return c.v_hat - 2 * rho * free / (b + std::sqrt(b * b + 4 * c.c1 * rho * free));
  }
  // The same for four contacts, any z: v becomes the root, or z.
  static CAPSTAN_INLINE void resolve(const ContactData* d, const Four& rho, const Four& z, Four* v) {
    Four v_hat, c0, c1, offset, root;
    gather([&](int i) CAPSTAN_INLINE { return d[i].normal.v_hat; }, &v_hat);
    gather([&](int i) CAPSTAN_INLINE { return d[i].normal.c0; }, &c0);
    gather([&](int i) CAPSTAN_INLINE { return d[i].normal.c1; }, &c1);
    gather([&](int i) CAPSTAN_INLINE { return d[i].normal.offset; }, &offset);
    const Four free = v_hat - z, b = c0 + c1 * offset + rho;
    square_root(b * b + 4 * c1 * rho * free, &root);
    *v = free > 0 ? v_hat - 2 * rho * free / (b + root) : z;
  }
};

}  // namespace capstan
