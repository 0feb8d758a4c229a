// <flexcomp dim="3"> to soft bodies: grids, points and elements that are written out, and Gmsh's files, with
// <elasticity young="...">. Others are told and left out.
//
// Grids are cut into tets our way, five for each cell; their vertices are counted as MuJoCo does, along z
// first. MuJoCo gives every vertex the same mass; here it is that of a solid.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "capstan/io/mjcf_reader.h"
#include "capstan/io/tet_file.h"
#include "capstan/scene/soft_body.h"

namespace capstan::mjcf {
namespace {

constexpr double kMostFlexTets = 200'000;
constexpr double kPinRadius = 1e-6;  // of the size of the mesh

struct Flex {
  std::array<int, 3> count = {10, 10, 10};
  bool is_grid = false;
  TetMesh mesh;
};

std::vector<int> integers(XmlFiles& xml, const XmlElement* element, const char* name) {
  constexpr double kMost = 1e9;  // more than there are of anything, and an int
  std::vector<int> list;
  for (const double x : xml.numbers(element, name))
    list.push_back(std::isnan(x) ? -1 : static_cast<int>(std::lround(std::clamp(x, -kMost, kMost))));
  return list;
}

bool make_grid(Reader& reader, const XmlElement* element, Flex* flex) {
  XmlFiles& xml = reader.xml;
  std::array<double, 3> count = {10, 10, 10}, spacing = {0.02, 0.02, 0.02};
  xml.vector(element, "count", 3, 3, count.data());
  xml.vector(element, "spacing", 3, 3, spacing.data());
  double tets = 5;
  std::array<int, 3> cells;
  Vec3 size;
  for (int k = 0; k < 3; ++k) {
    const double points = std::round(count[k]);
    tets *= points - 1;
    if (points >= 2 && spacing[k] > 0) continue;
    xml.attribute_error(element, "count",
                        fmt::format("a <flexcomp> has {:g} points {:g} m apart", points, spacing[k]),
                        "write two or more along each direction, with a spacing above 0");
    return false;
  }
  if (!(tets <= kMostFlexTets)) {
    xml.attribute_error(element, "count", fmt::format("<flexcomp> would have {:.3g} tets", tets),
                        fmt::format("write fewer points; {:g} tets are the most", kMostFlexTets));
    return false;
  }
  for (int k = 0; k < 3; ++k) {
    flex->count[k] = static_cast<int>(std::lround(count[k]));
    cells[k] = flex->count[k] - 1;
    size[k] = cells[k] * spacing[k];
  }
  const TetMesh ours = make_box_tets(size, cells);
  const auto& n = flex->count;
  std::vector<int> number(ours.vertices.size());
  flex->mesh.vertices.resize(ours.vertices.size());
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) {
        const int from = i + n[0] * (j + n[1] * k), to = k + n[2] * (j + n[1] * i);
        number[from] = to;
        flex->mesh.vertices[to] = ours.vertices[from];
      }
    }
  }
  for (const auto& tet : ours.tets)
    flex->mesh.tets.push_back({number[tet[0]], number[tet[1]], number[tet[2]], number[tet[3]]});
  flex->is_grid = true;
  return true;
}

bool take_elements(Reader& reader, const XmlElement* element, Flex* flex) {
  XmlFiles& xml = reader.xml;
  const std::vector<double> x = xml.numbers(element, "point");
  const std::vector<int> nodes = integers(xml, element, "element");
  const int count = static_cast<int>(x.size() / 3);
  if (x.size() % 3 != 0 || nodes.size() % 4 != 0 || x.empty() || nodes.empty() ||
      std::any_of(nodes.begin(), nodes.end(), [&](int i) { return i < 0 || i >= count; })) {
    xml.error(element, "a <flexcomp> has points or elements that do not fit together",
              "write three numbers for each point and four indices of them for each tet");
    return false;
  }
  for (int i = 0; i < count; ++i) flex->mesh.vertices.push_back({x[3 * i], x[3 * i + 1], x[3 * i + 2]});
  for (std::size_t t = 0; t < nodes.size(); t += 4)
    flex->mesh.tets.push_back({nodes[t], nodes[t + 1], nodes[t + 2], nodes[t + 3]});
  return true;
}

// Vertices that <pin> names.
std::vector<int> read_pins(Reader& reader, const XmlElement* element, const Flex& flex) {
  XmlFiles& xml = reader.xml;
  const int count = static_cast<int>(flex.mesh.vertices.size());
  std::vector<int> pins;
  const auto at = [&](int i, int j, int k) { return k + flex.count[2] * (j + flex.count[1] * i); };
  for (const XmlElement* pin : xml.children(element, "pin")) {
    xml.accept(pin);
    for (const int id : integers(xml, pin, "id")) pins.push_back(id);
    const std::vector<int> range = integers(xml, pin, "range"), grid = integers(xml, pin, "grid"),
                           boxes = integers(xml, pin, "gridrange");
    for (std::size_t r = 0; r + 1 < range.size(); r += 2) {
      for (int id = std::max(0, range[r]); id <= std::min(count - 1, range[r + 1]); ++id) pins.push_back(id);
    }
    for (std::size_t g = 0; g + 2 < grid.size() && flex.is_grid; g += 3) {
      for (int k = 0; k < 3; ++k) {
        if (grid[g + k] >= 0 && grid[g + k] < flex.count[k]) continue;
        xml.error(pin,
                  fmt::format("a <pin> names point {} {} {} of a grid of {} x {} x {}", grid[g], grid[g + 1],
                              grid[g + 2], flex.count[0], flex.count[1], flex.count[2]),
                  "number points from 0 along each direction");
        return {};
      }
      pins.push_back(at(grid[g], grid[g + 1], grid[g + 2]));
    }
    for (std::size_t b = 0; b + 5 < boxes.size() && flex.is_grid; b += 6) {
      const auto last = [&](int k) { return std::min(boxes[b + 3 + k], flex.count[k] - 1); };
      for (int i = std::max(0, boxes[b]); i <= last(0); ++i) {
        for (int j = std::max(0, boxes[b + 1]); j <= last(1); ++j) {
          for (int k = std::max(0, boxes[b + 2]); k <= last(2); ++k) pins.push_back(at(i, j, k));
        }
      }
    }
  }
  for (const int id : pins) {
    if (id >= 0 && id < count) continue;
    xml.error(element, fmt::format("a <pin> names vertex {} of {}", id, count),
              fmt::format("write numbers from 0 to {}", count - 1));
    return {};
  }
  return pins;
}

}  // namespace

void read_flex_solid(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  const std::string type = xml.peek(element, "type").empty() ? "grid" : xml.peek(element, "type");
  const std::vector<const XmlElement*> elasticity = xml.children(element, "elasticity");
  if (xml.peek(element, "dim") != "3" || (type != "grid" && type != "direct" && type != "gmsh") ||
      xml.peek(element, "rigid") == "true" || elasticity.empty() || !xml.has(elasticity[0], "young")) {
    xml.not_simulated(element,
                      "is not supported but for dim 1, and dim 3 of type grid, direct or gmsh with "
                      "<elasticity young>; what "
                      "it would make is left out");
    return;
  }
  xml.accept(element);
  xml.accept(elasticity[0]);
  xml.accept_attributes(element,
                        {"dim", "type", "rigid", "group", "flatskin", "material", "texcoord", "inertiabox"});
  Flex flex;
  bool ok = true;
  if (type == "grid") ok = make_grid(reader, element, &flex);
  if (type == "direct") ok = take_elements(reader, element, &flex);
  if (type == "gmsh") {
    const auto path =
        std::filesystem::path(xml.where(element).file).parent_path() / xml.required_text(element, "file");
    const auto read = read_tets(path.string(), 1, xml.where(element), xml.diagnostics());
    ok = read != nullptr;
    if (ok) flex.mesh = *read;
  }
  const Vec3 scale = xml.vec3(element, "scale").value_or(Vec3::Ones());
  for (Vec3& x : flex.mesh.vertices) x = x.cwiseProduct(scale);

  SoftBodySpec body;
  body.where = xml.where(element);
  body.name = xml.required_text(element, "name") + scope.suffix;
  body.body = scope.body;
  PoseSpec pose;
  read_pose(reader, element, &pose);
  body.pose = to_pose(scope.frame * to_transform(pose));
  body.young_modulus = xml.number(elasticity[0], "young").value_or(0);
  body.poisson_ratio = xml.number(elasticity[0], "poisson").value_or(0);
  body.beta = xml.number(elasticity[0], "damping").value_or(0);
  const double mass = xml.number(element, "mass").value_or(1);
  xml.not_simulated(element, "dof", "is not simulated; all vertices move");
  xml.not_simulated(element, "radius", "is not simulated; the surface is that of the tets");
  for (const char* tag : {"edge", "plugin"}) {
    for (const XmlElement* child : xml.children(element, tag)) xml.not_simulated(child, "is not simulated");
  }
  const std::vector<int> pins = ok ? read_pins(reader, element, flex) : std::vector<int>{};
  body.self_contact = true;
  GeomSpec surface;
  const std::vector<const XmlElement*> contact = xml.children(element, "contact");
  if (!contact.empty()) {
    xml.accept(contact[0]);
    xml.accept_attributes(contact[0], {"internal", "activelayers", "passive", "vertcollide"});
    if (xml.text(contact[0], "selfcollide") == "none") body.self_contact = false;
    overlay_geom(reader, contact[0], &surface);
  }
  body.material = material_of(reader, contact.empty() ? element : contact[0], surface);
  body.group_bits = surface.contype;
  body.mask_bits = surface.conaffinity;
  body.margin = surface.margin;
  body.collides = (surface.contype != 0 || surface.conaffinity != 0) && !reader.compiler.contacts_disabled;
  std::array<double, 4> rgba = {0.5, 0.5, 0.5, 1};
  xml.vector(element, "rgba", 4, 4, rgba.data());
  for (int k = 0; k < 4; ++k) body.rgba[k] = static_cast<float>(rgba[k]);
  if (!ok) return;
  double volume = 0, size = 0;
  for (int t = 0; t < static_cast<int>(flex.mesh.tets.size()); ++t)
    volume += std::abs(tet_volume(flex.mesh, t));
  for (const Vec3& x : flex.mesh.vertices) size = std::max(size, x.norm());
  body.density = volume > 0 ? mass / volume : 0;
  SoftAttachment attachment;
  attachment.body = scope.body;
  attachment.where = body.where;
  for (const int id : pins) {
    SoftRegion region;
    region.is_ball = true;
    region.centre = flex.mesh.vertices[id];
    region.radius = kPinRadius * size;
    region.where = body.where;
    if (scope.body == kWorld) {
      body.fixed.push_back(region);
    } else {
      attachment.region = region;
      body.attachments.push_back(attachment);
    }
  }
  body.mesh = std::make_shared<const TetMesh>(cleaned(flex.mesh));
  reader.scene.soft_bodies.push_back(std::move(body));
}

}  // namespace capstan::mjcf
