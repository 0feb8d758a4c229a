// Which objects are unchanged since the last step (model/stage_scope.h says what follows from that): every
// bit of their q, v and a is that of the beginning of the last step, which left v as it was, and nothing acts
// on them but what acted then. (A state that was set back has the first without the second.) Trees that
// actuators, tendons or constraints of the model act on never are, nor objects that are not trees. It is the
// same model: who changes a model makes a new workspace, but for its options.
//
// (Sleep, which sleep.h has and a scene may ask for, also stops what creeps.)
#pragma once

#include <string>
#include <vector>

#include "capstan/dynamics/forces.h"
#include "capstan/rigid/rigid_options.h"
#include "capstan/scene/scene.h"
#include "capstan/solvers/newton.h"
#include "capstan/state/state.h"

namespace capstan {

// Contact by a complementarity model in place of the convex laws (step/solve_rigid.cc).
struct RigidSettings {
  bool is_on = false;
  RigidOptions options = {};
  std::string solver;  // of rigid_solvers(); "": the model's own
  bool operator==(const RigidSettings&) const = default;
};

// All that the answer of a step depends on besides model, State and Input.
struct StepSettings {
  double dt = 0.005;  // [s]
  Integrator integrator = Integrator::semi_implicit;
  ContactOptions contact = {};
  NewtonOptions newton = {};
  SleepOptions sleep = {};
  RigidSettings rigid = {};
  bool close_loops = true;  // after the solve (step/close_loops.h)
  bool operator==(const StepSettings&) const = default;
};

struct UnchangedWorkspace {
  std::vector<char> objects;  // [objects] that are unchanged in this step; empty: none

  bool is_valid =
      false;  // all other workspaces are what the last step left, from its first round of contacts
  std::vector<char> moves_alone;  // [objects] that nothing of the model acts on but contacts and joints
  StepSettings settings;          // of the last step
  Options model_options;
  VecX surface_scale;
  std::vector<char> is_pushed;  // [objects] by forces of the input, then or now
};

// Before a step: which objects are as they were at the beginning of the last one, `before`, whose answer was
// v_after.
void find_unchanged(const Model& model, const State& before, const VecX& v_after, const State& state,
                    const Input& input, const StepSettings& settings, UnchangedWorkspace* workspace);

}  // namespace capstan
