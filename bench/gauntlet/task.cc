#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/gauntlet/gauntlet.h"
#include "capstan/io/file.h"
#include "capstan/io/read.h"
#include "capstan/io/yaml_fields.h"
#include "capstan/model/inertia.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan::gauntlet {

const std::vector<std::string> kQuantities = {
    "x",     "y",       "z",      "vx",           "vy",
    "vz",    "speed",   "wx",     "wy",           "wz",
    "spin",  "tilt",    "turn",   "displacement", "azimuth",
    "gap",   "kinetic", "energy", "momentum",     "angular_momentum",
    "tilted"};
const std::vector<std::string> kReductions = {
    "end", "max", "min", "mean", "change", "largest_change", "time_above", "time_below"};
const std::vector<std::string> kGroups = {
    "free motion", "rest", "sliding and rolling", "impact", "no ghosts", "no tunneling", "grasp",
    "mechanisms",  "rods", "soft bodies",         "patches"};

std::string Measure::unit() const {
  if (over == "time_above" || over == "time_below") return "s";
  if (quantity == "vx" || quantity == "vy" || quantity == "vz" || quantity == "speed") return "m/s";
  if (quantity[0] == 'w' || quantity == "spin") return "rad/s";
  if (quantity == "tilt" || quantity == "turn" || quantity == "azimuth") return "rad";
  if (quantity == "kinetic" || quantity == "energy") return "J";
  if (quantity == "momentum") return "N s";
  if (quantity == "angular_momentum") return "N m s";
  if (quantity == "tilted") return "bodies";
  return "m";
}

Inertia Task::inertia(std::size_t i) const {
  if (i >= scene.bodies.size()) {
    Inertia whole;
    const Probe& probe = probes[i - scene.bodies.size()];
    if (!probe.start) whole.mass = flexible_mass(scene, probe.object);
    return whole;
  }
  const Body& body = scene.bodies[i];
  if (body.inertia) return *body.inertia;
  Inertia sum;
  for (const ShapeInstance& shape : scene.shapes) {
    if (shape.body == body.name && shape.has_mass) add_inertia(shape_inertia(shape), Transform{}, &sum);
  }
  return sum;
}

const KnownFailure* Task::known_failure(const std::string& law, const std::string& integrator,
                                        double dt) const {
  for (const KnownFailure& known : known_failures) {
    const bool has_law = std::find(known.laws.begin(), known.laws.end(), law) != known.laws.end();
    for (const double step : known.steps) {
      if (has_law && known.integrator == integrator && std::abs(step - dt) < 1e-9) return &known;
    }
  }
  return nullptr;
}

namespace {

template <class List>
bool has_name(const List& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& x) { return x.name == name; });
}

void read_probes(YamlFields* parent, const Scene& scene, std::vector<Probe>* list) {
  parent->each("probes", [&](const YamlNode& node) {
    YamlFields fields(parent->source(), node, "a probe");
    Probe probe;
    fields.text("name", &probe.name);
    fields.text("of", &probe.object);
    Vec3 start;
    if (fields.vec3("at", &start)) probe.start = start;
    if (probe.name.empty() || has_name(scene.bodies, probe.name) || has_name(*list, probe.name))
      fields.error(node, "a probe needs a 'name' that nothing else has");
    if (!has_name(scene.rods, probe.object) && !has_name(scene.soft_bodies, probe.object))
      fields.error(node, fmt::format("there is no rod or soft body '{}' in the scene", probe.object),
                   "write 'of: NAME' with one that there is");
    fields.done();
    list->push_back(probe);
  });
}

void read_measure(YamlFields* parent, const Scene& scene, const std::vector<Probe>& probes,
                  Measure* measure) {
  const YamlNode* node = parent->find("measure");
  if (!node) return;
  YamlFields fields(parent->source(), *node, "the measure");
  int choice = 0;
  if (fields.choice("quantity", kQuantities, &choice)) measure->quantity = kQuantities[choice];
  if (fields.choice("over", kReductions, &choice)) measure->over = kReductions[choice];
  for (auto [key, name] : {std::pair{"body", &measure->body}, {"relative_to", &measure->relative_to}}) {
    if (fields.text(key, name) && !has_name(scene.bodies, *name) && !has_name(probes, *name))
      fields.error(*node, fmt::format("there is no body '{}' in the scene", *name));
  }
  fields.text("bodies", &measure->bodies);
  fields.vec3("point", &measure->point);
  fields.direction("axis", &measure->axis);
  fields.number("value", &measure->value);
  long nth = 1;
  if (fields.integer("nth", 1, 1000000, &nth)) measure->nth = static_cast<int>(nth);
  fields.number("from", &measure->from, kNotNegative);
  fields.number("to", &measure->to, kPositive);
  if (measure->quantity.empty() || measure->over.empty())
    fields.error(*node, "a measure needs 'quantity' and 'over'");
  static const std::vector<std::string> whole = {"kinetic", "energy", "momentum", "angular_momentum",
                                                 "tilted"};
  const bool is_whole = std::find(whole.begin(), whole.end(), measure->quantity) != whole.end();
  if (measure->body.empty() && !is_whole) fields.error(*node, "a measure of a body needs 'body'");
  if (!measure->body.empty() && is_whole)
    fields.error(*node, fmt::format("'{}' is of all bodies together", measure->quantity), "remove 'body'");
  static const std::vector<std::string> of_points = {
      "x", "y", "z", "vx", "vy", "vz", "speed", "displacement", "azimuth", "gap"};
  if (has_name(probes, measure->body) &&
      (std::find(of_points.begin(), of_points.end(), measure->quantity) == of_points.end() ||
       measure->point != Vec3::Zero()))
    fields.error(*node, "a probe is a point: it has neither axes nor points");
  if ((measure->quantity == "kinetic" || measure->quantity == "energy") &&
      !(scene.rods.empty() && scene.soft_bodies.empty()))
    fields.error(*node, "the energy of rods and soft bodies is not measured");
  if (measure->quantity == "gap" && measure->relative_to.empty())
    fields.error(*node, "a gap needs 'relative_to'");
  fields.done();
}

void read_known_failures(YamlFields* parent, std::vector<KnownFailure>* list) {
  parent->each("known_failures", [&](const YamlNode& node) {
    YamlFields fields(parent->source(), node, "a known failure");
    KnownFailure known;
    fields.each("laws", [&](const YamlNode& law) {
      std::string name;
      if (read_text(parent->source(), law, "a law", &name)) known.laws.push_back(name);
    });
    if (const YamlNode* steps = fields.find("dt"))
      read_numbers(parent->source(), *steps, "dt of a known failure", 1, 100, kPositive, &known.steps);
    fields.text("integrator", &known.integrator);
    fields.text("why", &known.why);
    if (known.laws.empty() || known.steps.empty() || known.why.empty())
      fields.error(node, "a known failure needs 'laws', 'dt' and 'why'");
    fields.done();
    list->push_back(known);
  });
}

}  // namespace

Task read_task(const std::string& path, Diagnostics* diagnostics) {
  Task task;
  task.name = std::filesystem::path(path).stem().string();
  task.scene = read_scene(path, diagnostics);
  std::string text;
  if (!read_file(path, ReadLimits{}.max_file_bytes, "scene", {path, 0}, &text, diagnostics)) return task;
  Diagnostics told_already;
  const auto tree = parse_yaml(text, path, ReadLimits{}, &told_already);
  if (!tree) return task;
  const YamlSource source{path, diagnostics};
  YamlFields root(source, *tree, "the scene");
  const YamlNode* extra = root.find("extra");
  if (!extra) {
    diagnostics->error({path, 0}, "the scene has no task", "write 'extra: {title: ..., measure: ..., ...}'");
    return task;
  }
  YamlFields fields(source, *extra, "the task");
  for (auto [key, value] : {std::pair{"title", &task.title}, {"shows", &task.shows}, {"why", &task.why}}) {
    fields.text(key, value);
    if (value->empty()) fields.error(*extra, fmt::format("the task has no '{}'", key));
  }
  int group = 0;
  if (fields.choice("group", kGroups, &group)) task.group = kGroups[group];
  if (task.group.empty()) fields.error(*extra, "the task has no 'group'");
  read_probes(&fields, task.scene, &task.probes);
  read_measure(&fields, task.scene, task.probes, &task.measure);
  if (!fields.has("measure")) fields.error(*extra, "the task has no 'measure'");
  if (!fields.number("answer", &task.answer)) fields.error(*extra, "the task has no 'answer'");
  if (!fields.number("tolerance", &task.tolerance, kPositive))
    fields.error(*extra, "the task has no 'tolerance'");
  read_known_failures(&fields, &task.known_failures);
  fields.done();
  return task;
}

Task read_task(const std::string& path) {
  Diagnostics diagnostics;
  Task task = read_task(path, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return task;
}

std::string task_folder() {
  return CAPSTAN_SOURCE_DIR "/bench/gauntlet/scenes";
}

std::vector<std::string> task_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(task_folder(), error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace capstan::gauntlet
