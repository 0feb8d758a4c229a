#include "capstan/geometry/edge_crossing.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr double kAlong = 0.02;       // of a normal along an edge, at most
constexpr double kLeastSine = 0.1;    // of the angle between the edges
constexpr double kLeastBend = 0.17;   // [rad] of the sharper of the two
constexpr double kNormalSlack = 0.1;  // [rad] outside the normals of an edge

// The normals of an edge: within `half` [rad] of the middle one.
struct Normals {
  Vec3 middle = Vec3::Zero();
  double half = 0;
  bool is_concave = false;
  double bend() const { return is_concave ? 0 : 2 * half; }
  bool has(const Vec3& n) const {
    const double angle = std::acos(std::clamp(n.dot(middle), -1.0, 1.0));
    return angle <= (is_concave ? 0 : half) + kNormalSlack;
  }
};

Normals normals_of(const Collider& edge, const Transform& X) {
  const Vec3 &a = edge.vertex[0], &b = edge.vertex[1];
  Normals normals;
  const Vec3 sum = a + b;
  if (sum.norm() < 1e-9) return normals;  // folded flat: no way out
  normals.middle = X.R * (sum / sum.norm());
  normals.half = 0.5 * std::acos(std::clamp(a.dot(b), -1.0, 1.0));
  normals.is_concave = cross(a, b).z() < 0;
  return normals;
}

}  // namespace

bool set_crossing(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                  ContactPoint* c) {
  const Vec3 along_a = X_WA.R.col(2), along_b = X_WB.R.col(2);
  if (std::abs(c->normal.dot(along_a)) > kAlong || std::abs(c->normal.dot(along_b)) > kAlong) return false;
  if (cross(along_a, along_b).norm() < kLeastSine) return false;
  const Normals a = normals_of(A, X_WA), b = normals_of(B, X_WB);
  if (std::max(a.bend(), b.bend()) < kLeastBend) return false;
  if (a.has(c->normal) && b.has(-c->normal)) return true;
  const double core = c->distance + A.rounding + B.rounding;
  if (core > 0.5 * (A.rounding + B.rounding) || !a.has(-c->normal) || !b.has(c->normal)) return false;
  c->p_A -= 2 * A.rounding * c->normal;
  c->normal = -c->normal;
  c->distance = -core - A.rounding - B.rounding;
  c->p_B = c->p_A + c->distance * c->normal;
  return true;
}

}  // namespace capstan
