#include "capstan/step/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "capstan/base/closest_name.h"
#include "capstan/math/rotation.h"
#include "capstan/step/mocap.h"

namespace capstan {

namespace {

template <class T>
int index_of(const std::vector<T>& things, const std::string& name) {
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> names;
  for (const T& thing : things) names.push_back(thing.name);
  return names;
}

struct Maker {
  const Model& model;
  Diagnostics& diagnostics;
  std::map<int, Schedule::Track> controls = {}, forces = {}, surfaces = {}, mocap = {};

  template <class T>
  int find(const ControlPoint& point, const std::vector<T>& things, const char* kind,
           const std::string& name) {
    const int index = index_of(things, name);
    if (index < 0) {
      diagnostics.error(
          point.where, fmt::format("the controls at {:g} s name the unknown {} '{}'", point.time, kind, name),
          did_you_mean(name, names_of(things), name_one_of(names_of(things), kind)));
    }
    return index;
  }

  void add(std::map<int, Schedule::Track>* tracks, int index, const ControlPoint& point, const Vec3& value,
           const std::string& what) {
    if (index < 0) return;
    if (!value.allFinite()) {
      diagnostics.error(point.where, fmt::format("{} at {:g} s is not finite", what, point.time),
                        "write finite numbers");
      return;
    }
    Schedule::Track& track = (*tracks)[index];
    track.index = index;
    track.knots.push_back({point.time, point.interpolation, value});
  }

  void add_point(const ControlPoint& point) {
    std::map<int, double> control;
    if (!point.keyframe.empty()) {
      const int key = find(point, model.keyframes, "keyframe", point.keyframe);
      for (std::size_t a = 0; key >= 0 && a < model.actuators.size(); ++a)
        control[static_cast<int>(a)] = model.keyframes[key].control[static_cast<Eigen::Index>(a)];
    }
    for (const auto& [name, value] : point.control) {
      if (const MocapTrackName track = find_mocap_track(model, name); track.body >= 0) {
        add(&mocap, 6 * track.body + track.track, point, Vec3(value, 0, 0), "'" + name + "'");
        continue;
      }
      if (const int a = find(point, model.actuators, "actuator", name); a >= 0) control[a] = value;
    }
    for (const auto& [a, value] : control)
      add(&controls, a, point, Vec3(value, 0, 0), "control of actuator '" + model.actuators[a].name + "'");
    for (const auto& [name, value] : point.force) {
      const int body = find(point, model.bodies, "body", name);
      if (body >= 0 && model.bodies[body].link == 0) {
        diagnostics.error(point.where, fmt::format("a force acts on body '{}', which does not move", name),
                          "name a body with a joint");
        continue;
      }
      add(&forces, body, point, value, "force on body '" + name + "'");
    }
    for (const auto& [name, value] : point.surface) {
      const int shape = find(point, model.shapes, "shape", name);
      if (shape >= 0 && !model.shapes[shape].has_moving_surface) {
        diagnostics.error(
            point.where, fmt::format("shape '{}' has no moving surface to control", name),
            "give it a surface_velocity or surface_spin: what is written here is a factor of it");
        continue;
      }
      add(&surfaces, shape, point, Vec3(value, 0, 0), "surface of shape '" + name + "'");
    }
  }
};

std::vector<Schedule::Track> listed(const std::map<int, Schedule::Track>& tracks) {
  std::vector<Schedule::Track> list;
  for (const auto& [index, track] : tracks) list.push_back(track);
  return list;
}

// The centre of mass of a body's link: bodies that are welded together move as one.
Vec3 center_of(const Model& model, const Placement& placement, int body) {
  const int link = model.bodies[body].link;
  return placement.X_WL[link] * model.links[link].com;
}

}  // namespace

Schedule make_schedule(const Model& model, const std::vector<ControlPoint>& points,
                       Diagnostics* diagnostics) {
  Maker maker{model, *diagnostics};
  double before = -kInfinity;
  for (const ControlPoint& point : points) {
    if (!std::isfinite(point.time) || point.time < before) {
      diagnostics->error(
          point.where,
          std::isfinite(point.time)
              ? fmt::format("the controls at {:g} s come after those at {:g} s", point.time, before)
              : std::string("the time of controls is not finite"),
          "write them in the order of time");
      continue;
    }
    before = point.time;
    maker.add_point(point);
  }
  return {listed(maker.controls), listed(maker.forces), listed(maker.surfaces), listed(maker.mocap)};
}

std::optional<Vec3> value_at(const Schedule::Track& track, double time) {
  const auto& knots = track.knots;
  const auto next = std::upper_bound(knots.begin(), knots.end(), time,
                                     [](double t, const Schedule::Knot& knot) { return t < knot.time; });
  if (next == knots.begin()) return std::nullopt;
  const Schedule::Knot& a = *(next - 1);
  if (next == knots.end() || next->interpolation == Interpolation::constant) return a.value;
  const double x = (time - a.time) / (next->time - a.time);
  const double s = next->interpolation == Interpolation::smooth ? x * x * (3 - 2 * x) : x;
  return a.value + s * (next->value - a.value);
}

void aim_scheduled_mocap(const Model& model, const Schedule& schedule, double dt, const State& state,
                         Input* input) {
  const double end = state.time + dt;
  for (std::size_t first = 0, next; first < schedule.mocap.size(); first = next) {
    const int body = schedule.mocap[first].index / 6;
    const Link& link = model.links[model.bodies[body].link];
    const Stage& stage = model.stages[link.stage_begin];
    Transform X_WB =
        link.X_PL * Transform{rotation_matrix(state.q.segment<4>(stage.q + 3)), state.q.segment<3>(stage.q)};
    bool is_aimed = false;
    std::optional<Vec3> turn;
    for (next = first; next < schedule.mocap.size() && schedule.mocap[next].index / 6 == body; ++next) {
      const auto value = value_at(schedule.mocap[next], end);
      if (!value) continue;
      is_aimed = true;
      const int track = schedule.mocap[next].index % 6;
      if (track < 3) {
        X_WB.p[track] = value->x();
        continue;
      }
      if (!turn) turn = Vec3::Zero();
      (*turn)[track - 3] = value->x();
    }
    if (turn) X_WB.R = rotation_matrix(quat_exp(*turn));
    if (is_aimed) aim_mocap(model, state, body, X_WB, dt, input);
  }
}

void apply_schedule(const Model& model, const Schedule& schedule, double dt, State* state, Input* input) {
  const double time = state->time + dt / 2;
  aim_scheduled_mocap(model, schedule, dt, *state, input);
  for (const Schedule::Track& track : schedule.controls) {
    if (const auto value = value_at(track, time)) state->control[track.index] = value->x();
  }
  if (!schedule.surfaces.empty()) {
    const auto n = static_cast<Eigen::Index>(model.shapes.size());
    if (input->surface_scale.size() != n) input->surface_scale.setOnes(n);
    for (const Schedule::Track& track : schedule.surfaces) {
      if (const auto value = value_at(track, time)) input->surface_scale[track.index] = value->x();
    }
  }
  if (schedule.forces.empty()) return;
  input->body_forces.clear();
  Placement placement = make_placement(model);
  calc_placement(model, state->q, &placement);
  for (const Schedule::Track& track : schedule.forces) {
    const auto value = value_at(track, time);
    if (!value || value->isZero(0)) continue;
    input->body_forces.push_back(
        {track.index, center_of(model, placement, track.index), *value, Vec3::Zero()});
  }
}

}  // namespace capstan
