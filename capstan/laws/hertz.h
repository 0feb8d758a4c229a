// Hertz contact (exponent 3/2) with Hunt-Crossley dissipation:
//
//   f_n(phi, v) = k (-phi)_+^(3/2) (1 - d v)_+          k in N/m^1.5, 4/3 E* sqrt(R) for a sphere
//
// Discrete in u = v_hat - v > 0, with v_hat, p, s as in hunt_crossley.h (p s = 0):
//
//   n   = (p + u)^(3/2) (c0 + c1 u)             c0 = k dt^(5/2) s,  c1 = k dt^(5/2) d
//   -n' = 3/2 (p + u)^(1/2) (c0 + c1 u) + c1 (p + u)^(3/2)
//   l   = 2/5 c0 u^(5/2) + c1 L,   L = integral over 0..u of (p + t)^(3/2) t dt
//
// With a = sqrt(p) and e = sqrt(p + u) - a the substitution t = (a + r)^2 - p makes L a polynomial with
// positive coefficients, 2 e^2 (a^5 + 3 a^4 e + 4 a^3 e^2 + 14/5 a^2 e^3 + a e^4 + e^5/7), free of
// cancellation. Limits: as hunt_crossley.h; rest at (mg/k)^(2/3). -n' is continuous at the touch (p = 0). k
// infinite: as stiff as the near-rigid linear spring at a depth of 1 um.
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/hunt_crossley.h"

namespace capstan {

struct Hertz {
  static double stiffness(const ContactInput& in) {
    constexpr double kRootOfReferenceDepth = 1e-3;  // sqrt(1 um) [m^0.5]
    return std::isinf(in.stiffness) ? near_rigid_stiffness(in) / kRootOfReferenceDepth : in.stiffness;
  }

  static double force(const ContactInput& in, double phi, double v_n) {
    const double x = std::max(0.0, -phi);
    return stiffness(in) * x * std::sqrt(x) * std::max(0.0, 1 - in.dissipation * v_n);
  }

  static NormalData make(const ContactInput& in) {
    const HuntCrossleyRange range = hunt_crossley_range(in);
    const double K = in.dt * in.dt * std::sqrt(in.dt) * stiffness(in);
    return {range.v_hat, K * range.s, K * in.dissipation, range.p};
  }

  static NormalResponse evaluate(const NormalData& c, double v_n) {
    const double u = c.v_hat - v_n;
    if (u <= 0) return {};
    const double p = c.offset, a = std::sqrt(p), b = std::sqrt(p + u), e = u / (a + b);
    const double L =
        2 * e * e * (((((e / 7 + a) * e + 2.8 * p) * e + 4 * a * p) * e + 3 * p * p) * e + a * p * p);
    const double rate = c.c0 + c.c1 * u, x15 = (p + u) * b;
    return {0.4 * c.c0 * u * u * b + c.c1 * L, x15 * rate, 1.5 * b * rate + c.c1 * x15};
  }
};

}  // namespace capstan
