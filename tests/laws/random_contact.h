// Random contacts over the whole range of parameters, and velocities aimed at every region and its borders.
#pragma once

#include "capstan/laws/contact_laws.h"
#include "tests/support/random_scene.h"

namespace capstan::test {

inline double log_uniform(Random& random, double low, double high) {
  return std::exp(uniform(random, std::log(low), std::log(high)));
}

inline ContactInput random_contact(Random& random) {
  ContactInput in;
  const int kind = static_cast<int>(random() % 4);
  in.distance = kind == 0 ? log_uniform(random, 1e-6, 1e-2) : -log_uniform(random, 1e-9, 1e-1);
  in.stiffness = log_uniform(random, 1e2, 1e12);
  in.dissipation = random() % 4 == 0 ? 0 : log_uniform(random, 1e-2, 1e3);
  in.relaxation_time = random() % 3 == 0 ? -1 : random() % 3 == 0 ? 0 : log_uniform(random, 1e-5, 1e-1);
  in.friction = random() % 6 == 0 ? 0 : log_uniform(random, 1e-2, 10);
  if (random() % 3 == 0) {
    const double a = log_uniform(random, 1e-2, 10), b = a * uniform(random, 0, 1),
                 t = uniform(random, 0, 3.2);
    const Vec2 e(std::cos(t), std::sin(t)), n(-e.y(), e.x());
    in.has_friction_tensor = true;
    in.friction_tensor = a * e * e.transpose() + b * n * n.transpose();
  }
  in.stiction_tolerance = log_uniform(random, 1e-6, 1e-2);
  in.v0 = random_vector(random, 1);
  if (random() % 3 == 0) in.bias = random_vector(random, 1);
  in.w_n = log_uniform(random, 1e-3, 1e3);
  in.w_t = in.w_n * uniform(random, 0.3, 3);
  in.dt = log_uniform(random, 1e-4, 1e-2);
  in.sigma = log_uniform(random, 1e-5, 1e-2);
  if (random() % 3 == 0) in.lagged_impulse = log_uniform(random, 1e-4, 10);
  return in;
}

// Speed of slip [m/s] over which friction changes from sticking to sliding.
inline double slip_width(ContactLaw law, const ContactData& d, double v_n) {
  if (law == ContactLaw::sap) return d.mu_xx * d.slip * d.normal.c0 * std::abs(d.normal.v_hat - v_n);
  const double mu = std::sqrt((d.mu_xx * d.mu_xx + 2 * d.mu_xy * d.mu_xy + d.mu_yy * d.mu_yy) / 2);
  return mu > 0 ? d.slip / mu : d.slip;
}

// A velocity (without the bias, which is taken out) at a random distance, over many scales, from the breaking
// velocity and from the border between sticking and sliding; one in eight has no slip at all.
inline Vec3 random_velocity(Random& random, ContactLaw law, const ContactData& d) {
  const double side = random() % 3 == 0 ? 1 : -1;
  const double v_n = d.normal.v_hat + side * log_uniform(random, 1e-4, 1) * (0.1 + std::abs(d.normal.v_hat));
  const double width = slip_width(law, d, v_n), t = uniform(random, 0, 6.3);
  const double r = random() % 8 == 0 ? 0 : std::max(width, 1e-8) * log_uniform(random, 1e-3, 1e3);
  return Vec3(r * std::cos(t), r * std::sin(t), v_n) - d.bias;
}

}  // namespace capstan::test
