#include "capstan/io/write_yaml.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "capstan/model/mocap.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan {
namespace {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return fmt::format("{}", value);
}

template <class List>
std::string numbers(const List& list) {
  std::string text = "[";
  for (const auto& value : list) text += (text.size() == 1 ? "" : ", ") + number(value);
  return text + "]";
}

std::string range(const Range& r) {
  return fmt::format("[{}, {}]", number(r.lower), number(r.upper));
}

// Always quoted: any name is then the same name again, "yes" and "1" included.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// To the bit: -0 is not 0, and both are read as they are written.
bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <class Vector>
bool same_bits(const Vector& a, const Vector& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same_bits(x, y); });
}

// {key: value, ...}, without what is the default.
struct FlowMap {
  std::string inside;

  FlowMap& add(const std::string& key, const std::string& value) {
    inside += (inside.empty() ? "" : ", ") + key + ": " + value;
    return *this;
  }
  FlowMap& text(const std::string& key, const std::string& value, const std::string& except = "") {
    return value == except ? *this : add(key, quoted(value));
  }
  FlowMap& scalar(const std::string& key, double value, double except) {
    return same_bits(value, except) ? *this : add(key, number(value));
  }
  FlowMap& scalar(const std::string& key, const std::optional<double>& value) {
    return value ? add(key, number(*value)) : *this;
  }
  FlowMap& vec3(const std::string& key, const Vec3& value, const Vec3& except) {
    return same_bits(value, except) ? *this : add(key, numbers(value));
  }
  FlowMap& flag(const std::string& key, bool value, bool except) {
    return value == except ? *this : add(key, value ? "true" : "false");
  }
  FlowMap& pose(const Pose& value) {
    vec3("position", value.position, Vec3::Zero());
    return same_bits(value.quat_wxyz, Vec4(1, 0, 0, 0)) ? *this : add("quat", numbers(value.quat_wxyz));
  }
  std::string str() const { return "{" + inside + "}"; }
};

std::string friction_tensor(const FrictionTensor& tensor) {
  return FlowMap()
      .add("along", number(tensor.along))
      .add("across", number(tensor.across))
      .add("direction", numbers(tensor.direction))
      .str();
}

std::string joint_text(const Joint& joint) {
  const Joint plain;
  FlowMap map;
  map.text("name", joint.name).add("type", joint_type_name(joint.type));
  if (joint.type == JointType::weld) return map.str();
  // As the reader: only what means something for the type.
  const bool one_dof = num_velocities(joint.type) == 1;
  const bool has_axis = one_dof || joint.type == JointType::universal || joint.type == JointType::planar;
  const bool has_position = joint.type != JointType::prismatic && joint.type != JointType::free;
  if (has_position) map.vec3("position", joint.position, plain.position);
  if (has_axis) map.vec3("axis", joint.axis, plain.axis);
  if (has_axis && !one_dof) map.vec3("axis2", joint.axis2, plain.axis2);
  if (joint.type == JointType::screw) map.add("pitch", number(joint.pitch));
  if (one_dof) map.scalar("reference", joint.reference, 0);
  map.scalar("stiffness", joint.stiffness, 0);
  if (has_axis) map.scalar("spring_reference", joint.spring_reference, 0);
  map.scalar("damping", joint.damping, 0);
  map.scalar("dry_friction", joint.dry_friction, 0).scalar("rotor_inertia", joint.rotor_inertia, 0);
  if (joint.limits.size() == 1) {
    map.add("limits", range(joint.limits[0]));
  } else if (!joint.limits.empty()) {
    std::string all;
    for (const Range& r : joint.limits) all += (all.empty() ? "" : ", ") + range(r);
    map.add("limits", "[" + all + "]");
  }
  if (joint.soft_limits) {
    map.add("limit_solref", numbers(joint.soft_limits->solref));
    map.add("limit_solimp", numbers(joint.soft_limits->solimp));
  }
  map.scalar("effort_limit", joint.effort_limit, kInfinity);
  map.scalar("velocity_limit", joint.velocity_limit, kInfinity);
  return map.str();
}

std::string body_text(const Body& body) {
  std::string text =
      "  - " + FlowMap().text("name", body.name).text("parent", body.parent, kWorld).pose(body.pose).str();
  text.pop_back();  // the closing brace; the rest follows on its own lines
  if (body.gravity_compensated) text += ", gravity_compensated: true";
  if (body.inertia) {
    const Mat3& M = body.inertia->about_com;
    const Mat3 I = (M + M.transpose()) / 2;  // as it is read, and compiled
    const std::string matrix =
        fmt::format("[{}, {}, {}]", numbers(I.row(0)), numbers(I.row(1)), numbers(I.row(2)));
    FlowMap map;
    map.add("mass", number(body.inertia->mass)).vec3("com", body.inertia->com, Vec3::Zero());
    text += ",\n     inertia: " + map.add("matrix", matrix).str();
  }
  if (body.joints.size() == 1 && is_mocap(body.joints[0]) && body.joints[0].name == body.name) {
    text += ", mocap: true";
  } else if (!body.joints.empty()) {
    text += ",\n     joints: [";
    for (const Joint& joint : body.joints)
      text += (&joint == &body.joints[0] ? "" : ",\n              ") + joint_text(joint);
    text += "]";
  }
  return text + "}\n";
}

struct ShapeKeys {
  FlowMap& map;
  const std::map<const TriangleMesh*, std::string>& files;

  void operator()(const Sphere& s) { map.add("radius", number(s.radius)); }
  void operator()(const Box& b) { map.add("size", numbers(Vec3(2 * b.half_size))); }
  void operator()(const Capsule& c) {
    map.add("radius", number(c.radius)).add("length", number(2 * c.half_length));
  }
  void operator()(const Cylinder& c) {
    map.add("radius", number(c.radius)).add("length", number(2 * c.half_length));
  }
  void operator()(const Ellipsoid& e) { map.add("radii", numbers(e.radii)); }
  void operator()(const HalfSpace&) {}
  void operator()(const ConvexMesh& m) { map.text("file", file(m.mesh.get())); }
  void operator()(const SurfaceMesh& m) { map.text("file", file(m.mesh.get())).add("kind", "surface"); }
  void operator()(const SignedDistanceMesh& m) {
    map.text("file", file(m.mesh.get()))
        .add("kind", "signed_distance")
        .add("resolution", number(m.resolution));
  }
  void operator()(const HeightField& field) {
    map.add("size", numbers(Vec2(2 * field.half_size))).add("base", number(field.base));
    std::string rows;
    for (int i = 0; i < field.rows; ++i) {
      const auto begin = field.height->begin() + static_cast<std::ptrdiff_t>(i) * field.columns;
      rows += (i == 0 ? "" : ", ") + numbers(std::vector<double>(begin, begin + field.columns));
    }
    map.add("heights", "[" + rows + "]");
  }
  std::string file(const TriangleMesh* mesh) const {
    const auto found = files.find(mesh);
    return found == files.end() ? "" : found->second;
  }
};

std::shared_ptr<const TriangleMesh> mesh_of(const Shape& shape) {
  if (const auto* convex = std::get_if<ConvexMesh>(&shape)) return convex->mesh;
  if (const auto* surface = std::get_if<SurfaceMesh>(&shape)) return surface->mesh;
  if (const auto* grid = std::get_if<SignedDistanceMesh>(&shape)) return grid->mesh;
  return nullptr;
}

std::string point_list(const std::vector<Vec3>& points) {
  std::string text;
  for (const Vec3& p : points) text += (text.empty() ? "" : ", ") + numbers(p);
  return "[" + text + "]";
}

std::string tets_text(const TetMesh& mesh) {
  std::string tets;
  for (const auto& [a, b, c, d] : mesh.tets)
    tets += fmt::format("{}[{}, {}, {}, {}]", tets.empty() ? "" : ", ", a, b, c, d);
  return "{vertices: " + point_list(mesh.vertices) + ", tets: [" + tets + "]}";
}

void add_bits(std::uint64_t group, std::uint64_t mask, FlowMap* map) {
  if (group != 1) map->add("group_bits", std::to_string(group));
  if (mask != 1) map->add("mask_bits", std::to_string(mask));
}

std::string shape_text(const ShapeInstance& shape, const std::map<const TriangleMesh*, std::string>& files) {
  const TriangleMesh* mesh = mesh_of(shape.shape).get();
  if (mesh && !files.count(mesh)) {
    return fmt::format("  # shape {} of body {} is left out: its mesh has no file\n", quoted(shape.name),
                       quoted(shape.body));
  }
  const ShapeInstance plain;
  FlowMap map;
  map.text("name", shape.name)
      .text("body", shape.body, kWorld)
      .add("type", mesh ? "mesh" : shape_name(shape.shape));
  std::visit(ShapeKeys{map, files}, shape.shape);
  map.pose(shape.pose).text("material", shape.material, plain.material);
  if (shape.mass) {
    map.scalar("mass", shape.mass);
  } else {
    map.scalar("density", shape.density, plain.density);
  }
  map.flag("collides", shape.collides, true).flag("has_mass", shape.has_mass, true);
  add_bits(shape.group_bits, shape.mask_bits, &map);
  map.scalar("margin", shape.margin, 0);
  map.vec3("surface_velocity", shape.surface_velocity, Vec3::Zero())
      .vec3("surface_spin", shape.surface_spin, Vec3::Zero());
  if (shape.patch.contact) map.add("contact", kContactModelNames[static_cast<int>(*shape.patch.contact)]);
  map.scalar("patch_rings", shape.patch.rings, plain.patch.rings);
  map.scalar("patch_points", shape.patch.points, plain.patch.points);
  map.scalar("thickness", shape.patch.thickness, plain.patch.thickness);
  if (shape.patch.tets) map.add("tets", tets_text(*shape.patch.tets));
  const std::array<float, 4> rgba = drawn_color(shape.rgba);
  if (rgba != plain.rgba)
    map.add("color", fmt::format("[{}, {}, {}, {}]", rgba[0], rgba[1], rgba[2], rgba[3]));
  return "  - " + map.str() + "\n";
}

std::string attachment_text(const RodAttachment& a) {
  FlowMap map;
  map.add(a.node >= 0 ? "node" : "edge", number(std::max(a.node, a.edge))).text("body", a.body);
  if (a.pose && a.node >= 0) map.add("point", numbers(a.pose->position));
  if (a.pose && a.node < 0) map.add("pose", FlowMap().pose(*a.pose).str());
  map.scalar("stiffness", a.stiffness, kInfinity);
  if (a.relaxation_time >= 0) map.add("relaxation_time", number(a.relaxation_time));
  return map.str();
}

std::string rod_text(const RodSpec& rod) {
  constexpr const char* types[] = {"circle", "rectangle", "ellipse"};
  const RodSpec plain;
  FlowMap map, section, damping;
  map.text("name", rod.name).text("body", rod.body, kWorld).add("points", point_list(rod.nodes));
  map.flag("closed", rod.closed, false).vec3("director", rod.director, plain.director);
  section.add("type", types[static_cast<int>(rod.section.type)]);
  if (rod.section.type == RodSectionType::circle) {
    section.add("diameter", number(rod.section.width));
  } else {
    section.add("width", number(rod.section.width)).add("height", number(rod.section.height));
  }
  if (rod.section.torsion == TorsionConstant::polar) section.add("torsion", "polar");
  map.add("section", section.str()).add("young_modulus", number(rod.young_modulus));
  map.scalar("poisson_ratio", rod.poisson_ratio, plain.poisson_ratio);
  map.scalar("shear_modulus", rod.shear_modulus, plain.shear_modulus).add("density", number(rod.density));
  damping.scalar("alpha", rod.alpha, 0).scalar("beta", rod.beta, 0);
  if (!damping.inside.empty()) map.add("damping", damping.str());
  if (rod.rest == RodRest::straight) map.add("rest", "straight");
  if (rod.rest == RodRest::given) map.add("rest", "{joints: " + point_list(rod.natural) + "}");
  if (!rod.rest_length.empty()) map.add("rest_lengths", numbers(rod.rest_length));
  if (!rod.angles.empty()) map.add("angles", numbers(rod.angles));
  map.flag("actuated", rod.actuated, false);
  if (!rod.pinned_nodes.empty()) map.add("fixed_nodes", numbers(rod.pinned_nodes));
  if (!rod.clamped_edges.empty()) map.add("clamped_edges", numbers(rod.clamped_edges));
  if (!rod.held_angles.empty()) map.add("fixed_angles", numbers(rod.held_angles));
  std::string attach;
  for (const RodAttachment& a : rod.attachments) attach += (attach.empty() ? "" : ", ") + attachment_text(a);
  if (!attach.empty()) map.add("attach", "[" + attach + "]");
  map.vec3("velocity", rod.velocity, plain.velocity).text("material", rod.material, plain.material);
  if (rod.contact) map.add("contact", kContactModelNames[static_cast<int>(*rod.contact)]);
  map.flag("collides", rod.collides, true);
  add_bits(rod.group_bits, rod.mask_bits, &map);
  map.scalar("margin", rod.margin, 0);
  const std::array<float, 4> rgba = drawn_color(rod.rgba);
  if (rgba != plain.rgba)
    map.add("color", fmt::format("[{}, {}, {}, {}]", rgba[0], rgba[1], rgba[2], rgba[3]));
  return "  - " + map.str() + "\n";
}

std::string region_text(const SoftRegion& region, FlowMap map = {}) {
  FlowMap inner;
  inner.add("centre", numbers(region.centre));
  if (region.is_ball) {
    inner.add("radius", number(region.radius));
  } else {
    inner.add("size", numbers(Vec3(2 * region.half_size)));
  }
  return map.add(region.is_ball ? "ball" : "box", inner.str()).str();
}

std::string soft_body_text(const SoftBodySpec& body) {
  const SoftBodySpec plain;
  FlowMap map, damping;
  map.text("name", body.name).text("body", body.body, kWorld);
  std::string list;
  map.add("mesh", tets_text(*body.mesh)).pose(body.pose);
  if (body.element != plain.element) map.add("element", "quadratic");
  constexpr const char* names[] = {"linear_corotational", "corotated", "neo_hookean",
                                   "saint_venant_kirchhoff"};
  if (body.elasticity != plain.elasticity) map.add("elasticity", names[static_cast<int>(body.elasticity)]);
  if (!body.lumped_mass) map.add("mass", "consistent");
  map.add("young_modulus", number(body.young_modulus));
  map.scalar("poisson_ratio", body.poisson_ratio, plain.poisson_ratio).add("density", number(body.density));
  map.scalar("pressure", body.pressure, plain.pressure).flag("sealed", body.is_sealed, false);
  map.scalar("pressure_around", body.pressure_around, plain.pressure_around);
  damping.scalar("alpha", body.alpha, 0).scalar("beta", body.beta, 0);
  if (!damping.inside.empty()) map.add("damping", damping.str());
  for (const SoftRegion& region : body.fixed) list += (list.empty() ? "" : ", ") + region_text(region);
  if (!list.empty()) map.add("fixed", "[" + list + "]");
  list.clear();
  for (const SoftAttachment& a : body.attachments) {
    FlowMap inner;
    inner.text("body", a.body).scalar("stiffness", a.stiffness, kInfinity);
    if (a.relaxation_time >= 0) inner.add("relaxation_time", number(a.relaxation_time));
    list += (list.empty() ? "" : ", ") + region_text(a.region, inner);
  }
  if (!list.empty()) map.add("attach", "[" + list + "]");
  map.vec3("velocity", body.velocity, plain.velocity)
      .vec3("angular_velocity", body.angular_velocity, plain.angular_velocity)
      .text("material", body.material, plain.material)
      .flag("collides", body.collides, true)
      .flag("self_contact", body.self_contact, false);
  if (body.contact) map.add("contact", kContactModelNames[static_cast<int>(*body.contact)]);
  add_bits(body.group_bits, body.mask_bits, &map);
  map.scalar("margin", body.margin, 0);
  const std::array<float, 4> rgba = drawn_color(body.rgba);
  if (rgba != plain.rgba)
    map.add("color", fmt::format("[{}, {}, {}, {}]", rgba[0], rgba[1], rgba[2], rgba[3]));
  return "  - " + map.str() + "\n";
}

std::string material_text(const Material& material) {
  const Material plain;
  FlowMap map;
  map.text("name", material.name);
  if (material.stiffness_per_kilogram > 0) {
    map.add("stiffness_per_kilogram", number(material.stiffness_per_kilogram));
  } else {
    map.scalar("stiffness", material.stiffness);
  }
  map.scalar("dissipation", material.dissipation, plain.dissipation);
  if (material.relaxation_time >= 0) map.add("relaxation_time", number(material.relaxation_time));
  map.scalar("friction", material.friction, plain.friction);
  if (material.friction_tensor) map.add("friction_tensor", friction_tensor(*material.friction_tensor));
  map.scalar("torsional_friction", material.torsional_friction, plain.torsional_friction);
  map.scalar("rolling_friction", material.rolling_friction, plain.rolling_friction);
  map.scalar("stiction_tolerance", material.stiction_tolerance, plain.stiction_tolerance);
  map.scalar("restitution", material.restitution, plain.restitution);
  map.scalar("restitution_threshold", material.restitution_threshold, plain.restitution_threshold);
  if (material.contact != plain.contact)
    map.add("contact", kContactModelNames[static_cast<int>(material.contact)]);
  map.scalar("elastic_modulus", material.elastic_modulus, plain.elastic_modulus);
  return "  - " + map.str() + "\n";
}

std::string pair_text(const PairOverride& pair) {
  FlowMap map;
  map.add(pair.kind == PairOverride::Kind::shapes ? "shapes" : "materials",
          fmt::format("[{}, {}]", quoted(pair.a), quoted(pair.b)));
  map.scalar("stiffness", pair.stiffness).scalar("dissipation", pair.dissipation);
  map.scalar("relaxation_time", pair.relaxation_time).scalar("friction", pair.friction);
  map.scalar("torsional_friction", pair.torsional_friction).scalar("rolling_friction", pair.rolling_friction);
  map.scalar("restitution", pair.restitution).scalar("margin", pair.margin);
  if (pair.friction_tensor) map.add("friction_tensor", friction_tensor(*pair.friction_tensor));
  return "  - " + map.str() + "\n";
}

std::string path_text(const std::vector<TendonPoint>& path) {
  std::string text;
  for (const TendonPoint& point : path) {
    FlowMap station;
    if (point.kind == TendonPoint::Kind::site) {
      station.text("site", point.name);
    } else if (point.kind == TendonPoint::Kind::wrap) {
      station.text("wrap", point.name).text("side", point.side);
    } else {
      station.add("pulley", number(point.divisor));
    }
    text += (text.empty() ? "" : ", ") + station.str();
  }
  return "[" + text + "]";
}

std::string tendon_text(const Tendon& tendon) {
  FlowMap map, joints;
  for (const Tendon::Term& term : merged_terms(tendon))
    joints.add(quoted(term.joint), number(term.coefficient));
  map.text("name", tendon.name);
  if (tendon.path.empty()) {
    map.add("joints", joints.str());
  } else {
    map.add("path", path_text(tendon.path));
  }
  map.scalar("stiffness", tendon.stiffness, 0).scalar("damping", tendon.damping, 0);
  map.scalar("dry_friction", tendon.dry_friction, 0).scalar("rotor_inertia", tendon.rotor_inertia, 0);
  const Range rest = tendon.spring_rest, plain = Tendon{}.spring_rest;
  const bool is_plain = tendon.path.empty()
                            ? same_bits(rest.lower, plain.lower) && same_bits(rest.upper, plain.upper)
                            : tendon.is_rest_of_reference;
  if (!is_plain) map.add("spring_rest", range(rest));
  if (tendon.limits) map.add("limits", range(*tendon.limits));
  return "  - " + map.str() + "\n";
}

bool is_unbounded(const Range& r) {
  return r.lower == -kInfinity && r.upper == kInfinity;
}

std::string muscle_text(const Muscle& m) {
  FlowMap map;
  const Muscle plain;
  map.add("length_range", range(m.length_range)).add("force", number(m.force));
  map.add("operating", range(m.operating));
  map.scalar("shortest", m.shortest, plain.shortest).scalar("longest", m.longest, plain.longest);
  map.scalar("fastest", m.fastest, plain.fastest).scalar("passive", m.passive, plain.passive);
  map.scalar("lengthening", m.lengthening, plain.lengthening);
  return map.str();
}

std::string activation_text(const Activation& a) {
  FlowMap map;
  map.add("type", kActivationNames[static_cast<int>(a.type)]);
  if (a.type != ActivationType::integrator) map.add("time_constant", number(a.time_constant));
  if (a.type == ActivationType::muscle)
    map.add("time_constant_off", number(a.time_constant_off)).scalar("smoothing", a.smoothing, 0);
  if (!is_unbounded(a.range)) map.add("range", range(a.range));
  map.scalar("start", a.start, 0);
  return map.str();
}

std::string actuator_text(const Actuator& actuator) {
  FlowMap map;
  map.text("name", actuator.name).text("joint", actuator.joint).text("tendon", actuator.tendon);
  map.text("site", actuator.site);
  const Vec3& b = actuator.bias;
  const bool is_plain = actuator.gain_slope.isZero(0);
  const bool pd = is_plain && actuator.gain > 0 && b[0] == 0 && b[1] == -actuator.gain && b[2] <= 0;
  const bool torque = is_plain && actuator.gain == 1 && b.isZero(0);
  const char* control = "control";
  if (actuator.muscle) {
    map.add("type", "muscle").add("muscle", muscle_text(*actuator.muscle));
  } else if (torque) {
    map.add("type", "torque");
  } else if (pd) {
    map.add("type", "pd").add("stiffness", number(actuator.gain)).scalar("damping", -b[2], 0);
    control = "target";
  } else {
    map.add("type", "general").add("gain", number(actuator.gain)).add("bias", numbers(b));
    if (!is_plain) map.add("gain_slope", numbers(actuator.gain_slope));
  }
  map.scalar(control, actuator.control, 0);
  if (actuator.gear.tail<5>().isZero(0)) {
    map.scalar("gear", actuator.gear[0], 1);
  } else {
    map.add("gear", numbers(actuator.gear));
  }
  if (!is_unbounded(actuator.control_range)) map.add("control_range", range(actuator.control_range));
  if (!is_unbounded(actuator.force_range)) map.add("force_range", range(actuator.force_range));
  if (actuator.activation.type != ActivationType::none)
    map.add("activation", activation_text(actuator.activation));
  return "  - " + map.str() + "\n";
}

std::string constraint_text(const Constraint& constraint) {
  constexpr const char* types[] = {"ball", "weld", "distance", "coupler"};
  FlowMap map;
  map.text("name", constraint.name).add("type", types[static_cast<int>(constraint.type)]);
  if (constraint.type == ConstraintType::coupler) {
    map.text("joint_a", constraint.joint_a).text("joint_b", constraint.joint_b);
    map.add("polynomial", numbers(constraint.polynomial));
  } else {
    map.text("body_a", constraint.body_a).text("body_b", constraint.body_b, kWorld);
    if (constraint.pose_a) map.add("pose_a", FlowMap().pose(*constraint.pose_a).str());
    if (constraint.pose_b) map.add("pose_b", FlowMap().pose(*constraint.pose_b).str());
  }
  if (constraint.type == ConstraintType::distance) map.add("distance", number(constraint.distance));
  map.scalar("stiffness", constraint.stiffness, kInfinity);
  if (constraint.relaxation_time >= 0) map.add("relaxation_time", number(constraint.relaxation_time));
  if (constraint.soft)
    map.add("solref", numbers(constraint.soft->solref)).add("solimp", numbers(constraint.soft->solimp));
  map.flag("active", constraint.active, true);
  return "  - " + map.str() + "\n";
}

FlowMap keyframe_map(const Keyframe& key) {
  FlowMap map, q, v, control, activation;
  map.text("name", key.name).scalar("time", key.time, 0);
  for (const auto& [joint, values] : key.q) q.add(quoted(joint), numbers(values));
  for (const auto& [joint, values] : key.v) v.add(quoted(joint), numbers(values));
  for (const auto& [actuator, value] : key.control) control.add(quoted(actuator), number(value));
  if (!key.q.empty()) map.add("q", q.str());
  if (!key.v.empty()) map.add("v", v.str());
  for (const auto& [actuator, value] : key.activation) activation.add(quoted(actuator), number(value));
  if (!key.control.empty()) map.add("control", control.str());
  if (!key.activation.empty()) map.add("activation", activation.str());
  return map;
}

FlowMap control_map(const ControlPoint& point) {
  FlowMap map, control, force, surface;
  map.add("time", number(point.time));
  if (point.interpolation != ControlPoint{}.interpolation)
    map.add("interpolate", kInterpolationNames[static_cast<std::size_t>(point.interpolation)]);
  if (!point.keyframe.empty()) map.text("keyframe", point.keyframe);
  for (const auto& [actuator, value] : point.control) control.add(quoted(actuator), number(value));
  for (const auto& [body, value] : point.force) force.add(quoted(body), numbers(value));
  for (const auto& [shape, value] : point.surface) surface.add(quoted(shape), number(value));
  if (!point.control.empty()) map.add("control", control.str());
  if (!point.force.empty()) map.add("force", force.str());
  if (!point.surface.empty()) map.add("surface", surface.str());
  return map;
}

FlowMap sensor_map(const Sensor& sensor) {
  FlowMap map;
  map.text("name", sensor.name).add("type", sensor_info(sensor.type).name);
  map.text("joint", sensor.joint)
      .text("tendon", sensor.tendon)
      .text("actuator", sensor.actuator)
      .text("site", sensor.site)
      .text("body", sensor.body)
      .text("shape", sensor.shape)
      .text("relative_site", sensor.relative_site)
      .text("relative_body", sensor.relative_body)
      .text("other_body", sensor.other_body)
      .text("other_shape", sensor.other_shape)
      .flag("at_com", sensor.at_com, false)
      .scalar("cutoff", sensor.cutoff, 0);
  return map;
}

template <class List, class Text>
void section(std::string* out, const char* key, const List& list, const Text& text) {
  if (list.empty()) return;
  *out += fmt::format("{}:\n", key);
  for (const auto& item : list) *out += text(item);
}

}  // namespace

std::string write_yaml(const Scene& scene, const std::map<const TriangleMesh*, std::string>& mesh_files) {
  std::string out = "capstan: 1\n";
  if (!scene.name.empty()) out += "name: " + quoted(scene.name) + "\n";
  const Options plain;
  const Options& o = scene.options;
  FlowMap options;
  options.vec3("gravity", o.gravity, plain.gravity).scalar("dt", o.dt, plain.dt);
  options.vec3("magnetic_field", o.magnetic_field, plain.magnetic_field)
      .scalar("fluid_density", o.fluid_density, 0)
      .scalar("fluid_viscosity", o.fluid_viscosity, 0);
  if (o.fluid_density > 0 || o.fluid_viscosity > 0) options.vec3("wind", o.wind, plain.wind);
  if (o.integrator != plain.integrator) options.add("integrator", integrator_name(o.integrator));
  const ContactOptions& contact = o.contact;
  if (contact.law != plain.contact.law) {
    options.add("contact_law", traits(contact.law).name);
  }
  if (contact.normal_law != plain.contact.normal_law) {
    options.add("normal_law", traits(contact.normal_law).name);
  }
  options.scalar("sigma", contact.sigma)
      .scalar("beta", contact.beta, plain.contact.beta)
      .scalar("constraint_beta", contact.constraint_beta, plain.contact.constraint_beta)
      .scalar("recovery_speed", contact.recovery_speed, plain.contact.recovery_speed)
      .scalar("tolerance", o.tolerance, plain.tolerance)
      .scalar("max_iterations", o.max_iterations, plain.max_iterations);
  options.scalar("duration", o.duration, plain.duration);
  options.flag("sleep", o.sleep.on, false)
      .scalar("sleep_speed", o.sleep.speed, plain.sleep.speed)
      .scalar("sleep_time", o.sleep.time, plain.sleep.time);
  options.flag("conserve_momentum", o.conserve_momentum, true)
      .flag("follow_paths", o.follow_paths, true)
      .flag("collide_parent_child", o.collide_parent_child, false)
      .flag("balance_inertia", o.balance_inertia, false);
  if (!options.inside.empty()) out += "options: " + options.str() + "\n";

  section(&out, "materials", scene.materials, material_text);
  section(&out, "pairs", scene.pairs, pair_text);
  section(&out, "bodies", scene.bodies, body_text);
  bool any_shape = false;
  std::string shapes;
  for (const ShapeInstance& shape : scene.shapes) {
    const std::string text = shape_text(shape, mesh_files);
    any_shape = any_shape || text.find('#') != 2;
    shapes += text;
  }
  if (!shapes.empty()) out += (any_shape ? "shapes:\n" : "") + shapes;
  section(&out, "rods", scene.rods, rod_text);
  section(&out, "soft_bodies", scene.soft_bodies, soft_body_text);
  section(&out, "sites", scene.sites, [](const Site& site) {
    return "  - " + FlowMap().text("name", site.name).text("body", site.body, kWorld).pose(site.pose).str() +
           "\n";
  });
  section(&out, "tendons", scene.tendons, tendon_text);
  section(&out, "actuators", scene.actuators, actuator_text);
  section(&out, "constraints", scene.constraints, constraint_text);
  section(&out, "excludes", scene.excludes, [](const CollisionExclude& exclude) {
    return fmt::format("  - [{}, {}]\n", quoted(exclude.body_a), quoted(exclude.body_b));
  });
  section(&out, "keyframes", scene.keyframes,
          [](const Keyframe& key) { return "  - " + keyframe_map(key).str() + "\n"; });
  section(&out, "controls", scene.controls,
          [](const ControlPoint& point) { return "  - " + control_map(point).str() + "\n"; });
  section(&out, "sensors", scene.sensors,
          [](const Sensor& sensor) { return "  - " + sensor_map(sensor).str() + "\n"; });
  Keyframe start = scene.initial;
  start.name.clear();  // it needs none
  const FlowMap initial = keyframe_map(start);
  if (!initial.inside.empty()) out += "initial: " + initial.str() + "\n";
  return out;
}

std::vector<std::shared_ptr<const TriangleMesh>> meshes_of(const Scene& scene) {
  std::vector<std::shared_ptr<const TriangleMesh>> meshes;
  for (const ShapeInstance& shape : scene.shapes) {
    auto mesh = mesh_of(shape.shape);
    if (mesh && std::find(meshes.begin(), meshes.end(), mesh) == meshes.end()) meshes.push_back(mesh);
  }
  return meshes;
}

bool save_yaml(const Scene& scene, const std::string& path, Diagnostics* diagnostics) {
  namespace fs = std::filesystem;
  auto save = [&](const fs::path& file, const std::string& text) {
    std::FILE* out = std::fopen(file.string().c_str(), "wb");
    const bool written = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    const bool closed = out && std::fclose(out) == 0;
    if (written && closed) return true;
    diagnostics->error({file.string(), 0}, "the file cannot be written",
                       "check the folder, its permissions and the disk");
    return false;
  };
  std::map<const TriangleMesh*, std::string> files;
  for (const auto& mesh : meshes_of(scene)) {
    const std::string name = fmt::format("{}_mesh{}.obj", fs::path(path).stem().string(), files.size() + 1);
    std::string text = "# written by Capstan\n";
    for (const Vec3& v : mesh->vertices) text += fmt::format("v {} {} {}\n", v.x(), v.y(), v.z());
    for (const auto& t : mesh->triangles) text += fmt::format("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
    if (!save(fs::path(path).parent_path() / name, text)) return false;
    files[mesh.get()] = name;
  }
  return save(path, write_yaml(scene, files));
}

}  // namespace capstan
