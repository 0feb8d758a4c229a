#include "capstan/geometry/distance_kernels.h"
#include "capstan/geometry/gjk.h"
#include "capstan/geometry/hull_scan.h"
#include "capstan/geometry/point_distance.h"

namespace capstan {
namespace {

// Inside a hull the nearest face plane; outside GJK of a point and the hull.
double point_hull(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff, Vec3* gradient,
                  const Vec3& centre_B) {
  CorePair pair{&A, &B, X_AB};
  const GjkResult g = gjk(&pair, X_AB * B.centre, cutoff + A.rounding, 1e-15 * B.bounding_radius);
  if (g.status != GjkResult::Status::overlapping) {
    *gradient = -(X_AB.R.transpose() * g.witness.n);
    return g.witness.distance;
  }
  const ConvexHull::Face& face = B.hull->faces[nearest_face(*B.hull, centre_B)];
  *gradient = face.normal;
  return face.normal.dot(centre_B) - face.offset;
}

}  // namespace

double sphere_any(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                  Witness* witness) {
  const Vec3 c = -(X_AB.R.transpose() * X_AB.p);  // the sphere's centre in B
  Vec3 gradient;
  double d;
  switch (B.type) {
    case ColliderType::sphere:
      d = point_segment(0, c, &gradient);
      break;
    case ColliderType::capsule:
      d = point_segment(B.size.z(), c, &gradient);
      break;
    case ColliderType::box:
      d = point_box(B.size, c, &gradient);
      break;
    case ColliderType::cylinder:
      d = point_cylinder(B.size.x(), B.size.z(), c, &gradient);
      break;
    case ColliderType::ellipsoid:
      d = point_ellipsoid(B.size, c, &gradient);
      break;
    case ColliderType::triangle:
      d = B.inside > 0 && A.solid != B.solid ? point_face(B, c, &gradient)
                                             : point_triangle(B.vertex, c, &gradient);
      break;
    default:
      d = point_hull(A, B, X_AB, cutoff, &gradient, c);
  }
  witness->n = -(X_AB.R * gradient);
  witness->distance = d - A.rounding - B.rounding;
  witness->a = A.rounding * witness->n;
  witness->b = (d - B.rounding) * witness->n;
  return witness->distance;
}

double any_half_space(const Collider& A, const Collider&, const Transform& X_AB, double, Witness* witness) {
  const Vec3 n = -X_AB.R.col(2);
  int start = -1;
  witness->n = n;
  witness->a = support(A, n, &start) + A.rounding * n;
  witness->distance = n.dot(X_AB.p - witness->a);
  witness->b = witness->a + witness->distance * n;
  return witness->distance;
}

}  // namespace capstan
