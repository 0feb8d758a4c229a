// <attach model body prefix>: a body of another model with all that is below it, or without `body` all that
// stands on the other model's world, at the place of the element. Names get the prefix. Actuators, tendons,
// constraints, excludes, pairs and keys of the other model come along as far as they refer to nothing that
// stays behind. Its <compiler> and <default> hold for it alone; its <option> does not come along, which is
// told where it differs.
#include <fmt/core.h>

#include <filesystem>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"
#include "capstan/scene/compose.h"
#include "capstan/scene/rod.h"

namespace capstan::mjcf {

namespace {

constexpr char kUnnamed = '\n';      // begins the key of a <model> without a name
constexpr int kMaxAttachments = 16;  // a model that attaches itself would go on for ever

// The model of a file, read once however often it is attached. Null: it cannot be read.
Reader* read_once(Reader& reader, const XmlElement* element, Reader::AttachedModel* model) {
  if (model->is_read) return model->reader.get();
  model->is_read = true;
  if (reader.attach_depth >= kMaxAttachments) {
    reader.xml.error(element, fmt::format("models are attached to models more than {} deep", kMaxAttachments),
                     "a model cannot be attached to itself");
    return nullptr;
  }
  auto other = std::make_shared<Reader>(reader.xml.diagnostics(), reader.xml.limits());
  other->attach_depth = reader.attach_depth + 1;
  if (!read_model(*other, model->file, reader.xml.where(element))) return nullptr;
  const Options &ours = reader.scene.options, &theirs = other->scene.options;
  if (ours.gravity != theirs.gravity || ours.integrator != theirs.integrator) {
    reader.xml.warning(element,
                       fmt::format("<option> of the attached file '{}' differs and is not used", model->file),
                       "write it in the main file if it is meant");
  }
  model->reader = other;
  return other.get();
}

// A <model> without a name has the one that its file says in <mujoco model="...">, or the file's own.
Reader* attached_model(Reader& reader, const XmlElement* element, const std::string& name) {
  const auto known = reader.models.find(name);
  if (known != reader.models.end()) return read_once(reader, element, &known->second);
  for (auto& [key, model] : reader.models) {
    if (key[0] != kUnnamed) continue;
    Reader* other = read_once(reader, element, &model);
    if (other && other->scene.name == name) return other;
  }
  reader.xml.attribute_error(element, "model", fmt::format("model '{}' does not exist", name),
                             "define it with <model name=\"...\" file=\"...\"/> in <asset>");
  return nullptr;
}

struct Attachment {
  Reader& into;
  const Reader& from;
  const XmlElement* element;
  const Scope& scope;
  std::string prefix;
  std::set<std::string> bodies;  // of the other model, those that come along
  bool with_world = false;
  std::set<std::string> joints, shapes, sites, tendons, actuators;

  std::string rename(const std::string& name) const {
    return name.empty() ? name : prefix + name + scope.suffix;
  }
  std::string rename_body(const std::string& name) const {
    return name == kWorld ? scope.body : rename(name);
  }
  bool has_body(const std::string& name) const {
    return name == kWorld ? with_world : bodies.count(name) > 0;
  }

  // The new name, which must be free.
  std::string claim(Kind kind, const std::string& name) {
    const std::string renamed = rename(name);
    if (name.empty()) return name;
    const auto [other, fresh] = into.names.try_emplace({kind, renamed}, into.xml.where(element));
    if (!fresh) {
      into.xml.error(element, fmt::format("what is attached has the name '{}', which exists", renamed),
                     fmt::format("write another prefix; the other is at {}", to_string(other->second)));
    }
    if (!scope.suffix.empty()) into.replicas[{kind, prefix + name}].push_back(scope.suffix);
    return renamed;
  }

  void add_bodies(const std::string& root) {
    for (Body body : from.scene.bodies) {  // parents come first
      const bool is_root = root.empty() ? body.parent == kWorld : body.name == root;
      if (!is_root && !bodies.count(body.parent)) continue;
      bodies.insert(body.name);
      const int index = static_cast<int>(into.scene.bodies.size());
      if (is_root) {
        body.pose = to_pose(scope.frame * to_transform(body.pose));
        body.parent = scope.body;
      } else {
        body.parent = rename(body.parent);
      }
      body.name = claim(Kind::body, body.name);
      into.world_pose[body.name] = into.world_pose.at(body.parent) * to_transform(body.pose);
      for (Joint& joint : body.joints) {
        if (joint.type == JointType::free && body.parent != kWorld) {
          into.xml.error(element,
                         fmt::format("free joint '{}' is attached to body '{}'", joint.name, body.parent),
                         "a free joint needs a body directly in the world");
        }
        joints.insert(joint.name);
        const auto spring = from.spring_dampers.find(joint.name);
        joint.name = claim(Kind::joint, joint.name);
        if (spring != from.spring_dampers.end()) into.spring_dampers[joint.name] = spring->second;
        into.joint_index[joint.name] = {index, static_cast<int>(&joint - body.joints.data())};
      }
      into.scene.bodies.push_back(std::move(body));
    }
  }

  void add_shapes_and_sites() {
    std::map<std::string, int> material_index;
    for (std::size_t i = 0; i < from.scene.materials.size(); ++i)
      material_index[from.scene.materials[i].name] = static_cast<int>(i);
    const Pose X = to_pose(scope.frame);
    for (ShapeInstance shape : from.scene.shapes) {
      if (!has_body(shape.body)) continue;
      shapes.insert(shape.name);
      if (shape.body == kWorld) {
        shape.pose = compose(X, shape.pose);
        shape.has_mass = shape.has_mass && scope.body_index >= 0;
      }
      if (const auto m = material_index.find(shape.material); m != material_index.end())
        shape.material =
            find_or_add_material(into, from.scene.materials[m->second], from.contacts[m->second]);
      shape.body = rename_body(shape.body);
      shape.name = claim(Kind::geom, shape.name);
      if (into.compiler.contacts_disabled) shape.collides = false;
      into.shape_index[shape.name] = static_cast<int>(into.scene.shapes.size());
      into.scene.shapes.push_back(std::move(shape));
    }
    for (Site site : from.scene.sites) {
      if (!has_body(site.body)) continue;
      sites.insert(site.name);
      if (site.body == kWorld) site.pose = compose(X, site.pose);
      site.body = rename_body(site.body);
      site.name = claim(Kind::site, site.name);
      into.site_index[site.name] = static_cast<int>(into.scene.sites.size());
      into.scene.sites.push_back(std::move(site));
    }
  }

  void add_couplings() {
    for (Tendon tendon : from.scene.tendons) {
      bool whole = true;
      for (const Tendon::Term& term : tendon.terms) whole = whole && joints.count(term.joint);
      for (const TendonPoint& point : tendon.path) {
        const bool is_site = point.kind == TendonPoint::Kind::site;
        if (point.kind == TendonPoint::Kind::pulley) continue;
        whole = whole && (is_site ? sites.count(point.name) : shapes.count(point.name)) &&
                (point.side.empty() || sites.count(point.side));
      }
      if (!whole) continue;
      for (TendonPoint& point : tendon.path) {
        if (!point.name.empty()) point.name = rename(point.name);
        if (!point.side.empty()) point.side = rename(point.side);
      }
      tendons.insert(tendon.name);
      for (Tendon::Term& term : tendon.terms) term.joint = rename(term.joint);
      tendon.name = claim(Kind::tendon, tendon.name);
      into.tendon_index[tendon.name] = static_cast<int>(into.scene.tendons.size());
      into.scene.tendons.push_back(std::move(tendon));
    }
    for (const std::string& tendon : from.dropped_tendons) into.dropped_tendons.insert(rename(tendon));
    for (Actuator actuator : from.scene.actuators) {
      if (!joints.count(actuator.joint) && !tendons.count(actuator.tendon) && !sites.count(actuator.site))
        continue;
      actuators.insert(actuator.name);
      actuator.joint = rename(actuator.joint);
      actuator.tendon = rename(actuator.tendon);
      actuator.site = rename(actuator.site);
      actuator.name = claim(Kind::actuator, actuator.name);
      into.scene.actuators.push_back(std::move(actuator));
    }
    for (const std::string& slot : from.control_slots) {
      if (slot.empty() || actuators.count(slot)) into.control_slots.push_back(rename(slot));
    }
    for (Constraint constraint : from.scene.constraints) {
      const bool coupler = constraint.type == ConstraintType::coupler;
      const bool whole = coupler ? joints.count(constraint.joint_a) &&
                                       (constraint.joint_b.empty() || joints.count(constraint.joint_b))
                                 : has_body(constraint.body_a) && has_body(constraint.body_b);
      if (!whole) continue;
      const Pose X = to_pose(scope.frame);
      if (!coupler) {
        if (constraint.body_a == kWorld && constraint.pose_a)
          constraint.pose_a = compose(X, *constraint.pose_a);
        if (constraint.body_b == kWorld && constraint.pose_b)
          constraint.pose_b = compose(X, *constraint.pose_b);
        constraint.body_a = rename_body(constraint.body_a);
        constraint.body_b = rename_body(constraint.body_b);
      }
      constraint.joint_a = rename(constraint.joint_a);
      constraint.joint_b = rename(constraint.joint_b);
      constraint.name = claim(Kind::equality, constraint.name);
      into.scene.constraints.push_back(std::move(constraint));
    }
  }

  void add_filters() {
    for (CollisionExclude exclude : from.scene.excludes) {
      if (!has_body(exclude.body_a) || !has_body(exclude.body_b)) continue;
      exclude.body_a = rename_body(exclude.body_a);
      exclude.body_b = rename_body(exclude.body_b);
      into.scene.excludes.push_back(std::move(exclude));
    }
    for (PairOverride pair : from.scene.pairs) {
      if (pair.kind != PairOverride::Kind::shapes || !shapes.count(pair.a) || !shapes.count(pair.b)) continue;
      pair.a = rename(pair.a);
      pair.b = rename(pair.b);
      into.scene.pairs.push_back(std::move(pair));
    }
  }

  void add_sensors() {
    for (Sensor sensor : from.scene.sensors) {
      const auto comes = [](const auto& names, std::string Sensor::*name, const Sensor& of) {
        return (of.*name).empty() || names.count(of.*name) > 0;
      };
      const bool whole =
          comes(joints, &Sensor::joint, sensor) && comes(tendons, &Sensor::tendon, sensor) &&
          comes(actuators, &Sensor::actuator, sensor) && comes(sites, &Sensor::site, sensor) &&
          comes(sites, &Sensor::relative_site, sensor) && comes(shapes, &Sensor::shape, sensor) &&
          comes(shapes, &Sensor::other_shape, sensor) && comes(bodies, &Sensor::body, sensor) &&
          comes(bodies, &Sensor::relative_body, sensor) && comes(bodies, &Sensor::other_body, sensor);
      if (!whole) continue;
      for (std::string* name :
           {&sensor.joint, &sensor.tendon, &sensor.actuator, &sensor.site, &sensor.body, &sensor.shape,
            &sensor.relative_site, &sensor.relative_body, &sensor.other_body, &sensor.other_shape})
        *name = rename(*name);
      sensor.name = claim(Kind::sensor, sensor.name);
      into.scene.sensors.push_back(std::move(sensor));
    }
  }

  void add_keys() {
    for (const Keyframe& key : from.scene.keyframes) {
      Keyframe renamed;
      renamed.where = key.where;
      renamed.time = key.time;
      for (const auto& [joint, q] : key.q)
        if (joints.count(joint)) renamed.q[rename(joint)] = q;
      for (const auto& [joint, v] : key.v)
        if (joints.count(joint)) renamed.v[rename(joint)] = v;
      for (const auto& [actuator, u] : key.control)
        if (actuators.count(actuator)) renamed.control[rename(actuator)] = u;
      for (const auto& [actuator, a] : key.activation)
        if (actuators.count(actuator)) renamed.activation[rename(actuator)] = a;
      renamed.name = claim(Kind::key, key.name);
      into.scene.keyframes.push_back(std::move(renamed));
    }
  }
};

}  // namespace

void read_model_asset(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  xml.accept_attributes(element, {"content_type"});
  const std::string file = xml.required_text(element, "file");
  if (file.empty()) return;
  namespace fs = std::filesystem;
  std::string name = xml.text(element, "name").value_or("");
  if (name.empty()) name = kUnnamed + file;
  if (reader.models.count(name)) {
    xml.error(element, fmt::format("model '{}' is defined twice", name), "rename one of them");
    return;
  }
  reader.models[name].file = (fs::path(reader.xml.include_directory) / file).string();
}

void read_attach(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  if (!xml.has(element, "model")) {
    xml.not_simulated(element, "copies parts of its own file, which is not supported; it is left out");
    return;
  }
  xml.accept(element);
  const std::string model = xml.required_text(element, "model"),
                    body = xml.text(element, "body").value_or("");
  const std::string prefix = xml.text(element, "prefix").value_or("");
  if (model.empty()) return;
  Reader* other = attached_model(reader, element, model);
  if (!other) return;
  if (!body.empty() && !other->exists(Kind::body, body)) {
    xml.attribute_error(element, "body", fmt::format("model '{}' has no body '{}'", model, body),
                        "correct the name, or leave it out to attach the whole model");
    return;
  }
  if (!xml.count(element, static_cast<int>(num_elements(other->scene)))) return;
  if (!other->scene.rods.empty()) {
    xml.diagnostics()->not_understood(
        xml.where(element), fmt::format("the rods of model '{}' are not attached; they are left out", model),
        "write them in this file");
  }
  Attachment attachment{reader, *other, element, scope, prefix, {}, body.empty(), {}, {}, {}, {}, {}};
  attachment.add_bodies(body);
  attachment.add_shapes_and_sites();
  attachment.add_couplings();
  attachment.add_filters();
  attachment.add_sensors();
  if (scope.suffix.empty()) attachment.add_keys();
}

}  // namespace capstan::mjcf
