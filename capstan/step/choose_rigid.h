// Rigid contact from words, for the command line and for Python.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "capstan/step/unchanged.h"

namespace capstan {

// Rigid contact in place of a contact law. What is not said is the model's own.
struct RigidChoice {
  std::string model, solver, restitution, stabilization;
  std::optional<int> directions, max_iterations;
  std::optional<double> viscosity, erp, cfm, stiffness, damping, allowance, tolerance;
  bool cold = false;  // no warm starts
};

// Settings that say so; without a model those that say nothing. `spell` makes an option's name,
// "max-iterations", what its user writes: messages have that. Throws std::invalid_argument with the remedy.
RigidSettings rigid_settings(const RigidChoice& choice, const std::function<std::string(std::string)>& spell);

}  // namespace capstan
