// The patch of two pressure fields: polygons, and the contact points that stand for them.
//
// In two cells, one of each body, the pressures p_a = E_a e_a and p_b = E_b e_b are linear, and equal on the
// plane
//
//   s(x) = w_a e_a(x) - w_b e_b(x) = 0,    w_a = E_a / (E_a + E_b),  w_b = 1 - w_a
//
// which is cut to a convex polygon by the planes of both cells and by p >= 0. A rigid body has w = 1, and the
// plane is its surface: nothing else is different. The normal n = -grad s / |grad s| points from a to b.
// Along it the pressures change by g_a = -E_a grad e_a . n and g_b = E_b grad e_b . n [Pa/m], so that the
// polygon of area A is a spring
//
//   k = A g,   1/g = 1/g_a + 1/g_b,      phi = -p A / k       (force k (-phi) = p A)
//
// (Masterjohn, Guoy, Shepherd and Castro, "Velocity level approximation of pressure field contact patches",
// IEEE Robotics and Automation Letters 7, 2022).
//
// One normal. All polygons of two convex solids get the normal N of their force, the sum of p A n, and become
// what they are along it: with c = n . N they have A c, k c^2 and phi / c. The force of the patch stays, and
// its stiffness along N. For a half space N is its own normal (Gauss: p depends on the height alone, and is 0
// at the rim), also for edges and corners in it. With their own normals the sides of a box, which meet a soft
// floor at polygons inclined by up to 60 degrees, would close by many times their depth when it slides, and
// brake it; in fact they move along, and the patch of what slides on a plane does not change. Solids that are
// not convex may hold each other by their normals, and keep them.
//
// A triangle of a surface that bends (make_cell_behind()) has for N, with something else, the normal of that,
// on the mean of the polygons: how its pressure changes. (With that of the triangle a soft ball was braked on
// a smooth floor, and a tilted block that fell on it moved off by itself.) Two triangles have N half-way
// between their normals. They count in full where these are within 60 degrees of opposite, and less and less
// up to a right angle: what shows the other its side, as at the rim of two blocks on each other, has no
// force.
//
// Quadrature. p is linear in a polygon, so one point at the centroid has its force; not its moment, and not
// the torque of friction when it spins. What a polygon spreads by itself counts: m = the part of the second
// moment of the patch's area that is within the polygon (the rest is between the polygons' centroids).
//
//   m < 1/100     one point, at the centroid
//   m < 1/8       four at centroid +- sqrt(2) sigma along the principal axes: force and moment of any linear
//                 pressure, and the stiffness against turning, are exact
//   else          three in each triangle of the fan about the centroid: likewise, and the torque of a square
//                 that spins is 0.8 % too small (with four points it would be 7 % too large)
//
// Of a part of a larger patch (PatchRequest::is_part), where m < 1/8 one, else three at centroid + sqrt(2)
// (cos t sigma_1 + sin t sigma_2), t = 90, 210 and 330 degrees, with the same second moments as four.
//
// Ahead of the touch. A box that rocks by a hair has a patch on one half of its face at the beginning of a
// step and on the other one at its end. So cells go on beyond the surface, with p < 0, where the gap |p| / g
// is within a margin, and what of the plane is there makes polygons of their own, with phi > 0: they have no
// force until they close. Not of spheres, ellipsoids and capsules, whose patches grow smoothly from their
// middle, nor where the pressure changes along the normal by less than 0.7 of its gradient.
//
// Rules for what is degenerate:
//   - phi is not deeper than the overlap of the two shapes: k >= p A / depth. At the sides of a box in a
//     floor the pressure does not change along the normal at all, and A g would be zero.
//   - Polygons in whose cells the pressure grows against the normal (by more than half of its gradient) are
//     dropped: the far sides of what is nearly through.
//   - Polygons with less than 1e-12 of the square of the overlap's size are dropped.
//   - Polygons with less than 1e-3 of the force are merged to one point that has their force and moment.
//   - Deeper than the fields reach (PressureField::depth, both where none is rigid) there is no patch: the
//     caller has points.
#pragma once

#include <array>
#include <vector>

#include "capstan/geometry/pressure_field.h"
#include "capstan/math/transform.h"

namespace capstan {

// A convex polygon, in one frame for all of a patch.
struct PatchPolygon {
  int first, end;       // vertices of PatchWorkspace::vertices
  Vec3 normal;          // unit, from a to b; of two convex solids: N
  Vec3 centroid;        // [m]
  double area;          // [m^2] as seen along it
  double pressure;      // [Pa] at the centroid
  Vec3 gradient;        // of the pressure in the polygon's plane [Pa/m]
  double stiffness;     // k [N/m]
  Vec3 axis_1, axis_2;  // principal axes, as long as the deviations sigma [m]
  bool is_ahead;        // p < 0: not yet touching
};

struct PatchPoint {
  Vec3 p;            // [m]
  Vec3 normal;       // unit, from a to b
  double area;       // [m^2] that it stands for
  double pressure;   // [Pa] negative ahead of the touch
  double stiffness;  // [N/m]
  double distance() const { return stiffness > 0 ? -pressure * area / stiffness : 0; }  // phi [m]
};

// Memory that is kept from patch to patch, and the answer: polygons and points in the world frame, in the
// order of the cells; points that press first, then those ahead.
struct PatchWorkspace {
  std::vector<PatchPolygon> polygons;
  std::vector<Vec3> vertices;
  std::vector<PatchPoint> points;
  CellList first, second;  // cells of this patch, both in the frame of the first shape
  CellList made;           // those of a round second shape, in its own
  std::vector<int> candidates;
  std::vector<PatchPoint> scratch;
  std::vector<int> order;
};

struct PatchSide {
  const PressureField* field;
  Transform X_W;   // its pose
  double modulus;  // E [Pa]; infinite: rigid
};

// Replaces the workspace's polygons and points. `normal_W` (from a to b) and `depth` [m] > 0 are those of the
// overlap of the two shapes. Where neither is round the normal is not used, and the depth may be 0, not
// known: then it is that of the largest pressure, and a patch deeper than half of what the fields reach is
// left to who knows it.
struct PatchRequest {
  Vec3 normal_W;
  double depth;
  double margin = 0;     // [m] of the gap of polygons ahead
  int most_points = 0;   // see reduce_patch(); 0: all
  bool is_part = false;  // one of many that make up a patch, such as that of a triangle of a soft body
};
// Whether there is a patch.
bool calc_patch(const PatchSide& a, const PatchSide& b, const PatchRequest& request,
                PatchWorkspace* workspace);

// At most `most` points (3 or more) that press, and at most as many ahead, in the place of many. Points are
// halved again and again across the longest direction in which their force spreads, and what is left together
// becomes one point at their centre of pressure, with the sum of their forces, areas and stiffnesses: force,
// stiffness and (for one normal) the moment stay; the stiffness against turning loses what is within a part.
void reduce_patch(int most, PatchWorkspace* workspace);

}  // namespace capstan
