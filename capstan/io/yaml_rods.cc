// Rods in YAML scenes; yaml_rod_paths.cc reads where their nodes are.
#include "capstan/io/yaml_rods.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/yaml_parts.h"

namespace capstan {
namespace {

// 3, first or last.
bool read_index(const YamlFields& fields, const YamlNode& node, const std::string& what, int count,
                int* index) {
  if (node.kind == YamlNode::Kind::scalar && (node.text == "first" || node.text == "last")) {
    *index = node.text == "first" ? 0 : std::max(0, count - 1);
    return true;
  }
  double value = 0;
  std::vector<double> values;
  if (node.kind == YamlNode::Kind::scalar) {
    Diagnostics quiet;
    const YamlSource source{fields.source().file, &quiet};
    if (read_number(source, node, what, kAny, &value) && value == std::floor(value) && value >= 0 &&
        value < count) {
      *index = static_cast<int>(value);
      return true;
    }
  }
  fields.source().diagnostics->error(
      fields.source().at(node), fmt::format("{} is {}", what, describe(node)),
      count > 0 ? fmt::format("write first, last, or a whole number from 0 to {}", count - 1)
                : "write first or last");
  return false;
}

void read_indices(YamlFields* fields, const std::string& key, int count, std::vector<int>* indices) {
  fields->each(key, [&](const YamlNode& node) {
    int index = 0;
    if (read_index(*fields, node, "an item of " + fields->of(key), count, &index)) indices->push_back(index);
  });
}

void read_section(YamlFields* rod, RodSection* section) {
  const int ways = rod->at_most_one({"diameter", "section"});
  rod->number("diameter", &section->width, kPositive);
  if (ways == 0) {
    rod->error(rod->node(), fmt::format("{} has no section", rod->what()),
               "write 'diameter: ...' [m], or 'section: {type: rectangle, width: ..., height: ...}'");
  }
  const YamlNode* node = rod->find("section");
  if (!node) return;
  YamlFields fields(rod->source(), *node, rod->of("section"));
  if (node->kind != YamlNode::Kind::map) return;
  int type = 0, torsion = 0;
  if (!fields.choice("type", {"circle", "rectangle", "ellipse"}, &type) && !fields.has("type")) {
    fields.error(*node, fmt::format("{} has no type", fields.what()),
                 "write 'type: circle', rectangle or ellipse");
  }
  section->type = static_cast<RodSectionType>(type);
  const auto need = [&](const char* key, double* value) {
    if (!fields.number(key, value, kPositive) && !fields.has(key)) {
      fields.error(*node, fmt::format("{} has no {}", fields.what(), key),
                   fmt::format("write '{}: ...' [m]", key));
    }
  };
  if (section->type == RodSectionType::circle) {
    need("diameter", &section->width);
  } else {
    need("width", &section->width);
    need("height", &section->height);
  }
  if (fields.choice("torsion", {"exact", "polar"}, &torsion))
    section->torsion = static_cast<TorsionConstant>(torsion);
  fields.done();
}

// A list of three numbers for each joint.
void read_natural(YamlFields* fields, RodSpec* rod) {
  int number = 0;
  fields->each("joints", [&](const YamlNode& node) {
    std::vector<double> v;
    if (read_numbers(fields->source(), node, fmt::format("joint {} of {}", number++, fields->what()), 3, 3,
                     kAny, &v))
      rod->natural.push_back({v[0], v[1], v[2]});
  });
}

void read_rest(YamlFields* fields, RodSpec* rod) {
  const YamlNode* node = fields->find("rest");
  if (!node) return;
  if (node->kind == YamlNode::Kind::scalar) {
    int rest = 0;
    if (fields->choice("rest", {"as_it_starts", "straight"}, &rest)) rod->rest = static_cast<RodRest>(rest);
    return;
  }
  rod->rest = RodRest::given;
  YamlFields inner(fields->source(), *node, fields->of("rest"));
  if (node->kind != YamlNode::Kind::map) return;
  std::vector<double> curvature = {0, 0};
  double twist = 0;
  if (const YamlNode* given = inner.find("curvature"))
    read_numbers(fields->source(), *given, inner.of("curvature"), 2, 2, kAny, &curvature);
  inner.number("twist", &twist);
  if (inner.has("joints")) {
    read_natural(&inner, rod);
    for (const char* key : {"curvature", "twist"})
      inner.no_effect(key, "each joint has its own", "remove it, or 'joints'");
  } else {
    const std::size_t ends = rod->closed ? 0 : 2;
    if (rod->nodes.size() > ends)
      rod->natural.assign(rod->nodes.size() - ends, {curvature[0], curvature[1], twist});
  }
  inner.done();
}

// rest_lengths, one for each edge; or how much all edges are stretched at the start.
void read_lengths(YamlFields* fields, RodSpec* rod) {
  fields->at_most_one({"rest_lengths", "stretch"});
  if (const YamlNode* node = fields->find("rest_lengths")) {
    read_numbers(fields->source(), *node, fields->of("rest_lengths"), 1, kMostRodEdges, kPositive,
                 &rod->rest_length);
  }
  double stretch = 0;
  if (!fields->number("stretch", &stretch)) return;
  if (!(stretch > -1)) {
    fields->error(*fields->find("stretch"), fmt::format("{} is {:g}", fields->of("stretch"), stretch),
                  "write a part of the length above -1, such as 0.01");
    return;
  }
  const std::size_t n = rod->nodes.size();
  for (std::size_t i = 0; i + 1 < n + (rod->closed ? 1 : 0); ++i)
    rod->rest_length.push_back((rod->nodes[(i + 1) % n] - rod->nodes[i]).norm() / (1 + stretch));
}

void read_attachment(const YamlFields& rod_fields, const YamlNode& node, RodSpec* rod) {
  YamlFields fields(rod_fields.source(), node, "an attachment of " + rod_fields.what());
  if (node.kind != YamlNode::Kind::map) return;
  RodAttachment attachment;
  attachment.where = fields.where();
  const int n = static_cast<int>(rod->nodes.size()), edges = rod->closed ? n : n - 1;
  if (fields.at_most_one({"node", "edge"}) == 0) {
    fields.error(node, fmt::format("{} is of neither a node nor an edge", fields.what()),
                 "write 'node: last' to hold a point, 'edge: last' to hold its direction and angle, too");
  }
  const YamlNode *of_node = fields.find("node"), *of_edge = fields.find("edge");
  bool ok = of_node || of_edge;
  if (of_node) ok = read_index(fields, *of_node, fields.of("node"), n, &attachment.node) && ok;
  if (of_edge) ok = read_index(fields, *of_edge, fields.of("edge"), edges, &attachment.edge) && ok;
  if (!fields.text("body", &attachment.body) && !fields.has("body")) {
    fields.error(node, fmt::format("{} is to nothing", fields.what()),
                 "write 'body: ...'; to hold it where it is, 'fixed_nodes' or 'clamped_edges' of the rod");
    ok = false;
  }
  Pose pose;
  if (of_edge) {
    if (fields.has("pose") || fields.has("position")) {
      read_pose(&fields, &pose);
      attachment.pose = pose;
    }
  } else if (fields.vec3("point", &pose.position)) {
    attachment.pose = pose;
  }
  fields.number("stiffness", &attachment.stiffness, kPositiveOrInfinite);
  fields.number("relaxation_time", &attachment.relaxation_time, kNotNegative);
  fields.done();
  if (ok) rod->attachments.push_back(std::move(attachment));
}

void read_rod(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "a rod");
  if (node.kind != YamlNode::Kind::map) return;
  RodSpec rod;
  rod.where = fields.where();
  if (!fields.text("name", &rod.name) || rod.name.empty())
    fields.error(node, "a rod has no name", "write 'name: ...'");
  fields.rename(fmt::format("rod '{}'", rod.name));
  fields.text("body", &rod.body);
  fields.direction("director", &rod.director);
  const bool has_nodes = read_rod_path(reader, &fields, &rod);
  read_section(&fields, &rod.section);
  const auto need = [&](const char* key, double* value, const char* unit) {
    if (!fields.number(key, value, kPositive) && !fields.has(key)) {
      fields.error(node, fmt::format("{} has no {}", fields.what(), key),
                   fmt::format("write '{}: ...' [{}]", key, unit));
    }
  };
  need("young_modulus", &rod.young_modulus, "Pa");
  need("density", &rod.density, "kg/m^3");
  fields.number("poisson_ratio", &rod.poisson_ratio);
  fields.number("shear_modulus", &rod.shear_modulus);
  if (const YamlNode* damping = fields.find("damping")) {
    YamlFields inner(reader->source, *damping, fields.of("damping"));
    inner.number("alpha", &rod.alpha, kNotNegative);
    inner.number("beta", &rod.beta, kNotNegative);
    inner.done();
  }
  read_rest(&fields, &rod);
  read_lengths(&fields, &rod);
  if (const YamlNode* angles = fields.find("angles"))
    read_numbers(reader->source, *angles, fields.of("angles"), 1, kMostRodEdges, kAny, &rod.angles);
  fields.flag("actuated", &rod.actuated);
  const int n = static_cast<int>(rod.nodes.size()), edges = rod.closed ? n : n - 1;
  read_indices(&fields, "fixed_nodes", n, &rod.pinned_nodes);
  read_indices(&fields, "clamped_edges", edges, &rod.clamped_edges);
  read_indices(&fields, "fixed_angles", edges, &rod.held_angles);
  fields.each("attach", [&](const YamlNode& item) { read_attachment(fields, item, &rod); });
  fields.vec3("velocity", &rod.velocity);
  fields.text("material", &rod.material);
  if (ContactModel contact; read_contact_model(&fields, &contact)) rod.contact = contact;
  fields.flag("collides", &rod.collides);
  long bits = 1;
  if (fields.integer("group_bits", 0, kMostBits, &bits)) rod.group_bits = static_cast<std::uint64_t>(bits);
  if (fields.integer("mask_bits", 0, kMostBits, &bits)) rod.mask_bits = static_cast<std::uint64_t>(bits);
  fields.number("margin", &rod.margin, kNotNegative);
  read_color(&fields, &rod.rgba);
  fields.done();
  if (!rod.collides) {
    for (const char* key : {"material", "contact", "group_bits", "mask_bits", "margin"})
      fields.no_effect(key, "the rod does not collide", "remove it");
  }
  if (has_nodes) reader->scene.rods.push_back(std::move(rod));
}

}  // namespace

void read_rods(YamlReader* reader, YamlFields* root) {
  root->each("rods", [&](const YamlNode& node) { read_rod(reader, node); });
}

}  // namespace capstan
