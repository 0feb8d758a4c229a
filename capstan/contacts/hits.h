// What a pair of colliders is tested for, and what comes of it. Internal to contacts/.
#pragma once

#include <algorithm>
#include <cmath>

#include "capstan/contacts/contacts.h"

namespace capstan {

struct MovingShape;

// Where a box may be while it goes by `travel`, and as far around as `margin`.
inline Aabb sweep(const Aabb& box, const Vec3& travel, double margin) {
  return {box.lower + travel.cwiseMin(0) - Vec3::Constant(margin),
          box.upper + travel.cwiseMax(0) + Vec3::Constant(margin)};
}

// How two colliders may move against each other in a step: they go by `travel`, both at a time, or one of
// them is stopped on its way by something else, not before it has gone the part `stop` of it.
struct Approach {
  Vec3 travel_a, travel_b;
  double stop_a = 1, stop_b = 1;
  double around = 0;  // [m] that they may come nearer in any direction: they turn, or glide (contacts.h)

  // What f says of any motion of b against a; f(Vec3) is a bool or a length.
  template <class F>
  auto most(const F& f) const {
    auto x = f(Vec3(travel_b - travel_a));
    if (stop_a < 1) x = std::max(x, f(Vec3(travel_b - stop_a * travel_a)));
    if (stop_b < 1) x = std::max(x, f(Vec3(stop_b * travel_b - travel_a)));
    return x;
  }
  double reach() const {
    return std::sqrt(most([](const Vec3& motion) { return motion.squaredNorm(); })) + around;
  }
  // [m] how much nearer they may come, whichever of them is stopped.
  double nearer() const {
    const double way =
        std::max({travel_a.squaredNorm(), travel_b.squaredNorm(), (travel_b - travel_a).squaredNorm()});
    return std::sqrt(way) + around;
  }
  bool may_meet(const Aabb& a, const Aabb& b, double margin) const {
    margin = std::max(margin, around);
    return most([&](const Vec3& motion) { return overlaps(a, sweep(b, motion, margin)); });
  }
  bool may_close(const ContactPoint& point) const {
    const double nearer = most([&](const Vec3& motion) { return -point.normal.dot(motion); });
    return point.distance <= std::max(0.0, nearer) + around;
  }
};

// The hits among the points of a block from `first` on, which are of one pair; the others go. Returns whether
// there is any.
bool add_hits(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
              const Transform& X_WB, const Approach& approach, double margin, int first, int id,
              CollisionWorkspace::Block* block);

// The same of a pair whose patch needs no points to be found (add_patch_of_cells()).
bool add_hits_of_cells(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                       const Transform& X_WB, const Approach& approach, double margin, int id,
                       CollisionWorkspace::Block* block);

// Drops the points from `first` on, of shapes with these poses, that are on covered parts of surfaces
// (covered.h). If all are, and the shapes overlap, one point stays, as it would be against what covers them:
// then the answer is true.
bool drop_covered(const Model& model, int a, const Transform& X_WA, int b, const Transform& X_WB, int first,
                  std::vector<ContactPoint>* points);

// [m] within which two shapes are in contact.
double margin_of(const Model& model, int a, int b);

// Whether a triangle of a soft body goes along what it is said to go into, and not into it. The front of a
// bag that slides has its lower edge a little below the level of the floor: along its own normal, which its
// patch has, that would be a wall. Its patch where the motions end, points from `first` on, tells: what goes
// into something gets as much nearer to it as it moves along the normal. distance: at the beginning [m].
bool goes_along(const Model& model, int a, const MovingShape& A, int b, const MovingShape& B, double distance,
                std::size_t first, const CollisionWorkspace::Block& block);
// The same of a pair that has a patch at the beginning of the step, its hits, with the velocities of then.
bool goes_along(const Model& model, const Placement& placement, const Forecast& forecast,
                const CollisionWorkspace::Found& found, std::span<const CollisionWorkspace::Hit> hits, int id,
                CollisionWorkspace* w);

// Of the patch of a pair that overlaps, whose hits are `old`, ones of block number `id`: whether the
// velocities of the beginning make it so much deeper that another one takes its place (patches.h), with hits
// of its own.
bool renew_patch(const Model& model, const Placement& placement, const Forecast& forecast,
                 const CollisionWorkspace::Found& found, std::span<const CollisionWorkspace::Hit> old, int id,
                 CollisionWorkspace* w);

// The patch goes along with the spin of round shapes: gaps begin with what that will take from them.
void keep_patch_of_spin(const Model& model, const Forecast& forecast, const CollisionWorkspace::Found& found,
                        std::span<const CollisionWorkspace::Hit> hits, int id, CollisionWorkspace* w);

// Here and below `glide` is how far above a surface points may glide that slide over it, mu (dt + tau) v, as
// a multiple of the dt v that they travel, or 0 for laws that do not glide (contacts.h).
Approach approach_of(const ColliderPair& pair, double glide, const CollisionWorkspace& w);

// Of a collider as it is now.
inline const Collider& collider_of(const Model& model, const CollisionWorkspace& w, int i) {
  const int flexible = w.forms[i].flexible;
  return flexible < 0 ? model.shapes[w.shape[i]].collider : w.placement->flexible[flexible];
}

// Hits to the structure of arrays, grouped by pairs of links.
void gather(const Model& model, const Threads& threads, CollisionWorkspace* w, Contacts* c);

}  // namespace capstan
