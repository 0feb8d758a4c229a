#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/io/checkpoint.h"
#include "capstan/io/output_file.h"
#include "capstan/io/picture.h"
#include "capstan/io/recording_hdf5.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/step/examine.h"

namespace capstan::cli {
namespace {

constexpr double kMaxSteps = 1e12;
constexpr int kPictureFrames = 6;

void check_options(const RunOptions& o) {
  if (o.step_seconds && (!(*o.step_seconds > 0) || !std::isfinite(*o.step_seconds))) {
    throw UsageError(
        fmt::format("--step-seconds is {:g} s; give a time above 0, such as 1", *o.step_seconds));
  }
  if (o.duration && (!(*o.duration >= 0) || !std::isfinite(*o.duration))) {
    throw UsageError(fmt::format("--duration is {:g} s; give a finite number of 0 or more", *o.duration));
  }
  if (o.threads < 1 || o.threads > 1024) {
    throw UsageError(fmt::format("--threads is {}; give 1 to 1024", o.threads));
  }
  if (o.log_every < 1) throw UsageError(fmt::format("--log-every is {}; give 1 or more steps", o.log_every));
  if (o.record_every && *o.record_every < 1) {
    throw UsageError(fmt::format("--record-every is {}; give 1 or more steps", *o.record_every));
  }
  if (o.record_every && o.record.empty()) throw UsageError("--record-every needs --record FILE to write to");
  const std::filesystem::path record = o.record;
  for (const char* ending : {".mp4", ".gif", ".png", ".svg", ".glb", ".html", ".csv"}) {
    if (record.extension() != ending) continue;
    const std::string plain = std::filesystem::path(record).replace_extension(".capstan");
    throw UsageError(
        fmt::format("--record writes a recording, which is no {} file; give '--record {}', then "
                    "'capstan export {} {}'",
                    ending, plain, plain, o.record));
  }
  const std::filesystem::path picture = o.picture;
  if (!o.picture.empty() && picture.extension() != ".svg") {
    const std::string drawing = std::filesystem::path(picture).replace_extension(".svg"),
                      recording = std::filesystem::path(picture).replace_extension(".capstan");
    throw UsageError(
        fmt::format("--picture draws an SVG file, which '{}' is not by its name; give '--picture {}', or for "
                    "a .png '--record {}', then 'capstan export {} {}'",
                    o.picture, drawing, recording, recording,
                    picture.extension() == ".png" ? o.picture : picture.stem().string() + ".png"));
  }
  if (!(o.checkpoint_every >= 0) || !std::isfinite(o.checkpoint_every)) {
    throw UsageError(
        fmt::format("--checkpoint-every is {:g} s; give a finite number above 0", o.checkpoint_every));
  }
  if (o.checkpoint_every > 0 && o.checkpoint.empty()) {
    throw UsageError("--checkpoint-every needs --checkpoint FILE to write to");
  }
  if (!o.resume.empty() && !o.keyframe.empty()) {
    throw UsageError("--resume and --keyframe both say where to start; give one of them");
  }
}

// No output may replace an input, nor another output.
void check_paths(const RunOptions& o, const std::string& scene_path) {
  const std::pair<const char*, const std::string&> outputs[] = {{"--log", o.log},
                                                                {"--contact-log", o.contact_log},
                                                                {"--record", o.record},
                                                                {"--checkpoint", o.checkpoint},
                                                                {"--picture", o.picture}};
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    for (const std::string& input : {scene_path, o.resume, o.controls}) {
      if (!input.empty() && same_file(path, input)) {
        throw UsageError(
            fmt::format("{} would overwrite the input file '{}'; choose another name", option, input));
      }
    }
    for (const auto& [other, other_path] : outputs) {
      if (option != other && path == other_path) {
        throw UsageError(fmt::format("{} and {} name the same file '{}'", option, other, path));
      }
    }
  }
}

std::string vector_text(const Vec3& v) {
  return fmt::format("({:.6g}, {:.6g}, {:.6g})", v.x(), v.y(), v.z());
}

// What the judge found in the worst step, number by number.
void print_judge(const Residual& r, const StepOptions& step) {
  fmt::print("  worst step, as the judge sees it\n");
  const auto row = [](const char* name, double value, const char* what) {
    fmt::print("    {:<22}{:<11.2e}{}\n", name, value, what);
  };
  row("momentum e_m", r.momentum, "relative");
  if (traits(step.contact.law).is_projection) row("complementarity e_mu", r.complementarity, "relative");
  row("law", r.law, "impulses against those of the contact law, relative");
  row("cone violation", r.cone_violation, "N s beyond mu times the normal impulse");
  row("penetration", r.penetration, "m at the end of the step");
  row("slip within the cone", r.stick_slip, "m/s where friction had more to give");
  row("friction gains", r.friction_gain, "J in a step at one contact; above 0 would be energy from nothing");
  row("friction takes", r.dissipated_power, "W");
}

// What the sensors of the scene, which are the first, read after the last step.
void print_sensors(const SensorSet& set, std::size_t num_sensors, const VecX& values) {
  constexpr std::size_t kMost = 12;
  if (num_sensors == 0 || values.size() == 0) return;
  fmt::print("  sensors at the end\n");
  for (std::size_t i = 0; i < std::min(num_sensors, kMost); ++i) {
    const SensorSet::Entry& e = set.entries[i];
    std::string text;
    for (int n = 0; n < e.size; ++n) text += fmt::format("{}{:.6g}", n ? ", " : "", values[e.begin + n]);
    fmt::print("    {:<22}{} {}\n", e.name, e.size == 1 ? text : "(" + text + ")", e.unit);
  }
  if (num_sensors > kMost) fmt::print("    and {} more; --log FILE has all\n", num_sensors - kMost);
}

// Of soft bodies parts of which are inside out at the end.
void tell_inverted(const Model& model, const State& state) {
  for (const int id : find_soft_bodies(model)) {
    const Object& object = model.objects[id];
    const SoftBody& body = soft_body_of(model, id);
    const SoftStrain strain = body.calc_strain(state.q.segment(object.q_begin, object.num_positions()));
    if (strain.inverted == 0) continue;
    tell("warning: soft body '{}' is inside out at {} of its points at t = {:g} s; {}\n",
         soft_body_name(model, id), strain.inverted, state.time,
         body.spec().elasticity == Elasticity::neo_hookean ? "make the time step or its cells smaller"
                                                           : "elasticity neo_hookean pushes them back");
  }
}

// Laws that lag take friction from the step before.
void tell_lagging(const StepOptions& step, const Summary& s) {
  const ContactLaw law = step.contact.law;
  if (!(s.mean_contacts > 0) || !traits(law).lags || s.out_of_cone == 0) return;
  fmt::print(
      "  In {} of {} steps friction was far more than friction coefficient times normal force. The law {} "
      "takes\n  the normal force of the step before, which an impact changes. '--contact-law coulomb' takes "
      "that "
      "of the step itself.\n",
      s.out_of_cone, s.num_steps, traits(law).name);
}

// Law coulomb, where no friction was found that fits the normal forces of the same step.
void tell_unsettled(const Model& model, const Summary& s) {
  constexpr double kWorthTelling = 0.005;  // of all steps
  if (!(static_cast<double>(s.unsettled) > kWorthTelling * static_cast<double>(s.num_steps))) return;
  const bool has_patches = std::any_of(model.shapes.begin(), model.shapes.end(), [](const ModelShape& shape) {
    return shape.field != nullptr && shape.patch_points == 0;
  });
  fmt::print(
      "  In {} of {} steps a contact's friction was not what Coulomb's law asks for, by up to {:.0f} % of\n"
      "  its force: bodies wedge each other, or many of them share a load. The log has it as\n"
      "  friction.violation; {} may help.\n",
      s.unsettled, s.num_steps, 100 * s.cone_violation,
      has_patches ? "'patch_points: 6' on the shapes with patches, or a smaller '--dt',"
                  : "a smaller '--dt'");
}

// What is held or touched is not told right beyond a radian in a step (dynamics/free_turn.h).
void tell_turning(const Model& model, const StepOptions& step, const Summary& s) {
  if (!(s.fastest.angle > 1)) return;
  tell(
      "warning: body '{}' turns by {:.2g} rad in a step (t = {:g} s; of a body of revolution, its axis). "
      "What "
      "is touched or held and turns by\n  more than 1 rad in a step does not move right, and above 0.3 rad "
      "it "
      "may sink or lose energy: '--dt {:.1g}'\n",
      model.bodies[model.links[s.fastest.link].body].name, s.fastest.angle, s.fastest.time,
      step.dt * 0.3 / s.fastest.angle);
}

// What people ask first, in a few lines.
void print_short_summary(const LoadedScene& loaded, const StepOptions& step, const Summary& s,
                         const State& state) {
  const std::string name = loaded.model.name.empty() ? loaded.path : loaded.model.name;
  fmt::print("{}: {:g} s simulated in {:.2f} s, {:.3g} times as fast as the clock ({} steps of {:g} s)\n",
             name, s.simulated, s.wall, s.simulated / std::max(s.wall, 1e-9), s.num_steps, step.dt);
  if (step.rigid.is_on) {
    fmt::print("  rigid contact         {}; not judged\n", rigid_text(step.rigid));
  } else {
    const std::string all = s.not_converged > 0 ? fmt::format("all but {} steps balance", s.not_converged)
                                                : "every step balances";
    std::string touching = "; nothing touched";
    if (s.mean_contacts > 0)
      touching = fmt::format("; {:.0f} contacts on average, at most {:.3g} mm deep", s.mean_contacts,
                             1e3 * s.deepest);
    const std::string how =
        s.max_residual > 0 ? fmt::format("to {:.0e} of them or better", s.max_residual) : "exactly";
    fmt::print("  {} forces {}{}\n", all, how, touching);
  }
  fmt::print("  energy                {:.6g} J at the start, {:.6g} J at the end\n", s.start.total(),
             s.end.total());
  if (step.sleep.on)
    fmt::print("  asleep                {} of {} at the end\n", s.asleep, loaded.model.num_objects());
  fmt::print("  hash of final state   {:016x}\n", hash(state));
}

void print_summary(const LoadedScene& loaded, const StepOptions& step, const Summary& s, const State& state) {
  const auto row = [](const char* name, const std::string& value) {
    fmt::print("  {:<22}{}\n", name, value);
  };
  fmt::print("{}: {} dofs, integrator {}, dt {:g} s\n",
             loaded.model.name.empty() ? loaded.path : loaded.model.name, loaded.model.num_velocities(),
             integrator_name(step.integrator), step.dt);
  if (step.rigid.is_on) row("rigid contact", rigid_text(step.rigid) + "; not judged");
  row("simulated time", fmt::format("{:g} s, to t = {:g} s", s.simulated, state.time));
  row("wall time", fmt::format("{:.3f} s", s.wall));
  row("processor time", fmt::format("{:.6f} s", s.processor));
  row("real-time factor", fmt::format("{:.3g}", s.simulated / std::max(s.wall, 1e-9)));
  row("steps", fmt::format("{}", s.num_steps));
  row("time per step", fmt::format("mean {:.2f} us, max {:.2f} us", 1e6 * s.mean_step, 1e6 * s.max_step));
  const auto share = [&](double seconds) { return 100 * seconds / std::max(s.times.total(), 1e-12); };
  row("where it went",
      fmt::format(
          "free motion {:.0f} %, collision {:.0f} %, assembly {:.0f} %, solver {:.0f} %, judge {:.0f} %, "
          "rest {:.0f} %",
          share(s.times.free_motion), share(s.times.collide), share(s.times.assemble), share(s.times.solve),
          share(s.times.judge), share(s.times.advance)));
  row("energy", fmt::format("{:.9g} J at the start, {:.9g} J at the end", s.start.total(), s.end.total()));
  row("linear momentum", vector_text(s.end.momentum.tail<3>()) + " N s");
  row("angular momentum", vector_text(s.end.momentum.head<3>()) + " N m s");
  row("largest residual", fmt::format("{:.2e}, in at most {} iterations", s.max_residual, s.max_iterations));
  if (s.mean_contacts > 0) {
    row("contacts", fmt::format("{:.1f} on average, {:.2f} iterations, deepest {:.3f} mm", s.mean_contacts,
                                s.mean_iterations, 1e3 * s.deepest));
    if (step.judge && !step.rigid.is_on) print_judge(s.judge, step);
  }
  if (step.sleep.on) {
    const bool only_trees = loaded.model.num_objects() == static_cast<int>(loaded.model.trees.size());
    row("asleep", fmt::format("{:.1f} {} on average, {} at the end, of {}", s.mean_asleep,
                              only_trees ? "trees" : "trees and rods", s.asleep, loaded.model.num_objects()));
  }
  if (s.not_converged > 0)
    row("not converged", fmt::format("{} steps went on with the best iterate", s.not_converged));
  row("hash of final state", fmt::format("{:016x}", hash(state)));
}

}  // namespace

// What 'capstan check' would warn of, in a line: a step of 2 s is not to go by in silence.
static void tell_mistakes(const LoadedScene& loaded, const StepOptions& step) {
  Diagnostics found;
  examine(loaded.scene, loaded.model, step, &found);
  if (found.list.empty()) return;
  tell("{}\n", to_string(found.list[0]));
  if (found.list.size() > 1)
    tell("... and {} more that 'capstan check {}' tells\n", found.list.size() - 1, loaded.path);
}

int run(const RunOptions& options) {
  check_options(options);
  choose_step_options({}, options.dt, options.integrator);
  choose_contact_law({}, options.contact_law);  // wrong options are told before a scene is read
  choose_rigid({}, options.rigid);
  if (!options.rigid.model.empty() && !options.contact_law.empty())
    throw UsageError("--model takes the place of a contact law; leave --contact-law or --model out");
  if (!options.rigid.model.empty() && !(options.checkpoint.empty() && options.resume.empty()))
    throw UsageError(
        "checkpoints do not know rigid models; leave --model, or --checkpoint and --resume out. A recording "
        "(--record) tells model and solver");
  const LoadedScene loaded = load(options.scene, options.strict);
  const Model& model = loaded.model;
  check_paths(options, loaded.path);
  tell_warnings(loaded);
  const Schedule schedule = load_schedule(loaded, options.controls, options.interpolate);
  const SensorSet sensors = logged_sensors(model, loaded.scene);

  Checkpoint checkpoint{step_options(model), 0, model.options.duration, {}};
  long steps_taken = 0;
  if (!options.resume.empty()) {
    checkpoint = read_checkpoint(options.resume, model);
    steps_taken = checkpoint.state.step;
  } else {
    checkpoint.state =
        options.keyframe.empty() ? initial_state(model) : keyframe_state(model, options.keyframe);
    checkpoint.start_time = checkpoint.state.time;
  }
  const double dt_before = checkpoint.options.dt;
  checkpoint.options = choose_contact_law(
      choose_step_options(checkpoint.options, options.dt, options.integrator), options.contact_law);
  checkpoint.options = choose_rigid(checkpoint.options, options.rigid);
  checkpoint.options.threads = options.threads;
  checkpoint.options.most_seconds = options.step_seconds.value_or(kInfinity);
  if (options.sleep) checkpoint.options.sleep.on = *options.sleep;
  if (options.keep_going) checkpoint.options.fail_if_not_converged = false;
  if (checkpoint.options.dt != dt_before && !options.resume.empty()) steps_taken = -1;
  if (options.duration) checkpoint.duration = *options.duration;
  const StepOptions& step = checkpoint.options;
  if (options.resume.empty()) tell_mistakes(loaded, step);
  if (checkpoint.duration / step.dt > kMaxSteps) {
    throw UsageError(fmt::format("{:g} s in steps of {:g} s are {:.1e} steps; at most {:.0e} are possible",
                                 checkpoint.duration, step.dt, checkpoint.duration / step.dt, kMaxSteps));
  }
  State& state = checkpoint.state;
  const long num_steps =
      count_steps(checkpoint.start_time, checkpoint.duration, step.dt, state.time, steps_taken);
  if (num_steps == 0 && !options.resume.empty()) {
    tell("note: '{}' is already at the end, t = {:g} s; give a longer --duration to go on\n", options.resume,
         state.time);
  }

  std::optional<RecordingHeader> header;  // made before any file is touched: it may refuse the scene
  if (!options.record.empty() && !is_hdf5_name(options.record)) {
    header =
        recording_header(loaded.scene, model, loaded.path, step, static_cast<double>(num_steps) * step.dt);
  }
  const std::unique_ptr<Log> log =
      options.log.empty()
          ? nullptr
          : open_log(options.log, log_header(model, loaded.path, step, sensor_columns(sensors)));
  std::unique_ptr<Recorder> recording;
  if (is_hdf5_name(options.record)) {
    recording = std::make_unique<Hdf5Recorder>(options.record, model, loaded.path, step, sensors);
  } else if (header) {
    recording = std::make_unique<RecordingWriter>(options.record, model, *header);
  }
  if (!options.checkpoint.empty()) write_checkpoint(options.checkpoint, model, checkpoint);
  ProgressLine progress(model.name, static_cast<double>(num_steps) * step.dt, !options.quiet);
  std::optional<ContactLog> contact_log;
  if (!options.contact_log.empty()) contact_log.emplace(options.contact_log);
  Hooks hooks;
  hooks.log = log.get();
  hooks.schedule = schedule.empty() ? nullptr : &schedule;
  hooks.sensors = sensors.entries.empty() ? nullptr : &sensors;
  hooks.contact_log = contact_log ? &*contact_log : nullptr;
  hooks.log_every = options.log_every;
  hooks.recording = recording.get();
  hooks.record_every = options.record_every.value_or(default_record_every(step.dt));
  if (options.checkpoint_every > 0) {
    hooks.checkpoint_every = std::max(1L, std::lround(options.checkpoint_every / step.dt));
  }
  hooks.checkpoint = [&](const State&) { write_checkpoint(options.checkpoint, model, checkpoint); };
  hooks.progress = [&](double fraction) { progress.draw(fraction); };
  hooks.num_frames = options.picture.empty() ? 0 : kPictureFrames;

  const StopOnSignal stop_on_signal;
  Summary summary;
  try {
    summary = simulate(model, step, num_steps, hooks, &state);
  } catch (const OutputError&) {  // the log's disk is full: what was computed need not be lost with it
    if (!options.checkpoint.empty()) write_checkpoint(options.checkpoint, model, checkpoint);
    throw;
  }
  progress.clear();
  if (log) log->close();
  if (contact_log) contact_log->close();
  if (recording) recording->close();
  if (!options.checkpoint.empty()) write_checkpoint(options.checkpoint, model, checkpoint);
  if (!options.picture.empty()) write_file(options.picture, draw_picture(model, summary.frames));

  if (!options.quiet) {
    if (options.verbose) {
      print_summary(loaded, step, summary, state);
    } else {
      print_short_summary(loaded, step, summary, state);
    }
    tell_unsettled(loaded.model, summary);
    tell_lagging(step, summary);
    print_sensors(sensors, loaded.scene.sensors.size(), summary.sensed);
    if (log) fmt::print("  {:<22}{}, {} rows\n", "log", options.log, log->num_rows());
    if (contact_log)
      fmt::print("  {:<22}{}, {} rows\n", "contact log", options.contact_log, contact_log->num_rows());
    if (recording) {
      fmt::print("  {:<22}{}, {} frames, {:.2f} MB\n", "recording", options.record, recording->num_frames(),
                 1e-6 * static_cast<double>(recording->bytes()));
    }
    if (!options.checkpoint.empty()) fmt::print("  {:<22}{}\n", "checkpoint", options.checkpoint);
    if (!options.picture.empty()) fmt::print("  {:<22}{}\n", "picture", options.picture);
  }
  tell_inverted(model, state);
  tell_turning(model, step, summary);
  if (!summary.failure.empty()) {
    tell("error: {}\n", summary.failure);
    return kStepFailed;
  }
  if (summary.signal != 0) {
    tell("stopped at t = {:g} s{}{}\n", state.time, summary.in_step ? ", within a step" : "",
         options.checkpoint.empty()
             ? ""
             : fmt::format("; go on with: capstan run {} --resume {}", options.scene, options.checkpoint));
    return 128 + summary.signal;
  }
  return kOk;
}

}  // namespace capstan::cli
