// Materials, shapes, sites and collision filters to indices.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/model/compiler.h"
#include "capstan/model/default_stiffness.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

constexpr double kLargestModulus =
    1e20;  // [Pa] ten million times that of diamond; more is no longer resolved
constexpr double kLargestStiffness = 1e20;  // [N/m] from 1e25 on, impulses of bodies of 1 kg are not resolved
constexpr const char* kLessStiff = "write at most 1e20 N/m, or .inf for what does not yield";
constexpr double kLeastTensor = 1e-50,
                 kLargestTensor = 1e9;  // whose squares, and those of impulses, are numbers
constexpr const char* kBeyond = ", more than double precision can carry in contact (1e9 m)";

void check_tensor(const FrictionTensor& t, const Source& where, const std::string& who, Diagnostics& d) {
  for (const double mu : {t.along, t.across}) {
    if (mu == 0 || (mu >= kLeastTensor && mu <= kLargestTensor)) continue;
    d.error(where, fmt::format("{} has friction tensor entry {:g}", who, mu),
            "write 0, or a coefficient from 1e-50 to 1e9");
  }
  if (!t.direction.allFinite() || !(t.direction.norm() > 1e-9)) {
    d.error(where, who + " has a friction direction that is zero or not finite",
            "write a direction such as 1 0 0");
  }
}

std::string why_unsound_mesh(const TriangleMesh* mesh) {
  if (mesh == nullptr || mesh->vertices.empty() || mesh->triangles.empty()) return "no mesh";
  const int n = static_cast<int>(mesh->vertices.size());
  Vec3 lower = mesh->vertices[0], upper = lower;
  for (const Vec3& vertex : mesh->vertices) {
    if (!vertex.allFinite()) return "a vertex that is not finite";
    lower = lower.cwiseMin(vertex);
    upper = upper.cwiseMax(vertex);
  }
  const double extent = (upper - lower).maxCoeff();
  if (!(extent > kSmallestSize)) return fmt::format("a mesh of size {:g} m", extent);
  const double farthest = std::max(upper.maxCoeff(), -lower.minCoeff());
  if (farthest > kLargestNumber) return fmt::format("a vertex at {:g} m{}", farthest, kBeyond);
  for (const auto& triangle : mesh->triangles) {
    for (const int i : triangle) {
      if (i < 0 || i >= n) return fmt::format("a triangle with vertex {}, but only {} vertices", i, n);
    }
  }
  return "";
}

void check_shape(const ShapeInstance& s, Diagnostics& d) {
  const std::string who = quoted("shape", s.name);
  if (const std::string why = why_unsound(s.shape); !why.empty()) {
    d.error(s.where, who + " has " + why,
            "write finite sizes above 0, in metres; meshes need vertices and triangles");
  }
  if (!(s.density >= 0) || std::isinf(s.density)) {
    d.error(s.where, fmt::format("{} has density {:g} kg/m^3", who, s.density),
            "write a finite number of 0 or more");
  }
  if (s.mass && (!(*s.mass >= 0) || std::isinf(*s.mass))) {
    d.error(s.where, fmt::format("{} has mass {:g} kg", who, *s.mass), "write a finite number of 0 or more");
  }
  if (!s.surface_velocity.allFinite() || !s.surface_spin.allFinite()) {
    d.error(s.where, fmt::format("{} has a surface velocity that is not finite", who), "give finite numbers");
  }
  if (!(s.margin >= 0) || std::isinf(s.margin)) {
    d.error(s.where, fmt::format("{} has margin {:g} m", who, s.margin),
            "write a finite number of 0 or more");
  }
  check_pose(s.pose, s.where, who, d);
}

void check_material(const Material& m, Diagnostics& d) {
  const auto check = [&](double value, bool good, const char* what, const char* remedy) {
    if (!good) d.error(m.where, fmt::format("material '{}' has {} {:g}", m.name, what, value), remedy);
  };
  const double stiffness = m.stiffness.value_or(1);
  check(stiffness, stiffness > 0, "stiffness", "write a number of N/m above 0");
  check(stiffness, stiffness <= kLargestStiffness || std::isinf(stiffness), "stiffness", kLessStiff);
  check(m.stiffness_per_kilogram,
        m.stiffness_per_kilogram >= 0 && m.stiffness_per_kilogram <= kLargestStiffness,
        "stiffness per kilogram", "write 0 or more, at most 1e20");
  check(m.dissipation, m.dissipation >= 0 && std::isfinite(m.dissipation), "dissipation",
        "write 0 or more s/m");
  check(m.relaxation_time, std::isfinite(m.relaxation_time), "relaxation time", "write a number of seconds");
  check(m.friction, m.friction >= 0 && std::isfinite(m.friction), "friction",
        "write a coefficient of 0 or more");
  check(m.torsional_friction, m.torsional_friction >= 0 && std::isfinite(m.torsional_friction),
        "torsional friction", "write a length of 0 m or more");
  check(m.rolling_friction, m.rolling_friction >= 0 && std::isfinite(m.rolling_friction), "rolling friction",
        "write a length of 0 m or more");
  check(m.stiction_tolerance, m.stiction_tolerance > 0 && std::isfinite(m.stiction_tolerance),
        "stiction tolerance", "write a number of m/s above 0");
  check(m.restitution, m.restitution >= 0 && m.restitution <= 1, "restitution",
        "write a number from 0, no bounce, to 1, no loss");
  check(m.restitution_threshold, m.restitution_threshold >= 0 && std::isfinite(m.restitution_threshold),
        "restitution threshold", "write 0 or more m/s");
  check(m.elastic_modulus, m.elastic_modulus > 0, "elastic modulus", "write a number of Pa above 0");
  check(m.elastic_modulus, m.elastic_modulus <= kLargestModulus || std::isinf(m.elastic_modulus),
        "elastic modulus", "write at most 1e20 Pa, or .inf for what does not yield");
  if (m.friction_tensor) check_tensor(*m.friction_tensor, m.where, quoted("material", m.name), d);
}

// What the chosen laws have no use for. A material that also has what they do use is made for several laws.
void tell_unused_by_law(const Scene& scene, Diagnostics& d) {
  const ContactOptions& o = scene.options.contact;
  const Material plain;
  const bool relaxes = traits(acting_normal_law(o)).relaxes;
  const std::string law = traits(o.law).has_own_normal_law
                              ? fmt::format("contact_law {}", traits(o.law).name)
                              : fmt::format("normal_law {}", traits(o.normal_law).name);
  const auto tell = [&](const std::string& what, const std::string& why, const char* remedy,
                        auto&& is_unused) {
    const Material* first = nullptr;
    int count = 0;
    for (const Material& m : scene.materials) {
      if (!is_unused(m)) continue;
      if (count++ == 0) first = &m;
    }
    if (count == 0) return;
    d.warning(first->where,
              fmt::format("{} of material '{}'{} has no effect: {}", what, first->name,
                          count > 1 ? fmt::format(" (and of {} more)", count - 1) : "", why),
              remedy);
  };
  const auto has_dissipation = [&](const Material& m) { return m.dissipation != plain.dissipation; };
  if (!relaxes) {
    tell("relaxation_time", law + " has no use for it",
         "write 'dissipation' [s/m], or take normal_law kelvin_voigt",
         [&](const Material& m) { return m.relaxation_time >= 0 && !has_dissipation(m); });
  } else {
    tell("dissipation", law + " has no use for it",
         "write 'relaxation_time' [s], or take normal_law hunt_crossley",
         [&](const Material& m) { return has_dissipation(m) && m.relaxation_time < 0; });
  }
  if (traits(o.law).is_projection) {
    tell("stiction_tolerance", fmt::format("contact_law {} has sigma in its place", traits(o.law).name),
         "set sigma in the options",
         [&](const Material& m) { return m.stiction_tolerance != plain.stiction_tolerance; });
  }
}

}  // namespace

std::string why_unsound(const Shape& shape) {
  struct Size {
    double value;
    const char* what;
  };
  std::vector<Size> sizes;
  if (const auto* sphere = std::get_if<Sphere>(&shape)) sizes = {{sphere->radius, "radius"}};
  if (const auto* box = std::get_if<Box>(&shape)) {
    for (const double h : box->half_size) sizes.push_back({h, "half size"});
  }
  if (const auto* capsule = std::get_if<Capsule>(&shape))
    sizes = {{capsule->radius, "radius"}, {capsule->half_length, "half length"}};
  if (const auto* cylinder = std::get_if<Cylinder>(&shape))
    sizes = {{cylinder->radius, "radius"}, {cylinder->half_length, "half length"}};
  if (const auto* ellipsoid = std::get_if<Ellipsoid>(&shape)) {
    for (const double r : ellipsoid->radii) sizes.push_back({r, "radius"});
  }
  if (const auto* field = std::get_if<HeightField>(&shape))
    sizes = {{field->half_size.x(), "half size"}, {field->half_size.y(), "half size"}};
  for (const Size& size : sizes) {
    if (!(size.value > kSmallestSize) || std::isinf(size.value))
      return fmt::format("{} {:g} m", size.what, size.value);
    if (size.value > kLargestNumber) return fmt::format("{} {:g} m{}", size.what, size.value, kBeyond);
  }
  if (const auto* mesh = std::get_if<ConvexMesh>(&shape)) return why_unsound_mesh(mesh->mesh.get());
  if (const auto* mesh = std::get_if<SurfaceMesh>(&shape)) return why_unsound_mesh(mesh->mesh.get());
  if (const auto* mesh = std::get_if<SignedDistanceMesh>(&shape)) return why_unsound_mesh(mesh->mesh.get());
  if (const auto* field = std::get_if<HeightField>(&shape)) {
    const std::size_t count = field->height ? field->height->size() : 0;
    if (field->rows < 2 || field->columns < 2 ||
        count != static_cast<std::size_t>(field->rows) * static_cast<std::size_t>(field->columns))
      return fmt::format("{} heights for {} rows of {} (at least 2 of 2)", count, field->rows,
                         field->columns);
    const auto finite = [](double h) { return std::isfinite(h); };
    if (!std::all_of(field->height->begin(), field->height->end(), finite))
      return "a height that is not finite";
    for (const double h : *field->height) {
      if (std::abs(h) > kLargestNumber) return fmt::format("height {:g} m{}", h, kBeyond);
    }
  }
  return "";
}

void ModelCompiler::compile_materials() {
  model.materials = scene.materials;
  index_names(scene.materials, "material", &material_index, &diagnostics);
  for (const Material& m : scene.materials) {
    check_material(m, diagnostics);
    model.has_turning_friction |= m.torsional_friction > 0 || m.rolling_friction > 0;
  }
  tell_unused_by_law(scene, diagnostics);
  for (Material& m : model.materials) {
    if (m.relaxation_time < 0) m.relaxation_time = -1;  // all mean the time step
  }
  if (!material_index.count("default")) {
    material_index["default"] = static_cast<int>(model.materials.size());
    Material m;
    m.name = "default";
    model.materials.push_back(m);
  }
}

void ModelCompiler::compile_shapes() {
  index_names(scene.shapes, "shape", &shape_index, &diagnostics);
  for (const ShapeInstance& s : scene.shapes) {
    check_shape(s, diagnostics);
    const std::string who = quoted("shape", s.name);
    const int body = resolve(body_index, "body", s.body, s.where, "the body of " + who);
    const int material = resolve(material_index, "material", s.material, s.where, "the material of " + who);
    if (body < 0 || material < 0 || !is_sound(s.pose) || !why_unsound(s.shape).empty()) continue;
    const ModelBody& b = model.bodies[body];
    const bool is_mesh = std::holds_alternative<ConvexMesh>(s.shape) ||
                         std::holds_alternative<SurfaceMesh>(s.shape) ||
                         std::holds_alternative<SignedDistanceMesh>(s.shape);
    const bool weighs = sources[body] != nullptr && !sources[body]->inertia && s.has_mass &&
                        (s.mass ? *s.mass > 0 : s.density > 0);
    if (is_mesh && weighs && !(volume_properties(s.shape).volume > 0)) {
      diagnostics.warning(
          s.where, fmt::format("{} adds no mass to body '{}': its mesh encloses no volume", who, s.body),
          "close the mesh with triangles that are counter-clockwise from outside, or give the body an "
          "inertia");
    }
    ModelShape entry;
    entry.name = s.name;
    entry.body = body;
    entry.link = b.link;
    entry.X_LS = b.X_LB * to_transform(s.pose);
    entry.shape = s.shape;
    entry.material = material;
    entry.collides = s.collides;
    entry.group_bits = s.group_bits;
    entry.mask_bits = s.mask_bits;
    entry.margin = s.margin;
    entry.surface_velocity = s.surface_velocity;
    entry.surface_spin = s.surface_spin;
    entry.has_moving_surface = !s.surface_velocity.isZero(0) || !s.surface_spin.isZero(0);
    const Material& m = model.materials[material];
    entry.stiffness = m.stiffness.value_or(kLeastStiffness);
    // A fixed shape has no mass of its own to scale by: the other one's stiffness then decides.
    if (m.stiffness_per_kilogram > 0) {
      entry.stiffness = b.link == 0 || is_mocap(model, b.link)
                            ? kInfinity
                            : m.stiffness_per_kilogram * model.links[b.link].mass;
    }
    entry.rgba = drawn_color(s.rgba);
    if (entry.rgba != s.rgba) {
      diagnostics.warning(
          s.where,
          fmt::format("{} has color [{:g}, {:g}, {:g}, {:g}], drawn as [{:g}, {:g}, {:g}, {:g}]", who,
                      s.rgba[0], s.rgba[1], s.rgba[2], s.rgba[3], entry.rgba[0], entry.rgba[1], entry.rgba[2],
                      entry.rgba[3]),
          "write red, green, blue and opacity from 0 to 1");
    }
    const bool can_not_move =
        std::holds_alternative<HalfSpace>(s.shape) || std::holds_alternative<HeightField>(s.shape);
    if (can_not_move && b.link != 0 && s.collides) {
      diagnostics.warning(s.where, fmt::format("{} is a {} on a moving body", who, shape_name(s.shape)),
                          "half spaces and height fields are meant for the world");
    }
    if (std::holds_alternative<SurfaceMesh>(s.shape) && b.link != 0 && s.collides) {
      diagnostics.warning(
          s.where,
          fmt::format("{} is a surface mesh on a moving body: it does not collide with other surface "
                      "meshes and height fields",
                      who),
          "use a mesh of kind signed_distance or convex");
    }
    if (entry.collides) {
      try {
        entry.collider = make_collider(s.shape);
      } catch (const InputError& error) {
        for (const Diagnostic& d : error.diagnostics().list) {
          diagnostics.error(s.where, fmt::format("{}: {}", who, d.what), d.remedy);
        }
        entry.collides = false;
      }
    }
    model.shapes.push_back(entry);
  }
}

void ModelCompiler::compile_filters() {
  // A body, or all carriers of a rod or a soft body.
  const auto bodies_of = [&](const std::string& name, const Source& where, const char* user) {
    std::vector<int> bodies;
    const auto rod = rod_index.find(name), soft = soft_index.find(name);
    if ((rod != rod_index.end() || soft != soft_index.end()) && !body_index.count(name)) {
      const int id = rod != rod_index.end() ? rod_objects[rod->second] : soft_objects[soft->second];
      if (id < 0) return bodies;
      const Object& object = model.objects[id];
      for (int l = object.link_begin; l < object.link_end; ++l) bodies.push_back(model.links[l].body);
    } else if (const int body = resolve(body_index, "body", name, where, user); body >= 0) {
      bodies = {body};
    }
    return bodies;
  };
  for (const CollisionExclude& e : scene.excludes) {
    const std::vector<int> first = bodies_of(e.body_a, e.where, "the first body of an exclusion"),
                           second = bodies_of(e.body_b, e.where, "the second body of an exclusion");
    for (const int a : first) {
      for (const int b : second) model.excluded_bodies.push_back({std::min(a, b), std::max(a, b)});
    }
  }
  std::sort(model.excluded_bodies.begin(), model.excluded_bodies.end());
  // What nothing moves does not touch the world, nor each other. Links of other objects come after these.
  std::vector<std::array<int, 2>> unmoved;
  const std::vector<int> mocap = find_mocap_links(model);
  for (const int a : mocap) {
    unmoved.push_back({0, a});
    for (const int b : mocap) {
      if (a < b) unmoved.push_back({a, b});
    }
  }
  std::sort(unmoved.begin(), unmoved.end());
  model.excluded_links.insert(model.excluded_links.begin(), unmoved.begin(), unmoved.end());
  for (const PairOverride& pair : scene.pairs) {
    const bool materials = pair.kind == PairOverride::Kind::materials;
    const auto& index = materials ? material_index : shape_index;
    const char* kind = materials ? "material" : "shape";
    const int a = resolve(index, kind, pair.a, pair.where, "the first of a pair");
    const int b = resolve(index, kind, pair.b, pair.where, "the second of a pair");
    const auto check = [&](const std::optional<double>& value, double least, const char* what) {
      if (!value || (*value >= least && std::isfinite(*value))) return;
      diagnostics.error(pair.where, fmt::format("a pair has {} {:g}", what, *value),
                        least == 0 ? "write 0 or more" : "write a finite number");
    };
    check(pair.friction, 0, "friction");
    check(pair.torsional_friction, 0, "torsional friction");
    check(pair.rolling_friction, 0, "rolling friction");
    model.has_turning_friction |=
        pair.torsional_friction.value_or(0) > 0 || pair.rolling_friction.value_or(0) > 0;
    check(pair.dissipation, 0, "dissipation");
    check(pair.restitution, 0, "restitution");
    if (pair.restitution && *pair.restitution > 1) {
      diagnostics.error(pair.where, fmt::format("a pair has restitution {:g}", *pair.restitution),
                        "write a number from 0, no bounce, to 1, no loss");
    }
    check(pair.margin, 0, "margin");
    check(pair.relaxation_time, -kInfinity, "relaxation time");
    if (pair.stiffness && !(*pair.stiffness > 0)) {
      diagnostics.error(pair.where, fmt::format("a pair has stiffness {:g}", *pair.stiffness),
                        "write a number of N/m above 0");
    }
    if (pair.stiffness && *pair.stiffness > kLargestStiffness && !std::isinf(*pair.stiffness)) {
      diagnostics.error(pair.where, fmt::format("a pair has stiffness {:g}", *pair.stiffness), kLessStiff);
    }
    if (pair.friction_tensor) check_tensor(*pair.friction_tensor, pair.where, "a pair", diagnostics);
    if (a >= 0 && b >= 0) model.pairs.push_back({pair.kind, a, b, pair});
  }
  for (ModelShape& shape : model.shapes) shape.pair_margin = shape.margin;
  // What is said of two shapes comes after what is said of their materials, and counts.
  std::stable_partition(model.pairs.begin(), model.pairs.end(),
                        [](const ModelPair& pair) { return pair.kind == PairOverride::Kind::materials; });
  for (const ModelPair& pair : model.pairs) {
    if (!pair.values.margin) continue;
    for (int i = 0; i < static_cast<int>(model.shapes.size()); ++i) {
      ModelShape& shape = model.shapes[i];
      const int id = pair.kind == PairOverride::Kind::shapes ? i : shape.material;
      if (id == pair.a || id == pair.b) shape.pair_margin = std::max(shape.pair_margin, *pair.values.margin);
    }
  }
}

void ModelCompiler::compile_sites() {
  std::map<std::string, int> index;
  index_names(scene.sites, "site", &index, &diagnostics);
  for (const Site& site : scene.sites) {
    const std::string who = quoted("site", site.name);
    check_pose(site.pose, site.where, who, diagnostics);
    const int body = resolve(body_index, "body", site.body, site.where, "the body of " + who);
    if (body >= 0) model.sites.push_back({site.name, body, to_transform(site.pose)});
  }
}

}  // namespace capstan
