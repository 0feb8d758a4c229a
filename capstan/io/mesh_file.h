// Mesh files in: OBJ, STL (ASCII and binary), COLLADA (mesh_dae.h), and MuJoCo's MSH.
#pragma once

#include <memory>
#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/mesh.h"

namespace capstan {

// Null when the file cannot be used; the reason is then in `diagnostics`, told at `referrer` (the place in
// the scene file that names the mesh). Each coordinate is multiplied by `scale`; a mirroring scale flips the
// triangles. STL's repeated vertices are merged; degenerate triangles are dropped with a warning.
std::shared_ptr<const TriangleMesh> read_mesh(const std::string& path, const Vec3& scale,
                                              const Source& referrer, long max_triangles,
                                              Diagnostics* diagnostics);

}  // namespace capstan
