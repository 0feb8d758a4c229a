#include "capstan/geometry/manifold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/geometry/feature_cut.h"
#include "capstan/geometry/hull_scan.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kReferenceCosine = 0.996;  // a face this near the normal (5 degrees) is lain on
constexpr double kFaceCosine = 0.5;         // faces of the other shape then count up to 60 degrees of tilt
constexpr double kEdgeCosine = 0.5;         // and its edges up to 30 degrees
constexpr double kLevelCosine = 0.1;        // edge on edge, where neither shape shows a face

// Twice the signed area of a triangle in x-y.
double area(const CutPoint& a, const CutPoint& b, const CutPoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The deepest point, the farthest from it, the farthest from the line through these, the one that adds most
// area to that triangle, then those farthest from all chosen. Ties to `tolerance` go to the first in the
// list. Returns the number chosen, their indices ascending.
int choose(const CutPoint* p, int size, double tolerance, int* chosen) {
  if (size <= Manifold::kCapacity) {
    for (int i = 0; i < size; ++i) chosen[i] = i;
    return size;
  }
  int n = 0;
  // Appends the point of the largest score above zero; scores within a billionth are ties.
  const auto take = [&](const auto& score) {
    int best = -1;
    double value = tolerance * tolerance;
    for (int i = 0; i < size; ++i) {
      const double s = score(p[i]);
      if (s > value * (1 + 1e-9)) {
        value = s;
        best = i;
      }
    }
    if (best >= 0) chosen[n++] = best;
  };
  int first = 0;
  for (int i = 1; i < size; ++i) {
    if (p[i].z_A - p[i].z_B > p[first].z_A - p[first].z_B + tolerance) first = i;
  }
  chosen[n++] = first;
  const auto squared = [](const CutPoint& a, const CutPoint& b) {
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
  };
  take([&](const CutPoint& q) { return squared(q, p[first]); });
  if (n == 2) take([&](const CutPoint& q) { return std::abs(area(p[first], p[chosen[1]], q)); });
  if (n == 3) {
    const CutPoint &a = p[first], &b = p[chosen[1]], &c = p[chosen[2]];
    const double sign = area(a, b, c) > 0 ? 1 : -1;
    take([&](const CutPoint& q) {
      return -std::min({sign * area(a, b, q), sign * area(b, c, q), sign * area(c, a, q)});
    });
  }
  for (int before = 0; n != before && n < Manifold::kCapacity;) {
    before = n;
    take([&](const CutPoint& q) {
      double nearest = std::numeric_limits<double>::infinity();
      for (int k = 0; k < before; ++k) nearest = std::min(nearest, squared(q, p[chosen[k]]));
      return nearest;
    });
  }
  for (int i = 1; i < n; ++i) {  // a sort of at most eight
    for (int k = i; k > 0 && chosen[k] < chosen[k - 1]; --k) std::swap(chosen[k], chosen[k - 1]);
  }
  return n;
}

// Of a hull that is deep in the plane, with more vertices there than a cut can have: the deepest, and the
// outermost in sixteen directions.
void cut_deep_hull(const ConvexHull& hull, const Transform& X_FA, double z_B, double rise, CutPoints* out) {
  auto best = find_outermost_vertices(hull, X_FA, z_B - rise);
  std::sort(best.begin(), best.end());
  const auto end = std::unique(best.begin(), best.end());
  for (auto i = best.begin(); i != end; ++i) {
    if (*i < 0) continue;
    const Vec3 v = X_FA * hull.vertices[*i];
    out->add(v.x(), v.y(), v.z(), z_B, feature_id(CutKind::vertex_of_A, static_cast<unsigned>(*i), 0));
  }
}

// Everything of A that is near the plane z = z_B.
void cut_with_plane(const Collider& A, const Transform& X_FA, double z_B, double rise, CutPoints* out) {
  if (A.type == ColliderType::hull) {
    // All vertices within reach, not only those of one face: hulls have small faces.
    int found[CutPoints::kCapacity];
    const int count = find_vertices_above(*A.hull, X_FA, z_B - rise, CutPoints::kCapacity, found);
    if (count > CutPoints::kCapacity) return cut_deep_hull(*A.hull, X_FA, z_B, rise, out);
    for (int i = 0; i < count; ++i) {
      const Vec3 v = X_FA * A.hull->vertices[found[i]];
      out->add(v.x(), v.y(), v.z(), z_B,
               feature_id(CutKind::vertex_of_A, static_cast<unsigned>(found[i]), 0));
    }
    return;
  }
  ContactFeature f;
  find_feature(A, X_FA, 1, kFaceCosine, kEdgeCosine, &f);
  if (f.kind == ContactFeature::Kind::disc) {
    for (int i = 0; i < 4; ++i) {
      const Vec3 r = rim_point(f, i);
      out->add(r.x(), r.y(), r.z(), z_B, feature_id(CutKind::other, 1, i));
    }
  } else if (f.kind != ContactFeature::Kind::point) {
    for (int i = 0; i < f.count; ++i) {
      const Vec3& v = f.vertex[i];
      out->add(v.x(), v.y(), v.z(), z_B, feature_id(CutKind::vertex_of_A, f.id[i], 0));
    }
  }
}

bool is_round(ColliderType type) {
  return type == ColliderType::sphere || type == ColliderType::ellipsoid;
}

// Pairs that touch in one point whatever their pose: no features to look for.
bool touch_once(const Collider& A, const Collider& B, const Transform& X_AB) {
  if (is_round(A.type) || is_round(B.type)) return true;
  if (A.type != ColliderType::capsule || B.type != ColliderType::capsule) return false;
  const double cosine = X_AB.R(2, 2);
  return 1 - cosine * cosine > kMaxCrossingSine2;
}

// Boxes whose best axis crosses two edges, with no face near it and no edges nearly parallel (10 degrees).
bool cross_edges(const Collider& A, const Collider& B, const Transform& X_AB, const Vec3& n) {
  return A.type == ColliderType::box && B.type == ColliderType::box &&
         n.cwiseAbs().maxCoeff() < kReferenceCosine && X_AB.R.cwiseAbs().maxCoeff() < 0.985 &&
         (X_AB.R.transpose() * n).cwiseAbs().maxCoeff() < kReferenceCosine;
}

}  // namespace

bool make_manifold(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_AB,
                   const Witness& witness, bool trusted, double margin, Manifold* manifold) {
  const Vec3 n_W = X_WA.R * witness.n;
  if (touch_once(A, B, X_AB) || (trusted && cross_edges(A, B, X_AB, witness.n))) {
    ContactPoint& c = manifold->points[0];
    manifold->size = 1;
    c.p_A = X_WA * witness.a;
    c.normal = n_W;
    c.distance = witness.distance;
    c.p_B = c.p_A + c.distance * n_W;
    c.feature = feature_id(CutKind::other, 0, 0);
    return true;
  }
  const double scale =
      A.bounding_radius + (B.type == ColliderType::half_space ? A.bounding_radius : B.bounding_radius);
  const double rounding = A.rounding + B.rounding;
  CutPoints cut;
  const Transform X_AF{frame_from_z(witness.n), witness.a};
  const Transform X_FA = inverse(X_AF), X_FB = X_FA * X_AB;
  if (B.type == ColliderType::half_space) {
    cut_with_plane(A, X_FA, X_FB.p.z(), margin + rounding, &cut);
  } else {
    const double lain_on = std::max(face_alignment(A, X_FA, 1), face_alignment(B, X_FB, -1));
    const bool faces = lain_on >= kReferenceCosine;
    ContactFeature a, b;
    find_feature(A, X_FA, 1, faces ? kFaceCosine : 2, faces ? kEdgeCosine : kLevelCosine, &a);
    find_feature(B, X_FB, -1, faces ? kFaceCosine : 2, faces ? kEdgeCosine : kLevelCosine, &b);
    cut_features(a, b, 1e-10 * scale, &cut);
  }

  // Keep what is within the margin, once each; the witness joins where the cut has missed it.
  const double smaller = std::min(A.bounding_radius, B.bounding_radius), near2 = 1e-12 * smaller * smaller;
  int size = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < cut.size; ++i) {
    const CutPoint p = cut.point[i];
    const double d = p.z_B - p.z_A - rounding;
    if (!(d <= margin)) continue;
    bool repeated = false;
    for (int k = 0; k < size && !repeated; ++k) {
      const double dx = p.x - cut.point[k].x, dy = p.y - cut.point[k].y;
      repeated = dx * dx + dy * dy < near2;
    }
    if (repeated) continue;
    smallest = std::min(smallest, d);
    cut.point[size++] = p;
  }
  if (!(smallest <= witness.distance + (trusted ? 1e-9 : 1e-13) * scale)) {
    if (!trusted) return false;
    // In the contact frame the witness on A is the origin, the rounding below it.
    if (size == CutPoints::kCapacity) --size;
    cut.point[size++] = {0, 0, -A.rounding, witness.distance + B.rounding, feature_id(CutKind::other, 0, 0)};
  }

  int chosen[Manifold::kCapacity];
  manifold->size = choose(cut.point, size, 1e-10 * scale, chosen);
  const Transform X_WF = X_WA * X_AF;
  for (int k = 0; k < manifold->size; ++k) {
    const CutPoint& p = cut.point[chosen[k]];
    ContactPoint& c = manifold->points[k];
    c.p_A = X_WF * Vec3(p.x, p.y, p.z_A + A.rounding);
    c.normal = n_W;
    c.distance = p.z_B - p.z_A - rounding;
    c.p_B = c.p_A + c.distance * n_W;
    c.feature = p.feature;
  }
  return true;
}

void make_box_manifold(const Collider& A, const Transform& X_WA, const Transform& X_WB, double margin,
                       Manifold* manifold) {
  const Vec3 normal = -X_WB.R.col(2);
  const Vec3 d = X_WA.R.transpose() * normal;
  int k;
  d.cwiseAbs().maxCoeff(&k);
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  const double sign = d[k] >= 0 ? 1 : -1, height = normal.dot(X_WB.p);
  const Vec3 centre = X_WA.p + X_WA.R.col(k) * (sign * A.size[k]);
  const Vec3 u = X_WA.R.col(i) * A.size[i], v = X_WA.R.col(j) * A.size[j];
  manifold->size = 0;
  const auto add = [&](const Vec3& p, unsigned bits) {
    const double distance = height - normal.dot(p);
    if (!(distance <= margin)) return;
    bits |= sign > 0 ? 1u << k : 0;
    manifold->points[manifold->size++] = {p, p + distance * normal, normal, distance,
                                          feature_id(CutKind::vertex_of_A, bits, 0)};
  };
  // Counter-clockwise about the normal, as find_feature() has them.
  add(centre + u + v, 1u << i | 1u << j);
  add(sign > 0 ? Vec3(centre - u + v) : Vec3(centre + u - v), sign > 0 ? 1u << j : 1u << i);
  add(centre - u - v, 0);
  add(sign > 0 ? Vec3(centre + u - v) : Vec3(centre - u + v), sign > 0 ? 1u << i : 1u << j);
}

}  // namespace capstan
