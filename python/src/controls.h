// Controls over time between Python and the library.
#pragma once

#include "capstan/step/schedule.h"
#include "python/src/support.h"

namespace capstan::python {

// Points from a list of dicts with the words of scene files, the path of a table, or None: none.
std::vector<ControlPoint> to_points(const CompiledModel& model, nb::handle object);
std::vector<ControlPoint> read_points(const CompiledModel& model, const std::string& path,
                                      const std::string& interpolate);
nb::typed<nb::list, Things> from_points(const std::vector<ControlPoint>& points);

// Throws InputError.
Schedule to_schedule(const CompiledModel& model, const std::vector<ControlPoint>& points);

}  // namespace capstan::python
