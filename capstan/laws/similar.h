// The Similar law (ICF V-C, appendix B): the normal law at the velocity z that groups separation and slip,
//
//   z = v_n - |M v_t|_s,   l(v) = l_n(z),   gamma = n(z) (-g, 1),  g = M w/S     (friction.h for M, w, S)
//   G = n(z) [H_s 0; 0 0] - n'(z) a a^T,   a = (-g, 1),  H_s the Hessian of the soft norm
//
// Friction and normal impulse are coupled within the step: |M^-1 gamma_t| <= gamma_n always. eps_s = v_s.
// Convex because l_n is convex and does not increase, and z is concave. Limits: M = 0 the normal law alone;
// v_t = 0 smooth, G_tt = n M^2/eps. Artifacts while sliding with Hunt-Crossley: glides at phi = mu dt |v_t|,
// stiffness k (1 + mu d |v_t|), dissipation d/(1 + mu d |v_t|); with tau_d instead the distance is mu (dt +
// tau_d) |v_t|.
#pragma once

#include "capstan/laws/contact.h"
#include "capstan/laws/friction.h"
#include "capstan/laws/turning.h"

namespace capstan {

template <class Normal>
struct Similar {
  static ContactData make(const ContactInput& in) {
    ContactData d;
    d.bias = in.bias;
    d.normal = Normal::make(in);
    set_friction(in, in.stiction_tolerance, &d);
    return d;
  }

  static void shift(const Vec3& v, ContactData* d) {
    if (is_turning(*d)) return TurningLaw::shift(v, d);
    const SoftSlip slip(*d, v.x() + d->bias.x(), v.y() + d->bias.y());
    d->normal.v_hat -= v.z() - counted_norm(*d, v.x(), v.y(), slip);
    d->bias.x() += v.x();
    d->bias.y() += v.y();
    d->normal_impulse = slip.norm;
  }

  static void evaluate(const ContactData& d, const Vec3& v, double* cost, Vec3* gamma, Mat3* G) {
    if (is_turning(d)) return TurningLaw::evaluate(d, v, cost, gamma, G);
    const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
    respond(d, Normal::evaluate(d.normal, separation(d, v, slip)), slip, cost, gamma, G);
  }

  // The same from the response of the normal law and the slip.
  static void respond(const ContactData& d, const NormalResponse& n, const SoftSlip& slip, double* cost,
                      Vec3* gamma, Mat3* G) {
    const double gx = slip.gradient_x, gy = slip.gradient_y;
    if (cost) *cost = n.cost;
    if (gamma) *gamma = Vec3(-n.impulse * gx, -n.impulse * gy, n.impulse);
    if (G) {
      const Vec3 h = n.impulse * slip.hessian(d);
      const double xy = h[1] + n.slope * gx * gy;
      *G << h[0] + n.slope * gx * gx, xy, -n.slope * gx,  //
          xy, h[2] + n.slope * gy * gy, -n.slope * gy,    //
          -n.slope * gx, -n.slope * gy, n.slope;
    }
  }

  static void evaluate_along(const ContactData& d, const Vec3& v, const Vec3& dv, double* dl, double* d2l) {
    if (is_turning(d)) return TurningLaw::evaluate_along(d, v, dv, dl, d2l);
    const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
    const NormalResponse n = Normal::evaluate(d.normal, separation(d, v, slip));
    const double dz = dv.z() - slip.gradient_x * dv.x() - slip.gradient_y * dv.y();
    *dl = -n.impulse * dz;
    *d2l = n.slope * dz * dz + n.impulse * slip.curvature(d, dv.x(), dv.y());
  }

  // Sliding from the slip on at which friction reaches 1/sqrt(2) of its limit, |w| = eps.
  static ContactRegion region(const ContactData& d, const Vec3& v) {
    const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
    if (!(separation(d, v, slip) < d.normal.v_hat)) return ContactRegion::open;
    return slip.flatness >= 0.5 ? ContactRegion::sticking : ContactRegion::sliding;
  }

  static double separation(const ContactData& d, const Vec3& v, const SoftSlip& slip) {
    return v.z() + d.bias.z() - counted_norm(d, v.x(), v.y(), slip);
  }

  // |M (v_t + b)|_s, `slip` that of v_t + b; or, counted from the bias b, its difference to |M b|_s, which is
  // small where v_t is, without cancellation.
  static double counted_norm(const ContactData& d, double vx, double vy, const SoftSlip& slip) {
    if (d.normal_impulse == 0) return slip.norm;
    const double bx = d.mu_xx * d.bias.x() + d.mu_xy * d.bias.y();
    const double by = d.mu_xy * d.bias.x() + d.mu_yy * d.bias.y();
    const double wx = d.mu_xx * vx + d.mu_xy * vy, wy = d.mu_xy * vx + d.mu_yy * vy;
    const double S = std::sqrt(bx * bx + by * by + d.slip * d.slip);
    return (wx * (wx + 2 * bx) + wy * (wy + 2 * by)) / (slip.S + S);
  }
};

}  // namespace capstan
