#include "capstan/contacts/late_contacts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/contacts/hits.h"
#include "capstan/contacts/meet.h"
#include "capstan/contacts/patches.h"
#include "capstan/dynamics/objects.h"
#include "capstan/dynamics/place_carriers.h"
#include "capstan/geometry/collide.h"

namespace capstan {
namespace {

constexpr int kLatePairsInBlock = 16, kPairsToLookAt = 256, kMoversInBlock = 64,
              kBentInBlock = 64;  // for one thread at a time

// Of the tolerance, too: by how much a gap that bends must be less than its contact tells. At 1 ms a ball of
// r 15 mm at 2 m/s in a drum of 0.2 m is 0.017 of it deeper in each step, and lost a tenth of its energy
// in 1.5 s.
constexpr double kLateBend = 0.005;
// [rad] by which a contact turns the way of a ball that came along its surface. (Of what has several
// contacts, one would add to what another one gave.)
constexpr double kGentleTurn = 0.1;
// Normals that are of one surface that bends: the least cosine between that of the beginning and of the end.
constexpr double kOneSurface = 0.7;
constexpr double kLatePatch = 0.5;  // of how deep a patch can be: it needs no late points up to there

// [m] of overlap of a pair that is left alone now.
double tolerance_of(const LateWorkspace& w, const ColliderPair& pair) {
  return w.tolerance_scale * std::min(w.tolerance[pair.a], w.tolerance[pair.b]);
}

// [m] of overlap that is left alone at first.
double calc_tolerance(const Collider& c) {
  if (!c.half_box.allFinite()) return kInfinity;
  return kLateTolerance * std::max(c.half_box.minCoeff(), 0.01 * c.bounding_radius);
}

// Whether the surface that a pair touches may bend towards what slides along it, other than by a turn.
bool bends(const ModelShape& a, const ModelShape& b) {
  return !(is_convex(a.collider.type) && is_convex(b.collider.type)) && !has_patch(a, b);
}

Vec3 point_velocity(const Model& model, const Placement& placement, const std::vector<Vec6>& twists, int link,
                    const Vec3& p_W) {
  if (link == 0) return Vec3::Zero();
  const Vec6& V = twists[link];
  return V.tail<3>() + cross(V.head<3>(), Vec3(p_W - placement.origin[model.links[link].object]));
}

// Where a collider may be at the end.
Aabb end_box(const Aabb& box, const LateWorkspace::Way& way) {
  return {box.lower + way.centre - Vec3::Constant(way.around),
          box.upper + way.centre + Vec3::Constant(way.around)};
}

bool contains(const Aabb& outer, const Aabb& inner, double margin) {
  return (outer.lower.array() <= inner.lower.array() + margin).all() &&
         (inner.upper.array() <= outer.upper.array() + margin).all();
}

// Whether a pair has contacts, whether all are with normals of the beginning, and whether one is late.
struct Known {
  bool any = false, plain = true, late = false;
};
Known find_contacts(const Model& model, const Contacts& contacts, int shape_a, int shape_b) {
  Known known;
  each_contact(model, contacts, shape_a, shape_b, [&](int i) {
    known.any = true;
    known.late = known.late || contacts.kind[i] == ContactKind::late;
    known.plain = known.plain && !known.late && contacts.kind[i] != ContactKind::met;
  });
  return known;
}

// Where the colliders of a tree go with velocities V. Returns the way of the fastest point [m].
double calc_ways(const std::vector<Vec6>& V, const Placement& placement, double dt, int object,
                 const CollisionWorkspace& collision, const LateWorkspace& w,
                 std::vector<LateWorkspace::Way>* ways) {
  double most = 0;
  for (int k = w.first_mover[object]; k < w.first_mover[object + 1]; ++k) {
    const LateWorkspace::Mover& mover = w.movers[k];
    LateWorkspace::Way& way = (*ways)[mover.collider];
    const Aabb& box = collision.boxes[mover.collider];
    const Vec3 centre = 0.5 * (box.lower + box.upper);
    const Vec6& V_link = V[mover.link];
    way.centre = dt * (V_link.tail<3>() + cross(V_link.head<3>(), Vec3(centre - placement.origin[object])));
    if (!mover.is_sphere) way.turn = dt * V_link.head<3>();
    way.around = way.turn.norm() * mover.radius;
    way.most = way.centre.norm() + way.around;
    most = std::max(most, way.most);
  }
  return most;
}

// [m] by how much two ways of a collider differ, at most.
double calc_change(const LateWorkspace::Way& x, const LateWorkspace::Way& y, double radius) {
  return (x.centre - y.centre).norm() + (x.around + y.around > 0 ? (x.turn - y.turn).norm() * radius : 0.0);
}

// [m] by how much a pair moves otherwise than collide() looked: to where the led motion goes, if pairs were
// near by the velocities before the step, gravity and, of trees, forces.
double calc_unforeseen(const Model& model, const ColliderPair& pair, const CollisionWorkspace& collision,
                       const LateWorkspace& w) {
  const auto change = [&](int i) {
    const ModelShape& shape = model.shapes[collision.shape[i]];
    if (shape.link == 0) return 0.0;
    const double way = calc_change(w.ways[i], w.led[i], shape.collider.bounding_radius);
    return model.objects[model.links[shape.link].object].is_tree()
               ? way
               : way + (w.led[i].centre - collision.travel[i]).norm();
  };
  return change(pair.a) + change(pair.b);
}

// Whether a pair may pass through itself between the beginning and the end of a step: what constraints, or
// forces within a step as of rods' edges, move goes where collide() did not look.
bool may_pass(const Model& model, const ColliderPair& pair, const CollisionWorkspace& collision,
              const LateWorkspace& w) {
  const ModelShape &a = model.shapes[collision.shape[pair.a]], &b = model.shapes[collision.shape[pair.b]];
  if (a.part != SurfacePart::none || b.part != SurfacePart::none) return false;
  const double thickness = a.collider.half_box.minCoeff() + b.collider.half_box.minCoeff();
  const LateWorkspace::Way &x = w.ways[pair.a], &y = w.ways[pair.b];
  if (!((y.centre - x.centre).norm() + x.around + y.around > thickness)) return false;
  const auto is_of_tree = [&](const ModelShape& shape) {
    return shape.link == 0 || model.objects[model.links[shape.link].object].is_tree();
  };
  return !is_of_tree(a) || !is_of_tree(b) || calc_unforeseen(model, pair, collision, w) > thickness;
}

// Marks those movers of an object that go elsewhere than when they were looked at. What leaves the box that
// was searched around its way gets a larger one; returns whether there is any such.
bool find_news(int object, CollisionWorkspace* collision, LateWorkspace* w) {
  bool strays = false;
  for (int k = w->first_mover[object]; k < w->first_mover[object + 1]; ++k) {
    const int i = w->movers[k].collider;
    const LateWorkspace::Way &now = w->ways[i], &then = w->seen[i];
    const double tolerance = w->tolerance_scale * w->tolerance[i];
    w->goes_elsewhere[i] = w->is_first || calc_change(now, then, w->movers[k].radius) > kOtherWay * tolerance;
    if (w->goes_elsewhere[i] != 0) w->seen[i] = now;
    w->end_boxes[i] = end_box(collision->boxes[i], now);
    const double slack = 0.5 * tolerance;
    if (now.most <= slack || contains(collision->swept[i], w->end_boxes[i], slack)) continue;
    collision->swept[i] = merged(collision->swept[i], w->end_boxes[i]);
    strays = true;
  }
  return strays;
}

// Whether a pair may be deeper where it goes than its contacts tell.
bool may_be_late(const Model& model, const ColliderPair& pair, const StageScope& scope,
                 const Contacts& contacts, const CollisionWorkspace& collision, const LateWorkspace& w) {
  if (w.goes_elsewhere[pair.a] == 0 && w.goes_elsewhere[pair.b] == 0) return false;
  if (!overlaps(w.end_boxes[pair.a], w.end_boxes[pair.b])) {
    const auto whole = [&](int i) { return merged(collision.boxes[i], w.end_boxes[i]); };
    if (!may_pass(model, pair, collision, w) || !overlaps(whole(pair.a), whole(pair.b))) return false;
  }
  const LateWorkspace::Way &a = w.ways[pair.a], &b = w.ways[pair.b];
  const double tolerance = tolerance_of(w, pair);
  if (a.most + b.most < tolerance) return false;
  const Vec3 way = b.centre - a.centre;
  const double motion = way.norm() + a.around + b.around;
  if (motion < tolerance) return false;
  const int shape_a = collision.shape[pair.a], shape_b = collision.shape[pair.b];
  const ModelShape &sa = model.shapes[shape_a], &sb = model.shapes[shape_b];
  const auto rests = [&](int link) { return link == 0 || scope.is_asleep(model.links[link].object); };
  if (rests(sa.link) && rests(sb.link)) return false;
  const double changed = calc_unforeseen(model, pair, collision, w);
  const bool is_foreseen = changed < tolerance;
  // The gap of a pair that has contacts of the beginning is right but for the turn of its normal. (Of shapes
  // that are not convex, it is the gap of those parts that were near.) Of others, those that collide() found
  // are right where the free motion leads, late ones where the pair was last looked at.
  const bool is_convex_pair = is_convex(sa.collider.type) && is_convex(sb.collider.type);
  const bool may_bend =  // R is at least the half width of what slides
      bends(sa, sb) && kLateTolerance * motion * motion > 2 * kLateBend * tolerance * tolerance;
  const bool is_known = (a.turn.norm() + b.turn.norm()) * motion < kLateLook * tolerance &&
                        (is_convex_pair || (is_foreseen && !may_bend));
  if (is_known && is_foreseen && contacts.late_begin == contacts.size()) return false;
  if (!can_touch(sa, sb)) return false;
  const Known known = find_contacts(model, contacts, shape_a, shape_b);
  return known.late || !(known.any && known.plain ? is_known : is_foreseen);
}

// Contacts of the beginning of a pair learn the gap that they end with, if it is less than told(i). What came
// along the normal at came(i) [m/s] < 0 goes off by no more, else it would gain energy. Leaves in
// w->left the points of the end that this does not keep apart, or of a surface that none of the contacts
// touches.
template <class F, class G>
void bend_contacts(const Model& model, double dt, int shape_a, int shape_b, const Vec3& way, double tolerance,
                   const F& told, const G& came, const Contacts& contacts, LateWorkspace* w) {
  const double growth = kLateBend * tolerance;
  const auto first = std::ssize(w->bent);
  std::erase_if(w->left, [&](const ContactPoint& point) {
    int nearest = -1;
    double least = kInfinity;
    each_contact(model, contacts, shape_a, shape_b, [&](int i) {
      if (contacts.kind[i] != ContactKind::touching || contacts.normal[i].dot(point.normal) < kOneSurface)
        return;
      const double squared = (contacts.p_WC[i] - (point.p_A - way)).squaredNorm();
      if (squared < least) nearest = i, least = squared;
    });
    if (nearest < 0) return false;
    if (!(point.distance < std::min(told(nearest), 0.0) - growth)) return true;
    const double wanted = (point.distance - told(nearest)) / dt,
                 most = std::min(0.0, came(nearest) - contacts.gap_rate[nearest]),
                 rate = std::max(wanted, most);
    if (dt * (rate - wanted) > kLateGrowth * tolerance && point.distance < -tolerance) return false;
    if (rate == 0) return true;
    const auto known = std::find_if(w->bent.begin() + first, w->bent.end(),
                                    [&](const LateWorkspace::Bent& x) { return x.contact == nearest; });
    if (known == w->bent.end()) {
      w->bent.push_back({nearest, rate});
    } else {
      known->rate = std::min(known->rate, rate);
    }
    return true;
  });
}

}  // namespace

LateWorkspace make_late_workspace(const Model& model) {
  LateWorkspace w;
  w.least_tolerance = kInfinity;
  w.first_mover.assign(model.objects.size() + 1, 0);
  for (const ModelShape& shape : model.shapes) {
    if (!shape.collides) continue;
    const int i = static_cast<int>(w.tolerance.size());
    w.tolerance.push_back(calc_tolerance(shape.collider));
    w.least_tolerance = std::min(w.least_tolerance, w.tolerance.back());
    if (shape.link == 0 || !std::isfinite(shape.collider.bounding_radius)) continue;
    w.movers.push_back(
        {i, shape.link, shape.collider.bounding_radius, shape.collider.type == ColliderType::sphere});
    ++w.first_mover[model.links[shape.link].object + 1];
  }
  std::stable_sort(w.movers.begin(), w.movers.end(),
                   [&](const LateWorkspace::Mover& x, const LateWorkspace::Mover& y) {
                     return model.links[x.link].object < model.links[y.link].object;
                   });
  std::partial_sum(w.first_mover.begin(), w.first_mover.end(), w.first_mover.begin());
  w.objects_in_block =
      std::max(1, kMoversInBlock * model.num_objects() / std::max(1, static_cast<int>(w.movers.size())));
  w.most.resize(model.objects.size());
  w.strays.resize(model.objects.size());
  w.ways.resize(w.tolerance.size());
  w.seen.resize(w.tolerance.size());
  w.led.resize(w.tolerance.size());
  w.goes_elsewhere.resize(w.tolerance.size());
  w.V.assign(model.num_links(), Vec6::Zero());
  w.end = make_placement(model);
  return w;
}

void begin_late_contacts(LateWorkspace* w) {
  w->tolerance_scale = 1;
  w->is_first = true;
}

bool is_fast(double way, const LateWorkspace& w) {
  return 2 * way >= w.tolerance_scale * w.least_tolerance;
}

bool find_late_pairs(const Model& model, const Placement& placement, const VecX& v, double dt,
                     const Contacts& contacts, const StageScope& scope, CollisionWorkspace* collision,
                     LateWorkspace* w) {
  const Threads& threads = scope.threads;
  w->pairs.clear();
  w->objects.clear();
  const auto each_object = [&](const auto& f) {
    threads.for_each_block(model.num_objects(), w->objects_in_block, [&](int begin, int end) {
      for (int t = begin; t < end; ++t) f(t);
    });
  };
  each_object([&](int t) {
    calc_twists(model, placement, v, t, &w->V);
    w->most[t] = calc_ways(w->V, placement, dt, t, *collision, *w, &w->ways);
  });
  if (w->most.empty() || !is_fast(*std::max_element(w->most.begin(), w->most.end()), *w)) return false;
  if (w->is_first) {
    w->end_boxes = collision->boxes;  // of those that stay
    each_object([&](int t) { calc_ways(collision->V_led, placement, dt, t, *collision, *w, &w->led); });
  }
  each_object([&](int t) { w->strays[t] = find_news(t, collision, w); });
  w->is_first = false;
  if (std::find(w->strays.begin(), w->strays.end(), 1) != w->strays.end())
    collision->broad_phase.update(collision->swept, threads);

  const std::span<const ColliderPair> pairs = collision->broad_phase.pairs();
  w->is_late.resize(pairs.size());
  threads.for_each_block(static_cast<int>(pairs.size()), kPairsToLookAt, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      w->is_late[i] = may_be_late(model, pairs[i], scope, contacts, *collision, *w);
  });
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (w->is_late[i] == 0) continue;
    w->pairs.push_back(pairs[i]);
    for (const int c : {pairs[i].a, pairs[i].b}) {
      const int link = model.shapes[collision->shape[c]].link;
      if (link != 0) w->objects.push_back(model.links[link].object);
    }
  }
  std::sort(w->objects.begin(), w->objects.end());
  w->objects.erase(std::unique(w->objects.begin(), w->objects.end()), w->objects.end());
  return !w->pairs.empty();
}

namespace {

// Of the colliders that are looked at: a soft body has hundreds that are not.
void bend_colliders(const Model& model, const Threads& threads, const CollisionWorkspace& collision,
                    LateWorkspace* w) {
  thread_local std::vector<int> shapes;
  shapes.clear();
  for (const ColliderPair& pair : w->pairs) {
    for (const int c : {pair.a, pair.b}) {
      if (model.shapes[collision.shape[c]].flexible >= 0) shapes.push_back(collision.shape[c]);
    }
  }
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  const std::span<const int> list = shapes;
  threads.for_each_block(static_cast<int>(list.size()), kBentInBlock, [&](int begin, int end) {
    for (int k = begin; k < end; ++k) bend_collider(model, list[k], &w->end);
  });
}

}  // namespace

bool add_late_contacts(const Model& model, const Placement& placement, double dt, const Threads& threads,
                       const CollisionWorkspace& collision, LateWorkspace* w, Contacts* contacts) {
  const int n = static_cast<int>(w->pairs.size());
  const int num_blocks = (n + kLatePairsInBlock - 1) / kLatePairsInBlock;
  if (static_cast<int>(w->points.size()) < num_blocks) w->points.resize(num_blocks);
  w->points_end.resize(n);
  bend_colliders(model, threads, collision, w);
  threads.for_each(num_blocks, [&](int block) {
    std::vector<ContactPoint>& points = w->points[block];
    points.clear();
    for (int k = kLatePairsInBlock * block; k < std::min(n, kLatePairsInBlock * (block + 1)); ++k) {
      const int a = collision.shape[w->pairs[k].a], b = collision.shape[w->pairs[k].b];
      const int first = static_cast<int>(points.size());
      const Transform X_WA = shape_pose(model, w->end, a), X_WB = shape_pose(model, w->end, b);
      collide(collider_of(model, w->end, a), X_WA, collider_of(model, w->end, b), X_WB, 0, &points);
      // What covers them has contacts of its own.
      if (drop_covered(model, a, X_WA, b, X_WB, first, &points)) points.resize(first);
      w->points_end[k] = static_cast<int>(points.size());
    }
  });

  const int before = contacts->size();
  w->bent.clear();
  for (int k = 0; k < n; ++k) {
    const int begin = k % kLatePairsInBlock == 0 ? 0 : w->points_end[k - 1];
    std::span<const ContactPoint> points(w->points[k / kLatePairsInBlock].data() + begin,
                                         w->points_end[k] - begin);
    const double tolerance = tolerance_of(*w, w->pairs[k]);
    const int a = collision.shape[w->pairs[k].a], b = collision.shape[w->pairs[k].b];
    const int link_a = model.shapes[a].link, link_b = model.shapes[b].link;
    const auto speed = [&](const Vec3& p, const Vec3& normal) {
      return normal.dot(point_velocity(model, placement, w->V, link_b, p) -
                        point_velocity(model, placement, w->V, link_a, p));
    };
    const auto shift = [&](int link) -> Vec3 {
      return link == 0 ? Vec3::Zero() : Vec3(w->end.X_WL[link].p - placement.X_WL[link].p);
    };
    const Vec3 way = (shift(link_a) + shift(link_b)) / (link_a == 0 || link_b == 0 ? 1 : 2);
    const auto tell = [&](int i) {
      return contacts->distance[i] + dt * (speed(contacts->p_WC[i], contacts->normal[i]) +
                                           contacts->gap_rate[i] - contacts->drift_rate[i]);
    };
    if (!points.empty() && bends(model.shapes[a], model.shapes[b])) {
      w->left.assign(points.begin(), points.end());
      const bool is_ball = model.shapes[a].collider.type == ColliderType::sphere ||
                           model.shapes[b].collider.type == ColliderType::sphere;
      const double goes = (w->ways[w->pairs[k].b].centre - w->ways[w->pairs[k].a].centre).norm() / dt;
      const auto came = [&](int i) {
        const Vec3& p = contacts->p_WC[i];
        const Vec3 u = point_velocity(model, placement, collision.V_led, link_b, p) -
                       point_velocity(model, placement, collision.V_led, link_a, p);
        return std::min(contacts->normal[i].dot(u), is_ball ? -kGentleTurn * goes : 0.0);
      };
      bend_contacts(model, dt, a, b, way, tolerance, tell, came, *contacts, w);
      points = w->left;
    }
    double deepest = 0;
    for (const ContactPoint& point : points) deepest = std::min(deepest, point.distance);
    const bool is_apart = deepest >= -tolerance;  // at the end
    if (is_apart && !may_pass(model, w->pairs[k], collision, *w)) continue;
    double start = kInfinity, told = 0;  // [m] least distances: before the step; after it, or zero
    bool is_patch = false;
    each_contact(model, *contacts, a, b, [&](int i) {
      is_patch = is_patch || contacts->material[i].area > 0;
      start = std::min(start, contacts->distance[i]);
      told = std::min(told, tell(i));
    });
    if (is_apart ? start < kInfinity : deepest >= told - kLateGrowth * tolerance) continue;
    // The points of a patch are where its pressure is, not where it is deepest.
    if (has_patch(model.shapes[a], model.shapes[b]) && is_soft(model.shapes[a], model.shapes[b]))
      is_patch = true;
    if (is_patch && -deepest < kLatePatch * patch_reach(model.shapes[a], model.shapes[b])) continue;
    if (is_patch && start < kInfinity) {
      // Nor do they tell how deep the pair was by the measure of points. That grows by no more than both go;
      // where it jumps, it is along another normal (a peak in a wide triangle).
      w->met.clear();
      collide(collider_of(model, placement, a), shape_pose(model, placement, a),
              collider_of(model, placement, b), shape_pose(model, placement, b), 0, &w->met);
      for (const ContactPoint& point : w->met) start = std::min(start, point.distance);
      const double most = w->ways[w->pairs[k].a].most + w->ways[w->pairs[k].b].most + tolerance;
      if (deepest >= start - kLateGrowth * tolerance || deepest < start - most) continue;
    }
    const ContactMaterial material = combine_materials(model, a, b);
    if (!(start <= material.margin)) {  // apart at the beginning
      const auto moving = [&](int shape) {
        return moving_shape(model, placement, shape, shape_pose(model, placement, shape), w->V, dt);
      };
      w->met.clear();
      const Meeting meeting =
          meet(model, a, moving(a), b, moving(b), Told{}, material.margin, 0, &w->scratch, &w->met);
      if (meeting.is_covered) continue;
      for (const ContactPoint& point : w->met) {
        add_late_contact(model, a, b, point, material, contacts);
        spread_gap(model, dt, contacts->size() - 1, contacts);
      }
      if (!w->met.empty()) {
        end_late_group(contacts);
        continue;
      }
    }
    if (is_apart) continue;
    for (const ContactPoint& point : points) {
      add_late_contact(model, a, b, point, material, contacts);
      Vec3& p = contacts->p_WC.back();
      p -= way;
      const double rate = speed(p, point.normal);
      double& distance = contacts->distance.back();
      distance = start < kInfinity ? start : std::max(0.0, point.distance - dt * rate);
      contacts->gap_rate.back() = (point.distance - distance) / dt - rate;
    }
    end_late_group(contacts);
  }
  for (const LateWorkspace::Bent& x : w->bent) contacts->gap_rate[x.contact] += x.rate;
  return contacts->size() > before;
}

}  // namespace capstan
