// The top of a YAML scene file.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "capstan/io/file.h"
#include "capstan/io/yaml_parts.h"
#include "capstan/scene/compose.h"

namespace capstan {
namespace {

constexpr int kMostIterations = 1'000'000;

void read_options(YamlFields* root, Options* options) {
  const YamlNode* node = root->find("options");
  if (!node) return;
  YamlFields fields(root->source(), *node, "options");
  fields.vec3("gravity", &options->gravity);
  fields.vec3("magnetic_field", &options->magnetic_field);
  fields.number("fluid_density", &options->fluid_density, kNotNegative);
  fields.number("fluid_viscosity", &options->fluid_viscosity, kNotNegative);
  fields.vec3("wind", &options->wind);
  fields.number("dt", &options->dt, kPositive);
  int integrator = 0;
  if (fields.choice("integrator",
                    {"explicit_euler", "symplectic_euler", "semi_implicit", "implicit_euler", "midpoint"},
                    &integrator)) {
    options->integrator = static_cast<Integrator>(integrator);
  }
  int law = 0;
  ContactOptions& contact = options->contact;
  if (fields.choice("contact_law", {kContactLawNames.begin(), kContactLawNames.end()}, &law)) {
    contact.law = static_cast<ContactLaw>(law);
  }
  if (fields.choice("normal_law", {kNormalLawNames.begin(), kNormalLawNames.end()}, &law)) {
    contact.normal_law = static_cast<NormalLaw>(law);
  }
  fields.number("sigma", &contact.sigma, kPositive);
  fields.number("beta", &contact.beta, kPositive);
  fields.number("constraint_beta", &contact.constraint_beta, kPositive);
  fields.number("recovery_speed", &contact.recovery_speed, kPositiveOrInfinite);
  fields.number("tolerance", &options->tolerance, kPositive);
  fields.number("duration", &options->duration, kPositive);
  double most = options->max_iterations;
  if (fields.number("max_iterations", &most, kPositive)) {
    if (most < 1 || most > kMostIterations || most != std::floor(most)) {
      fields.error(*fields.find("max_iterations"), fmt::format("max_iterations is {:g}", most),
                   fmt::format("write a whole number from 1 to {}", kMostIterations));
    } else {
      options->max_iterations = static_cast<int>(most);
    }
  }
  fields.flag("sleep", &options->sleep.on);
  fields.number("sleep_speed", &options->sleep.speed, kPositive);
  fields.number("sleep_time", &options->sleep.time, kPositive);
  fields.flag("conserve_momentum", &options->conserve_momentum);
  fields.flag("follow_paths", &options->follow_paths);
  fields.flag("collide_parent_child", &options->collide_parent_child);
  fields.flag("balance_inertia", &options->balance_inertia);
  fields.done();
  if (!(options->fluid_density > 0) && !(options->fluid_viscosity > 0))
    fields.no_effect("wind", "there is no fluid", "write fluid_density or fluid_viscosity");
  const std::string name = traits(contact.law).name;
  if (traits(contact.law).has_own_normal_law) {
    fields.no_effect("normal_law", "contact_law " + name + " has its own, kelvin_voigt",
                     "remove it, or take another law");
  }
  if (!traits(contact.law).has_sigma) {
    fields.no_effect("sigma", "contact_law " + name + " has stiction_tolerance only",
                     "set stiction_tolerance of the materials, or take contact_law regularized_lagged");
  }
  if (!options->sleep.on) {
    for (const char* key : {"sleep_speed", "sleep_time"}) {
      fields.no_effect(key, "nothing sleeps", "write 'sleep: true', or remove it");
    }
  }
}

bool check_version(YamlFields* root) {
  const YamlNode* node = root->find("capstan");
  if (!node) {
    if (!root->has("capstan")) {
      root->error(root->node(), "the file does not say that it is a Capstan scene",
                  "begin it with 'capstan: 1'");
    }
    return false;
  }
  if (node->kind == YamlNode::Kind::scalar && node->text == "1") return true;
  root->error(*node, fmt::format("the version of the scene format is {}", describe(*node)),
              "this Capstan reads 'capstan: 1'");
  return false;
}

// `path` is where the text came from, and where relative paths in it start.
Scene read_text(const std::string& text, const std::string& path, YamlSession* session,
                Diagnostics* diagnostics) {
  Scene scene;
  scene.file = path;
  scene.name = std::filesystem::path(path).stem().string();
  const std::shared_ptr<const YamlNode> tree = parse_yaml(text, path, session->limits, diagnostics);
  if (!tree) return scene;

  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  session->open_files.push_back(error ? path : canonical.string());
  YamlReader reader{{path, diagnostics}, *session, scene, {}, {}, {}, {}, {}};
  YamlFields root(reader.source, *tree, "the scene");
  if (tree->kind == YamlNode::Kind::map && check_version(&root)) {
    root.text("name", &scene.name);
    root.find("extra");  // for other programs: known, and not looked into
    read_models(&reader, &root);
    read_options(&root, &scene.options);  // after the models: what this file says wins
    read_materials(&reader, &root);
    int number = 0;
    root.each("bodies", [&](const YamlNode& node) {
      read_body(&reader, node, nullptr, fmt::format("body {} of the scene", ++number));
    });
    root.each("shapes", [&](const YamlNode& node) { read_shape(&reader, node, nullptr); });
    read_rods(&reader, &root);
    read_soft_bodies(&reader, &root);
    root.each("sites", [&](const YamlNode& node) { read_site(&reader, node, nullptr); });
    check_model_parents(reader);
    read_couplings(&reader, &root);
    read_keyframes(&reader, &root);
    read_controls(&reader, &root);
    root.done();
    if (session->open_files.size() == 1)
      tell_without_effect(reader);  // a scene around it may drive its joints
    if (num_elements(scene) > session->limits.max_elements) {
      diagnostics->error({path, 0},
                         fmt::format("the scene has {} elements, the limit is {}", num_elements(scene),
                                     session->limits.max_elements),
                         "make it smaller, or raise the limit (ReadLimits::max_elements)");
    }
  }
  session->open_files.pop_back();
  return scene;
}

}  // namespace

Scene read_yaml_file(const std::string& path, YamlSession* session, Diagnostics* diagnostics) {
  std::string text;
  if (read_file(path, session->limits.max_file_bytes, "scene", {path, 0}, &text, diagnostics)) {
    return read_text(text, path, session, diagnostics);
  }
  Scene scene;
  scene.file = path;
  scene.name = std::filesystem::path(path).stem().string();
  return scene;
}

Scene read_yaml_text(const std::string& text,
                     const std::map<std::string, std::shared_ptr<const TriangleMesh>>& meshes,
                     Diagnostics* diagnostics, const ReadLimits& limits) {
  YamlSession session{limits, {}, {}, {}};
  for (const auto& [name, mesh] : meshes) session.meshes[{name, 1, 1, 1}] = mesh;
  return read_text(text, "", &session, diagnostics);
}

Scene read_yaml(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits) {
  YamlSession session{limits, {}, {}, {}};
  return read_yaml_file(path, &session, diagnostics);
}

}  // namespace capstan
