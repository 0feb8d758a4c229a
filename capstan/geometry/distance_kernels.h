// The closed-form kernels behind signed_distance(); A and B in the order of ColliderType.
//
// Each returns the signed distance and fills the witness in the frame of A; X_AB places B there. When the
// distance is above `cutoff` a kernel may return any lower bound above it, with the witness points unset.
#pragma once

#include "capstan/geometry/support.h"

namespace capstan {

using DistanceKernel = double (*)(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                                  Witness* witness);

// A is a sphere: the signed distance of its centre to B, less its radius (distance_sphere.cc).
double sphere_any(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                  Witness* witness);

// Two segments, less the radii. Parallel segments meet in the middle of their overlap (distance_capsule.cc).
double capsule_capsule(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                       Witness* witness);

// B is a half space: the lowest point of A (distance_sphere.cc).
double any_half_space(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                      Witness* witness);

// Separating axes (box_box.cc). False, with witness->distance above it, when the boxes are apart by more than
// cutoff. Normal and distance are those of the best axis: exact when `trusted`, always so when the boxes
// overlap; else exact only if the manifold finds the point where they meet. Against a face the place is that
// of the deepest corner, even where this is not above the face.
bool box_box_axis(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                  Witness* witness, bool* trusted);

}  // namespace capstan
