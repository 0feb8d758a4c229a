// How a rod is known to others: points of its edges, and what tells it from another one.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/base/hash.h"
#include "capstan/geometry/collider.h"
#include "capstan/physics/rod.h"

namespace capstan {
namespace {

constexpr double kLeastLengthFactor = 1e-3;

}  // namespace

double Rod::first_rest_length(int i) const {
  return spec_.rest_length.empty() ? (spec_.nodes[after(i)] - spec_.nodes[i]).norm() : spec_.rest_length[i];
}

double Rod::wave_speed() const {
  return std::sqrt(spec_.young_modulus / spec_.density);
}

Vec3 Rod::place_point(const ConstVector& q, int i, const Vec3& p_C) const {
  const RodEdge e = edge(q, i);
  const double s = 0.5 + p_C.z() / first_rest_length(i);
  return (1 - s) * node(q, i) + s * node(q, after(i)) + p_C.x() * e.m1 + p_C.y() * e.m2;
}

void Rod::bend(const ConstVector& q, int i, Collider* collider) const {
  const double half = 0.5 * (node(q, after(i)) - node(q, i)).norm();
  collider->size.z() = half;
  collider->half_box.z() = half + collider->rounding;
  collider->bounding_radius =
      collider->type == ColliderType::capsule ? half + collider->rounding : collider->half_box.norm();
}

double Rod::most_natural_factor() const {
  double turn = 0;  // of a joint, kappa = 2 tan(turn / 2)
  for (const Vec3& rest : rest_strain_) turn = std::max(turn, 2 * std::atan(0.5 * rest.head<2>().norm()));
  return turn > 0 ? std::max(1.0, 0.99 * std::numbers::pi / turn) : 1e6;
}

void Rod::set_factors(double natural, double length, Vector q) const {
  CAPSTAN_ASSERT(spec_.actuated);
  const double most = most_natural_factor();
  q[factor_begin()] = std::clamp(natural, -most, most);
  q[factor_begin() + 1] = std::max(length, kLeastLengthFactor);
}

Vec3 Rod::natural_strain(const ConstVector& q, int joint) const {
  const Vec3& rest = rest_strain_[joint];
  const double factor = natural_factor(q), size = rest.head<2>().norm();
  if (factor == 1) return rest;
  const double bend = size > 1e-9 ? 2 * std::tan(factor * std::atan(0.5 * size)) / size : factor;
  return {bend * rest[0], bend * rest[1], factor * rest[2]};
}

std::uint64_t Rod::fingerprint() const {
  Hash hash;
  const auto add = [&](std::initializer_list<double> numbers) {
    for (const double x : numbers) hash.add(x + 0.0);  // -0 and 0 are one number
  };
  add({spec_.young_modulus, shear_modulus_, spec_.alpha, spec_.beta, section_.area, section_.torsion,
       section_.second_moment[0], section_.second_moment[1]});
  for (const double x : inertia_) hash.add(x);
  for (const double x : rest_length_) hash.add(x);
  for (const Vec3& strain : rest_strain_) add({strain[0], strain[1], strain[2]});
  for (const char held : held_) hash.add(static_cast<std::int64_t>(held));
  hash.add(static_cast<std::int64_t>(spec_.closed));
  if (spec_.actuated) hash.add(static_cast<std::int64_t>(1));
  return hash.value;
}

}  // namespace capstan
