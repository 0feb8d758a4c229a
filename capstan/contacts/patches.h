// Contacts that stand for patches of pressure fields (geometry/patch.h).
//
// A patch is found once in a step, as points are, and each of its points is a contact with a stiffness and
// an area of its own. Where:
//
//   overlap at the beginning   the patch of the poses of the beginning. Its gaps go on linearly with the
//                              velocities, its area stays. Where the velocities of the beginning make it
//                              more than four times as deep, the patch of where they lead, as below.
//   apart, and the free motion the patch of the poses at the end of the free motion, with the gaps that it
//   makes them overlap         has at the beginning: phi0 = phi - n . (what the motion closes). A box that
//                              lands meets the whole patch, with its own stiffness, in that very step.
//   else                       points, as any two shapes have, with the stiffness of the materials: pairs
//                              that bounce (restitution); that meet only if one of them is stopped; that go
//                              through each other in the step, or deeper than their fields reach; late ones.
//
// Soft bodies have a patch for each triangle of their surface that touches (surface_field.h), of three points
// for a polygon, four in all; it moves with the nodes of the triangle. Two of them have one for each pair of
// triangles that lie over each other, which moves with the nodes of both; one point where its area is small.
#pragma once

#include "capstan/contacts/contacts.h"
#include "capstan/geometry/sweep.h"

namespace capstan {

// Whether two shapes touch over a patch: both have a field, not both are rigid, and, of two soft bodies, both
// are triangles.
bool has_patch(const ModelShape& a, const ModelShape& b);

// Parts of two soft bodies that both ask for patches: their triangles alone touch. A soft body touches itself
// at points.
bool are_soft_with_patches(const ModelShape& a, const ModelShape& b);

// [m] how deep their patch can be: as deep as the fields of those that are not rigid.
double patch_reach(const ModelShape& a, const ModelShape& b);

// Whether one of the shapes is a triangle of a soft body that turns its side or its back to the other, as a
// contact with this normal tells, or each of two to the other: what touches there is the matter of its
// neighbours, and it has no points in place of a patch.
bool is_turned_away(const Model& model, int a, const Transform& X_WA, int b, const Transform& X_WB,
                    const Vec3& normal);
inline bool is_soft(const ModelShape& a, const ModelShape& b) {
  return a.part != SurfacePart::none || b.part != SurfacePart::none;
}

// Of the depth of a patch: what is so deep without one went through.
inline constexpr double kPunched = 0.5;

// Whether parts of soft bodies overlap at these points, those of the end of the step, without a patch: what
// touches there is the matter of their neighbours, as where they touch already (add_hits()).
bool is_left_to_neighbours(const Model& model, int a, int b, const std::vector<ContactPoint>& points);

// Of the points of a pair that is too deep for its patch: they push out at 0.02 m/s at most, whatever the
// materials, for a spring that takes over at such a depth has energy that nobody gave it.
ContactMaterial material_of_punched(const Model& model, int a, int b);

// The points of a pair that overlaps, those of the block from `first` on, give way to those of its patch, and
// each gets a material of its own, the last ones of the block. `margin` [m] is how much nearer they may come
// in the step: points ahead are within it. False, and nothing changed, where there is no patch.
bool replace_by_patch(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                      const Transform& X_WB, double margin, int first, CollisionWorkspace::Block* block);

// The patch of a pair that overlaps, of which one is a mesh: its cells tell how deep they are, and points,
// which are many times the work there, are not asked for. Appended, as above; false, and nothing changed,
// where there is none or where other pairs are concerned.
bool add_patch_of_cells(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                        const Transform& X_WB, double margin, CollisionWorkspace::Block* block);

// What replace_by_patch() does, of where these motions lead: appended, as seen from the beginning. `apart`:
// the shapes are, so that what would have been deep at the beginning is no patch of theirs. Hits of neither
// are made.
bool add_patch_ahead(const Model& model, const Placement& placement, int a, const MovingShape& A, int b,
                     const MovingShape& B, bool apart, double margin, CollisionWorkspace::Block* block);

// The same for shapes that are apart and glide along each other (Forecast): the patch that they would have if
// `nearest` were closed by a little more than its distance.
bool add_gliding_patch(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                       const Transform& X_WB, const ContactPoint& nearest, CollisionWorkspace::Block* block);

// The hits of the points of a patch, the last ones of block number `id` from `point` and `material` on. What
// is found touching has points ahead, too.
void add_patch_hits(const Model& model, int a, const Vec3& travel_a, int b, const Vec3& travel_b, int id,
                    int point, int material, ContactKind kind, CollisionWorkspace::Block* block);

}  // namespace capstan
