// A scene file of the kind fuzz::kFile names by its extension: read, compiled, examined, written and
// read back. Bad input is told by Diagnostics or InputError and by nothing else; a scene that compiles is
// written so that it is read as the same model; written without what has no effect, as 'capstan convert'
// does, it is read without being told of any.
#include <map>

#include "capstan/io/without_idle.h"
#include "capstan/io/write_yaml.h"
#include "capstan/model/model.h"
#include "tests/fuzz/fuzz.h"

using namespace capstan;

namespace {

// What reading it tells.
Diagnostics write_and_read(const Scene& scene, std::uint64_t fingerprint) {
  std::map<const TriangleMesh*, std::string> names;
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes;
  for (const auto& mesh : meshes_of(scene)) {
    const std::string name = "mesh" + std::to_string(names.size() + 1);
    names[mesh.get()] = name;
    meshes[name] = mesh;
  }
  Diagnostics told;
  const std::string yaml = write_yaml(scene, names);
  const Scene back = read_yaml_text(yaml, meshes, &told);
  fuzz::require(told.ok(), "what was written is not read: " + told.text() + "\n" + yaml);
  fuzz::require(compile(back).fingerprint == fingerprint, "what was written is another model:\n" + yaml);
  return told;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  return fuzz::mutate_text_in_place(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const std::string path = fuzz::file_of(fuzz::kFile, {reinterpret_cast<const char*>(data), size});
  const Scene scene = read_scene(path, &diagnostics, fuzz::kLimits);
  for (const Diagnostic& d : diagnostics.list) {
    fuzz::require(d.what.size() < 4000, "a message of " + std::to_string(d.what.size()) + " characters");
  }
  if (!diagnostics.ok()) return 0;
  std::uint64_t fingerprint = 0;
  try {
    fingerprint = compile(scene).fingerprint;
  } catch (const InputError&) {
    return 0;
  }
  write_and_read(scene, fingerprint);
  const Scene tidy = without_idle(scene).scene;
  for (const Diagnostic& d : write_and_read(tidy, compile(tidy).fingerprint).list) {
    const bool is_kept = d.what.starts_with("velocity_limit");  // for programs that read the scene
    fuzz::require(is_kept || d.what.find("has no effect") == std::string::npos,
                  "after tidying up: " + d.what);
  }
  return 0;
}
