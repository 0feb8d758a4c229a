// Which contacts a step may need: those of what touches, and of what may meet while it lasts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "capstan/contacts/hits.h"
#include "capstan/contacts/meet.h"
#include "capstan/contacts/patches.h"
#include "capstan/dynamics/objects.h"
#include "capstan/geometry/collide.h"
#include "capstan/math/lanes.h"

namespace capstan {
namespace {

using Hit = CollisionWorkspace::Hit;
using Block = CollisionWorkspace::Block;
using Waiting = CollisionWorkspace::Waiting;
using Found = CollisionWorkspace::Found;
using Form = CollisionWorkspace::Form;

// For one thread at a time.
constexpr int kPairsInBlock = 16, kShapesInBlock = 128, kObjectsInBlock = 64;

void clear(Block* block) {
  block->points.clear();
  block->hits.clear();
  block->materials.clear();
  block->waiting.clear();
}

// How far above a surface points may glide that slide over it (contacts.h), mu (dt + tau) v, as a multiple of
// the dt v that they travel; not less than 1.
double glide_ratio(const Model& model, double dt) {
  double mu = 0, tau = 0;
  const auto add = [&](double friction, double relaxation_time) {
    mu = std::max(mu, friction);
    tau = std::max(tau, relaxation_time < 0 ? dt : relaxation_time);
  };
  for (const Material& m : model.materials) add(m.friction, m.relaxation_time);
  for (const ModelPair& p : model.pairs)
    add(p.values.friction.value_or(0), p.values.relaxation_time.value_or(0));
  return std::max(1.0, mu * (dt + tau) / dt);
}

// The contacts of a pair go to block number `id`; returns whether there is any. `apart`, what is known of
// their distance, grows where nothing is near.
bool touches(const Model& model, const ColliderPair& pair, const Approach& approach, int id, double* apart,
             CollisionWorkspace* w) {
  const int a = w->shape[pair.a], b = w->shape[pair.b];
  const double margin = std::max(model.shapes[a].pair_margin, model.shapes[b].pair_margin);
  if (!approach.may_meet(w->boxes[pair.a], w->boxes[pair.b], margin)) return false;
  const double most = std::max(margin, approach.reach());
  if (*apart >= most) return false;
  Block* block = &w->blocks[id];
  if (add_hits_of_cells(model, *w->placement, a, w->X_WS[pair.a], b, w->X_WS[pair.b], approach,
                        margin_of(model, a, b), id, block))
    return true;
  const int first = static_cast<int>(block->points.size());
  collide(collider_of(model, *w, pair.a), w->X_WS[pair.a], collider_of(model, *w, pair.b), w->X_WS[pair.b],
          most, &block->points);
  if (first == static_cast<int>(block->points.size())) {
    *apart = most;
    return false;
  }
  return add_hits(model, *w->placement, a, w->X_WS[pair.a], b, w->X_WS[pair.b], approach,
                  margin_of(model, a, b), first, id, block);
}

// The first look at a pair: what touches() does, and whether it may touch once one of the two is stopped,
// wherever on its way that happens. For both the narrow phase is asked once, as a rule.
struct FirstLook {
  double apart = -kInfinity;
  bool waits = false;
};
FirstLook look_at(const Model& model, const ColliderPair& pair, const Approach& approach, int id,
                  CollisionWorkspace* w) {
  FirstLook look;
  const int a = w->shape[pair.a], b = w->shape[pair.b];
  const Collider &A = collider_of(model, *w, pair.a), &B = collider_of(model, *w, pair.b);
  const Transform &X_WA = w->X_WS[pair.a], &X_WB = w->X_WS[pair.b];
  const double margin = std::max(model.shapes[a].pair_margin, model.shapes[b].pair_margin);
  Approach stopped = approach;  // the most that may come of it
  if (model.shapes[a].link != 0 && model.shapes[b].link != 0) stopped.stop_a = stopped.stop_b = 0;
  const bool may_wait = stopped.stop_a < 1;
  const bool meet = approach.may_meet(w->boxes[pair.a], w->boxes[pair.b], margin);
  if (!meet && !may_wait) return look;
  if (meet && add_hits_of_cells(model, *w->placement, a, X_WA, b, X_WB, approach, margin_of(model, a, b), id,
                                &w->blocks[id]))
    return look;
  const double near = std::max(margin, approach.reach());
  const double most = may_wait ? std::max(margin, stopped.reach()) : near;
  look.apart = least_distance(A, X_WA, B, X_WB);
  if (look.apart > most) return look;
  std::vector<ContactPoint>& points = w->blocks[id].points;
  const int first = static_cast<int>(points.size());
  collide(A, X_WA, B, X_WB, most, &points);
  if (first == static_cast<int>(points.size())) {
    look.apart = std::max(look.apart, most);
    return look;
  }
  const auto begin = points.begin() + first;
  const auto is_near = [&](const ContactPoint& point) { return point.distance <= near; };
  look.waits = may_wait && std::any_of(begin, points.end(), [&](const ContactPoint& point) {
                 return point.distance <= margin || stopped.may_close(point);
               });
  if (!meet || std::none_of(begin, points.end(), is_near)) {
    points.resize(first);
    return look;
  }
  if (!std::all_of(begin, points.end(), is_near)) {  // points further away may have taken the place of others
    points.resize(first);
    collide(A, X_WA, B, X_WB, near, &points);
  }
  if (add_hits(model, *w->placement, a, X_WA, b, X_WB, approach, margin_of(model, a, b), first, id,
               &w->blocks[id]))
    look.waits = false;
  return look;
}

// The hits of a pair, as they were found in the last step.
void copy_hits(const std::vector<Block>& old_blocks, const Found& old, int id, Block* block) {
  const Block& from = old_blocks[old.block];
  for (int k = old.hit_begin; k < old.hit_end; ++k) {
    Hit& hit = block->hits.emplace_back(from.hits[k]);
    block->points.push_back(from.points[hit.point]);
    hit.is_reused = true;
    hit.block = id;
    hit.point = static_cast<int>(block->points.size()) - 1;
    // One for the pair, or one for each point of a patch.
    if (k == old.hit_begin || from.hits[k].material != from.hits[k - 1].material)
      block->materials.push_back(from.materials[from.hits[k].material]);
    hit.material = static_cast<int>(block->materials.size()) - 1;
  }
}

// Bodies that move together do not come nearer, unless one of them is stopped in this step, which only
// something that touches it (or may) can do. So pairs are first tested as far as they may come nearer by
// themselves; those of a body with a contact then as if it stood still from when it is met; until there are
// no more. Here for the pairs [begin, end).
void collide_pairs(const Model& model, std::span<const ColliderPair> pairs, int begin, int end, double glide,
                   const StageScope& scope, int id, CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  clear(block);
  const auto is_all = [&](std::span<const char> objects, int link_a, int link_b) {
    const auto is = [&](int link) { return link == 0 || objects[model.links[link].object] != 0; };
    return !objects.empty() && is(link_a) && is(link_b);
  };
  auto old = w->old_found.end();
  if (!scope.unchanged.empty() && begin < end)
    old = std::lower_bound(w->old_found.begin(), w->old_found.end(), pairs[begin],
                           [](const Found& x, const ColliderPair& pair) { return x.pair < pair; });
  for (int k = begin; k < end; ++k) {
    const ColliderPair& pair = pairs[k];
    Found& found = w->found[k];
    const int first = static_cast<int>(block->hits.size());
    found = {pair, id, first, first, false, -kInfinity};
    const ModelShape &a = model.shapes[w->shape[pair.a]], &b = model.shapes[w->shape[pair.b]];
    if (!can_touch(a, b) || is_all(scope.asleep, a.link, b.link)) continue;
    while (old != w->old_found.end() && old->pair < pair) ++old;
    if (old != w->old_found.end() && old->pair == pair && is_all(scope.unchanged, a.link, b.link)) {
      copy_hits(w->old_blocks, *old, id, block);
      found.apart = old->apart;
      found.waits = old->waits;
    } else {
      const FirstLook look = look_at(model, pair, approach_of(pair, glide, *w), id, w);
      found.apart = look.apart;
      found.waits = look.waits;
    }
    found.hit_end = static_cast<int>(block->hits.size());
    if (found.waits) block->waiting.push_back({pair, found.apart});
  }
}

// [m] how deep each link stands in anything.
void calc_stand_depths(const Model& model, int num_blocks, CollisionWorkspace* w) {
  w->stand_depth.assign(model.num_links(), 0);
  for (int i = 0; i < num_blocks; ++i) {
    for (const Hit& hit : w->blocks[i].hits) {
      const double depth = -w->blocks[i].points[hit.point].distance;
      if (!(depth > 0)) continue;
      for (const int link : {hit.link_a, hit.link_b})
        w->stand_depth[link] = std::max(w->stand_depth[link], depth);
    }
  }
}

// Whether a law that glides needs the contacts of a pair that is apart: the free motion presses the shapes
// together, and they slide along each other, with the same normal at the end.
bool glides_on(const Model& model, const Placement& placement, const Forecast& forecast,
               const ContactPoint& point, int a, const MovingShape& A, int b, const MovingShape& B,
               std::vector<ContactPoint>* scratch) {
  if (!(combine_materials(model, a, b).friction > 0)) return false;
  const Vec3& n = point.normal;
  // Of a free body its centre of mass tells: gyroscopic forces press nothing.
  const auto pressing = [&](int shape, const MovingShape& X) {
    const int l = model.shapes[shape].link;
    const RigidMotion now = link_motion(model, placement, l, forecast.velocity->V[l],
                                        forecast.velocity->V[parent_link(model, l)], forecast.dt);
    const Link& link = model.links[l];
    const bool is_free = l > 0 && link.parent == 0 && link.dof_end - link.dof_begin == 6;
    const Vec3 p = is_free ? Vec3(placement.X_WL[l] * link.com) : point.p_A;
    return n.dot(X.motion.displacement(p) - now.displacement(p));
  };
  const double way = (B.motion.displacement(point.p_A) - A.motion.displacement(point.p_A)).norm();
  const double weight = 0.1 * model.options.gravity.norm() * forecast.dt * forecast.dt;
  const double least = weight > 0 ? std::min(weight, 0.01 * way) : 0.01 * way;
  if (!(pressing(b, B) - pressing(a, A) < -least)) return false;
  scratch->clear();
  collide(*A.collider, A.pose(1), *B.collider, B.pose(1), point.distance + way, scratch);
  return std::any_of(scratch->begin(), scratch->end(),
                     [&](const ContactPoint& end) { return end.normal.dot(n) > 0.99; });
}

// [m] how deep the links of a hit may be said to have been in each other.
double slack_of(const Hit& hit, const CollisionWorkspace& w) {
  constexpr double kSlack = 2;  // of how deep they stand
  const auto depth = [&](int link) { return link == 0 ? 0.0 : w.stand_depth[link]; };
  return kSlack * std::max(depth(hit.link_a), depth(hit.link_b));
}

// The hits of a pair that is apart, `old`, or those of where these motions make it meet (meet.h), or none go
// to block number `id`. What `grazes` meets the surface of the old hits if not another one.
Meeting follow(const Model& model, const ColliderPair& pair, const MovingShape& A, const MovingShape& B,
               std::span<const Hit> old, bool grazes, int id, CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  const int a = w->shape[pair.a], b = w->shape[pair.b];
  const int first = static_cast<int>(block->points.size());
  Told told{block->points[old[0].point].normal};
  for (const Hit& hit : old) {
    const ContactPoint& p = block->points[hit.point];
    told.gap = std::min(told.gap, p.distance + calc_opening(A, B, p.normal, 0.5 * (p.p_A + p.p_B)));
  }
  Meeting meeting = meet(model, a, A, b, B, told, margin_of(model, a, b), slack_of(old[0], *w),
                         &block->scratch, &block->points);
  const bool is_other =
      std::none_of(block->points.begin() + first, block->points.end(),
                   [&](const ContactPoint& p) { return p.normal.dot(told.normal) > kOtherSurface; });
  if (grazes && (meeting.kind == Meeting::Kind::none || !is_other)) meeting.kind = Meeting::Kind::along;
  if (meeting.kind == Meeting::Kind::along) {
    block->hits.insert(block->hits.end(), old.begin(), old.end());
    block->points.resize(first);
  }
  for (int p = first; p < static_cast<int>(block->points.size()); ++p) {
    const ContactPoint& point = block->points[p];
    block->hits.push_back({old[0].link_a, old[0].link_b, a, b, id, p, old[0].material, false,
                           meeting.is_covered, ContactKind::met, point.distance,
                           point.normal.dot(w->travel[pair.a]), -point.normal.dot(w->travel[pair.b])});
  }
  return meeting;
}

// Pairs that are apart get the contacts of where they meet (meet.h), or none. Here those of a block, found
// [begin, end).
void find_meetings(const Model& model, const Placement& placement, const Forecast& forecast, int begin,
                   int end, int id, CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  const auto is_apart = [](const Hit& hit) { return hit.kind == ContactKind::ahead && !hit.is_reused; };
  const auto is_patch = [&](const Hit& hit) {
    return hit.kind == ContactKind::touching && !hit.is_reused && block->materials[hit.material].area > 0;
  };
  // Shapes that are hardly in each other, and would go on into each other faster than by their weight: what
  // came to rest against a surface does not, so that this may be the corner of a next tile (meet.h,
  // goes_over()).
  const double fall = 2 * model.options.gravity.norm() * forecast.dt * forecast.dt;
  const auto grazes = [&](const Hit& hit) {
    return hit.kind == ContactKind::touching && !hit.is_reused && !is_patch(hit) &&
           hit.near_a + hit.near_b > fall + slack_of(hit, *w);
  };
  if (std::none_of(block->hits.begin(), block->hits.end(),
                   [&](const Hit& hit) { return is_apart(hit) || is_patch(hit) || grazes(hit); }))
    return;
  std::swap(block->hits, block->old_hits);
  block->hits.clear();
  for (int k = begin; k < end; ++k) {
    Found& found = w->found[k];
    const std::span<const Hit> old(block->old_hits.data() + found.hit_begin, found.hit_end - found.hit_begin);
    found.hit_begin = static_cast<int>(block->hits.size());
    const bool apart = !old.empty() && std::all_of(old.begin(), old.end(), is_apart);
    // A box whose front is flush with an edge touches with some of its points and is apart with others.
    const bool graze = !old.empty() && !apart && std::all_of(old.begin(), old.end(), [&](const Hit& hit) {
      return is_apart(hit) || grazes(hit);
    });
    if (!apart && !graze) {
      const bool patch = !old.empty() && is_patch(old[0]);
      if (patch && goes_along(model, placement, forecast, found, old, id, w)) {
        found.hit_end = static_cast<int>(block->hits.size());
        continue;
      }
      if (!patch || !renew_patch(model, placement, forecast, found, old, id, w)) {
        if (patch) keep_patch_of_spin(model, forecast, found, old, id, w);
        block->hits.insert(block->hits.end(), old.begin(), old.end());
      }
      found.hit_end = static_cast<int>(block->hits.size());
      continue;
    }
    const int i = found.pair.a, j = found.pair.b, a = w->shape[i], b = w->shape[j];
    const int link_a = model.shapes[a].link, link_b = model.shapes[b].link;
    const MovingShape A = moving_shape(model, placement, a, w->X_WS[i], w->V_led, forecast.dt);
    const MovingShape B = moving_shape(model, placement, b, w->X_WS[j], w->V_led, forecast.dt);
    if (has_patch(model.shapes[a], model.shapes[b])) {
      const int point = static_cast<int>(block->points.size());
      const int material = static_cast<int>(block->materials.size());
      if (add_patch_ahead(model, placement, a, A, b, B, true, approach_of(found.pair, 0, *w).nearer(),
                          block)) {
        double distance = kInfinity;
        for (const Hit& hit : old) distance = std::min(distance, block->points[hit.point].distance);
        if (goes_along(model, a, A, b, B, distance, point, *block)) {
          block->points.resize(point);
          block->materials.resize(material);
        }
        add_patch_hits(model, a, w->travel[i], b, w->travel[j], id, point, material, ContactKind::met, block);
        found.hit_end = static_cast<int>(block->hits.size());
        continue;
      }
      if (is_left_to_neighbours(model, a, b, block->scratch)) {
        found.hit_end = static_cast<int>(block->hits.size());
        continue;
      }
    }
    const Meeting meeting = follow(model, found.pair, A, B, old, graze, id, w);
    if (meeting.kind == Meeting::Kind::none) {
      const bool glides =
          forecast.glides &&
          glides_on(model, placement, forecast, block->points[old[0].point], a, A, b, B, &block->scratch);
      const int point = static_cast<int>(block->points.size());
      const int material = static_cast<int>(block->materials.size());
      if (glides && has_patch(model.shapes[a], model.shapes[b]) &&
          add_gliding_patch(model, placement, a, w->X_WS[i], b, w->X_WS[j], block->points[old[0].point],
                            block)) {
        add_patch_hits(model, a, w->travel[i], b, w->travel[j], id, point, material, ContactKind::gliding,
                       block);
      } else {
        for (const Hit& hit : old) {
          if (glides) block->hits.emplace_back(hit).kind = ContactKind::gliding;
        }
      }
      found.waits = !glides && link_a != 0 && link_b != 0;
      if (found.waits) block->waiting.push_back({found.pair, found.apart});
    }
    found.hit_end = static_cast<int>(block->hits.size());
  }
}

// The part of the step after which two bodies may meet at a point where they are found to, when one of them
// may be stopped after the parts `stop`.
double when(const Hit& hit, double stop_a, double stop_b) {
  if (hit.way <= 0) return 0;
  const auto time = [](double way, double near) { return way < near ? way / near : 1.0; };
  double t = time(hit.way, hit.near_a + hit.near_b);
  if (stop_a < 1) t = std::min(t, std::max(stop_a, time(hit.way - stop_a * hit.near_a, hit.near_b)));
  if (stop_b < 1) t = std::min(t, std::max(stop_b, time(hit.way - stop_b * hit.near_b, hit.near_a)));
  return t;
}

// Lists the items of each link, in order: first[l] to first[l + 1] in `list`. links(i) are two, 0 for none.
template <class F>
void list_by_link(int num_links, int num_items, const F& links, std::vector<int>* first,
                  std::vector<int>* list) {
  first->assign(num_links + 1, 0);
  for (int i = 0; i < num_items; ++i) {
    for (const int l : links(i)) ++(*first)[l];
  }
  int sum = 0;
  for (int& x : *first) x = sum += x;
  list->resize(sum);
  for (int i = num_items - 1; i >= 0; --i) {
    for (const int l : links(i)) (*list)[--(*first)[l]] = i;
  }
}

// The hits of a pair of rigid shapes that waited, from `first` on in block 0, are of where it meets once one
// of the two is stopped. Returns whether there are any. What goes a short way stays: it may be stopped
// elsewhere, and meets along the normal of now.
bool follow_stopped(const Model& model, double dt, const ColliderPair& pair, const Approach& approach,
                    std::size_t first, CollisionWorkspace* w) {
  constexpr double kShort = 0.05;  // of the least half width of the smaller shape
  Block* block = &w->blocks[0];
  const int a = w->shape[pair.a], b = w->shape[pair.b];
  const auto is_apart = [](const Hit& hit) { return hit.kind == ContactKind::ahead; };
  const auto is_tree = [&](int shape) {
    return model.shapes[shape].link == 0 ||
           model.objects[model.links[model.shapes[shape].link].object].is_tree();
  };
  const auto size = [&](int collider) { return collider_of(model, *w, collider).half_box.minCoeff(); };
  if (has_patch(model.shapes[a], model.shapes[b]) || !is_tree(a) || !is_tree(b) ||
      approach.reach() < kShort * std::min(size(pair.a), size(pair.b)) ||
      !std::all_of(block->hits.begin() + first, block->hits.end(), is_apart))
    return true;
  block->old_hits.assign(block->hits.begin() + first, block->hits.end());
  block->hits.resize(first);
  const MovingShape A = moving_shape(model, *w->placement, a, w->X_WS[pair.a], w->V_led, dt);
  const MovingShape B = moving_shape(model, *w->placement, b, w->X_WS[pair.b], w->V_led, dt);
  const auto meets = [&](double part_of_a, double part_of_b) {
    const auto until = [](double part, const MovingShape& x) -> MovingShape {
      return {x.collider, x.X_WS, {x.motion.pivot, part * x.motion.travel, part * x.motion.turn}};
    };
    return follow(model, pair, until(part_of_a, A), until(part_of_b, B), block->old_hits, false, 0, w).kind !=
           Meeting::Kind::none;
  };
  return (approach.stop_a < 1 && meets(approach.stop_a, 1)) ||
         (approach.stop_b < 1 && meets(1, approach.stop_b));
}

// Goes on with those that waited for a body to be stopped, in block 0, in the order in which that may happen
// (Dijkstra's). What sleeps has been stopped.
void collide_waiting(const Model& model, const Forecast& forecast, double glide, const StageScope& scope,
                     CollisionWorkspace* w) {
  const int num_links = model.num_links();
  w->stop.assign(num_links, 1);
  w->queue.clear();
  const auto stop = [&](int link, double part) {
    if (link == 0 || part >= w->stop[link]) return;
    w->stop[link] = part;
    w->queue.push_back({part, link});
    std::push_heap(w->queue.begin(), w->queue.end(), std::greater());
  };
  for (int l = 1; l < num_links && !scope.asleep.empty(); ++l) {
    if (scope.is_asleep(model.links[l].object)) stop(l, 0);
  }
  for (const Hit& hit : w->hits) {
    stop(hit.link_a, when(hit, 1, 1));
    stop(hit.link_b, when(hit, 1, 1));
  }
  const auto links_of = [&](const Waiting& wait) -> std::array<int, 2> {
    return {model.shapes[w->shape[wait.pair.a]].link, model.shapes[w->shape[wait.pair.b]].link};
  };
  list_by_link(
      num_links, static_cast<int>(w->waiting.size()), [&](int i) { return links_of(w->waiting[i]); },
      &w->first_waiting, &w->waiting_of_link);
  list_by_link(
      num_links, static_cast<int>(w->hits.size()),
      [&](int i) {
        return std::array<int, 2>{w->hits[i].link_a, w->hits[i].link_b};
      },
      &w->first_hit, &w->hits_of_link);
  w->is_final.assign(num_links, false);
  std::vector<Hit>& found = w->blocks[0].hits;
  while (!w->queue.empty()) {
    const int link = w->queue.front().second;
    std::pop_heap(w->queue.begin(), w->queue.end(), std::greater());
    w->queue.pop_back();
    if (w->is_final[link]) continue;
    w->is_final[link] = true;
    const auto stop_of = [&](int l) { return w->is_final[l] ? w->stop[l] : 1.0; };
    const auto stop_other = [&](const Hit& hit) {
      stop(hit.link_a == link ? hit.link_b : hit.link_a, when(hit, stop_of(hit.link_a), stop_of(hit.link_b)));
    };
    for (int k = w->first_hit[link]; k < w->first_hit[link + 1]; ++k) stop_other(w->hits[w->hits_of_link[k]]);
    for (int k = w->first_waiting[link]; k < w->first_waiting[link + 1]; ++k) {
      Waiting& wait = w->waiting[w->waiting_of_link[k]];
      if (wait.found) continue;
      Approach approach = approach_of(wait.pair, glide, *w);
      approach.stop_a = stop_of(links_of(wait)[0]);
      approach.stop_b = stop_of(links_of(wait)[1]);
      const std::size_t before = found.size();
      wait.found = touches(model, wait.pair, approach, 0, &wait.apart, w) &&
                   (forecast.velocity == nullptr ||
                    follow_stopped(model, forecast.dt, wait.pair, approach, before, w));
      std::for_each(found.begin() + before, found.end(), stop_other);
    }
  }
}

// `Shape` is ModelShape or Form.
template <class Shape>
CAPSTAN_INLINE inline void calc_pose(const Shape& shape, const Placement& placement, Frame* X_WS) {
  if (shape.link == 0) return load(shape.X_LS, X_WS);
  Frame link;
  load(placement.X_WL[shape.link], &link);
  multiply(link, shape.X_LS, X_WS);
}

// The box of a half space.
Aabb half_space_box(const Transform& X) {
  Aabb box = {Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
  // A floor or a wall along the world's axes has nothing on its other side.
  for (int i = 0; i < 3; ++i) {
    if (X.R(i, 2) == 1) box.upper[i] = X.p[i];
    if (X.R(i, 2) == -1) box.lower[i] = X.p[i];
  }
  return box;
}

// Poses, motions and boxes of the colliders [begin, end). They stand still where `velocity` is null. What
// forces other than gravity make of the led motion may lead in any direction: they are not there for ever.
CAPSTAN_CLONES void place_colliders(const Model& model, const Placement& placement, const Forecast& forecast,
                                    double glide, int begin, int end, CollisionWorkspace* w) {
  const Velocity* velocity = forecast.velocity;
  const double dt = forecast.dt;
  constexpr double kForced = 1e-6;  // of the bounding radius: what is more than round-off
  for (int i = begin; i < end; ++i) {
    Form& form = w->forms[i];
    if (form.flexible >= 0) {
      const Collider& c = placement.flexible[form.flexible];
      form.centre = c.centre;
      form.half_box = c.half_box;
      form.bounding_radius = c.bounding_radius;
      if (c.inside > 0) {  // it is looked for there, too
        form.centre.z() -= 0.5 * c.inside;
        form.half_box.z() += 0.5 * c.inside;
        form.bounding_radius += 0.5 * c.inside;
      }
    }
    Frame X;
    calc_pose(form, placement, &X);
    store(X, &w->X_WS[i]);
    const bool is_bounded = std::isfinite(form.bounding_radius);
    w->travel[i].setZero();
    w->spin[i] = w->way[i] = 0;
    if (velocity != nullptr && form.has_moving_surface) {
      const ModelShape& shape = model.shapes[w->shape[i]];
      w->spin[i] = dt * shape.surface_velocity.norm();
      if (is_bounded) w->spin[i] += dt * shape.surface_spin.norm() * form.bounding_radius;
    }
    if (!is_bounded) {  // half spaces do not move
      w->boxes[i] = half_space_box(w->X_WS[i]);
      w->swept[i] = inflated(w->boxes[i], form.pair_margin + std::max(1.0, glide) * w->spin[i]);
      continue;
    }
    Four centre, travel = {};
    rotate(X, form.centre.data(), &centre);
    centre += X.p;
    if (velocity != nullptr && form.link != 0) {
      const Vec6& V = velocity->V[form.link];
      Four origin, angular, linear, g, carried;
      load(placement.origin[form.object].data(), &origin);
      load(V.data(), &angular);
      load(V.data() + 3, &linear);
      load(model.options.gravity.data(), &g);
      cross(angular, centre - origin, &carried);
      const Four speed = linear + carried;
      travel = dt * speed + dt * dt * g;
      store(travel, w->travel[i].data());
      const double spin = dt * std::sqrt(dot(angular, angular)) * form.bounding_radius;
      w->spin[i] += spin;
      if (forecast.v_free != nullptr && model.objects[form.object].is_tree()) {
        const Vec6& V_led = w->V_led[form.link];
        Four led_angular, led_linear, led_carried;
        load(V_led.data(), &led_angular);
        load(V_led.data() + 3, &led_linear);
        cross(led_angular, centre - origin, &led_carried);
        const Four change = dt * (led_linear + led_carried) - travel, turn = led_angular - angular;
        const double forced = std::sqrt(dot(change, change)) +
                              (form.is_sphere ? 0 : dt * std::sqrt(dot(turn, turn)) * form.bounding_radius);
        if (forced > kForced * form.bounding_radius) w->spin[i] += forced;
      }
      w->way[i] = dt * std::sqrt(dot(speed, speed)) + (form.is_sphere ? 0 : spin);
    }
    const Four half = (X.x < 0 ? -X.x : X.x) * form.half_box[0] + (X.y < 0 ? -X.y : X.y) * form.half_box[1] +
                      (X.z < 0 ? -X.z : X.z) * form.half_box[2];
    const Four lower = centre - half, upper = centre + half;
    store(lower, w->boxes[i].lower.data());
    store(upper, w->boxes[i].upper.data());
    double margin = form.pair_margin + w->spin[i];
    if (glide > 0) {
      const double glides = glide * (w->spin[i] + std::sqrt(dot(travel, travel)));
      margin = std::max(margin, form.pair_margin + glides);
    }
    store(lower + (travel < 0 ? travel : Four{}) - margin, w->swept[i].lower.data());
    store(upper + (travel > 0 ? travel : Four{}) + margin, w->swept[i].upper.data());
  }
}

void calc_led_velocities(const Model& model, const Placement& placement, const Forecast& forecast,
                         const Threads& threads, CollisionWorkspace* w) {
  if (forecast.v_free == nullptr) {
    w->V_led = forecast.velocity->V;
    return;
  }
  w->V_led.resize(model.num_links());
  w->V_led[0].setZero();
  threads.for_each_block(model.num_objects(), kObjectsInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) calc_twists(model, placement, *forecast.v_free, i, &w->V_led);
  });
}

void collide_within_reach(const Model& model, const Placement& placement, const Forecast& forecast,
                          double glide, const StageScope& scope, CollisionWorkspace* w, Contacts* contacts) {
  const Threads& threads = scope.threads;
  w->placement = &placement;
  if (forecast.velocity != nullptr) calc_led_velocities(model, placement, forecast, threads, w);
  threads.for_each_block(static_cast<int>(w->shape.size()), kShapesInBlock, [&](int begin, int end) {
    place_colliders(model, placement, forecast, glide, begin, end, w);
  });
  const std::span<const ColliderPair> pairs = w->broad_phase.update(w->swept, threads);
  const int n = static_cast<int>(pairs.size());
  const int size = threads.count() > 1 ? kPairsInBlock : std::max(n, 1);
  const int num_blocks = std::max(1, (n + size - 1) / size);
  std::swap(w->blocks, w->old_blocks);
  std::swap(w->found, w->old_found);
  if (static_cast<int>(w->blocks.size()) < num_blocks) w->blocks.resize(num_blocks);
  w->found.resize(n);
  threads.for_each(num_blocks, [&](int i) {
    collide_pairs(model, pairs, i * size, std::min(n, (i + 1) * size), glide, scope, i, w);
  });
  if (forecast.velocity != nullptr) {
    calc_stand_depths(model, num_blocks, w);
    threads.for_each(num_blocks, [&](int i) {
      find_meetings(model, placement, forecast, i * size, std::min(n, (i + 1) * size), i, w);
    });
  }
  w->hits.clear();
  w->waiting.clear();
  for (int i = 0; i < num_blocks; ++i) {
    w->waiting.insert(w->waiting.end(), w->blocks[i].waiting.begin(), w->blocks[i].waiting.end());
    w->hits.insert(w->hits.end(), w->blocks[i].hits.begin(), w->blocks[i].hits.end());
  }
  if (!w->waiting.empty()) {
    const std::size_t before = w->blocks[0].hits.size();
    collide_waiting(model, forecast, glide, scope, w);
    w->hits.insert(w->hits.end(), w->blocks[0].hits.begin() + before, w->blocks[0].hits.end());
  }
  gather(model, threads, w, contacts);
}

}  // namespace

Approach approach_of(const ColliderPair& pair, double glide, const CollisionWorkspace& w) {
  Approach approach{w.travel[pair.a], w.travel[pair.b]};
  const double spin = w.spin[pair.a] + w.spin[pair.b];
  approach.around = spin;
  if (glide > 0)
    approach.around = std::max(spin, glide * (spin + (approach.travel_b - approach.travel_a).norm()));
  return approach;
}

CAPSTAN_CLONES Transform shape_pose(const Model& model, const Placement& placement, int shape) {
  Frame X;
  calc_pose(model.shapes[shape], placement, &X);
  Transform X_WS;
  store(X, &X_WS);
  return X_WS;
}

// Shapes with the same number never pair: those of a link, or of an object that does not touch itself.
static int pairing_body(const Model& model, int link) {
  const int id = model.links[link].object;
  if (id < 0 || model.objects[id].is_tree() || model.objects[id].physics->touches_itself()) return link;
  return model.objects[id].link_begin;
}

CollisionWorkspace make_collision_workspace(const Model& model) {
  CollisionWorkspace w;
  std::vector<BroadPhaseCollider> colliders;
  std::vector<std::array<int, 2>> excluded_links, excluded_colliders;
  std::vector<std::vector<int>> colliders_of_body(model.bodies.size());
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) {
    const ModelShape& shape = model.shapes[s];
    if (!shape.collides) continue;
    colliders_of_body[shape.body].push_back(static_cast<int>(colliders.size()));
    colliders.push_back({pairing_body(model, shape.link), shape.link == 0, shape.group_bits, shape.mask_bits,
                         static_cast<std::uint8_t>(1 << static_cast<int>(shape.part)),
                         static_cast<std::uint8_t>(parts_met_by(shape))});
    w.shape.push_back(s);
    const Collider& c = shape.collider;
    w.forms.push_back({shape.X_LS, c.centre, c.half_box, c.bounding_radius, shape.pair_margin, shape.link,
                       model.links[shape.link].object, shape.flexible, c.type == ColliderType::sphere,
                       shape.has_moving_surface});
  }
  if (!model.options.collide_parent_child) {
    for (int l = 1; l < model.num_links(); ++l) {
      if (model.links[l].parent > 0) excluded_links.push_back({model.links[l].parent, l});
    }
  }
  excluded_links.insert(excluded_links.end(), model.excluded_links.begin(), model.excluded_links.end());
  for (const auto& [a, b] : model.excluded_bodies) {
    for (const int i : colliders_of_body[a]) {
      for (const int j : colliders_of_body[b]) excluded_colliders.push_back({i, j});
    }
  }
  w.boxes.resize(colliders.size());
  w.swept.resize(colliders.size());
  w.X_WS.resize(colliders.size());
  w.travel.assign(colliders.size(), Vec3::Zero());
  w.spin.assign(colliders.size(), 0);
  w.way.assign(colliders.size(), 0);
  w.broad_phase = BroadPhase(std::move(colliders), std::move(excluded_links), std::move(excluded_colliders));
  return w;
}

void collide(const Model& model, const Placement& placement, CollisionWorkspace* w, Contacts* contacts) {
  collide_within_reach(model, placement, {}, 0, {}, w, contacts);
}

void collide(const Model& model, const Placement& placement, const Forecast& forecast,
             const StageScope& scope, CollisionWorkspace* w, Contacts* contacts) {
  collide_within_reach(model, placement, forecast, forecast.glides ? glide_ratio(model, forecast.dt) : 0,
                       scope, w, contacts);
  for (int i = 0; i < contacts->size(); ++i) {
    if (contacts->kind[i] == ContactKind::met) spread_gap(model, forecast.dt, i, contacts);
  }
}

}  // namespace capstan
