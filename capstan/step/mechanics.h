#pragma once

#include "capstan/model/model.h"
#include "capstan/state/state.h"

namespace capstan {

// Energies and momentum at a state, for logs and tests.
struct Mechanics {
  double kinetic = 0, gravity = 0, spring = 0;  // [J]
  Vec6 momentum = Vec6::Zero();                 // (angular about the world's origin [N m s], linear [N s])
  Vec3 center_of_mass = Vec3::Zero();           // [m]
  double total() const { return kinetic + gravity + spring; }
};
Mechanics calc_mechanics(const Model& model, const State& state);

}  // namespace capstan
