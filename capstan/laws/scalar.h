// One scalar law serves every constraint that is not a contact: a spring and damper between bounds.
//
//   gamma(v) = clamp((v_hat - v) / R, lower, upper)      impulse [N s or N m s]
//   l(v)     = its convex antiderivative: (v - v_hat)^2 / 2R between the bounds, linear beyond
//
//   joint limit      v_hat = -phi / (dt + tau), lower = 0, upper = infinity    (v > 0 leaves the limit)
//   dry friction     v_hat = 0, bounds +- dt times the friction force
//   weld, ball, distance, coupler: v_hat = -phi / (dt + tau), no bounds
//   drive            an actuator with limits: R = 1 / (dt^2 kp + dt kd), v_hat where its force would vanish,
//   bounds
//                    dt times its limits (dynamics/drives.h)
//
// But for drives, R = max(beta^2 w / 4 pi^2, 1 / (dt k (dt + tau))): near-rigid unless k is soft (SAP eq.
// 29), w the estimate of the Delassus diagonal; where near-rigid, v_hat is bounded (recovery.h). Limits: R ->
// 0 is a rigid constraint; bounds of 0 are no constraint.
#pragma once

#include <algorithm>
#include <limits>

namespace capstan {

struct ScalarLaw {
  double v_hat = 0;  // [m/s or rad/s]
  double R = 1;      // [1/kg or 1/(kg m^2)] > 0
  double mass = 1;   // [kg or kg m^2] that the constraint moves: the inverse of the Delassus diagonal
  double left = 0;   // [m or rad] of the error of position: what this step does not undo (recovery.h)
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

inline double scalar_impulse(const ScalarLaw& law, double v) {
  return std::clamp((law.v_hat - v) / law.R, law.lower, law.upper);
}

// The velocity u at which gamma(u) = mass (u - z): what the constraint makes of its own mass, were it alone
// and moving at z (resolve.h).
inline double resolve(const ScalarLaw& law, double z) {
  return z + std::clamp((law.v_hat - z) / (law.R + 1 / law.mass), law.lower, law.upper) / law.mass;
}

// Returns the impulse; also the cost and the Hessian d2l/dv2 = -dgamma/dv >= 0.
inline double evaluate(const ScalarLaw& law, double v, double* cost, double* hessian) {
  const double free = (law.v_hat - v) / law.R, gamma = std::clamp(free, law.lower, law.upper);
  const bool inside = free == gamma;
  *cost = inside ? 0.5 * law.R * gamma * gamma : law.R * gamma * (free - 0.5 * gamma);
  *hessian = inside ? 1 / law.R : 0;
  return gamma;
}

}  // namespace capstan
