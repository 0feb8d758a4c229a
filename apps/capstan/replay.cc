// Takes the steps of a recording again, from its first state and with the inputs it noted, and compares.
#include <fmt/core.h>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"

namespace capstan::cli {

int replay(const ReplayOptions& options) {
  LoadedRecording loaded(options.recording);
  Recording& recording = loaded.recording;
  const Model& model = loaded.model;
  const StepOptions step_options = recording.header().options;
  State state = recording.frame(0).state;
  const double start = state.time;
  Workspace workspace = make_workspace(model);
  Input input;
  long num_different = 0, first_different = -1, num_steps = 0;
  double largest = 0;
  const StopOnSignal stop_on_signal;
  const double span = recording.frame(recording.num_frames() - 1).state.time - start;
  ProgressLine progress("replay", span, !options.quiet);
  for (long i = 1; i < recording.num_frames(); ++i) {
    const RecordedFrame frame = recording.frame(i);
    std::size_t next_input = 0;
    while (state.step < frame.state.step) {
      if (next_input < frame.inputs.size() && frame.inputs[next_input].step == state.step) {
        state.control = frame.inputs[next_input].control;
        input = frame.inputs[next_input++].input;
      }
      try {
        step(model, step_options, input, &state, &workspace);
      } catch (const StepFailure& failure) {
        progress.clear();
        tell("error: {}; the recording went on\n", failure.what());
        return kStepFailed;
      }
      ++num_steps;
    }
    if (state.step != frame.state.step) {
      throw InputError(Source{options.recording, 0},
                       fmt::format("frame {} has step {}, which does not follow", i, frame.state.step),
                       "record the run again");
    }
    if (hash(state) != frame.hash) {
      if (num_different++ == 0) first_different = i;
      largest =
          std::max(largest, model.num_positions > 0 ? (state.q - frame.state.q).cwiseAbs().maxCoeff() : 0.0);
      if (options.verify) break;
    }
    if (i % 16 == 0) progress.draw((state.time - start) / std::max(span, 1e-300));
  }
  progress.clear();
  if (num_different == 0) {
    if (!options.quiet) {
      fmt::print("{}: {} frames, {} steps taken again: every bit the same\n", options.recording,
                 recording.num_frames(), num_steps);
    }
    return kOk;
  }
  const double t = recording.frame(first_different).state.time;
  if (options.verify) {
    fmt::print("{}: frame {} at t = {:g} s differs from the recording, by {:.3g} in a position\n",
               options.recording, first_different, t, largest);
    return kWarnings;
  }
  fmt::print("{}: {} of {} frames differ, the first at t = {:g} s; by at most {:.3g} in a position\n",
             options.recording, num_different, recording.num_frames(), t, largest);
  return kOk;
}

}  // namespace capstan::cli
