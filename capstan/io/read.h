// Scene files in: our YAML, URDF, SDFormat and MJCF. The kind is told by the content's root element (and
// extension .yaml).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/scene/scene.h"

namespace capstan {

// Bounds on what a file may ask for, so that a bad one gives a message and not an exhausted machine.
struct ReadLimits {
  long max_file_bytes = 64L << 20;
  int max_nesting = 256;         // of elements, bodies and includes
  int max_elements = 1'000'000;  // in all files together, after repetition
  int max_repeat = 100'000;      // count of one replicate or repeat
  long max_mesh_triangles = 10'000'000;
};

// Reads a scene file with everything it includes. Problems are added to `diagnostics`, all that can be found;
// the scene is usable when diagnostics->ok(). Never throws for bad input.
Scene read_scene(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits = {});

// The same; throws InputError with every message when there is an error.
Scene read_scene(const std::string& path);

// The four readers. `directory`-relative paths inside a file are relative to that file.
Scene read_yaml(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits = {});
// YAML that is in memory already; its shapes find their meshes by the names in `meshes`, then as files.
Scene read_yaml_text(const std::string& text,
                     const std::map<std::string, std::shared_ptr<const TriangleMesh>>& meshes,
                     Diagnostics* diagnostics, const ReadLimits& limits = {});
Scene read_urdf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits = {});
Scene read_sdf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits = {});
Scene read_mjcf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits = {});

}  // namespace capstan
