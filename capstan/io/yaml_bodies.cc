// Bodies, their inertia and their joints in YAML scenes.
#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "capstan/io/yaml_parts.h"
#include "capstan/math/rotation.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// --- Joints ----------------------------------------------------------------------------------------------

bool turns(JointType type) {
  return type == JointType::revolute || type == JointType::screw || type == JointType::universal ||
         type == JointType::ball;
}

// [lower, upper] of a joint with one dof, one such range for each dof of others, a number (the largest turn)
// of ball joints.
void read_limits(YamlFields* fields, Joint* joint) {
  if (fields->at_most_one({"limits", "limits_deg"}) != 1) return;
  const bool degrees = fields->has("limits_deg");
  const std::string key = degrees ? "limits_deg" : "limits";
  const YamlNode* node = fields->find(key);
  if (!node) return;
  const int dofs = joint->type == JointType::ball ? 1 : num_velocities(joint->type);
  if (dofs == 0 || joint->type == JointType::free) {
    fields->error(
        *node,
        fmt::format("{} has limits, but a {} joint has none", fields->what(), joint_type_name(joint->type)),
        "leave them out");
    return;
  }
  if (degrees && !turns(joint->type)) {
    fields->error(*node, fmt::format("{} has limits_deg, but does not only turn", fields->what()),
                  "write limits in metres (and radians)");
    return;
  }
  std::vector<Range> limits(static_cast<size_t>(dofs));
  if (joint->type == JointType::ball && node->kind == YamlNode::Kind::scalar) {
    limits[0].lower = 0;
    if (!read_number(fields->source(), *node, fields->of(key), kPositive, &limits[0].upper)) return;
  } else if (dofs == 1) {
    if (!read_range(fields->source(), *node, fields->of(key), &limits[0])) return;
  } else if (node->kind != YamlNode::Kind::list || static_cast<int>(node->items.size()) != dofs) {
    fields->error(
        *node,
        fmt::format("{} is {}, not one range for each of {} dofs", fields->of(key), describe(*node), dofs),
        "write [[lower, upper], ...]; [-inf, inf] is no limit");
    return;
  } else {
    for (int i = 0; i < dofs; ++i) {
      if (!read_range(fields->source(), *node->items[i],
                      fmt::format("range {} of {}", i + 1, fields->of(key)), &limits[i])) {
        return;
      }
    }
  }
  for (Range& range : limits) {
    if (!degrees) continue;
    range.lower *= std::numbers::pi / 180;
    range.upper *= std::numbers::pi / 180;
  }
  joint->limits = std::move(limits);
}

// key [rad or m], or key_deg where the joint only turns.
void read_reference(YamlFields* fields, const std::string& key, JointType type, double* value) {
  if (turns(type)) {
    fields->angle(key, value);
  } else {
    fields->number(key, value);
  }
}

// A number for joints with one, else a list.
bool read_values(YamlFields* fields, const std::string& key, int count, std::vector<double>* values) {
  const YamlNode* node = fields->find(key);
  if (!node) return false;
  if (count == 1 && node->kind == YamlNode::Kind::scalar) {
    values->resize(1);
    return read_number(fields->source(), *node, fields->of(key), kAny, values->data());
  }
  return read_numbers(fields->source(), *node, fields->of(key), count, count, kAny, values);
}

void read_joint_start(YamlFields* fields, const Joint& joint, Keyframe* initial) {
  fields->at_most_one({"initial", "initial_deg"});
  std::vector<double> q;
  if (read_values(fields, "initial", num_positions(joint.type), &q)) initial->q[joint.name] = q;
  if (const YamlNode* node = fields->find("initial_deg")) {
    if (!turns(joint.type) || joint.type == JointType::ball) {
      fields->error(*node,
                    fmt::format("{} has initial_deg, but its position is not only angles", fields->what()),
                    "write 'initial' in metres, radians or as a quaternion");
    } else if (read_values(fields, "initial_deg", num_positions(joint.type), &q)) {
      for (double& angle : q) angle *= std::numbers::pi / 180;
      initial->q[joint.name] = q;
    }
  }
  std::vector<double> v;
  if (read_values(fields, "initial_velocity", num_velocities(joint.type), &v)) initial->v[joint.name] = v;
}

// --- Inertia ---------------------------------------------------------------------------------------------

bool read_matrix(YamlFields* fields, Mat3* matrix) {
  const YamlNode* node = fields->find("matrix");
  if (!node) return false;
  if (node->kind != YamlNode::Kind::list || node->items.size() != 3) {
    fields->error(*node, fmt::format("{} is {}, not three rows", fields->of("matrix"), describe(*node)),
                  "write [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]");
    return false;
  }
  Mat3 value;
  for (int i = 0; i < 3; ++i) {
    std::vector<double> row;
    if (!read_numbers(fields->source(), *node->items[i],
                      fmt::format("row {} of {}", i + 1, fields->of("matrix")), 3, 3, kAny, &row)) {
      return false;
    }
    value.row(i) << row[0], row[1], row[2];
  }
  if ((value - value.transpose()).cwiseAbs().maxCoeff() > 1e-9 * value.cwiseAbs().maxCoeff()) {
    fields->error(*node, fmt::format("{} is not symmetric", fields->of("matrix")),
                  "the entries xy, xz and yz stand in it twice and must agree");
    return false;
  }
  *matrix = (value + value.transpose()) / 2;
  return true;
}

void read_inertia(YamlFields* body, std::optional<Inertia>* result) {
  const YamlNode* node = body->find("inertia");
  if (!node) return;
  YamlFields fields(body->source(), *node, body->of("inertia"));
  if (node->kind != YamlNode::Kind::map) return;
  Inertia inertia;
  if (!fields.number("mass", &inertia.mass, kPositive) && !fields.has("mass")) {
    fields.error(*node, fmt::format("{} has no mass", fields.what()), "write 'mass: ...' [kg]");
  }
  fields.vec3("com", &inertia.com);
  const int ways = fields.at_most_one({"moments", "matrix"});
  Vec3 moments = Vec3::Zero(), products = Vec3::Zero();
  if (ways == 0) {
    fields.error(
        *node, fmt::format("{} has no moments", fields.what()),
        "write 'moments: [xx, yy, zz]' [kg m^2] about the centre of mass, or 'matrix', or leave inertia "
        "out and give shapes");
  }
  fields.vec3("moments", &moments, kNotNegative);
  if (fields.vec3("products", &products) && fields.has("matrix")) {
    fields.error(*node, fmt::format("{} has both matrix and products", fields.what()),
                 "write only one of them");
  }
  inertia.about_com << moments.x(), products.x(), products.y(),  //
      products.x(), moments.y(), products.z(),                   //
      products.y(), products.z(), moments.z();
  read_matrix(&fields, &inertia.about_com);
  Vec4 quat;
  if (read_rotation(&fields, &quat)) {
    const Mat3 R = rotation_matrix(quat);
    inertia.about_com = (R * inertia.about_com * R.transpose()).eval();
    inertia.about_com = ((inertia.about_com + inertia.about_com.transpose()) / 2).eval();
  }
  fields.done();
  *result = inertia;
}

// `mass` of a body without inertia: shared among its shapes by their mass at their own densities.
void spread_mass(YamlReader* reader, YamlFields* fields, const std::vector<int>& shapes) {
  double mass = 0;
  if (!fields->number("mass", &mass, kPositive)) return;
  const YamlNode& node = *fields->find("mass");
  if (fields->has("inertia")) {
    fields->error(node, fmt::format("{} has both mass and inertia", fields->what()),
                  "write the mass inside inertia");
    return;
  }
  double total = 0;
  for (const int i : shapes) {
    const ShapeInstance& shape = reader->scene.shapes[i];
    if (!shape.has_mass) continue;
    if (shape.mass) {
      fields->error(node, fmt::format("{} has a mass, and so has its shape '{}'", fields->what(), shape.name),
                    "write one or the other");
      return;
    }
    total += shape.density * std::abs(volume_properties(shape.shape).volume);
  }
  if (!(total > 0)) {
    fields->error(node, fmt::format("{} has a mass but no shape to spread it over", fields->what()),
                  "write 'inertia: {mass: ..., moments: [...]}', or give the body a shape with a volume");
    return;
  }
  for (const int i : shapes) {
    ShapeInstance& shape = reader->scene.shapes[i];
    if (shape.has_mass)
      shape.mass = mass * shape.density * std::abs(volume_properties(shape.shape).volume) / total;
  }
}

}  // namespace

Joint read_joint(YamlReader* reader, const YamlNode& node, const std::string& default_name,
                 Keyframe* initial) {
  Joint joint;
  joint.where = reader->source.at(node);
  joint.name = default_name;
  const std::vector<std::string> types = {"weld",      "revolute", "prismatic", "screw",
                                          "universal", "ball",     "planar",    "free"};
  if (node.kind == YamlNode::Kind::scalar) {  // joint: free
    YamlNode map;
    map.kind = YamlNode::Kind::map;
    map.line = node.line;
    map.keys = {"type"};
    map.key_lines = {node.line};
    map.items = {std::make_shared<const YamlNode>(node)};
    return read_joint(reader, map, default_name, initial);
  }
  YamlFields fields(reader->source, node, fmt::format("joint '{}'", default_name));
  if (fields.text("name", &joint.name)) fields.rename(fmt::format("joint '{}'", joint.name));
  int type = static_cast<int>(JointType::revolute);
  if (!fields.choice("type", types, &type)) {
    if (!fields.has("type") && node.kind == YamlNode::Kind::map) {
      fields.error(node, fmt::format("{} has no type", fields.what()),
                   "write 'type: revolute', prismatic, free, ...");
    }
    return joint;
  }
  joint.type = static_cast<JointType>(type);
  // Only the keys that mean something for this type are known.
  const bool one_dof = num_velocities(joint.type) == 1;
  const bool weld = joint.type == JointType::weld, prismatic = joint.type == JointType::prismatic;
  const bool has_axis = one_dof || joint.type == JointType::universal || joint.type == JointType::planar;
  if (!weld && !prismatic && joint.type != JointType::free) fields.vec3("position", &joint.position);
  if (has_axis) fields.direction("axis", &joint.axis);
  if (has_axis && !one_dof) fields.direction("axis2", &joint.axis2);
  if (joint.type == JointType::screw) fields.number("pitch", &joint.pitch);
  if (one_dof) read_reference(&fields, "reference", joint.type, &joint.reference);
  if (weld) {
    fields.rename(fmt::format("weld joint '{}'", joint.name));
    fields.done();
    return joint;
  }
  fields.number("stiffness", &joint.stiffness, kNotNegative);
  if (has_axis) read_reference(&fields, "spring_reference", joint.type, &joint.spring_reference);
  fields.number("damping", &joint.damping, kNotNegative);
  fields.number("dry_friction", &joint.dry_friction, kNotNegative);
  fields.number("rotor_inertia", &joint.rotor_inertia, kNotNegative);
  read_limits(&fields, &joint);
  fields.soft_reference("limit_", &joint.soft_limits);
  if (fields.number("effort_limit", &joint.effort_limit, kNotNegativeOrInfinite))
    reader->effort_limits.emplace_back(joint.name, fields.where("effort_limit"));
  if (fields.number("velocity_limit", &joint.velocity_limit, kNotNegativeOrInfinite))
    reader->velocity_limits.emplace_back(joint.name, fields.where("velocity_limit"));
  read_joint_start(&fields, joint, initial);
  fields.rename(fmt::format("{} joint '{}'", joint_type_name(joint.type), joint.name));
  fields.done();
  if (!(joint.stiffness > 0)) {
    for (const char* key : {"spring_reference", "spring_reference_deg"}) {
      fields.no_effect(key, "the joint has no spring", "give it a stiffness, or remove it");
    }
  }
  if (joint.soft_limits && (!one_dof || joint.limits.empty())) {
    for (const char* key : {"limit_solref", "limit_solimp"})
      fields.no_effect(key,
                       one_dof ? "the joint has no limits" : "only limits of joints with one dof are soft",
                       "remove it");
  }
  if (joint.type == JointType::screw && !fields.has("pitch")) {
    fields.error(node, fmt::format("{} is a screw without pitch", fields.what()),
                 "write 'pitch: ...' [m/rad]");
  }
  return joint;
}

void read_body(YamlReader* reader, const YamlNode& node, const std::string* parent,
               const std::string& place) {
  YamlFields fields(reader->source, node, place);
  if (node.kind != YamlNode::Kind::map) return;
  Body body;
  body.where = fields.where();
  if (!fields.text("name", &body.name) || body.name.empty()) {
    fields.error(node, fmt::format("{} has no name", place), "write 'name: ...'");
  } else if (body.name == kWorld) {
    fields.error(*fields.find("name"), "a body is named 'world', which is the body that never moves",
                 "choose another name; shapes on the world go to 'shapes' at the top of the file");
  }
  fields.rename(fmt::format("body '{}'", body.name));
  if (parent) {
    body.parent = *parent;
    if (fields.has("parent")) {
      fields.error(*fields.find("parent"),
                   fmt::format("{} has a parent, but is a child of '{}'", fields.what(), *parent),
                   "remove 'parent', or move the body out of 'children'");
    }
  } else {
    fields.text("parent", &body.parent);
  }
  read_pose(&fields, &body.pose);
  read_inertia(&fields, &body.inertia);
  fields.flag("gravity_compensated", &body.gravity_compensated);
  bool is_mocap = false;
  fields.flag("mocap", &is_mocap);

  fields.at_most_one({"joint", "joints"});
  Keyframe* initial = &reader->scene.initial;
  if (const YamlNode* joint = fields.find("joint")) {
    if (joint->kind != YamlNode::Kind::scalar || joint->text != "weld") {
      body.joints.push_back(read_joint(reader, *joint, body.name, initial));
    }
  }
  fields.each("joints", [&](const YamlNode& joint) {
    const std::string name = fmt::format("{}_{}", body.name, body.joints.size() + 1);
    body.joints.push_back(read_joint(reader, joint, name, initial));
  });

  if (is_mocap) {
    if (body.parent != kWorld || !body.joints.empty()) {
      fields.error(*fields.find("mocap"),
                   fmt::format("{} is a mocap body, and {}", fields.what(),
                               body.joints.empty() ? "hangs at another body" : "has a joint"),
                   "a mocap body is placed in the world, from outside: give it neither");
    } else {
      body.joints.push_back(make_mocap_joint(body));
    }
  }

  std::vector<int> shapes;
  fields.at_most_one({"shape", "shapes"});
  auto add_shape = [&](const YamlNode& shape) {
    const int index = read_shape(reader, shape, &body.name, body.inertia.has_value());
    if (index >= 0) shapes.push_back(index);
  };
  if (const YamlNode* shape = fields.find("shape")) add_shape(*shape);
  fields.each("shapes", add_shape);
  spread_mass(reader, &fields, shapes);
  fields.each("sites", [&](const YamlNode& site) { read_site(reader, site, &body.name); });

  const std::string name = body.name;
  reader->scene.bodies.push_back(std::move(body));
  int child = 0;
  fields.each("children", [&](const YamlNode& item) {
    read_body(reader, item, &name, fmt::format("child {} of body '{}'", ++child, name));
  });
  fields.done();
}

}  // namespace capstan
