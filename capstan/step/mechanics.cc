#include "capstan/step/mechanics.h"

#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/physics/physics.h"

namespace capstan {

Mechanics calc_mechanics(const Model& model, const State& state) {
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  calc_placement(model, state.q, &placement);
  calc_velocity(model, placement, state.v, &velocity);
  Mechanics m;
  m.kinetic = calc_kinetic_energy(model, placement, velocity, state.v);
  m.gravity = calc_gravity_energy(model, placement);
  m.spring = calc_spring_energy(model, state.q);
  m.momentum = calc_momentum(model, placement, velocity);
  m.center_of_mass = calc_center_of_mass(model, placement);
  Vec3 moment = Vec3::Zero();
  double mass = 0;
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    const auto q = state.q.segment(object.q_begin, object.num_positions());
    const auto v = state.v.segment(object.dof_begin, object.num_dofs());
    Vec3 own;
    const double own_mass = object.physics->calc_mass(q, &own);
    mass += own_mass;
    moment += own;
    m.kinetic += object.physics->calc_kinetic_energy(q, v);
    m.spring += object.physics->calc_elastic_energy(q);
    m.gravity -= model.options.gravity.dot(own);
    m.momentum += object.physics->calc_momentum(q, v);
  }
  if (mass > 0) {
    const double of_trees = total_mass(model);
    m.center_of_mass = (of_trees * m.center_of_mass + moment) / (of_trees + mass);
  }
  return m;
}

}  // namespace capstan
