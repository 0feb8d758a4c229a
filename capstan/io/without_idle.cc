#include "capstan/io/without_idle.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan {
namespace {

// Joints that an actuator acts on, by itself or with its tendon.
std::set<std::string> find_driven(const Scene& scene) {
  std::set<std::string> driven;
  for (const Actuator& actuator : scene.actuators) {
    driven.insert(actuator.joint);
    for (const Tendon& tendon : scene.tendons) {
      if (tendon.name != actuator.tendon) continue;
      for (const Tendon::Term& term : tendon.terms) driven.insert(term.joint);
    }
  }
  return driven;
}

void tidy_options(Options* o) {
  const Options plain;
  if (!(o->fluid_density > 0) && !(o->fluid_viscosity > 0)) o->wind = plain.wind;
  if (traits(o->contact.law).has_own_normal_law) o->contact.normal_law = plain.contact.normal_law;
  if (!traits(o->contact.law).has_sigma) o->contact.sigma.reset();
  if (!o->sleep.on) o->sleep = plain.sleep;
}

// What shapes, rods and soft bodies have alike.
template <class T>
void forget_contact(T* thing) {
  const T plain;
  thing->material = plain.material;
  thing->group_bits = plain.group_bits;
  thing->mask_bits = plain.mask_bits;
  thing->margin = plain.margin;
}

void tidy_shape(const std::set<std::string>& bodies_with_inertia, ShapeInstance* shape) {
  const ShapeInstance plain;
  const bool weighs = shape->has_mass && shape->body != kWorld && !bodies_with_inertia.count(shape->body) &&
                      !std::holds_alternative<HalfSpace>(shape->shape);
  if (!weighs) shape->mass = plain.mass, shape->density = plain.density;
  if (shape->collides) return;
  forget_contact(shape);
  shape->surface_velocity = plain.surface_velocity;
  shape->surface_spin = plain.surface_spin;
  shape->patch = plain.patch;
}

bool is_used(const Scene& scene, const std::string& material) {
  const auto uses = [&](const auto& thing) { return thing.material == material; };
  return material == ShapeInstance{}.material ||
         std::any_of(scene.shapes.begin(), scene.shapes.end(), uses) ||
         std::any_of(scene.rods.begin(), scene.rods.end(), uses) ||
         std::any_of(scene.soft_bodies.begin(), scene.soft_bodies.end(), uses) ||
         std::any_of(scene.pairs.begin(), scene.pairs.end(), [&](const PairOverride& pair) {
           return pair.kind == PairOverride::Kind::materials && (pair.a == material || pair.b == material);
         });
}

}  // namespace

TidyScene without_idle(Scene given) {
  TidyScene tidy{std::move(given), {}};
  Scene& scene = tidy.scene;
  tidy_options(&scene.options);
  const std::set<std::string> driven = find_driven(scene);
  std::set<std::string> bodies_with_inertia;
  int efforts = 0;
  for (Body& body : scene.bodies) {
    if (body.inertia) bodies_with_inertia.insert(body.name);
    for (Joint& joint : body.joints) {
      if (!(joint.stiffness > 0)) joint.spring_reference = 0;
      if (joint.effort_limit == kInfinity || driven.count(joint.name)) continue;
      joint.effort_limit = kInfinity;
      ++efforts;
    }
  }
  if (efforts > 0) {
    tidy.left_out.push_back(fmt::format("effort_limit of {} joint{} on which no actuator acts", efforts,
                                        efforts == 1 ? "" : "s"));
  }
  for (ShapeInstance& shape : scene.shapes) tidy_shape(bodies_with_inertia, &shape);
  for (RodSpec& rod : scene.rods) {
    if (rod.collides) continue;
    forget_contact(&rod);
    rod.contact.reset();
  }
  for (SoftBodySpec& body : scene.soft_bodies) {
    if (body.collides) continue;
    forget_contact(&body);
    body.contact.reset();
    body.self_contact = false;
  }
  for (Tendon& tendon : scene.tendons) {
    if (tendon.stiffness > 0) continue;
    tendon.spring_rest = Tendon{}.spring_rest;
    tendon.is_rest_of_reference = true;
  }
  for (Constraint& c : scene.constraints) {
    if (c.type != ConstraintType::ball && c.type != ConstraintType::distance) continue;
    for (std::optional<Pose>* pose : {&c.pose_a, &c.pose_b}) {
      if (*pose) (*pose)->quat_wxyz = Pose{}.quat_wxyz;
    }
  }
  std::erase_if(scene.materials, [&](const Material& m) { return !is_used(scene, m.name); });
  return tidy;
}

}  // namespace capstan
