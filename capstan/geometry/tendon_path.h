// The way of a string over points, spheres and cylinders.
//
// Between two points a and b, with a round obstacle between them, the string is straight where it clears the
// obstacle, and else runs along a tangent, over the surface, and along a tangent again. In the plane of the
// obstacle's circle (that of a, b and the centre of a sphere; across the axis of a cylinder), with polar
// angles phi and beta = acos(r / distance), it touches at
//
//   phi_a + s beta_a   and   phi_b - s beta_b,    s = +1 counter-clockwise, -1 clockwise
//
// and lies on the arc between them. Along a cylinder it climbs evenly: unrolled, it is a straight line. Of
// the two ways round, the one towards `side` is taken, or without one the shorter; so it is where a and b are
// on the same side of the line from the centre to `side`. A string whose ends would cross has no such way and
// is straight. Where `side` is inside the obstacle, that is a ring: a string that misses it touches it at one
// point of its inside, where its two parts meet the circle at equal angles. Ends within the obstacle:
// straight. What is told is MuJoCo's wrapping, which the tests compare it with.
//
// The length changes only by how the ends of the straight parts move (the arc is shortest already):
// dL/dt = sum over them of direction . velocity.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capstan/math/transform.h"

namespace capstan {

struct TendonStation {
  enum class Kind { point, wrap, pulley };
  Kind kind = Kind::point;
  int body = 0;
  Transform X_W;  // the point is its origin; a cylinder's axis is its z
  bool is_sphere = true;
  double radius = 0;         // [m]
  std::optional<Vec3> side;  // [m] world
  double divisor = 1;        // pulley
};

// dL/dt has direction . (velocity of the point p of the body).
struct TendonPull {
  int body = 0;
  Vec3 p = Vec3::Zero(), direction = Vec3::Zero();  // [m] and 1, world
};

// The length [m] of the whole way; `pulls` is overwritten.
double calc_tendon_length(std::span<const TendonStation> stations, std::vector<TendonPull>* pulls);

// How a string between a and b touches an obstacle.
struct TendonWrap {
  Vec3 first = Vec3::Zero(), last = Vec3::Zero();  // [m] world: where it begins and ceases to touch
  double length = 0;                               // [m] between them
};
std::optional<TendonWrap> wrap_tendon(const Vec3& a, const TendonStation& obstacle, const Vec3& b);

}  // namespace capstan
