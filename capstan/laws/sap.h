// The SAP law: gamma = P_F(y), y = -R^-1 (v - v_hat), the projection on the friction cone F = {|gamma_t| <=
// mu gamma_n} in the norm of R = diag(R_t, R_t, R_n), and l = 1/2 gamma^T R gamma (SAP eq. 23-31, 35-37).
//
//   v_hat = (0, 0, -phi0/(dt + tau_d)),   R_t = sigma w_t
//   R_n = max(beta^2 w_n / 4 pi^2,  1/(dt k (dt + tau_d)))     the first is the near-rigid floor
//
// In velocities, with r = |v_t|, t = v_t/r, h = v_hat_n - v_n, u = h + mu r, and c = 1/(R_n + mu^2 R_t):
//
//   sticking  r <= mu R_t/R_n h:   gamma = (-v_t/R_t, h/R_n),     l = 1/2 (r^2/R_t + h^2/R_n),  G = R^-1
//   sliding   else, u >= 0:        gamma = c u (-mu t, 1),        l = 1/2 c u^2,
//                                  G = c [ mu^2 t t^T + mu u/r (I - t t^T)   -mu t ]
//                                        [ -mu t^T                            1    ]
//   open      u < 0:               nothing
//
// gamma is continuous, in the cone and complementary to the regularized velocity exactly; G jumps at the
// borders (where it takes the side of the sticking, and of the sliding formula). Limits: mu = 0 never sticks,
// G_tt = 0; k = 0 nothing; k infinite: the floor; with v = 0 the normal impulse is m g dt at depth mg/k, or
// in the near-rigid regime at beta^2 g dt (dt + tau_d) / 4 pi^2. Slip of a sticking contact is below mu sigma
// w_t gamma_n. Artifacts while sliding: glides at phi = mu (dt + tau_d) r, stiffness k/(1 + mu^2 R_t/R_n).
// Isotropic friction only: of a tensor it takes the root mean square. Without a tau_d of the material's own,
// v_hat is bounded (recovery.h).
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact.h"
#include "capstan/laws/friction.h"
#include "capstan/laws/turning.h"

namespace capstan {

// ContactData: normal.c0 is 1/R_n, slip is R_t, mu_xx is mu.
struct Sap {
  static ContactData make(const ContactInput& in) {
    ContactData d;
    const double tau = relaxation_time(in);
    d.bias = in.bias;
    d.normal.v_hat = -in.distance / (in.dt + tau);
    d.normal.c0 = std::min(in.dt * in.dt * near_rigid_stiffness(in), in.dt * in.stiffness * (in.dt + tau));
    bound_recovery(in, &d.normal);
    d.mu_xx = d.mu_yy = isotropic_friction(in);
    d.slip = std::max(in.sigma * in.w_t, kSmallestRegularization);
    return d;
  }

  static void shift(const Vec3& v, ContactData* d) {
    d->bias.x() += v.x();
    d->bias.y() += v.y();
    d->normal.v_hat -= v.z();
  }

  static void evaluate(const ContactData& d, const Vec3& v, double* cost, Vec3* gamma, Mat3* G) {
    if (is_turning(d)) return TurningLaw::evaluate(d, v, cost, gamma, G);
    const Terms s = terms(d, v);
    if (cost) *cost = 0.5 * (s.sticks ? s.r * s.r / d.slip + d.normal.c0 * s.h * s.h : s.c * s.u * s.u);
    if (s.sticks) {
      if (gamma) *gamma = Vec3(-s.x / d.slip, -s.y / d.slip, d.normal.c0 * s.h);
      if (G) *G = Vec3(1 / d.slip, 1 / d.slip, d.normal.c0).asDiagonal();
      return;
    }
    const double mu = d.mu_xx, inverse_r = s.r > 0 ? 1 / s.r : 0;
    const double tx = s.x * inverse_r, ty = s.y * inverse_r, n = s.c * s.u;
    if (gamma) *gamma = Vec3(-mu * n * tx, -mu * n * ty, n);
    if (G) {
      const double along = s.c * mu * mu, across = mu * n * inverse_r;
      (*G)(0, 0) = along * tx * tx + across * ty * ty;
      (*G)(1, 1) = along * ty * ty + across * tx * tx;
      (*G)(0, 1) = (*G)(1, 0) = (along - across) * tx * ty;
      (*G)(0, 2) = (*G)(2, 0) = -s.c * mu * tx;
      (*G)(1, 2) = (*G)(2, 1) = -s.c * mu * ty;
      (*G)(2, 2) = s.c;
    }
  }

  static void evaluate_along(const ContactData& d, const Vec3& v, const Vec3& dv, double* dl, double* d2l) {
    if (is_turning(d)) return TurningLaw::evaluate_along(d, v, dv, dl, d2l);
    const Terms s = terms(d, v);
    if (s.sticks) {
      *dl = (s.x * dv.x() + s.y * dv.y()) / d.slip - d.normal.c0 * s.h * dv.z();
      *d2l = (dv.x() * dv.x() + dv.y() * dv.y()) / d.slip + d.normal.c0 * dv.z() * dv.z();
      return;
    }
    const double mu = d.mu_xx, inverse_r = s.r > 0 ? 1 / s.r : 0;
    const double along = (s.x * dv.x() + s.y * dv.y()) * inverse_r;
    const double across = (s.x * dv.y() - s.y * dv.x()) * inverse_r;
    const double du = mu * along - dv.z(), n = s.c * s.u;
    *dl = n * du;
    *d2l = s.c * du * du + mu * n * inverse_r * across * across;
  }

  static ContactRegion region(const ContactData& d, const Vec3& v) {
    const Terms s = terms(d, v);
    if (s.sticks) return ContactRegion::sticking;
    return s.c * s.u > 0 ? ContactRegion::sliding : ContactRegion::open;
  }

 private:
  struct Terms {
    double x, y, r, h, u, c;
    bool sticks;
  };

  // Open contacts are reported as sliding with c = 0.
  static Terms terms(const ContactData& d, const Vec3& v) {
    Terms s;
    s.x = v.x() + d.bias.x();
    s.y = v.y() + d.bias.y();
    s.r = std::sqrt(s.x * s.x + s.y * s.y);
    s.h = d.normal.v_hat - v.z() - d.bias.z();
    const double mu = d.mu_xx, mu_hat = mu * d.slip * d.normal.c0;  // mu R_t/R_n
    s.sticks = mu_hat > 0 && s.r <= mu_hat * s.h;
    s.u = s.h + mu * s.r;
    s.c = s.u < 0 ? 0 : d.normal.c0 / (1 + mu * mu_hat);
    return s;
  }
};

}  // namespace capstan
