// What the last step left as it was is not computed again: an object whose every bit of q, v and a, and of
// what acts on it, is that of the step before has its free motion in the workspace; contacts among such
// trees, and with the world, are there, and in the problem; and where nothing else touches them, so is the
// answer, with its certificate. No bit of any result is another than without.
//
// (Sleep, which sleep.h has and a scene may ask for, also stops what creeps.) Trees that actuators, tendons
// or constraints of the model act on are always computed. It is the same model: who changes a model makes a
// new workspace, but for its gravity and other options.
#pragma once

#include <vector>

#include "capstan/dynamics/forces.h"
#include "capstan/scene/scene.h"
#include "capstan/solvers/newton.h"
#include "capstan/state/state.h"

namespace capstan {

// All that the answer of a step depends on besides the model's parts, State and Input.
struct StepSettings {
  double dt = 0;
  Integrator integrator = Integrator::semi_implicit;
  ContactOptions contact;
  NewtonOptions newton;
  SleepOptions sleep;
  Options model;
  bool operator==(const StepSettings&) const = default;
};

struct UnchangedWorkspace {
  std::vector<char> objects;  // [objects] that are unchanged in this step; empty: none

  bool is_known = false;     // the rest of the step's workspace is what the last one left
  std::vector<char> is_apt;  // [objects] that nothing of the model acts on but contacts and joints
  StepSettings settings;     // of the last step
  VecX surface_scale;
  std::vector<char> is_pushed;  // [objects] by forces of the input, then or now
};

// Before a step: which objects are as they were at the beginning of the last one, `before`.
void find_unchanged(const Model& model, const State& before, const State& state, const Input& input,
                    const StepSettings& settings, UnchangedWorkspace* workspace);

}  // namespace capstan
