// Shapes as triangles with normals, for drawing programs. Not used for physics.
#pragma once

#include <array>
#include <vector>

#include "capstan/geometry/shape.h"

namespace capstan {

inline std::array<float, 3> floats(const Vec3& x) {
  return {static_cast<float>(x.x()), static_cast<float>(x.y()), static_cast<float>(x.z())};
}

struct DrawnSurface {
  std::vector<std::array<float, 3>> positions, normals;  // [m] and unit, of one length, frame of the shape
  std::vector<std::array<std::uint32_t, 3>> triangles;   // counter-clockwise seen from outside
};

// Normals are smooth across edges that bend by less than about 40 degrees, sharp across others. A half space
// has no surface. `segments` as in tessellate().
DrawnSurface make_surface(const Shape& shape, int segments);

}  // namespace capstan
