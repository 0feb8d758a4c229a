// <flexcomp dim="1"> (MuJoCo 4) and <composite type="cable"> (MuJoCo 3) to RodSpec.
//
// Both are discrete elastic rods whose edges MuJoCo keeps at their length by constraints; here they stretch
// as their modulus says. E is `young` or the cable's `bend`, G `shear` or `twist`. A chain without a modulus
// is a string: a rod that its own weight stretches by 0.1 %. The mass is spread evenly along the rod, so that
// its end nodes have half the mass of the others; MuJoCo's points have all the same.
//
// What is pinned, or the beginning of a cable, is held in the world or attached to the parent body: both
// nodes of an edge clamp it. Bodies of a cable, B_first, B_1 ... B_last, are its edges: equalities may name
// them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"
#include "capstan/scene/rod.h"

namespace capstan::mjcf {

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kStringStretch = 1e-3;  // by its own weight
constexpr double kStandardGravity = 9.81;

double length_of(const RodSpec& rod) {
  double sum = 0;
  for (std::size_t i = rod.closed ? 0 : 1; i < rod.nodes.size(); ++i)
    sum += (rod.nodes[i] - rod.nodes[i == 0 ? rod.nodes.size() - 1 : i - 1]).norm();
  return sum;
}

double area_of(const RodSection& s) {
  return s.type == RodSectionType::circle ? kPi / 4 * s.width * s.width : s.width * s.height;
}
double second_moment_of(const RodSection& s) {  // the smaller one
  if (s.type == RodSectionType::circle) return kPi / 64 * std::pow(s.width, 4);
  return std::max(s.width, s.height) * std::pow(std::min(s.width, s.height), 3) / 12;
}

}  // namespace

std::vector<Transform> edge_frames(const RodSpec& rod) {
  const int n = static_cast<int>(rod.nodes.size()), edges = rod.closed ? n : n - 1;
  std::vector<Transform> frames(edges);
  Vec3 t = (rod.nodes[1] - rod.nodes[0]).normalized();
  Vec3 normal = rod.director - rod.director.dot(t) * t;
  if (normal.norm() < 1e-9) normal = frame_from_z(t).col(0);
  for (int i = 0; i < edges; ++i) {
    const Vec3 &a = rod.nodes[i], &b = rod.nodes[(i + 1) % n], next = (b - a).normalized();
    // As the rod's sections go along it: by the shortest turn from edge to edge.
    const Vec3 axis = cross(t, next);
    if (axis.norm() > 1e-12)
      normal = rotation_matrix(quat_exp(axis.normalized() * std::atan2(axis.norm(), t.dot(next)))) * normal;
    t = next;
    normal = (normal - normal.dot(t) * t).normalized();
    frames[i].R << normal, cross(t, normal), t;
    frames[i].p = 0.5 * (a + b);
  }
  return frames;
}

void hold(std::vector<int> held, const Source& where, const std::string& body, RodSpec* rod) {
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::vector<int> edges, nodes;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const bool next = i + 1 < held.size() && held[i + 1] == held[i] + 1;
    if (next) {
      edges.push_back(held[i]);
    } else if (edges.empty() || edges.back() + 1 != held[i]) {
      nodes.push_back(held[i]);
    }
  }
  if (body == kWorld) {
    rod->pinned_nodes = nodes;
    rod->clamped_edges = edges;
    return;
  }
  const auto attach = [&](int node, int edge) {
    RodAttachment a;
    a.where = where;
    a.node = node;
    a.edge = edge;
    a.body = body;
    rod->attachments.push_back(a);
  };
  for (const int node : nodes) attach(node, -1);
  for (const int edge : edges) attach(-1, edge);
}

namespace {

void set_contact(Reader& reader, const XmlElement* element, const GeomSpec& geom, RodSpec* rod) {
  rod->material = material_of(reader, element, geom);
  rod->group_bits = geom.contype;
  rod->mask_bits = geom.conaffinity;
  rod->collides = (geom.contype != 0 || geom.conaffinity != 0) && !reader.compiler.contacts_disabled;
  rod->margin = geom.margin;
  if (!geom.material.empty()) {
    if (const auto colour = reader.colours.find(geom.material); colour == reader.colours.end()) {
      reader.xml.attribute_error(element, "material",
                                 fmt::format("material '{}' does not exist", geom.material),
                                 "define it in <asset> or correct the name");
    } else if (colour->second.rgba) {
      rod->rgba = *colour->second.rgba;
    }
  }
  if (geom.rgba) rod->rgba = *geom.rgba;
}

// E of a string, told.
void make_string(Reader& reader, const XmlElement* element, const char* what, RodSpec* rod) {
  rod->young_modulus = rod->density * kStandardGravity * length_of(*rod) / kStringStretch;
  reader.xml.diagnostics()->not_understood(
      reader.xml.where(element),
      fmt::format("{} is read as a rod of E = {:.3g} Pa, which its weight stretches by {:g} %", what,
                  rod->young_modulus, 100 * kStringStretch));
}

// A count of nodes within the limits, or 0 with an error.
int check_count(Reader& reader, const XmlElement* element, const char* attribute, double count, int least) {
  const double most = reader.xml.limits().max_elements;
  if (count >= least && count <= most && count == std::floor(count)) return static_cast<int>(count);
  reader.xml.attribute_error(element, attribute,
                             fmt::format("<{}> has {:g} points", XmlFiles::tag(element), count),
                             fmt::format("write a whole number from {} to {:g}", least, most));
  return 0;
}

// --- flexcomp ----------------------------------------------------------------------------------------------

}  // namespace

bool is_chain(const std::vector<double>& elements, int n, bool* closed) {
  const int count = static_cast<int>(elements.size() / 2);
  *closed = count == n && n > 2;
  if (elements.size() % 2 != 0 || (count != n - 1 && !*closed)) return false;
  for (int i = 0; i < count; ++i) {
    if (elements[2 * i] != i || elements[2 * i + 1] != (i + 1) % n) return false;
  }
  return true;
}

namespace {

// Points in the frame of the flexcomp; false with an error or a report.
bool read_points(Reader& reader, const XmlElement* element, RodSpec* rod) {
  XmlFiles& xml = reader.xml;
  const std::string type = xml.text(element, "type").value_or("grid");
  std::array<double, 3> count = {10, 10, 10}, spacing = {0.02, 0.02, 0.02};
  xml.vector(element, "count", 1, 3, count.data());
  xml.vector(element, "spacing", 1, 3, spacing.data());
  const std::vector<double> given = xml.numbers(element, "point"), chain = xml.numbers(element, "element");
  const Vec3 scale = xml.vec3(element, "scale").value_or(Vec3::Ones());
  if (type == "grid" || type == "circle") {
    rod->closed = type == "circle";
    int n = check_count(reader, element, "count", count[0], rod->closed ? 4 : 2);
    if (n == 0) return false;
    if (!(spacing[0] > 0)) {
      xml.attribute_error(element, "spacing", fmt::format("<flexcomp> spacing is {:g} m", spacing[0]),
                          "write a distance above 0");
      return false;
    }
    if (rod->closed) --n;  // the last point is the first
    for (int i = 0; i < n; ++i) {
      const double angle = 2 * kPi * i / n, radius = 0.5 * spacing[0] / std::sin(kPi / n);
      rod->nodes.push_back(rod->closed ? Vec3(radius * std::cos(angle), radius * std::sin(angle), 0)
                                       : Vec3((i - 0.5 * (n - 1)) * spacing[0], 0, 0));
    }
    return true;
  }
  if (type != "direct") {
    xml.not_simulated(element, fmt::format("of type '{}' is no rod; it is left out", type));
    return false;
  }
  const int n = static_cast<int>(given.size() / 3);
  if (given.size() % 3 != 0 || n < 2) {
    xml.attribute_error(element, "point", fmt::format("<flexcomp> point has {} numbers", given.size()),
                        "write three for each point, two points at least");
    return false;
  }
  for (int i = 0; i < n; ++i)
    rod->nodes.push_back(scale.cwiseProduct(Vec3(given[3 * i], given[3 * i + 1], given[3 * i + 2])));
  if (is_chain(chain, n, &rod->closed)) return true;
  xml.not_simulated(element, kNoChain);
  return false;
}

std::vector<int> read_pins(Reader& reader, const XmlElement* element, int num_nodes) {
  XmlFiles& xml = reader.xml;
  std::vector<int> pinned;
  const auto add = [&](const XmlElement* pin, const char* attribute, double i) {
    if (i >= 0 && i < num_nodes && i == std::floor(i)) {
      pinned.push_back(static_cast<int>(i));
    } else {
      xml.attribute_error(pin, attribute, fmt::format("<pin> of point {:g}, of {}", i, num_nodes),
                          fmt::format("write points from 0 to {}", num_nodes - 1));
    }
  };
  for (const XmlElement* pin : xml.children(element, "pin")) {
    xml.accept(pin);
    for (const double i : xml.numbers(pin, "id")) add(pin, "id", i);
    const std::vector<double> ranges = xml.numbers(pin, "range");
    for (std::size_t k = 0; k + 1 < ranges.size(); k += 2) {
      add(pin, "range", ranges[k + 1]);
      for (double i = ranges[k]; i < std::min<double>(ranges[k + 1], num_nodes); ++i) add(pin, "range", i);
    }
    for (const char* grid : {"grid", "gridrange"}) xml.not_simulated(pin, grid, "is not used for a rod");
  }
  return pinned;
}

// The width of MuJoCo's first edge: across it and x, or z where the edge is along x, in the frame of the body
// that the points are in (found by trial).
Vec3 first_director(const Vec3& tangent) {
  return cross(std::abs(tangent.x()) < 0.87 ? Vec3(Vec3::UnitX()) : Vec3(Vec3::UnitZ()), tangent);
}

// The part of a flexcomp that is a material; false where it cannot be a rod.
void read_elasticity(Reader& reader, const XmlElement* element, double radius, RodSpec* rod) {
  XmlFiles& xml = reader.xml;
  rod->section = {RodSectionType::circle, 2 * radius, 0, TorsionConstant::exact};
  rod->poisson_ratio = 0;
  for (const XmlElement* child : xml.children(element, "elasticity")) {
    xml.accept(child);
    if (const auto E = xml.number(child, "young")) rod->young_modulus = *E;
    if (const auto nu = xml.number(child, "poisson")) rod->poisson_ratio = *nu;
    if (const auto G = xml.number(child, "shear")) rod->shear_modulus = *G;
    if (const auto beta = xml.number(child, "damping")) rod->beta = *beta;
    const auto section = xml.keyword(child, "section", {"circle", "box"});
    std::array<double, 2> half = {0, 0};
    xml.vector(child, "sectionsize", 2, 2, half.data());
    if (section.value_or(0) == 1) {
      rod->section = {RodSectionType::rectangle, 2 * half[0], 2 * half[1], TorsionConstant::exact};
      rod->director = first_director((rod->nodes[1] - rod->nodes[0]).normalized());
    }
    xml.not_simulated_unless_zero(child, "yield", "is not simulated: a rod is elastic");
    xml.accept_attributes(child, {"thickness", "elastic2d"});
  }
}

}  // namespace

bool read_flex_properties(Reader& reader, const XmlElement* element, double mass, const char* what,
                          RodSpec* rod) {
  XmlFiles& xml = reader.xml;
  const double radius = xml.number(element, "radius").value_or(0.005);
  read_elasticity(reader, element, radius, rod);
  if (!(mass > 0) || !(radius > 0) || !(area_of(rod->section) > 0)) {
    xml.error(element,
              fmt::format("rod '{}' has mass {:g} kg, radius {:g} m, section {:g} m^2", rod->name, mass,
                          radius, area_of(rod->section)),
              "write numbers above 0");
    return false;
  }
  if (!(length_of(*rod) > 0)) {
    xml.error(element, fmt::format("rod '{}' has no length", rod->name), "move its points apart");
    return false;
  }
  rod->density = mass / (area_of(rod->section) * length_of(*rod));
  if (rod->young_modulus == 0) make_string(reader, element, what, rod);

  GeomSpec geom;
  if (const auto name = xml.text(element, "material")) geom.material = *name;
  std::array<double, 4> rgba;
  if (xml.vector(element, "rgba", 4, 4, rgba.data()))
    geom.rgba = {static_cast<float>(rgba[0]), static_cast<float>(rgba[1]), static_cast<float>(rgba[2]),
                 static_cast<float>(rgba[3])};
  const XmlElement* contact = element;
  bool touches_itself = true;
  for (const XmlElement* child : xml.children(element, "contact")) {
    xml.accept(child);
    overlay_geom(reader, child, &geom);
    const auto self = xml.keyword(child, "selfcollide", {"none", "narrow", "bvh", "sap", "auto"});
    touches_itself = self.value_or(4) != 0;
    xml.accept_attributes(child, {"internal", "activelayers", "passive"});
    contact = child;
  }
  set_contact(reader, contact, geom, rod);
  if (!touches_itself) rod->mask_bits &= ~rod->group_bits;  // others see its group still
  for (const XmlElement* child : xml.children(element, "edge")) {
    xml.accept(child);
    xml.not_simulated_unless_zero(child, "stiffness", "is not used: a rod's edges have E A / L");
    xml.not_simulated_unless_zero(child, "damping", "is not used: write damping of <elasticity>");
    xml.accept_attributes(child, {"equality", "solref", "solimp"});
  }
  for (const XmlElement* child : xml.children(element, "plugin"))
    xml.not_simulated(child, "is not supported");
  xml.accept_attributes(element, {"group", "flatskin", "texcoord", "cellcount", "dof"});
  return true;
}

void read_flex_rod(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  RodSpec rod;
  rod.where = xml.where(element);
  rod.body = scope.body;
  rod.name = reader.claim_name(Kind::body, element, scope.suffix, "rod");
  if (xml.boolean(element, "rigid").value_or(false)) {
    xml.not_simulated(element, "is rigid, which is not supported; it is left out");
    return;
  }
  if (!read_points(reader, element, &rod)) return;
  PoseSpec pose;
  read_pose(reader, element, &pose);
  const Transform X = scope.frame * to_transform(pose);
  for (Vec3& node : rod.nodes) node = X * node;
  const double mass = xml.number(element, "mass").value_or(1);
  if (!read_flex_properties(reader, element, mass, "a flexcomp without young", &rod)) return;
  hold(read_pins(reader, element, static_cast<int>(rod.nodes.size())), rod.where, scope.body, &rod);
  xml.accept_attributes(element, {"inertiabox", "file", "mesh", "origin"});
  reader.scene.rods.push_back(std::move(rod));
}

// --- composite ---------------------------------------------------------------------------------------------

namespace {

bool read_curve(Reader& reader, const XmlElement* element, RodSpec* rod) {
  XmlFiles& xml = reader.xml;
  const std::vector<double> vertex = xml.numbers(element, "vertex");
  std::array<double, 3> count = {1, 1, 1}, size = {1, 0, 0};
  xml.vector(element, "count", 1, 3, count.data());
  xml.vector(element, "size", 1, 3, size.data());
  const std::string curve = xml.text(element, "curve").value_or("");
  if (!vertex.empty()) {
    if (vertex.size() % 3 != 0 || vertex.size() < 6) {
      xml.attribute_error(element, "vertex", fmt::format("<composite> vertex has {} numbers", vertex.size()),
                          "write three for each point, two points at least");
      return false;
    }
    for (std::size_t i = 0; i < vertex.size(); i += 3)
      rod->nodes.push_back({vertex[i], vertex[i + 1], vertex[i + 2]});
    return true;
  }
  const int n = check_count(reader, element, "count", count[0], 2);
  if (n == 0) return false;
  std::vector<std::string> words;
  std::istringstream text(curve);
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty() || words.size() > 3) {
    xml.attribute_error(element, "curve", fmt::format("<composite> curve is '{}'", curve),
                        "write one to three of s, cos(s), sin(s) and 0");
    return false;
  }
  for (int i = 0; i < n; ++i) {
    const double s = double(i) / (n - 1);
    Vec3 node = Vec3::Zero();
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (words[k] == "s") {
        node[k] = s * size[0];
      } else if (words[k] == "cos(s)") {
        node[k] = size[1] * std::cos(kPi * s * size[2]);
      } else if (words[k] == "sin(s)") {
        node[k] = size[1] * std::sin(kPi * s * size[2]);
      } else if (words[k] != "0") {
        xml.attribute_error(element, "curve", fmt::format("<composite> curve has '{}'", words[k]),
                            "write s, cos(s), sin(s) or 0");
        return false;
      }
    }
    rod->nodes.push_back(node);
  }
  return true;
}

// bend, twist and flat of the cable's plugin. True: it has one.
bool read_cable_plugin(Reader& reader, const XmlElement* element, RodSpec* rod) {
  XmlFiles& xml = reader.xml;
  bool any = false;
  for (const XmlElement* plugin : xml.children(element, "plugin")) {
    const std::string name = xml.peek(plugin, "plugin");
    if (name != "mujoco.elasticity.cable") {
      xml.not_simulated(plugin, "is not supported");
      continue;
    }
    any = true;
    xml.accept(plugin);
    xml.accept_attributes(plugin, {"plugin"});
    for (const XmlElement* config : xml.children(plugin, "config")) {
      xml.accept(config);
      const std::string key = xml.text(config, "key").value_or("");
      if (key == "bend") {
        rod->young_modulus = xml.number(config, "value").value_or(0);
      } else if (key == "twist") {
        rod->shear_modulus = xml.number(config, "value").value_or(0);
      } else if (key == "flat") {
        if (xml.boolean(config, "value").value_or(false)) rod->rest = RodRest::straight;
      } else {
        xml.accept_attributes(config, {"value"});  // vmax: a colour
      }
    }
  }
  return any;
}

// The bodies that MuJoCo makes, as equalities name them: edge i, x along it from its first node.
void name_bodies(Reader& reader, const XmlElement* element, const std::string& prefix, const Scope& scope,
                 const RodSpec& rod) {
  const std::vector<Transform> frames = edge_frames(rod);
  const int edges = static_cast<int>(frames.size());
  for (int i = 0; i < edges; ++i) {
    const std::string name = prefix +
                             (i == 0           ? "B_first"
                              : i + 1 == edges ? "B_last"
                                               : fmt::format("B_{}", i)) +
                             scope.suffix;
    Transform X_EdgeCable;  // an edge has z along it and its middle for origin
    X_EdgeCable.R.col(0) = Vec3::UnitZ();
    X_EdgeCable.R.col(1) = Vec3::UnitX();
    X_EdgeCable.R.col(2) = Vec3::UnitY();
    X_EdgeCable.p = Vec3(0, 0, -0.5 * (rod.nodes[i + 1] - rod.nodes[i]).norm());
    reader.names.try_emplace({Kind::body, name}, reader.xml.where(element));
    reader.world_pose[name] = reader.world_pose.at(scope.body) * frames[i] * X_EdgeCable;
    reader.cable_bodies[name] = {fmt::format("{}/{}", rod.name, i), X_EdgeCable};
  }
}

}  // namespace

void read_composite(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (xml.peek(element, "type") != "cable") {
    xml.not_simulated(element, "is no cable; what it would make is left out");
    return;
  }
  if (!xml.count(element)) return;
  xml.accept(element);
  xml.accept_attributes(element, {"type"});
  const std::string prefix = xml.text(element, "prefix").value_or("");
  RodSpec rod;
  rod.where = xml.where(element);
  rod.body = scope.body;
  rod.name = reader.claim_name(Kind::body, element, scope.suffix, prefix.empty() ? "cable" : prefix);
  if (!read_curve(reader, element, &rod)) return;
  const bool has_plugin = read_cable_plugin(reader, element, &rod);
  GeomSpec geom = find_class(reader, element, scope.childclass).geom;
  const XmlElement* shape = element;
  for (const XmlElement* child : xml.children(element, "geom")) {
    xml.accept(child);
    overlay_geom(reader, child, &geom);
    shape = child;
  }
  if (geom.type == GeomSpec::box) {  // y and z of its bodies; x is along them
    rod.section = {RodSectionType::rectangle, 2 * geom.size[1], 2 * geom.size[2], TorsionConstant::exact};
  } else if (geom.type == GeomSpec::capsule || geom.type == GeomSpec::cylinder) {
    rod.section = {RodSectionType::circle, 2 * geom.size[0], 0, TorsionConstant::exact};
  } else {
    xml.attribute_error(shape, "type", "the geom of a cable is no capsule, cylinder or box",
                        "write type=\"capsule\" and a size");
    return;
  }
  rod.director = Vec3(0, 1, 0);
  const int edges = static_cast<int>(rod.nodes.size()) - 1;
  const double length = length_of(rod), area = area_of(rod.section), I = second_moment_of(rod.section);
  if (!(length > 0) || !(area > 0)) {
    xml.error(element,
              fmt::format("cable '{}' has length {:g} m and section {:g} m^2", rod.name, length, area),
              "write numbers above 0");
    return;
  }
  rod.density = geom.mass ? *geom.mass * edges / (area * length) : geom.density;
  for (const XmlElement* child : xml.children(element, "joint")) {
    xml.accept(child);
    JointSpec joint;
    overlay_joint(reader, child, &joint);
    if (!has_plugin && joint.stiffness > 0) rod.young_modulus = joint.stiffness * length / edges / I;
    if (joint.damping > 0 &&
        rod.young_modulus > 0)  // of the moment at a joint, as Rayleigh's beta of E I / h
      rod.beta = joint.damping * length / edges / (rod.young_modulus * I);
    xml.not_simulated_unless_zero(child, "armature", "is not simulated in a rod");
    xml.accept_attributes(child, {"kind", "group"});
  }
  if (rod.young_modulus == 0) make_string(reader, element, "a cable without bend", &rod);
  std::vector<int> held;
  const std::string initial = xml.text(element, "initial").value_or("ball");
  if (initial == "ball") held = {0};
  if (initial == "none") held = {0, 1};
  if (initial != "ball" && initial != "none" && initial != "free") {
    xml.attribute_error(element, "initial", fmt::format("<composite> initial is '{}'", initial),
                        "write free, ball or none");
  }
  hold(held, rod.where, scope.body, &rod);
  const Vec3 offset = xml.vec3(element, "offset").value_or(Vec3::Zero());
  PoseSpec pose;
  read_pose(reader, element, &pose);
  pose.position += offset;
  const Transform X = scope.frame * to_transform(pose);
  for (Vec3& node : rod.nodes) node = X * node;
  rod.director = X.R * rod.director;
  set_contact(reader, shape, geom, &rod);
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "skin" || tag == "site") xml.accept_all(child);
  }
  xml.accept_attributes(element, {"spacing", "flatinertia", "solrefsmooth", "solimpsmooth"});
  name_bodies(reader, element, prefix, scope, rod);
  reader.scene.rods.push_back(std::move(rod));
}

void name_edges(const Reader& reader, std::string* body, std::optional<Pose>* pose) {
  const auto found = reader.cable_bodies.find(*body);
  if (found == reader.cable_bodies.end()) return;
  *body = found->second.edge;
  if (pose != nullptr)
    *pose = to_pose(found->second.X_EdgeBody * (*pose ? to_transform(**pose) : Transform{}));
}

}  // namespace capstan::mjcf
