// Small scene files written by the tests into a folder of their own.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "capstan/io/read.h"
#include "capstan/math/rotation.h"

namespace capstan {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  // Writes a file (with its folders) and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

template <class T>
const T* find_named(const std::vector<T>& list, const std::string& name) {
  for (const T& item : list) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

inline const Joint* find_joint(const Scene& scene, const std::string& name) {
  for (const Body& body : scene.bodies) {
    if (const Joint* joint = find_named(body.joints, name)) return joint;
  }
  return nullptr;
}

// Is there a diagnostic that has `text` in it (what or remedy), at `line` if that is above 0?
inline bool says(const Diagnostics& diagnostics, const std::string& text, int line = 0) {
  for (const Diagnostic& d : diagnostics.list) {
    if ((line == 0 || d.where.line == line) && to_string(d).find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace capstan
