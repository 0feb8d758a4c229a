#include "capstan/contacts/contacts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "capstan/contacts/covered.h"
#include "capstan/contacts/hits.h"
#include "capstan/contacts/patches.h"
#include "capstan/geometry/collide.h"
#include "capstan/physics/physics.h"

namespace capstan {
namespace {

// Less has no square beside those of velocities and is none; more stands for an infinite coefficient.
constexpr double kLeastFriction = 1e-50, kMostFriction = 1e9;

// Two springs in series; an infinite one leaves the other.
double in_series(double a, double b) {
  if (std::isinf(a)) return b;
  if (std::isinf(b)) return a;
  return a * b / (a + b);
}

bool is_excluded(const Model& model, int body_a, int body_b) {
  const std::array<int, 2> pair = {std::min(body_a, body_b), std::max(body_a, body_b)};
  return std::binary_search(model.excluded_bodies.begin(), model.excluded_bodies.end(), pair);
}

bool are_parent_and_child(const Model& model, int link_a, int link_b) {
  return (link_a > 0 && model.links[link_b].parent == link_a) ||
         (link_b > 0 && model.links[link_a].parent == link_b);
}

bool are_neighbours(const Model& model, int link_a, int link_b) {
  const std::array<int, 2> pair = {std::min(link_a, link_b), std::max(link_a, link_b)};
  return std::binary_search(model.excluded_links.begin(), model.excluded_links.end(), pair);
}

bool is_one_without_self_contact(const Model& model, int link_a, int link_b) {
  const int object = model.links[link_a].object;
  return object >= 0 && object == model.links[link_b].object && !model.objects[object].is_tree() &&
         !model.objects[object].physics->touches_itself();
}

void resize(int size, Contacts* c) {
  c->shape_a.resize(size);
  c->shape_b.resize(size);
  c->link_a.resize(size);
  c->link_b.resize(size);
  c->p_WC.resize(size);
  c->normal.resize(size);
  c->distance.resize(size);
  c->gap_rate.resize(size);
  c->drift_rate.resize(size);
  c->feature.resize(size);
  c->material.resize(size);
  c->kind.resize(size);
  c->rows.resize(size);
  c->is_reused.resize(size);
}

// The first `num_old` of the contacts are those of the last step.
void set_contact(const Model& model, int shape_a, int shape_b, const ContactPoint& p,
                 const ContactMaterial& material, ContactKind kind, ContactRows rows, int i, int num_old,
                 Contacts* c) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  // The softer side yields more: the contact is nearer to the surface of the stiffer one. Apart, what
  // bounces off the world does so at its own surface; balls that bounce off each other do at both
  // (assemble.cc).
  double share = std::isinf(a.stiffness)   ? 0
                 : std::isinf(b.stiffness) ? 1
                                           : b.stiffness / (a.stiffness + b.stiffness);
  if (material.restitution > 0 && p.distance > 0) {
    const bool balls = a.collider.type == ColliderType::sphere && b.collider.type == ColliderType::sphere;
    share = a.link == 0 ? 1 : b.link == 0 ? 0 : balls ? 0.5 : share;
  }
  const Vec3 p_WC = p.p_A + share * (p.p_B - p.p_A);
  c->is_reused[i] = i < num_old && c->shape_a[i] == shape_a && c->shape_b[i] == shape_b &&
                    c->feature[i] == p.feature && c->distance[i] == p.distance && c->p_WC[i] == p_WC &&
                    c->normal[i] == p.normal && c->material[i] == material && c->kind[i] == kind &&
                    c->rows[i] == rows;
  c->shape_a[i] = shape_a;
  c->shape_b[i] = shape_b;
  c->link_a[i] = a.link;
  c->link_b[i] = b.link;
  c->p_WC[i] = p_WC;
  c->normal[i] = p.normal;
  c->distance[i] = p.distance;
  c->gap_rate[i] = c->drift_rate[i] = 0;
  c->feature[i] = p.feature;
  c->material[i] = material;
  c->kind[i] = kind;
  c->rows[i] = rows;
}

void copy_contact(int from, ContactRows rows, int to, Contacts* c) {
  const auto copy = [&](auto& list) { list[to] = list[from]; };
  copy(c->shape_a), copy(c->shape_b), copy(c->link_a), copy(c->link_b), copy(c->p_WC), copy(c->normal);
  copy(c->distance), copy(c->gap_rate), copy(c->drift_rate), copy(c->feature), copy(c->material),
      copy(c->kind);
  copy(c->is_reused);
  c->rows[to] = rows;
}

// How many entries follow a point of this material, and which; `rows` may be null.
int turning_rows_of(const ContactMaterial& material, ContactRows* rows) {
  int n = 0;
  const auto add = [&](double friction, ContactRows kind) {
    if (!(friction > 0)) return;
    if (rows != nullptr) rows[n] = kind;
    ++n;
  };
  add(material.rolling_friction, ContactRows::rolling);
  add(material.torsional_friction, ContactRows::torsional);
  return n;
}

using Hit = CollisionWorkspace::Hit;
using Block = CollisionWorkspace::Block;

constexpr int kContactsInBlock = 64;     // for one thread at a time
constexpr double kStandingDepth = 0.02;  // of the least half width: bodies may stand so deep in others

}  // namespace

const char* contact_kind_name(ContactKind kind) {
  switch (kind) {
    case ContactKind::touching:
      return "touching";
    case ContactKind::ahead:
      return "ahead";
    case ContactKind::met:
      return "met";
    case ContactKind::gliding:
      return "gliding";
    case ContactKind::late:
      return "late";
    default:
      return "withdrawn";
  }
}

int Contacts::count(ContactKind of_kind) const {
  int n = 0;
  for (int i = 0; i < size(); ++i) n += kind[i] == of_kind && is_point(i);
  return n;
}

int Contacts::num_points() const {
  int n = 0;
  for (int i = 0; i < size(); ++i) n += kind[i] != ContactKind::withdrawn && is_point(i);
  return n;
}

// Covered points go if the pair has others, or is apart; else they are what they would be against what covers
// them, and stay if that is known, and not much deeper: a way out that is longer is none.
constexpr double kDeeper = 4;
bool drop_covered(const Model& model, int a, const Transform& X_WA, int b, const Transform& X_WB, int first,
                  std::vector<ContactPoint>* points) {
  if (model.shapes[a].neighbours.empty() && model.shapes[b].neighbours.empty()) return false;
  int kept = first;
  ContactPoint instead{};
  instead.distance = kInfinity;
  for (int i = first; i < static_cast<int>(points->size()); ++i) {
    ContactPoint other;
    if (!is_covered(model, a, X_WA, b, X_WB, (*points)[i], &other)) {
      (*points)[kept++] = (*points)[i];
    } else if ((*points)[i].distance <= 0 && other.distance >= kDeeper * (*points)[i].distance &&
               other.distance < instead.distance) {
      instead = other;
    }
  }
  points->resize(kept);
  if (kept > first || !(instead.distance <= 0)) return false;
  points->push_back(instead);
  return true;
}

constexpr double kRoundOff = 1e-12;  // of places

bool add_hits(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
              const Transform& X_WB, const Approach& approach, double margin, int first, int id,
              Block* block) {
  std::vector<ContactPoint>& points = block->points;
  bool is_punched = false;
  if (has_patch(model.shapes[a], model.shapes[b])) {
    const int material = static_cast<int>(block->materials.size());
    if (replace_by_patch(model, placement, a, X_WA, b, X_WB, std::max(margin, approach.nearer()), first,
                         block)) {
      add_patch_hits(model, a, approach.travel_a, b, approach.travel_b, id, first, material,
                     ContactKind::touching, block);
      return true;
    }
    const double reach = patch_reach(model.shapes[a], model.shapes[b]);
    is_punched = std::any_of(points.begin() + first, points.end(),
                             [&](const ContactPoint& p) { return -p.distance > kPunched * reach; });
    if (is_soft(model.shapes[a], model.shapes[b]) && !is_punched) {
      points.erase(std::remove_if(points.begin() + first, points.end(),
                                  [&](const ContactPoint& p) {
                                    return p.distance < 0 ||
                                           is_turned_away(model, a, X_WA, b, X_WB, p.normal);
                                  }),
                   points.end());
    }
  }
  // Points of shapes that touch are apart by round-off, or by more: faces that fall together touch all over.
  const bool touches = std::any_of(points.begin() + first, points.end(),
                                   [&](const ContactPoint& point) { return point.distance <= margin; });
  const double slack = touches ? kRoundOff * (points[first].p_A.norm() + 1) : 0;
  const auto far = [&](const ContactPoint& point) {
    return point.distance > margin + slack && !approach.may_close(point);
  };
  points.erase(std::remove_if(points.begin() + first, points.end(), far), points.end());
  const bool is_covered = drop_covered(model, a, X_WA, b, X_WB, first, &points);
  const int last = static_cast<int>(points.size());
  if (first == last) return false;
  for (int i = first; i < last; ++i) {
    const ContactPoint& p = points[i];
    block->hits.push_back({model.shapes[a].link, model.shapes[b].link, a, b, id, i,
                           static_cast<int>(block->materials.size()), false, is_covered,
                           p.distance <= margin ? ContactKind::touching : ContactKind::ahead,
                           p.distance <= margin ? 0 : p.distance - approach.around,
                           p.normal.dot(approach.travel_a), -p.normal.dot(approach.travel_b)});
  }
  block->materials.push_back(is_punched ? material_of_punched(model, a, b) : combine_materials(model, a, b));
  return true;
}

bool add_hits_of_cells(const Model& model, const Placement& placement, int a, const Transform& X_WA, int b,
                       const Transform& X_WB, const Approach& approach, double margin, int id, Block* block) {
  const int first = static_cast<int>(block->points.size());
  const int material = static_cast<int>(block->materials.size());
  if (!add_patch_of_cells(model, placement, a, X_WA, b, X_WB, std::max(margin, approach.nearer()), block))
    return false;
  add_patch_hits(model, a, approach.travel_a, b, approach.travel_b, id, first, material,
                 ContactKind::touching, block);
  return true;
}

double margin_of(const Model& model, int a, int b) {
  return model.pairs.empty() ? std::max(model.shapes[a].margin, model.shapes[b].margin)
                             : combine_materials(model, a, b).margin;
}

// Hits on what is covered count only where the two links have no others.
static void drop_covered_hits(CollisionWorkspace* w) {
  const auto is_covered = [&](const CollisionWorkspace::Place& place) {
    return w->hits[place.hit].is_covered;
  };
  if (std::none_of(w->order.begin(), w->order.end(), is_covered)) return;
  auto end = w->order.begin();
  for (auto group = w->order.begin(); group != w->order.end();) {
    auto next = group;
    while (next != w->order.end() && next->links == group->links) ++next;
    const bool all = std::all_of(group, next, is_covered);
    for (; group != next; ++group) {
      if (all || !is_covered(*group)) *end++ = *group;
    }
  }
  w->order.erase(end, w->order.end());
}

// What turns about a point comes after it.
static void add_turning(CollisionWorkspace* w) {
  w->order_scratch.clear();
  for (const CollisionWorkspace::Place& place : w->order) {
    const Hit& hit = w->hits[place.hit];
    ContactRows rows[2];
    const int n = turning_rows_of(w->blocks[hit.block].materials[hit.material], rows);
    w->order_scratch.push_back(place);
    for (int k = 0; k < n; ++k) w->order_scratch.push_back({place.links, place.hit, rows[k]});
  }
  std::swap(w->order, w->order_scratch);
}

void gather(const Model& model, const Threads& threads, CollisionWorkspace* w, Contacts* c) {
  w->order.resize(w->hits.size());
  for (int i = 0; i < static_cast<int>(w->hits.size()); ++i) {
    const auto [low, high] = std::minmax(w->hits[i].link_a, w->hits[i].link_b);
    w->order[i] = {static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint64_t>(high), i};
  }
  const auto before = [&](const CollisionWorkspace::Place& x, const CollisionWorkspace::Place& y) {
    if (x.links != y.links) return x.links < y.links;
    const Hit &a = w->hits[x.hit], &b = w->hits[y.hit];
    if (a.shape_a != b.shape_a) return a.shape_a < b.shape_a;
    if (a.shape_b != b.shape_b) return a.shape_b < b.shape_b;
    return a.point < b.point;
  };
  // Shapes are listed body by body, so hits in the order of shapes need sorting only where the links' order
  // differs; and those of pairs that waited come last.
  const auto sorted_end = std::is_sorted_until(w->order.begin(), w->order.end(), before);
  if (sorted_end != w->order.end()) {
    std::sort(sorted_end, w->order.end(), before);
    w->order_scratch.resize(w->order.size());
    std::merge(w->order.begin(), sorted_end, sorted_end, w->order.end(), w->order_scratch.begin(), before);
    std::swap(w->order, w->order_scratch);
  }
  drop_covered_hits(w);
  if (model.has_turning_friction) add_turning(w);
  const int n = static_cast<int>(w->order.size());
  c->group_begin.clear();
  for (int i = 0; i < n; ++i) {
    if (i == 0 || w->order[i].links != w->order[i - 1].links) c->group_begin.push_back(i);
  }
  c->group_begin.push_back(n);
  const int num_old = std::exchange(c->late_begin, n);
  resize(n, c);
  threads.for_each_block(n, kContactsInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const Hit& hit = w->hits[w->order[i].hit];
      c->is_reused[i] = hit.is_reused && i < num_old && c->shape_a[i] == hit.shape_a &&
                        c->shape_b[i] == hit.shape_b && c->rows[i] == w->order[i].rows &&
                        c->feature[i] == w->blocks[hit.block].points[hit.point].feature;
      if (c->is_reused[i] != 0) continue;
      set_contact(model, hit.shape_a, hit.shape_b, w->blocks[hit.block].points[hit.point],
                  w->blocks[hit.block].materials[hit.material], hit.kind, w->order[i].rows, i, num_old, c);
    }
  });
}

void add_late_contact(const Model& model, int shape_a, int shape_b, const ContactPoint& p,
                      const ContactMaterial& material, Contacts* c) {
  const int i = c->size();
  resize(i + 1, c);
  set_contact(model, shape_a, shape_b, p, material, ContactKind::late, ContactRows::point, i, 0, c);
}

void end_late_group(Contacts* c) {
  const int begin = c->group_begin.back(), end = c->size();
  int to = end;
  for (int i = begin; i < end; ++i) to += turning_rows_of(c->material[i], nullptr);
  if (to > end) {
    resize(to, c);
    for (int i = end - 1; i >= begin; --i) {  // from the last one on, each to its place
      ContactRows rows[2];
      for (int k = turning_rows_of(c->material[i], rows); k-- > 0;) copy_contact(i, rows[k], --to, c);
      copy_contact(i, ContactRows::point, --to, c);
    }
  }
  c->group_begin.push_back(c->size());
}

void spread_gap(const Model& model, double dt, int i, Contacts* c) {
  const auto width = [&](int shape) {
    const Collider& collider = model.shapes[shape].collider;
    return std::isfinite(collider.bounding_radius) ? collider.half_box.minCoeff() : kInfinity;
  };
  if (c->material[i].area > 0) return;  // a patch stands as deep as its load asks for
  if (c->distance[i] >= -kStandingDepth * std::min(width(c->shape_a[i]), width(c->shape_b[i]))) return;
  c->gap_rate[i] += c->distance[i] / dt;
  c->distance[i] = 0;
}

ContactMaterial combine_materials(const Model& model, int shape_a, int shape_b) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  const Material &ma = model.materials[a.material], &mb = model.materials[b.material];
  ContactMaterial m;
  // The surface of a soft body has its stiffness by area; of what else touches it, it is for a point.
  const bool is_soft_a = a.part != SurfacePart::none, is_soft_b = b.part != SurfacePart::none;
  m.stiffness = is_soft_a == is_soft_b ? in_series(a.stiffness, b.stiffness)
                : is_soft_a            ? a.stiffness
                                       : b.stiffness;
  // A body's share of the yielding is k_other / (k_a + k_b); over a patch, that of the moduli.
  const bool patch = has_patch(a, b);
  const double k_a = patch ? a.modulus : a.stiffness, k_b = patch ? b.modulus : b.stiffness;
  const double share_a = std::isinf(k_a)   ? (std::isinf(k_b) ? 0.5 : 0)
                         : std::isinf(k_b) ? 1
                                           : k_b / (k_a + k_b);
  m.dissipation = share_a * ma.dissipation + (1 - share_a) * mb.dissipation;
  const bool from_step = ma.relaxation_time < 0 || mb.relaxation_time < 0;
  m.relaxation_time = from_step ? std::max(ma.relaxation_time, mb.relaxation_time)
                                : share_a * ma.relaxation_time + (1 - share_a) * mb.relaxation_time;
  const double mu_a = std::min(ma.friction, kMostFriction), mu_b = std::min(mb.friction, kMostFriction);
  m.friction = mu_a + mu_b > 0 ? 2 * mu_a * mu_b / (mu_a + mu_b) : 0;
  m.torsional_friction = std::max(ma.torsional_friction, mb.torsional_friction);
  m.rolling_friction = std::max(ma.rolling_friction, mb.rolling_friction);
  m.stiction_tolerance = std::min(ma.stiction_tolerance, mb.stiction_tolerance);
  const Material& bouncier = ma.restitution < mb.restitution ? mb : ma;
  m.restitution = bouncier.restitution;
  m.restitution_threshold = ma.restitution == mb.restitution
                                ? std::min(ma.restitution_threshold, mb.restitution_threshold)
                                : bouncier.restitution_threshold;
  m.margin = std::max(a.margin, b.margin);
  m.tensor_of_a = ma.friction_tensor.has_value();
  m.tensor = ma.friction_tensor ? &*ma.friction_tensor : mb.friction_tensor ? &*mb.friction_tensor : nullptr;
  for (const ModelPair& pair : model.pairs) {
    const bool shapes = pair.kind == PairOverride::Kind::shapes;
    const int ia = shapes ? shape_a : a.material, ib = shapes ? shape_b : b.material;
    if (!((pair.a == ia && pair.b == ib) || (pair.a == ib && pair.b == ia))) continue;
    const PairOverride& o = pair.values;
    m.stiffness = o.stiffness.value_or(m.stiffness);
    m.dissipation = o.dissipation.value_or(m.dissipation);
    m.relaxation_time = o.relaxation_time.value_or(m.relaxation_time);
    m.friction = o.friction.value_or(m.friction);
    m.torsional_friction = o.torsional_friction.value_or(m.torsional_friction);
    m.rolling_friction = o.rolling_friction.value_or(m.rolling_friction);
    m.restitution = o.restitution.value_or(m.restitution);
    m.margin = o.margin.value_or(m.margin);
    if (o.friction_tensor) {
      m.tensor = &*o.friction_tensor;
      m.tensor_of_a = pair.a == ia;
    }
  }
  if (m.friction < kLeastFriction) m.friction = 0;
  // Rods and soft bodies bounce as they yield: an impact would move a node of theirs as if it were alone.
  const auto is_rigid = [&](const ModelShape& shape) {
    return shape.link == 0 || model.objects[model.links[shape.link].object].is_tree();
  };
  if (!is_rigid(a) || !is_rigid(b)) m.restitution = 0;
  return m;
}

bool can_touch(const ModelShape& a, const ModelShape& b) {
  if (!can_collide(a.collider.type, b.collider.type)) return false;
  if (a.part == SurfacePart::none && b.part == SurfacePart::none) return true;
  if (a.part != SurfacePart::none && b.part != SurfacePart::none) {
    if (are_soft_with_patches(a, b)) return has_patch(a, b);
    return std::minmax(a.part, b.part) == std::minmax(SurfacePart::vertex, SurfacePart::triangle) ||
           (a.part == SurfacePart::edge && b.part == SurfacePart::edge);
  }
  const ModelShape &surface = a.part == SurfacePart::none ? b : a,
                   &other = a.part == SurfacePart::none ? a : b;
  if (has_patch(a, b)) return surface.part == SurfacePart::triangle;
  if (other.collider.type == ColliderType::half_space) return surface.part == SurfacePart::vertex;
  return surface.part == SurfacePart::triangle || !is_convex(other.collider.type);
}

unsigned parts_met_by(const ModelShape& shape) {
  constexpr unsigned none = 1, vertex = 2, triangle = 4, edge = 8;
  switch (shape.part) {
    case SurfacePart::vertex:
      return none | triangle;
    case SurfacePart::triangle:
      return shape.field == nullptr ? none | vertex : none | vertex | triangle;
    case SurfacePart::edge:
      return edge;
    default:
      return none | vertex | triangle;
  }
}

bool may_collide(const Model& model, int shape_a, int shape_b) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  if (!a.collides || !b.collides || a.link == b.link) return false;
  if (!(a.group_bits & b.mask_bits) && !(b.group_bits & a.mask_bits)) return false;
  if (!model.options.collide_parent_child && are_parent_and_child(model, a.link, b.link)) return false;
  if (are_neighbours(model, a.link, b.link)) return false;
  if (is_one_without_self_contact(model, a.link, b.link)) return false;
  return !is_excluded(model, a.body, b.body) && can_touch(a, b);
}

void collide_all_pairs(const Model& model, const Placement& placement, Contacts* contacts) {
  CollisionWorkspace w;
  w.blocks.resize(1);
  const int n = static_cast<int>(model.shapes.size());
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      if (!may_collide(model, a, b)) continue;
      const double margin = margin_of(model, a, b);
      const int first = static_cast<int>(w.blocks[0].points.size());
      const Transform X_WA = shape_pose(model, placement, a), X_WB = shape_pose(model, placement, b);
      const Approach none{Vec3::Zero(), Vec3::Zero()};
      if (add_hits_of_cells(model, placement, a, X_WA, b, X_WB, none, margin, 0, &w.blocks[0])) continue;
      collide(collider_of(model, placement, a), X_WA, collider_of(model, placement, b), X_WB, margin,
              &w.blocks[0].points);
      add_hits(model, placement, a, X_WA, b, X_WB, none, margin, first, 0, &w.blocks[0]);
    }
  }
  w.hits = w.blocks[0].hits;
  gather(model, Threads(1), &w, contacts);
}

SceneRayHit cast_ray(const Model& model, const Placement& placement, const Vec3& origin_W,
                     const Vec3& direction_W, double max_distance, int but) {
  SceneRayHit best;
  double nearest = max_distance;
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) {
    if (!model.shapes[s].collides || model.shapes[s].body == but) continue;
    RayHit hit;
    if (!ray_cast(collider_of(model, placement, s), shape_pose(model, placement, s), origin_W, direction_W,
                  nearest, &hit))
      continue;
    if (best.shape >= 0 && hit.distance >= nearest) continue;
    best = {s, hit};
    nearest = hit.distance;
  }
  return best;
}

}  // namespace capstan
