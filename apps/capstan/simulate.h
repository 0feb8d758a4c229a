// The loop around step(): logging, checkpoints, progress, signals and timing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capstan/io/contact_log.h"
#include "capstan/io/log.h"
#include "capstan/io/recording.h"
#include "capstan/step/schedule.h"
#include "capstan/step/sensors.h"

namespace capstan::cli {

struct Hooks {
  Log* log = nullptr;
  ContactLog* contact_log = nullptr;
  std::function<void(const State&, const VecX& row)> on_row;  // after each row of the log
  long log_every = 1;  // steps; the first and the last state are always logged
  Recorder* recording = nullptr;
  long record_every = 1;                          // steps; the first and the last state are always recorded
  long checkpoint_every = 0;                      // steps; 0: never within the loop
  std::function<void(const State&)> checkpoint;   // called as said, not at the end
  std::function<void(State*)> control;            // before every step; may change state->control
  const Schedule* schedule = nullptr;             // controls over time, set after `control`
  const SensorSet* sensors = nullptr;             // whose values are further columns of the log
  std::function<void(double fraction)> progress;  // about ten times a second of wall time
  int num_frames = 0;                             // states to keep for a picture, evenly over the run
};

struct Summary {
  long num_steps = 0;                  // taken
  double simulated = 0, wall = 0;      // [s]
  double processor = 0;                // [s] of all threads, in the loop
  double mean_step = 0, max_step = 0;  // [s] of wall time
  double max_residual = 0;             // the certificate: largest of all steps
  int max_iterations = 0;
  double mean_contacts = 0, mean_iterations = 0;  // of the contact problem, over all steps
  double deepest = 0;                             // [m] largest overlap
  double mean_asleep = 0;                         // trees, over all steps
  int asleep = 0;                                 // trees, at the end
  Residual judge;                                 // the largest of all steps, of each number
  StepTimes times;                                // [s] of all steps together
  long not_converged = 0;                         // steps that went on with the best iterate
  long unsettled = 0;                             // steps in which Coulomb's friction was not found,
  double cone_violation = 0;                      // and how far off it was at most
  long out_of_cone = 0;  // steps in which a contact's friction went far beyond mu times its normal force
  struct Turn {
    double angle = 0;  // [rad] in a step
    double time = 0;   // [s] after it
    int link = -1;
  };
  Turn fastest;  // of a body that is held or touched as a rule, but no ball or cube
  Mechanics start, end;
  VecX sensed;  // what Hooks::sensors read after the last step; empty where there are none or a step failed
  std::vector<State> frames;
  std::string failure;   // what StepFailure said, or ""
  bool in_step = false;  // the signal came within a step, which was given up
  int signal = 0;        // SIGINT, SIGTERM or SIGHUP when one stopped the run
};

// Takes num_steps steps from *state, or fewer when a step fails or a signal comes. Errors of writing the log
// throw OutputError.
Summary simulate(const Model& model, const StepOptions& options, long num_steps, const Hooks& hooks,
                 State* state);

// Steps between two frames of a recording: about 100 frames in a simulated second.
long default_record_every(double dt);

// Steps from `time` to start + duration, for a run whose state has taken `steps_taken` steps of the same dt
// (or -1: unknown). The last step may reach beyond the end by less than dt.
long count_steps(double start_time, double duration, double dt, double time, long steps_taken);

// While one lives, SIGINT, SIGTERM and, unless nohup is at work, SIGHUP ask simulate() to stop instead of
// ending the program.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// One line on a terminal that is redrawn: a bar, simulated time, rate, time left.
class ProgressLine {
 public:
  // Draws nothing unless `enabled` and stderr is a terminal.
  ProgressLine(std::string label, double duration, bool enabled);
  ~ProgressLine() { clear(); }
  void draw(double fraction);
  void clear();
  bool is_on() const { return on_; }

 private:
  std::string label_;
  double duration_, began_;
  bool on_, drawn_ = false;
};

double wall_seconds();

}  // namespace capstan::cli
