// Signed distance of any two bounded convex colliders.
//
//   d = max over unit n of s(n),   s(n) = min_{b in B} n.b - max_{a in A} n.a.
//
// Apart: GJK. Overlapping: the expanding polytope finds the neighbourhood of the best n, then a proximal
// ascent climbs to it: move B by t n_k until the cores are just apart and let n_{k+1} be the normal that GJK
// finds there. n_{k+1} maximizes s(n) + t n.n_k, hence s(n_{k+1}) >= s(n_k) + t (1 - n_k.n_{k+1}): never
// worse, and the error shrinks by about t / (t + R) each time, R being the radius of curvature of B - A.
// Where the supports of both shapes are smooth, Newton steps on the sphere finish:
//   (P H P + s I) delta = P w,   w = b - a,  H = Hessian of h_A + h_B,  P = I - n n^T.
// Limits: vertex against vertex (H = 0) is exact after one Newton step, n = w/|w|; s -> 0 stays regular if
// one shape is curved.
#pragma once

#include "capstan/geometry/support.h"

namespace capstan {

// `X_AB` places B in the frame of A. When the distance is above `cutoff` any lower bound above it may be
// returned instead, with witness points unset.
double convex_distance(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                       Witness* witness);

}  // namespace capstan
