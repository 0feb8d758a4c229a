// Controls over time between Python and the library: a point is a dict with the words of scene files.
#include "python/src/controls.h"

#include <fmt/core.h>

#include <algorithm>

#include "capstan/base/closest_name.h"
#include "capstan/io/controls_csv.h"
#include "capstan/model/mocap.h"

namespace capstan::python {
namespace {

const std::vector<std::string> kKeys = {"time", "interpolate", "keyframe", "control", "force", "surface"};

Interpolation to_interpolation(const std::string& word) {
  for (std::size_t i = 0; i < kInterpolationNames.size(); ++i) {
    if (word == kInterpolationNames[i]) return static_cast<Interpolation>(i);
  }
  raise_value_error(fmt::format("interpolate is '{}'; give 'constant', 'linear' or 'smooth'", word));
}

double number_of(nb::handle value, const std::string& what) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise_value_error(fmt::format("{} is {}; give a number", what, nb::repr(value).c_str()));
  }
  return number;
}

// {name: value}, or nothing where the key is not there.
template <class Take>
void each_entry(const nb::dict& point, const char* key, const std::string& what, const Take& take) {
  if (!point.contains(key)) return;
  const nb::object map = point[key];
  if (!nb::isinstance<nb::dict>(map))
    raise_value_error(fmt::format("{}: {} is no dict; give {{name: value}}", what, key));
  for (const auto& [name, value] : nb::cast<nb::dict>(map)) take(nb::cast<std::string>(nb::str(name)), value);
}

ControlPoint to_point(nb::handle object, const std::string& what) {
  if (!nb::isinstance<nb::dict>(object))
    raise_value_error(fmt::format("{} is {}; give a dict such as {{'time': 1, 'control': {{'motor': 2}}}}",
                                  what, nb::repr(object).c_str()));
  const auto dict = nb::cast<nb::dict>(object);
  for (const auto& [key, value] : dict) {
    const std::string word = nb::cast<std::string>(nb::str(key));
    if (std::find(kKeys.begin(), kKeys.end(), word) == kKeys.end())
      raise_value_error(fmt::format(
          "{} has an unknown key '{}'; {}", what, word,
          did_you_mean(word, kKeys, "known are time, interpolate, keyframe, control, force and surface")));
  }
  if (!dict.contains("time")) raise_value_error(what + " has no time; give 'time': seconds");
  ControlPoint point;
  point.where = {what, 0};
  point.time = number_of(dict["time"], what + ": time");
  if (dict.contains("interpolate"))
    point.interpolation = to_interpolation(nb::cast<std::string>(nb::str(dict["interpolate"])));
  if (dict.contains("keyframe")) point.keyframe = nb::cast<std::string>(nb::str(dict["keyframe"]));
  each_entry(dict, "control", what, [&](const std::string& name, nb::handle value) {
    point.control[name] = number_of(value, fmt::format("{}: control of '{}'", what, name));
  });
  each_entry(dict, "force", what, [&](const std::string& name, nb::handle value) {
    point.force[name] = to_vec3(value, fmt::format("{}: force on '{}'", what, name).c_str());
  });
  each_entry(dict, "surface", what, [&](const std::string& name, nb::handle value) {
    point.surface[name] = number_of(value, fmt::format("{}: surface of '{}'", what, name));
  });
  return point;
}

}  // namespace

std::vector<ControlPoint> read_points(const CompiledModel& model, const std::string& path,
                                      const std::string& interpolate) {
  Diagnostics diagnostics;
  std::vector<std::string> names = model.actuators.list();
  for (std::string& track : mocap_track_names(model.model)) names.push_back(std::move(track));
  std::vector<ControlPoint> points =
      read_controls_csv(path, names, to_interpolation(interpolate), &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return points;
}

std::vector<ControlPoint> to_points(const CompiledModel& model, nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<nb::str>(object) || nb::hasattr(object, "__fspath__"))
    return read_points(model, to_path(object), "linear");
  if (nb::isinstance<nb::dict>(object))
    raise_value_error("the schedule is a dict; give a list of points, one dict for each time");
  std::vector<ControlPoint> points;
  for (const nb::handle point : nb::iter(object))
    points.push_back(to_point(point, fmt::format("point {} of the schedule", points.size())));
  return points;
}

nb::typed<nb::list, Things> from_points(const std::vector<ControlPoint>& points) {
  nb::typed<nb::list, Things> list;
  for (const ControlPoint& point : points) {
    nb::dict dict, control, force, surface;
    dict["time"] = point.time;
    dict["interpolate"] = kInterpolationNames[static_cast<std::size_t>(point.interpolation)];
    if (!point.keyframe.empty()) dict["keyframe"] = point.keyframe;
    for (const auto& [name, value] : point.control) control[name.c_str()] = value;
    for (const auto& [name, value] : point.force) force[name.c_str()] = to_numpy(value);
    for (const auto& [name, value] : point.surface) surface[name.c_str()] = value;
    if (!point.control.empty()) dict["control"] = control;
    if (!point.force.empty()) dict["force"] = force;
    if (!point.surface.empty()) dict["surface"] = surface;
    list.append(dict);
  }
  return list;
}

Schedule to_schedule(const CompiledModel& model, const std::vector<ControlPoint>& points) {
  Diagnostics diagnostics;
  Schedule schedule = make_schedule(model.model, points, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return schedule;
}

}  // namespace capstan::python
