// What a log tells of rods, from a state alone.
//
//   rope.tension.least, rope.tension.most [N]   elastic, of all edges; negative where it is pushed
//   rope.curvature [1/m], rope.twist [rad/m]    the largest of all joints
//   rope.energy [J]                             of stretch, bend and twist
//   rope.first.x ... rope.last.z [m]            its ends; a closed rod has the first node only
#pragma once

#include <span>

#include "capstan/io/log.h"

namespace capstan {

std::vector<LogColumn> rod_columns(const Model& model);

// The numbers for those columns.
void calc_rod_numbers(const Model& model, const State& state, std::span<double> numbers);

}  // namespace capstan
