#include "capstan/model/default_stiffness.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "capstan/model/mocap.h"
#include "capstan/physics/physics.h"

namespace capstan {
namespace {

constexpr double kLoadsPerSize = 1000;  // k s over the load
constexpr double kGreatestRatio = 1e6;  // of masses
constexpr std::size_t kBodiesInStack = 10;

// [objects] the longest edge of the box about an object's shapes in the pose of the scene; 0 where nothing
// collides.
std::vector<double> calc_sizes(const Model& model) {
  std::vector<Transform> X_WL(model.links.size());  // but for free and ball joints that start turned
  std::vector<Vec3> lower(model.objects.size(), Vec3::Constant(kInfinity)),
      upper(model.objects.size(), Vec3::Constant(-kInfinity));
  for (int l = 1; l < model.num_links(); ++l) {
    X_WL[l] = X_WL[model.links[l].parent] * model.links[l].X_PL;
  }
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    object.physics->place(model.initial.q.segment(object.q_begin, object.num_positions()),
                          std::span(X_WL).subspan(object.link_begin, object.link_end - object.link_begin));
  }
  for (const ModelShape& shape : model.shapes) {
    if (!shape.collides || shape.link == 0 || !shape.collider.half_box.allFinite()) continue;
    const Transform X_WS = X_WL[shape.link] * shape.X_LS;
    const Vec3 centre = X_WS * shape.collider.centre;
    const Vec3 half = X_WS.R.cwiseAbs() * shape.collider.half_box;
    const int object = model.links[shape.link].object;
    lower[object] = lower[object].cwiseMin(centre - half);
    upper[object] = upper[object].cwiseMax(centre + half);
  }
  std::vector<double> sizes;
  for (std::size_t t = 0; t < model.objects.size(); ++t) {
    sizes.push_back(std::max(0.0, (upper[t] - lower[t]).maxCoeff()));
  }
  return sizes;
}

}  // namespace

void set_default_stiffness(Model* model) {
  std::vector<double> masses, bodies;  // of objects; of trees that are one link, the heaviest first
  double robot = 0;                    // the heaviest of the others that stands or lies somewhere
  for (const Tree& tree : model->trees) {
    double mass = 0;
    for (int l = tree.link_begin; l < tree.link_end; ++l) mass += model->links[l].mass;
    if (is_mocap(*model, tree.link_begin)) mass = 0;  // nothing carries it
    masses.push_back(mass);
    const Link& root = model->links[tree.link_begin];
    if (tree.link_end == tree.link_begin + 1) {
      bodies.push_back(mass);
    } else if (model->stages[root.stage_begin].type == StageType::free) {
      robot = std::max(robot, mass);
    }
  }
  for (const Object& object : model->objects) {
    if (object.is_tree()) continue;
    Vec3 moment;
    masses.push_back(
        object.physics->calc_mass(model->initial.q.segment(object.q_begin, object.num_positions()), &moment));
  }
  std::sort(bodies.begin(), bodies.end(), std::greater<>());
  bodies.resize(std::min(bodies.size(), kBodiesInStack));

  const std::vector<double> sizes = calc_sizes(*model);
  const double gravity = model->options.gravity.norm();
  const ContactOptions& laws = model->options.contact;
  const bool is_hertz = traits(acting_normal_law(laws)).exponent == 1.5;
  std::vector<double> stiffness(model->objects.size(), kLeastStiffness);
  double most = kLeastStiffness;
  for (std::size_t t = 0; t < model->objects.size(); ++t) {
    if (!(sizes[t] > 0)) continue;
    const double limit = kGreatestRatio * masses[t];
    double stack = 0;
    for (const double mass : bodies) stack += std::min(mass, limit);
    const double load = gravity * std::max({masses[t], stack, std::min(robot, limit)});
    double k = kLoadsPerSize * load / sizes[t];
    if (is_hertz) k /= std::sqrt(sizes[t] / kLoadsPerSize);
    stiffness[t] = std::max(kLeastStiffness, k);
    most = std::max(most, stiffness[t]);
  }
  for (ModelShape& shape : model->shapes) {
    const Material& m = model->materials[shape.material];
    if (m.stiffness || m.stiffness_per_kilogram > 0 || shape.part != SurfacePart::none) continue;
    shape.stiffness =
        shape.link == 0 || is_mocap(*model, shape.link) ? most : stiffness[model->links[shape.link].object];
  }
}

}  // namespace capstan
