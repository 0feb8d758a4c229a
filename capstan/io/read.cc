#include "capstan/io/read.h"

#include <fmt/core.h>

#include "capstan/io/file.h"
#include "capstan/io/scene_kind.h"

namespace capstan {

std::string_view xml_root(std::string_view text) {
  auto skip_to = [&](std::string_view end) {
    const size_t at = text.find(end);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  };
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  while (true) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '<') return {};
    text.remove_prefix(begin);
    if (text.substr(0, 4) == "<!--") {
      skip_to("-->");
    } else if (text.substr(0, 2) == "<?") {
      skip_to("?>");
    } else if (text.substr(0, 2) == "<!") {
      skip_to(">");
    } else {
      text.remove_prefix(1);
      return text.substr(0, text.find_first_of(" \t\r\n/>"));
    }
  }
}

SceneKind find_scene_kind(const std::string& path, const Source& where, const ReadLimits& limits,
                          Diagnostics* diagnostics) {
  const std::string extension = lower_extension(path);
  auto fail = [&](const std::string& what, const std::string& remedy) {
    diagnostics->error(where, fmt::format("scene file '{}' {}", path, what), remedy);
    return SceneKind::unknown;
  };
  if (extension == ".stl" || extension == ".obj" || extension == ".msh") {
    return fail("is a mesh, not a scene", "name it in a scene: shapes: [{type: mesh, file: ...}]");
  }
  std::string bytes;
  if (!read_file(path, limits.max_file_bytes, "scene", where, &bytes, diagnostics)) return SceneKind::unknown;

  const std::string_view root = xml_root(bytes);
  if (root == "mujoco" || root == "mujocoinclude") return SceneKind::mjcf;
  if (root == "robot") {
    if (extension == ".xacro")
      return fail("is a xacro macro file", "run xacro on it and use the URDF it writes");
    return SceneKind::urdf;
  }
  if (root == "sdf") return SceneKind::sdf;
  if (!root.empty()) {
    return fail(fmt::format("has the root element <{}>", root.substr(0, 40)),
                "Capstan reads <mujoco> (MJCF), <robot> (URDF) and <sdf> (SDFormat), and YAML scenes");
  }
  const size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return fail("has only blanks", "begin a scene with 'capstan: 1'");
  if (extension == ".yaml" || extension == ".yml") return SceneKind::yaml;
  if (extension == ".xml" || extension == ".mjcf" || extension == ".urdf" || extension == ".sdf" ||
      extension == ".world") {
    return fail("has no root element", "it should begin with <mujoco> (MJCF), <robot> (URDF) or <sdf>");
  }
  if (bytes.compare(0, 8, "capstan:") == 0 || bytes.find("\ncapstan:") != std::string::npos)
    return SceneKind::yaml;
  return fail("is not a scene of a known kind",
              "Capstan reads .yaml scenes that begin with 'capstan: 1', MJCF (<mujoco>), URDF (<robot>) and "
              "SDFormat (<sdf>)");
}

Scene read_scene(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits) {
  switch (find_scene_kind(path, {path, 0}, limits, diagnostics)) {
    case SceneKind::yaml:
      return read_yaml(path, diagnostics, limits);
    case SceneKind::urdf:
      return read_urdf(path, diagnostics, limits);
    case SceneKind::sdf:
      return read_sdf(path, diagnostics, limits);
    case SceneKind::mjcf:
      return read_mjcf(path, diagnostics, limits);
    case SceneKind::unknown:
      break;
  }
  Scene scene;
  scene.file = path;
  return scene;
}

Scene read_scene(const std::string& path) {
  Diagnostics diagnostics;
  Scene scene = read_scene(path, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return scene;
}

}  // namespace capstan
