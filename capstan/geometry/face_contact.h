// Two faces: triangles with a solid behind them (Collider::inside), of two solids that bend.
//
// Flat triangles are apart wherever they do not cross, also where the solids behind them overlap. So where
// one lies over the other, seen along
//
//   n = (n_A - n_B) / |n_A - n_B|        half-way between the outward normals, from A to B,
//
// their distance is that of the two planes along n: negative where the solids overlap, and down to the sum
// of both insides. A manifold is the corners of what lies over each other. Where nothing does, it is the
// distance of the triangles, if each is in front of the other.
//
// Faces whose normals are less than 114 degrees apart show each other their sides or backs and never touch:
// other faces of the same solids do. (Of two blocks on each other, sides at right angles overlap by the
// sliver that the blocks do, and would be as deep there as a block is wide.)
#pragma once

#include "capstan/geometry/collider.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/math/transform.h"

namespace capstan {

// Cosine of the angle from opposite, 66 degrees, from which on faces do not face each other.
inline constexpr double kLeastFacing = 0.4;

bool are_faces(const Collider& A, const Collider& B);

// Whether they lie over each other somewhere, and then the manifold.
bool collide_faces(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                   double margin, Manifold* manifold);

// Whether a normal from A to B, in the world, goes from the front of one face to the front of the other.
bool is_in_front(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                 const Vec3& normal);

}  // namespace capstan
