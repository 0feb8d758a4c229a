#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "capstan/base/hash.h"
#include "capstan/model/default_stiffness.h"
#include "capstan/model/model.h"
#include "capstan/physics/physics.h"

namespace capstan {
namespace {

void append(int count, VecX* x) {
  const int n = static_cast<int>(x->size());
  x->conservativeResize(n + count);
  x->tail(count).setZero();
}

// The patterns of trees get the new dofs as roots without children: their diagonals.
void extend(int num_dofs, Model* model) {
  const auto add_roots = [&](BranchPattern* pattern) {
    std::vector<int> parent = std::move(pattern->parent);
    parent.resize(parent.size() + num_dofs, -1);
    *pattern = make_branch_pattern(std::move(parent));
  };
  add_roots(&model->pattern);
  add_roots(&model->system_pattern);
  for (int i = 0; i < num_dofs; ++i)
    model->mass_in_system.push_back(model->system_pattern.num_values() - num_dofs + i);
}

}  // namespace

int add_object(const std::string& name, std::shared_ptr<const Physics> physics, Model* model) {
  const ObjectLayout layout = physics->layout();
  const int id = static_cast<int>(model->objects.size());
  Object object;
  object.link_begin = model->num_links();
  object.link_end = object.link_begin + layout.num_carriers;
  object.q_begin = model->num_positions;
  object.q_end = object.q_begin + layout.num_positions;
  object.dof_begin = model->num_velocities();
  object.block_begin = static_cast<int>(model->blocks.size());
  int dof = object.dof_begin;
  for (const int size : layout.block_sizes) {
    CAPSTAN_ASSERT(size >= 1 && size <= 6);
    model->blocks.push_back({id, dof, size});
    dof += size;
  }
  object.dof_end = dof;
  object.block_end = static_cast<int>(model->blocks.size());
  object.physics = std::move(physics);

  ModelDof plain;
  plain.joint = plain.link = -1;
  plain.object = id;
  model->dofs.resize(object.dof_end, plain);
  extend(object.num_dofs(), model);
  for (int c = 0; c < layout.num_carriers; ++c) {
    Link link;
    link.parent = 0;
    link.object = id;
    link.body = static_cast<int>(model->bodies.size());
    link.stage_begin = link.stage_end = static_cast<int>(model->stages.size());
    link.dof_begin = link.dof_end = object.dof_end;
    link.subtree_end = model->num_links() + 1;
    model->bodies.push_back({fmt::format("{}/{}", name, c), 0, model->num_links(), {}, 0});
    model->links.push_back(link);
  }
  const std::size_t first_excluded = model->excluded_links.size();
  for (const auto& [a, b] : layout.apart)
    model->excluded_links.push_back({object.link_begin + std::min(a, b), object.link_begin + std::max(a, b)});
  std::sort(model->excluded_links.begin() + static_cast<std::ptrdiff_t>(first_excluded),
            model->excluded_links.end());

  model->num_positions = object.q_end;
  VecX q(object.num_positions()), v(object.num_dofs());
  object.physics->set_initial(q, v);
  const auto add_to = [&](ModelKeyframe* keyframe) {
    append(object.num_positions(), &keyframe->q);
    append(object.num_dofs(), &keyframe->v);
    keyframe->q.tail(q.size()) = q;
    keyframe->v.tail(v.size()) = v;
  };
  add_to(&model->initial);
  for (ModelKeyframe& keyframe : model->keyframes) add_to(&keyframe);
  Hash hash;
  hash.value = model->fingerprint;
  hash.add(name);
  hash.add(object.physics->kind());
  hash.add(static_cast<std::int64_t>(object.num_positions()));
  for (const int size : layout.block_sizes) hash.add(static_cast<std::int64_t>(size));
  hash.add(static_cast<std::int64_t>(object.physics->fingerprint()));
  model->fingerprint = hash.value;
  model->objects.push_back(std::move(object));
  return id;
}

void add_carrier_shape(int object, int carrier, const ShapeInstance& shape, int material, Model* model) {
  if (material < 0 || material >= static_cast<int>(model->materials.size())) {
    throw InputError({},
                     fmt::format("shape '{}' has material {}; the model has {}", shape.name, material,
                                 model->materials.size()),
                     "give the index of a material of the model");
  }
  const int link = model->objects[object].link_begin + carrier;
  ModelShape entry;
  entry.name = shape.name;
  entry.body = model->links[link].body;
  entry.link = link;
  entry.X_LS = to_transform(shape.pose);
  entry.shape = shape.shape;
  entry.material = material;
  entry.collides = shape.collides;
  entry.group_bits = shape.group_bits;
  entry.mask_bits = shape.mask_bits;
  entry.margin = entry.pair_margin = shape.margin;
  const Material& m = model->materials[material];
  entry.stiffness = m.stiffness.value_or(kLeastStiffness);
  if (m.stiffness_per_kilogram > 0) {
    const Object& whole = model->objects[object];
    Vec3 moment;
    entry.stiffness =
        m.stiffness_per_kilogram *
        whole.physics->calc_mass(model->initial.q.segment(whole.q_begin, whole.num_positions()), &moment);
  }
  entry.rgba = drawn_color(shape.rgba);
  if (entry.collides) entry.collider = make_collider(shape.shape);
  model->shapes.push_back(std::move(entry));
}

}  // namespace capstan
