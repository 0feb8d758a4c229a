// The capstan program: reads the command line and calls the subcommand (commands.h).
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <system_error>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/capstan/commands.h"
#include "capstan/base/closest_name.h"
#include "capstan/base/version.h"
#include "capstan/io/output_file.h"

namespace capstan::cli {
namespace {

constexpr const char* kScene = "Scene file (.yaml, .xml, .urdf, .sdf) or the name of a shipped scene";

constexpr const char* kRecording = "Recording (.capstan) that 'capstan run --record' wrote";

struct AllOptions {
  RunOptions run;
  CheckOptions check;
  ConvertOptions convert;
  InfoOptions info;
  ReplayOptions replay;
  ExportOptions export_recording;
  ViewOptions view;
  PlotCommandOptions plot;
  ContactsOptions contacts;
  ListOptions list;
  DemoOptions demo;
  BenchOptions bench;
  ExperimentsOptions experiments;
  RobotsOptions robots;
  GauntletOptions gauntlet;
  CompareOptions compare;
};

void add_rigid(CLI::App* c, RigidChoice& o) {
  c->add_option("--model", o.model,
                "Rigid contact in place of a contact law: ncp, ccp, box, box_frozen, stewart_trinkle, "
                "anitescu_potra, no_slip, viscous, viscous_explicit or frictionless (docs/solvers.md)");
  const char* group = "Options of --model";
  c->add_option("--solver", o.solver,
                "Its solver (capstan compare --pairs lists them); default: the model's own")
      ->group(group);
  c->add_option("--directions", o.directions, "Corners of a polyhedral cone, even; default 4")->group(group);
  c->add_option("--viscosity", o.viscosity, "Of viscous contact [N s/m]; default 0.1")->group(group);
  c->add_option("--restitution", o.restitution, "newton (the default), poisson or none")->group(group);
  c->add_option("--stabilization", o.stabilization,
                "What undoes overlap: automatic (the default: split_impulse for most models), baumgarte, "
                "split_impulse, projection or none")
      ->group(group);
  c->add_option("--erp", o.erp, "Part of an overlap that a step undoes")->group(group);
  c->add_option("--cfm", o.cfm, "Compliance of normal impulses [1/kg]; default 0")->group(group);
  c->add_option("--stiffness", o.stiffness, "In place of both: a spring [N/m]")->group(group);
  c->add_option("--damping", o.damping, "and its damper [N s/m]")->group(group);
  c->add_option("--allowance", o.allowance, "Overlap that is left alone [m]; default 0")->group(group);
  c->add_option("--tolerance", o.tolerance, "Residual of the solver; default 1e-6")->group(group);
  c->add_option("--max-iterations", o.max_iterations, "Of the solver; default 10000")->group(group);
  c->add_flag("--cold", o.cold, "Do not begin with the impulses of the last step")->group(group);
}

void add_run(CLI::App& app, RunOptions& o) {
  CLI::App* c = app.add_subcommand("run", "Simulate a scene");
  c->add_option("scene", o.scene, kScene)->required();
  c->add_option("--duration", o.duration,
                "Simulated time from the start of the run [s]; default: the scene's");
  c->add_option("--dt", o.dt, "Time step [s]; default: the scene's");
  c->add_option("--integrator", o.integrator,
                "explicit_euler, symplectic_euler, semi_implicit, implicit_euler or midpoint");
  c->add_option("--contact-law", o.contact_law,
                "coulomb, sap, lagged, similar or regularized_lagged; default: the scene's (docs/laws.md)");
  add_rigid(c, o.rigid);
  c->add_option("--threads", o.threads, "Threads to use; the result does not depend on it")
      ->capture_default_str();
  // Not given to add_flag(): CLI11 takes an optional for a count, and sets it to 0 where the flag is not
  // given.
  c->add_flag_function(
      "--sleep,!--no-sleep", [&o](std::int64_t count) { o.sleep = count > 0; },
      "Islands at rest may sleep (default: as the scene says)");
  c->add_flag("--keep-going", o.keep_going,
              "Where a step does not converge, go on with its best iterate and count it");
  c->add_option("--step-seconds", o.step_seconds,
                "Wall time that a step may take [s]: longer ones fail; default: no bound");
  c->add_option("--keyframe", o.keyframe, "Start from this keyframe of the scene");
  c->add_option("--controls", o.controls, "Controls over time from this .csv table, instead of the scene's");
  c->add_option("--interpolate", o.interpolate,
                "Between the lines of that table: constant, linear (the default) or smooth");
  c->add_option("--log", o.log, "Log numbers to this file: .csv, .h5 or .hdf5");
  c->add_option("--contact-log", o.contact_log, "Log every contact with its force to this .csv file");
  c->add_option("--log-every", o.log_every, "Log every n-th step")->capture_default_str();
  c->add_option(
      "--record", o.record,
      "Record states and contacts to this file, for replay, view and export; .h5 for other programs");
  c->add_option("--record-every", o.record_every,
                "Record every n-th step; default: about 100 frames in a simulated second");
  c->add_option("--checkpoint", o.checkpoint, "Save the state at the end, and when stopped, to this file");
  c->add_option("--checkpoint-every", o.checkpoint_every, "Save it also every so many simulated seconds");
  c->add_option("--resume", o.resume, "Go on from a checkpoint, to the end of the run it belongs to");
  c->add_option("--picture", o.picture, "Draw the motion to this SVG file");
  c->add_flag("--strict", o.strict, "What is not understood in the scene is an error");
  c->add_flag("-v,--verbose", o.verbose, "A long summary: times, momentum, and what the judge found");
  c->add_flag("-q,--quiet", o.quiet, "No progress, no summary; warnings and errors only");
}

void add_others(CLI::App& app, AllOptions& o) {
  CLI::App* check = app.add_subcommand("check", "List every problem of a scene, with file, line and remedy");
  check->add_option("scene", o.check.scene, kScene)->required();
  check->add_option("--dt", o.check.dt, "Examine for this time step [s]");
  check->add_option("--integrator", o.check.integrator, "Examine for this integrator");
  check->add_flag("--strict", o.check.strict, "Exit code 1 for warnings; what is not understood is an error");
  check->add_flag("-q,--quiet", o.check.quiet, "No closing line");

  CLI::App* convert =
      app.add_subcommand("convert", "Write a scene, of whatever kind, as a YAML scene with its meshes");
  convert->add_option("scene", o.convert.scene, kScene)->required();
  convert->add_option("out", o.convert.out, "File to write: .yaml")->required();
  convert->add_flag("--strict", o.convert.strict, "What is not understood in the scene is an error");
  convert->add_flag("-q,--quiet", o.convert.quiet, "Warnings and errors only");

  CLI::App* info = app.add_subcommand(
      "info", "Show bodies, joints, dofs, masses, actuators of a scene; or what a recording holds");
  info->add_option("scene", o.info.scene, "Scene file, name of a shipped scene, or recording")->required();
  info->add_flag("--json", o.info.json, "As JSON");
  info->add_flag("--mass-matrix", o.info.mass_matrix,
                 "With --json: the starting state and the mass matrix there");

  CLI::App* contacts = app.add_subcommand("contacts", "List what touches in a scene at its start");
  contacts->add_option("scene", o.contacts.scene, kScene)->required();
  contacts->add_option("--keyframe", o.contacts.keyframe, "At this keyframe of the scene instead");
  contacts
      ->add_option("--ray", o.contacts.ray,
                   "Tell what a ray hits instead: its origin and direction, six numbers")
      ->expected(6);
  contacts->add_flag("--json", o.contacts.json, "As JSON");

  CLI::App* replay = app.add_subcommand("replay", "Take the steps of a recording again and compare");
  replay->add_option("recording", o.replay.recording, kRecording)->required();
  replay->add_flag("--verify", o.replay.verify, "Exit code 1 where a state differs in any bit");
  replay->add_flag("-q,--quiet", o.replay.quiet, "Say nothing unless something differs");

  CLI::App* exporter = app.add_subcommand("export", "Turn a recording into another kind of file");
  ExportOptions& e = o.export_recording;
  exporter->add_option("recording", e.recording, kRecording)->required();
  exporter
      ->add_option("out", e.out,
                   "File to write; its extension says the kind: .csv, .h5, .glb, .html, .png, .mp4, .gif")
      ->required();
  exporter->add_option("--fps", e.fps, "Frames in a second of .html, .glb, .mp4 and .gif")
      ->capture_default_str();
  exporter->add_option("--from", e.from, "Leave out what comes before this time [s]");
  exporter->add_option("--to", e.to, "Leave out what comes after this time [s]");
  exporter->add_option("--width", e.width, "Of .png, .mp4 and .gif [px]")->capture_default_str();
  exporter->add_option("--height", e.height, "Of .png, .mp4 and .gif [px]")->capture_default_str();
  exporter->add_option("--view", e.view,
                       "Camera and more, such as \'azimuth=30&elevation=20&zoom=1.2&contacts=0\'");

  CLI::App* view = app.add_subcommand("view", "Watch and steer a simulation, or a recording, in a browser");
  view->add_option("what", o.view.what, "Scene file, name of a shipped scene, or recording")->required();
  view->add_option("--record", o.view.record, "Record the live simulation to this file (.capstan or .h5)");
  view->add_option("--dt", o.view.dt, "Time step [s]; default: the scene's");
  view->add_option("--integrator", o.view.integrator, "As for run");
  view->add_option("--contact-law", o.view.contact_law, "As for run");
  view->add_option("--keyframe", o.view.keyframe, "Start from this keyframe of the scene");
  view->add_flag("--paused", o.view.paused, "Wait for the play button");
  view->add_flag("--no-browser", o.view.no_browser, "Do not open a browser, where there is a screen");
  view->add_option("--port", o.view.port, "Port; where it is taken, another one is chosen")
      ->capture_default_str();
  view->add_option("--host", o.view.host, "Address to listen on; others than 127.0.0.1 let other machines in")
      ->capture_default_str();
  view->add_option("--token", o.view.token, "Secret word of the address; default: a random one");

  CLI::App* plot = app.add_subcommand("plot", "Draw columns of a log or a recording over time");
  plot->add_option("log", o.plot.log, "Log (.csv) or recording")->required();
  plot->add_option("--y", o.plot.y, "Columns, or parts of their names, separated by commas: a plot for each")
      ->capture_default_str();
  plot->add_option("--out", o.plot.out, "File to write: .svg, or .png where Chromium is installed")
      ->capture_default_str();

  CLI::App* list = app.add_subcommand("list", "List the scenes that ship with capstan");
  list->add_flag("--paths", o.list.paths, "Their files instead of what they show");

  CLI::App* demo =
      app.add_subcommand("demo", "Simulate some of the shipped scenes; replays, pictures, then one live");
  demo->add_option("--out", o.demo.out, "Folder for recordings, replays and pictures")->capture_default_str();
  demo->add_option("--only", o.demo.only, "Only this scene of it");

  CLI::App* bench = app.add_subcommand("bench", "Measure against the other simulators that are installed");
  bench->add_flag("--quick", o.bench.quick, "About half an hour: the default");
  bench->add_flag("--full", o.bench.full, "Every scene, size, engine and setting: hours");
  bench->add_option("--only", o.bench.only, "Only scenes whose name contains this");
  bench->add_option("--time-limit", o.bench.time_limit,
                    "Time for one run [s]; default: 30, or 60 with --full");
  bench->add_flag("--docs", o.bench.docs, "Write docs/results/benchmarks.md, too");

  CLI::App* experiments =
      app.add_subcommand("experiments", "List the published experiments, or run some and write docs/results");
  experiments->add_option("names", o.experiments.names, "Experiments to run; without any they are listed");
  experiments->add_flag("--all", o.experiments.all, "Run all of them");
  experiments->add_flag("--short", o.experiments.is_short, "In a short form of a few seconds each");
  experiments->add_option("--out", o.experiments.out, "Folder for figures, tables and the page")
      ->capture_default_str();

  CLI::App* robots = app.add_subcommand(
      "robots", "Try every robot file of some folders: does it load, what is not understood, is it stable");
  RobotsOptions& r = o.robots;
  robots->add_option("folders", r.folders, "Folders of MJCF, URDF and SDFormat files")->required();
  robots->add_option("--markdown", r.markdown, "Write the tables to this file instead of printing them");
  robots->add_option("--json", r.json, "Write every result to this file, for programs");
  robots->add_option("--match", r.match, "Only files with this in their path");
  robots->add_option("--note", r.note, "A sentence for the page: where the models are from");
  robots->add_option("--seconds", r.seconds, "Simulated time of each [s]")->capture_default_str();
  robots->add_option("--limit", r.limit, "Wall time that a file may take [s]")->capture_default_str();
  robots->add_flag("--load-only", r.load_only, "Do not simulate");
  robots->add_option("--python", r.python,
                     "Python with the package mujoco, to compare with; default: build/python, or python3");

  CLI::App* gauntlet =
      app.add_subcommand("gauntlet", "Run small scenes with a known answer, and compare with it");
  GauntletOptions& g = o.gauntlet;
  gauntlet->add_option("scenes", g.scenes, "Scenes to run, by name or file; without any all of them");
  gauntlet->add_option("--dt", g.dt, "Time step [s]; default: 0.005");
  gauntlet->add_option("--contact-law", g.contact_law, "As for run; default: that of a scene without one");
  gauntlet->add_option("--integrator", g.integrator, "As for run");
  gauntlet->add_option("--json", g.json, "Write the table to this file, for programs");
  gauntlet->add_option("--trajectory", g.trajectory, "Write the motion of the one scene to this text file");
  gauntlet->add_option("--judge", g.judge,
                       "Judge this text file, the motion of the one scene in another engine, instead");
  gauntlet->add_flag("--list", g.list, "Only list the scenes and what they show");

  CLI::App* compare = app.add_subcommand(
      "compare",
      "Solve the steps of a scene by every model and solver of rigid contact, beside the convex law");
  CompareOptions& m = o.compare;
  compare->add_option("scene", m.scene,
                      "Scene file, name of a shipped scene, or a problem that --dump wrote (.json)");
  compare->add_option("--duration", m.duration, "As for run");
  compare->add_option("--dt", m.dt, "As for run");
  compare->add_option("--contact-law", m.contact_law, "Of the run that the problems come from");
  compare->add_option("--problems", m.problems, "How many of its steps are solved")->capture_default_str();
  compare->add_option("--tolerance", m.tolerance, "Residual that a solver is to reach")
      ->capture_default_str();
  compare->add_option("--max-iterations", m.max_iterations, "Of a solver")->capture_default_str();
  compare->add_option("--model", m.model, "Only this model");
  compare->add_option("--directions", m.directions, "Corners of polyhedral cones")->capture_default_str();
  compare->add_option("--viscosity", m.viscosity, "Of viscous contact [N s/m]")->capture_default_str();
  compare->add_option("--csv", m.csv, "Write residuals over iterations to this file");
  compare->add_option("--svg", m.svg, "Draw them to this file");
  compare->add_option("--dump", m.dump,
                      "Write the problems to this folder, as JSON and in the layout of fclib");
  compare->add_flag("--pairs", m.pairs, "Print which solver takes which model, and stop");
}

// The first word is a command, or an option.
int refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "-";
  if (word.empty() || word[0] == '-') return kOk;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return kOk;
  fmt::print(stderr, "error: there is no command '{}'; {}\n", word.substr(0, 40),
             did_you_mean(word, names, fmt::format("the commands are: {}", fmt::join(names, ", "))));
  return kUsage;
}

// The first of these words that looks like an option and is none of the command's, and what it may have
// meant.
std::string explain_extras(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (int i = 2; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!word.starts_with("--") || std::find(names.begin(), names.end(), word) != names.end()) continue;
    const std::string otherwise = fmt::format("'capstan {} --help' shows all", command.get_name());
    return fmt::format("'{}' has no option '{}'; {}", command.get_name(), word.substr(0, 40),
                       did_you_mean(word, names, otherwise));
  }
  return "";
}

// Of "Could not convert: --dt = x", as CLI11 says it.
std::string explain_conversion(const std::string& text) {
  const auto begin = text.find("--"), equals = text.find(" = ");
  if (begin == std::string::npos || equals == std::string::npos || equals < begin) {
    return text + "; 'capstan COMMAND --help' tells what each option takes";
  }
  return fmt::format(
      "{} is '{}', which is not what it takes; give a number, as 'capstan COMMAND --help' shows",
      text.substr(begin, equals - begin), text.substr(equals + 3));
}

int parse_and_call(int argc, char** argv) {
  CLI::App app("Capstan simulates things that touch.", "capstan");
  app.footer("'capstan COMMAND --help' shows the options of a command; docs/cli.md has the exit codes.");
  app.set_version_flag("--version", std::string("capstan ") + version());
  app.require_subcommand(1);
  AllOptions options;
  add_run(app, options.run);
  add_others(app, options);
  if (const int code = refuse_unknown_command(app, argc, argv); code != kOk) return code;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ConversionError& error) {
    fmt::print(stderr, "error: {}\n", explain_conversion(error.what()));
    return kUsage;
  } catch (const CLI::ExtrasError& error) {
    const std::string text =
        app.get_subcommands().empty() ? "" : explain_extras(*app.get_subcommands().front(), argc, argv);
    if (text.empty()) return app.exit(error) == 0 ? kOk : kUsage;
    fmt::print(stderr, "error: {}\n", text);
    return kUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "run") return run(options.run);
  if (command == "compare") return compare(options.compare);
  if (command == "check") return check(options.check);
  if (command == "convert") return convert(options.convert);
  if (command == "info") return info(options.info);
  if (command == "replay") return replay(options.replay);
  if (command == "export") return export_recording(options.export_recording);
  if (command == "view") return view(options.view);
  if (command == "plot") return plot(options.plot);
  if (command == "contacts") return contacts(options.contacts);
  if (command == "list") return list(options.list);
  if (command == "bench") return bench(options.bench);
  if (command == "experiments") return run_experiments(options.experiments);
  if (command == "robots") return robots(options.robots);
  if (command == "gauntlet") return gauntlet(options.gauntlet);
  return demo(options.demo);
}

// Where a standard stream is closed, the next file to be opened would take its number, and messages would go
// into a log or a recording. What is put there instead cannot be written to, as before.
void occupy_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) != -1) continue;
    if (open("/dev/null", O_RDONLY) != number) std::_Exit(kBug);
  }
}

}  // namespace
}  // namespace capstan::cli

int main(int argc, char** argv) {
  using namespace capstan;
  cli::occupy_standard_streams();
  try {
    const int code = cli::parse_and_call(argc, argv);
    if (std::fflush(stdout) != 0 && code == cli::kOk)
      throw OutputError("standard output", "the write failed");
    return code;
  } catch (const cli::UsageError& error) {
    cli::tell("error: {}\n", error.what());
    return cli::kUsage;
  } catch (const InputError& error) {
    cli::tell("{}\n", error.what());
    return cli::kBadInput;
  } catch (const OutputError& error) {
    cli::tell("{}\n", error.what());
    std::fflush(nullptr);
    std::_Exit(cli::kCannotWrite);  // HDF5 would try again at exit to write what the disk had no room for
  } catch (const std::system_error& error) {  // what fmt throws where the terminal or a pipe takes no more
    cli::tell("error: {}\n", error.what());
    return cli::kCannotWrite;
  } catch (const std::exception& error) {
    cli::tell("error: {}\n", error.what());
    return cli::kBug;
  }
}
