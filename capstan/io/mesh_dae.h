// COLLADA (.dae) in: the triangles of all geometries that its scene shows, as ROS programs read them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

struct DaeMesh {
  std::vector<Vec3> vertices;  // [m]
  std::vector<std::array<int, 3>> triangles;
  std::string problem, remedy;  // not empty: why it cannot be read
};

// The <unit> is applied; <up_axis> is not, which is how URDF files are meant (RViz undoes it, too). Nodes are
// placed by matrix, translate, rotate and scale. Polygons become fans. Lines, controllers (skins) and
// animations are left out.
DaeMesh read_dae(const std::string& bytes, long max_triangles);

}  // namespace capstan
