// Contacts that a step shows only at its end.
//
// The contacts of a step are linear in its velocities: the gap phi0 + dt n.(v_b - v_a), with points and
// normals as they are at its beginning. A body that turns by an angle while it slides by a way ends
// elsewhere, by about their product; so does one that turns, or flies, because of what hit it in this very
// step, which collide() cannot know of. Such pairs are looked at again where the answer v of the solver
// leads. If one overlaps there by more than its contacts tell, the contacts of the end are added to the
// problem, as
//
//   phi(v') = phi0 + dt (n.(v_b' - v_a') + gap_rate)
//
// with n, and the arms of its point, as they are at the end, phi0 the distance of the pair before the step
// and gap_rate such that phi(v) is what it is at the end. The solver goes on from v, with the contacts it
// had. One point of the world for both bodies: their common momentum is kept.
//
// A body that slides along a surface that is not convex, the inside of a bowl, ends deeper than the plane of
// its contact tells, by way^2 / 2R. There the contact keeps its normal, and gap_rate tells the gap that it
// ends with: in a step that leads along the chord its normal halves the turn of the way, and takes no energy
// (that of the end would take the square of the turn). Without, laws that count what parts as v > 0 let go of
// what follows the surface: at v^2 dt / 2R > 1/d balls left a drum through its wall. It goes off along that
// normal no faster than it came, else it would gain energy; balls, in gentle turns, follow the surface
// further.
//
// Rods are moved by their own forces, too, which collide() does not know of: thin ones may be on the other
// side of each other at the end. Pairs with a part of an object that is not a tree, that go by more than they
// are thick, are followed along their ways (contacts/meet.h) even if they are apart at the end.
//
// Limits: where contacts tell the truth, nothing is added and v is the answer. Contacts that were there stay,
// so that two linearizations of one gap together may forbid a little more than the gap itself does. Shapes
// that are not convex may slide, without turning, into parts of each other that collide() has no contact
// with.
#pragma once

#include <algorithm>

#include "capstan/contacts/contacts.h"

namespace capstan {

// An overlap is left alone up to this part of the least half width of the smaller shape (or of a hundredth of
// its radius if it is flatter), and beyond it, if it grew by no more than a part of that more than contacts
// tell: a rim that rolls gets deeper by as much in each step. Pairs are looked at for which turn and way make
// a larger part possible.
constexpr double kLateTolerance = 0.04, kLateGrowth = 0.05, kLateLook = 0.25;
// Of that tolerance: who goes elsewhere by less than at the last look is not looked at again.
constexpr double kOtherWay = 0.1;

struct LateWorkspace {
  // Colliders that may move, object by object.
  struct Mover {
    int collider, link;
    double radius;  // [m] bounding_radius
    bool is_sphere;
  };
  std::vector<Mover> movers;
  std::vector<int> first_mover;  // [objects + 1]
  int objects_in_block = 1;      // for one thread at a time

  std::vector<double> tolerance;  // [colliders] [m]
  double least_tolerance = 0;     // [m]
  double tolerance_scale = 1;     // tolerances count this many times; the caller may raise it
  std::vector<Vec6> V;            // [links] velocities at the beginning of the step with v
  struct Way {
    Vec3 centre = Vec3::Zero();  // [m] what its centre goes in the step
    Vec3 turn = Vec3::Zero();    // [rad] its turn
    double around = 0;           // [m] what any point goes relative to the centre
    double most = 0;             // [m] what any point goes
  };
  std::vector<Way> ways, seen, led;  // [colliders] now; when it was looked at last; where collide() looked
  std::vector<Aabb> end_boxes;       // [colliders] where each may be at the end
  std::vector<double> most;          // [objects] the largest Way::most
  std::vector<char> goes_elsewhere;  // [colliders] whether it goes elsewhere than then
  std::vector<char> strays;          // [objects] whether a collider leaves the box that was searched
  std::vector<char> is_late;         // [pairs of the broad phase]
  bool is_first = true;              // nothing was looked at yet
  std::vector<ColliderPair> pairs;   // to look at again
  std::vector<int> objects;          // of these
  std::vector<std::vector<ContactPoint>> points;  // of each block of pairs, for one thread at a time
  std::vector<ContactPoint> met, scratch;
  std::vector<int> points_end;  // [pairs] in its block
  struct Bent {
    int contact;
    double rate;  // [m/s] by which its gap changes besides what it told
  };
  std::vector<Bent> bent;          // contacts of the beginning on surfaces that bend
  std::vector<ContactPoint> left;  // of a pair, that are no such contacts
  Placement end;                   // to be computed by the caller for these objects
};
LateWorkspace make_late_workspace(const Model& model);

// Begins a step.
void begin_late_contacts(LateWorkspace* workspace);

// Calls f(i) for each contact of a pair of shapes that is not withdrawn.
template <class F>
void each_contact(const Model& model, const Contacts& c, int shape_a, int shape_b, const F& f) {
  const auto links = [](int a, int b) { return std::pair(std::min(a, b), std::max(a, b)); };
  const auto wanted = links(model.shapes[shape_a].link, model.shapes[shape_b].link);
  const auto visit = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      if (c.shape_a[i] == shape_a && c.shape_b[i] == shape_b && c.kind[i] != ContactKind::withdrawn) f(i);
    }
  };
  // Groups that are not late are in the order of their links.
  const auto late = std::lower_bound(c.group_begin.begin(), c.group_begin.end(), c.late_begin);
  const auto group = std::partition_point(c.group_begin.begin(), late, [&](int first) {
    return links(c.link_a[first], c.link_b[first]) < wanted;
  });
  if (group != late) visit(*group, *(group + 1));
  visit(c.late_begin, c.size());
}

// Whether a collider that goes by `way` [m] in the step is so fast that there may be late contacts.
bool is_fast(double way, const LateWorkspace& workspace);

// Finds the pairs that the velocities v, with the drift of bounces, may have made deeper than `contacts`
// tell. `collision` is what they were found with, at `placement`; objects may be asleep as in collide().
// Pairs that were looked at in this step and go where they went then are left out.
bool find_late_pairs(const Model& model, const Placement& placement, const VecX& v, double dt,
                     const Contacts& contacts, const StageScope& scope, CollisionWorkspace* collision,
                     LateWorkspace* workspace);

// Adds the late contacts of these pairs at the placement `workspace->end`, in new groups. Whether there are
// any. Their gap_rate has no drift yet. Contacts of the beginning that got another gap_rate are in `bent`.
bool add_late_contacts(const Model& model, const Placement& placement, double dt, const Threads& threads,
                       const CollisionWorkspace& collision, LateWorkspace* workspace, Contacts* contacts);

}  // namespace capstan
