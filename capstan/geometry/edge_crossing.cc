#include "capstan/geometry/edge_crossing.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

// Each of these goes from a part of 1 to one of 0 (edge_crossing.h).
struct Range {
  double all, none;
  double part(double x) const { return std::clamp((none - x) / (none - all), 0.0, 1.0); }
};
constexpr Range kAlong = {0, 0.2};            // of a normal along an edge
constexpr Range kParallel = {0.98, 0.995};    // cosine of the angle between the edges: 11 and 6 degrees
constexpr Range kFlat = {0.5, 0.17};          // [rad] the bend of the sharper of the two
constexpr Range kBesideNormals = {0.0, 0.3};  // [rad] outside the normals of an edge

// The normals of an edge: within `half` [rad] of the middle one.
struct Normals {
  Vec3 middle = Vec3::Zero();
  double half = 0;
  bool is_concave = false;
  double bend() const { return is_concave ? 0 : 2 * half; }
  double part_of(const Vec3& n) const {
    const double angle = std::acos(std::clamp(n.dot(middle), -1.0, 1.0));
    return kBesideNormals.part(angle - (is_concave ? 0 : half));
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
  const double along = std::max(std::abs(c->normal.dot(along_a)), std::abs(c->normal.dot(along_b)));
  double part = kAlong.part(along) * kParallel.part(std::abs(along_a.dot(along_b)));
  if (part == 0) return false;
  const Normals a = normals_of(A, X_WA), b = normals_of(B, X_WB);
  part *= kFlat.part(std::max(a.bend(), b.bend()));
  if (part == 0) return false;
  const double of_normal = a.part_of(c->normal) * b.part_of(-c->normal);
  const double core = c->distance + A.rounding + B.rounding;
  const double thin_a = (1 - part * of_normal) * A.rounding, thin_b = (1 - part * of_normal) * B.rounding;
  if (of_normal > 0) {
    c->p_A -= thin_a * c->normal;
    c->p_B += thin_b * c->normal;
    c->distance += thin_a + thin_b;
    return true;
  }
  const double of_other_side = a.part_of(-c->normal) * b.part_of(c->normal);
  if (core > A.rounding + B.rounding || of_other_side == 0) return false;
  const double r_a = part * of_other_side * A.rounding, r_b = part * of_other_side * B.rounding;
  c->p_A -= (A.rounding + r_a) * c->normal;
  c->normal = -c->normal;
  c->distance = -core - r_a - r_b;
  c->p_B = c->p_A + c->distance * c->normal;
  return true;
}

}  // namespace capstan
