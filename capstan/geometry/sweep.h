// Where two shapes that move first touch.
//
// A motion lasts from s = 0 to s = 1: a shape turns about a pivot at an even rate while the pivot goes along
// a straight line. That is how a free body moves in a step (the pivot is the origin of its frame) and how a
// hinge does (the pivot is on its axis).
//
// Conservative advancement: at distance d along the normal n, no point of B comes nearer to A along n faster
// than
//
//   rate = -n . (travel_b - travel_a) + |n x turn_a| r_a + |n x turn_b| r_b,
//
// r being the distance of the farthest point from the pivot, so that nothing touches before s + d / rate.
// Shapes that do not turn and miss each other are done in a few steps, because n . travel goes to zero where
// they pass. Limits: a step is never shorter than kLeastAdvance, so that what turns and passes another by a
// hair does not take for ever; two shapes that touch for a shorter time than that, and not at the end, may be
// taken for apart.
#pragma once

#include <vector>

#include "capstan/geometry/collider.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/math/rotation.h"
#include "capstan/math/transform.h"

namespace capstan {

struct RigidMotion {
  Vec3 pivot = Vec3::Zero();   // [m] world frame, at s = 0
  Vec3 travel = Vec3::Zero();  // [m] of the pivot
  Vec3 turn = Vec3::Zero();    // [rad] rotation vector, world frame

  // [m] what a point goes to first order, where it is at s = 0.
  Vec3 displacement(const Vec3& p_W) const { return travel + cross(turn, Vec3(p_W - pivot)); }
};

struct MovingShape {
  const Collider* collider = nullptr;
  Transform X_WS;  // at s = 0
  RigidMotion motion;

  Transform pose(double s) const;
  double radius() const;  // [m] of the farthest point that a turn moves, from the pivot
};

constexpr double kLeastAdvance = 1.0 / 512;

// The first s at which the shapes are no farther apart than `tolerance` > 0 (two boxes: along the best of
// their separating axes); above 1 if there is none.
// `scratch` keeps its memory; it is used where a shape is not convex.
double first_touch(const MovingShape& A, const MovingShape& B, double tolerance,
                   std::vector<ContactPoint>* scratch);

}  // namespace capstan
