// The body tree: bodies, frames, replicates, joints and inertials.
//
// A frame's pose is composed into what it holds, joints included. Copy i of a replicate is turned by the
// Euler angles i * euler and stands at p_i, p_0 = 0, p_i+1 = p_i + R_i offset: about one axis these are
// powers of one transform, about several they are not, and this is what MuJoCo does. Every name in copy i
// ends in sep and i, with the digits of count.
#include <fmt/core.h>

#include <cmath>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"
#include "capstan/model/mocap.h"

namespace capstan::mjcf {

namespace {

void read_inertial(Reader& reader, const XmlElement* element, const Scope& scope, Body* body) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  PoseSpec pose;
  read_pose(reader, element, &pose);
  const auto mass = xml.number(element, "mass");
  if (!mass) {
    if (!xml.has(element, "mass")) {
      xml.attribute_error(element, "mass", fmt::format("<inertial> of body '{}' has no mass", body->name),
                          "write mass=\"...\" in kg");
    }
    return;
  }
  if (*mass < 0) {
    xml.attribute_error(element, "mass", fmt::format("body '{}' has mass {} kg", body->name, *mass),
                        "write a mass above 0");
    return;
  }
  if (*mass == 0) reader.massless.insert(body->name);
  Inertia inertia;
  inertia.mass = *mass;
  const Mat3 R = scope.frame.R * rotation_matrix(pose.quat_wxyz);
  inertia.com = scope.frame * pose.position;
  std::array<double, 6> full;
  Vec3 diagonal = Vec3::Zero();
  const bool has_full = xml.vector(element, "fullinertia", 6, 6, full.data()) > 0;
  const bool has_diagonal = xml.vector(element, "diaginertia", 3, 3, diagonal.data()) > 0;
  if (has_full && has_diagonal) {
    xml.attribute_error(element, "fullinertia", "<inertial> has both diaginertia and fullinertia",
                        "keep one of them");
  }
  if (has_full) {
    Mat3 I;
    I << full[0], full[3], full[4], full[3], full[1], full[5], full[4], full[5], full[2];
    inertia.about_com = R * I * R.transpose();
  } else {
    if (diagonal.minCoeff() < 0) {
      xml.attribute_error(
          element, "diaginertia",
          fmt::format("body '{}' has a negative moment of inertia {}", body->name, diagonal.minCoeff()),
          "write three moments above 0");
    }
    inertia.about_com = R * diagonal.asDiagonal() * R.transpose();
  }
  inertia.about_com = (0.5 * (inertia.about_com + inertia.about_com.transpose())).eval();
  body->inertia = inertia;
}

void read_joint(Reader& reader, const XmlElement* element, const Scope& scope, Body* body) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  JointSpec spec;
  const bool freejoint = XmlFiles::tag(element) == "freejoint";
  if (freejoint) {
    spec.type = JointSpec::free;
    xml.accept_attributes(element, {"group"});
    if (xml.keyword(element, "align", {"false", "true", "auto"}).value_or(0) == 1) {
      xml.not_simulated(element, "align", "is not supported: the body frame stays where the file has it");
    }
  } else {
    spec = find_class(reader, element, scope.childclass).joint;
    overlay_joint(reader, element, &spec);
  }

  Joint joint;
  joint.where = xml.where(element);
  joint.name = reader.claim_name(Kind::joint, element, scope.suffix, body->name + "_joint");
  joint.position = scope.frame * spec.position;
  joint.axis = scope.frame.R * spec.axis;
  joint.stiffness = spec.stiffness;
  joint.damping = spec.damping;
  joint.dry_friction = spec.frictionloss;
  joint.rotor_inertia = spec.armature;
  if (spec.spring_damper[0] > 0 && spec.spring_damper[1] > 0)
    reader.spring_dampers[joint.name] = spec.spring_damper;
  const bool hinge = spec.type == JointSpec::hinge;
  const bool one_dof = hinge || spec.type == JointSpec::slide;
  constexpr JointType kTypes[] = {JointType::free, JointType::ball, JointType::prismatic,
                                  JointType::revolute};
  joint.type = kTypes[spec.type];
  if (one_dof) {
    joint.reference = hinge ? reader.compiler.radians(spec.ref) : spec.ref;
    joint.spring_reference = hinge ? reader.compiler.radians(spec.springref) : spec.springref;
  }
  if (spec.type == JointSpec::free) {
    joint.position.setZero();
    if (spec.limited == Limited::yes) {
      if (xml.once("limited free joint")) {
        xml.warning(element,
                    fmt::format("free joint '{}' is said to be limited, which has no effect", joint.name),
                    "remove limited; only hinge, slide and ball joints have a range");
      }
    }
    if (body->parent != kWorld) {
      xml.error(element,
                fmt::format("free joint '{}' is on body '{}', a child of '{}'", joint.name, body->name,
                            body->parent),
                "a free joint needs a body directly in the world");
    }
  } else if (spec.type == JointSpec::ball && spec.limited == Limited::yes && spec.range[1] == spec.range[0]) {
    // A default class may say limited for hinges; MuJoCo then holds such a ball at its reference.
    joint.limits = {Range{0, 0}};
  } else if (is_limited(reader, element, spec.limited, spec.range, "range")) {
    if (spec.type == JointSpec::ball && spec.range[0] != 0) {
      xml.attribute_error(
          element, "range",
          fmt::format("ball joint '{}' has range [{}, {}]", joint.name, spec.range[0], spec.range[1]),
          "start the range of a ball joint at 0");
    }
    Range range{spec.range[0], spec.range[1]};
    if (spec.type != JointSpec::slide) {
      range = {reader.compiler.radians(range.lower), reader.compiler.radians(range.upper)};
    }
    joint.limits = {range};
    if (one_dof) joint.soft_limits = spec.soft_limits;
  }
  if (one_dof && is_limited(reader, element, spec.force_limited, spec.force_range, "actuatorfrcrange")) {
    joint.effort_limit = std::max(std::abs(spec.force_range[0]), std::abs(spec.force_range[1]));
    if (spec.force_range[0] != -spec.force_range[1] && xml.once("effort " + joint.name)) {
      xml.diagnostics()->not_understood(
          xml.where(element, "actuatorfrcrange"),
          fmt::format("joint '{}' has an actuatorfrcrange that is not symmetric; ±{} is used", joint.name,
                      joint.effort_limit));
    }
  }
  int dofs = num_velocities(joint.type);
  for (const Joint& other : body->joints) dofs += num_velocities(other.type);
  if (dofs > 6) {
    xml.error(
        element,
        fmt::format("body '{}' has {} degrees of freedom with joint '{}'", body->name, dofs, joint.name),
        "a body has at most 6; put the others on a body in between");
    return;
  }
  body->joints.push_back(joint);
}

void read_childclass(Reader& reader, const XmlElement* element, Scope* scope) {
  const auto childclass = reader.xml.text(element, "childclass");
  if (!childclass) return;
  scope->childclass = *childclass;
  if (reader.classes.count(*childclass)) return;
  reader.xml.attribute_error(element, "childclass",
                             fmt::format("default class '{}' does not exist", *childclass),
                             "define it with <default class=\"...\"> or correct the name");
}

void read_body(Reader& reader, const XmlElement* element, const Scope& outer) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element) || take_flex_body(reader, element, outer)) return;
  xml.accept(element);
  Body body;
  body.where = xml.where(element);
  body.parent = outer.body;
  body.name = reader.claim_name(Kind::body, element, outer.suffix, "body");
  PoseSpec pose;
  read_pose(reader, element, &pose);
  const Transform X_PB = outer.frame * to_transform(pose);
  body.pose = to_pose(X_PB);
  reader.world_pose[body.name] = reader.world_pose.at(outer.body) * X_PB;
  if (const auto gravcomp = xml.number(element, "gravcomp")) {
    body.gravity_compensated = *gravcomp == 1;
    if (*gravcomp != 0 && *gravcomp != 1) {
      xml.not_simulated(element, "gravcomp",
                        "is not supported: gravity is compensated wholly (1) or not (0)");
    }
  }
  if (xml.boolean(element, "mocap").value_or(false)) {
    if (outer.body == kWorld) {
      body.joints.push_back(make_mocap_joint(body));
    } else {
      xml.not_simulated(element, "mocap", "is for bodies at the world: this one is carried by another");
    }
  }
  if (xml.text(element, "sleep").value_or("auto") != "auto") {
    xml.not_simulated(element, "sleep", "is not simulated");
  }
  xml.accept_attributes(element, {"user", "simple", "fuse"});

  Scope scope = outer;
  scope.body = body.name;
  scope.body_index = static_cast<int>(reader.scene.bodies.size());
  scope.frame = {};
  scope.depth = outer.depth + 1;
  read_childclass(reader, element, &scope);
  reader.scene.bodies.push_back(std::move(body));
  read_body_contents(reader, element, scope);
}

void read_frame(Reader& reader, const XmlElement* element, Scope scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  xml.accept_attributes(element, {"name"});
  PoseSpec pose;
  read_pose(reader, element, &pose);
  scope.frame = scope.frame * to_transform(pose);
  ++scope.depth;
  read_childclass(reader, element, &scope);
  read_body_contents(reader, element, scope);
}

// How many elements there are below this one when every replicate is written out; known before doing so.
double expanded_size(XmlFiles& xml, const XmlElement* element) {
  double size = 0;
  for (const XmlElement* child : xml.children(element)) {
    const bool replicate = XmlFiles::tag(child) == "replicate";
    size += 1 + (replicate ? std::max(0, xml.integer(child, "count").value_or(0)) : 1) *
                    expanded_size(xml, child);
  }
  return size;
}

void read_replicate(Reader& reader, const XmlElement* element, const Scope& outer) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  const int count = xml.integer(element, "count").value_or(0);
  if (count < 1) {
    xml.accept_all(element);
    xml.attribute_error(element, "count", fmt::format("<replicate> count {} is not a positive number", count),
                        "write count=\"...\", 1 or more");
    return;
  }
  if (count > xml.limits().max_repeat) {
    xml.accept_all(element);
    xml.attribute_error(
        element, "count",
        fmt::format("<replicate> count {} is above the limit of {}", count, xml.limits().max_repeat),
        "lower it, or raise the limit max_repeat");
    return;
  }
  const double size = outer.suffix.empty() ? count * expanded_size(xml, element) : 0;
  if (size > xml.limits().max_elements) {
    xml.accept_all(element);
    xml.error(
        element,
        fmt::format("<replicate> makes {:g} elements, the limit is {}", size, xml.limits().max_elements),
        "lower the count, or raise the limit max_elements");
    return;
  }
  const Vec3 offset = xml.vec3(element, "offset").value_or(Vec3::Zero());
  Vec3 angles = xml.vec3(element, "euler").value_or(Vec3::Zero());
  for (double& angle : angles) angle = reader.compiler.radians(angle);
  const std::string sep = xml.text(element, "sep").value_or("");
  const int digits = static_cast<int>(std::to_string(count).size());
  Scope scope = outer;
  ++scope.depth;
  Transform X;  // of copy i
  for (int i = 0; i < count && xml.count(element); ++i) {
    X.R = rotation_matrix(quat_of_euler(reader.compiler.eulerseq, i * angles));
    scope.suffix = fmt::format("{}{:0{}}", sep, i, digits) + outer.suffix;
    scope.frame = outer.frame * X;
    read_body_contents(reader, element, scope);
    X.p += X.R * offset;
  }
}

}  // namespace

void read_body_contents(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (scope.depth > xml.limits().max_nesting) {
    xml.error(element, fmt::format("bodies are nested deeper than {}", xml.limits().max_nesting),
              "flatten the tree, or raise the limit max_nesting");
    return;
  }
  int num_inertials = 0;
  for (const XmlElement* child : xml.children(element)) {
    if (xml.exhausted()) return;
    const std::string tag = XmlFiles::tag(child);
    if (tag == "body") {
      read_body(reader, child, scope);
    } else if (tag == "geom") {
      read_geom(reader, child, scope);
    } else if (tag == "site") {
      read_site(reader, child, scope);
    } else if (tag == "joint" || tag == "freejoint" || tag == "inertial") {
      Body* body = scope.body_index < 0 ? nullptr : &reader.scene.bodies[scope.body_index];
      if (!body) {
        xml.accept_all(child);
        xml.error(child, fmt::format("<{}> in the world", tag),
                  "the world does not move; put it in a <body>");
      } else if (tag == "inertial") {
        if (num_inertials++ > 0)
          xml.error(child, fmt::format("body '{}' has two <inertial>", body->name), "keep one");
        read_inertial(reader, child, scope, body);
      } else {
        const std::size_t before = body->joints.size();
        read_joint(reader, child, scope, body);
        if (body->joints.size() > before) {
          reader.joint_index[body->joints.back().name] = {scope.body_index, static_cast<int>(before)};
        }
      }
    } else if (tag == "frame") {
      read_frame(reader, child, scope);
    } else if (tag == "replicate") {
      read_replicate(reader, child, scope);
    } else if (tag == "attach") {
      read_attach(reader, child, scope);
    } else if (tag == "camera" || tag == "light") {
      xml.accept_all(child);
    } else if (tag == "flexcomp") {
      const bool is_line = xml.integer(child, "dim").value_or(2) == 1 || xml.peek(child, "type") == "circle";
      is_line ? read_flex_rod(reader, child, scope) : read_flex_solid(reader, child, scope);
    } else if (tag == "composite") {
      read_composite(reader, child, scope);
    } else if (tag == "plugin") {
      xml.not_simulated(child, "is not supported; what it would make is left out");
    }
  }
}

}  // namespace capstan::mjcf
