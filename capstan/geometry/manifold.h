// From one witness to a manifold: which features touch, and the corners of where they do.
//
// In the contact frame F (z along the normal n, from A to B) the feature of A is its face, edge, rim disc or
// side line that looks most along +z, that of B the one that looks most along -z. The features are cut with
// each other in the x-y plane; at each corner (x, y) of the cut their heights give
//   p_A = (x, y, z_A),  p_B = (x, y, z_B),  distance = z_B - z_A - (rounding of A and B).
// Features that do not lie on each other (a vertex, a crossing of edges, a ball) leave the witness alone. The
// witness always is in the manifold, up to rounding, so the smallest distance is the signed distance.
//
// A face takes part when it, or the face it meets, is within 5 degrees of the normal; the points it adds
// beyond the witness fade out through the margin, not at an angle, since their distance grows with the tilt.
#pragma once

#include "capstan/geometry/contact_point.h"
#include "capstan/geometry/support.h"

namespace capstan {

// `witness` in the frame of A, from a distance kernel. Contacts are written in the world frame by X_WA. A
// witness that is not trusted only has a right normal and distance if the features meet there: false when
// they do not.
bool make_manifold(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_AB,
                   const Witness& witness, bool trusted, double margin, Manifold* manifold);

// The same for a box A and a half space, which need no witness: the corners of the face that looks most along
// the normal. For boxes that are not is_thin(): their corners are apart.
void make_box_manifold(const Collider& A, const Transform& X_WA, const Transform& X_WB, double margin,
                       Manifold* manifold);
inline bool is_thin(const Collider& box) {
  return box.size.minCoeff() < 1e-5 * box.bounding_radius;
}

}  // namespace capstan
