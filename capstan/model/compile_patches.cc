// Which shapes have pressure fields (geometry/pressure_field.h).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "capstan/geometry/mesh_bvh.h"
#include "capstan/geometry/pressure_field.h"
#include "capstan/geometry/tet_mesh.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

constexpr double kMostMisfit = 0.1;  // of the size of a mesh
constexpr int kFewestRings = 2, kMostRings = 16, kFewestPoints = 3;

bool is_round(const Shape& shape) {
  return std::holds_alternative<Sphere>(shape) || std::holds_alternative<Ellipsoid>(shape) ||
         std::holds_alternative<Capsule>(shape) || std::holds_alternative<Cylinder>(shape);
}

const TriangleMesh* mesh_of(const Shape& shape) {
  if (const auto* s = std::get_if<SurfaceMesh>(&shape)) return s->mesh.get();
  if (const auto* s = std::get_if<SignedDistanceMesh>(&shape)) return s->mesh.get();
  return nullptr;
}
bool is_mesh(const Shape& shape) {
  return mesh_of(shape) != nullptr;
}

// [m] how far the surface of the tets is from that of their mesh, at the vertices of both; and the size of
// the mesh.
std::pair<double, double> calc_misfit(const TetMesh& tets, const TriangleMesh& mesh) {
  auto outside = std::make_shared<TriangleMesh>();
  outside->vertices = tets.vertices;
  outside->triangles = surface_of(tets);
  const auto plain = std::make_shared<TriangleMesh>(mesh);
  double most = 0;
  Aabb box;
  const auto compare = [&](const TriangleMesh& from, const std::shared_ptr<TriangleMesh>& to) {
    const MeshBvh bvh = make_mesh_bvh(to);
    for (const auto& triangle : from.triangles) {
      for (const int v : triangle) most = std::max(most, closest_point(bvh, from.vertices[v]).distance);
    }
  };
  compare(*outside, plain);
  compare(mesh, outside);
  for (const Vec3& v : mesh.vertices) include(box, v);
  return {most, (box.upper - box.lower).norm()};
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
  const bool is_filled = is_mesh(s.shape);
  tell(s.patch.tets != nullptr, is_patch && !is_rigid && is_filled, "tets",
       !is_filled
           ? "the inside of this shape is known; they are for meshes of kind surface or signed_distance"
       : is_patch ? "it is rigid"
                  : no_patch);
}

}  // namespace

// The surface of a soft body carries its field (contacts/surface_field.h). Whether it is to.
bool ModelCompiler::compile_soft_patch(const SoftBodySpec& spec, int object) {
  const SoftBody& body = soft_body_of(model, object);
  const Object& o = model.objects[object];
  const int material = model.shapes[model.flexible_shapes[o.flexible_begin]].material;
  const Material& m = model.materials[material];
  if (spec.contact.value_or(m.contact) != ContactModel::patch) return false;
  auto field = std::make_shared<PressureField>();
  field->is_convex = false;
  field->depth = calc_depth(*spec.mesh);
  const int first_triangle = o.link_begin + body.num_carried();
  for (ModelShape& shape : model.shapes) {
    if (shape.part == SurfacePart::none || shape.link < o.link_begin || shape.link >= o.link_end) continue;
    shape.field = field;
    shape.modulus = m.elastic_modulus;
    for (int k = 0; k < 3 && shape.part == SurfacePart::triangle; ++k) {
      const int other = body.beside(shape.link - first_triangle, k);
      if (other >= 0) shape.beside[k] = first_triangle + other;
    }
  }
  if (std::isinf(m.elastic_modulus)) {
    diagnostics.error(spec.source_of("material"),
                      fmt::format("soft body '{}' has patches, and a rigid material", spec.name),
                      "write a finite elastic_modulus [Pa], ten times its young_modulus or more");
  }
  return true;
}

void ModelCompiler::compile_patches() {
  std::vector<char> is_used(model.materials.size(), 0);
  for (std::size_t i = 0; i < scene.soft_bodies.size(); ++i) {
    const int object = i < soft_objects.size() ? soft_objects[i] : -1;
    if (object < 0 || !scene.soft_bodies[i].collides) continue;
    if (compile_soft_patch(scene.soft_bodies[i], object)) {
      const Object& o = model.objects[object];
      is_used[model.shapes[model.flexible_shapes[o.flexible_begin]].material] = 1;
    }
  }
  for (const RodSpec& spec : scene.rods) {
    const auto material = material_index.find(spec.material);
    if (material == material_index.end() || !spec.collides) continue;
    if (has_patches(spec, material->second, model)) {
      is_used[material->second] = 1;
    } else if (asks_for_patches(spec, model.materials[material->second])) {
      diagnostics.warning(
          spec.where,
          fmt::format("{} touches at points: elliptic sections have no patches", quoted("rod", spec.name)),
          "give it a round or a rectangular section, or write 'contact: point'");
    }
  }
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
    if (const TriangleMesh* mesh = mesh_of(s.shape); s.patch.tets && mesh != nullptr) {
      if (const auto [misfit, size] = calc_misfit(*s.patch.tets, *mesh); misfit > kMostMisfit * size) {
        diagnostics.warning(
            s.where,
            fmt::format("the tets of {} do not fit its mesh: their surfaces are {:.3g} m apart, of {:.3g} m",
                        who, misfit, size),
            "give tets of the same mesh, in its frame and with its scale");
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
