// Where a ray meets the surface of a shape.
//
// The ray is origin + t direction, t >= 0. A hit is the first crossing of the surface from either side: a ray
// that starts inside a solid reports where it leaves. The normal is that of the surface, pointing out of the
// solid; for an open mesh that of the triangle. A ray along a surface (within a face, along a side) may hit
// or miss.
#pragma once

#include "capstan/geometry/collider.h"
#include "capstan/math/transform.h"

namespace capstan {

struct RayHit {
  double distance = 0;          // [m] along the ray
  Vec3 point = Vec3::Zero();    // [m] world
  Vec3 normal = Vec3::UnitZ();  // unit, world
  int triangle = -1;            // of meshes and height fields
};

// direction_W is of unit length. Returns false when nothing is hit within max_distance, which may be
// infinite.
bool ray_cast(const Collider& collider, const Transform& X_WC, const Vec3& origin_W, const Vec3& direction_W,
              double max_distance, RayHit* hit);

}  // namespace capstan
