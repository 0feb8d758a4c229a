// Controls over time without code: points in time, each with the controls that hold there.
//
// Each actuator has a track: the points that name it, in the order of time. Before the first of them its
// control is that of the start of the run, after the last one it stays. Between two of them the later one
// says how it is reached:
//
//   constant   the control of the earlier point until then, and a jump
//   linear     a straight line
//   smooth     s = 3 x^2 - 2 x^3 of the way after x of the time: no speed at either end
//
// Forces on bodies and the speeds of moving surfaces (belts) have tracks of the same kind, with no force and
// the speed of the file before the first point.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/math/types.h"

namespace capstan {

enum class Interpolation { constant, linear, smooth };
inline constexpr std::array<const char*, 3> kInterpolationNames = {"constant", "linear", "smooth"};

struct ControlPoint {
  Source where;
  double time = 0;  // [s]
  Interpolation interpolation = Interpolation::linear;
  std::string keyframe;                   // its controls; "": none
  std::map<std::string, double> control;  // by actuator; wins over the keyframe's
  std::map<std::string, Vec3> force;      // [N] by body, world axes, at its centre of mass
  std::map<std::string, double> surface;  // by shape: factor of its surface_velocity and surface_spin
};

}  // namespace capstan
