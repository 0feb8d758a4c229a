// `controls:` and `sensors:` of YAML scenes.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>

#include "capstan/base/closest_name.h"
#include "capstan/io/yaml_parts.h"
#include "capstan/model/mocap.h"
#include "capstan/physics/soft_nodes.h"
#include "capstan/scene/rod.h"

namespace capstan {
namespace {

// Found once: a mesh may be large.
struct NodeNames {
  std::size_t num_bodies = 0;  // the first of these have been looked at
  std::vector<std::string> names;
  std::vector<std::shared_ptr<const SoftBody>> bodies;
  std::vector<std::string> broken;  // soft bodies that cannot be made, which is told elsewhere
};

template <class T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> names;
  for (const T& thing : things) names.push_back(thing.name);
  return names;
}

// Of the nodes of a soft body that are on its surface or attached.
void add_node_names(const SoftBodySpec& spec, NodeNames* nodes) {
  try {
    if (spec.is_incomplete) throw InputError({});
    const auto body = std::make_shared<const SoftBody>(spec);
    for (int c = 0; c < body->num_carried(); ++c)
      nodes->names.push_back(spec.name + "/" + body->carrier_name(c));
    nodes->bodies.push_back(body);
  } catch (const InputError&) {
    nodes->broken.push_back(spec.name);
  }
}

// Whether it may be a node of a soft body that cannot be made.
bool may_be_node(const NodeNames& nodes, const std::string& name) {
  return std::any_of(nodes.broken.begin(), nodes.broken.end(),
                     [&](const std::string& body) { return name.rfind(body + "/", 0) == 0; });
}

// Of a name that is not among them.
NodeAdvice explain(const NodeNames& nodes, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {};
  for (const auto& body : nodes.bodies) {
    if (body->spec().name == name.substr(0, slash)) return explain_node(*body, name.substr(slash + 1));
  }
  return {};
}

// Of bodies, of the edges of rods and of the nodes of soft bodies.
std::vector<std::string> names_of_bodies(const Scene& scene, NodeNames* nodes) {
  std::vector<std::string> names = names_of(scene.bodies);
  for (; nodes->num_bodies < scene.soft_bodies.size(); ++nodes->num_bodies)
    add_node_names(scene.soft_bodies[nodes->num_bodies], nodes);
  names.insert(names.end(), nodes->names.begin(), nodes->names.end());
  for (const RodSpec& rod : scene.rods) {
    const std::size_t edges = rod.nodes.size() - (rod.closed || rod.nodes.empty() ? 0 : 1);
    for (std::size_t i = 0; i < edges; ++i) names.push_back(fmt::format("{}/{}", rod.name, i));
  }
  return names;
}

// Of actuators, those that actuated rods have, and of the tracks of mocap bodies.
std::vector<std::string> names_of_actuators(const Scene& scene) {
  std::vector<std::string> names = names_of(scene.actuators);
  for (const RodSpec& rod : scene.rods) {
    if (!rod.actuated) continue;
    names.push_back(rod.name + ".natural");
    names.push_back(rod.name + ".length");
  }
  for (std::string& track : mocap_track_names(scene)) names.push_back(std::move(track));
  return names;
}

// Calls entry(name, value) for each line of `key: {name: value, ...}` whose name is among `names`.
void each_known(YamlFields* fields, const std::string& key, const std::string& kind,
                const std::vector<std::string>& names, const NodeNames* nodes,
                const std::function<void(const std::string&, const YamlNode&)>& entry) {
  const YamlNode* map = fields->find(key);
  if (!map) return;
  if (map->kind != YamlNode::Kind::map) {
    fields->error(*map, fmt::format("{} is {}, not a map of names", fields->of(key), describe(*map)),
                  "write {name: value, ...}");
    return;
  }
  const std::set<std::string> known(names.begin(), names.end());
  for (size_t i = 0; i < map->keys.size(); ++i) {
    if (known.count(map->keys[i])) {
      entry(map->keys[i], *map->items[i]);
    } else if (const NodeAdvice advice = nodes != nullptr ? explain(*nodes, map->keys[i]) : NodeAdvice{};
               !advice.what.empty()) {
      fields->error(*map->items[i],
                    fmt::format("{} names '{}': {}", fields->of(key), map->keys[i], advice.what),
                    advice.remedy);
    } else {
      fields->error(*map->items[i],
                    fmt::format("{} names the unknown {} '{}'", fields->of(key), kind, map->keys[i]),
                    did_you_mean(map->keys[i], names, name_one_of(names, kind)));
    }
  }
}

// `before` is the time of the point before it in this file; included models have points of their own.
void read_point(YamlReader* reader, const YamlNode& node, NodeNames* nodes, double* before) {
  YamlFields fields(reader->source, node, "a point of controls");
  if (node.kind != YamlNode::Kind::map) return;
  const Scene& scene = reader->scene;
  ControlPoint point;
  point.where = fields.where();
  if (!fields.number("time", &point.time) && !fields.has("time"))
    fields.error(node, "a point of controls has no time", "write 'time: ...' in seconds");
  fields.rename(fmt::format("the controls at {:g} s", point.time));
  int word = static_cast<int>(point.interpolation);
  fields.choice("interpolate", {kInterpolationNames.begin(), kInterpolationNames.end()}, &word);
  point.interpolation = static_cast<Interpolation>(word);
  if (fields.text("keyframe", &point.keyframe)) {
    const std::vector<std::string> names = names_of(scene.keyframes);
    if (std::find(names.begin(), names.end(), point.keyframe) == names.end()) {
      fields.error(
          *fields.find("keyframe"),
          fmt::format("{} name the unknown keyframe '{}'", fields.what(), point.keyframe),
          did_you_mean(point.keyframe, names, fmt::format("the scene has {} keyframes", names.size())));
    }
  }
  each_known(
      &fields, "control", "actuator", names_of_actuators(scene), nullptr,
      [&](const std::string& name, const YamlNode& n) {
        double value = 0;
        if (read_number(fields.source(), n, fmt::format("control of actuator '{}'", name), kAny, &value))
          point.control[name] = value;
      });
  std::vector<std::string> bodies;
  if (const YamlNode* forces = fields.find("force")) {
    bodies = names_of_bodies(scene, nodes);
    std::copy_if(forces->keys.begin(), forces->keys.end(), std::back_inserter(bodies),
                 [&](const std::string& name) { return may_be_node(*nodes, name); });
  }
  each_known(&fields, "force", "body", bodies, nodes, [&](const std::string& name, const YamlNode& n) {
    std::vector<double> value;
    if (read_numbers(fields.source(), n, fmt::format("force on body '{}'", name), 3, 3, kAny, &value))
      point.force[name] = Vec3(value[0], value[1], value[2]);
  });
  each_known(&fields, "surface", "shape", names_of(scene.shapes), nullptr,
             [&](const std::string& name, const YamlNode& n) {
               double value = 0;
               if (read_number(fields.source(), n, fmt::format("surface of shape '{}'", name), kAny, &value))
                 point.surface[name] = value;
             });
  fields.done();
  if (point.time < *before) {
    fields.error(node, fmt::format("{} come after those at {:g} s", fields.what(), *before),
                 "write them in the order of time");
  }
  *before = point.time;
  reader->scene.controls.push_back(std::move(point));
}

// What a sensor is on, and what it is relative to or counts contacts with.
void read_sensor_targets(YamlReader* reader, NodeNames* nodes, YamlFields* fields, Sensor* sensor) {
  const Scene& scene = reader->scene;
  const std::string on = sensor_info(sensor->type).on;
  const auto reference = [&](const char* key, const char* kind, const std::vector<std::string>& names,
                             std::string* name) {
    if (!fields->text(key, name)) return;
    if (std::find(names.begin(), names.end(), *name) != names.end() || may_be_node(*nodes, *name)) return;
    if (const NodeAdvice advice = explain(*nodes, *name); !advice.what.empty()) {
      fields->error(*fields->find(key), fmt::format("a sensor is on '{}': {}", *name, advice.what),
                    advice.remedy);
      return;
    }
    fields->error(*fields->find(key),
                  fmt::format("a sensor {} the unknown {} '{}'",
                              std::string_view(key) == kind ? "is on" : "names", kind, *name),
                  did_you_mean(*name, names, name_one_of(names, kind)));
  };
  if (on == "joint") {
    std::vector<std::string> joints;
    for (const Body& body : scene.bodies) {
      for (const Joint& joint : body.joints) joints.push_back(joint.name);
    }
    reference("joint", "joint", joints, &sensor->joint);
  }
  if (on == "tendon") reference("tendon", "tendon", names_of(scene.tendons), &sensor->tendon);
  if (on == "actuator") reference("actuator", "actuator", names_of(scene.actuators), &sensor->actuator);
  if (on == "frame") reference("site", "site", names_of(scene.sites), &sensor->site);
  const bool has_shape = on == "frame" || on == "contact";
  if (has_shape) reference("shape", "shape", names_of(scene.shapes), &sensor->shape);
  const bool of_contacts = on == "contact" || sensor->type == SensorType::touch;
  std::vector<std::string> bodies, and_world;
  if (has_shape || on == "body" || may_be_relative(sensor->type)) {
    bodies = and_world = names_of_bodies(scene, nodes);
    and_world.push_back(kWorld);
  }
  std::vector<std::string> touched = and_world;  // also rods and soft bodies as a whole
  for (const RodSpec& rod : scene.rods) touched.push_back(rod.name);
  for (const SoftBodySpec& body : scene.soft_bodies) touched.push_back(body.name);
  if (has_shape || on == "body") reference("body", "body", of_contacts ? touched : bodies, &sensor->body);
  if (may_be_relative(sensor->type)) {
    reference("relative_site", "site", names_of(scene.sites), &sensor->relative_site);
    reference("relative_body", "body", and_world, &sensor->relative_body);
    fields->at_most_one({"relative_site", "relative_body"});
  }
  if (of_contacts) {
    reference("other_body", "body", touched, &sensor->other_body);
    reference("other_shape", "shape", names_of(scene.shapes), &sensor->other_shape);
    fields->at_most_one({"other_body", "other_shape"});
  }
  fields->at_most_one({"site", "body", "shape"});
  if (on == "frame" && !sensor->body.empty()) fields->flag("at_com", &sensor->at_com);
}

void read_sensor(YamlReader* reader, const YamlNode& node, NodeNames* nodes) {
  YamlFields fields(reader->source, node, "a sensor");
  if (node.kind != YamlNode::Kind::map) return;
  Sensor sensor;
  sensor.where = fields.where();
  std::vector<std::string> words;
  for (const SensorTypeInfo& type : kSensorTypes) words.push_back(type.name);
  int word = -1;
  if (!fields.choice("type", words, &word)) {
    if (!fields.has("type")) fields.error(node, "a sensor has no type", "write 'type: ...', such as gyro");
    return;
  }
  sensor.type = static_cast<SensorType>(word);
  read_sensor_targets(reader, nodes, &fields, &sensor);
  fields.number("cutoff", &sensor.cutoff, kPositive);
  const std::string on = sensor_info(sensor.type).on, type = words[static_cast<std::size_t>(word)];
  const std::string target =
      sensor.joint + sensor.tendon + sensor.actuator + sensor.site + sensor.body + sensor.shape;
  const std::string other = sensor.other_body + sensor.other_shape;
  if (!on.empty() && target.empty() && (on != "contact" || other.empty())) {
    fields.error(node, fmt::format("a sensor of type {} is on nothing", type),
                 on == "frame"     ? "write 'site: ...' or 'body: ...'"
                 : on == "contact" ? "write 'body: ...' or 'shape: ...'"
                                   : fmt::format("write '{}: ...'", on));
  }
  if (!fields.text("name", &sensor.name)) {
    sensor.name = target.empty() && other.empty() ? type : (target.empty() ? other : target) + "." + type;
  }
  fields.rename(fmt::format("sensor '{}'", sensor.name));
  fields.done();
  for (const Sensor& before : reader->scene.sensors) {
    if (before.name == sensor.name)
      fields.error(node, fmt::format("there are two sensors '{}'", sensor.name),
                   "give one of them another name");
  }
  reader->scene.sensors.push_back(std::move(sensor));
}

}  // namespace

void read_controls(YamlReader* reader, YamlFields* root) {
  double before = -kInfinity;
  NodeNames nodes;
  root->each("controls", [&](const YamlNode& node) { read_point(reader, node, &nodes, &before); });
  std::stable_sort(reader->scene.controls.begin(), reader->scene.controls.end(),
                   [](const ControlPoint& a, const ControlPoint& b) { return a.time < b.time; });
  root->each("sensors", [&](const YamlNode& node) { read_sensor(reader, node, &nodes); });
}

}  // namespace capstan
