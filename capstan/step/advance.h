// The end of a step: from velocities to the next state. Internal to step/.
#pragma once

#include "capstan/step/solve_contacts.h"

namespace capstan {

// Velocities that lead where surfaces go when bodies move at v.
const VecX& find_led_velocity(const StepRun& run, const VecX& v, bool at_end);

// The state after the step: velocities of the answer, and where they lead.
void advance(const StepRun& run, const Threads& threads, State* next);

}  // namespace capstan
