// Distance of two convex cores that do not overlap (Gilbert, Johnson, Keerthi 1988).
//
// C = { b - a } is convex; its point v nearest the origin gives the distance |v| and the normal v / |v|. Each
// step takes the support point w of C along -v into a simplex of at most four points and moves v to the
// simplex's point nearest the origin. For any v the plane through w bounds the distance from below:
//   v.w / |v| <= d <= |v|,
// and the loop ends when the two agree. Polytopes end after finitely many steps; curved cores converge
// linearly.
#pragma once

#include "capstan/geometry/support.h"

namespace capstan {

// A simplex of C with the points of A and B it was made from.
struct Simplex {
  Vec3 w[4], a[4], b[4];
  double weight[4] = {1, 0, 0, 0};  // barycentric coordinates of v
  int size = 0;
};

struct GjkResult {
  enum class Status { separated, beyond_cutoff, overlapping } status = Status::separated;
  Witness witness;  // separated: nearest points of the cores; beyond_cutoff: only distance, a lower bound
  double gap = 0;   // [m] upper minus lower bound of the distance
  int iterations = 0;
  Simplex simplex;  // overlapping: what the penetration search starts from
};

// `guess` is a first direction from A to B, any length. Ends when upper and lower bound agree to `tolerance`
// metres and to a hundredth of the distance. Stops as soon as the distance is known to be above
// `cutoff`. Closer than 1e-7 of the shapes' size counts as overlapping, since the normal is then lost to
// rounding.
GjkResult gjk(CorePair* pair, const Vec3& guess, double cutoff, double tolerance);

// The point v of the simplex nearest the origin, unless it is no nearer than sqrt(bound): then nothing
// changes. Points not needed are dropped and the weights set. `inside` when the simplex is a tetrahedron that
// holds the origin.
enum class Nearer { moved, no_nearer, inside };
Nearer move_to_nearest(Simplex* simplex, double bound, Vec3* v);

}  // namespace capstan
