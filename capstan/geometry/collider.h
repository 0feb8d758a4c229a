// A shape prepared for collision: everything that does not change from step to step.
//
// A convex collider is the Minkowski sum of a core and a ball of radius `rounding`: a sphere is a point, a
// capsule a segment along z, the others have rounding 0. The frame is that of the shape.
#pragma once

#include <array>
#include <memory>

#include "capstan/geometry/convex_hull.h"
#include "capstan/geometry/shape.h"

namespace capstan {

struct MeshBvh;  // capstan/geometry/mesh_bvh.h
struct SdfGrid;  // capstan/geometry/sdf_grid.h

// In the order of the dispatch table: the kernel of (A, B) exists for A <= B, the others swap.
enum class ColliderType {
  sphere,
  capsule,
  box,
  cylinder,
  ellipsoid,
  hull,
  triangle,    // one flat triangle; what meshes and height fields hand to the convex kernels
  half_space,  // convex but unbounded
  mesh,        // the last three are not convex
  height_field,
  sdf,
};

inline bool is_convex(ColliderType type) {
  return type <= ColliderType::half_space;
}

struct Collider {
  ColliderType type = ColliderType::sphere;
  double rounding = 0;         // [m] radius of the ball added to the core: sphere, capsule
  Vec3 size = Vec3::Zero();    // [m] capsule (0, 0, half_length), box half_size, cylinder (radius, radius,
                               // half_length), ellipsoid radii; otherwise 0
  std::array<Vec3, 3> vertex;  // [m] triangle only, counter-clockwise seen from outside
  // A capsule along an edge of a soft surface: vertex[0] and vertex[1] are the outward normals of the faces
  // to the left and to the right of +z. It touches other edges only, where they cross (edge_crossing.h).
  bool is_edge = false;
  // Of the surface of a solid that bends: which one (-1: of none), and how deep its inside is behind a
  // triangle, which has only one side for the balls of others (point_distance.h).
  int solid = -1;
  double inside = 0;  // [m]
  // Away from what is nearer to it than to the face behind edge k, then to one that has only vertex k with it
  // in common; zero: to none.
  std::array<Vec3, 6> away;
  Vec3 centre = Vec3::Zero();    // [m] centre of the local bounding box
  Vec3 half_box = Vec3::Zero();  // [m] half size of the local bounding box; infinite for a half space
  double bounding_radius = 0;    // [m] of a ball about `centre` that holds the shape
  std::shared_ptr<const ConvexHull> hull;
  std::shared_ptr<const MeshBvh> bvh;
  std::shared_ptr<const SdfGrid> sdf;
  std::shared_ptr<const HeightField> height_field;
};

Collider make_collider(const Sphere& sphere);
Collider make_collider(const Capsule& capsule);
Collider make_collider(const Box& box);
Collider make_collider(const Cylinder& cylinder);
Collider make_collider(const Ellipsoid& ellipsoid);
Collider make_collider(const HalfSpace& half_space);
Collider make_collider(std::shared_ptr<const ConvexHull> hull);
Collider make_triangle_collider(const Vec3& a, const Vec3& b, const Vec3& c);

// Any shape; builds hulls and trees (make_collider.cc).
Collider make_collider(const Shape& shape);

}  // namespace capstan
