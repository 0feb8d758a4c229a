// Closed surfaces filled with tets by an external program: Gmsh, or TetGen where that is not installed.
//
// The program runs without a shell in a temporary folder of its own, on the repaired surface, whose longest
// side is 1 there, with one thread and at most kMesherSeconds. Gmsh cuts the surface anew: patches that meet
// at 40 degrees or more keep their edges, the rest becomes triangles as long as a cell. TetGen keeps its
// triangles and cuts what is too large, so that fine ones make many tets; it fills cavities, too, which is
// told as a mistake. The same program makes the same tets of the same surface. Recordings and written scenes
// hold the tets, and need no program.
#pragma once

#include <memory>
#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/tet_mesh.h"

namespace capstan {

constexpr int kMesherSeconds = 120;

// Whether a file, by its name, has a surface: OBJ, STL or DAE.
bool is_surface_file(const std::string& path);

// The program: CAPSTAN_MESHER in the environment (a path or a name; one with "tetgen" in its name is called
// as TetGen, others as Gmsh; "none": there is none), or gmsh or tetgen in PATH. Empty where there is none.
std::string find_mesher();

// `cell` [m]: about the length of the edges; 0: a sixth of the longest side. Coordinates are multiplied by
// `scale`. Null where the surface is open or cannot be filled; the reason is then in `diagnostics`, at
// `referrer`, the place in the scene that names the file.
std::shared_ptr<const TetMesh> fill_surface(const std::string& path, double scale, double cell,
                                            const Source& referrer, Diagnostics* diagnostics);

}  // namespace capstan
