// Which shapes have pressure fields (geometry/pressure_field.h).
#include <fmt/core.h>

#include <cmath>

#include "capstan/geometry/pressure_field.h"
#include "capstan/geometry/tet_mesh.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

constexpr int kFewestRings = 2, kMostRings = 16, kFewestPoints = 3;

bool is_round(const Shape& shape) {
  return std::holds_alternative<Sphere>(shape) || std::holds_alternative<Ellipsoid>(shape) ||
         std::holds_alternative<Capsule>(shape) || std::holds_alternative<Cylinder>(shape);
}

bool check_patch_options(const PatchOptions& o, const Source& where, const std::string& who, Diagnostics& d) {
  const int before = d.num_errors();
  if (o.rings < kFewestRings || o.rings > kMostRings) {
    d.error(where, fmt::format("{} has {} patch rings", who, o.rings),
            fmt::format("write a number from {} to {}", kFewestRings, kMostRings));
  }
  if (o.points != 0 && o.points < kFewestPoints) {
    d.error(where, fmt::format("{} has patches of {} points", who, o.points),
            fmt::format("write {} or more, or 0 for all points", kFewestPoints));
  }
  if (!(o.thickness > 0) || std::isinf(o.thickness)) {
    d.error(where, fmt::format("{} has thickness {:g} m", who, o.thickness),
            "write a finite number of metres above 0");
  }
  return d.num_errors() == before;
}

// Keys that say something about patches that this shape has no use for.
void tell_unused_patch_keys(const ShapeInstance& s, const std::string& who, bool is_patch, bool is_rigid,
                            Diagnostics& d) {
  const PatchOptions plain;
  const auto tell = [&](bool written, bool used, const char* key, const char* why) {
    if (written && !used)
      d.warning(s.where, fmt::format("{} of {} has no effect: {}", key, who, why), "remove it");
  };
  const char* no_patch = "it touches at points";
  tell(s.patch.points != plain.points, is_patch, "patch_points", no_patch);
  tell(s.patch.rings != plain.rings, is_patch && is_round(s.shape), "patch_rings",
       is_patch ? "only round shapes have facets" : no_patch);
  const bool is_layer = std::holds_alternative<HalfSpace>(s.shape);
  tell(s.patch.thickness != plain.thickness, is_patch && is_layer && !is_rigid, "thickness",
       !is_patch   ? no_patch
       : !is_layer ? "only a half space has a layer that yields"
                   : "it is rigid");
  tell(s.patch.tets != nullptr, is_patch && !is_rigid, "tets", is_patch ? "it is rigid" : no_patch);
}

}  // namespace

void ModelCompiler::compile_patches() {
  std::vector<char> is_used(model.materials.size(), 0);
  for (ModelShape& entry : model.shapes) {
    const auto found = shape_index.find(entry.name);
    if (found == shape_index.end()) continue;
    const ShapeInstance& s = scene.shapes[found->second];
    const Material& m = model.materials[entry.material];
    const std::string who = quoted("shape", s.name);
    const bool is_patch = entry.collides && s.patch.contact.value_or(m.contact) == ContactModel::patch;
    if (!check_patch_options(s.patch, s.where, who, diagnostics)) continue;
    tell_unused_patch_keys(s, who, is_patch, std::isinf(m.elastic_modulus), diagnostics);
    if (!is_patch) continue;
    is_used[entry.material] = 1;
    if (s.patch.tets) {
      if (const auto [a, b] = find_doubled_tets(*s.patch.tets); a >= 0) {
        diagnostics.error(s.where, fmt::format("tets {} and {} of {} overlap", a, b, who),
                          "leave one of them out: tets that share a face lie on its two sides");
        continue;
      }
    }
    try {
      entry.field = make_pressure_field(s.shape, {s.patch.thickness, s.patch.rings, s.patch.tets});
    } catch (const InputError& error) {
      for (const Diagnostic& d : error.diagnostics().list)
        diagnostics.error(s.where, fmt::format("{}: {}", who, d.what), d.remedy);
      continue;
    }
    entry.modulus = entry.field->is_solid ? m.elastic_modulus : kInfinity;
    entry.patch_points = s.patch.points;
  }
  const Material plain;
  for (std::size_t i = 0; i < model.materials.size(); ++i) {
    const Material& m = model.materials[i];
    if (m.elastic_modulus == plain.elastic_modulus || is_used[i] != 0) continue;
    diagnostics.warning(
        m.where,
        fmt::format("elastic_modulus of material '{}' has no effect: its shapes touch at points", m.name),
        "write 'contact: patch', or 'stiffness: ...' [N/m] for points");
  }
}

}  // namespace capstan
