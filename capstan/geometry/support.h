// Support functions of convex cores: the farthest point along a direction.
//
//   h(n) = max over x in the core of n . x,   support(n) = gradient of h = a point where the maximum is met.
//
// Of flat and straight parts (faces, edges, a cylinder's side) any point may be met; ties go to the positive
// side of the shape's axes, or to the vertex first found, always the same one. The ball of radius `rounding`
// is not included. support_curvature is the Hessian of h at a unit n: how the support point moves as n turns;
// zero where the point is a vertex.
#pragma once

#include <cmath>

#include "capstan/geometry/collider.h"
#include "capstan/math/transform.h"

namespace capstan {

// Where a walk along n may begin: the best of sixteen vertices from all over the hull.
inline int find_start(const ConvexHull& hull, const Vec3& n) {
  constexpr int kProbes = 16;
  const int size = static_cast<int>(hull.vertices.size());
  int best = 0;
  double value = n.dot(hull.vertices[0]);
  for (int k = 1; k < kProbes; ++k) {
    const int i = static_cast<int>(static_cast<long>(k) * size / kProbes);
    const double v = n.dot(hull.vertices[i]);
    best = v > value ? i : best;
    value = v > value ? v : value;
  }
  return best;
}

// `start` is a vertex that may be near, where the walk over a hull begins, or -1: none is known.
inline int support_vertex(const ConvexHull& hull, const Vec3& n, int start) {
  constexpr std::size_t kScanBelow = 24;  // a plain scan is faster than the walk for small hulls
  const bool is_small = hull.vertices.size() <= kScanBelow;
  int best = start >= 0 ? start : is_small ? 0 : find_start(hull, n);
  double value = n.dot(hull.vertices[best]);
  if (is_small) {
    for (std::size_t i = 0; i < hull.vertices.size(); ++i) {
      const double v = n.dot(hull.vertices[i]);
      if (v > value) {
        value = v;
        best = static_cast<int>(i);
      }
    }
    return best;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const int i : hull.neighbours(best)) {
      const double v = n.dot(hull.vertices[i]);
      if (v > value) {
        value = v;
        best = i;
        moved = true;
      }
    }
  }
  return best;
}

inline Vec3 support(const Collider& c, const Vec3& n, int* start) {
  switch (c.type) {
    case ColliderType::capsule:
      return {0, 0, n.z() >= 0 ? c.size.z() : -c.size.z()};
    case ColliderType::box:
      return {n.x() >= 0 ? c.size.x() : -c.size.x(), n.y() >= 0 ? c.size.y() : -c.size.y(),
              n.z() >= 0 ? c.size.z() : -c.size.z()};
    case ColliderType::cylinder: {
      const double across = std::sqrt(n.x() * n.x() + n.y() * n.y());
      const double k = across > 0 ? c.size.x() / across : 0;
      const double z = n.z() >= 0 ? c.size.z() : -c.size.z();
      return across > 0 ? Vec3(k * n.x(), k * n.y(), z) : Vec3(c.size.x(), 0, z);
    }
    case ColliderType::ellipsoid: {
      const Vec3 scaled = c.size.cwiseProduct(n);
      const double h = scaled.norm();
      return h > 0 ? Vec3(c.size.cwiseProduct(scaled) / h) : Vec3(0, 0, c.size.z());
    }
    case ColliderType::hull:
      *start = support_vertex(*c.hull, n, *start);
      return c.hull->vertices[*start];
    case ColliderType::triangle: {
      const double v0 = n.dot(c.vertex[0]), v1 = n.dot(c.vertex[1]), v2 = n.dot(c.vertex[2]);
      return v0 >= v1 ? (v0 >= v2 ? c.vertex[0] : c.vertex[2]) : (v1 >= v2 ? c.vertex[1] : c.vertex[2]);
    }
    default:
      return Vec3::Zero();  // sphere
  }
}

inline bool is_curved(ColliderType type) {
  return type == ColliderType::cylinder || type == ColliderType::ellipsoid;
}

inline Mat3 support_curvature(const Collider& c, const Vec3& n) {
  Mat3 H = Mat3::Zero();
  if (c.type == ColliderType::ellipsoid) {
    const Vec3 r2 = c.size.cwiseAbs2();
    const double h = c.size.cwiseProduct(n).norm();
    const Vec3 p = r2.cwiseProduct(n) / h;
    H.diagonal() = r2 / h;
    H -= p * p.transpose() / h;
  } else if (c.type == ColliderType::cylinder) {
    const double across = std::sqrt(n.x() * n.x() + n.y() * n.y());
    if (across > 1e-9) {
      const Vec2 e = n.head<2>() / across;
      H.topLeftCorner<2, 2>() = c.size.x() / across * (Mat2::Identity() - e * e.transpose());
    }
  }
  return H;
}

// Two cores placed in the frame of A, and where the walks over their hulls stand.
struct CorePair {
  const Collider* A = nullptr;
  const Collider* B = nullptr;
  Transform X_AB;
  int start_A = -1, start_B = -1;

  // The ends of the slab between the cores along n (any length): a farthest along n, b farthest along -n.
  void span(const Vec3& n, Vec3* a, Vec3* b) {
    *a = support(*A, n, &start_A);
    *b = X_AB * support(*B, -(X_AB.R.transpose() * n), &start_B);
  }
  // s(n) for unit n, frame A: positive when a plane of normal n parts the cores by that much.
  double separation(const Vec3& n) {
    Vec3 a, b;
    span(n, &a, &b);
    return n.dot(b - a);
  }
};

// What distance kernels return, in the frame of A.
struct Witness {
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();  // [m] on A and on B
  Vec3 n = Vec3::UnitZ();                   // unit, from A to B
  double distance = 0;                      // [m] signed
};

}  // namespace capstan
