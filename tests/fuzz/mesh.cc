// A mesh file of the kind fuzz::kFile names by its extension. What is accepted is finite, has indices
// in range, and can be compiled as a shape of each kind or is refused by compile().
#include "capstan/io/mesh_file.h"
#include "capstan/model/model.h"
#include "tests/fuzz/fuzz.h"

using namespace capstan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const std::string path = fuzz::file_of(fuzz::kFile, {reinterpret_cast<const char*>(data), size});
  const auto mesh =
      read_mesh(path, {1, -2, 0.5}, {"scene.yaml", 1}, fuzz::kLimits.max_mesh_triangles, &diagnostics);
  fuzz::require((mesh != nullptr) == diagnostics.ok(), "a mesh and an error, or neither");
  if (!mesh) return 0;
  const int n = static_cast<int>(mesh->vertices.size());
  for (const Vec3& v : mesh->vertices) fuzz::require(v.allFinite(), "a vertex that is not finite");
  for (const auto& t : mesh->triangles) {
    for (const int i : t) fuzz::require(i >= 0 && i < n, "a vertex that is not there");
  }
  if (mesh->triangles.size() > 200) return 0;
  const char* kinds[] = {"convex", "surface", "signed_distance, resolution: 8"};
  const std::string kind = kinds[size % 3];
  Diagnostics told;
  const Scene scene = read_yaml_text(
      "capstan: 1\nbodies:\n  - {name: a, joint: {type: free}, shape: {type: mesh, file: m, mass: 1, kind: " +
          kind + "}}\n",
      {{"m", mesh}}, &told);
  if (!told.ok()) return 0;
  try {
    compile(scene);
  } catch (const InputError&) {
  }
  return 0;
}
