// The subcommands of the capstan program. main.cc fills the options from the command line; each function does
// the work and returns the exit code. InputError, OutputError and UsageError are told and turned into exit
// codes by main().
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "capstan/step/step.h"

namespace capstan::cli {

enum ExitCode {
  kOk = 0,
  kWarnings = 1,      // check --strict found warnings
  kBadInput = 2,      // a scene or checkpoint cannot be used
  kStepFailed = 3,    // the simulation could not go on
  kCannotWrite = 4,   // an output file cannot be written
  kClaimFails = 5,    // an experiment ran, and a statement it checks does not hold
  kUsage = 64,        // wrong options
  kBug = 70,          // our mistake
  kInterrupted = 130  // Ctrl-C (143 for a termination signal)
};

// The options contradict each other or have values out of range.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RunOptions {
  std::string scene;
  std::optional<double> duration, dt;
  std::string integrator, keyframe, contact_law;
  bool keep_going = false;  // a step that does not converge takes the best iterate
  int threads = 1;
  std::string log, contact_log;
  long log_every = 1;
  std::string checkpoint;
  double checkpoint_every = 0;  // [s] simulated; 0: only at the end
  std::string resume;
  std::string picture;
  bool strict = false, quiet = false;
};
int run(const RunOptions& options);

struct CheckOptions {
  std::string scene;
  std::optional<double> dt;
  std::string integrator;
  bool strict = false, quiet = false;
};
int check(const CheckOptions& options);

struct InfoOptions {
  std::string scene;
  bool json = false;
};
int info(const InfoOptions& options);

struct ContactsOptions {
  std::string scene, keyframe;
  std::vector<double> ray;  // origin and direction; empty: list the contacts
  bool json = false;
};
int contacts(const ContactsOptions& options);

struct ListOptions {
  bool paths = false;
};
int list(const ListOptions& options);

struct DemoOptions {
  std::string out = "build/demo";
};
int demo(const DemoOptions& options);

struct ExperimentsOptions {
  std::vector<std::string> names;  // none: list them
  bool all = false, is_short = false;
  std::string out = "docs/results";
};
int run_experiments(const ExperimentsOptions& options);

// --- Shared by the subcommands ---

struct LoadedScene {
  std::string path;
  Scene scene;
  Model model;
  Diagnostics diagnostics;  // warnings
};

// A scene by path or name, compiled. Throws InputError with everything found.
LoadedScene load(const std::string& path_or_name, bool strict);

// The step options of the scene with those of the command line; throws UsageError.
StepOptions choose_step_options(StepOptions from_scene, const std::optional<double>& dt,
                                const std::string& integrator);

// The same with a contact law by name; "" leaves it. Throws UsageError.
StepOptions choose_contact_law(StepOptions options, const std::string& name);

// Warnings, on stderr.
void tell_warnings(const LoadedScene& loaded);

// "0:07", "12:34", "3:05:00".
std::string clock_text(double seconds);

}  // namespace capstan::cli
