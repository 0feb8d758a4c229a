// Friction with a direction-dependent coefficient, softened at zero slip (icf appendices A and B).
//
// With the tensor M (M = mu I if isotropic) and w = M v_t, the soft norm
//
//   |w|_s = sqrt(|w|^2 + eps^2) - eps        gradient in v_t: M w/S,  S = sqrt(|w|^2 + eps^2)
//                                            Hessian: M (I - w w^T/S^2) M / S
//
// times a normal impulse is the potential of friction; the impulse stays in the ellipse |M^-1 gamma_t| <= n.
// The width is eps = rms(M) eps_s with rms(M)^2 = tr(M^2)/2, so that M = mu I gives exactly mu (sqrt(|v_t|^2
// + eps_s^2) - eps_s); the paper leaves the scale of eps open. Along a principal axis friction turns from
// sticking to sliding at eps_s rms(M)/mu_i. Limits: v_t = 0 smooth, gradient 0, Hessian M^2/eps; M = 0
// nothing (eps > 0 is kept).
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact.h"

namespace capstan {

// mu, or the root mean square of the principal coefficients of a tensor.
inline double isotropic_friction(const ContactInput& in) {
  return in.has_friction_tensor ? std::sqrt(0.5 * in.friction_tensor.squaredNorm()) : in.friction;
}

inline void set_friction(const ContactInput& in, double eps_s, ContactData* d) {
  if (in.has_friction_tensor) {
    d->mu_xx = in.friction_tensor(0, 0);
    d->mu_xy = 0.5 * (in.friction_tensor(0, 1) + in.friction_tensor(1, 0));
    d->mu_yy = in.friction_tensor(1, 1);
  } else {
    d->mu_xx = d->mu_yy = in.friction;
    d->mu_xy = 0;
  }
  eps_s = std::max(eps_s, kSmallestStictionTolerance);
  const double mu = isotropic_friction(in);
  d->slip = mu > 0 ? mu * eps_s : eps_s;
}

// Terms of the soft norm at one tangential velocity; unit_x, unit_y are w/S.
struct SoftSlip {
  double norm, S, unit_x, unit_y;
  double gradient_x, gradient_y;  // M w/S
  double flatness;                // eps^2/S^2 = 1 - |w|^2/S^2, without cancellation

  SoftSlip(const ContactData& d, double vx, double vy) {
    const double wx = d.mu_xx * vx + d.mu_xy * vy, wy = d.mu_xy * vx + d.mu_yy * vy;
    const double w2 = wx * wx + wy * wy, inverse = 1 / (S = std::sqrt(w2 + d.slip * d.slip));
    norm = w2 / (S + d.slip);
    unit_x = wx * inverse;
    unit_y = wy * inverse;
    gradient_x = d.mu_xx * unit_x + d.mu_xy * unit_y;
    gradient_y = d.mu_xy * unit_x + d.mu_yy * unit_y;
    flatness = d.slip * d.slip * inverse * inverse;
  }

  // (xx, xy, yy) of the Hessian. I - w w^T/S^2 = flatness I + q q^T with q the unit turned by 90 degrees.
  Vec3 hessian(const ContactData& d) const {
    const double pxx = flatness + unit_y * unit_y, pxy = -unit_x * unit_y, pyy = flatness + unit_x * unit_x;
    const double ax = pxx * d.mu_xx + pxy * d.mu_xy, ay = pxx * d.mu_xy + pxy * d.mu_yy;
    const double bx = pxy * d.mu_xx + pyy * d.mu_xy, by = pxy * d.mu_xy + pyy * d.mu_yy;
    return Vec3(d.mu_xx * ax + d.mu_xy * bx, d.mu_xx * ay + d.mu_xy * by, d.mu_xy * ay + d.mu_yy * by) / S;
  }

  // dv^T Hessian dv >= 0.
  double curvature(const ContactData& d, double dx, double dy) const {
    const double wx = d.mu_xx * dx + d.mu_xy * dy, wy = d.mu_xy * dx + d.mu_yy * dy;
    const double across = unit_x * wy - unit_y * wx;
    return (flatness * (wx * wx + wy * wy) + across * across) / S;
  }
};

}  // namespace capstan
