#include "capstan/geometry/face_contact.h"

#include <utility>

namespace capstan {
namespace {

constexpr double kInFront = 0.3;  // cosine
constexpr int kMostCorners = 6;   // of two triangles cut with each other

Vec3 outward(const Collider& face, const Transform& X) {
  const std::array<Vec3, 3>& v = face.vertex;
  return X.R * cross(Vec3(v[1] - v[0]), Vec3(v[2] - v[0])).normalized();
}

struct Corners {
  std::array<Vec3, kMostCorners> p;
  int size = 0;
};

// What of a convex polygon is where m . (x - q) <= 0.
Corners keep_behind(const Vec3& m, const Vec3& q, const Corners& from) {
  Corners kept;
  for (int i = 0; i < from.size; ++i) {
    const Vec3 &last = from.p[(i == 0 ? from.size : i) - 1], &p = from.p[i];
    const double before = m.dot(last - q), now = m.dot(p - q);
    // What is convex but for round-off may cross the line more than twice.
    if ((now > 0) != (before > 0) && kept.size < kMostCorners)
      kept.p[kept.size++] = last + before / (before - now) * (p - last);
    if (now <= 0 && kept.size < kMostCorners) kept.p[kept.size++] = p;
  }
  return kept;
}

}  // namespace

bool are_faces(const Collider& A, const Collider& B) {
  return A.type == ColliderType::triangle && B.type == ColliderType::triangle && A.inside > 0 &&
         B.inside > 0 && A.solid != B.solid;
}

bool collide_faces(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                   double margin, Manifold* manifold) {
  manifold->size = 0;
  const Vec3 n_A = outward(A, X_WA), n_B = outward(B, X_WB);
  if (!(n_A.dot(n_B) < -kLeastFacing)) return false;
  const Vec3 n = (n_A - n_B).normalized();
  Corners corners;
  for (const Vec3& v : A.vertex) corners.p[corners.size++] = X_WA * v;
  std::array<Vec3, 3> b;
  for (int k = 0; k < 3; ++k) b[k] = X_WB * B.vertex[k];
  for (int k = 0; k < 3 && corners.size >= 3; ++k)
    corners = keep_behind(cross(n, Vec3(b[(k + 1) % 3] - b[k])), b[k], corners);
  if (corners.size < 3) return false;
  const double along = n_B.dot(n);
  for (int i = 0; i < corners.size; ++i) {
    const double distance = n_B.dot(b[0] - corners.p[i]) / along;
    if (distance > margin || distance < -(A.inside + B.inside)) continue;
    manifold->points[manifold->size++] = {corners.p[i], corners.p[i] + distance * n, n, distance,
                                          static_cast<std::uint32_t>(i)};
  }
  return true;
}

bool is_in_front(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                 const Vec3& normal) {
  return outward(A, X_WA).dot(normal) > kInFront && outward(B, X_WB).dot(normal) < -kInFront;
}

}  // namespace capstan
