// The part of a convex core that looks along the contact normal, in the contact frame F.
#pragma once

#include <cstdint>

#include "capstan/geometry/support.h"

namespace capstan {

struct ContactFeature {
  enum class Kind { point, segment, polygon, disc };
  static constexpr int kMaxVertices = 32;  // larger faces are thinned evenly

  Kind kind = Kind::point;
  int count = 0;
  Vec3 vertex[kMaxVertices];        // [m] segment: 2; polygon: counter-clockwise in x-y
  std::uint16_t id[kMaxVertices];   // of each vertex, in the shape
  double slope_x = 0, slope_y = 0;  // polygon and disc lie in z = height + slope_x x + slope_y y
  double height = 0;
  double bend = 0;              // [m] segment: radius of curvature of the surface across it; 0 for an edge
  Vec3 centre, axis_u, axis_v;  // disc: centre + radius (cos u + sin v)
  double radius = 0;

  double z(double x, double y) const { return height + slope_x * x + slope_y * y; }
};

// Cosine between the direction `side` z (side = +1 or -1) and the face or cap nearest to it; 0 without faces.
double face_alignment(const Collider& shape, const Transform& X_FS, double side);

// Faces count when their alignment is at least `min_face`, edges and side lines when the cosine between them
// and z is at most `max_edge`.
void find_feature(const Collider& shape, const Transform& X_FS, double side, double min_face, double max_edge,
                  ContactFeature* feature);

}  // namespace capstan
