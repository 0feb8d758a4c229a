// Direction of least penetration of two overlapping convex cores (expanding polytope, van den Bergen 2001).
//
// C = { b - a } holds the origin. A polytope spanned by support points of C grows towards the boundary of C:
// the face nearest the origin, at distance f, is replaced by faces through the support point along its normal
// m, at distance h(m). The depth lies in between,
//   min f <= depth <= min h(m),
// and the search ends when these agree to `tolerance`, or when the fixed memory is full; the best m is
// returned in either case. On curved cores the gap shrinks fourfold for each halving of the faces, so the
// result is polished elsewhere (convex_distance.h).
#pragma once

#include "capstan/geometry/gjk.h"

namespace capstan {

struct EpaResult {
  Vec3 n = Vec3::UnitZ();  // unit, from A to B: moving B by depth * n parts the cores
  double depth = 0;        // [m] h(m), an upper bound
  double gap = 0;          // [m] upper minus lower bound; infinite when C is flat
  int iterations = 0;
  Simplex simplex;  // the support points of the face last looked at; empty when C is flat
};

EpaResult epa(CorePair* pair, const Simplex& start, double tolerance);

}  // namespace capstan
