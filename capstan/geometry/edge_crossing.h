// Where two edges of soft surfaces touch: in one point each, between their ends, with a normal that both can
// have.
//
// At a convex edge the surface has all normals between those of its two faces, n = a n_0 + b n_1 with a, b
// not negative; at a concave one none. Two edges touch with the normal n (from A to B) across both where n is
// one of A and -n one of B. Without that, the edges of two boxes that stand on each other nearly in line
// would push each other aside.
//
// Edges are as thick as their capsules, all of them, where that is so; they get thinner, down to lines, as it
// ceases to be: as the sharper of the two gets flat (from a bend of 29 to one of 10 degrees), as they get
// parallel (11 to 6 degrees), as n gets out of their normals (by up to 17 degrees) or over their ends. So
// forces are continuous in where the surfaces are. Contacts that begin with a depth have no state of rest: a
// pile of soft bodies never came to it.
//
// Limits: edges that are both flat, within 10 degrees, need no contact: their vertices and faces have them.
// Nor do edges within 6 degrees of parallel. Edges that went through each other, by less than the sum of
// their radii, are parted the way they came.
#pragma once

#include "capstan/geometry/collider.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/math/transform.h"

namespace capstan {

// Whether a contact of two colliders with is_edge is one, seen from the right side if they went through each
// other.
bool set_crossing(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                  ContactPoint* contact);

}  // namespace capstan
