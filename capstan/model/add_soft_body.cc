#include "capstan/model/add_soft_body.h"

#include <fmt/core.h>

#include "capstan/model/model.h"

namespace capstan {
namespace {

constexpr double kTimesStiffer = 1000;  // than the body itself

// [N/m^3] of all the surface.
double stiffness_by_area(const SoftBody& body, const Material& material, double mass) {
  const double face = body.surface_area() / 6;
  if (material.stiffness_per_kilogram > 0) return material.stiffness_per_kilogram * mass / face;
  if (material.stiffness) return *material.stiffness / face;
  return kTimesStiffer * body.spec().young_modulus / body.size();
}

}  // namespace

int add_soft_body(const std::string& name, std::shared_ptr<const SoftBody> body, int material, Model* model) {
  const int id = add_object(name, body, model);
  const SoftBodySpec& spec = body->spec();
  ShapeInstance shape;
  shape.collides = spec.collides;
  shape.group_bits = spec.group_bits;
  shape.mask_bits = spec.mask_bits;
  shape.margin = spec.margin;
  shape.rgba = spec.rgba;
  Object& object = model->objects[id];
  const VecX q = model->initial.q.segment(object.q_begin, object.num_positions());
  Vec3 moment;
  double per_area = 0;
  const auto finish = [&](SurfacePart part, double area) {
    ModelShape& added = model->shapes.back();
    if (per_area == 0)
      per_area = stiffness_by_area(*body, model->materials[material], body->calc_mass(q, &moment));
    added.part = part;
    added.collider.solid = id;
    added.stiffness = per_area * area;
  };
  const auto bends = [&](const Collider& collider) {
    ModelShape& added = model->shapes.back();
    added.collides = spec.collides;
    if (!spec.collides) return;
    added.collider = collider;
    added.collider.solid = id;
    added.flexible = static_cast<int>(model->flexible_shapes.size());
    model->flexible_shapes.push_back(static_cast<int>(model->shapes.size()) - 1);
  };
  shape.shape = Sphere{kVertexRadius * body->mean_edge()};
  const int vertices = body->num_carried();
  for (int l = object.link_begin; l < object.link_end; ++l)
    model->bodies[model->links[l].body].name =
        fmt::format("{}/{}", name, body->carrier_name(l - object.link_begin));
  for (int i = 0; i < vertices; ++i) {
    if (!body->is_on_surface(body->carried(i))) continue;
    shape.name = fmt::format("{}/{}", name, body->carrier_name(i));
    add_carrier_shape(id, i, shape, material, model);
    finish(SurfacePart::vertex, body->node_area(body->carried(i)));
  }
  object.flexible_begin = static_cast<int>(model->flexible_shapes.size());
  shape.collides = false;  // its collider is not made from its shape
  for (int t = 0; t < static_cast<int>(body->triangles().size()); ++t) {
    Collider collider;
    body->bend(q, vertices + t, &collider);
    auto mesh = std::make_shared<TriangleMesh>();
    mesh->vertices.assign(collider.vertex.begin(), collider.vertex.end());
    mesh->triangles.push_back({0, 1, 2});
    shape.shape = SurfaceMesh{mesh};
    shape.name = fmt::format("{}/{}", name, body->carrier_name(vertices + t));
    add_carrier_shape(id, vertices + t, shape, material, model);
    finish(SurfacePart::triangle, body->triangle_area(t) / 3);  // it touches in three points where it is flat
    bends(collider);
  }
  const int first_edge = vertices + static_cast<int>(body->triangles().size());
  for (int e = 0; e < static_cast<int>(body->edges().size()) && spec.collides; ++e) {
    Collider collider;
    body->bend(q, first_edge + e, &collider);
    shape.shape = Capsule{collider.rounding, collider.size.z()};
    shape.name = fmt::format("{}/{}", name, body->carrier_name(first_edge + e));
    add_carrier_shape(id, first_edge + e, shape, material, model);
    finish(SurfacePart::edge, body->edge_area(e));
    bends(collider);
  }
  object.flexible_end = static_cast<int>(model->flexible_shapes.size());
  return id;
}

std::vector<int> find_soft_bodies(const Model& model) {
  std::vector<int> found;
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    if (dynamic_cast<const SoftBody*>(model.objects[i].physics.get()) != nullptr) found.push_back(i);
  }
  return found;
}

const SoftBody& soft_body_of(const Model& model, int object) {
  return dynamic_cast<const SoftBody&>(*model.objects[object].physics);
}

std::string soft_body_name(const Model& model, int object) {
  const std::string& first = model.bodies[model.links[model.objects[object].link_begin].body].name;
  return first.substr(0, first.rfind('/'));
}

}  // namespace capstan
