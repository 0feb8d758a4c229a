// What a log tells of soft bodies, from a state alone.
//
//   jelly.energy [J]             elastic
//   jelly.volume [m^3]
//   jelly.strain                 the largest change of a length, of all elements: |s - 1| of singular values
//   jelly.stress [Pa]            the largest of von Mises' at its nodes (SoftBody::calc_von_mises())
//   jelly.pressure [Pa]          of a sealed gas, above that around it
//   jelly.gas_volume [m^3]       that gas's; `volume` is that of the solid
//   jelly.x, jelly.y, jelly.z    [m] its centre of mass
#pragma once

#include <span>

#include "capstan/io/log.h"

namespace capstan {

std::vector<LogColumn> soft_body_columns(const Model& model);

// The numbers for those columns.
void calc_soft_body_numbers(const Model& model, const State& state, std::span<double> numbers);

}  // namespace capstan
