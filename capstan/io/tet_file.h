// Solid meshes in: Gmsh's MSH (2.2 and 4.1, text), VTK's legacy files of unstructured grids (text) and its
// XML ones (vtu_file.h).
//
// Tets of four nodes are read, and of ten-node ones the first four; other elements (triangles, lines, points)
// are left out.
#pragma once

#include <memory>
#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/tet_mesh.h"

namespace capstan {

// Null when the file cannot be used; the reason is then in `diagnostics`, told at the line of the file, or at
// `referrer`, the place in the scene that names it. Coordinates are multiplied by `scale`.
std::shared_ptr<const TetMesh> read_tets(const std::string& path, double scale, const Source& referrer,
                                         Diagnostics* diagnostics);

}  // namespace capstan
