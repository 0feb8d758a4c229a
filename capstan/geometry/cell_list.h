// How cells are put together: begin one, then give it its planes. Internal to geometry/
// and contacts/.
#pragma once

#include "capstan/geometry/pressure_field.h"

namespace capstan {

inline PressureCell& begin_cell(const Vec3& gradient, double value, CellList* list) {
  const int first = static_cast<int>(list->planes.size());
  return list->cells.emplace_back(PressureCell{gradient, value, {}, first, first});
}

// n need not be unit.
inline void add_cell_plane(const Vec3& n, double d, CellList* list) {
  const double length = n.norm();
  list->planes.push_back({n / length, d / length});
  list->cells.back().end = static_cast<int>(list->planes.size());
}

}  // namespace capstan
