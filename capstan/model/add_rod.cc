#include "capstan/model/add_rod.h"

#include <fmt/core.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "capstan/model/model.h"

namespace capstan {

int add_rod(const std::string& name, std::shared_ptr<const Rod> rod, int material, Model* model) {
  const int object = add_object(name, rod, model);
  const RodSpec& spec = rod->spec();
  const RodSection& section = spec.section;
  const Vec3 half(0.5 * section.width, 0.5 * section.height, 0);
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
  }
  return object;
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
