#include "capstan/geometry/collide.h"

#include <algorithm>

#include "capstan/geometry/convex_distance.h"
#include "capstan/geometry/distance_kernels.h"
#include "capstan/geometry/edge_crossing.h"
#include "capstan/geometry/face_contact.h"
#include "capstan/geometry/manifold.h"
#include "capstan/geometry/mesh_contact.h"
#include "capstan/geometry/sdf_contact.h"

namespace capstan {
namespace {

constexpr double kFromBehind = 1e-9;  // of a normal: round-off of one in the plane

DistanceKernel distance_kernel(ColliderType a, ColliderType b) {
  using enum ColliderType;
  if (b == half_space) return any_half_space;
  if (a == sphere) return sphere_any;
  if (a == capsule && b == capsule) return capsule_capsule;
  return convex_distance;
}

// Two boxes: the separating axes where they decide, else the general distance.
bool collide_boxes(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_AB,
                   double margin, Manifold* manifold) {
  Witness w;
  bool trusted = false;
  if (!box_box_axis(A, B, X_AB, margin, &w, &trusted)) return false;
  if (make_manifold(A, X_WA, B, X_AB, w, trusted, margin, manifold)) return true;
  if (!(convex_distance(A, B, X_AB, margin, &w) <= margin)) return false;
  return make_manifold(A, X_WA, B, X_AB, w, true, margin, manifold);
}

bool both_boxes(const Collider& A, const Collider& B) {
  return A.type == ColliderType::box && B.type == ColliderType::box;
}

Transform relative(const Transform& X_WA, const Transform& X_WB) {
  return {X_WA.R.transpose() * X_WB.R, X_WA.R.transpose() * (X_WB.p - X_WA.p)};
}

// A ball that touches the edge of a face from behind touches another face of that solid from outside.
bool comes_from_behind(const Collider& A, const Collider& B, const Transform& X_AB, const Witness& w) {
  if (A.type != ColliderType::sphere || !(B.inside > 0) || A.solid == B.solid) return false;
  const Vec3 outward = cross(Vec3(B.vertex[1] - B.vertex[0]), Vec3(B.vertex[2] - B.vertex[0]));
  return w.n.dot(X_AB.R * outward) > kFromBehind * outward.norm();
}

}  // namespace

double signed_distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                       ContactPoint* contact) {
  if (A.type > B.type) {
    const double d = signed_distance(B, X_WB, A, X_WA, contact);
    if (contact) *contact = swapped(*contact);
    return d;
  }
  Witness w;
  const Transform X_AB = relative(X_WA, X_WB);
  double d;
  bool trusted = false;
  if (both_boxes(A, B) && box_box_axis(A, B, X_AB, 0, &w, &trusted)) {
    d = w.distance;
    if (contact) {
      // The axes find the depth, not always the place: the middle of the deepest points of the manifold.
      Manifold m;
      make_manifold(A, {}, B, X_AB, w, true, d + 1e-9 * (A.bounding_radius + B.bounding_radius), &m);
      w.a.setZero();
      for (int i = 0; i < m.size; ++i) w.a += m.points[i].p_A / m.size;
    }
  } else {
    d = distance_kernel(A.type, B.type)(A, B, X_AB, kInfinity, &w);
  }
  if (contact) {
    contact->normal = X_WA.R * w.n;
    contact->p_A = X_WA * w.a;
    contact->p_B = contact->p_A + d * contact->normal;
    contact->distance = d;
    contact->feature = 0;
  }
  return d;
}

void collide_convex(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                    double margin, Manifold* manifold) {
  if (A.type > B.type) {
    collide_convex(B, X_WB, A, X_WA, margin, manifold);
    for (int i = 0; i < manifold->size; ++i) manifold->points[i] = swapped(manifold->points[i]);
    return;
  }
  manifold->size = 0;
  if (A.type == ColliderType::half_space) return;
  if (A.type == ColliderType::box && B.type == ColliderType::half_space && !is_thin(A))
    return make_box_manifold(A, X_WA, X_WB, margin, manifold);
  const Transform X_AB = relative(X_WA, X_WB);
  const double reach = A.bounding_radius + B.bounding_radius + A.inside + B.inside + margin;
  if ((X_AB * B.centre - A.centre).squaredNorm() > reach * reach) return;
  if (both_boxes(A, B)) {
    if (!collide_boxes(A, X_WA, B, X_AB, margin, manifold)) manifold->size = 0;
    return;
  }
  const bool faces = are_faces(A, B);
  if (faces && collide_faces(A, X_WA, B, X_WB, margin, manifold)) return;
  Witness w;
  if (!(distance_kernel(A.type, B.type)(A, B, X_AB, margin, &w) <= margin)) return;
  if (comes_from_behind(A, B, X_AB, w)) return;
  if (faces && !(w.distance > 0 && is_in_front(A, X_WA, B, X_WB, X_WA.R * w.n))) return;
  make_manifold(A, X_WA, B, X_AB, w, true, margin, manifold);
  if (!A.is_edge || !B.is_edge) return;
  const auto is_none = [&](ContactPoint& point) { return !set_crossing(A, X_WA, B, X_WB, &point); };
  const auto begin = manifold->points.begin();
  manifold->size = static_cast<int>(std::remove_if(begin, begin + manifold->size, is_none) - begin);
}

void collide(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
             double margin, std::vector<ContactPoint>* contacts) {
  if (!can_collide(A.type, B.type)) return;
  if (A.type > B.type) {
    const std::size_t first = contacts->size();
    collide(B, X_WB, A, X_WA, margin, contacts);
    for (std::size_t i = first; i < contacts->size(); ++i) (*contacts)[i] = swapped((*contacts)[i]);
    return;
  }
  if (is_convex(B.type)) {
    Manifold manifold;
    collide_convex(A, X_WA, B, X_WB, margin, &manifold);
    contacts->insert(contacts->end(), manifold.points.begin(), manifold.points.begin() + manifold.size);
  } else if (is_convex(A.type)) {
    collide_mesh(A, X_WA, *B.bvh, X_WB, margin, contacts);
  } else if (A.type == ColliderType::sdf) {
    collide_sdf_sdf(*A.sdf, X_WA, *B.sdf, X_WB, margin, contacts);
  } else {  // the triangles of A against the grid of B
    const std::size_t first = contacts->size();
    collide_sdf_mesh(*B.sdf, X_WB, *A.bvh, X_WA, margin, contacts);
    for (std::size_t i = first; i < contacts->size(); ++i) (*contacts)[i] = swapped((*contacts)[i]);
  }
}

// Of two shapes that are not convex one must have a distance grid.
bool can_collide(ColliderType a, ColliderType b) {
  if (is_convex(a) && is_convex(b)) return !(a == ColliderType::half_space && b == ColliderType::half_space);
  return is_convex(a) || is_convex(b) || a == ColliderType::sdf || b == ColliderType::sdf;
}

}  // namespace capstan
