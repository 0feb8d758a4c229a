#include <fmt/core.h>

#include <algorithm>

#include "apps/capstan/commands.h"
#include "capstan/io/scene_library.h"

namespace capstan::cli {

constexpr std::size_t kMaxDescription = 96;

int list(const ListOptions& options) {
  const std::vector<ShippedScene> scenes = shipped_scenes();
  if (scenes.empty()) {
    throw InputError(Source{}, "the scenes that ship with capstan were not found",
                     "set CAPSTAN_SCENES to their folder");
  }
  std::size_t width = 0;
  for (const ShippedScene& scene : scenes) width = std::max(width, scene.name.size());
  for (const ShippedScene& scene : scenes) {
    std::string text = options.paths ? scene.path : scene.description;
    if (!options.paths && text.size() > kMaxDescription) {
      text = text.substr(0, text.rfind(' ', kMaxDescription)) + " ...";
    }
    fmt::print("{:<{}}  {}\n", scene.name, width, text);
  }
  return kOk;
}

}  // namespace capstan::cli
