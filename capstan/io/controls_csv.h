// Controls over time from a table: `capstan run --controls FILE.csv`.
#pragma once

#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/scene/controls.h"

namespace capstan {

// The first line names the columns: `time`, then some of `actuators`. A unit in brackets after a name is left
// out. A log will do: where a column is "NAME.control", those are read and all others left out. Each further
// line is a point; a field with nothing in it leaves that actuator out of the point. Lines that begin with #
// are comments. Problems are told with file and line.
std::vector<ControlPoint> read_controls_csv(const std::string& path,
                                            const std::vector<std::string>& actuators,
                                            Interpolation interpolation, Diagnostics* diagnostics);

}  // namespace capstan
