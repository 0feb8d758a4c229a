// The surface of a soft body for drawing programs: its triangles, with a vertex for each node, or several
// where the surface has a crease at rest, such as the edges of a box.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "capstan/physics/soft_body.h"

namespace capstan {

struct SoftSurface {
  std::vector<int> nodes;                               // [vertices]
  std::vector<std::array<std::uint32_t, 3>> triangles;  // of vertices, counter-clockwise seen from outside
};
SoftSurface make_soft_surface(const SoftBody& body);

// Where its vertices are [m], and their unit normals: means of the triangles at a vertex by their areas.
struct SoftVertices {
  std::vector<std::array<float, 3>> positions, normals;
};
SoftVertices calc_soft_vertices(const SoftSurface& surface, const Eigen::Ref<const VecX>& q);

}  // namespace capstan
