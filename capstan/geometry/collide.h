// Signed distance and contact of two shapes, placed in the world by X_WA and X_WB.
//
// Pure functions: no heap, no state, same bits for same input. Accuracy (tests/geometry/): sphere, capsule,
// box and half-space pairs to 1e-12 m at a size of 20 cm, every other convex pair to 1e-6 m.
#pragma once

#include <vector>

#include "capstan/geometry/collider.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/math/transform.h"

namespace capstan {

// Signed distance of two convex colliders, at most one of them a half space; `contact` (may be null) gets the
// witness points and the normal. contact->feature is 0.
double signed_distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                       ContactPoint* contact = nullptr);

// A lower bound of the distance that takes little to find: for two capsules the distance itself, but for a
// relative error of 1e-9, unless they are nearly parallel; else minus infinity.
double least_distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB);

// Contacts of two convex colliders with distance <= margin, margin >= 0: none when the signed distance is
// above the margin, else its manifold, the deepest point among it.
void collide_convex(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                    double margin, Manifold* manifold);

// Any two colliders: appends the contacts to `contacts` (which keeps its memory from step to step). Two half
// spaces, and pairs of shapes that are both not convex and unsupported, give none: see can_collide().
void collide(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
             double margin, std::vector<ContactPoint>* contacts);

bool can_collide(ColliderType a, ColliderType b);

}  // namespace capstan
