// The Lagged law (ICF V-B) and its regularized form (ICF eq. 26): normal impulse implicit in v_n, friction
// limited by the normal impulse n0 at the beginning of the step,
//
//   l(v) = l_n(v_n) + n0 |M v_t|_s,     gamma = (-n0 M w/S, n(v_n))        (friction.h for M, w, S)
//   n0 = dt f_n(phi0, v_n0)  or what the caller knows of it (ContactInput::lagged_impulse)
//   lagged: eps_s = v_s      regularized: eps_s = max(v_s, sigma w_t mu n0), softer in hard impacts
//
// The Hessian is block diagonal. No gliding, no change of compliance, consistent as dt -> 0. Limits:
// |gamma_t| <= mu n0, not mu n(v_n): a contact in its first step (phi0 > 0) has no friction, and one that
// opens in this step still has it. Creep of a sticking contact under tangential load f: v_s q/sqrt(1 - q^2),
// q = f dt/(mu n0).
#pragma once

#include "capstan/laws/contact.h"
#include "capstan/laws/friction.h"

namespace capstan {

template <class Normal, bool kRegularized>
struct LaggedLaw {
  static ContactData make(const ContactInput& in) {
    ContactData d;
    d.bias = in.bias;
    d.normal = Normal::make(in);
    double v_n = in.v0.z() + in.bias.z();
    if (in.lagged_at_rest) v_n = std::max(v_n, 0.0);
    d.normal_impulse =
        in.lagged_impulse >= 0 ? in.lagged_impulse : in.dt * Normal::force(in, in.distance, v_n);
    set_friction(in, in.stiction_tolerance, &d);
    d.least_slip = d.slip;
    const double mu = isotropic_friction(in);
    if (kRegularized) d.slip_rate = in.sigma * in.w_t * mu * mu;
    set_bound(d.normal_impulse, &d);
    return d;
  }

  // The same contact with friction limited by mu n0.
  static void set_bound(double n0, ContactData* d) {
    d->normal_impulse = n0;
    d->slip = std::max(d->least_slip, d->slip_rate * n0);
  }
  // Of the friction (gamma_x, gamma_y) by n0, at a slip.
  static Vec2 bound_derivative(const ContactData& d, const SoftSlip& slip) {
    const double part = d.slip > d.least_slip ? 1 - slip.flatness : 1;
    return {-part * slip.gradient_x, -part * slip.gradient_y};
  }

  static void shift(const Vec3& v, ContactData* d) {
    d->bias.x() += v.x();
    d->bias.y() += v.y();
    d->normal.v_hat -= v.z();
  }

  static void evaluate(const ContactData& d, const Vec3& v, double* cost, Vec3* gamma, Mat3* G) {
    const NormalResponse n = Normal::evaluate(d.normal, v.z() + d.bias.z());
    respond(d, n, SoftSlip(d, v.x() + d.bias.x(), v.y() + d.bias.y()), cost, gamma, G);
  }

  // The same from the response of the normal law and the slip.
  static void respond(const ContactData& d, const NormalResponse& n, const SoftSlip& slip, double* cost,
                      Vec3* gamma, Mat3* G) {
    const double n0 = d.normal_impulse;
    if (cost) *cost = n.cost + n0 * slip.norm;
    if (gamma) *gamma = Vec3(-n0 * slip.gradient_x, -n0 * slip.gradient_y, n.impulse);
    if (G) {
      const Vec3 h = n0 * slip.hessian(d);
      *G << h[0], h[1], 0, h[1], h[2], 0, 0, 0, n.slope;
    }
  }

  static void evaluate_along(const ContactData& d, const Vec3& v, const Vec3& dv, double* dl, double* d2l) {
    const NormalResponse n = Normal::evaluate(d.normal, v.z() + d.bias.z());
    const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
    const double n0 = d.normal_impulse;
    *dl = n0 * (slip.gradient_x * dv.x() + slip.gradient_y * dv.y()) - n.impulse * dv.z();
    *d2l = n0 * slip.curvature(d, dv.x(), dv.y()) + n.slope * dv.z() * dv.z();
  }

  // Whether evaluate() gives any impulse, for less.
  static bool has_impulse(const ContactData& d, const Vec3& v) {
    return d.normal_impulse > 0 || v.z() + d.bias.z() < d.normal.v_hat;
  }

  // Sliding from the slip on at which friction reaches 1/sqrt(2) of its limit, |w| = eps.
  static ContactRegion region(const ContactData& d, const Vec3& v) {
    if (!(v.z() + d.bias.z() < d.normal.v_hat)) return ContactRegion::open;
    const SoftSlip slip(d, v.x() + d.bias.x(), v.y() + d.bias.y());
    return slip.flatness >= 0.5 ? ContactRegion::sticking : ContactRegion::sliding;
  }
};

template <class Normal>
using Lagged = LaggedLaw<Normal, false>;
template <class Normal>
using RegularizedLagged = LaggedLaw<Normal, true>;

}  // namespace capstan
