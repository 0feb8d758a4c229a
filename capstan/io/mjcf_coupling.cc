// <equality> to Constraint and <tendon> to Tendon.
//
// MuJoCo takes the frames of a connect or weld from the reference pose (qpos0) where they are not written;
// they are computed here from the body tree, so that they do not depend on the state a run starts in.
#include <fmt/core.h>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"
#include "capstan/model/mocap.h"

namespace capstan::mjcf {

namespace {

// Bodies and frames of a connect or weld between two sites.
bool read_sites(Reader& reader, const XmlElement* element, const std::string& suffix, Constraint* c) {
  XmlFiles& xml = reader.xml;
  const std::string name1 = resolved(reader, Kind::site, xml.required_text(element, "site1"), suffix);
  const std::string name2 = resolved(reader, Kind::site, xml.required_text(element, "site2"), suffix);
  if (!reader.check_reference(Kind::site, element, "site1", name1) ||
      !reader.check_reference(Kind::site, element, "site2", name2) || !reader.site_index.count(name1) ||
      !reader.site_index.count(name2)) {
    return false;
  }
  const Site& a = reader.scene.sites[reader.site_index.at(name1)];
  const Site& b = reader.scene.sites[reader.site_index.at(name2)];
  c->body_a = a.body;
  c->body_b = b.body;
  c->pose_a = a.pose;
  c->pose_b = b.pose;
  return true;
}

bool read_bodies(Reader& reader, const XmlElement* element, const std::string& suffix, Constraint* c) {
  XmlFiles& xml = reader.xml;
  c->body_a = resolved(reader, Kind::body, xml.required_text(element, "body1"), suffix);
  c->body_b = resolved(reader, Kind::body, xml.text(element, "body2").value_or(kWorld), suffix);
  return reader.check_reference(Kind::body, element, "body1", c->body_a) &&
         reader.check_reference(Kind::body, element, "body2", c->body_b);
}

bool read_connect(Reader& reader, const XmlElement* element, const std::string& suffix, Constraint* c) {
  c->type = ConstraintType::ball;
  if (reader.xml.has(element, "site1") || reader.xml.has(element, "site2")) {
    return read_sites(reader, element, suffix, c);
  }
  if (!read_bodies(reader, element, suffix, c)) return false;
  const auto anchor = reader.xml.vec3(element, "anchor");
  if (!anchor) {
    if (!reader.xml.has(element, "anchor")) {
      reader.xml.attribute_error(element, "anchor", "<connect> has no anchor",
                                 "write anchor=\"x y z\" in body1's frame");
    }
    return false;
  }
  const Transform X_AB = inverse(reader.world_pose.at(c->body_a)) * reader.world_pose.at(c->body_b);
  const Transform X_BA = inverse(X_AB);
  c->pose_a = to_pose({Mat3::Identity(), *anchor});
  c->pose_b = to_pose({X_BA.R, X_BA * *anchor});
  return true;
}

// relpose is the pose of body2 in body1; anchor, in body2, is the point that is held. With both, relpose's
// position is the anchor as seen from body1.
bool read_weld(Reader& reader, const XmlElement* element, const std::string& suffix, Constraint* c) {
  XmlFiles& xml = reader.xml;
  c->type = ConstraintType::weld;
  if (xml.number(element, "torquescale").value_or(1) != 1) {
    xml.not_simulated(element, "torquescale", "is not used: both parts of a weld are near-rigid");
  }
  if (xml.has(element, "site1") || xml.has(element, "site2")) return read_sites(reader, element, suffix, c);
  if (!read_bodies(reader, element, suffix, c)) return false;
  const Vec3 anchor = xml.vec3(element, "anchor").value_or(Vec3::Zero());
  std::array<double, 7> relpose = {0, 0, 0, 0, 0, 0, 0};
  xml.vector(element, "relpose", 7, 7, relpose.data());
  const Vec4 quat(relpose[3], relpose[4], relpose[5], relpose[6]);
  c->pose_b = to_pose({Mat3::Identity(), anchor});
  if (quat.norm() > 1e-14) {
    c->pose_a = Pose{Vec3(relpose[0], relpose[1], relpose[2]), quat.normalized()};
  } else {
    const Transform X_AB = inverse(reader.world_pose.at(c->body_a)) * reader.world_pose.at(c->body_b);
    c->pose_a = to_pose({X_AB.R, X_AB * anchor});
  }
  return true;
}

bool check_scalar_joint(Reader& reader, const XmlElement* element, const char* attribute,
                        const std::string& name) {
  if (!reader.check_reference(Kind::joint, element, attribute, name)) return false;
  if (!reader.joint_index.count(name)) return false;
  const JointType type = reader.joint(name).type;
  if (num_velocities(type) == 1) return true;
  reader.xml.attribute_error(element, attribute,
                             fmt::format("joint '{}' is of type {}; <{}> needs a hinge or slide", name,
                                         joint_type_name(type), XmlFiles::tag(element)),
                             "name a joint with one degree of freedom");
  return false;
}

bool read_joint_coupling(Reader& reader, const XmlElement* element, const std::string& suffix,
                         Constraint* c) {
  XmlFiles& xml = reader.xml;
  c->type = ConstraintType::coupler;
  c->body_b.clear();
  c->joint_a = resolved(reader, Kind::joint, xml.required_text(element, "joint1"), suffix);
  c->joint_b = resolved(reader, Kind::joint, xml.text(element, "joint2").value_or(""), suffix);
  xml.vector(element, "polycoef", 1, 5, c->polynomial.data());
  return check_scalar_joint(reader, element, "joint1", c->joint_a) &&
         (c->joint_b.empty() || check_scalar_joint(reader, element, "joint2", c->joint_b));
}

// What both kinds of tendons have.
Tendon begin_tendon(Reader& reader, const XmlElement* element, const std::string& suffix,
                    const TendonSpec& spec) {
  Tendon tendon;
  tendon.where = reader.xml.where(element);
  tendon.name = reader.claim_name(Kind::tendon, element, suffix, "tendon");
  tendon.stiffness = spec.stiffness;
  tendon.damping = spec.damping;
  tendon.dry_friction = spec.frictionloss;
  tendon.rotor_inertia = spec.armature;
  if (spec.springlength) tendon.spring_rest = {(*spec.springlength)[0], (*spec.springlength)[1]};
  if (is_limited(reader, element, spec.limited, spec.range, "range")) {
    tendon.limits = Range{spec.range[0], spec.range[1]};
  }
  return tendon;
}

void add_tendon(Reader& reader, Tendon tendon) {
  reader.tendon_index[tendon.name] = static_cast<int>(reader.scene.tendons.size());
  reader.scene.tendons.push_back(std::move(tendon));
}

void read_spatial_tendon(Reader& reader, const XmlElement* element, const std::string& suffix) {
  XmlFiles& xml = reader.xml;
  TendonSpec spec = find_class(reader, element, "").tendon;
  overlay_tendon(reader, element, &spec);
  Tendon tendon = begin_tendon(reader, element, suffix, spec);
  tendon.is_rest_of_reference = !spec.springlength;
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag != "site" && tag != "geom" && tag != "pulley") continue;  // report_unread() lists it
    xml.accept(child);
    TendonPoint point;
    bool good = true;
    if (tag == "site") {
      point.name = resolved(reader, Kind::site, xml.required_text(child, "site"), suffix);
      good = reader.check_reference(Kind::site, child, "site", point.name);
    } else if (tag == "geom") {
      point.kind = TendonPoint::Kind::wrap;
      point.name = resolved(reader, Kind::geom, xml.required_text(child, "geom"), suffix);
      point.side = resolved(reader, Kind::site, xml.text(child, "sidesite").value_or(""), suffix);
      good = reader.check_reference(Kind::geom, child, "geom", point.name) &&
             (point.side.empty() || reader.check_reference(Kind::site, child, "sidesite", point.side));
    } else {
      point.kind = TendonPoint::Kind::pulley;
      point.divisor = xml.number(child, "divisor").value_or(1);
    }
    if (good) tendon.path.push_back(std::move(point));
  }
  add_tendon(reader, std::move(tendon));
}

void read_fixed_tendon(Reader& reader, const XmlElement* element, const std::string& suffix) {
  XmlFiles& xml = reader.xml;
  TendonSpec spec = find_class(reader, element, "").tendon;
  overlay_tendon(reader, element, &spec);
  Tendon tendon = begin_tendon(reader, element, suffix, spec);
  double rest = 0;
  bool good = true;
  for (const XmlElement* child : xml.children(element, "joint")) {
    xml.accept(child);
    Tendon::Term term;
    term.joint = resolved(reader, Kind::joint, xml.required_text(child, "joint"), suffix);
    term.coefficient = xml.number(child, "coef").value_or(1);
    if (!xml.has(child, "coef"))
      xml.attribute_error(child, "coef", "<joint> of a tendon has no coef", "write coef=\"...\"");
    if (!check_scalar_joint(reader, child, "joint", term.joint)) {
      good = false;
      continue;
    }
    rest += term.coefficient * reader.joint(term.joint).spring_reference;
    tendon.terms.push_back(term);
  }
  if (tendon.terms.empty() && good) {
    xml.error(element, fmt::format("tendon '{}' has no joints", tendon.name),
              "write <joint joint=\"...\" coef=\"...\"/> in it");
  }
  if (!spec.springlength) tendon.spring_rest = {rest, rest};
  add_tendon(reader, std::move(tendon));
}

// Whether a raw flex of this name has become a rod.
bool is_rod(const Reader& reader, const std::string& flex) {
  return std::any_of(reader.flexes.begin(), reader.flexes.end(),
                     [&](const Reader::Flex& f) { return f.name == flex; });
}

// Whether a body is a mocap body.
bool leads(const Scene& scene, const std::string& name) {
  const auto body =
      std::find_if(scene.bodies.begin(), scene.bodies.end(), [&](const Body& b) { return b.name == name; });
  return body != scene.bodies.end() && !body->joints.empty() && is_mocap(body->joints.front());
}

}  // namespace

void read_equality(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag != "connect" && tag != "weld" && tag != "joint") {
      if (tag == "flex" && is_rod(reader, xml.peek(child, "flex"))) {  // its edges have E A / L
        xml.accept_all(child);
        continue;
      }
      if (tag == "tendon" || tag == "flex" || tag == "flexvert" || tag == "flexstrain" || tag == "distance") {
        xml.not_simulated(child, "is a kind of equality constraint that is not supported; it is left out");
      }
      continue;
    }
    xml.accept(child);
    EqualitySpec spec = find_class(reader, child, "").equality;
    overlay_equality(reader, child, &spec);
    const auto suffixes = suffixes_of(reader, child,
                                      {{Kind::body, "body1"},
                                       {Kind::body, "body2"},
                                       {Kind::site, "site1"},
                                       {Kind::site, "site2"},
                                       {Kind::joint, "joint1"},
                                       {Kind::joint, "joint2"}});
    for (const std::string& suffix : suffixes) {
      Constraint constraint;
      constraint.where = xml.where(child);
      constraint.active = spec.active;
      constraint.soft = spec.soft;
      constraint.name = reader.claim_name(Kind::equality, child, suffix, tag);
      const bool good = tag == "connect" ? read_connect(reader, child, suffix, &constraint)
                        : tag == "weld"  ? read_weld(reader, child, suffix, &constraint)
                                         : read_joint_coupling(reader, child, suffix, &constraint);
      if (!good) continue;
      // What leads a robot by a mocap body counts on being held softly.
      if (!constraint.soft &&
          (leads(reader.scene, constraint.body_a) || leads(reader.scene, constraint.body_b)))
        constraint.soft = SoftReference{};
      name_edges(reader, &constraint.body_a, &constraint.pose_a);
      name_edges(reader, &constraint.body_b, &constraint.pose_b);
      reader.scene.constraints.push_back(std::move(constraint));
    }
  }
}

void read_tendon(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "fixed") {
      xml.accept(child);
      const auto terms = xml.children(child, "joint");
      const auto suffixes = terms.empty() ? std::vector<std::string>{""}
                                          : suffixes_of(reader, terms.front(), {{Kind::joint, "joint"}});
      for (const std::string& suffix : suffixes) read_fixed_tendon(reader, child, suffix);
    } else if (tag == "spatial") {
      xml.accept(child);
      const auto sites = xml.children(child, "site");
      const auto suffixes = sites.empty() ? std::vector<std::string>{""}
                                          : suffixes_of(reader, sites.front(), {{Kind::site, "site"}});
      for (const std::string& suffix : suffixes) read_spatial_tendon(reader, child, suffix);
    }
  }
}

}  // namespace capstan::mjcf
