// Poses, materials, shapes and sites of YAML scenes.
#include <fmt/core.h>

#include <algorithm>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "capstan/io/mesh_file.h"
#include "capstan/io/tet_file.h"
#include "capstan/io/yaml_parts.h"
#include "capstan/math/rotation.h"

namespace capstan {

// --- Poses -----------------------------------------------------------------------------------------------

constexpr double kOneTurn = 2 * std::numbers::pi + 0.01;  // [rad] with what rounding leaves of 6.28

bool read_rotation(YamlFields* fields, Vec4* quat_wxyz) {
  // `axis` counts as one of the five ways; `angle` goes with it.
  if (fields->at_most_one({"quat", "rpy", "rpy_deg", "axis", "z_axis"}) > 1) return false;
  const bool has_angle = fields->has("angle") || fields->has("angle_deg");
  if (fields->has("axis") != has_angle) {
    fields->error(
        fields->node(),
        fmt::format("{} has {}", fields->what(), has_angle ? "an angle but no axis" : "an axis but no angle"),
        "write both axis and angle (or angle_deg)");
    fields->find("axis");
    fields->angle("angle", &(*quat_wxyz)[0]);
    return false;
  }
  if (const YamlNode* node = fields->find("quat")) {
    std::vector<double> q;
    if (!read_numbers(fields->source(), *node, fields->of("quat"), 4, 4, kAny, &q)) return false;
    const Vec4 quat(q[0], q[1], q[2], q[3]);
    const double norm = quat.norm();
    if (!(norm > 1e-9) || !std::isfinite(norm)) {
      fields->error(*node, fmt::format("{} has length {}", fields->of("quat"), norm),
                    "write a unit quaternion [w, x, y, z]; no turn is [1, 0, 0, 0]");
      return false;
    }
    // Unit to rounding, that of a product of some included: the bits stay, so that a scene that was written
    // is read back the same.
    *quat_wxyz = std::abs(norm - 1) > 1e-14 ? Vec4(quat / norm) : quat;
    return true;
  }
  Vec3 v;
  for (const auto& [key, unit] :
       {std::pair<const char*, double>{"rpy", 1}, {"rpy_deg", std::numbers::pi / 180}}) {
    if (!fields->vec3(key, &v)) continue;
    if (unit == 1 && v.cwiseAbs().maxCoeff() > kOneTurn) {
      fields->source().diagnostics->warning(
          fields->where(key),
          fmt::format("{} is [{:g}, {:g}, {:g}] rad, more than a turn, which looks like degrees",
                      fields->of(key), v[0], v[1], v[2]),
          fmt::format("angles are radians: write 'rpy_deg: [{:g}, {:g}, {:g}]'", v[0], v[1], v[2]));
    }
    v *= unit;
    const Vec4 roll = quat_from_axis_angle(Vec3::UnitX(), v[0]),
               pitch = quat_from_axis_angle(Vec3::UnitY(), v[1]),
               yaw = quat_from_axis_angle(Vec3::UnitZ(), v[2]);
    *quat_wxyz = quat_multiply(yaw, quat_multiply(pitch, roll));
    return true;
  }
  double angle = 0;
  if (fields->direction("axis", &v) && fields->angle("angle", &angle)) {
    if (fields->has("angle") && std::abs(angle) > kOneTurn) {
      fields->source().diagnostics->warning(
          fields->where("angle"),
          fmt::format("{} is {:g} rad, more than a turn, which looks like degrees", fields->of("angle"),
                      angle),
          fmt::format("angles are radians: write 'angle_deg: {:g}'", angle));
    }
    *quat_wxyz = quat_from_axis_angle(v.normalized(), angle);
    return true;
  }
  if (fields->direction("z_axis", &v)) {
    *quat_wxyz = quat_between(Vec3::UnitZ(), v.normalized());
    return true;
  }
  return false;
}

void read_pose_map(const YamlSource& source, const YamlNode& node, const std::string& what, Pose* pose) {
  YamlFields fields(source, node, what);
  fields.vec3("position", &pose->position);
  read_rotation(&fields, &pose->quat_wxyz);
  fields.done();
}

void read_pose(YamlFields* fields, Pose* pose) {
  if (const YamlNode* node = fields->find("pose")) {
    read_pose_map(fields->source(), *node, fields->of("pose"), pose);
    // With a pose, its keys do not belong beside it: they are then left unknown, but told better here.
    for (const char* key : {"position", "quat", "rpy", "rpy_deg", "axis", "angle", "angle_deg", "z_axis"}) {
      if (fields->has(key)) {
        fields->source().diagnostics->error(fields->where(key),
                                            fmt::format("{} has both pose and {}", fields->what(), key),
                                            "write it inside the pose");
      }
    }
    return;
  }
  fields->vec3("position", &pose->position);
  read_rotation(fields, &pose->quat_wxyz);
}

// --- Materials -------------------------------------------------------------------------------------------

namespace {

void read_friction_tensor(YamlFields* fields, std::optional<FrictionTensor>* tensor) {
  const YamlNode* node = fields->find("friction_tensor");
  if (!node) return;
  YamlFields inner(fields->source(), *node, fields->of("friction_tensor"));
  FrictionTensor value;
  inner.number("along", &value.along, kNotNegative);
  inner.number("across", &value.across, kNotNegative);
  inner.direction("direction", &value.direction);
  inner.done();
  *tensor = value;
}

void read_material(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "material");
  Material material;
  material.where = fields.where();
  if (!fields.text("name", &material.name) || material.name.empty()) {
    fields.error(node, "a material has no name", "write 'name: ...'; shapes refer to it by this name");
  }
  fields.rename(fmt::format("material '{}'", material.name));
  fields.at_most_one({"stiffness", "stiffness_per_kilogram"});
  fields.number("stiffness", &material.stiffness, kPositiveOrInfinite);
  fields.number("stiffness_per_kilogram", &material.stiffness_per_kilogram, kPositive);
  fields.number("dissipation", &material.dissipation, kNotNegative);
  fields.number("relaxation_time", &material.relaxation_time, kNotNegative);
  fields.number("friction", &material.friction, kNotNegative);
  read_friction_tensor(&fields, &material.friction_tensor);
  fields.number("torsional_friction", &material.torsional_friction, kNotNegative);
  fields.number("rolling_friction", &material.rolling_friction, kNotNegative);
  for (const char* word : {"spinning_friction", "spin_friction", "torsion_friction"})
    fields.hint(word, "torsional_friction");
  for (const char* word : {"roll_friction", "rolling_resistance"}) fields.hint(word, "rolling_friction");
  fields.number("stiction_tolerance", &material.stiction_tolerance, kPositive);
  fields.number("restitution", &material.restitution, kNotNegative);
  fields.number("restitution_threshold", &material.restitution_threshold, kNotNegative);
  fields.number("elastic_modulus", &material.elastic_modulus, kPositiveOrInfinite);
  read_contact_model(&fields, &material.contact);
  for (const char* word : {"young_modulus", "youngs_modulus", "hydroelastic_modulus", "modulus"})
    fields.hint(word, "elastic_modulus");
  fields.done();
  reader->scene.materials.push_back(std::move(material));
}

void read_pair(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "pair");
  PairOverride pair;
  pair.where = fields.where();
  const int kinds = fields.at_most_one({"materials", "shapes"});
  if (kinds == 0) fields.error(node, "a pair names nothing", "write 'materials: [a, b]' or 'shapes: [a, b]'");
  const bool of_shapes = fields.has("shapes");
  pair.kind = of_shapes ? PairOverride::Kind::shapes : PairOverride::Kind::materials;
  if (const YamlNode* names = fields.find(of_shapes ? "shapes" : "materials")) {
    if (names->kind != YamlNode::Kind::list || names->items.size() != 2) {
      fields.error(*names, fmt::format("a pair names {}", describe(*names)), "write two names: [a, b]");
    } else {
      read_text(reader->source, *names->items[0], "first name of a pair", &pair.a);
      read_text(reader->source, *names->items[1], "second name of a pair", &pair.b);
    }
  }
  fields.rename(fmt::format("pair '{}', '{}'", pair.a, pair.b));
  fields.number("stiffness", &pair.stiffness, kPositiveOrInfinite);
  fields.number("dissipation", &pair.dissipation, kNotNegative);
  fields.number("relaxation_time", &pair.relaxation_time, kNotNegative);
  fields.number("friction", &pair.friction, kNotNegative);
  fields.number("restitution", &pair.restitution, kNotNegative);
  fields.number("margin", &pair.margin, kNotNegative);
  read_friction_tensor(&fields, &pair.friction_tensor);
  fields.number("torsional_friction", &pair.torsional_friction, kNotNegative);
  fields.number("rolling_friction", &pair.rolling_friction, kNotNegative);
  fields.done();
  reader->scene.pairs.push_back(std::move(pair));
}

}  // namespace

void read_materials(YamlReader* reader, YamlFields* root) {
  root->each("materials", [&](const YamlNode& node) { read_material(reader, node); });
  root->each("pairs", [&](const YamlNode& node) { read_pair(reader, node); });
}

// --- Shapes ----------------------------------------------------------------------------------------------

namespace {

// A key that this shape cannot do without.
void need(YamlFields* fields, bool present, const std::string& key, bool* ok) {
  if (present) return;
  if (!fields->has(key)) {
    fields->error(fields->node(), fmt::format("{} has no {}", fields->what(), key),
                  fmt::format("write '{}: ...'", key));
  }
  *ok = false;
}

// radius, and length or from and to: the shape lies along its z axis, so `from` and `to` also set the pose.
bool read_round(YamlFields* fields, double* radius, double* half_length, Pose* pose) {
  bool ok = true;
  need(fields, fields->number("radius", radius, kPositive), "radius", &ok);
  const bool has_ends = fields->has("from") || fields->has("to");
  if (!has_ends) {
    double length = 0;
    need(fields, fields->number("length", &length, kPositive), "length", &ok);
    *half_length = length / 2;
    return ok;
  }
  Vec3 from, to;
  need(fields, fields->vec3("from", &from), "from", &ok);
  need(fields, fields->vec3("to", &to), "to", &ok);
  for (const char* key : {"length", "pose", "position", "quat", "rpy", "rpy_deg", "axis", "z_axis"}) {
    if (!fields->has(key)) continue;
    fields->source().diagnostics->error(fields->where(key),
                                        fmt::format("{} has from and to, and {}", fields->what(), key),
                                        "from and to say it all; remove one");
    ok = false;
  }
  if (!ok) return false;
  const Vec3 along = to - from;
  if (!(along.norm() > 1e-9)) {
    fields->error(*fields->find("to"), fmt::format("from and to of {} are the same point", fields->what()),
                  "use a sphere, or move one of them");
    return false;
  }
  pose->position = (from + to) / 2;
  pose->quat_wxyz = quat_between(Vec3::UnitZ(), along.normalized());
  *half_length = along.norm() / 2;
  return true;
}

bool read_height_field(YamlFields* fields, HeightField* field) {
  bool ok = true;
  const YamlNode* size = fields->find("size");
  std::vector<double> lengths;
  need(fields, size && read_numbers(fields->source(), *size, fields->of("size"), 2, 2, kPositive, &lengths),
       "size", &ok);
  need(fields, fields->number("base", &field->base, kNotNegative), "base", &ok);
  std::vector<double> heights, row;
  fields->each("heights", [&](const YamlNode& node) {
    const std::string what = fmt::format("row {} of heights", ++field->rows);
    if (!read_numbers(fields->source(), node, what, 2, 1u << 20, kAny, &row)) {
      ok = false;
    } else if (field->columns != 0 && field->columns != static_cast<int>(row.size())) {
      fields->error(node,
                    fmt::format("{} has {} numbers, the first row has {}", what, row.size(), field->columns),
                    "make all rows equally long");
      ok = false;
    } else {
      field->columns = static_cast<int>(row.size());
      heights.insert(heights.end(), row.begin(), row.end());
    }
  });
  if (ok && field->rows < 2) {
    fields->error(fields->node(), fmt::format("{} has {} rows of heights", fields->what(), field->rows),
                  "write at least two rows: heights: [[0, 0], [0, 0.1]]");
    ok = false;
  }
  if (!ok) return false;
  field->half_size = {lengths[0] / 2, lengths[1] / 2};
  field->height = std::make_shared<const std::vector<double>>(std::move(heights));
  return true;
}

// `scale` of a mesh: a number or three.
Vec3 read_scale(YamlFields* fields) {
  Vec3 scale = Vec3::Ones();
  if (const YamlNode* node = fields->find("scale")) {
    if (node->kind == YamlNode::Kind::list) {
      fields->vec3("scale", &scale);
    } else {
      double factor = 1;
      fields->number("scale", &factor);
      scale = Vec3::Constant(factor);
    }
  }
  return scale;
}

bool read_mesh_shape(YamlReader* reader, YamlFields* fields, Shape* shape) {
  bool ok = true;
  std::string file;
  need(fields, fields->text("file", &file), "file", &ok);
  const Vec3 scale = read_scale(fields);
  int kind = 0;
  fields->choice("kind", {"convex", "surface", "signed_distance"}, &kind);
  double resolution = SignedDistanceMesh{}.resolution;
  if (kind == 2 && fields->number("resolution", &resolution, kPositive) &&
      (resolution < 4 || resolution > 512 || resolution != std::floor(resolution))) {
    fields->error(*fields->find("resolution"),
                  fmt::format("{} is {:g}", fields->of("resolution"), resolution),
                  "write a whole number from 4 to 512");
  }
  if (!ok) return false;
  const std::string path = reader->beside(file);
  const auto key = std::make_tuple(path, scale.x(), scale.y(), scale.z());
  auto found = reader->session.meshes.find(key);
  if (found == reader->session.meshes.end()) {
    auto mesh = read_mesh(path, scale, fields->where("file"), reader->session.limits.max_mesh_triangles,
                          reader->source.diagnostics);
    found = reader->session.meshes.emplace(key, mesh).first;
  }
  if (!found->second) return false;  // told when it was read
  if (kind == 0) {
    *shape = ConvexMesh{found->second};
  } else if (kind == 1) {
    *shape = SurfaceMesh{found->second};
  } else {
    *shape = SignedDistanceMesh{found->second,
                                static_cast<int>(std::clamp(resolution, 4.0, 512.0))};  // told above
  }
  return true;
}

void read_patch_options(YamlReader* reader, YamlFields* fields, PatchOptions* patch) {
  if (ContactModel contact; read_contact_model(fields, &contact)) patch->contact = contact;
  long count = 0;
  if (fields->integer("patch_rings", 2, 16, &count)) patch->rings = static_cast<int>(count);
  if (fields->integer("patch_points", 0, 1000000, &count)) patch->points = static_cast<int>(count);
  fields->number("thickness", &patch->thickness, kPositive);
  const YamlNode* tets = fields->find("tets");
  if (tets == nullptr) return;
  if (tets->kind == YamlNode::Kind::map) {
    patch->tets = read_inline_tets(*fields, *tets, "tets");
    return;
  }
  std::string file;
  if (!fields->text("tets", &file)) return;
  const auto read = read_tets(reader->beside(file), 1, fields->where("tets"), reader->source.diagnostics);
  if (!read) return;
  TetMesh scaled = *read;
  const Vec3 scale = read_scale(fields);
  for (Vec3& v : scaled.vertices) v = v.cwiseProduct(scale);
  patch->tets = std::make_shared<const TetMesh>(cleaned(scaled));
}

bool read_geometry(YamlReader* reader, YamlFields* fields, const std::string& type, ShapeInstance* shape) {
  bool ok = true;
  if (type == "sphere") {
    Sphere s;
    need(fields, fields->number("radius", &s.radius, kPositive), "radius", &ok);
    shape->shape = s;
  } else if (type == "box") {
    Vec3 size = Vec3::Zero();
    need(fields, fields->vec3("size", &size, kPositive), "size", &ok);
    shape->shape = Box{size / 2};
  } else if (type == "capsule") {
    Capsule c;
    ok = read_round(fields, &c.radius, &c.half_length, &shape->pose);
    shape->shape = c;
  } else if (type == "cylinder") {
    Cylinder c;
    ok = read_round(fields, &c.radius, &c.half_length, &shape->pose);
    shape->shape = c;
  } else if (type == "ellipsoid") {
    Ellipsoid e;
    need(fields, fields->vec3("radii", &e.radii, kPositive), "radii", &ok);
    shape->shape = e;
  } else if (type == "half_space" || type == "plane") {
    shape->shape = HalfSpace{};
  } else if (type == "mesh") {
    ok = read_mesh_shape(reader, fields, &shape->shape);
  } else {
    HeightField field;
    ok = read_height_field(fields, &field);
    shape->shape = field;
  }
  return ok;
}

// "arm_box", "arm_box2", ...: a name for a shape that has none.
std::string default_shape_name(YamlReader* reader, const std::string& body, const Shape& shape) {
  const std::string name = body + "_" + shape_name(shape);
  const int count = ++reader->unnamed_shapes[name];
  return count == 1 ? name : name + std::to_string(count);
}

}  // namespace

namespace {

// Keys of a shape that say something about what it does not do.
void tell_unused_keys(const YamlReader& reader, const ShapeInstance& shape, bool body_has_inertia,
                      YamlFields* fields) {
  for (const Body& body : reader.scene.bodies) {
    if (body.name == shape.body) body_has_inertia = body_has_inertia || body.inertia.has_value();
  }
  const char* why = !shape.has_mass        ? "the shape has no mass (visual, or has_mass: false)"
                    : shape.body == kWorld ? "the shape is on the world, which never moves"
                    : body_has_inertia     ? "its body has an inertia of its own"
                    : std::holds_alternative<HalfSpace>(shape.shape) ? "a half space has no volume"
                                                                     : nullptr;
  for (const char* key : {"density", "mass"}) {
    if (why) fields->no_effect(key, why, "remove it");
  }
  if (shape.collides) return;
  for (const char* key :
       {"material", "group_bits", "mask_bits", "margin", "surface_velocity", "surface_spin", "contact"}) {
    fields->no_effect(key, "the shape does not collide", "remove it");
  }
}

}  // namespace

bool read_contact_model(YamlFields* fields, ContactModel* contact) {
  int choice = 0;
  if (!fields->choice("contact", {kContactModelNames.begin(), kContactModelNames.end()}, &choice))
    return false;
  *contact = static_cast<ContactModel>(choice);
  return true;
}

void read_color(YamlFields* fields, std::array<float, 4>* rgba) {
  const YamlNode* node = fields->find("color");
  std::vector<double> c;
  if (!node || !read_numbers(fields->source(), *node, fields->of("color"), 3, 4, kNotNegative, &c)) return;
  for (size_t i = 0; i < c.size(); ++i) {
    if (c[i] > 1) {
      fields->error(*node, fmt::format("{} has {}", fields->of("color"), c[i]),
                    "write red, green, blue (and opacity) from 0 to 1");
      return;
    }
    (*rgba)[i] = static_cast<float>(c[i]);
  }
}

int read_shape(YamlReader* reader, const YamlNode& node, const std::string* body, bool body_has_inertia) {
  YamlFields fields(reader->source, node, body ? fmt::format("a shape of body '{}'", *body) : "a shape");
  if (node.kind != YamlNode::Kind::map) return -1;
  ShapeInstance shape;
  shape.where = fields.where();
  if (body) {
    shape.body = *body;
  } else {
    fields.text("body", &shape.body);
  }
  fields.text("name", &shape.name);
  if (!shape.name.empty()) fields.rename(fmt::format("shape '{}'", shape.name));

  const std::vector<std::string> types = {"sphere",     "box",   "capsule", "cylinder",    "ellipsoid",
                                          "half_space", "plane", "mesh",    "height_field"};
  int type = -1;
  if (!fields.choice("type", types, &type)) {
    if (!fields.has("type")) {
      fields.error(node, fmt::format("{} has no type", fields.what()),
                   "write 'type: box', sphere, capsule, ...");
    }
    return -1;
  }
  if (shape.name.empty()) fields.rename(fmt::format("{} of body '{}'", types[type], shape.body));
  bool ok = read_geometry(reader, &fields, types[type], &shape);
  if (!fields.has("from") && !fields.has("to")) read_pose(&fields, &shape.pose);

  bool visual = false;
  fields.text("material", &shape.material);
  fields.at_most_one({"density", "mass"});
  fields.number("density", &shape.density, kNotNegative);
  fields.number("mass", &shape.mass, kNotNegative);
  fields.flag("visual", &visual);
  if (visual) shape.collides = shape.has_mass = false;
  fields.flag("collides", &shape.collides);
  fields.flag("has_mass", &shape.has_mass);
  long bits = 1;
  if (fields.integer("group_bits", 0, kMostBits, &bits)) shape.group_bits = static_cast<std::uint64_t>(bits);
  if (fields.integer("mask_bits", 0, kMostBits, &bits)) shape.mask_bits = static_cast<std::uint64_t>(bits);
  fields.number("margin", &shape.margin, kNotNegative);
  fields.vec3("surface_velocity", &shape.surface_velocity);
  fields.vec3("surface_spin", &shape.surface_spin);
  read_patch_options(reader, &fields, &shape.patch);
  read_color(&fields, &shape.rgba);
  fields.done();
  if (!ok) return -1;
  tell_unused_keys(*reader, shape, body_has_inertia, &fields);
  if (shape.name.empty()) shape.name = default_shape_name(reader, shape.body, shape.shape);
  reader->scene.shapes.push_back(std::move(shape));
  return static_cast<int>(reader->scene.shapes.size()) - 1;
}

void read_site(YamlReader* reader, const YamlNode& node, const std::string* body) {
  YamlFields fields(reader->source, node, "a site");
  Site site;
  site.where = fields.where();
  if (body) {
    site.body = *body;
  } else {
    fields.text("body", &site.body);
  }
  if (!fields.text("name", &site.name) || site.name.empty()) {
    fields.error(node, "a site has no name", "write 'name: ...'");
  }
  fields.rename(fmt::format("site '{}'", site.name));
  read_pose(&fields, &site.pose);
  fields.done();
  reader->scene.sites.push_back(std::move(site));
}

std::string YamlReader::beside(const std::string& path) const {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(source.file).parent_path() / given).lexically_normal().string();
}

}  // namespace capstan
