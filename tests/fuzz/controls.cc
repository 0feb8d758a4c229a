// A table of controls (`capstan run --controls`): points of known actuators, finite and in the order of time,
// or an error with its line.
#include "capstan/io/controls_csv.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

using namespace capstan;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  return fuzz::mutate_text_in_place(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const std::string path = fuzz::file_of("table.csv", {reinterpret_cast<const char*>(data), size});
  const std::vector<ControlPoint> points =
      read_controls_csv(path, {"push", "b,c"}, Interpolation::linear, &diagnostics);
  if (!diagnostics.ok()) return 0;
  fuzz::require(!points.empty(), "neither points nor an error");
  double before = -kInfinity;
  for (const ControlPoint& point : points) {
    fuzz::require(std::isfinite(point.time) && point.time >= before, "points out of order");
    before = point.time;
    for (const auto& [name, value] : point.control) {
      fuzz::require(name == "push" || name == "b,c", "a control of an unknown actuator");
      fuzz::require(std::isfinite(value), "a control that is not finite");
    }
  }
  return 0;
}
