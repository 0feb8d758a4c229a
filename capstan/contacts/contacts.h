// All contacts of a model at one placement, in canonical order: the stage between Motion and Problem.
//
// The order is that of the pairs of shapes (a < b), and within a pair that of the narrow phase: it depends on
// the placement alone, not on earlier steps. Contacts of one pair of links follow each other, as a group.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capstan/contacts/broad_phase.h"
#include "capstan/dynamics/tree.h"
#include "capstan/geometry/contact_point.h"
#include "capstan/geometry/patch.h"
#include "capstan/geometry/ray_cast.h"
#include "capstan/model/model.h"
#include "capstan/model/stage_scope.h"

namespace capstan {

// What holds between two shapes: the materials combined, or an override.
struct ContactMaterial {
  double stiffness = 0;              // k [N/m]: k_a k_b / (k_a + k_b)
  double dissipation = 0;            // Hunt-Crossley d [s/m]: each weighted by the other's stiffness share
  double relaxation_time = 0;        // tau_d [s]; negative: the time step
  double friction = 0;               // mu: 2 mu_a mu_b / (mu_a + mu_b)
  double torsional_friction = 0;     // [m]: the larger
  double rolling_friction = 0;       // [m]: the larger
  double stiction_tolerance = 0;     // v_s [m/s]: the smaller
  double restitution = 0;            // e: the larger
  double restitution_threshold = 0;  // [m/s]: that of the larger e
  double margin = 0;                 // [m]: the larger
  const FrictionTensor* tensor =
      nullptr;  // of shape a, else of b, else null; direction in that shape's frame
  bool tensor_of_a = true;
  double area = 0;  // [m^2] of the patch that the contact stands for (patches.h); 0: a point
  bool operator==(const ContactMaterial&) const = default;
};
ContactMaterial combine_materials(const Model& model, int shape_a, int shape_b);

// How a contact was found.
enum class ContactKind : std::uint8_t {
  touching,   // within the margin at the beginning of the step
  ahead,      // apart then, and the free motion makes them meet, or may if one is stopped: the normal of now
  met,        // likewise, with the normal that they will meet with (meet.h)
  gliding,    // apart, and kept so by a law that glides (sap, similar) while the free motion presses them on
  late,       // where the solver's velocities led (late_contacts.h)
  withdrawn,  // taken back: it held apart what would not have met; has no impulse
};
const char* contact_kind_name(ContactKind kind);

// What of the relative motion of two bodies an entry of Contacts stands for. Those that turn follow their
// point, whose normal impulse limits them; they have its place, material and kind.
enum class ContactRows : std::uint8_t {
  point,      // the velocity of the point of contact
  rolling,    // the angular velocity about its tangents
  torsional,  // about its normal
};

// Structure of arrays, one entry for each contact.
struct Contacts {
  std::vector<int> shape_a, shape_b;   // shape_a < shape_b
  std::vector<int> link_a, link_b;     // of the shapes
  std::vector<Vec3> p_WC;              // [m] between the two surfaces, nearer to the stiffer one's
  std::vector<Vec3> normal;            // unit, from a to b, world
  std::vector<double> distance;        // [m] negative when overlapping
  std::vector<double> gap_rate;        // [m/s] at which the gap changes besides the velocity along the normal
  std::vector<double> drift_rate;      // the part of it by impacts in the middle of the step (step/bounce.h)
  std::vector<std::uint32_t> feature;  // persists from step to step, unique within a pair of shapes
  std::vector<ContactMaterial> material;
  std::vector<ContactKind> kind;
  std::vector<ContactRows> rows;
  std::vector<char> is_reused;  // it is that of the last collide(), in the same place; never for late ones

  // Groups: contacts [group_begin[g], group_begin[g+1]) are between the same two links.
  std::vector<int> group_begin;

  // From here on contacts are late (late_contacts.h).
  int late_begin = 0;

  int size() const { return static_cast<int>(distance.size()); }
  bool is_point(int i) const { return rows[i] == ContactRows::point; }
  int num_points() const;  // that are not withdrawn
  int count(ContactKind of_kind) const;
  int num_groups() const { return static_cast<int>(group_begin.size()) - 1; }
};

// The broad phase and scratch memory of one model; grows, never shrinks.
struct CollisionWorkspace {
  BroadPhase broad_phase;
  std::vector<int> shape;  // of each collider
  // What there is to know of a collider to place it, next to each other in memory: from its shape.
  struct Form {
    Transform X_LS;
    Vec3 centre, half_box;
    double bounding_radius, pair_margin;
    int link, object, flexible;
    bool is_sphere, has_moving_surface;
  };
  std::vector<Form> forms;
  const Placement* placement = nullptr;  // of the last collide(); valid while that lasts
  std::vector<Aabb> boxes, swept;        // now; all along the step
  std::vector<Transform> X_WS;
  // How far each collider may get in the step [m]: its centre goes by `travel`, any point of it relative to
  // the centre by `spin`. Zero without velocities.
  std::vector<Vec3> travel;
  std::vector<double> spin;
  std::vector<double> way;          // [m] what any point of it goes in one time step, as it moves now
  std::vector<Vec6> V_led;          // [links] where the free motion leads (meet.h)
  std::vector<double> stand_depth;  // [links] [m] the deepest that it stands in anything now
  struct Waiting {
    ColliderPair pair;
    double apart;  // [m] they are at least so far apart
    bool found = false;
  };
  struct Hit {
    int link_a, link_b, shape_a, shape_b;
    int block, point, material;  // where its point and material are
    bool is_reused;              // from the last step
    bool is_covered;             // counts only where the two links have no other contact (covered.h)
    ContactKind kind;
    double way, near_a, near_b;  // [m] to go until they meet; what the travel of each does for it
  };
  // What the narrow phase found for some of the pairs; threads work on different blocks.
  struct Block {
    std::vector<ContactPoint> points;
    std::vector<Hit> hits;
    std::vector<ContactMaterial> materials;  // one for each pair that touches
    std::vector<Waiting> waiting;            // pairs that come near only if one of them stops
    std::vector<Hit> old_hits;               // scratch memory of where pairs meet
    std::vector<ContactPoint> scratch;
    PatchWorkspace patch;
    std::array<PressureField, 2> surfaces;  // of triangles of soft bodies (surface_field.h)
  };
  std::vector<Block> blocks;
  // What the first look at each pair found, in the order of pairs: its hits, or else that it waits.
  struct Found {
    ColliderPair pair;
    int block, hit_begin, hit_end;
    bool waits;
    double apart;  // as in Waiting
  };
  std::vector<Found> found;
  std::vector<Block> old_blocks;  // of the last collide(), where shapes stay that stand still
  std::vector<Found> old_found;
  std::vector<Hit> hits;  // of all blocks
  struct Place {
    std::uint64_t links;  // the lower one, then the higher one
    int hit;
    ContactRows rows = ContactRows::point;
  };
  std::vector<Place> order, order_scratch;  // of contacts
  std::vector<Waiting> waiting;             // likewise
  // Which bodies may be stopped on their way, by what touches them or they meet.
  std::vector<double> stop;    // [links] the part of its way before which it is not
  std::vector<char> is_final;  // [links]
  std::vector<std::pair<double, int>> queue;
  std::vector<int> first_waiting, waiting_of_link, first_hit, hits_of_link;
};
CollisionWorkspace make_collision_workspace(const Model& model);

void collide(const Model& model, const Placement& placement, CollisionWorkspace* workspace,
             Contacts* contacts);

// What is known of the motion of a step before it is solved.
struct Forecast {
  const Velocity* velocity = nullptr;  // at its beginning
  const VecX* v_free = nullptr;        // [dofs] without contact; null: `velocity` goes on
  double dt = 0;                       // [s]
  bool glides = false;                 // the law of contact does, see below
};

// The same, with what comes into contact within the step: pairs that are apart at its beginning and meet
// where v_free leads, each with the normal with which they meet (meet.h); and pairs that may meet when one of
// the two is stopped on its way by something that it touches, or meets before. Without this a fast body would
// be noticed only once it overlaps. With `glides`, pairs that slide past each other while the free motion
// presses them together have contacts, too: the laws that glide (sap, similar: mu (dt + tau) v above the
// surface) would lose them otherwise.
//
// Shapes of objects that are asleep are not tested against each other, nor against the world. What was found
// of pairs of unchanged objects, and of these and the world, is reused: `contacts` and the workspace are
// those of the last call, with the same forecast. Contacts have the same bits for any number of threads.
void collide(const Model& model, const Placement& placement, const Forecast& forecast,
             const StageScope& scope, CollisionWorkspace* workspace, Contacts* contacts);
inline void collide(const Model& model, const Placement& placement, const Forecast& forecast,
                    CollisionWorkspace* workspace, Contacts* contacts) {
  collide(model, placement, forecast, StageScope{}, workspace, contacts);
}

// The collider of a shape as it is at a placement.
inline const Collider& collider_of(const Model& model, const Placement& placement, int shape) {
  const ModelShape& s = model.shapes[shape];
  return s.flexible < 0 ? s.collider : placement.flexible[s.flexible];
}

// Whether the kinds of two shapes can touch (ModelShape::part, geometry/collide.h); bit p is set of each part
// p that a shape may touch, of whatever form.
bool can_touch(const ModelShape& a, const ModelShape& b);
unsigned parts_met_by(const ModelShape& shape);

// Pose of a shape in the world.
Transform shape_pose(const Model& model, const Placement& placement, int shape);

// Appends a late contact between two shapes; end_late_group() ends its group.
void add_late_contact(const Model& model, int shape_a, int shape_b, const ContactPoint& point,
                      const ContactMaterial& material, Contacts* contacts);
void end_late_group(Contacts* contacts);

// Where shapes that are apart turn into each other, the gap of their contact, linear in the velocities of its
// point, begins far below zero and seems to open: what dissipates would take that for a rebound. Such a gap
// begins at zero instead, and closes besides the velocities (gap_rate): it is the same at the end of the
// step.
void spread_gap(const Model& model, double dt, int contact, Contacts* contacts);

// The same by testing every pair of shapes that the filters allow: the plain twin, and for one-off questions.
void collide_all_pairs(const Model& model, const Placement& placement, Contacts* contacts);

// Whether the filters let two shapes touch: groups, same link, parent and child, excluded bodies.
bool may_collide(const Model& model, int shape_a, int shape_b);

// The nearest hit of a ray with any colliding shape that is not on the body `but`; shape is -1 when there is
// none.
struct SceneRayHit {
  int shape = -1;
  RayHit hit;
};
SceneRayHit cast_ray(const Model& model, const Placement& placement, const Vec3& origin_W,
                     const Vec3& direction_W, double max_distance, int but = -1);

}  // namespace capstan
