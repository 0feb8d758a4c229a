// Triangle meshes and their mass properties.
#pragma once

#include <array>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

// Triangles are counter-clockwise seen from outside.
struct TriangleMesh {
  std::vector<Vec3> vertices;                 // [m], in the frame of the shape
  std::vector<std::array<int, 3>> triangles;  // indices into vertices
};

// Volume, centroid and second moments of a solid of density 1 kg/m^3.
struct VolumeProperties {
  double volume = 0;             // [m^3]; also the mass at density 1
  Vec3 centroid = Vec3::Zero();  // [m]
  Mat3 inertia = Mat3::Zero();   // [kg m^2] about the centroid, axes of the shape's frame, at density 1
};

// Exact integrals over the solid that a closed mesh bounds (signed tetrahedra from the vertex mean). Inverted
// meshes give a negative volume; open meshes give an approximate value: see is_closed().
VolumeProperties volume_properties(const TriangleMesh& mesh);

// Every edge is shared by exactly two triangles, in opposite directions.
bool is_closed(const TriangleMesh& mesh);

}  // namespace capstan
