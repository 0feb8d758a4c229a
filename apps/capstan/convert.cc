#include <fmt/core.h>

#include <filesystem>

#include "apps/capstan/commands.h"
#include "capstan/io/output_file.h"
#include "capstan/io/read.h"
#include "capstan/io/without_idle.h"
#include "capstan/io/write_yaml.h"

namespace capstan::cli {

// Any scene file as a YAML scene, without what has no effect; read back to make sure that it is the same
// model.
int convert(const ConvertOptions& o) {
  const std::filesystem::path out = o.out;
  if (out.extension() != ".yaml" && out.extension() != ".yml")
    throw UsageError(fmt::format("'{}' is not a .yaml file, which is what scenes are written as", o.out));
  const LoadedScene loaded = load(o.scene, o.strict);
  std::error_code ignored;
  if (std::filesystem::equivalent(loaded.path, out, ignored))
    throw UsageError(fmt::format("'{}' would be overwritten by what is read from it", o.out));
  tell_warnings(loaded);
  Diagnostics diagnostics;
  const TidyScene tidy = without_idle(loaded.scene);
  const std::uint64_t fingerprint = compile(tidy.scene).fingerprint;
  if (!save_yaml(tidy.scene, o.out, &diagnostics))
    throw OutputError(o.out,
                      diagnostics.list.empty() ? "it cannot be written" : diagnostics.list.back().what);
  const Model back = compile(read_scene(o.out));
  if (back.fingerprint != fingerprint) {
    throw InputError(Source{o.out, 0}, "the scene that was written is not the same model",
                     "report this scene as a bug");
  }
  for (const std::string& what : tidy.left_out) tell("note: {} is left out\n", what);
  const std::size_t meshes = meshes_of(tidy.scene).size();
  if (!o.quiet) {
    fmt::print("{}: {} bodies, {} joints, {} shapes{}\n", o.out, loaded.model.bodies.size() - 1,
               loaded.model.joints.size(), loaded.model.shapes.size(),
               meshes > 0 ? fmt::format(", {} meshes beside it", meshes) : "");
  }
  return kOk;
}

}  // namespace capstan::cli
