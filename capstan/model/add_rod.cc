#include "capstan/model/add_rod.h"

#include <fmt/core.h>

#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "capstan/geometry/pressure_field.h"
#include "capstan/model/model.h"

namespace capstan {
namespace {

constexpr int kPointsOfRound = 4, kPointsOfFlat = 8;                // of the patch of an edge, at most
constexpr const char *kNatural = ".natural", *kLength = ".length";  // actuators of a rod

std::vector<ModelKeyframe*> keyframes_of(Model* model) {
  std::vector<ModelKeyframe*> list = {&model->initial};
  for (ModelKeyframe& keyframe : model->keyframes) list.push_back(&keyframe);
  return list;
}

}  // namespace

bool asks_for_patches(const RodSpec& spec, const Material& material) {
  return spec.contact.value_or(material.contact) == ContactModel::patch;
}

bool has_patches(const RodSpec& spec, int material, const Model& model) {
  return spec.collides && material >= 0 && material < static_cast<int>(model.materials.size()) &&
         spec.section.type != RodSectionType::ellipse && asks_for_patches(spec, model.materials[material]);
}

int add_rod(const std::string& name, std::shared_ptr<const Rod> rod, int material, Model* model) {
  const int object = add_object(name, rod, model);
  const RodSpec& spec = rod->spec();
  const RodSection& section = spec.section;
  const Vec3 half(0.5 * section.width, 0.5 * section.height, 0);
  const bool is_patch = has_patches(spec, material, *model);
  model->objects[object].flexible_begin = static_cast<int>(model->flexible_shapes.size());
  for (int i = 0; i < rod->num_edges(); ++i) {
    const double half_length = 0.5 * rod->rest_length(i);
    ShapeInstance shape;
    shape.name = fmt::format("{}/{}", name, i);
    shape.collides = spec.collides;
    shape.group_bits = spec.group_bits;
    shape.mask_bits = spec.mask_bits;
    shape.margin = spec.margin;
    shape.rgba = spec.rgba;
    if (section.type == RodSectionType::circle) {
      shape.shape = Capsule{half.x(), half_length};
    } else if (section.type == RodSectionType::rectangle) {
      shape.shape = Box{half + Vec3(0, 0, half_length)};
    } else {
      auto mesh = std::make_shared<TriangleMesh>();
      constexpr int kSides = 16;
      for (int k = 0; k < kSides; ++k) {
        const double angle = 2 * std::numbers::pi * k / kSides, x = half.x() * std::cos(angle),
                     y = half.y() * std::sin(angle);
        mesh->vertices.push_back({x, y, -half_length});
        mesh->vertices.push_back({x, y, half_length});
        const int a = 2 * k, b = 2 * ((k + 1) % kSides);
        mesh->triangles.push_back({a, b, b + 1});
        mesh->triangles.push_back({a, b + 1, a + 1});
        if (k < 2) continue;
        mesh->triangles.push_back({0, a, a - 2});
        mesh->triangles.push_back({1, a - 1, a + 1});
      }
      shape.shape = ConvexMesh{mesh};
    }
    add_carrier_shape(object, i, shape, material, model);
    if (spec.collides && !is_patch && section.type != RodSectionType::ellipse) {
      model->shapes.back().flexible = static_cast<int>(model->flexible_shapes.size());
      model->flexible_shapes.push_back(static_cast<int>(model->shapes.size()) - 1);
    }
    if (!is_patch) continue;
    ModelShape& added = model->shapes.back();
    added.field = make_segment_field(shape.shape);
    added.modulus = model->materials[material].elastic_modulus;
    added.patch_points = section.type == RodSectionType::circle ? kPointsOfRound : kPointsOfFlat;
  }
  model->objects[object].flexible_end = static_cast<int>(model->flexible_shapes.size());
  if (spec.actuated) {
    const double most = rod->most_natural_factor();
    const auto add = [&](const char* what, Range range) {
      ModelActuator actuator;
      actuator.name = name + what;
      actuator.control_range = range;
      actuator.control = 1;
      model->actuators.push_back(actuator);
      for (ModelKeyframe* keyframe : keyframes_of(model)) {
        keyframe->control.conservativeResize(keyframe->control.size() + 1);
        keyframe->control[keyframe->control.size() - 1] = 1;
      }
    };
    add(kNatural, {-most, most});
    add(kLength, {1e-3, kInfinity});
  }
  return object;
}

void apply_rod_controls(const Model& model, const VecX& control, VecX* q) {
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    const Object& object = model.objects[i];
    const auto* rod = dynamic_cast<const Rod*>(object.physics.get());
    if (rod == nullptr || !rod->spec().actuated) continue;
    const std::string_view first = model.bodies[model.links[object.link_begin].body].name;
    const std::string_view name = first.substr(0, first.size() - 2);  // without "/0"
    double factors[2] = {1, 1};
    for (std::size_t a = 0; a < model.actuators.size(); ++a) {
      const std::string_view actuator = model.actuators[a].name;
      if (!actuator.starts_with(name)) continue;
      if (actuator.substr(name.size()) == kNatural) factors[0] = control[static_cast<int>(a)];
      if (actuator.substr(name.size()) == kLength) factors[1] = control[static_cast<int>(a)];
    }
    rod->set_factors(factors[0], factors[1], q->segment(object.q_begin, object.num_positions()));
  }
}

std::vector<int> find_rods(const Model& model) {
  std::vector<int> rods;
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    if (dynamic_cast<const Rod*>(model.objects[i].physics.get()) != nullptr) rods.push_back(i);
  }
  return rods;
}

const Rod& rod_of(const Model& model, int object) {
  return dynamic_cast<const Rod&>(*model.objects[object].physics);
}

std::string rod_name(const Model& model, int object) {
  const std::string& first = model.bodies[model.links[model.objects[object].link_begin].body].name;
  return first.substr(0, first.size() - 2);  // without "/0"
}

}  // namespace capstan
