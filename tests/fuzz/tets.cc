// A file of tets of the kind fuzz::kFile names by its extension: what is accepted is finite and has
// indices in range, and as a soft body and as tets of a shape it compiles, or compile() refuses it.
#include "capstan/io/tet_file.h"
#include "capstan/model/model.h"
#include "tests/fuzz/fuzz.h"

using namespace capstan;

namespace {

constexpr std::size_t kMostTets = 200;  // that are compiled

void compile_scene(const std::string& text) {
  Diagnostics diagnostics;
  const Scene scene = read_scene(fuzz::file_of("scene.yaml", "capstan: 1\n" + text), &diagnostics);
  if (!diagnostics.ok()) return;
  try {
    compile(scene);
  } catch (const InputError&) {
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  return fuzz::mutate_text_in_place(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const std::string path = fuzz::file_of(fuzz::kFile, {reinterpret_cast<const char*>(data), size});
  const auto mesh = read_tets(path, 0.5, {"scene.yaml", 1}, &diagnostics);
  fuzz::require((mesh != nullptr) == diagnostics.ok(), "tets and an error, or neither");
  if (!mesh) return 0;
  const int n = static_cast<int>(mesh->vertices.size());
  for (const Vec3& v : mesh->vertices) fuzz::require(v.allFinite(), "a vertex that is not finite");
  for (const auto& tet : mesh->tets) {
    for (const int i : tet) fuzz::require(i >= 0 && i < n, "a vertex that is not there");
  }
  if (mesh->tets.size() > kMostTets) return 0;
  const std::string file = fuzz::kFile;
  compile_scene("soft_bodies: [{name: a, mesh: " + file + ", young_modulus: 1e5, density: 1000}]\n");
  compile_scene(
      "materials: [{name: default, contact: patch, elastic_modulus: 1e6}]\nbodies: [{name: a, joint: free, "
      "shape: "
      "{type: mesh, file: tetrahedron.obj, mass: 1, tets: " +
      file + "}}]\n");
  return 0;
}
