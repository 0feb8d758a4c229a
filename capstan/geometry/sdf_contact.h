// Contacts of a signed-distance grid (A) with the surface of a mesh (B): non-convex against non-convex.
//
//   x* = argmin over x in triangle of s_A(x)       (Contact course 2.3.2, after Macklin et al. 2020)
//
// Triangles of B larger than two cells are cut across their longest side until they are not, so that a large
// face has a point wherever it comes near A; parts with s(centroid) - radius above the margin are passed over
// (s is 1-Lipschitz). On each part x moves down the gradient, projected back to the triangle; vertices, edges
// and faces are all found this way. The contact is then made exact: p_A is the closest point of A's mesh to
// x* = p_B, the distance is signed, the normal is the direction between them (the normal of A's feature where
// they coincide).
//
// Points that only lie on the slope towards a deeper one nearby are dropped: what stays are local minima, and
// all of a face that lies flat.
//
// Convex shapes meet the mesh of the grid through collide_mesh(), which needs no grid.
#pragma once

#include <vector>

#include "capstan/geometry/contact_point.h"
#include "capstan/geometry/sdf_grid.h"
#include "capstan/math/transform.h"

namespace capstan {

// Appends contacts with the surface of `mesh` within the margin, reduced to at most eight, mostly four, for
// each patch of like normals. A of the results is the grid.
void collide_sdf_mesh(const SdfGrid& grid, const Transform& X_WA, const MeshBvh& mesh, const Transform& X_WB,
                      double margin, std::vector<ContactPoint>* contacts);

// Two grids: the triangles of each against the other.
void collide_sdf_sdf(const SdfGrid& A, const Transform& X_WA, const SdfGrid& B, const Transform& X_WB,
                     double margin, std::vector<ContactPoint>* contacts);

// x* on the triangle (a, b, c), in the frame of the grid, started from its centroid and its vertices. Returns
// s(x*).
double minimize_on_triangle(const SdfGrid& grid, const Vec3& a, const Vec3& b, const Vec3& c, Vec3* x);

}  // namespace capstan
