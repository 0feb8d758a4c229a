#include "capstan/contacts/patches.h"

#include <algorithm>
#include <cmath>

#include "capstan/contacts/meet.h"
#include "capstan/contacts/surface_field.h"
#include "capstan/geometry/collide.h"

namespace capstan {
namespace {

// Of the depth at the end: points of a patch ahead that would have been deeper than this at the beginning,
// where the shapes were apart, have not come the way that their normal tells.
constexpr double kWrongWay = 0.25;

constexpr double kMostPatchGap = 0.1;  // of how deep the patch can be: what is farther apart has no points
constexpr double kTurnedAway = 0.3;    // cosine
constexpr double kFacing = 0.25;       // cosine: two triangles that do have points
constexpr double kPunchedDissipation = 50;  // [s/m]
constexpr int kPointsOfTriangle = 4;        // of a soft body, at most
constexpr double kSmallPart = 0.5;          // of the area of a triangle: has one point
constexpr double kGlidingDepth = 1e-3;      // of how deep the patch can be: of one that is held above itself

const ContactPoint* deepest_of(const std::vector<ContactPoint>& points, int first) {
  const auto begin = points.begin() + first;
  const auto least = std::min_element(begin, points.end(), [](const ContactPoint& x, const ContactPoint& y) {
    return x.distance < y.distance;
  });
  return least == points.end() || !(least->distance < 0) ? nullptr : &*least;
}

double area_of(const Collider& triangle) {
  const std::array<Vec3, 3>& v = triangle.vertex;
  return 0.5 * cross(Vec3(v[1] - v[0]), Vec3(v[2] - v[0])).norm();
}

// Two meshes cut each other to many small polygons. One point at the centre of pressure gives their nodes the
// same forces as several do; what these add, stiffness against turning, is small where the polygon is.
void merge_small_part(const Collider& A, const Collider& B, PatchWorkspace* patch) {
  double area = 0;
  for (const PatchPolygon& polygon : patch->polygons) area += polygon.is_ahead ? 0 : polygon.area;
  if (area < kSmallPart * std::min(area_of(A), area_of(B))) reduce_patch(1, patch);
}

bool calc_patch_of(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                   const Transform& X_WB, const ContactPoint& deepest, double margin,
                   CollisionWorkspace::Block* block) {
  const ModelShape &A = model.shapes[a], &B = model.shapes[b];
  const bool is_soft_a = A.part != SurfacePart::none, is_soft_b = B.part != SurfacePart::none;
  if (is_soft_a) make_surface_field(model, placement, a, &block->surfaces[0]);
  if (is_soft_b) make_surface_field(model, placement, b, &block->surfaces[1]);
  const auto [low, high] = std::minmax(A.patch_points, B.patch_points);
  PatchRequest request{deepest.normal, -deepest.distance, std::min(margin, kMostPatchGap * patch_reach(A, B)),
                       low > 0 ? low : high};
  request.is_part = is_soft_a || is_soft_b;
  if (request.is_part) request.most_points = kPointsOfTriangle;
  if (!calc_patch({is_soft_a ? &block->surfaces[0] : A.field.get(), X_WA, A.modulus},
                  {is_soft_b ? &block->surfaces[1] : B.field.get(), X_WB, B.modulus}, request, &block->patch))
    return false;
  if (is_soft_a && is_soft_b)
    merge_small_part(collider_of(model, placement, a), collider_of(model, placement, b), &block->patch);
  return true;
}

void append_patch(const Model& model, int a, int b, CollisionWorkspace::Block* block) {
  const ContactMaterial plain = combine_materials(model, a, b);
  std::uint32_t id = 0;
  for (const PatchPoint& p : block->patch.points) {
    block->points.push_back({p.p, p.p, p.normal, p.distance(), id++});
    ContactMaterial& m = block->materials.emplace_back(plain);
    m.stiffness = p.stiffness;
    m.area = p.area;
  }
}

}  // namespace

bool has_patch(const ModelShape& a, const ModelShape& b) {
  if (a.field == nullptr || b.field == nullptr || (std::isinf(a.modulus) && std::isinf(b.modulus)))
    return false;
  if (a.part == SurfacePart::none || b.part == SurfacePart::none) return true;
  return are_soft_with_patches(a, b) && a.part == SurfacePart::triangle && b.part == SurfacePart::triangle;
}

bool are_soft_with_patches(const ModelShape& a, const ModelShape& b) {
  return a.part != SurfacePart::none && b.part != SurfacePart::none && a.field != nullptr &&
         b.field != nullptr && a.collider.solid != b.collider.solid;
}

double patch_reach(const ModelShape& a, const ModelShape& b) {
  const auto depth = [](const ModelShape& s) { return std::isinf(s.modulus) ? 0.0 : s.field->depth; };
  return depth(a) + depth(b);
}

bool is_turned_away(const Model& model, int a, const Transform& X_WA, int b, const Transform& X_WB,
                    const Vec3& normal) {
  const auto is_away = [&](int shape, const Transform& X, const Vec3& outward) {
    return model.shapes[shape].part == SurfacePart::triangle && X.R.col(2).dot(outward) < kTurnedAway;
  };
  const bool are_both =
      model.shapes[a].part == SurfacePart::triangle && model.shapes[b].part == SurfacePart::triangle;
  if (are_both && X_WA.R.col(2).dot(X_WB.R.col(2)) > -kFacing) return true;
  return is_away(a, X_WA, normal) || is_away(b, X_WB, -normal);
}

bool is_left_to_neighbours(const Model& model, int a, int b, const std::vector<ContactPoint>& points) {
  if (!is_soft(model.shapes[a], model.shapes[b])) return false;
  double deepest = 0;
  for (const ContactPoint& point : points) deepest = std::min(deepest, point.distance);
  return deepest < 0 && -deepest <= kPunched * patch_reach(model.shapes[a], model.shapes[b]);
}

ContactMaterial material_of_punched(const Model& model, int a, int b) {
  ContactMaterial m = combine_materials(model, a, b);
  m.dissipation = std::max(m.dissipation, kPunchedDissipation);
  return m;
}

bool replace_by_patch(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                      const Transform& X_WB, double margin, int first, CollisionWorkspace::Block* block) {
  const ContactPoint* deepest = deepest_of(block->points, first);
  if (deepest == nullptr || !calc_patch_of(model, placement, a, X_WA, b, X_WB, *deepest, margin, block))
    return false;
  block->points.resize(first);
  append_patch(model, a, b, block);
  return true;
}

bool add_patch_of_cells(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                        const Transform& X_WB, double margin, CollisionWorkspace::Block* block) {
  const ModelShape &A = model.shapes[a], &B = model.shapes[b];
  if (!has_patch(A, B) || is_soft(A, B) || (is_convex(A.collider.type) && is_convex(B.collider.type)))
    return false;
  ContactPoint unknown{};
  if (!calc_patch_of(model, placement, a, X_WA, b, X_WB, unknown, margin, block)) return false;
  append_patch(model, a, b, block);
  return true;
}

bool add_patch_ahead(const Model& model, const Placement& placement, int a, const MovingShape& A, int b,
                     const MovingShape& B, bool apart, double margin, CollisionWorkspace::Block* block) {
  block->scratch.clear();
  if (combine_materials(model, a, b).restitution > 0) return false;
  const Transform X_WA = A.pose(1), X_WB = B.pose(1);
  collide(*A.collider, X_WA, *B.collider, X_WB, 0, &block->scratch);
  const ContactPoint* deepest = deepest_of(block->scratch, 0);
  if (deepest == nullptr || !calc_patch_of(model, placement, a, X_WA, b, X_WB, *deepest, margin, block))
    return false;
  const int first = static_cast<int>(block->points.size());
  const std::size_t first_material = block->materials.size();
  append_patch(model, a, b, block);
  // One point of the world for both bodies, as in meet.h.
  const auto moves = [](const RigidMotion& m) { return !m.travel.isZero(0) || !m.turn.isZero(0); };
  const Vec3 shift = (A.motion.travel + B.motion.travel) / (moves(A.motion) && moves(B.motion) ? 2 : 1);
  for (std::size_t i = first; i < block->points.size(); ++i) {
    ContactPoint& c = block->points[i];
    const Vec3 p = c.p_A - shift;
    c.distance -= calc_opening(A, B, c.normal, p);
    c.p_A = c.p_B = p;
    if (!apart || c.distance >= kWrongWay * deepest->distance) continue;
    block->points.resize(first);
    block->materials.resize(first_material);
    return false;
  }
  return true;
}

bool add_gliding_patch(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                       const Transform& X_WB, const ContactPoint& nearest, CollisionWorkspace::Block* block) {
  const double gap = nearest.distance + kGlidingDepth * patch_reach(model.shapes[a], model.shapes[b]);
  Transform closed = X_WB;
  closed.p -= gap * nearest.normal;
  ContactPoint deepest = nearest;
  deepest.distance -= gap;
  if (!calc_patch_of(model, placement, a, X_WA, b, closed, deepest, gap, block)) return false;
  const std::size_t first = block->points.size();
  append_patch(model, a, b, block);
  for (std::size_t i = first; i < block->points.size(); ++i)
    block->points[i].distance += gap * nearest.normal.dot(block->points[i].normal);
  return true;
}

void add_patch_hits(const Model& model, int a, const Vec3& travel_a, int b, const Vec3& travel_b, int id,
                    int point, int material, ContactKind kind, CollisionWorkspace::Block* block) {
  for (int p = point; p < static_cast<int>(block->points.size()); ++p) {
    const ContactPoint& c = block->points[p];
    const bool is_ahead = kind == ContactKind::touching && c.distance > 0;
    block->hits.push_back({model.shapes[a].link, model.shapes[b].link, a, b, id, p, material + p - point,
                           false, false, is_ahead ? ContactKind::ahead : kind, std::max(0.0, c.distance),
                           c.normal.dot(travel_a), -c.normal.dot(travel_b)});
  }
}

}  // namespace capstan
