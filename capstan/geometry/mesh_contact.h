// Contacts of a convex shape with a triangle mesh or a height field.
//
// Each triangle near the shape is a flat convex body T. Where the shape C touches it, the normal must be one
// that the whole surface allows there, or an object sliding over a flat floor would trip over its inner
// edges:
//   face     the face normal,
//   edge     n with n.m1 >= 0 and n.m2 >= 0, m1 and m2 pointing out of the two faces, in their planes, across
//            the edge: an arc for a convex edge, the face normal alone for a flat one, nothing for a concave
//            one,
//   vertex   n with n.e <= 0 for every edge e that leaves the vertex.
// A closest direction (or least penetration) that is not allowed belongs to a neighbour; then T answers with
// its face normal for the part of C that lies over it, or along the arc of a convex edge. A closed mesh and
// the ground of a height field are solid: normals point out, faces seen from behind are passed over, and a
// shape whose centre is inside is driven to the nearest surface. An open mesh is a sheet with two sides, C
// being on the side where its centre is.
//
// Limits: on a mesh of one triangle, or of a convex polyhedron, penetration is that of T and C alone, so C
// should not be sunk deeper than half its size.
#pragma once

#include <vector>

#include "capstan/geometry/collider.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/geometry/mesh_bvh.h"
#include "capstan/math/transform.h"

namespace capstan {

// Appends the contacts of C (convex; A of the result) and the mesh (B of the result) within the margin,
// reduced to at most eight, mostly four, for each patch of like normals.
void collide_mesh(const Collider& C, const Transform& X_WC, const MeshBvh& bvh, const Transform& X_WM,
                  double margin, std::vector<ContactPoint>* contacts);

// May the surface push along n (unit, away from the surface) at this feature of the triangle?
bool is_allowed_normal(const MeshBvh& bvh, int triangle, TriangleFeature feature, const Vec3& n);

}  // namespace capstan
