// Collision and visual shapes, each in its own frame.
#pragma once

#include <memory>
#include <variant>

#include "capstan/geometry/mesh.h"

namespace capstan {

struct Sphere {
  double radius = 0;  // [m]
};
struct Box {
  Vec3 half_size = Vec3::Zero();  // [m]
};
struct Capsule {           // along z
  double radius = 0;       // [m]
  double half_length = 0;  // [m] of the cylindrical part, without the caps
};
struct Cylinder {          // along z
  double radius = 0;       // [m]
  double half_length = 0;  // [m]
};
struct Ellipsoid {
  Vec3 radii = Vec3::Zero();  // [m] along x, y, z
};
struct HalfSpace {};  // solid where z <= 0, surface normal +z
struct ConvexMesh {   // the convex hull of the vertices
  std::shared_ptr<const TriangleMesh> mesh;
};
struct SurfaceMesh {  // the triangles themselves, not necessarily convex
  std::shared_ptr<const TriangleMesh> mesh;
};
struct HeightField {  // solid below the surface, down to z = -base; columns along x, rows along y, centred
  int rows = 0, columns = 0;
  Vec2 half_size = Vec2::Zero();                      // [m] along x and y
  double base = 0;                                    // [m] thickness below z = 0
  std::shared_ptr<const std::vector<double>> height;  // [m], row by row from y = -half_size.y, rows*columns
};
struct SignedDistanceMesh {  // a closed mesh, not necessarily convex, that may also collide with its like
  std::shared_ptr<const TriangleMesh> mesh;
  int resolution = 64;  // cells of the distance grid along the longest side
};

using Shape = std::variant<Sphere, Box, Capsule, Cylinder, Ellipsoid, HalfSpace, ConvexMesh, SurfaceMesh,
                           HeightField, SignedDistanceMesh>;

// "sphere", "box", ...: the word scene files use.
const char* shape_name(const Shape& shape);

// Volume, centroid and inertia at density 1. Half spaces and height fields have none: volume 0. A ConvexMesh
// is taken as the mesh it was made from.
VolumeProperties volume_properties(const Shape& shape);

}  // namespace capstan
