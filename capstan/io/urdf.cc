// URDF: links and joints of one robot.
//
// Each link is a body; its pose in the parent is the joint's origin (q = 0). The root link is welded to the
// world where the file stands; a root link named "world" is the world itself. (A scene that includes the
// robot may place it or set it free.) URDF knows no density: a link weighs what its <inertial> says and
// nothing without one, so shapes have no mass here and compile() reports moving links that lack it.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "capstan/io/mesh_file.h"
#include "capstan/io/read.h"
#include "capstan/io/urdf_repair.h"
#include "capstan/io/xml.h"
#include "capstan/math/rotation.h"
#include "capstan/model/inertia.h"

namespace capstan {

namespace {

namespace fs = std::filesystem;

struct UrdfJoint {
  const XmlElement* element = nullptr;
  Joint joint;
  std::string parent, child;
  Pose origin;
};

struct Urdf {
  Urdf(Diagnostics* diagnostics, const ReadLimits& limits) : xml(diagnostics, limits) {}
  XmlFiles xml;
  Scene scene;
  std::map<std::string, std::array<float, 4>> colours;
  std::map<std::string, const XmlElement*> links;
  std::vector<std::string> link_order;
  std::map<std::string, UrdfJoint> joints;                            // by joint name
  std::map<std::string, std::string> joint_of;                        // child link -> joint
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes;  // by path and scale
};

const XmlElement* only_child(Urdf& u, const XmlElement* element, const char* tag) {
  const auto found = u.xml.children(element, tag);
  for (std::size_t i = 0; i < found.size(); ++i) {
    u.xml.accept(found[i]);
    if (i > 0)
      u.xml.error(found[i], fmt::format("<{}> has two <{}>", XmlFiles::tag(element), tag), "keep one");
  }
  return found.empty() ? nullptr : found.front();
}

// <origin xyz rpy>: turns about the fixed x, then y, then z axis.
Pose read_origin(Urdf& u, const XmlElement* element) {
  Pose pose;
  const XmlElement* origin = only_child(u, element, "origin");
  if (!origin) return pose;
  pose.position = u.xml.vec3(origin, "xyz").value_or(Vec3::Zero());
  if (const auto rpy = u.xml.vec3(origin, "rpy")) {
    const Vec4 x = quat_from_axis_angle(Vec3(1, 0, 0), rpy->x()),
               y = quat_from_axis_angle(Vec3(0, 1, 0), rpy->y()),
               z = quat_from_axis_angle(Vec3(0, 0, 1), rpy->z());
    pose.quat_wxyz = quat_multiply(z, quat_multiply(y, x));
  }
  return pose;
}

double required_number(Urdf& u, const XmlElement* element, const char* name) {
  const auto value = u.xml.number(element, name);
  if (!value && !u.xml.has(element, name)) {
    u.xml.attribute_error(element, name, fmt::format("<{}> has no {}", XmlFiles::tag(element), name),
                          fmt::format("write {}=\"...\"", name));
  }
  return value.value_or(0);
}

// --- Links

std::optional<Inertia> read_inertial(Urdf& u, const XmlElement* link, const std::string& name) {
  XmlFiles& xml = u.xml;
  const XmlElement* element = only_child(u, link, "inertial");
  if (!element) return std::nullopt;
  const Pose origin = read_origin(u, element);
  const XmlElement* mass = only_child(u, element, "mass");
  const XmlElement* moments = only_child(u, element, "inertia");
  if (!mass || !moments) {
    xml.error(element, fmt::format("<inertial> of link '{}' lacks <{}>", name, mass ? "inertia" : "mass"),
              "write both <mass value=\"...\"/> and <inertia ixx=\"...\" .../>");
    return std::nullopt;
  }
  Inertia inertia;
  inertia.mass = required_number(u, mass, "value");
  if (inertia.mass < 0) {
    xml.attribute_error(mass, "value", fmt::format("link '{}' has mass {} kg", name, inertia.mass),
                        "write a mass above 0");
  }
  double m[6];
  const char* names[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
  for (int i = 0; i < 6; ++i) {
    const bool diagonal = i == 0 || i == 3 || i == 5;
    m[i] = diagonal ? required_number(u, moments, names[i]) : xml.number(moments, names[i]).value_or(0);
  }
  Mat3 I;
  I << m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5];
  const Mat3 R = rotation_matrix(origin.quat_wxyz);
  inertia.com = origin.position;
  inertia.about_com = R * I * R.transpose();
  if (inertia.mass == 0) {
    if (I.isZero(0)) return std::nullopt;  // the usual way to write a massless link
    xml.diagnostics()->not_understood(
        xml.where(mass, "value"),
        fmt::format("link '{}' has mass 0 and moments of inertia up to {:g} kg m^2, which are left out", name,
                    I.cwiseAbs().maxCoeff()),
        "write its mass, or remove <inertial>");
    return std::nullopt;
  }
  const std::string why = why_impossible(inertia), change = repair_inertia(&inertia);
  if (!change.empty()) {
    xml.diagnostics()->not_understood(
        xml.where(moments), fmt::format("the inertia of link '{}' is impossible: {}; {}", name, why, change),
        "check the units (kg m^2 about the centre of mass)");
  }
  return inertia;
}

// package://name/rest (urdf_repair.h), model:// alike; other paths are relative to the file.
std::string resolve_path(Urdf& u, const XmlElement* element, const std::string& name) {
  const fs::path directory = fs::path(u.xml.include_directory);
  if (name.rfind("file://", 0) == 0) return name.substr(7);
  const bool package = name.rfind("package://", 0) == 0;
  if (!package && name.rfind("model://", 0) != 0) return (directory / name).string();
  const std::string path = name.substr(package ? 10 : 8);
  const auto slash = path.find('/');
  const std::string folder = path.substr(0, slash),
                    rest = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (std::string found = find_in_package(directory.string(), folder, rest); !found.empty()) return found;
  u.xml.attribute_error(
      element, "filename", fmt::format("'{}' is not found", name),
      fmt::format("put '{}' into a folder '{}' in or above '{}', or name the folder that has "
                  "'{}' in CAPSTAN_PACKAGE_PATH, or write a relative path",
                  rest, folder, directory.empty() ? "." : directory.string(), folder));
  return "";
}

std::optional<Shape> read_mesh_shape(Urdf& u, const XmlElement* element, bool visual) {
  XmlFiles& xml = u.xml;
  const std::string name = xml.required_text(element, "filename");
  const Vec3 scale = xml.vec3(element, "scale").value_or(Vec3::Ones());
  if (scale.cwiseAbs().minCoeff() == 0) {
    xml.attribute_error(element, "scale", "a scale of a mesh is zero", "write three numbers that are not 0");
    return std::nullopt;
  }
  if (name.empty()) return std::nullopt;
  const std::string key = fmt::format("{} {} {} {}", name, scale.x(), scale.y(), scale.z());
  auto found = u.meshes.find(key);
  if (found == u.meshes.end()) {
    // A mesh that only draws cannot make the robot unusable.
    Diagnostics problems;
    std::shared_ptr<const TriangleMesh> mesh;
    const int before = xml.diagnostics()->num_errors();
    const std::string path = resolve_path(u, element, name);
    if (!path.empty()) {
      mesh =
          read_mesh(path, scale, xml.where(element, "filename"), xml.limits().max_mesh_triangles, &problems);
    }
    if (visual && xml.diagnostics()->num_errors() > before) {
      problems.list.push_back(xml.diagnostics()->list.back());
      xml.diagnostics()->list.pop_back();
    }
    for (Diagnostic& problem : problems.list) {
      if (visual && problem.severity == Severity::error) {
        xml.diagnostics()->not_understood(problem.where, "visual " + problem.what, problem.remedy);
      } else {
        xml.diagnostics()->list.push_back(problem);
      }
    }
    found = u.meshes.emplace(key, mesh).first;
  }
  if (!found->second) return std::nullopt;
  if (visual) return SurfaceMesh{found->second};
  return ConvexMesh{found->second};
}

std::optional<Shape> read_geometry(Urdf& u, const XmlElement* element, bool visual) {
  XmlFiles& xml = u.xml;
  const XmlElement* geometry = only_child(u, element, "geometry");
  const auto shapes = geometry ? xml.children(geometry) : std::vector<const XmlElement*>{};
  if (shapes.size() != 1) {
    xml.error(element, fmt::format("<{}> has {} geometries", XmlFiles::tag(element), shapes.size()),
              "write one <geometry> with one shape in it");
    return std::nullopt;
  }
  const XmlElement* shape = shapes.front();
  const std::string tag = XmlFiles::tag(shape);
  xml.accept(shape);
  // Exporters write sizes of 0 for what is not to be there; a negative one is a mistake.
  const auto tell_zero = [&](const char* name) {
    xml.diagnostics()->not_understood(xml.where(shape, name),
                                      fmt::format("<{}> has {} 0; the shape is left out", tag, name),
                                      "write metres, above 0, or remove it");
  };
  const auto positive = [&](const char* name) {
    const double value = required_number(u, shape, name);
    if (value < 0) {
      xml.attribute_error(shape, name, fmt::format("<{}> {}=\"{}\" is not above 0", tag, name, value),
                          "write metres, above 0");
    } else if (value == 0 && xml.has(shape, name)) {
      tell_zero(name);
    }
    return value;
  };
  if (tag == "mesh") return read_mesh_shape(u, shape, visual);
  if (tag == "box") {
    const Vec3 size = xml.vec3(shape, "size").value_or(Vec3::Zero());
    if (size.minCoeff() == 0 && xml.has(shape, "size")) {
      tell_zero("size");
      return std::nullopt;
    }
    if (size.minCoeff() <= 0) {
      xml.attribute_error(shape, "size", "<box> has no positive size",
                          "write size=\"x y z\" in metres, all above 0");
      return std::nullopt;
    }
    return Box{size / 2};
  }
  if (tag == "sphere") {
    const double radius = positive("radius");
    if (radius > 0) return Sphere{radius};
    return std::nullopt;
  }
  if (tag == "cylinder" || tag == "capsule") {
    const double radius = positive("radius"), length = positive("length");
    if (radius <= 0 || length <= 0) return std::nullopt;
    if (tag == "cylinder") return Cylinder{radius, length / 2};
    return Capsule{radius, length / 2};
  }
  xml.error(shape, fmt::format("geometry <{}> is unknown", tag),
            "write box, cylinder, sphere, capsule or mesh");
  return std::nullopt;
}

std::optional<std::array<float, 4>> read_colour(Urdf& u, const XmlElement* material) {
  XmlFiles& xml = u.xml;
  xml.accept(material);
  for (const XmlElement* texture : xml.children(material, "texture")) xml.accept_all(texture);
  const std::string name = xml.text(material, "name").value_or("");
  if (const XmlElement* colour = only_child(u, material, "color")) {
    std::array<double, 4> rgba;
    if (xml.vector(colour, "rgba", 4, 4, rgba.data())) {
      std::array<float, 4> result;
      for (int i = 0; i < 4; ++i) result[i] = static_cast<float>(rgba[i]);
      if (!name.empty()) u.colours[name] = result;
      return result;
    }
  }
  const auto known = u.colours.find(name);
  if (known == u.colours.end()) return std::nullopt;
  return known->second;
}

// <contact> of a link, as Bullet has it: its material, or "default".
std::string read_contact(Urdf& u, const XmlElement* link, const std::string& link_name) {
  XmlFiles& xml = u.xml;
  const XmlElement* contact = only_child(u, link, "contact");
  if (!contact) return "default";
  xml.accept(contact);
  Material material;
  material.name = "contact_of_" + link_name;
  material.where = xml.where(contact);
  bool any = false;
  const auto read = [&](const char* tag, double most, double* value) {
    const XmlElement* element = only_child(u, contact, tag);
    if (!element) return;
    xml.accept(element);
    const auto number = xml.number(element, "value");
    if (!number) return;
    if (!(*number >= 0 && *number <= most)) {
      xml.attribute_error(element, "value", fmt::format("<{}> of link '{}' is {}", tag, link_name, *number),
                          most == 1 ? "write a number from 0 to 1" : "write a number of 0 or more");
      return;
    }
    *value = *number;
    any = true;
  };
  read("lateral_friction", kInfinity, &material.friction);
  read("rolling_friction", kInfinity, &material.rolling_friction);
  read("spinning_friction", kInfinity, &material.torsional_friction);
  read("restitution", 1, &material.restitution);
  if (!any) return "default";
  u.scene.materials.push_back(material);
  return material.name;
}

void read_link_shapes(Urdf& u, const XmlElement* link, const std::string& link_name,
                      const std::string& body) {
  XmlFiles& xml = u.xml;
  std::set<std::string> used;
  const std::string material_name = read_contact(u, link, link_name);
  for (const char* tag : {"visual", "collision"}) {
    int number = 0;
    for (const XmlElement* element : xml.children(link, tag)) {
      if (!xml.count(element)) return;
      xml.accept(element);
      const bool visual = std::string(tag) == "visual";
      ShapeInstance shape;
      shape.where = xml.where(element);
      shape.body = body;
      // Names of visuals and collisions need not be unique in URDF; ours do.
      shape.name = fmt::format("{}_{}_{}", link_name, tag, ++number);
      shape.pose = read_origin(u, element);
      xml.accept_attributes(element, {"name", "group"});
      shape.collides = !visual;
      shape.has_mass = false;
      if (!visual) shape.material = material_name;
      if (const XmlElement* material = only_child(u, element, "material")) {
        if (const auto rgba = read_colour(u, material)) shape.rgba = *rgba;
      }
      auto made = read_geometry(u, element, visual);
      if (!made) continue;
      shape.shape = std::move(*made);
      u.scene.shapes.push_back(std::move(shape));
    }
  }
}

// --- Joints

void read_limit(Urdf& u, const XmlElement* element, const std::string& type, Joint* joint) {
  XmlFiles& xml = u.xml;
  const bool ranged = type == "revolute" || type == "prismatic";
  const XmlElement* limit = only_child(u, element, "limit");
  if (!limit) {
    if (ranged) {
      xml.error(element, fmt::format("{} joint '{}' has no <limit>", type, joint->name),
                "write <limit lower=\"...\" upper=\"...\" effort=\"...\" velocity=\"...\"/>, or "
                "type=\"continuous\"");
    }
    return;
  }
  const auto positive = [&](const char* name, double* bound) {
    const auto value = xml.number(limit, name);
    if (!value) return;
    if (*value > 0) {
      *bound = *value;
    } else if (*value == 0) {
      xml.diagnostics()->warning(
          xml.where(limit, name),
          fmt::format("joint '{}' has {} limit 0, which is taken as no limit", joint->name, name),
          "write the limit, or leave it out");
    } else {
      xml.attribute_error(limit, name,
                          fmt::format("joint '{}' has a negative {} limit {}", joint->name, name, *value),
                          "write a value above 0");
    }
  };
  positive("effort", &joint->effort_limit);
  positive("velocity", &joint->velocity_limit);
  const Range range{xml.number(limit, "lower").value_or(0), xml.number(limit, "upper").value_or(0)};
  if (!ranged) return;
  if (range.lower > range.upper) {
    xml.attribute_error(limit, "lower",
                        fmt::format("joint '{}' has lower limit {} above upper limit {}", joint->name,
                                    range.lower, range.upper),
                        "swap them");
    return;
  }
  joint->limits = {range};
}

void read_joint(Urdf& u, const XmlElement* element) {
  XmlFiles& xml = u.xml;
  xml.accept(element);
  UrdfJoint read;
  read.element = element;
  Joint& joint = read.joint;
  joint.where = xml.where(element);
  joint.name = xml.required_text(element, "name");
  const auto type =
      xml.keyword(element, "type", {"fixed", "revolute", "continuous", "prismatic", "planar", "floating"});
  if (!type && !xml.has(element, "type")) xml.required_text(element, "type");
  constexpr JointType kTypes[] = {JointType::weld,      JointType::revolute, JointType::revolute,
                                  JointType::prismatic, JointType::planar,   JointType::free};
  joint.type = kTypes[type.value_or(0)];
  for (const auto& [tag, name] : {std::pair{"parent", &read.parent}, std::pair{"child", &read.child}}) {
    const XmlElement* end = only_child(u, element, tag);
    if (!end) {
      xml.error(element, fmt::format("joint '{}' has no <{}>", joint.name, tag),
                fmt::format("write <{} link=\"...\"/>", tag));
    } else {
      *name = xml.required_text(end, "link");
      if (!name->empty() && !u.links.count(*name)) {
        xml.attribute_error(end, "link",
                            fmt::format("link '{}' of joint '{}' does not exist", *name, joint.name),
                            "define it or correct the name");
        name->clear();
      }
    }
  }
  read.origin = read_origin(u, element);
  joint.axis = Vec3(1, 0, 0);
  if (const XmlElement* axis = only_child(u, element, "axis")) {
    joint.axis = xml.vec3(axis, "xyz").value_or(joint.axis);
    const bool needs_axis = joint.type != JointType::weld && joint.type != JointType::free;
    if (joint.axis.norm() < 1e-14 && needs_axis) {
      xml.attribute_error(axis, "xyz", fmt::format("the axis of joint '{}' is zero", joint.name),
                          "write a direction, such as xyz=\"0 0 1\"");
    }
    if (joint.axis.norm() < 1e-14) joint.axis = Vec3(1, 0, 0);
  }
  if (joint.type == JointType::planar) joint.axis2 = frame_from_z(joint.axis.normalized()).col(0);
  const char* word[] = {"fixed", "revolute", "continuous", "prismatic", "planar", "floating"};
  read_limit(u, element, word[type.value_or(0)], &joint);
  if (const XmlElement* dynamics = only_child(u, element, "dynamics")) {
    joint.damping = xml.number(dynamics, "damping").value_or(0);
    joint.dry_friction = xml.number(dynamics, "friction").value_or(0);
    if (joint.damping < 0 || joint.dry_friction < 0) {
      xml.error(dynamics, fmt::format("joint '{}' has negative damping or friction", joint.name),
                "write values of 0 or more");
    }
  }
  for (const char* tag : {"calibration", "safety_controller"}) {
    for (const XmlElement* child : xml.children(element, tag)) xml.not_simulated(child, "is not simulated");
  }
  if (joint.name.empty() || read.parent.empty() || read.child.empty()) return;
  if (const auto other = u.joints.find(joint.name); other != u.joints.end()) {
    xml.attribute_error(element, "name", fmt::format("joint name '{}' is used twice", joint.name),
                        fmt::format("rename one; the other is at {}", to_string(other->second.joint.where)));
    return;
  }
  if (const auto other = u.joint_of.find(read.child); other != u.joint_of.end()) {
    xml.error(element,
              fmt::format("link '{}' has two parents, by joints '{}' and '{}'", read.child, other->second,
                          joint.name),
              fmt::format("remove one (the other is at {}); close loops with a constraint",
                          to_string(u.joints.at(other->second).joint.where)));
    return;
  }
  u.joint_of[read.child] = joint.name;
  u.joints[joint.name] = read;
}

void read_mimics(Urdf& u) {
  XmlFiles& xml = u.xml;
  for (const auto& [name, read] : u.joints) {
    const XmlElement* mimic = only_child(u, read.element, "mimic");
    if (!mimic) continue;
    Constraint coupler;
    coupler.type = ConstraintType::coupler;
    coupler.where = xml.where(mimic);
    coupler.name = name + "_mimic";
    coupler.body_b.clear();
    coupler.joint_a = name;
    coupler.joint_b = xml.required_text(mimic, "joint");
    coupler.polynomial = {xml.number(mimic, "offset").value_or(0),
                          xml.number(mimic, "multiplier").value_or(1), 0, 0, 0};
    if (coupler.joint_b.empty()) continue;
    const auto other = u.joints.find(coupler.joint_b);
    if (other == u.joints.end()) {
      xml.attribute_error(mimic, "joint",
                          fmt::format("joint '{}' mimics '{}', which does not exist", name, coupler.joint_b),
                          "correct the name");
      continue;
    }
    if (num_velocities(read.joint.type) != 1 || num_velocities(other->second.joint.type) != 1) {
      xml.diagnostics()->not_understood(
          xml.where(mimic),
          fmt::format(
              "joint '{}' mimics '{}', and one of them has not one degree of freedom; it is free of it", name,
              coupler.joint_b),
          "use mimic between revolute, continuous and prismatic joints");
      continue;
    }
    u.scene.constraints.push_back(coupler);
  }
}

// --- The tree

// The root link, or "" with errors: none, several, cycles.
std::string find_root(Urdf& u, const XmlElement* robot) {
  XmlFiles& xml = u.xml;
  std::vector<std::string> roots;
  for (const std::string& link : u.link_order) {
    if (!u.joint_of.count(link)) roots.push_back(link);
  }
  std::set<std::string> good(roots.begin(), roots.end()), told;
  for (const std::string& start : u.link_order) {
    std::vector<std::string> path;
    std::string link = start;
    std::set<std::string> on_path;
    while (!good.count(link) && !told.count(link) && on_path.insert(link).second) {
      path.push_back(link);
      link = u.joints.at(u.joint_of.at(link)).parent;
    }
    if (good.count(link)) {
      good.insert(path.begin(), path.end());
    } else if (told.count(link)) {
      told.insert(path.begin(), path.end());
    } else {
      std::string names = "'" + link + "'";
      for (std::string at = u.joints.at(u.joint_of.at(link)).parent; at != link;
           at = u.joints.at(u.joint_of.at(at)).parent) {
        names = "'" + at + "' -> " + names;
      }
      xml.error(u.joints.at(u.joint_of.at(link)).element,
                fmt::format("the links form a cycle: '{}' -> {}", link, names),
                "remove one of the joints; close loops with a constraint");
      told.insert(path.begin(), path.end());
    }
  }
  if (roots.size() == 1 && told.empty()) return roots.front();
  if (roots.empty() && told.empty()) xml.error(robot, "the robot has no links", "write at least one <link>");
  if (roots.size() > 1) {
    std::string names;
    for (std::size_t i = 0; i < roots.size() && i < 10; ++i) names += (i ? ", '" : "'") + roots[i] + "'";
    xml.error(u.links.at(roots[1]), fmt::format("the robot has {} root links: {}", roots.size(), names),
              fmt::format("join them with <joint> (the first is at {})",
                          to_string(xml.where(u.links.at(roots[0])))));
  }
  return "";
}

void build(Urdf& u, const std::string& root) {
  for (const std::string& name : u.link_order) {
    const XmlElement* link = u.links.at(name);
    const bool is_world = name == root && name == kWorld;
    read_link_shapes(u, link, name, is_world ? kWorld : name);
    const auto inertia = read_inertial(u, link, name);
    if (is_world) continue;
    if (name == kWorld) {
      u.xml.attribute_error(link, "name", "link 'world' has a parent",
                            "rename it; 'world' is the body that never moves");
      continue;
    }
    Body body;
    body.name = name;
    body.where = u.xml.where(link);
    body.inertia = inertia;
    if (const auto joint = u.joint_of.find(name); joint != u.joint_of.end()) {
      const UrdfJoint& read = u.joints.at(joint->second);
      body.parent = read.parent;
      body.pose = read.origin;
      body.joints = {read.joint};
    }
    u.scene.bodies.push_back(std::move(body));
  }
}

void read_robot(Urdf& u, const XmlElement* robot) {
  XmlFiles& xml = u.xml;
  u.scene.name = xml.text(robot, "name").value_or(fs::path(u.scene.file).stem().string());
  xml.accept_attributes(robot, {"version"});
  const auto children = xml.children(robot);
  for (const XmlElement* child : children) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "material") {
      read_colour(u, child);
    } else if (tag == "link") {
      xml.accept(child);
      const std::string name = xml.required_text(child, "name");
      if (name.empty()) continue;
      const auto [other, fresh] = u.links.try_emplace(name, child);
      if (fresh) {
        u.link_order.push_back(name);
      } else {
        xml.attribute_error(
            child, "name", fmt::format("link name '{}' is used twice", name),
            fmt::format("rename one; the other is at {}", to_string(xml.where(other->second))));
      }
    } else if (tag == "transmission" || tag == "gazebo" || tag == "sensor" || tag == "mujoco" ||
               tag == "drake" || tag == "ros2_control") {
      xml.not_simulated(child, "is not simulated");
    }
  }
  for (const XmlElement* child : children) {
    if (XmlFiles::tag(child) == "joint") read_joint(u, child);
  }
  read_mimics(u);
  const std::string root = find_root(u, robot);
  build(u, root);
  repair_massless_links(&u.scene, xml.diagnostics());
  xml.report_unread();
}

}  // namespace

Scene read_urdf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits) {
  Urdf u(diagnostics, limits);
  u.scene.file = path;
  u.xml.include_directory = fs::path(path).parent_path().string();
  const XmlElement* robot = u.xml.load(path, {path, 0});
  if (!robot) return std::move(u.scene);
  if (XmlFiles::tag(robot) != "robot") {
    u.xml.error(robot, fmt::format("the root element is <{}>, not <robot>", XmlFiles::tag(robot)),
                "a URDF file starts with <robot>");
    return std::move(u.scene);
  }
  read_robot(u, robot);
  return std::move(u.scene);
}

}  // namespace capstan
