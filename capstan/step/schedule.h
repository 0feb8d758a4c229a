// Controls over time (scene/controls.h), resolved to a model and evaluated before each step.
#pragma once

#include <optional>
#include <vector>

#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/tree.h"
#include "capstan/state/state.h"

namespace capstan {

struct Schedule {
  struct Knot {
    double time = 0;  // [s]
    Interpolation interpolation = Interpolation::linear;
    Vec3 value = Vec3::Zero();  // controls and factors have the first entry only
  };
  struct Track {
    int index = 0;  // of the actuator, body or shape
    std::vector<Knot> knots;
  };
  std::vector<Track> controls, forces, surfaces;
  std::vector<Track> mocap;  // of mocap bodies: index is 6 * body + which of kMocapTracks (model/mocap.h)

  bool empty() const { return controls.empty() && forces.empty() && surfaces.empty() && mocap.empty(); }
};

// Names are those of the model; unknown ones, times out of order and numbers that are not finite are errors.
Schedule make_schedule(const Model& model, const std::vector<ControlPoint>& points, Diagnostics* diagnostics);

// The value of a track at a time; none before its first knot.
std::optional<Vec3> value_at(const Schedule::Track& track, double time);

// Aims mocap bodies (step/mocap.h) at where their tracks are at the end of the step: what no track names of a
// position stays, and a turn that some track names is 0 about the other axes.
void aim_scheduled_mocap(const Model& model, const Schedule& schedule, double dt, const State& state,
                         Input* input);

// Sets the controls of `state` and what `input` has of forces and surfaces to what holds at the middle of the
// step that begins at state->time: a jump at t acts from the step on that holds t for its greater part. What
// no track names stays. Mocap bodies are aimed.
void apply_schedule(const Model& model, const Schedule& schedule, double dt, State* state, Input* input);

}  // namespace capstan
