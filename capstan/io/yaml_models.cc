// `models:` of YAML scenes: other files, placed, renamed and repeated.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "capstan/base/closest_name.h"
#include "capstan/io/scene_kind.h"
#include "capstan/io/yaml_parts.h"
#include "capstan/scene/compose.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

std::string canonical_path(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

// The model of a file, read once however often it is included. Null when it cannot be used.
std::shared_ptr<const Scene> load_model(YamlReader* reader, const std::string& path, const Source& where) {
  YamlSession& session = reader->session;
  Diagnostics* diagnostics = reader->source.diagnostics;
  const std::string canonical = canonical_path(path);
  const auto known = session.models.find(canonical);
  if (known != session.models.end()) return known->second;
  const auto open = std::find(session.open_files.begin(), session.open_files.end(), canonical);
  if (open != session.open_files.end()) {
    std::string chain;
    for (auto file = open; file != session.open_files.end(); ++file) {
      chain += fs::path(*file).filename().string() + " -> ";
    }
    diagnostics->error(where,
                       fmt::format("model file '{}' includes itself: {}{}", path, chain,
                                   fs::path(canonical).filename().string()),
                       "break the circle");
    return nullptr;
  }
  if (static_cast<int>(session.open_files.size()) >= session.limits.max_nesting) {
    diagnostics->error(where,
                       fmt::format("models are included more than {} deep", session.limits.max_nesting), "");
    return nullptr;
  }
  Diagnostics own;
  own.strict = diagnostics->strict;
  Scene scene;
  switch (find_scene_kind(path, where, session.limits, &own)) {
    case SceneKind::yaml:
      scene = read_yaml_file(path, &session, &own);
      break;
    case SceneKind::urdf:
      scene = read_urdf(path, &own, session.limits);
      break;
    case SceneKind::sdf:
      scene = read_sdf(path, &own, session.limits);
      break;
    case SceneKind::mjcf:
      scene = read_mjcf(path, &own, session.limits);
      break;
    case SceneKind::unknown:
      break;
  }
  diagnostics->list.insert(diagnostics->list.end(), own.list.begin(), own.list.end());
  auto model = own.ok() ? std::make_shared<const Scene>(std::move(scene)) : nullptr;
  session.models[canonical] = model;
  return model;
}

// --- repeat ----------------------------------------------------------------------------------------------

struct Repeat {
  std::vector<long> count;  // along one axis, or two or three
  Vec3 spacing = Vec3::Zero();
  std::string names;  // with {i}, {j}, {k}
};

constexpr const char* kIndexWords[] = {"{i}", "{j}", "{k}"};

bool read_repeat(YamlReader* reader, const YamlNode& node, const std::string& name, Repeat* repeat) {
  YamlFields fields(reader->source, node, "repeat of model '" + name + "'");
  if (node.kind != YamlNode::Kind::map) return false;
  const long most = reader->session.limits.max_repeat;
  const YamlNode* count = fields.find("count");
  std::vector<double> counts(1);
  bool ok = count != nullptr;
  if (!fields.has("count")) {
    fields.error(node, fields.what() + " has no count", "write 'count: 5', or 'count: [3, 2]' for a grid");
  }
  if (count && count->kind == YamlNode::Kind::list) {
    ok = read_numbers(reader->source, *count, fields.of("count"), 1, 3, kPositive, &counts);
  } else if (count) {
    ok = fields.number("count", counts.data(), kPositive);
  }
  double total = 1;
  for (const double c : counts) {
    total *= c;
    if (ok && c != std::floor(c)) {
      fields.error(*count, fmt::format("{} is {}", fields.of("count"), c), "write whole numbers");
      ok = false;
    }
  }
  if (ok && total > static_cast<double>(most)) {
    fields.error(*count, fmt::format("{} is {} in all, the limit is {}", fields.of("count"), total, most),
                 "repeat less, or raise the limit (ReadLimits::max_repeat)");
    ok = false;
  }
  if (!fields.vec3("spacing", &repeat->spacing) && !fields.has("spacing")) {
    fields.error(node, fields.what() + " has no spacing", "write 'spacing: [dx, dy, dz]' [m]");
  }
  if (ok) {
    for (const double c : counts) repeat->count.push_back(static_cast<long>(c));
  }
  if (fields.text("names", &repeat->names)) {
    for (size_t axis = 0; axis < repeat->count.size(); ++axis) {
      if (repeat->count[axis] > 1 && repeat->names.find(kIndexWords[axis]) == std::string::npos) {
        fields.error(
            *fields.find("names"),
            fmt::format("{} is '{}', without {}", fields.of("names"), repeat->names, kIndexWords[axis]),
            "the copies would have the same name");
        ok = false;
      }
    }
  } else {
    repeat->names = name;
    for (size_t axis = 0; axis < repeat->count.size(); ++axis)
      repeat->names += std::string("_") + kIndexWords[axis];
  }
  fields.done();
  return ok;
}

std::string instance_name(std::string pattern, const std::array<long, 3>& index) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string word = kIndexWords[axis], number = std::to_string(index[axis]);
    for (size_t at = 0; (at = pattern.find(word, at)) != std::string::npos; at += number.size()) {
      pattern.replace(at, word.size(), number);
    }
  }
  return pattern;
}

// --- One model -------------------------------------------------------------------------------------------

// How the model's roots are attached, when the scene says so.
void read_root_joint(YamlReader* reader, YamlFields* fields, const Scene& model, Instance* instance) {
  const YamlNode* node = fields->find("joint");
  if (!node) return;
  Keyframe start;
  Joint joint = read_joint(reader, *node, "", &start);
  long roots = 0;
  for (const Body& body : model.bodies) roots += body.parent == kWorld;
  if (!start.q.empty() || !start.v.empty()) {
    fields->error(*node, fmt::format("the joint of {} has a starting value", fields->what()),
                  "place the model by its pose, or name the joint under 'initial' at the top of this file");
  }
  if (roots > 1 && !joint.name.empty()) {
    fields->error(
        *node,
        fmt::format("the joint of {} has a name, but the model has {} root bodies", fields->what(), roots),
        "leave the name out: each joint is then named after its body");
  }
  const bool world_shapes = std::any_of(model.shapes.begin(), model.shapes.end(),
                                        [](const ShapeInstance& shape) { return shape.body == kWorld; });
  if (joint.type != JointType::weld && (roots == 0 || world_shapes)) {
    reader->source.diagnostics->warning(
        reader->source.at(*node),
        fmt::format("the joint of {} moves {}", fields->what(),
                    roots == 0 ? "nothing: the model has no bodies"
                               : "its bodies, but not the shapes that the model has on its world"),
        "give the model a root body that holds them");
  }
  instance->root_joint = std::move(joint);
}

// The model with the start that the scene asks for; the same one when it asks for none.
std::shared_ptr<const Scene> with_start(YamlFields* fields, std::shared_ptr<const Scene> model) {
  std::string keyframe;
  const bool from_keyframe = fields->text("keyframe", &keyframe);
  const YamlNode* initial = fields->find("initial");
  if (!from_keyframe && !initial) return model;
  auto changed = std::make_shared<Scene>(*model);
  if (from_keyframe) {
    std::vector<std::string> names;
    for (const Keyframe& key : model->keyframes) names.push_back(key.name);
    const auto found = std::find(names.begin(), names.end(), keyframe);
    if (found == names.end()) {
      fields->error(
          *fields->find("keyframe"),
          fmt::format("{} is '{}', which the model does not have", fields->of("keyframe"), keyframe),
          did_you_mean(keyframe, names, fmt::format("the model has {} keyframes", names.size())));
    } else {
      changed->initial = model->keyframes[static_cast<size_t>(found - names.begin())];
    }
  }
  if (initial) {
    YamlFields inner(fields->source(), *initial, fields->of("initial"));
    read_state(&inner, *model, &changed->initial);
    inner.done();
  }
  return changed;
}

bool read_model(YamlReader* reader, const YamlNode& node) {
  YamlFields fields(reader->source, node, "a model");
  if (node.kind != YamlNode::Kind::map) return false;
  std::string file;
  if (!fields.text("file", &file)) {
    if (!fields.has("file")) fields.error(node, "a model has no file", "write 'file: arm.xml'");
    return false;
  }
  Instance instance;
  instance.name = fs::path(file).stem().string();
  fields.text("name", &instance.name);
  fields.rename(fmt::format("model '{}'", instance.name));
  instance.materials_name = instance.name;
  read_pose(&fields, &instance.pose);
  if (fields.text("parent", &instance.parent)) {
    reader->model_parents.emplace_back(instance.parent, fields.where("parent"));
  }
  fields.flag("use_options", &instance.use_options);

  Repeat repeat;
  const YamlNode* repeat_node = fields.find("repeat");
  bool ok = !repeat_node || read_repeat(reader, *repeat_node, instance.name, &repeat);
  if (repeat_node && instance.name.empty()) {
    fields.error(*repeat_node, "a model without a name is repeated",
                 "write a name; the copies get its number");
    ok = false;
  }
  std::shared_ptr<const Scene> model = load_model(reader, reader->beside(file), fields.where("file"));
  if (model) {
    read_root_joint(reader, &fields, *model, &instance);
    model = with_start(&fields, model);
  } else {
    for (const char* key : {"joint", "keyframe", "initial"}) fields.has(key);
  }
  fields.done();
  if (!model || !ok) return instance.use_options;

  if (!repeat_node) repeat.count = {1};
  std::array<long, 3> n = {1, 1, 1};
  for (size_t axis = 0; axis < repeat.count.size(); ++axis) n[axis] = repeat.count[axis];
  const long most = reader->session.limits.max_elements;
  if (num_elements(reader->scene) + n[0] * n[1] * n[2] * num_elements(*model) > most) {
    fields.error(node, fmt::format("{} brings the scene to more than {} elements", fields.what(), most),
                 "repeat less, or raise the limit (ReadLimits::max_elements)");
    return instance.use_options;
  }
  const Vec3 start = instance.pose.position;
  for (long i = 0; i < n[0]; ++i) {
    for (long j = 0; j < n[1]; ++j) {
      for (long k = 0; k < n[2]; ++k) {
        const Vec3 steps(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        // One count: steps of the whole spacing. A grid: each count along its own axis.
        instance.pose.position = start + (repeat.count.size() == 1 ? Vec3(steps.x() * repeat.spacing)
                                                                   : steps.cwiseProduct(repeat.spacing));
        if (repeat_node) instance.name = instance_name(repeat.names, {i, j, k});
        const auto [same, added] = reader->model_lines.try_emplace(instance.name, node.line);
        if (!added && !instance.name.empty()) {
          fields.error(node, fmt::format("a model named '{}' is placed a second time", instance.name),
                       fmt::format("the first is at line {}; give this one another name", same->second));
          return instance.use_options;
        }
        append(&reader->scene, *model, instance);
      }
    }
  }
  return instance.use_options;
}

}  // namespace

void read_models(YamlReader* reader, YamlFields* root) {
  int num_options = 0;
  root->each("models", [&](const YamlNode& node) {
    num_options += read_model(reader, node);
    if (num_options == 2) {
      root->error(node, "a second model says use_options", "options can come from one model only");
    }
  });
}

void check_model_parents(const YamlReader& reader) {
  if (reader.model_parents.empty()) return;
  std::vector<std::string> names = {kWorld};
  for (const Body& body : reader.scene.bodies) names.push_back(body.name);
  const std::set<std::string> known(names.begin(), names.end());
  for (const auto& [parent, where] : reader.model_parents) {
    if (known.count(parent)) continue;
    reader.source.diagnostics->error(where,
                                     fmt::format("a model is attached to the unknown body '{}'", parent),
                                     did_you_mean(parent, names, "write the name of a body of this scene"));
  }
}

}  // namespace capstan
