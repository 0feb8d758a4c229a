// Generators of direction-dependent friction from what surfaces look like: pure functions that make the
// tensor M of friction.h (the cone |M^-1 gamma_t| <= gamma_n).
//
// Matchstick (Contact course 6.1, algorithm 21): each surface has a direction of its structure, s_a and s_b,
// whose sign does not matter. With the angle theta between them and d = 1 - 2 theta/pi,
//
//   mu_t = d mu_along + (1 - d) mu,   mu_b = d mu_across + (1 - d) mu,   t = (s_a + s_b)/|s_a + s_b|,  b
//   across
//
// Limits: parallel sticks have the full anisotropy, crossed ones (theta = pi/2) are isotropic with mu.
//
// Texture (Contact course 6.3): the normals m of a surface's small facets, from a normal map, plow into the
// other surface when they face the way it moves, direction c in the tangent plane:
//
//   mu(c) = mean over facets of max(0, m_t . c) (2/pi) tan theta,   m_t the tangential part of m, cos theta =
//   m_n
//
// and the coefficients of both surfaces add up. The text has tan theta in (333) and theta in (334) to (336);
// the plowing model itself, and so this file, has tan theta. Friction may differ between a direction and its
// opposite, which no tensor can say: texture_tensor() takes that of the side that slips.
#pragma once

#include <span>

#include "capstan/math/types.h"

namespace capstan {

// Symmetric tensor with `along` in the direction t (any length > 0) and `across` perpendicular to it.
Mat2 friction_tensor(double along, double across, const Vec2& t);

// mu: coefficient of crossed sticks; mu_along, mu_across: those of parallel sticks. s_a, s_b: any length > 0.
Mat2 matchstick_tensor(const Vec2& s_a, const Vec2& s_b, double mu, double mu_along, double mu_across);

// Coefficient of one surface that moves in `direction` (any length > 0) relative to the other. Normals are
// unit, in the frame of the contact with z out of this surface (m.z > 0; steeper than kSteepestFacet counts
// as that).
inline constexpr double kSteepestFacet = 1.5533430342749532;  // [rad] 89 degrees
double plowing_friction(std::span<const Vec3> normals, const Vec2& direction);

// Coefficients for motion of surface a relative to b along +x, -x, +y, -y of the contact frame. The normals
// of b have the same x and y axes, and z out of b.
struct DirectionalFriction {
  double plus_x = 0, minus_x = 0, plus_y = 0, minus_y = 0;
};
DirectionalFriction texture_friction(std::span<const Vec3> normals_a, std::span<const Vec3> normals_b);

// The tensor of the quadrant into which a slips relative to b.
Mat2 texture_tensor(const DirectionalFriction& friction, const Vec2& slip);

}  // namespace capstan
