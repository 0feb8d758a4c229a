// Rods that are on the other side of each other, or of themselves, after a step: no contact of the step held
// them apart. Every equation of it may have been solved.
#pragma once

#include "capstan/contacts/contacts.h"
#include "capstan/state/state.h"

namespace capstan {

// Throws StepFailure where the centre lines of two edges that may touch passed through each other between the
// two states. Edges that are near are those that `collision` found.
void check_crossings(const Model& model, const CollisionWorkspace& collision, const State& before,
                     const State& after, double dt);

}  // namespace capstan
