// glTF 2.0 in one binary file (.glb): the triangles of all meshes that its scene shows.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

struct GlbMesh {
  std::vector<Vec3> vertices;  // [m]
  std::vector<std::array<int, 3>> triangles;
  std::string problem, remedy;  // not empty: why it cannot be read
};

// Nodes are placed by matrix, translation, rotation and scale. Axes are those of the file: nothing is turned
// for glTF's y-up, as ROS programs do. Lines, points, skins, morph targets and animations are left out;
// compressed meshes (Draco, meshopt) and buffers in other files are problems.
GlbMesh read_glb(const std::string& bytes, long max_triangles);

}  // namespace capstan
