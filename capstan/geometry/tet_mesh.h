// Solids cut into tetrahedra: made for simple forms, their surface, and how good the elements are.
#pragma once

#include <array>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

// det(v1 - v0, v2 - v0, v3 - v0) is positive.
struct TetMesh {
  std::vector<Vec3> vertices;            // [m]
  std::vector<std::array<int, 4>> tets;  // indices into vertices
};

double tet_volume(const TetMesh& mesh, int tet);  // [m^3] signed

// Centred at the origin. `cells` are along x, y, z; each cell of a box has five tets, turned from cell to
// cell.
TetMesh make_box_tets(const Vec3& size, const std::array<int, 3>& cells);

// A cylinder about z and a ball: a grid of cells of six tets, pushed out to be round. `across` cells over the
// diameter and `along` the axis, rounded up to even numbers: with an odd one the tets of a wheel all lean to
// one side, and it would roll to that side.
TetMesh make_cylinder_tets(double radius, double length, int across, int along);
TetMesh make_ball_tets(double radius, int across);
// A hollow ball: `layers` of cells between the two radii.
TetMesh make_shell_tets(double radius, double inner_radius, int across, int layers);

// Faces that belong to one tet alone, counter-clockwise seen from outside.
std::vector<std::array<int, 3>> surface_of(const TetMesh& mesh);

// What of a mesh is used: vertices of no tet are left out, tets with their vertices in the other order are
// turned.
TetMesh cleaned(const TetMesh& mesh);

// Two tets on the same side of a face, which therefore overlap; or {-1, -1}.
std::array<int, 2> find_doubled_tets(const TetMesh& mesh);
// A vertex of no tet, or -1.
int find_unused_vertex(const TetMesh& mesh);

// sqrt(72) V / (root mean square edge)^3: 1 for a regular tet, 0 for a flat one, negative for an inverted
// one.
double tet_quality(const TetMesh& mesh, int tet);
struct TetMeshQuality {
  double worst = 1, mean = 1;
  int worst_tet = -1;
};
TetMeshQuality examine_tets(const TetMesh& mesh);

}  // namespace capstan
