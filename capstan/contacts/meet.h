// Where a motion makes two shapes touch, and the contact of that place.
//
// The contacts of a step are linear in its velocities v: a gap is phi(v) = phi0 + dt n . J v, with one point
// and one normal n for the whole step. For two shapes that are apart when the step begins, neither is that of
// the beginning: a ball that flies past a corner does not meet the plane that is at right angles to the line
// between them. So a *led* motion is followed, that of free flight or of the solver's velocities, to where
// the shapes meet, and the gap is linearized there,
//
//   phi0 = phi_m + (1 - s_m) dt n_m . u_m - dt n_m . J v_led,
//
// with the part s_m of the step, the normal n_m and the velocity u_m of the two points with which they meet,
// so that phi(v_led) is what it is. J has one point of the world for both bodies, as both are at the
// beginning, or momentum would not be kept. There are two such places:
//
//   the end      where the shapes overlap there the way that they came, phi0 >= -slack along the shortest way
//                out. A box that stands 5 um deep in one tile and slides into the next takes it for a floor,
//                because it is 5 um to go up and 15 mm to go back.
//                Where the edges of both have just passed each other, a little later tells.
//   first touch  else: where the motion goes deep, or through (geometry/sweep.h).
//
// Shapes that do not meet have no contact. Where they meet with about the normal that they have a contact
// with, that one stays: its point is where both are, so that nothing is lost by its being linear.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "capstan/contacts/contacts.h"
#include "capstan/geometry/sweep.h"

namespace capstan {

// How a link moves in a step with V, (angular, linear at the origin of its tree) [rad/s, m/s], and its parent
// with V_parent, which the world has no use for.
RigidMotion link_motion(const Model& model, const Placement& placement, int link, const Vec6& V,
                        const Vec6& V_parent, double dt);
inline int parent_link(const Model& model, int link) {
  return std::max(0, model.links[link].parent);
}

// V of a link with the velocities v.
Vec6 link_velocity(const Model& model, const Placement& placement, const VecX& v, int link);

// A shape of a model that moves with a link; X_WS at the beginning, V of all links ([links]; those of its
// tree are used).
MovingShape moving_shape(const Model& model, const Placement& placement, int shape, const Transform& X_WS,
                         std::span<const Vec6> V, double dt);
MovingShape moving_shape(const Model& model, const Placement& placement, int shape, const Transform& X_WS,
                         const Vec6& V, const Vec6& V_parent, double dt);

// Whether two shapes that are apart by more than `margin` [m] at the beginning come within it, and how.
struct Meeting {
  enum class Kind { none, along, elsewhere };
  Kind kind = Kind::none;   // along: as the contacts that there are tell
  bool is_covered = false;  // as in CollisionWorkspace::Hit
};
// If they meet elsewhere, the contacts are appended, linearized as above: `distance` is phi0 (which may be
// negative where bodies turn), and p_A = p_B - phi0 n is the point where both links' velocities are to be
// taken. `slack` [m] is how deep bodies may be said to have been in each other.
struct Told {  // by the contacts that there are
  Vec3 normal = Vec3::Zero();
  double gap = kInfinity;  // [m] at the end of these motions
};
Meeting meet(const Model& model, int shape_a, const MovingShape& A, int shape_b, const MovingShape& B,
             const Told& told, double margin, double slack, std::vector<ContactPoint>* scratch,
             std::vector<ContactPoint>* points);

// Cosine of the angle from which on two normals are those of two surfaces that meet in an edge, not of one
// that bends.
constexpr double kOtherSurface = 0.7;

// [m] by which the gap grows in the whole motion, at a contact with this normal and point.
double calc_opening(const MovingShape& A, const MovingShape& B, const Vec3& normal, const Vec3& p_W);

// [m] at the end of the motion.
double end_distance(const MovingShape& A, const MovingShape& B, std::vector<ContactPoint>* scratch);

}  // namespace capstan
