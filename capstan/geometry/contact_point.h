// Where two shapes touch, or nearly touch.
//
//   p_B = p_A + distance * normal,   normal points from A to B,   distance < 0 when overlapping.
//
// Of one pair of convex shapes all points share one normal n: the direction of the signed distance
//   d = max over unit n of ( min_{b in B} n.b - max_{a in A} n.a ),
// which is the Euclidean distance when the shapes are apart and minus the least translation that parts them
// when they overlap. The smallest `distance` of a manifold is d; the others are measured along the same n
// between the two touching features (faces, edges, rims), so moving B by -distance * n makes the two features
// meet at that point.
#pragma once

#include <array>
#include <cstdint>

#include "capstan/math/types.h"

namespace capstan {

struct ContactPoint {     // without defaults: manifolds are made by the million and filled only in part
  Vec3 p_A;               // [m] on A, world frame
  Vec3 p_B;               // [m] on B, world frame
  Vec3 normal;            // unit, from A to B, world frame
  double distance;        // [m] negative when overlapping
  std::uint32_t feature;  // the same from step to step while the same features touch; unique in a pair
};

// The contacts of one pair of convex shapes: one, two or four in most cases. Two boxes that lie on each other
// askew have up to eight corners, and all are kept: with four of them the support would be too small.
struct Manifold {
  static constexpr int kCapacity = 8;
  std::array<ContactPoint, kCapacity> points;
  int size = 0;
};

// The same contact with A and B exchanged.
inline ContactPoint swapped(const ContactPoint& c) {
  return {c.p_B, c.p_A, -c.normal, c.distance, c.feature};
}

}  // namespace capstan
