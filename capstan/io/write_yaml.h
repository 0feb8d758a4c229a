// Scenes out, in the format of docs/scene.md: to convert MJCF and URDF models, or to see what one contains.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/scene/scene.h"

namespace capstan {

// The scene as text that read_yaml() reads back to the same scene: every number keeps its bits, values that
// are the default are left out. Meshes are referred to by file: `mesh_files` names the file of each; a shape
// whose mesh has none is left out with a comment that says so.
std::string write_yaml(const Scene& scene, const std::map<const TriangleMesh*, std::string>& mesh_files = {});

// The meshes of a scene's shapes, each once, in the order of the shapes.
std::vector<std::shared_ptr<const TriangleMesh>> meshes_of(const Scene& scene);

// Writes the scene to `path` and its meshes beside it as <stem>_mesh1.obj, ...; false (and an error in
// `diagnostics`) when a file cannot be written. Convex and surface meshes keep their vertices and triangles.
bool save_yaml(const Scene& scene, const std::string& path, Diagnostics* diagnostics);

}  // namespace capstan
