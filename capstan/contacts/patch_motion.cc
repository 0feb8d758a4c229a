// Patches of what overlaps when a step begins, and how they go on in it.
#include <algorithm>

#include "capstan/contacts/hits.h"
#include "capstan/contacts/meet.h"
#include "capstan/contacts/patches.h"
#include "capstan/geometry/collide.h"

namespace capstan {
namespace {

using Hit = CollisionWorkspace::Hit;
using Block = CollisionWorkspace::Block;
using Found = CollisionWorkspace::Found;

// A patch that comes nearer in the step by this many times its depth is one of the end, not the beginning.
constexpr double kDeeperPatch = 3;
// What rolls: its patch closes in front and opens behind, by this part of its depth.
constexpr double kRolling = 0.05;
// Of the motion along a normal: by so much a distance does not change with it.
constexpr double kAlongSurface = 0.5;

bool is_triangle(const ModelShape& shape) {
  return shape.part == SurfacePart::triangle;
}

// Shapes that roll, and have no axis about which they could spin within their patch.
bool may_roll(const ModelShape& shape) {
  const ColliderType type = shape.collider.type;
  return type == ColliderType::ellipsoid || type == ColliderType::hull || type == ColliderType::mesh ||
         type == ColliderType::sdf;
}

}  // namespace

bool goes_along(const Model& model, int a, const MovingShape& A, int b, const MovingShape& B, double distance,
                std::size_t first, const Block& block) {
  if (is_triangle(model.shapes[a]) == is_triangle(model.shapes[b])) return false;
  double nearest = kInfinity, opening = 0;
  for (std::size_t i = first; i < block.points.size(); ++i) {
    const ContactPoint& c = block.points[i];
    if (c.distance >= nearest) continue;
    nearest = c.distance;
    opening = calc_opening(A, B, c.normal, c.p_A);
  }
  return std::abs(nearest - distance) > kAlongSurface * std::abs(opening);
}

bool goes_along(const Model& model, const Placement& placement, const Forecast& forecast, const Found& found,
                std::span<const Hit> hits, int id, CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  const int i = found.pair.a, j = found.pair.b, a = w->shape[i], b = w->shape[j];
  if (is_triangle(model.shapes[a]) == is_triangle(model.shapes[b])) return false;
  const auto moving = [&](int shape, int collider) {
    return moving_shape(model, placement, shape, w->X_WS[collider], forecast.velocity->V, forecast.dt);
  };
  const MovingShape A = moving(a, i), B = moving(b, j);
  double depth = 0, most = 0;
  for (const Hit& hit : hits) {
    const ContactPoint& p = block->points[hit.point];
    depth = std::max(depth, -p.distance);
    most = std::max(most, std::abs(calc_opening(A, B, p.normal, p.p_A)));
  }
  if (!(most > kRolling * depth)) return false;
  block->scratch.clear();
  collide(collider_of(model, *w, i), w->X_WS[i], collider_of(model, *w, j), w->X_WS[j], 0, &block->scratch);
  const auto deepest =
      std::min_element(block->scratch.begin(), block->scratch.end(),
                       [](const ContactPoint& x, const ContactPoint& y) { return x.distance < y.distance; });
  if (deepest == block->scratch.end() ||
      !is_turned_away(model, a, w->X_WS[i], b, w->X_WS[j], deepest->normal))
    return false;
  const std::size_t first = block->points.size(), material = block->materials.size();
  const bool is_still_there = add_patch_ahead(model, placement, a, A, b, B, false, 0, block);
  const bool goes = !is_still_there || goes_along(model, a, A, b, B, -depth, first, *block);
  block->points.resize(first);
  block->materials.resize(material);
  return goes;
}

// The spin of a round shape about its axis moves its material through the patch, and leaves the patch as it
// is: what closes in front of a wheel and opens behind it is where the patch goes. So that it need not be
// found anew within the step, gaps begin with what that spin will take from them.
void keep_patch_of_spin(const Model& model, const Forecast& forecast, const Found& found,
                        std::span<const Hit> hits, int id, CollisionWorkspace* w) {
  const auto spin_of = [&](int i) -> Vec3 {  // [rad]
    const ModelShape& shape = model.shapes[w->shape[i]];
    if (shape.link == 0) return Vec3::Zero();
    const Vec3 turn = forecast.dt * forecast.velocity->V[shape.link].head<3>(), axis = w->X_WS[i].R.col(2);
    if (shape.collider.type == ColliderType::sphere) return turn;
    const bool has_axis =
        shape.collider.type == ColliderType::cylinder || shape.collider.type == ColliderType::capsule;
    return has_axis ? Vec3(turn.dot(axis) * axis) : Vec3(Vec3::Zero());
  };
  const int i = found.pair.a, j = found.pair.b;
  const Vec3 spin_a = spin_of(i), spin_b = spin_of(j);
  if (spin_a.isZero(0) && spin_b.isZero(0)) return;
  for (const Hit& hit : hits) {
    ContactPoint& c = w->blocks[id].points[hit.point];
    const Vec3 way_a = cross(spin_a, Vec3(c.p_A - w->X_WS[i].p)),
               way_b = cross(spin_b, Vec3(c.p_B - w->X_WS[j].p));
    c.distance -= c.normal.dot(way_b - way_a);
  }
}

// Patches of a block that the velocities of the beginning make much deeper within the step take the place of
// those of the beginning (patches.h), and so do those of what rolls: with the arms of the beginning, the
// force in front of what rolls by v dt in the step would brake it with the moment N v dt. So do those of a
// triangle of a soft body that comes nearer or goes away: what slides over a roller of radius R by v dt has
// left the normal of the beginning by v dt / R, and that one would brake it on both sides of the top: in
// front it closes by more than the surfaces do, behind it opens by more. Whether this one's did.
bool renew_patch(const Model& model, const Placement& placement, const Forecast& forecast, const Found& found,
                 std::span<const Hit> old, int id, CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  const int i = found.pair.a, j = found.pair.b, a = w->shape[i], b = w->shape[j];
  const auto moving = [&](int shape, int collider) {
    return moving_shape(model, placement, shape, w->X_WS[collider], forecast.velocity->V, forecast.dt);
  };
  const MovingShape A = moving(a, i), B = moving(b, j);
  double depth = 0, closing = 0, least = kInfinity, most = -kInfinity;
  for (const Hit& hit : old) {
    const ContactPoint& p = block->points[hit.point];
    const double opening = calc_opening(A, B, p.normal, p.p_A);
    depth = std::max(depth, -p.distance);
    closing = std::max(closing, -opening);
    least = std::min(least, opening);
    most = std::max(most, opening);
  }
  const bool bends = is_triangle(model.shapes[a]) != is_triangle(model.shapes[b]);
  const bool rolls =
      bends ? std::max(most, -least) > kRolling * depth
            : most - least > kRolling * depth && (may_roll(model.shapes[a]) || may_roll(model.shapes[b]));
  if (closing < kDeeperPatch * depth && !rolls) return false;
  const int point = static_cast<int>(block->points.size()),
            material = static_cast<int>(block->materials.size());
  if (depth + closing < patch_reach(model.shapes[a], model.shapes[b])) {
    if (!add_patch_ahead(model, placement, a, A, b, B, !rolls, approach_of(found.pair, 0, *w).nearer(),
                         block))
      return false;
    add_patch_hits(model, a, w->travel[i], b, w->travel[j], id, point, material, ContactKind::touching,
                   block);
    return true;
  }
  if (closing < kDeeperPatch * depth) return false;
  // It would be through: points hold it.
  collide(collider_of(model, *w, i), w->X_WS[i], collider_of(model, *w, j), w->X_WS[j], 0, &block->points);
  if (static_cast<int>(block->points.size()) == point) return false;
  block->materials.push_back(material_of_punched(model, a, b));
  add_patch_hits(model, a, w->travel[i], b, w->travel[j], id, point, material, ContactKind::touching, block);
  for (std::size_t k = block->hits.size() - (block->points.size() - point); k < block->hits.size(); ++k)
    block->hits[k].material = material;
  return true;
}

}  // namespace capstan
