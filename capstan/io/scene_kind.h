// Which reader a scene file needs.
#pragma once

#include <string>
#include <string_view>

#include "capstan/base/diagnostics.h"
#include "capstan/io/read.h"

namespace capstan {

enum class SceneKind { unknown, yaml, urdf, sdf, mjcf };

// The root element decides (<mujoco>, <robot>, <sdf>), for files without one the extension (.yaml, .yml) or a
// line that begins with "capstan:". unknown when the file cannot be read or is none of these; the reason is
// then told at `where`.
SceneKind find_scene_kind(const std::string& path, const Source& where, const ReadLimits& limits,
                          Diagnostics* diagnostics);

// Name of the first element of an XML text, "" when there is none. Prologue, comments and DOCTYPE are passed
// over.
std::string_view xml_root(std::string_view text);

}  // namespace capstan
