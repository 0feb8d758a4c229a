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
  return in.has_friction_tensor ? std::sqrt(0.5 * in.friction_tensor.squaredNorm())
                                : std::min(in.friction, kLargestFriction);
}

inline void set_friction(const ContactInput& in, double eps_s, ContactData* d) {
  if (in.has_friction_tensor) {
    d->mu_xx = in.friction_tensor(0, 0);
    d->mu_xy = 0.5 * (in.friction_tensor(0, 1) + in.friction_tensor(1, 0));
    d->mu_yy = in.friction_tensor(1, 1);
  } else {
    d->mu_xx = d->mu_yy = isotropic_friction(in);
    d->mu_xy = 0;
  }
  eps_s = std::max(eps_s, kSmallestStictionTolerance);
  const double mu = isotropic_friction(in);
  d->slip = mu > 0 ? mu * eps_s : eps_s;
}

// The soft norm of M v_t at one tangential velocity. With the unit w/S and the same turned by 90 degrees, q,
// I - w w^T/S^2 = (eps/S)^2 I + q q^T: a sum of squares, so the Hessian is positive semi-definite in
// round-off too.
struct SoftSlip {
  double norm, S;
  double gradient_x, gradient_y;  // M w/S
  double across_x, across_y;      // M q
  double flatness;                // (eps/S)^2: 1 at zero slip, 0 when sliding

  SoftSlip(const ContactData& d, double vx, double vy) {
    const double wx = d.mu_xx * vx + d.mu_xy * vy, wy = d.mu_xy * vx + d.mu_yy * vy;
    const double w2 = wx * wx + wy * wy;
    S = std::sqrt(w2 + d.slip * d.slip);
    norm = w2 / (S + d.slip);
    const double inverse = 1 / S, ux = wx * inverse, uy = wy * inverse;
    gradient_x = d.mu_xx * ux + d.mu_xy * uy;
    gradient_y = d.mu_xy * ux + d.mu_yy * uy;
    across_x = d.mu_xy * ux - d.mu_xx * uy;
    across_y = d.mu_yy * ux - d.mu_xy * uy;
    flatness = d.slip * d.slip * inverse * inverse;
  }

  // (xx, xy, yy) of the Hessian.
  Vec3 hessian(const ContactData& d) const {
    return Vec3(flatness * (d.mu_xx * d.mu_xx + d.mu_xy * d.mu_xy) + across_x * across_x,
                flatness * d.mu_xy * (d.mu_xx + d.mu_yy) + across_x * across_y,
                flatness * (d.mu_xy * d.mu_xy + d.mu_yy * d.mu_yy) + across_y * across_y) /
           S;
  }

  // dv^T Hessian dv >= 0.
  double curvature(const ContactData& d, double dx, double dy) const {
    const double wx = d.mu_xx * dx + d.mu_xy * dy, wy = d.mu_xy * dx + d.mu_yy * dy;
    const double across = across_x * dx + across_y * dy;
    return (flatness * (wx * wx + wy * wy) + across * across) / S;
  }
};

}  // namespace capstan
