// The convex hull of points as a triangle mesh: what a mesh file with vertices and no faces means.
#pragma once

#include <vector>

#include "capstan/geometry/mesh.h"

namespace capstan {

// Triangles are counter-clockwise seen from outside; each face of the hull is a fan from its first vertex.
// Throws InputError when the points have no volume or are not finite.
TriangleMesh hull_mesh(const std::vector<Vec3>& points);

}  // namespace capstan
