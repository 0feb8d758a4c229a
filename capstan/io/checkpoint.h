// A run that can be continued: a state (state/state.h) together with what a step was made with, so that a
// resumed run takes the same steps unless told otherwise.
#pragma once

#include <string>

#include "capstan/step/step.h"

namespace capstan {

struct Checkpoint {
  StepOptions options;
  double start_time = 0;  // [s] simulated time at which the run began
  double duration = 0;    // [s] it was to last
  State state;
};

// Atomic: a run that is killed while writing leaves the checkpoint before. Throws OutputError.
void write_checkpoint(const std::string& path, const Model& model, const Checkpoint& checkpoint);

// Bit for bit what was written. Throws InputError when the file is missing, damaged, or of another model.
Checkpoint read_checkpoint(const std::string& path, const Model& model);

}  // namespace capstan
