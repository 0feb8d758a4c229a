#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "apps/capstan/commands.h"
#include "capstan/contacts/patches.h"
#include "capstan/geometry/pressure_field.h"
#include "capstan/io/read.h"
#include "capstan/io/scene_library.h"
#include "capstan/model/default_stiffness.h"
#include "capstan/step/examine.h"
#include "capstan/step/sensors.h"

namespace capstan::cli {
namespace {

// Where nothing is written, stiffness may be other than what one expects (model/default_stiffness.h).
void tell_default_stiffness(const Model& model) {
  double least = kInfinity, most = 0;
  std::string stiffest;
  for (const ModelShape& shape : model.shapes) {
    const Material& m = model.materials[shape.material];
    if (!shape.collides || m.stiffness || m.stiffness_per_kilogram > 0 || shape.part != SurfacePart::none)
      continue;
    least = std::min(least, shape.stiffness);
    if (shape.stiffness <= most) continue;
    most = shape.stiffness;
    stiffest = shape.name;
  }
  if (most <= kLeastStiffness) return;
  const std::string range =
      least < most ? fmt::format("{:.3g} to {:.3g}", least, most) : fmt::format("{:.3g}", most);
  tell("note: shapes without a written stiffness have {} N/m, for the weight they may carry (most: '{}')\n",
       range, stiffest);
}

// Meshes without tets and height fields have no inside that could yield.
void tell_rigid_surfaces(const Model& model) {
  for (const ModelShape& shape : model.shapes) {
    if (shape.field == nullptr || shape.field->is_solid) continue;
    if (std::isinf(model.materials[shape.material].elastic_modulus)) continue;
    tell(
        "note: shape '{}' is rigid in patches: it has no tets, and the elastic_modulus of its material is "
        "not used\n",
        shape.name);
  }
}

// Pairs that ask for patches and touch at points all the same.
void tell_point_pairs(const Model& model) {
  const int n = static_cast<int>(model.shapes.size());
  if (std::none_of(model.shapes.begin(), model.shapes.end(),
                   [](const ModelShape& s) { return s.field != nullptr; }))
    return;
  int count = 0, first_a = 0, first_b = 0;
  bool told_soft = false, told_itself = false;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      const ModelShape &A = model.shapes[a], &B = model.shapes[b];
      if ((A.field == nullptr && B.field == nullptr) || (A.link == 0 && B.link == 0)) continue;
      if (has_patch(A, B) || !may_collide(model, a, b)) continue;
      if (A.part != SurfacePart::none && B.part != SurfacePart::none) {
        const bool is_one = A.collider.solid == B.collider.solid;
        bool& told = is_one ? told_itself : told_soft;
        const auto body = [](const ModelShape& shape) { return shape.name.substr(0, shape.name.find('/')); };
        if (!told && is_one) {
          tell("note: soft bodies touch themselves at points, also where they ask for patches: '{}'\n",
               body(A));
        } else if (!told) {
          tell("note: soft bodies touch each other over patches if both ask for it: '{}' and '{}' do not\n",
               body(A), body(B));
        }
        told = true;
        continue;
      }
      if (count++ == 0) first_a = a, first_b = b;
    }
  }
  if (count == 0) return;
  const ModelShape &A = model.shapes[first_a], &B = model.shapes[first_b];
  const ModelShape& point = A.field == nullptr ? A : B;
  const std::string why = A.field != nullptr && B.field != nullptr
                              ? "both are rigid"
                              : fmt::format("'{}' has no patches", point.name);
  tell("note: {} pair{} of shapes touch{} at points although one asks for patches: '{}' and '{}'{}, as {}\n",
       count, count == 1 ? "" : "s", count == 1 ? "es" : "", A.name, B.name, count > 1 ? " and others" : "",
       why);
}

}  // namespace

int check(const CheckOptions& options) {
  choose_step_options({}, options.dt, options.integrator);
  const std::string path = find_scene(options.scene);
  Diagnostics diagnostics;
  diagnostics.strict = options.strict;
  const Scene scene = read_scene(path, &diagnostics);
  // A scene that was read in part is compiled all the same, to tell its other problems too; not when a whole
  // file is missing, since everything in it would be told as missing once more.
  const bool whole = std::none_of(diagnostics.list.begin(), diagnostics.list.end(), [&](const Diagnostic& d) {
    return d.severity == Severity::error && (d.where.line == 0 || d.where.file != path);
  });
  const std::size_t num_read = diagnostics.list.size();
  const bool read_well = diagnostics.ok();
  const Model model = whole ? compile(scene, &diagnostics) : Model{};
  if (diagnostics.ok()) {
    examine(scene, model, choose_step_options(step_options(model), options.dt, options.integrator),
            &diagnostics);
    make_schedule(model, scene.controls, &diagnostics);
    make_sensors(model, scene, scene.sensors, &diagnostics);
  }
  for (std::size_t i = 0; i < diagnostics.list.size(); ++i) {
    if (i == num_read && !read_well) {
      tell("note: what follows was found without the parts that could not be read\n");
    }
    tell("{}\n", to_string(diagnostics.list[i]));
  }
  if (diagnostics.ok() && !options.quiet) {
    tell_default_stiffness(model);
    tell_rigid_surfaces(model);
    tell_point_pairs(model);
  }
  const int errors = diagnostics.num_errors(), warnings = diagnostics.num_warnings();
  if (!options.quiet) {
    fmt::print("{}: {} error{}, {} warning{}\n", path, errors, errors == 1 ? "" : "s", warnings,
               warnings == 1 ? "" : "s");
  }
  if (errors > 0) return kBadInput;
  return options.strict && warnings > 0 ? kWarnings : kOk;
}

}  // namespace capstan::cli
