// A scene of the kind fuzz::kFile names by its extension, read, compiled and stepped. A step gives a
// finite state or a StepFailure that leaves the state as it was, and a run that is saved and restored in its
// middle ends with the same bits. Controls over time are followed, and sensors read something finite.
#include <cmath>

#include "capstan/step/schedule.h"
#include "capstan/step/sensors.h"
#include "capstan/step/step.h"
#include "tests/fuzz/fuzz.h"

using namespace capstan;

namespace {

constexpr int kSteps = 8;
constexpr int kMostDofs = 120;

// Told at the end, since what is refused before it is stepped says little.
struct Count {
  long inputs = 0, scenes = 0, steps = 0;
  ~Count() {
    std::fprintf(stderr, "steps: %ld of %ld inputs were scenes that compile, %ld steps were taken\n", scenes,
                 inputs, steps);
  }
} count;

struct Run {
  const Model& model;
  const StepOptions options;
  const Schedule schedule;
  const SensorSet sensors;
};

// False where a step failed.
bool take_step(const Run& run, State* state, Workspace* workspace) {
  Input input;
  const State start = *state;
  apply_schedule(run.model, run.schedule, run.options.dt, state, &input);
  const std::uint64_t before = hash(*state);
  try {
    step(run.model, run.options, input, state, workspace);
  } catch (const StepFailure& failure) {
    fuzz::require(hash(*state) == before, std::string("a failed step changed the state: ") + failure.what());
    *state = start;  // without the controls of that step
    return false;
  }
  fuzz::require(state->q.allFinite() && state->v.allFinite() && state->activation.allFinite(),
                "a state that is not finite");
  VecX read;
  read_sensors(run.model, run.sensors, *state, workspace, &input, &read);
  for (const double x : read) fuzz::require(!std::isnan(x), "a sensor that reads no number");
  return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  return fuzz::mutate_text_in_place(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ++count.inputs;
  Diagnostics diagnostics;
  const std::string path = fuzz::file_of(fuzz::kFile, {reinterpret_cast<const char*>(data), size});
  const Scene scene = read_scene(path, &diagnostics, fuzz::kLimits);
  if (!diagnostics.ok()) return 0;
  Model model;
  try {
    model = compile(scene);
  } catch (const InputError&) {
    return 0;
  }
  if (model.num_velocities() > kMostDofs) return 0;
  const Run run{model, step_options(model), make_schedule(model, scene.controls, &diagnostics),
                make_sensors(model, scene, scene.sensors, &diagnostics)};
  if (!diagnostics.ok()) return 0;
  ++count.scenes;
  State state = initial_state(model), half;
  Workspace workspace = make_workspace(model);
  int taken = 0;
  for (bool good = true; good && taken < kSteps; taken += good) {
    if (taken == kSteps / 2) half = state;
    good = take_step(run, &state, &workspace);
  }
  count.steps += taken;
  if (taken <= kSteps / 2) return 0;
  half = restore(model, save(model, half));
  Workspace other = make_workspace(model);
  for (int i = kSteps / 2; i < taken; ++i) {
    fuzz::require(take_step(run, &half, &other), "a step fails only after a restart");
  }
  fuzz::require(hash(half) == hash(state), "a restart gives other bits");
  return 0;
}
