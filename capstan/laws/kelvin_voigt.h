// Linear spring and linear damper, never pulling (SAP eq. 2):
//
//   f_n(phi, v) = k (-phi - tau_d v)_+
//
// Discrete, with u = v_hat - v and v_hat = -phi0/(dt + tau_d):
//
//   n = c0 u,  l = c0 u^2/2,  -n' = c0        for u > 0, else 0;   c0 = dt k (dt + tau_d)
//
// which is the normal part of sap while it sticks and is not near-rigid (R_n = 1/c0). As there, the damper
// acts before the touch on a fast approach. Limits: tau_d = 0 a plain spring; k = 0 nothing; x0 = mg/k at v =
// 0 gives n = m g dt; dt -> 0: n/dt -> f_n(phi0, v); k infinite: near_rigid_stiffness. Without a tau_d of the
// material's own, v_hat is bounded (recovery.h).
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact.h"

namespace capstan {

struct KelvinVoigt {
  static double stiffness(const ContactInput& in) {
    return std::isinf(in.stiffness) ? near_rigid_stiffness(in) : in.stiffness;
  }

  static double force(const ContactInput& in, double phi, double v_n) {
    return stiffness(in) * std::max(0.0, -phi - relaxation_time(in) * v_n);
  }

  static NormalData make(const ContactInput& in) {
    const double tau = relaxation_time(in);
    NormalData d{-in.distance / (in.dt + tau), in.dt * stiffness(in) * (in.dt + tau), 0, 0};
    bound_recovery(in, &d);
    return d;
  }

  static NormalResponse evaluate(const NormalData& c, double v_n) {
    const double u = c.v_hat - v_n;
    if (u <= 0) return {};
    return {0.5 * c.c0 * u * u, c.c0 * u, c.c0};
  }

  // The root v of n(v) = rho (v - z), for z < v_hat (resolve.h).
  static double resolve(const NormalData& c, double rho, double z) {
    return (rho * z + c.c0 * c.v_hat) / (rho + c.c0);
  }
};

}  // namespace capstan
