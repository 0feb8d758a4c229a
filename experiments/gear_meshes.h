// Gears from formulas: teeth of spur gears and worm wheels, threads of worms and screws, and of nuts.
//
// Teeth are involutes of the base circle r_b = r cos(phi). At the radius rho a tooth is half as wide as
//
//   psi(rho) = pi / 2z + inv(phi) - inv(acos(r_b / rho)) - j / 2r,   inv(x) = tan x - x,   rho >= r_b
//
// and below r_b as there; j is the backlash at the pitch circle. All are about z. A thread is a solid whose
// surface has the radius R(s), s = z - lead theta / 2 pi; R is a trapezoid, repeated every pitch. A worm of
// one start with the flanks of a rack drives a wheel of involutes whose teeth are inclined by its lead angle.
#pragma once

#include <vector>

#include "capstan/geometry/mesh.h"

namespace capstan::experiments {

struct Gear {
  int teeth = 20;
  double module = 5e-4;         // [m] m: the pitch radius is m z / 2
  double pressure_angle = 0.4;  // [rad] phi
  double addendum = 0.8;        // times m
  double dedendum = 1.05;       // times m
  double backlash = 0;          // [m] j
  double face = 2e-3;           // [m] width, along z
  double twist = 0;             // [rad/m] of the teeth about z
  int facets = 4;               // of a flank
  double pitch_radius() const { return 0.5 * module * teeth; }
};

// The solid of a tooth whose middle is at the angle psi from x, a convex hull.
TriangleMesh make_tooth(const Gear& gear, double psi);

struct Thread {
  double pitch = 1.5e-3, lead = 1.5e-3;  // [m] lead = pitch times starts
  double root = 2e-3, tip = 3e-3;        // [m] radii
  double crest = 3e-4, foot = 7e-4;      // [m] width of the ridge along z at its tip and at its root
  double middle = 0;                     // [m] z of the ridge's middle at theta = 0
  double length = 6e-3;                  // [m] of the screw, about z = centre
  double centre = 0;                     // [m]
  int sectors = 48;                      // of a turn
};

// A closed surface: the screw with its ends.
TriangleMesh make_screw(const Thread& thread);

// A ridge of a nut as convex pieces, one for each sector of `turns` turns about z = centre: from the radius
// `inner` to `outer`, with the width `crest` there inside and `foot` outside.
struct NutRidge {
  double lead = 1.5e-3, inner = 2e-3, outer = 3e-3, crest = 3e-4, foot = 7e-4, middle = 0, centre = 0,
         turns = 1.5;
  int sectors = 16;
};
std::vector<TriangleMesh> make_nut(const NutRidge& ridge);

}  // namespace capstan::experiments
