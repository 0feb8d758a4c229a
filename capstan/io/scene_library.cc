#include "capstan/io/scene_library.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "capstan/base/closest_name.h"
#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kExtensions = {".yaml", ".xml", ".urdf"};

int rank(const fs::path& path) {
  const auto it = std::find(kExtensions.begin(), kExtensions.end(), path.extension());
  return static_cast<int>(it - kExtensions.begin());
}

std::string read_opening(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(8192, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

std::string scene_folder() {
  std::error_code error;
  if (const char* folder = std::getenv("CAPSTAN_SCENES"))
    return fs::is_directory(folder, error) ? folder : "";
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder :
       {program.parent_path().parent_path() / "share/capstan/scenes", fs::path(CAPSTAN_SCENES_SOURCE)}) {
    if (fs::is_directory(folder, error)) return folder;
  }
  return "";
}

std::vector<ShippedScene> shipped_scenes() {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(scene_folder(), error)) {
    if (entry.is_regular_file() && rank(entry.path()) < static_cast<int>(kExtensions.size())) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    return a.stem() != b.stem() ? a.stem() < b.stem() : rank(a) < rank(b);
  });
  std::vector<ShippedScene> scenes;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool first = i == 0 || paths[i].stem() != paths[i - 1].stem();
    scenes.push_back(
        {first ? paths[i].stem() : paths[i].filename(), paths[i], opening_sentence(read_opening(paths[i]))});
  }
  return scenes;
}

std::string find_scene(const std::string& path_or_name) {
  std::error_code error;
  if (fs::is_regular_file(path_or_name, error)) return path_or_name;
  std::vector<std::string> names;
  for (const ShippedScene& scene : shipped_scenes()) {
    if (path_or_name == scene.name || path_or_name == fs::path(scene.path).filename()) return scene.path;
    names.push_back(scene.name);
  }
  const Source where{path_or_name, 0};
  if (fs::is_directory(path_or_name, error)) {
    throw InputError(where, "this is a folder", "give a scene file (.yaml, .xml, .urdf) in it");
  }
  if (fs::exists(path_or_name, error))
    throw InputError(where, "this is not a regular file", "give a scene file");
  const std::string near = closest_name(path_or_name, names);
  throw InputError(
      where, "there is neither a file nor a shipped scene of this name",
      near.empty() ? "'capstan list' lists the scenes" : fmt::format("did you mean '{}'?", near));
}

std::string opening_sentence(const std::string& text) {
  std::string comment;
  std::istringstream lines(text);
  std::string line;
  const std::size_t begin = text.find("<!--");
  if (begin != std::string::npos && text.find_first_not_of(" \t\r\n") != std::string::npos &&
      text[text.find_first_not_of(" \t\r\n")] == '<') {
    comment = text.substr(begin + 4, text.find("-->", begin) - begin - 4);
  } else {
    while (std::getline(lines, line) && line.starts_with('#')) comment += line.substr(1) + "\n";
  }
  std::string sentence;
  std::istringstream paragraph(comment);
  while (std::getline(paragraph, line)) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) {
      if (sentence.empty()) continue;
      break;
    }
    const std::string words = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    sentence += (sentence.empty() ? "" : " ") + words;
  }
  // A full stop ends a sentence unless it is in parentheses or after an initial ("L. Euler").
  int depth = 0;
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i) {
    depth += sentence[i] == '(' ? 1 : sentence[i] == ')' ? -1 : 0;
    if (depth == 0 && sentence[i] == '.' && sentence[i + 1] == ' ' && i >= 2 && sentence[i - 2] != ' ') {
      sentence.resize(i);
    }
  }
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ':')) sentence.pop_back();
  return sentence;
}

}  // namespace capstan
