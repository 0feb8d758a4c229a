#include "capstan/contacts/covered.h"

#include <algorithm>
#include <cmath>

#include "capstan/geometry/point_distance.h"
#include "capstan/geometry/support.h"

namespace capstan {
namespace {

constexpr double kNearer = 1e-6;    // of the probe: T is nearer than p by more than this
constexpr double kParallel = 1e-3;  // [rad] normals that differ by less are the same
constexpr double kBends = 0.25;     // of what S would fall below its tangent plane if it lay level with T

double least_half_width(const Collider& c) {
  return c.half_box.allFinite() ? std::max(c.half_box.minCoeff(), 0.01 * c.bounding_radius) : kInfinity;
}

// The link's shapes are where their link is. Beyond `enough`, any number above it, without a gradient.
double distance_to(const ModelShape& shape, const Transform& X_WL, const Vec3& p_W, double enough,
                   Vec3* gradient_W) {
  const Transform X_WS = X_WL * shape.X_LS;
  Vec3 gradient;
  const double d = point_collider(shape.collider, X_WS.R.transpose() * (p_W - X_WS.p), enough, &gradient);
  if (d > enough) return d;
  *gradient_W = X_WS.R * gradient;
  return d;
}

// Whether a neighbour of S is in the way at p, where S points along n; m is then its normal and `depth` how
// far p is below its surface.
bool is_side_covered(const Model& model, int shape, const Transform& X_WL, const Vec3& p, const Vec3& n,
                     double contact_depth, Vec3* m, double* depth) {
  const ModelShape& S = model.shapes[shape];
  for (const int t : S.neighbours) {
    const ModelShape& T = model.shapes[t];
    const double width = std::min(least_half_width(S.collider), least_half_width(T.collider));
    const double probe = kProbe * std::min(width, 1.0) + 2 * std::max(0.0, contact_depth);
    if (distance_to(T, X_WL, p + probe * n, probe, m) >= (1 - kNearer) * probe) continue;
    const double along = n.dot(*m);
    Vec3 out = *m - along * n;  // in the tangent plane of S, out of T
    const double sine = out.norm();
    if (sine < kParallel) {
      if (along > 0) continue;
      *depth = 0;
      return true;  // between two faces that look at each other
    }
    out /= sine;
    Vec3 unused;
    *depth = std::max(0.0, -distance_to(T, X_WL, p, 0, &unused));
    const double way = *depth / sine + probe;
    const double bend = kBends * sine * way;
    if (distance_to(S, X_WL, p + way * out, 2 * bend, &unused) > bend) return true;
  }
  return false;
}

// The contact of a convex shape with a plane through `top` with normal m (out of the plane).
ContactPoint against_plane(const Collider& other, const Transform& X_WO, const Vec3& top, const Vec3& m,
                           bool plane_is_a, std::uint32_t feature) {
  ContactPoint c;
  c.feature = feature;
  c.normal = plane_is_a ? m : Vec3(-m);
  c.distance = kInfinity;
  c.p_A = c.p_B = top;
  if (!is_convex(other.type) || other.type == ColliderType::half_space) return c;
  int start = -1;
  const Vec3 lowest = X_WO * support(other, -(X_WO.R.transpose() * m), &start) - other.rounding * m;
  c.distance = m.dot(lowest - top);
  const Vec3 on_plane = lowest - c.distance * m;
  c.p_A = plane_is_a ? on_plane : lowest;
  c.p_B = plane_is_a ? lowest : on_plane;
  return c;
}

}  // namespace

bool is_covered(const Model& model, int shape_a, const Transform& X_WA, int shape_b, const Transform& X_WB,
                const ContactPoint& point, ContactPoint* instead) {
  const double deep = -point.distance;
  for (const bool of_a : {true, false}) {
    const int shape = of_a ? shape_a : shape_b;
    if (model.shapes[shape].neighbours.empty()) continue;
    const Vec3 p = of_a ? point.p_A : point.p_B, n = of_a ? point.normal : Vec3(-point.normal);
    const Transform X_WL = (of_a ? X_WA : X_WB) * inverse(model.shapes[shape].X_LS);
    Vec3 m;
    double depth = 0;
    if (!is_side_covered(model, shape, X_WL, p, n, deep, &m, &depth)) continue;
    const Collider& other = model.shapes[of_a ? shape_b : shape_a].collider;
    *instead = against_plane(other, of_a ? X_WB : X_WA, p + depth * m, m, of_a, point.feature);
    return true;
  }
  return false;
}

}  // namespace capstan
