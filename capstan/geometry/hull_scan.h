// Scans over all faces or all vertices of a hull, for what no walk over neighbours finds. Where two are equal
// the one of the lower index is meant.
#pragma once

#include <array>

#include "capstan/geometry/convex_hull.h"
#include "capstan/math/transform.h"

namespace capstan {

// The face whose plane p is least below (or farthest above): the largest n_f . p - offset_f.
int nearest_face(const ConvexHull& hull, const Vec3& p);

// Of the vertices that X takes to z >= lowest: how many there are, the first `capacity` of them in
// ascending order.
int find_vertices_above(const ConvexHull& hull, const Transform& X, double lowest, int capacity,
                        int* vertices);

// Of the same: the farthest along each of sixteen directions in x-y, 22.5 degrees apart, then the highest.
// -1: there is none.
constexpr int kScanDirections = 16;
std::array<int, kScanDirections + 1> find_outermost_vertices(const ConvexHull& hull, const Transform& X,
                                                             double lowest);

}  // namespace capstan
