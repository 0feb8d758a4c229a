// Tendons, actuators, constraints, collision excludes, keyframes and the start of YAML scenes.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "capstan/base/closest_name.h"
#include "capstan/io/yaml_parts.h"

namespace capstan {
namespace {

// path: [{site: a}, {wrap: shape, side: site}, {site: b}, {pulley: 2}, {site: c}, ...]
void read_path(YamlFields* fields, Tendon* tendon) {
  tendon->is_rest_of_reference = true;
  fields->each("path", [&](const YamlNode& node) {
    YamlFields station(fields->source(), node, "a station of the path of " + fields->what());
    if (node.kind != YamlNode::Kind::map) return;
    if (station.at_most_one({"site", "wrap", "pulley"}) == 0) {
      station.error(node, fmt::format("{} is nothing", station.what()),
                    "write {site: ...}, {wrap: ...} or {pulley: ...}");
    }
    TendonPoint point;
    if (station.text("wrap", &point.name)) {
      point.kind = TendonPoint::Kind::wrap;
      station.text("side", &point.side);
    } else if (station.number("pulley", &point.divisor, kPositive)) {
      point.kind = TendonPoint::Kind::pulley;
    } else {
      station.text("site", &point.name);
    }
    station.done();
    tendon->path.push_back(std::move(point));
  });
}

void read_tendon(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "a tendon");
  if (node.kind != YamlNode::Kind::map) return;
  Tendon tendon;
  tendon.where = fields.where();
  if (!fields.text("name", &tendon.name)) fields.error(node, "a tendon has no name", "write 'name: ...'");
  fields.rename(fmt::format("tendon '{}'", tendon.name));
  const YamlNode* joints = fields.find("joints");
  fields.at_most_one({"joints", "path"});
  if (!joints && fields.has("path")) {
    read_path(&fields, &tendon);
  } else if (!joints || joints->kind != YamlNode::Kind::map || joints->items.empty()) {
    fields.error(joints ? *joints : node, fmt::format("{} names no joints", fields.what()),
                 "write 'joints: {name: coefficient, ...}', or 'path: [{site: ...}, ...]'");
  } else {
    for (size_t i = 0; i < joints->keys.size(); ++i) {
      Tendon::Term term{joints->keys[i], 1};
      read_number(reader->source, *joints->items[i],
                  fmt::format("coefficient of joint '{}' in {}", term.joint, fields.what()), kAny,
                  &term.coefficient);
      tendon.terms.push_back(std::move(term));
    }
  }
  fields.number("stiffness", &tendon.stiffness, kNotNegative);
  fields.number("damping", &tendon.damping, kNotNegative);
  fields.number("dry_friction", &tendon.dry_friction, kNotNegative);
  fields.number("rotor_inertia", &tendon.rotor_inertia, kNotNegative);
  if (const YamlNode* rest = fields.find("spring_rest")) {
    tendon.is_rest_of_reference = false;
    if (rest->kind == YamlNode::Kind::scalar) {
      if (fields.number("spring_rest", &tendon.spring_rest.lower))
        tendon.spring_rest.upper = tendon.spring_rest.lower;
    } else {
      fields.range("spring_rest", &tendon.spring_rest);
    }
  }
  Range limits;
  if (fields.range("limits", &limits)) tendon.limits = limits;
  fields.done();
  if (!(tendon.stiffness > 0)) {
    fields.no_effect("spring_rest", "the tendon has no spring", "give it a stiffness, or remove it");
  }
  reader->scene.tendons.push_back(std::move(tendon));
}

void read_gear(YamlFields* fields, Vec6* gear) {
  const YamlNode* node = fields->find("gear");
  if (!node) return;
  if (node->kind == YamlNode::Kind::scalar) {
    double ratio = 1;
    if (fields->number("gear", &ratio)) *gear << ratio, 0, 0, 0, 0, 0;
    return;
  }
  std::vector<double> values;
  if (!read_numbers(fields->source(), *node, fields->of("gear"), 1, 6, kAny, &values)) return;
  gear->setZero();
  for (size_t i = 0; i < values.size(); ++i) (*gear)[i] = values[i];
}

void read_muscle(YamlFields* fields, Actuator* actuator) {
  const YamlNode* node = fields->find("muscle");
  Muscle& m = actuator->muscle.emplace();
  actuator->control_range = {0, 1};
  actuator->activation.type = ActivationType::muscle;
  actuator->activation.time_constant = 0.01;
  actuator->activation.time_constant_off = 0.04;
  if (!node) return;
  YamlFields muscle(fields->source(), *node, "the muscle of " + fields->what());
  if (node->kind != YamlNode::Kind::map) return;
  for (const char* key : {"length_range", "force"}) {
    if (!muscle.has(key))
      muscle.error(*node, fmt::format("{} has no {}", muscle.what(), key),
                   fmt::format("write '{}: ...'", key));
  }
  muscle.range("length_range", &m.length_range);
  muscle.range("operating", &m.operating);
  muscle.number("force", &m.force, kNotNegative);
  muscle.number("shortest", &m.shortest, kNotNegative);
  muscle.number("longest", &m.longest, kPositive);
  muscle.number("fastest", &m.fastest, kPositive);
  muscle.number("passive", &m.passive, kNotNegative);
  muscle.number("lengthening", &m.lengthening, kPositive);
  muscle.done();
}

void read_activation(YamlFields* fields, Actuator* actuator) {
  const YamlNode* node = fields->find("activation");
  if (!node) return;
  YamlFields part(fields->source(), *node, "the activation of " + fields->what());
  if (node->kind != YamlNode::Kind::map) return;
  Activation& a = actuator->activation;
  int type = static_cast<int>(a.type) - 1;
  const std::vector<std::string> names(kActivationNames.begin() + 1, kActivationNames.end());
  if (!part.choice("type", names, &type) && !part.has("type") && !actuator->muscle)
    part.error(*node, fmt::format("{} has no type", part.what()),
               "write 'type: integrator', filter, filter_exact or muscle");
  a.type = static_cast<ActivationType>(std::max(0, type) + 1);
  if (a.type != ActivationType::integrator && !part.has("time_constant") && !actuator->muscle)
    part.error(*node, fmt::format("{} has no time_constant", part.what()), "write 'time_constant: ...' [s]");
  if (a.type != ActivationType::integrator) part.number("time_constant", &a.time_constant, kNotNegative);
  if (a.type == ActivationType::muscle) {
    part.number("time_constant_off", &a.time_constant_off, kNotNegative);
    part.number("smoothing", &a.smoothing, kNotNegative);
  }
  part.range("range", &a.range);
  part.number("start", &a.start);
  part.done();
}

// How many numbers of `gear` count: a degree of freedom of the joint each. Joints that are not known are told
// by compile().
int num_gears(const Scene& scene, const Actuator& actuator) {
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints) {
      if (joint.name == actuator.joint) return num_velocities(joint.type);
    }
  }
  return actuator.tendon.empty() ? 6 : 1;
}

void read_actuator(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "an actuator");
  if (node.kind != YamlNode::Kind::map) return;
  Actuator actuator;
  actuator.where = fields.where();
  fields.text("joint", &actuator.joint);
  fields.text("tendon", &actuator.tendon);
  fields.text("site", &actuator.site);
  if (fields.at_most_one({"joint", "tendon", "site"}) == 0) {
    fields.error(node, "an actuator acts on nothing", "write 'joint: ...', 'tendon: ...' or 'site: ...'");
  }
  actuator.name = actuator.joint + actuator.tendon + actuator.site;
  fields.text("name", &actuator.name);
  fields.rename(fmt::format("actuator '{}'", actuator.name));
  int type = 0;
  std::string word;
  const bool has_others_word =
      fields.text("type", &word) && (word == "position" || word == "motor");  // words of MJCF
  if (has_others_word) {
    fields.error(node, fmt::format("type of {} is '{}', which is MuJoCo's word", fields.what(), word),
                 word == "motor" ? "write 'type: torque'" : "write 'type: pd' with stiffness and damping");
    type = word == "motor" ? 0 : 1;
  } else if (!fields.choice("type", {"torque", "pd", "velocity", "general", "muscle"}, &type) &&
             !fields.has("type")) {
    fields.error(node, fmt::format("{} has no type", fields.what()),
                 "write 'type: torque', pd, velocity, general or muscle");
  }
  double stiffness = 0, damping = 0;
  auto needs = [&](const char* key) {
    if (!fields.has(key)) {
      fields.error(node, fmt::format("{} has no {}", fields.what(), key),
                   fmt::format("write '{}: ...'", key));
    }
  };
  if (type == 0) {
    fields.number("control", &actuator.control);
  } else if (type == 1) {
    needs("stiffness");
    fields.number("stiffness", &stiffness, kPositive);
    fields.number("damping", &damping, kNotNegative);
    fields.angle("target", &actuator.control);
    actuator.gain = stiffness;
    actuator.bias = {0, -stiffness, -damping};
  } else if (type == 2) {
    needs("damping");
    fields.number("damping", &damping, kPositive);
    fields.angle("target", &actuator.control);
    actuator.gain = damping;
    actuator.bias = {0, 0, -damping};
  } else if (type == 3) {
    fields.number("gain", &actuator.gain);
    fields.vec3("bias", &actuator.bias);
    std::vector<double> slope;
    if (const YamlNode* n = fields.find("gain_slope");
        n && read_numbers(fields.source(), *n, fields.of("gain_slope"), 2, 2, kAny, &slope))
      actuator.gain_slope = Vec2(slope[0], slope[1]);
    fields.number("control", &actuator.control);
  } else {
    needs("muscle");
    read_muscle(&fields, &actuator);
    fields.number("control", &actuator.control);
  }
  read_activation(&fields, &actuator);
  read_gear(&fields, &actuator.gear);
  fields.range("control_range", &actuator.control_range);
  fields.at_most_one({"effort_limit", "force_range"});
  double effort = 0;
  if (fields.number("effort_limit", &effort, kNotNegativeOrInfinite))
    actuator.force_range = {-effort, effort};
  fields.range("force_range", &actuator.force_range);
  constexpr const char* kinds[] = {"torque", "pd", "velocity", "general", "muscle"};
  fields.rename(fmt::format("{} actuator '{}'", kinds[type], actuator.name));
  fields.done();
  if (actuator.gear.tail<5>().any() && num_gears(reader->scene, actuator) == 1) {
    fields.no_effect("gear", "all but its first number: what it acts on has one degree of freedom",
                     "write one number");
  }
  reader->scene.actuators.push_back(std::move(actuator));
}

// pose_a: {...}, or point_a: [x, y, z] for its position alone.
void read_frame(YamlFields* fields, const std::string& end, std::optional<Pose>* pose) {
  if (fields->at_most_one({"pose_" + end, "point_" + end}) == 0) return;
  Pose value;
  if (const YamlNode* node = fields->find("pose_" + end)) {
    read_pose_map(fields->source(), *node, fields->of("pose_" + end), &value);
  }
  fields->vec3("point_" + end, &value.position);
  *pose = value;
}

void read_coupler(YamlFields* fields, Constraint* constraint) {
  if (!fields->text("joint_a", &constraint->joint_a)) {
    fields->error(fields->node(), fmt::format("{} has no joint_a", fields->what()),
                  "write 'joint_a: ...', the joint that follows");
  }
  fields->text("joint_b", &constraint->joint_b);
  if (const YamlNode* node = fields->find("polynomial")) {
    std::vector<double> c;
    if (read_numbers(fields->source(), *node, fields->of("polynomial"), 1, 5, kAny, &c)) {
      constraint->polynomial = {0, 0, 0, 0, 0};
      std::copy(c.begin(), c.end(), constraint->polynomial.begin());
    }
    for (const char* key : {"multiplier", "offset"}) {
      if (fields->has(key)) fields->at_most_one({"polynomial", key});
    }
    return;
  }
  fields->number("multiplier", &constraint->polynomial[1]);
  fields->number("offset", &constraint->polynomial[0]);
}

void read_constraint(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "a constraint");
  if (node.kind != YamlNode::Kind::map) return;
  Constraint constraint;
  constraint.where = fields.where();
  fields.text("name", &constraint.name);
  if (constraint.name.empty())
    constraint.name = fmt::format("constraint{}", reader->scene.constraints.size() + 1);
  fields.rename(fmt::format("constraint '{}'", constraint.name));
  int type = 0;
  if (!fields.choice("type", {"ball", "weld", "distance", "coupler", "mimic"}, &type)) {
    if (!fields.has("type")) {
      fields.error(node, fmt::format("{} has no type", fields.what()),
                   "write 'type: ball', weld, distance or coupler");
    }
    return;
  }
  constraint.type = static_cast<ConstraintType>(std::min(type, 3));
  if (constraint.type == ConstraintType::coupler) {
    read_coupler(&fields, &constraint);
  } else {
    if (!fields.text("body_a", &constraint.body_a)) {
      fields.error(node, fmt::format("{} has no body_a", fields.what()), "write 'body_a: ...'");
    }
    fields.text("body_b", &constraint.body_b);
    read_frame(&fields, "a", &constraint.pose_a);
    read_frame(&fields, "b", &constraint.pose_b);
  }
  if (constraint.type == ConstraintType::distance &&
      !fields.number("distance", &constraint.distance, kPositive) && !fields.has("distance")) {
    fields.error(node, fmt::format("{} has no distance", fields.what()), "write 'distance: ...' [m]");
  }
  fields.number("stiffness", &constraint.stiffness, kPositiveOrInfinite);
  fields.number("relaxation_time", &constraint.relaxation_time, kNotNegative);
  fields.soft_reference("", &constraint.soft);
  fields.flag("active", &constraint.active);
  fields.done();
  if (constraint.soft) {
    for (const char* key : {"stiffness", "relaxation_time"})
      fields.no_effect(key, "solref and solimp stand in its place", "write one or the other");
  }
  if (constraint.type == ConstraintType::ball || constraint.type == ConstraintType::distance) {
    for (const auto& [key, pose] : {std::pair{"pose_a", constraint.pose_a}, {"pose_b", constraint.pose_b}}) {
      if (!pose || pose->quat_wxyz.tail<3>().isZero(0)) continue;
      fields.no_effect(key, "its turn: the constraint holds points only", "write a point, or type: weld");
    }
  }
  reader->scene.constraints.push_back(std::move(constraint));
}

void read_exclude(YamlReader* reader, const YamlNode& node) {
  CollisionExclude exclude;
  exclude.where = reader->source.at(node);
  if (node.kind != YamlNode::Kind::list || node.items.size() != 2) {
    reader->source.diagnostics->error(exclude.where,
                                      fmt::format("an exclude is {}, not two bodies", describe(node)),
                                      "write '- [body, other_body]'");
    return;
  }
  const bool ok = read_text(reader->source, *node.items[0], "first body of an exclude", &exclude.body_a) &
                  read_text(reader->source, *node.items[1], "second body of an exclude", &exclude.body_b);
  if (ok) reader->scene.excludes.push_back(std::move(exclude));
}

// --- States ----------------------------------------------------------------------------------------------

// Calls entry(name, value) for each line of `key: {name: value, ...}`.
void each_named(YamlFields* fields, const std::string& key,
                const std::function<void(const std::string&, const YamlNode&)>& entry) {
  const YamlNode* map = fields->find(key);
  if (!map) return;
  if (map->kind != YamlNode::Kind::map) {
    fields->error(*map, fmt::format("{} is {}, not a map of names", fields->of(key), describe(*map)),
                  "write {name: value, ...}");
    return;
  }
  for (size_t i = 0; i < map->keys.size(); ++i) entry(map->keys[i], *map->items[i]);
}

void unknown_name(YamlFields* fields, const YamlNode& node, const std::string& key, const std::string& kind,
                  const std::string& name, const std::vector<std::string>& names) {
  fields->error(node, fmt::format("{} names the unknown {} '{}'", fields->of(key), kind, name),
                did_you_mean(name, names, name_one_of(names, kind)));
}

}  // namespace

void read_state(YamlFields* fields, const Scene& scene, Keyframe* key) {
  fields->number("time", &key->time);
  if (!fields->has("q") && !fields->has("q_deg") && !fields->has("v") && !fields->has("control") &&
      !fields->has("activation"))
    return;
  std::map<std::string, JointType> types;
  std::vector<std::string> joint_names, actuator_names;
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints) {
      types[joint.name] = joint.type;
      joint_names.push_back(joint.name);
    }
  }
  for (const Actuator& actuator : scene.actuators) actuator_names.push_back(actuator.name);
  const std::set<std::string> actuators(actuator_names.begin(), actuator_names.end());

  for (const std::string part : {"q", "q_deg", "v"}) {
    each_named(fields, part, [&](const std::string& name, const YamlNode& node) {
      const auto type = types.find(name);
      if (type == types.end()) return unknown_name(fields, node, part, "joint", name, joint_names);
      const int count = part == "v" ? num_velocities(type->second) : num_positions(type->second);
      const std::string what = fmt::format("{} of {} joint '{}'", part, joint_type_name(type->second), name);
      std::vector<double> values(1);
      if (count == 1 && node.kind == YamlNode::Kind::scalar) {
        if (!read_number(fields->source(), node, what, kAny, values.data())) return;
      } else if (!read_numbers(fields->source(), node, what, count, count, kAny, &values)) {
        return;
      }
      if (part == "q_deg") {
        if (type->second != JointType::revolute && type->second != JointType::screw &&
            type->second != JointType::universal) {
          return fields->error(node, fmt::format("{} is not an angle", what), "write it under q");
        }
        for (double& angle : values) angle *= kDegree;
      }
      (part == "v" ? key->v : key->q)[name] = std::move(values);
    });
  }
  for (const std::string part : {"control", "activation"}) {
    each_named(fields, part, [&](const std::string& name, const YamlNode& node) {
      if (!actuators.count(name)) return unknown_name(fields, node, part, "actuator", name, actuator_names);
      double value = 0;
      if (read_number(fields->source(), node, fmt::format("{} of actuator '{}'", part, name), kAny, &value)) {
        (part == "control" ? key->control : key->activation)[name] = value;
      }
    });
  }
}

void tell_without_effect(const YamlReader& reader) {
  Diagnostics* diagnostics = reader.source.diagnostics;
  std::set<std::string> driven;
  for (const Actuator& actuator : reader.scene.actuators) {
    driven.insert(actuator.joint);
    for (const Tendon& tendon : reader.scene.tendons) {
      if (tendon.name != actuator.tendon) continue;
      for (const Tendon::Term& term : tendon.terms) driven.insert(term.joint);
    }
  }
  const auto others = [](std::size_t count) {
    return count > 1 ? fmt::format(" (and of {} more)", count - 1) : std::string();
  };
  std::vector<std::pair<std::string, Source>> undriven;
  for (const auto& limit : reader.effort_limits) {
    if (!driven.count(limit.first)) undriven.push_back(limit);
  }
  if (!undriven.empty()) {
    diagnostics->warning(undriven[0].second,
                         fmt::format("effort_limit of joint '{}'{} has no effect: no actuator acts on it",
                                     undriven[0].first, others(undriven.size())),
                         "add an actuator, or remove it; dry_friction and damping have no limit");
  }
  if (!reader.velocity_limits.empty()) {
    diagnostics->warning(
        reader.velocity_limits[0].second,
        fmt::format("velocity_limit of joint '{}'{} has no effect: it is kept for programs that "
                    "read the scene, but not enforced",
                    reader.velocity_limits[0].first, others(reader.velocity_limits.size())),
        "limit the speed in your controller, or give the joint damping");
  }
}

void read_couplings(YamlReader* reader, YamlFields* root) {
  root->each("tendons", [&](const YamlNode& node) { read_tendon(reader, node); });
  root->each("actuators", [&](const YamlNode& node) { read_actuator(reader, node); });
  root->each("constraints", [&](const YamlNode& node) { read_constraint(reader, node); });
  root->each("excludes", [&](const YamlNode& node) { read_exclude(reader, node); });
}

void read_keyframes(YamlReader* reader, YamlFields* root) {
  root->each("keyframes", [&](const YamlNode& node) {
    YamlFields fields(reader->source, node, "a keyframe");
    if (node.kind != YamlNode::Kind::map) return;
    Keyframe key;
    key.where = fields.where();
    if (!fields.text("name", &key.name)) fields.error(node, "a keyframe has no name", "write 'name: ...'");
    fields.rename(fmt::format("keyframe '{}'", key.name));
    read_state(&fields, reader->scene, &key);
    fields.done();
    reader->scene.keyframes.push_back(std::move(key));
  });
  if (const YamlNode* node = root->find("initial")) {
    YamlFields fields(reader->source, *node, "initial");
    reader->scene.initial.where = fields.where();
    read_state(&fields, reader->scene, &reader->scene.initial);
    fields.done();
  }
}

}  // namespace capstan
