// Convex polyhedra with the adjacency that collision needs.
//
// The hull is the intersection of its face planes: n_f . x <= offset_f for every face f. Coplanar facets are
// merged, so a cube has 6 faces of 4 vertices. Loops are counter-clockwise seen from outside. Euler:
// V - E + F = 2.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

struct ConvexHull {
  struct Face {
    Vec3 normal = Vec3::UnitZ();  // unit, outward
    double offset = 0;            // [m] normal . x on the face
    int first = 0, count = 0;     // the loop is loop[first .. first + count)
  };
  struct Edge {
    std::array<int, 2> vertex{};  // vertex[0] < vertex[1]
    std::array<int, 2> face{};    // the two faces that meet here
  };

  std::vector<Vec3> vertices;        // [m], only those on the hull
  std::vector<Face> faces;           // planes and loops
  std::vector<int> loop;             // vertex indices of all face loops, one after the other
  std::vector<Edge> edges;           // each once
  std::vector<int> first_neighbour;  // V + 1 entries: neighbours of v are neighbour[first_neighbour[v] ..
  std::vector<int> neighbour;        // first_neighbour[v + 1]), in ascending order; walked by support()
  std::vector<int> first_face;       // V + 1 entries: faces at v are vertex_face[first_face[v] ..
  std::vector<int> vertex_face;      // first_face[v + 1]), in ascending order
  Vec3 interior = Vec3::Zero();      // [m] a point well inside (mean of the vertices)

  std::span<const int> face_loop(int f) const {
    return {loop.data() + faces[f].first, static_cast<std::size_t>(faces[f].count)};
  }
  std::span<const int> neighbours(int v) const {
    return {neighbour.data() + first_neighbour[v],
            static_cast<std::size_t>(first_neighbour[v + 1] - first_neighbour[v])};
  }
  std::span<const int> faces_at(int v) const {
    return {vertex_face.data() + first_face[v], static_cast<std::size_t>(first_face[v + 1] - first_face[v])};
  }
};

// The hull of the points; facets whose normals agree to `angle_tolerance` radians and that share a plane are
// merged. Throws InputError when the points have no volume or are not finite.
ConvexHull make_convex_hull(const std::vector<Vec3>& points, double angle_tolerance = 1e-6);

// Fills edges, neighbours, faces_at and interior from vertices, faces and loop.
void complete_adjacency(ConvexHull* hull);

}  // namespace capstan
