// A triangle mesh prepared for queries: a tree of boxes, normals and adjacency.
//
// The sign of a point is that of (p - q) . m, q the closest point and m the normal of the feature q is on:
// the face normal, the sum of two face normals on an edge, the sum weighted by angles at a vertex (Baerentzen
// and Aanaes 2005). It is right for every point when the mesh is closed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "capstan/geometry/aabb.h"
#include "capstan/geometry/shape.h"

namespace capstan {

// Which part of a triangle: its face, edge k from vertex k to vertex k + 1, or vertex k.
enum class TriangleFeature : std::uint8_t { face, edge_0, edge_1, edge_2, vertex_0, vertex_1, vertex_2 };

// The point of triangle (a, b, c) nearest to p. Degenerate triangles are treated as segments and points.
Vec3 closest_point_on_triangle(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c,
                               TriangleFeature* feature);

struct MeshBvh {
  // Depth-first: the first child of an inner node follows it, the second is at nodes[node + 1].skip.
  struct Node {
    Aabb box;
    int skip = 0;              // the node after this subtree
    int first = 0, count = 0;  // leaf: order[first, first + count); inner: count 0
  };
  std::shared_ptr<const TriangleMesh> mesh;
  std::vector<Node> nodes;
  std::vector<int> order;                     // triangles, leaf by leaf
  std::vector<Vec3> face_normal;              // unit; zero for a degenerate triangle
  std::vector<std::array<int, 3>> neighbour;  // triangle across edge k; -1 at a border or unclear edge
  std::vector<Vec3> vertex_normal;            // weighted by angles, not normalized
  std::vector<int> first_fan, fan;  // vertices joined to vertex v: fan[first_fan[v], first_fan[v + 1])
  bool solid = false;               // has an inside: a closed mesh, or the ground below a height field
  double base = 0;                  // [m] a height field is solid down to the plane z = -base

  const Vec3& vertex(int triangle, int k) const { return mesh->vertices[mesh->triangles[triangle][k]]; }
};

// Throws InputError when the mesh is empty, has a bad index or a coordinate that is not finite.
MeshBvh make_mesh_bvh(std::shared_ptr<const TriangleMesh> mesh);

// The surface of a height field as a mesh, two triangles for each cell, normals up; solid below.
TriangleMesh height_field_mesh(const HeightField& field);
MeshBvh make_height_field_bvh(const HeightField& field);

struct MeshPoint {
  int triangle = -1;  // -1: nothing within the limit
  TriangleFeature feature = TriangleFeature::face;
  Vec3 point = Vec3::Zero();                                  // [m]
  double distance = std::numeric_limits<double>::infinity();  // [m]; negative inside (closest_point_signed)
};

// Nearest point of the surface, at most max_distance away. Ties go to the lowest triangle.
MeshPoint closest_point(const MeshBvh& bvh, const Vec3& p,
                        double max_distance = std::numeric_limits<double>::infinity());
MeshPoint closest_point_signed(const MeshBvh& bvh, const Vec3& p);

// The normal of the feature a point is on, of unit length: see the head of this file.
Vec3 feature_normal(const MeshBvh& bvh, int triangle, TriangleFeature feature);

// First triangle hit by origin + t direction, 0 <= t <= max_t, from either side. Returns false for none.
struct MeshRayHit {
  double t = 0;
  int triangle = -1;
};
bool ray_cast(const MeshBvh& bvh, const Vec3& origin, const Vec3& direction, double max_t, MeshRayHit* hit);

// Calls visit(triangle) for each triangle whose box overlaps `box`, in the order of the tree.
template <class Visit>
void for_each_overlap(const MeshBvh& bvh, const Aabb& box, Visit&& visit) {
  const int end = static_cast<int>(bvh.nodes.size());
  for (int i = 0; i < end;) {
    const MeshBvh::Node& node = bvh.nodes[i];
    if (!overlaps(node.box, box)) {
      i = node.skip;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k) {
      const int t = bvh.order[k];
      Aabb triangle_box;
      for (int v = 0; v < 3; ++v) include(triangle_box, bvh.vertex(t, v));
      if (overlaps(triangle_box, box)) visit(t);
    }
    ++i;
  }
}

}  // namespace capstan
