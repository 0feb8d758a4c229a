// VTK's XML files of unstructured grids (.vtu): points and tets, as text or as base64 in place, not
// compressed and not appended.
#pragma once

#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/tet_mesh.h"

namespace capstan {

// Tets of four nodes, and of ten-node ones the first four. False when it cannot be used: the reason is in
// `diagnostics`, at a line of the file.
bool read_vtu(const std::string& text, const std::string& path, TetMesh* mesh, Diagnostics* diagnostics);

}  // namespace capstan
