// Signed distance of any two bounded convex colliders.
//
//   d = max over unit n of s(n),   s(n) = min_{b in B} n.b - max_{a in A} n.a.
//
// Apart: GJK, to a rough normal where a shape is curved. Overlapping: the expanding polytope finds the
// neighbourhood of the best n. Then Newton finishes. Near the maximum s is the least of a few smooth
// branches, s(n) = min_k n.w_k(n), one for each vertex, cap or rim of A and B that takes part (w = b - a):
//   1 branch    (P H P + s I) delta = P w,   H = Hessian of h_A + h_B,  P = I - n n^T
//   2 branches  n . (w_1 - w_0) = 0, and the same along the direction left over
//   3 branches  n is normal to their plane.
// It has arrived when weights l_k >= 0 exist with sum l_k w_k = s n: points a of A and b of B with b - a = s
// n. Apart, that proves s: no distance is larger than |b - a| or smaller than s. Limits: vertex against
// vertex (H = 0) takes one step, n = w/|w|; s -> 0 stays regular if one shape is curved.
//
// Where Newton fails (ties, flat shapes) a proximal ascent climbs: move B by t n_k until the cores are just
// apart and let n_{k+1} be the normal that GJK finds there. It maximizes s(n) + t n.n_k, hence s(n_{k+1}) >=
// s(n_k) + t (1 - n_k.n_{k+1}): never worse, and the error shrinks by about t / (t + R) each time, R being
// the radius of curvature of B - A.
#pragma once

#include "capstan/geometry/support.h"

namespace capstan {

// `X_AB` places B in the frame of A. When the distance is above `cutoff` any lower bound above it may be
// returned instead, with witness points unset.
double convex_distance(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                       Witness* witness);

}  // namespace capstan
