// read_mjcf: the order of the sections, names, keyframes.
//
// MuJoCo reads sections by kind, not by place: settings first, then defaults, assets, the body tree, and last
// what refers to it. A section may appear several times.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "capstan/io/mjcf_reader.h"
#include "capstan/io/read.h"
#include "capstan/math/rotation.h"
#include "capstan/model/mocap.h"
#include "capstan/scene/rod.h"

namespace capstan {

namespace mjcf {

namespace {
constexpr const char* kKindNames[] = {"body",     "joint",  "geom",     "site",     "mesh", "hfield",
                                      "material", "tendon", "actuator", "equality", "key",  "sensor"};
}

std::string Reader::claim_name(Kind kind, const XmlElement* element, const std::string& suffix,
                               const std::string& generated_stem) {
  const auto written = xml.text(element, "name");
  std::string name;
  if (written && !written->empty()) {
    name = *written + suffix;
    if (!suffix.empty()) replicas[{kind, *written}].push_back(suffix);
    if (kind == Kind::body && name == kWorld) {
      xml.attribute_error(element, "name", "a body is named 'world'",
                          "rename it; 'world' is the body that never moves");
    }
    const auto [other, fresh] = names.try_emplace({kind, name}, xml.where(element));
    if (!fresh) {
      xml.attribute_error(element, "name",
                          fmt::format("{} name '{}' is used twice", kKindNames[static_cast<int>(kind)], name),
                          fmt::format("rename one; the other is at {}", to_string(other->second)));
    }
    return name;
  }
  int& counter = next_generated[{kind, generated_stem}];
  do {
    name = fmt::format("{}_{}", generated_stem, ++counter);
  } while (written_names.count(name) || exists(kind, name));
  names[{kind, name}] = xml.where(element);
  return name;
}

bool Reader::check_reference(Kind kind, const XmlElement* element, const char* attribute,
                             const std::string& name) {
  if (name.empty()) return false;  // said when it was read
  if (exists(kind, name) || (kind == Kind::body && name == kWorld)) return true;
  const char* word = kKindNames[static_cast<int>(kind)];
  xml.attribute_error(element, attribute, fmt::format("{} '{}' does not exist", word, name),
                      fmt::format("write the name of a {} in this file", word));
  return false;
}

std::vector<std::string> suffixes_of(Reader& reader, const XmlElement* element,
                                     std::initializer_list<std::pair<Kind, const char*>> references) {
  for (const auto& [kind, attribute] : references) {
    if (!reader.xml.has(element, attribute)) continue;
    const std::string name = *reader.xml.text(element, attribute);
    if (reader.exists(kind, name)) continue;
    const auto found = reader.replicas.find({kind, name});
    if (found == reader.replicas.end()) continue;
    if (!reader.xml.count(element, static_cast<int>(found->second.size()))) return {};
    return found->second;
  }
  return {""};
}

std::string resolved(const Reader& reader, Kind kind, const std::string& name, const std::string& suffix) {
  return !suffix.empty() && reader.exists(kind, name + suffix) ? name + suffix : name;
}

namespace {

void collect_names(XmlFiles& xml, const XmlElement* element, std::set<std::string>* names) {
  if (xml.has(element, "name")) names->insert(xml.peek(element, "name"));
  for (const XmlElement* child : xml.children(element)) collect_names(xml, child, names);
}

// Poses of the mocap bodies, one after the other; what is not written stays where the model has it.
void read_mocap_key(Reader& reader, const XmlElement* element, Keyframe* key) {
  XmlFiles& xml = reader.xml;
  std::vector<const Body*> bodies;
  for (const Body& body : reader.scene.bodies) {
    if (body.joints.size() == 1 && is_mocap(body.joints[0])) bodies.push_back(&body);
  }
  const auto read = [&](const char* name, std::size_t each) {
    std::vector<double> numbers = xml.numbers(element, name);
    if (numbers.empty() || numbers.size() == each * bodies.size()) return numbers;
    xml.attribute_error(element, name,
                        fmt::format("key '{}' has {} numbers in {}", key->name, numbers.size(), name),
                        fmt::format("write {} for each of {} mocap bodies", each, bodies.size()));
    return std::vector<double>();
  };
  const std::vector<double> mpos = read("mpos", 3), mquat = read("mquat", 4);
  if (mpos.empty() && mquat.empty()) return;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Pose& pose = bodies[i]->pose;
    const Vec3 p = mpos.empty() ? pose.position : Vec3(mpos[3 * i], mpos[3 * i + 1], mpos[3 * i + 2]);
    Vec4 quat = mquat.empty() ? pose.quat_wxyz
                              : Vec4(mquat[4 * i], mquat[4 * i + 1], mquat[4 * i + 2], mquat[4 * i + 3]);
    quat = quat.norm() < 1e-14 ? identity_quat() : Vec4(quat.normalized());
    key->q[bodies[i]->joints[0].name] = {p.x(), p.y(), p.z(), quat[0], quat[1], quat[2], quat[3]};
  }
}

// MuJoCo's qpos and qvel are in the order of the bodies; so is Scene::bodies here. Free and ball joints have
// their angular velocity in the axes of the moving body there and in those before the joint here.
void read_key(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  Keyframe key;
  key.where = xml.where(element);
  key.name = reader.claim_name(Kind::key, element, "", "key");
  key.time = xml.number(element, "time").value_or(0);
  const std::vector<double> qpos = xml.numbers(element, "qpos"), qvel = xml.numbers(element, "qvel"),
                            ctrl = xml.numbers(element, "ctrl");
  if (!reader.scene.rods.empty()) {
    xml.not_simulated(element, "of a file with rods is not supported; it is left out");
    return;
  }
  std::size_t nq = 0, nv = 0;
  for (const Body& body : reader.scene.bodies) {
    for (const Joint& joint : body.joints) {
      if (is_mocap(joint)) continue;
      nq += num_positions(joint.type);
      nv += num_velocities(joint.type);
    }
  }
  const auto right_size = [&](const char* name, std::size_t given, std::size_t expected) {
    if (given == 0 || given == expected) return given > 0;
    xml.attribute_error(element, name, fmt::format("key '{}' has {} numbers in {}", key.name, given, name),
                        fmt::format("write {}", expected));
    return false;
  };
  const bool has_q = right_size("qpos", qpos.size(), nq), has_v = right_size("qvel", qvel.size(), nv);
  std::size_t iq = 0, iv = 0;
  for (const Body& body : reader.scene.bodies) {
    for (const Joint& joint : body.joints) {
      if (is_mocap(joint)) continue;
      const int num_q = num_positions(joint.type), num_v = num_velocities(joint.type);
      Vec4 quat = joint.type == JointType::free ? body.pose.quat_wxyz : identity_quat();
      if (has_q) {
        std::vector<double> q(qpos.begin() + iq, qpos.begin() + iq + num_q);
        if (num_q >= 4) {
          Eigen::Map<Vec4> written(q.data() + num_q - 4);
          if (written.norm() < 1e-14) {
            xml.diagnostics()->warning(
                xml.where(element, "qpos"),
                fmt::format("key '{}' has a zero quaternion for joint '{}'; 1 0 0 0 is taken, as in MuJoCo",
                            key.name, joint.name),
                "write w x y z of the orientation");
            written = identity_quat();
          }
          written.normalize();
          quat = written;
        }
        key.q[joint.name] = q;
      }
      if (has_v) {
        std::vector<double> v(qvel.begin() + iv, qvel.begin() + iv + num_v);
        if (num_q >= 4) {
          Eigen::Map<Vec3> angular(v.data() + num_v - 3);
          angular = rotate(quat, angular);
        }
        key.v[joint.name] = v;
      }
      iq += num_q;
      iv += num_v;
    }
  }
  if (right_size("ctrl", ctrl.size(), reader.control_slots.size())) {
    for (std::size_t i = 0; i < ctrl.size(); ++i) {
      if (!reader.control_slots[i].empty()) key.control[reader.control_slots[i]] = ctrl[i];
    }
  }
  std::vector<std::string> active;  // actuators with an activation, in order
  for (const Actuator& actuator : reader.scene.actuators) {
    if (actuator.activation.type != ActivationType::none) active.push_back(actuator.name);
  }
  const std::vector<double> act = xml.numbers(element, "act");
  if (right_size("act", act.size(), active.size())) {
    for (std::size_t i = 0; i < act.size(); ++i) key.activation[active[i]] = act[i];
  }
  read_mocap_key(reader, element, &key);
  reader.scene.keyframes.push_back(std::move(key));
}

// Planes and height fields stand still also on mocap bodies, which MuJoCo moves.
void fix_mocap_with_planes(Reader& reader) {
  for (const ShapeInstance& shape : reader.scene.shapes) {
    if (!std::holds_alternative<HalfSpace>(shape.shape) && !std::holds_alternative<HeightField>(shape.shape))
      continue;
    for (Body& body : reader.scene.bodies) {
      if (body.name != shape.body || body.joints.size() != 1 || !is_mocap(body.joints[0])) continue;
      body.joints.clear();
      reader.xml.diagnostics()->not_understood(
          shape.where, fmt::format("mocap body '{}' carries a {}, which cannot move; it stays where it is",
                                   body.name, shape_name(shape.shape)));
    }
  }
}

// Planes and height fields have no bounds or no inside that could move; MuJoCo refuses them too.
void check_static_shapes(Reader& reader) {
  std::set<std::string> moving;
  for (const Body& body : reader.scene.bodies) {  // parents come first
    if (!body.joints.empty() || moving.count(body.parent)) moving.insert(body.name);
  }
  for (const ShapeInstance& shape : reader.scene.shapes) {
    if (!std::holds_alternative<HalfSpace>(shape.shape) && !std::holds_alternative<HeightField>(shape.shape))
      continue;
    if (!moving.count(shape.body)) continue;
    reader.xml.diagnostics()->error(shape.where,
                                    fmt::format("geom '{}', a {}, is on body '{}', which moves", shape.name,
                                                shape_name(shape.shape), shape.body),
                                    "use a box or a mesh, or put it on a body without joints");
  }
}

// What a file has of its own comes before what it attaches, as MuJoCo has it, though bodies are read first.
template <class T>
void move_to_end(std::size_t count, std::vector<T>* list) {
  std::rotate(list->begin(), list->begin() + static_cast<std::ptrdiff_t>(count), list->end());
}

void read_scene_file(Reader& reader, const XmlElement* root) {
  XmlFiles& xml = reader.xml;
  Scene& scene = reader.scene;
  scene.name = xml.text(root, "model").value_or(std::filesystem::path(scene.file).stem().string());
  scene.options.dt = 0.002;
  reader.classes["main"].name = "main";
  reader.world_pose[kWorld] = {};
  const auto sections = xml.children(root);
  for (const XmlElement* section : sections) collect_names(xml, section, &reader.written_names);
  const auto each = [&](const char* tag, auto&& read) {
    for (const XmlElement* section : sections) {
      if (XmlFiles::tag(section) == tag && !xml.exhausted()) read(section);
    }
  };
  const auto with_reader = [&](auto* read) {
    return [&reader, read](const XmlElement* section) { read(reader, section); };
  };
  each("compiler", with_reader(read_compiler));
  each("option", with_reader(read_option));
  each("default", with_reader(read_defaults));
  each("asset", with_reader(read_assets));
  each("deformable", with_reader(find_flex_rods));
  each("worldbody", [&](const XmlElement* section) {
    xml.accept(section);
    read_body_contents(reader, section, Scope{});
  });
  read_flexes(reader);
  const std::size_t attached[] = {scene.tendons.size(),        scene.actuators.size(),
                                  reader.control_slots.size(), scene.constraints.size(),
                                  scene.sensors.size(),        scene.keyframes.size()};
  each("contact", with_reader(read_contact));
  each("equality", with_reader(read_equality));
  each("tendon", with_reader(read_tendon));
  each("actuator", with_reader(read_actuators));
  each("sensor", with_reader(read_sensors));
  fix_mocap_with_planes(reader);
  move_to_end(attached[0], &scene.tendons);
  move_to_end(attached[1], &scene.actuators);
  move_to_end(attached[2], &reader.control_slots);
  move_to_end(attached[3], &scene.constraints);
  move_to_end(attached[4], &scene.sensors);
  for (std::size_t i = 0; i < scene.tendons.size(); ++i)
    reader.tendon_index[scene.tendons[i].name] = static_cast<int>(i);
  each("keyframe", [&](const XmlElement* section) {
    xml.accept(section);
    for (const XmlElement* child : xml.children(section, "key")) {
      xml.accept(child);
      read_key(reader, child);
    }
  });
  move_to_end(attached[5], &scene.keyframes);
  for (const char* tag : {"visual", "statistic", "custom", "size"}) {
    each(tag, [&](const XmlElement* section) { xml.accept_all(section); });
  }
  each("extension", [&](const XmlElement* section) {
    xml.accept(section);
    for (const XmlElement* plugin : xml.children(section, "plugin")) {
      if (xml.peek(plugin, "plugin") == "mujoco.elasticity.cable") {
        xml.accept_all(plugin);  // what it does is read with each cable
      } else {
        xml.not_simulated(plugin, "is not supported; it is left out");
      }
    }
  });
  check_static_shapes(reader);
  settle_masses(reader);
  if (reader.attach_depth == 0) {  // what is attached is settled with the whole
    settle_loads(reader);
    combine_materials(reader);
    settle_damping(reader);
  }
  xml.report_unread();
}

}  // namespace

bool read_model(Reader& reader, const std::string& path, const Source& referrer) {
  reader.scene.file = path;
  reader.xml.include_directory = std::filesystem::path(path).parent_path().string();
  const XmlElement* root = reader.xml.load(path, referrer);
  if (!root) return false;
  if (XmlFiles::tag(root) != "mujoco") {
    reader.xml.error(root, fmt::format("the root element is <{}>, not <mujoco>", XmlFiles::tag(root)),
                     "an MJCF file starts with <mujoco>");
    return false;
  }
  read_scene_file(reader, root);
  return true;
}

}  // namespace mjcf

Scene read_mjcf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits) {
  mjcf::Reader reader(diagnostics, limits);
  mjcf::read_model(reader, path, {path, 0});
  return std::move(reader.scene);
}

}  // namespace capstan
