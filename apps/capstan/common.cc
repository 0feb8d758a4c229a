#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "apps/capstan/commands.h"
#include "capstan/base/closest_name.h"
#include "capstan/io/controls_csv.h"
#include "capstan/io/read.h"
#include "capstan/io/recording_hdf5.h"
#include "capstan/io/scene_library.h"
#include "capstan/model/mocap.h"
#include "capstan/step/examine.h"

namespace capstan::cli {

LoadedScene load(const std::string& path_or_name, bool strict) {
  LoadedScene loaded;
  loaded.path = find_scene(path_or_name);
  if (is_recording(loaded.path)) {
    throw InputError(Source{loaded.path, 0}, "this is a recording, not a scene",
                     "give a scene, or use it with view, replay, export, plot or info");
  }
  if (is_hdf5_file(loaded.path)) throw InputError(Source{loaded.path, 0}, kHdf5, kHdf5Remedy);
  loaded.diagnostics.strict = strict;
  loaded.scene = read_scene(loaded.path, &loaded.diagnostics);
  if (loaded.diagnostics.ok()) loaded.model = compile(loaded.scene, &loaded.diagnostics);
  if (!loaded.diagnostics.ok()) throw InputError(std::move(loaded.diagnostics));
  return loaded;
}

Schedule load_schedule(const LoadedScene& loaded, const std::string& table, const std::string& interpolate) {
  int how = interpolate.empty() ? static_cast<int>(Interpolation::linear) : -1;
  for (std::size_t i = 0; i < kInterpolationNames.size(); ++i) {
    if (interpolate == kInterpolationNames[i]) how = static_cast<int>(i);
  }
  if (!interpolate.empty() && table.empty())
    throw UsageError("--interpolate needs --controls FILE.csv; points of a scene have 'interpolate' each");
  if (how < 0) {
    throw UsageError(
        fmt::format("there is no interpolation '{}'; known are constant, linear and smooth", interpolate));
  }
  Diagnostics diagnostics;
  std::vector<std::string> actuators;
  for (const ModelActuator& actuator : loaded.model.actuators) actuators.push_back(actuator.name);
  for (std::string& track : mocap_track_names(loaded.model)) actuators.push_back(std::move(track));
  const std::vector<ControlPoint> points =
      table.empty() ? loaded.scene.controls
                    : read_controls_csv(table, actuators, static_cast<Interpolation>(how), &diagnostics);
  Schedule schedule;
  if (diagnostics.ok()) schedule = make_schedule(loaded.model, points, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return schedule;
}

StepOptions choose_step_options(StepOptions options, const std::optional<double>& dt,
                                const std::string& integrator) {
  if (dt) {
    if (!(*dt > 0) || !std::isfinite(*dt)) {
      throw UsageError(fmt::format("--dt is {:g} s; give a time step above 0, such as 0.005", *dt));
    }
    options.dt = *dt;
  }
  if (!integrator.empty()) {
    const auto found = integrator_from_name(integrator);
    if (!found) {
      std::vector<std::string> names;
      std::string known;
      for (int i = 0; i <= static_cast<int>(Integrator::midpoint); ++i) {
        names.push_back(integrator_name(static_cast<Integrator>(i)));
        known += (i > 0 ? ", " : "") + names.back();
      }
      const std::string near = closest_name(integrator, names);
      throw UsageError(fmt::format("there is no integrator '{}'; {}known are {}", integrator,
                                   near.empty() ? "" : fmt::format("did you mean '{}'? ", near), known));
    }
    options.integrator = *found;
  }
  return options;
}

StepOptions choose_contact_law(StepOptions options, const std::string& name) {
  const std::vector<std::string> names(kContactLawNames.begin(), kContactLawNames.end());
  if (name.empty()) return options;
  for (int i = 0; i < static_cast<int>(names.size()); ++i) {
    if (name != names[i]) continue;
    options.contact.law = static_cast<ContactLaw>(i);
    return options;
  }
  const std::string near = closest_name(name, names);
  throw UsageError(fmt::format(
      "there is no contact law '{}'; {}known are coulomb, sap, lagged, similar, regularized_lagged", name,
      near.empty() ? "" : fmt::format("did you mean '{}'? ", near)));
}

void tell_warnings(const LoadedScene& loaded) {
  constexpr std::size_t kMost = 10;
  const auto& list = loaded.diagnostics.list;
  for (std::size_t i = 0; i < std::min(kMost, list.size()); ++i) tell("{}\n", to_string(list[i]));
  if (list.size() > kMost) {
    tell("... and {} more; 'capstan check {}' lists them all\n", list.size() - kMost, loaded.path);
  }
}

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e7) return "long";
  const long s = std::lround(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace capstan::cli
