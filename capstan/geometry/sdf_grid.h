// A signed distance s(x) sampled on a regular grid: negative inside, |grad s| = 1, grad s points out.
//
// Nodes hold the exact distance to the mesh (sign by the pseudo-normal of the closest feature, see
// mesh_bvh.h); between nodes s is trilinear, with an error of at most half a cell's diagonal at sharp edges
// and of order cell^2 / 8 R where the surface has radius of curvature R. The grid reaches three cells beyond
// the mesh; farther out s is continued by a lower bound of the distance.
//
// A transform of a point x of B into the frame of the grid of A is R_A^T (R_B x + p_B - p_A).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "capstan/geometry/mesh_bvh.h"

namespace capstan {

struct SdfGrid {
  std::shared_ptr<const MeshBvh> surface;  // the closed mesh the grid was made from
  Vec3 origin = Vec3::Zero();              // [m] node (0, 0, 0)
  double cell = 0;                         // [m] distance of nodes along each axis
  std::array<int, 3> nodes{};              // along x, y, z
  std::vector<float> value;                // [m] x fastest
  double error = 0;                        // [m] largest seen at cell centres within two cells of the surface

  float at(int i, int j, int k) const {
    return value[i + static_cast<std::size_t>(nodes[0]) * (j + static_cast<std::size_t>(nodes[1]) * k)];
  }
};

// `resolution` cells along the longest side of the mesh, 4 to 512. Throws InputError when the mesh is not
// closed, is inside out or the resolution is out of range.
SdfGrid make_sdf_grid(std::shared_ptr<const TriangleMesh> mesh, int resolution);

// s at p and (unless null) its gradient, which is that of the trilinear interpolant: not of exactly unit
// length.
double sdf_value(const SdfGrid& grid, const Vec3& p, Vec3* gradient = nullptr);

}  // namespace capstan
