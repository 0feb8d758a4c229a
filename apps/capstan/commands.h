// The subcommands of the capstan program. main.cc fills the options from the command line; each function does
// the work and returns the exit code. InputError, OutputError and UsageError are told and turned into exit
// codes by main().
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "capstan/io/recording.h"
#include "capstan/step/choose_rigid.h"
#include "capstan/step/schedule.h"
#include "capstan/step/step.h"

namespace capstan::cli {

enum ExitCode {
  kOk = 0,
  kWarnings = 1,      // check --strict found warnings, replay --verify a difference
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
  RigidChoice rigid;
  std::optional<bool> sleep;  // islands at rest may sleep; not said: as the scene has it
  bool keep_going = false;    // a step that does not converge takes the best iterate
  int threads = 1;
  std::optional<double> step_seconds;  // [s] of wall time that a step may take
  std::string log, contact_log;
  long log_every = 1;
  std::string record;
  std::optional<long> record_every;  // steps
  std::string checkpoint;
  double checkpoint_every = 0;  // [s] simulated; 0: only at the end
  std::string resume;
  std::string picture;
  std::string controls, interpolate;  // a table of controls over time; how it is read between its lines
  bool strict = false, quiet = false, verbose = false;
};
int run(const RunOptions& options);

struct CheckOptions {
  std::string scene;
  std::optional<double> dt;
  std::string integrator;
  bool strict = false, quiet = false;
};
int check(const CheckOptions& options);

struct ConvertOptions {
  std::string scene, out;
  bool strict = false, quiet = false;
};
int convert(const ConvertOptions& options);

struct InfoOptions {
  std::string scene;
  bool json = false;
  bool mass_matrix = false;  // in JSON only
};
int info(const InfoOptions& options);

struct ReplayOptions {
  std::string recording;
  bool verify = false, quiet = false;
};
int replay(const ReplayOptions& options);

struct ExportOptions {
  std::string recording, out;
  double fps = 30;                           // frames in a second of html, gltf, mp4 and gif
  double from = -kInfinity, to = kInfinity;  // [s] of the recording
  int width = 960, height = 600;             // [px] of pictures and films
  std::string view;                          // camera and what is shown, as after # in the page's address
};
int export_recording(const ExportOptions& options);
// A recording as an HTML file that replays it.
void write_html(const std::string& recording, const std::string& html, double fps);

struct ViewOptions {
  std::string what;  // scene or recording
  std::string record;
  std::optional<double> dt;
  std::string integrator, keyframe, contact_law;
  std::string host = "127.0.0.1", token;
  int port = 8377;
  bool paused = false, no_browser = false;
};
int view(const ViewOptions& options);
// Where there is a screen. Whether it works is not waited for: the address is printed in any case.
void open_browser(const std::string& url);

struct PlotCommandOptions {
  std::string log;  // or recording
  std::string y = "energy";
  std::string out = "plot.svg";
};
int plot(const PlotCommandOptions& options);

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
  std::string only;  // one of its scenes; "": all
};
int demo(const DemoOptions& options);

struct BenchOptions {
  bool quick = false, full = false, docs = false;
  std::string only;       // part of a scene's name
  double time_limit = 0;  // [s] of stepping in one run; 0: as compare.py chooses
};
int bench(const BenchOptions& options);

// Becomes this program with these arguments, the first of which names it; throws InputError where it cannot.
[[noreturn]] void hand_over(std::vector<std::string> arguments, const std::string& remedy);

struct RobotsOptions {
  std::vector<std::string> folders;
  std::string markdown, json;       // files to write; without either the tables are printed
  std::string match;                // part of a file's path
  std::string note;                 // for the page
  double seconds = 5, limit = 120;  // [s] simulated; of wall time that a file may take
  bool load_only = false;
  std::string python;  // "": that of the source tree with MuJoCo, or python3
};
int robots(const RobotsOptions& options);

struct ExperimentsOptions {
  std::vector<std::string> names;  // none: list them
  bool all = false, is_short = false;
  std::string out = "docs/results";
};
int run_experiments(const ExperimentsOptions& options);

struct GauntletOptions {
  std::vector<std::string> scenes;  // names or files; none: all
  std::optional<double> dt;         // [s]
  std::string contact_law, integrator;
  std::string json;        // file to write
  std::string judge;       // a trajectory of another engine, to be judged instead of a run of ours
  std::string trajectory;  // file to write ours to
  bool list = false;
};
int gauntlet(const GauntletOptions& options);

struct CompareOptions {
  std::string scene;
  std::optional<double> duration, dt;
  std::string contact_law;
  int problems = 10;        // steps of the run whose problems are solved
  double tolerance = 1e-6;  // of every solver
  int max_iterations = 2000;
  int directions = 4;      // of polyhedral friction
  double viscosity = 0.1;  // [N s/m]
  std::string model;       // this one only; empty: all
  std::string csv, svg;    // residuals over iterations: numbers, and drawn
  std::string dump;        // folder for the problems, as files
  bool pairs = false;      // print which solver takes which model
};
int compare(const CompareOptions& options);

// --- Shared by the subcommands ---

struct LoadedScene {
  std::string path;
  Scene scene;
  Model model;
  Diagnostics diagnostics;  // warnings
};

// A scene by path or name, compiled. Throws InputError with everything found.
LoadedScene load(const std::string& path_or_name, bool strict);

// Controls over time of the scene, or of a table (.csv) if one is named. Throws InputError and UsageError.
Schedule load_schedule(const LoadedScene& loaded, const std::string& table = "",
                       const std::string& interpolate = "");

// The step options of the scene with those of the command line; throws UsageError.
StepOptions choose_step_options(StepOptions from_scene, const std::optional<double>& dt,
                                const std::string& integrator);

// The same with a contact law by name; "" leaves it. Throws UsageError.
StepOptions choose_contact_law(StepOptions options, const std::string& name);
// With rigid contact as chosen; no model: as it is.
StepOptions choose_rigid(StepOptions options, const RigidChoice& choice);
std::string rigid_text(const RigidSettings& settings);  // model, solver and what else matters, for people

// What `info` tells of a recording.
void print_recording_info(const std::string& path, bool json);
void print_hdf5_info(const std::string& path, bool json);

// A recording with its model. Throws InputError.
struct LoadedRecording {
  Recording recording;
  const Model& model;
  explicit LoadedRecording(const std::string& path) : recording(path), model(recording.model()) {}
};

// A line or a part of one on stderr. Where that is closed or full nobody hears it, and the run goes on:
// fmt::print() would throw.
template <class... T>
void tell(fmt::format_string<T...> format, T&&... values) {
  const std::string text = fmt::format(format, std::forward<T>(values)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Warnings, on stderr.
void tell_warnings(const LoadedScene& loaded);

// "0:07", "12:34", "3:05:00".
std::string clock_text(double seconds);

}  // namespace capstan::cli
