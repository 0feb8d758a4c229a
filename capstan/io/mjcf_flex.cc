// Raw <flex dim="1"> to RodSpec, as MuJoCo writes flexcomps when it saves a file.
//
// Points of a flex are bodies with three slides each, and the twist of its edges are bodies with a hinge that
// are called "NAME_twist_0", ..., "NAME_twist". Such bodies become the rod; a point on any other body is
// attached to it, or held in the world. The rest is as with a flexcomp (mjcf_rod.cc): the mean mass of the
// points is that of all, so that a file that MuJoCo saved is the same rod as before.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "capstan/io/mjcf_reader.h"
#include "capstan/scene/rod.h"

namespace capstan::mjcf {
namespace {

constexpr double kEvenMasses = 0.01;  // how far points may be from their mean without a word

// Whether a body is a point: three slides along different directions, nothing else but its mass.
bool is_point(Reader& reader, const XmlElement* body, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  Mat3 axes = Mat3::Zero();
  int slides = 0, masses = 0;
  for (const XmlElement* child : xml.children(body)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "inertial") {
      ++masses;
    } else if (tag == "joint" && slides < 3) {
      JointSpec joint = find_class(reader, child, scope.childclass).joint;
      overlay_joint(reader, child, &joint);
      if (joint.type != JointSpec::slide) return false;
      axes.col(slides++) = joint.axis.normalized();
    } else {
      return false;
    }
  }
  return slides == 3 && masses == 1 && std::abs(axes.determinant()) > 0.999;
}

bool is_twist(Reader& reader, const XmlElement* body) {
  int hinges = 0;
  for (const XmlElement* child : reader.xml.children(body)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "joint") ++hinges;
    if (tag != "joint" && tag != "inertial") return false;
  }
  return hinges == 1;
}

}  // namespace

void find_flex_rods(Reader& reader, const XmlElement* section) {
  XmlFiles& xml = reader.xml;
  xml.accept(section);
  for (const XmlElement* skin : xml.children(section, "skin")) xml.accept_all(skin);
  for (const XmlElement* element : xml.children(section, "flex")) {
    if (!xml.count(element)) return;
    if (xml.integer(element, "dim").value_or(2) != 1) {
      xml.not_simulated(element, "is not supported but for dim 1; it is left out");
      continue;
    }
    Reader::Flex flex;
    flex.element = element;
    flex.name = xml.text(element, "name").value_or("");
    std::istringstream words(xml.text(element, "body").value_or(""));
    for (std::string word; words >> word;) flex.bodies.push_back(word);
    const int n = static_cast<int>(flex.bodies.size());
    const std::vector<double> vertex = xml.numbers(element, "vertex");
    if (n < 2 || (!vertex.empty() && static_cast<int>(vertex.size()) != 3 * n)) {
      xml.not_simulated(element, "has no body for each of its vertices; it is left out");
      continue;
    }
    for (int i = 0; i < n; ++i)
      flex.vertices.push_back(vertex.empty() ? Vec3(Vec3::Zero())
                                             : Vec3(vertex[3 * i], vertex[3 * i + 1], vertex[3 * i + 2]));
    if (!is_chain(xml.numbers(element, "element"), n, &flex.closed)) {
      xml.not_simulated(element, kNoChain);
      continue;
    }
    for (const std::string& body : flex.bodies) {
      if (body != kWorld) reader.flex_points.insert(body);
    }
    for (int i = 0; i < n; ++i) reader.flex_twists.insert(fmt::format("{}_twist_{}", flex.name, i));
    reader.flex_twists.insert(flex.name + "_twist");
    reader.flexes.push_back(std::move(flex));
  }
}

bool take_flex_body(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  const std::string name = xml.peek(element, "name");
  if (!scope.suffix.empty()) return false;  // copies of a replicate have other names
  if (reader.flex_twists.count(name) > 0 && is_twist(reader, element)) {
    xml.accept_all(element);
    return true;
  }
  if (reader.flex_points.count(name) == 0 || !is_point(reader, element, scope)) return false;
  PoseSpec pose;
  read_pose(reader, element, &pose);
  const std::string body = reader.claim_name(Kind::body, element, "", "body");
  reader.world_pose[body] = reader.world_pose.at(scope.body) * scope.frame * to_transform(pose);
  reader.points[body].parent = scope.body;
  for (const XmlElement* child : xml.children(element)) {
    if (XmlFiles::tag(child) == "inertial") {
      reader.points[body].mass = xml.number(child, "mass").value_or(0);
      continue;
    }
    JointSpec joint = find_class(reader, child, scope.childclass).joint;
    overlay_joint(reader, child, &joint);
    if (joint.damping != 0 || joint.stiffness != 0 || joint.armature != 0 || joint.frictionloss != 0)
      xml.not_simulated(child, "has damping, stiffness, armature or friction, which a rod's point has not");
  }
  xml.accept_all(element);
  return true;
}

void read_flexes(Reader& reader) {
  XmlFiles& xml = reader.xml;
  for (const Reader::Flex& flex : reader.flexes) {
    xml.accept(flex.element);
    RodSpec rod;
    rod.where = xml.where(flex.element);
    rod.closed = flex.closed;
    rod.name = flex.name.empty() || reader.exists(Kind::body, flex.name)
                   ? flex.name + (flex.name.empty() ? "rod" : "_rod")
                   : flex.name;
    const int n = static_cast<int>(flex.bodies.size());
    std::map<std::string, std::vector<int>> held;  // of each body that is no point
    double mass = 0, least = kInfinity, most = 0;
    int points = 0;
    bool good = true;
    for (int i = 0; i < n; ++i) {
      const std::string& body = flex.bodies[i];
      if (body != kWorld && !reader.check_reference(Kind::body, flex.element, "body", body)) good = false;
      if (!good) break;
      const auto pose = reader.world_pose.find(body);
      if (pose == reader.world_pose.end()) {  // the name of a rod, which is no body in MuJoCo
        xml.attribute_error(flex.element, "body", fmt::format("'{}' is no body", body),
                            "write the name of a body in this file");
        good = false;
        break;
      }
      rod.nodes.push_back(pose->second * flex.vertices[i]);
      const auto found = reader.points.find(body);
      if (found == reader.points.end()) {
        held[body].push_back(i);
        continue;
      }
      const Reader::FlexPoint& point = found->second;
      if (points++ == 0) rod.body = point.parent;
      mass += point.mass;
      least = std::min(least, point.mass);
      most = std::max(most, point.mass);
    }
    if (!good) continue;
    if (points == 0) {
      xml.not_simulated(flex.element, "has no point that is a body with three slides; it is left out");
      continue;
    }
    if (most - least > kEvenMasses * most)
      xml.diagnostics()->not_understood(
          rod.where, fmt::format("points of flex '{}' weigh {:g} to {:g} kg; a rod has their mean everywhere",
                                 flex.name, least, most));
    const Transform X_WBody = reader.world_pose.at(rod.body);
    for (Vec3& node : rod.nodes) node = inverse(X_WBody) * node;
    if (!read_flex_properties(reader, flex.element, mass * n / points, "a flex without young", &rod))
      continue;
    for (const auto& [body, nodes] : held) hold(nodes, rod.where, body, &rod);
    reader.names.try_emplace({Kind::body, rod.name}, rod.where);
    // Constraints that name a point act on the edge there.
    const std::vector<Transform> frames = edge_frames(rod);
    for (int i = 0; i < n; ++i) {
      if (reader.points.count(flex.bodies[i]) == 0) continue;
      const int edge = std::min(i, static_cast<int>(frames.size()) - 1);
      const Transform X_WEdge = X_WBody * frames[edge];
      reader.cable_bodies[flex.bodies[i]] = {fmt::format("{}/{}", rod.name, edge),
                                             inverse(X_WEdge) * reader.world_pose.at(flex.bodies[i])};
    }
    reader.scene.rods.push_back(std::move(rod));
  }
}

}  // namespace capstan::mjcf
