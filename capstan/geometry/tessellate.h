// Shapes as flat facets, for drawing. Not used for physics.
#pragma once

#include <vector>

#include "capstan/geometry/shape.h"

namespace capstan {

// Convex polygons, counter-clockwise seen from outside.
struct Facets {
  std::vector<Vec3> vertices;           // [m] in the frame of the shape
  std::vector<std::vector<int>> faces;  // indices into vertices
};

// `segments` facets around a round shape (at least 4), half as many from pole to pole; flat faces of boxes
// are cut into a few cells so that they can be sorted by depth. All vertices of round shapes are on their
// surface. A half space has no facets.
Facets tessellate(const Shape& shape, int segments);

}  // namespace capstan
