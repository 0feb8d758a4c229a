#include "capstan/laws/anisotropy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace capstan {

Mat2 friction_tensor(double along, double across, const Vec2& t) {
  const Vec2 u = t.normalized(), b(-u.y(), u.x());
  return along * u * u.transpose() + across * b * b.transpose();
}

Mat2 matchstick_tensor(const Vec2& s_a, const Vec2& s_b, double mu, double mu_along, double mu_across) {
  const Vec2 a = s_a.normalized();
  Vec2 b = s_b.normalized();
  if (a.dot(b) < 0) b = -b;
  const double theta = std::acos(std::min(1.0, a.dot(b))), d = 1 - 2 * theta / std::numbers::pi;
  return friction_tensor(d * mu_along + (1 - d) * mu, d * mu_across + (1 - d) * mu, a + b);
}

double plowing_friction(std::span<const Vec3> normals, const Vec2& direction) {
  const Vec2 c = direction.normalized();
  double sum = 0;
  for (const Vec3& m : normals) {
    const double theta = std::min(std::acos(std::clamp(m.z(), -1.0, 1.0)), kSteepestFacet);
    sum += std::max(0.0, m.head<2>().dot(c)) * (2 / std::numbers::pi) * std::tan(theta);
  }
  return normals.empty() ? 0 : sum / static_cast<double>(normals.size());
}

DirectionalFriction texture_friction(std::span<const Vec3> normals_a, std::span<const Vec3> normals_b) {
  // Seen from b, a's motion along c is b's motion along -c.
  const auto of = [&](double x, double y) {
    return plowing_friction(normals_a, Vec2(x, y)) + plowing_friction(normals_b, Vec2(-x, -y));
  };
  return {of(1, 0), of(-1, 0), of(0, 1), of(0, -1)};
}

Mat2 texture_tensor(const DirectionalFriction& friction, const Vec2& slip) {
  return Vec2(slip.x() >= 0 ? friction.plus_x : friction.minus_x,
              slip.y() >= 0 ? friction.plus_y : friction.minus_y)
      .asDiagonal();
}

}  // namespace capstan
