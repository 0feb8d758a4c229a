// Soft bodies in YAML scenes.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/fill_surface.h"
#include "capstan/io/tet_file.h"
#include "capstan/io/yaml_parts.h"
#include "capstan/scene/soft_body.h"

namespace capstan {
std::shared_ptr<const TetMesh> read_inline_tets(const YamlFields& body, const YamlNode& node,
                                                const std::string& key) {
  YamlFields fields(body.source(), node, body.of(key));
  if (node.kind != YamlNode::Kind::map) return nullptr;
  TetMesh mesh;
  bool ok = true;
  std::vector<double> x;
  fields.each("vertices", [&](const YamlNode& item) {
    x.clear();
    ok = ok && read_numbers(body.source(), item, "a vertex of " + fields.what(), 3, 3, kAny, &x);
    if (ok) mesh.vertices.push_back({x[0], x[1], x[2]});
  });
  const double count = static_cast<double>(mesh.vertices.size());
  fields.each("tets", [&](const YamlNode& item) {
    x.clear();
    ok = ok && read_numbers(body.source(), item, "a tet of " + fields.what(), 4, 4, kNotNegative, &x);
    std::array<int, 4> tet = {};
    for (int k = 0; ok && k < 4; ++k) {
      ok = x[k] == std::floor(x[k]) && x[k] < count;
      if (!ok) {
        fields.error(item, fmt::format("a tet of {} has vertex {:g} of {:g}", fields.what(), x[k], count),
                     fmt::format("write whole numbers from 0 to {:g}", count - 1));
        return;
      }
      tet[k] = static_cast<int>(x[k]);
    }
    if (ok) mesh.tets.push_back(tet);
  });
  fields.done();
  return ok ? std::make_shared<const TetMesh>(std::move(mesh)) : nullptr;
}

namespace {

constexpr long kMostCells = 1000;               // along one direction
constexpr double kMostGeneratedTets = 200'000;  // of a generated mesh
constexpr double kDefaultCells = 6;             // along the longest side

void need(YamlFields* fields, const char* key, double* value, const char* unit) {
  if (!fields->number(key, value, kPositive) && !fields->has(key)) {
    fields->error(fields->node(), fmt::format("{} has no {}", fields->what(), key),
                  fmt::format("write '{}: ...' [{}]", key, unit));
  }
}

// `cells: [a, b, ...]`, or `cell: 0.02` [m], or six along the longest of these sizes.
bool read_cells(YamlFields* fields, const std::vector<double>& sizes, std::vector<int>* cells) {
  fields->at_most_one({"cells", "cell"});
  std::vector<double> counts;
  double cell = *std::max_element(sizes.begin(), sizes.end()) / kDefaultCells;
  if (const YamlNode* node = fields->find("cells")) {
    if (!read_numbers(fields->source(), *node, fields->of("cells"), sizes.size(), sizes.size(), kPositive,
                      &counts))
      return false;
    for (const double count : counts) {
      if (count == std::floor(count) && count <= kMostCells) continue;
      fields->error(*node, fmt::format("{} has {:g}", fields->of("cells"), count),
                    fmt::format("write whole numbers from 1 to {}", kMostCells));
      return false;
    }
  } else {
    fields->number("cell", &cell, kPositive);
    for (const double size : sizes) counts.push_back(std::clamp(std::round(size / cell), 1.0, 1e6));
  }
  double product = 5;
  for (const double count : counts) product *= count;
  if (!(product <= kMostGeneratedTets)) {
    fields->error(fields->node(),
                  fmt::format("{} would have {:.3g} tets; {:g} is the most", fields->what(), product,
                              kMostGeneratedTets),
                  "write fewer or larger cells");
    return false;
  }
  for (const double count : counts) cells->push_back(static_cast<int>(count));
  return true;
}

// box, cylinder, ball, file or mesh. Null when there is none that can be used.
std::shared_ptr<const TetMesh> read_mesh_of(YamlReader* reader, YamlFields* body) {
  const std::vector<std::string> kinds = {"box", "cylinder", "ball", "file", "mesh"};
  if (body->at_most_one(kinds) == 0) {
    body->error(
        body->node(), fmt::format("{} has no mesh", body->what()),
        "write 'box: {size: [x, y, z]}', 'cylinder: {radius: ..., length: ...}', 'ball: {radius: ...}' or "
        "'file: part.msh' (or .stl)");
    return nullptr;
  }
  double scale = 1;
  std::string file;
  if (body->has("file")) {
    body->number("scale", &scale, kPositive);
    if (!body->text("file", &file)) return nullptr;
    if (is_surface_file(file)) {
      double cell = 0;
      if (!body->number("cell", &cell, kPositive) && body->has("cell")) return nullptr;
      return fill_surface(reader->beside(file), scale, cell, body->where("file"), reader->source.diagnostics);
    }
    return read_tets(reader->beside(file), scale, body->where("file"), reader->source.diagnostics);
  }
  if (const YamlNode* node = body->find("mesh")) return read_inline_tets(*body, *node, "mesh");
  for (const std::string& kind : {kinds[0], kinds[1], kinds[2]}) {
    const YamlNode* node = body->find(kind);
    if (!node) continue;
    YamlFields fields(reader->source, *node, fmt::format("the {} of {}", kind, body->what()));
    if (node->kind != YamlNode::Kind::map) return nullptr;
    for (const char* key : {"cells", "cell"}) fields.has(key);  // they are known, whatever else is wrong
    std::vector<int> cells;
    TetMesh mesh;
    if (kind == "box") {
      Vec3 size = Vec3::Zero();
      if (!fields.vec3("size", &size, kPositive) && !fields.has("size"))
        fields.error(*node, fmt::format("{} has no size", fields.what()), "write 'size: [x, y, z]' [m]");
      if (size.minCoeff() > 0 && read_cells(&fields, {size.x(), size.y(), size.z()}, &cells))
        mesh = make_box_tets(size, {cells[0], cells[1], cells[2]});
    } else {
      double radius = 0, length = 0;
      need(&fields, "radius", &radius, "m");
      if (kind == "cylinder") need(&fields, "length", &length, "m");
      if (kind == "cylinder" && radius > 0 && length > 0 && read_cells(&fields, {2 * radius, length}, &cells))
        mesh = make_cylinder_tets(radius, length, cells[0], cells[1]);
      double inner = 0;
      if (kind == "ball" && fields.number("inner_radius", &inner, kPositive) && !(inner < radius)) {
        fields.error(
            *fields.find("inner_radius"),
            fmt::format("{} is {:g} m, and the radius {:g}", fields.of("inner_radius"), inner, radius),
            "write a smaller one");
        radius = 0;
      }
      if (kind == "ball" && radius > 0 && read_cells(&fields, {2 * radius}, &cells)) {
        const double layers = 0.5 * cells[0] * (1 - inner / radius);
        mesh = inner > 0 ? make_shell_tets(radius, inner, cells[0], static_cast<int>(std::lround(layers)))
                         : make_ball_tets(radius, cells[0]);
      }
    }
    fields.done();
    return mesh.tets.empty() ? nullptr : std::make_shared<const TetMesh>(std::move(mesh));
  }
  return nullptr;
}

// `box: {centre: ..., size: ...}` or `ball: {centre: ..., radius: ...}`.
bool read_region(YamlFields* fields, SoftRegion* region) {
  if (fields->at_most_one({"box", "ball"}) != 1) {
    if (!fields->has("box")) {
      fields->error(
          fields->node(), fmt::format("{} has no region", fields->what()),
          "write 'box: {centre: [x, y, z], size: [x, y, z]}' or 'ball: {centre: [x, y, z], radius: ...}'");
    }
    return false;
  }
  region->is_ball = fields->has("ball");
  const YamlNode* node = fields->find(region->is_ball ? "ball" : "box");
  if (!node) return false;
  YamlFields inner(fields->source(), *node, "the region of " + fields->what());
  if (node->kind != YamlNode::Kind::map) return false;
  inner.vec3("centre", &region->centre);
  if (region->is_ball) {
    need(&inner, "radius", &region->radius, "m");
  } else {
    Vec3 size = Vec3::Zero();
    if (!inner.vec3("size", &size, kPositive) && !inner.has("size"))
      inner.error(*node, fmt::format("{} has no size", inner.what()), "write 'size: [x, y, z]' [m]");
    region->half_size = 0.5 * size;
  }
  inner.done();
  return region->is_ball ? region->radius > 0 : region->half_size.minCoeff() > 0;
}

void read_soft_body(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "a soft body");
  if (node.kind != YamlNode::Kind::map) return;
  SoftBodySpec body;
  body.where = fields.where();
  const int errors = reader->source.diagnostics->num_errors();
  if (!fields.text("name", &body.name) || body.name.empty())
    fields.error(node, "a soft body has no name", "write 'name: ...'");
  fields.rename(fmt::format("soft body '{}'", body.name));
  fields.text("body", &body.body);
  body.mesh = read_mesh_of(reader, &fields);
  read_pose(&fields, &body.pose);
  int word = 0;
  if (fields.choice("element", {"linear", "quadratic"}, &word)) body.element = static_cast<SoftElement>(word);
  if (fields.choice("elasticity",
                    {"linear_corotational", "corotated", "neo_hookean", "saint_venant_kirchhoff"}, &word))
    body.elasticity = static_cast<Elasticity>(word);
  if (fields.choice("mass", {"lumped", "consistent"}, &word)) body.lumped_mass = word == 0;
  need(&fields, "young_modulus", &body.young_modulus, "Pa");
  need(&fields, "density", &body.density, "kg/m^3");
  fields.number("poisson_ratio", &body.poisson_ratio);
  for (const char* key :
       {"young_modulus", "density", "poisson_ratio", "damping", "material", "body", "velocity",
        "angular_velocity", "margin", "pressure", "sealed", "pressure_around"}) {
    if (fields.has(key)) body.key_where.emplace(key, fields.where(key));
  }
  for (const char* key : {"box", "cylinder", "ball", "file", "mesh"}) {
    if (fields.has(key)) body.key_where.emplace("mesh", fields.where(key));
  }
  fields.number("pressure", &body.pressure);
  fields.flag("sealed", &body.is_sealed);
  fields.number("pressure_around", &body.pressure_around, kNotNegative);
  if (const YamlNode* damping = fields.find("damping")) {
    YamlFields inner(reader->source, *damping, fields.of("damping"));
    inner.number("alpha", &body.alpha, kNotNegative);
    inner.number("beta", &body.beta, kNotNegative);
    inner.done();
  }
  fields.each("fixed", [&](const YamlNode& item) {
    YamlFields inner(reader->source, item, "a fixed region of " + fields.what());
    SoftRegion region;
    region.where = inner.where();
    if (item.kind == YamlNode::Kind::map && read_region(&inner, &region)) body.fixed.push_back(region);
    inner.done();
  });
  fields.each("attach", [&](const YamlNode& item) {
    YamlFields inner(reader->source, item, "an attachment of " + fields.what());
    if (item.kind != YamlNode::Kind::map) return;
    SoftAttachment attachment;
    attachment.where = inner.where();
    const bool has_region = read_region(&inner, &attachment.region);
    const bool has_body = inner.text("body", &attachment.body);
    if (!has_body && !inner.has("body"))
      inner.error(item, fmt::format("{} is to nothing", inner.what()),
                  "write 'body: ...'; to hold nodes where they are, 'fixed' of the soft body");
    inner.number("stiffness", &attachment.stiffness, kPositiveOrInfinite);
    inner.number("relaxation_time", &attachment.relaxation_time, kNotNegative);
    inner.done();
    if (has_region && has_body) body.attachments.push_back(std::move(attachment));
  });
  fields.vec3("velocity", &body.velocity);
  fields.vec3("angular_velocity", &body.angular_velocity);
  fields.text("material", &body.material);
  if (ContactModel contact; read_contact_model(&fields, &contact)) body.contact = contact;
  fields.flag("collides", &body.collides);
  fields.flag("self_contact", &body.self_contact);
  long bits = 1;
  if (fields.integer("group_bits", 0, kMostBits, &bits)) body.group_bits = static_cast<std::uint64_t>(bits);
  if (fields.integer("mask_bits", 0, kMostBits, &bits)) body.mask_bits = static_cast<std::uint64_t>(bits);
  fields.number("margin", &body.margin, kNotNegative);
  read_color(&fields, &body.rgba);
  fields.done();
  if (!body.collides) {
    for (const char* key : {"material", "contact", "group_bits", "mask_bits", "margin", "self_contact"})
      fields.no_effect(key, "the soft body does not collide", "remove it");
  }
  body.is_incomplete = reader->source.diagnostics->num_errors() > errors;
  reader->scene.soft_bodies.push_back(std::move(body));
}

}  // namespace

void read_soft_bodies(YamlReader* reader, YamlFields* root) {
  root->each("soft_bodies", [&](const YamlNode& node) { read_soft_body(reader, node); });
}

}  // namespace capstan
