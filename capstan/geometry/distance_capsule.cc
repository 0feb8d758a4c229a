#include <algorithm>
#include <limits>

#include "capstan/geometry/collide.h"
#include "capstan/geometry/distance_kernels.h"

namespace capstan {

// Nearest points s z on A and p + t u on B, |s| <= h_A, |t| <= h_B. The unconstrained minimum solves
//   s - c t = z.p,   c s - t = u.p,   c = z.u;   clamp s, then t, then s again.
double capsule_capsule(const Collider& A, const Collider& B, const Transform& X_AB, double,
                       Witness* witness) {
  const Vec3 u = X_AB.R.col(2), &p = X_AB.p;
  const double h_A = A.size.z(), h_B = B.size.z();
  const double c = u.z(), zp = p.z(), up = u.dot(p);
  const double sine2 = u.x() * u.x() + u.y() * u.y();
  double s, t;
  if (sine2 > 1e-20) {
    // (z.p - c u.p) / sin^2, written so that nothing cancels when the axes are nearly parallel.
    s = std::clamp(zp - c * (u.x() * p.x() + u.y() * p.y()) / sine2, -h_A, h_A);
    t = std::clamp(c * s - up, -h_B, h_B);
    s = std::clamp(zp + c * t, -h_A, h_A);
  } else {
    // Parallel: the middle of the overlap of [-h_A, h_A] and [zp - h_B, zp + h_B], or of the gap between
    // them.
    const double low = std::max(-h_A, zp - h_B), high = std::min(h_A, zp + h_B);
    s = std::clamp((low + high) / 2, -h_A, h_A);
    t = std::clamp(c * (s - zp), -h_B, h_B);
  }
  const Vec3 apart = p + t * u - Vec3(0, 0, s);
  const double core = apart.norm();
  if (core > 1e-12 * (A.bounding_radius + B.bounding_radius)) {
    witness->n = apart / core;
  } else {
    // The axes meet: part them across both, towards the side of B's centre.
    const Vec3 across = sine2 > 1e-20 ? Vec3(-u.y(), u.x(), 0) : Vec3(Vec3::UnitX());
    witness->n = (across.dot(p) >= 0 ? 1 : -1) * across.normalized();
  }
  witness->distance = core - A.rounding - B.rounding;
  witness->a = Vec3(0, 0, s) + A.rounding * witness->n;
  witness->b = witness->a + witness->distance * witness->n;
  return witness->distance;
}

// As above, in the world's frame.
double least_distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB) {
  constexpr double kUnknown = -std::numeric_limits<double>::infinity();
  if (A.type != ColliderType::capsule || B.type != ColliderType::capsule) return kUnknown;
  const Vec3 a = X_WA.R.col(2), b = X_WB.R.col(2), p = X_WB.p - X_WA.p;
  const double c = a.dot(b), sine2 = 1 - c * c;
  if (!(sine2 > 1e-6)) return kUnknown;
  const double h_A = A.size.z(), h_B = B.size.z(), ap = a.dot(p), bp = b.dot(p);
  double s = std::clamp((ap - c * bp) / sine2, -h_A, h_A);
  const double t = std::clamp(c * s - bp, -h_B, h_B);
  s = std::clamp(ap + c * t, -h_A, h_A);
  return (1 - 1e-9) * (p + t * b - s * a).norm() - A.rounding - B.rounding;
}

}  // namespace capstan
