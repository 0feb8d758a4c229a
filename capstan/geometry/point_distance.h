// Signed distance of a point to a convex core, in the core's frame: the kernels of sphere pairs.
//
// Outside, the distance to the nearest point q = p - distance * gradient; inside, minus the distance to the
// nearest point of the surface. The gradient is the unit outward normal at q. Where several q are nearest
// (the axis of a cylinder, the centre of a box) the lowest axis and the positive side win.
#pragma once

#include "capstan/geometry/collider.h"

namespace capstan {

double point_segment(double half_length, const Vec3& p, Vec3* gradient);  // segment along z
// Inside, -min_i (h_i - |p_i|) over both faces of each axis; the sphere's radius then is subtracted, inside
// as outside, so that nothing jumps at the face (Contact course 2.1.2 leaves both out).
double point_box(const Vec3& half_size, const Vec3& p, Vec3* gradient);
double point_cylinder(double radius, double half_length, const Vec3& p, Vec3* gradient);

// The nearest point x of an ellipsoid of semi-axes r has p = x + t x / r^2, so
//   sum_i ( r_i p_i / (r_i^2 + t) )^2 = 1,
// of which the largest root t is wanted. Newton on 1 - 1/|q(t)|, bracketed. Limits: t = 0 on the surface; as
// p goes to the centre, t -> -min r^2 and x to the end of the shortest axis.
double point_ellipsoid(const Vec3& radii, const Vec3& p, Vec3* gradient);

double point_triangle(const std::array<Vec3, 3>& vertex, const Vec3& p, Vec3* gradient);

// The same of a triangle with a solid behind it (Collider::inside): points of the solid that are nearer to it
// than to the faces beside it are below it. All others are as far as from the bare triangle.
double point_face(const Collider& triangle, const Vec3& p, Vec3* gradient);

// Any collider, rounding included, p in its frame. An open mesh has no inside: the distance to the sheet.
// Where the distance exceeds `cutoff`, any number above it will do, and the gradient is not set.
double point_collider(const Collider& collider, const Vec3& p, double cutoff, Vec3* gradient);

}  // namespace capstan
