#include "capstan/contacts/contacts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "capstan/geometry/collide.h"
#include "capstan/math/lanes.h"

namespace capstan {
namespace {

// Two springs in series; an infinite one leaves the other.
double in_series(double a, double b) {
  if (std::isinf(a)) return b;
  if (std::isinf(b)) return a;
  return a * b / (a + b);
}

// Where a box may be while it goes by `travel`, and as far around as `margin`.
Aabb sweep(const Aabb& box, const Vec3& travel, double margin) {
  return {box.lower + travel.cwiseMin(0) - Vec3::Constant(margin),
          box.upper + travel.cwiseMax(0) + Vec3::Constant(margin)};
}

bool overlap(const Aabb& a, const Aabb& b) {
  return (a.lower.array() <= b.upper.array()).all() && (b.lower.array() <= a.upper.array()).all();
}

bool is_excluded(const Model& model, int body_a, int body_b) {
  const std::array<int, 2> pair = {std::min(body_a, body_b), std::max(body_a, body_b)};
  return std::binary_search(model.excluded_bodies.begin(), model.excluded_bodies.end(), pair);
}

bool are_parent_and_child(const Model& model, int link_a, int link_b) {
  return (link_a > 0 && model.links[link_b].parent == link_a) ||
         (link_b > 0 && model.links[link_a].parent == link_b);
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
  c->feature.resize(size);
  c->material.resize(size);
  c->is_same.resize(size);
}

// The first `num_old` of the contacts are those of the last step.
void set_contact(const Model& model, int shape_a, int shape_b, const ContactPoint& p,
                 const ContactMaterial& material, int i, int num_old, Contacts* c) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  // The softer side yields more: the contact is nearer to the surface of the stiffer one.
  const double share = std::isinf(a.stiffness)   ? 0
                       : std::isinf(b.stiffness) ? 1
                                                 : b.stiffness / (a.stiffness + b.stiffness);
  const Vec3 p_WC = p.p_A + share * (p.p_B - p.p_A);
  c->is_same[i] = i < num_old && c->shape_a[i] == shape_a && c->shape_b[i] == shape_b &&
                  c->feature[i] == p.feature && c->distance[i] == p.distance && c->p_WC[i] == p_WC &&
                  c->normal[i] == p.normal && c->material[i] == material;
  c->shape_a[i] = shape_a;
  c->shape_b[i] = shape_b;
  c->link_a[i] = a.link;
  c->link_b[i] = b.link;
  c->p_WC[i] = p_WC;
  c->normal[i] = p.normal;
  c->distance[i] = p.distance;
  c->gap_rate[i] = 0;
  c->feature[i] = p.feature;
  c->material[i] = material;
}

using Hit = CollisionWorkspace::Hit;
using Block = CollisionWorkspace::Block;
using Waiting = CollisionWorkspace::Waiting;
using Found = CollisionWorkspace::Found;
using Form = CollisionWorkspace::Form;

// For one thread at a time.
constexpr int kPairsInBlock = 16, kShapesInBlock = 128, kContactsInBlock = 64;

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
  bool may_meet(const Aabb& a, const Aabb& b, double margin) const {
    margin = std::max(margin, around);
    return most([&](const Vec3& motion) { return overlap(a, sweep(b, motion, margin)); });
  }
  bool may_close(const ContactPoint& point) const {
    const double nearer = most([&](const Vec3& motion) { return -point.normal.dot(motion); });
    return point.distance <= std::max(0.0, nearer) + around;
  }
};

// Narrow phase of one pair; the contacts go to block number `id`. Returns whether there is any. `reach` is
// the approach's; `apart`, what is known of their distance, grows where nothing is near.
bool collide_pair(const Model& model, int a, int b, const Transform& X_WA, const Transform& X_WB,
                  const Approach& approach, double reach, int id, Block* block, double* apart) {
  // Few pairs touch: the rest of what they are made of is asked for then.
  const double margin = model.pairs.empty() ? std::max(model.shapes[a].margin, model.shapes[b].margin)
                                            : combine_materials(model, a, b).margin;
  std::vector<ContactPoint>& points = block->points;
  const int first = static_cast<int>(points.size());
  const double most = std::max(margin, reach);
  collide(model.shapes[a].collider, X_WA, model.shapes[b].collider, X_WB, most, &points);
  if (first == static_cast<int>(points.size())) {
    *apart = std::max(*apart, most);
    return false;
  }
  const auto far = [&](const ContactPoint& point) {
    return point.distance > margin && !approach.may_close(point);
  };
  points.erase(std::remove_if(points.begin() + first, points.end(), far), points.end());
  const int last = static_cast<int>(points.size());
  if (first == last) return false;
  for (int i = first; i < last; ++i) {
    const ContactPoint& p = points[i];
    block->hits.push_back({model.shapes[a].link, model.shapes[b].link, a, b, id, i,
                           static_cast<int>(block->materials.size()), false,
                           p.distance <= margin ? 0 : p.distance - approach.around,
                           p.normal.dot(approach.travel_a), -p.normal.dot(approach.travel_b)});
  }
  block->materials.push_back(combine_materials(model, a, b));
  return true;
}

void clear(Block* block) {
  block->points.clear();
  block->hits.clear();
  block->materials.clear();
  block->waiting.clear();
}

// Hits to the structure of arrays, grouped by pairs of links.
void gather(const Model& model, const Threads& threads, CollisionWorkspace* w, Contacts* c) {
  const int n = static_cast<int>(w->hits.size());
  w->order.resize(n);
  for (int i = 0; i < n; ++i) {
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
  // differs.
  if (!std::is_sorted(w->order.begin(), w->order.end(), before))
    std::sort(w->order.begin(), w->order.end(), before);
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
      c->is_same[i] = hit.is_copied && i < num_old && c->shape_a[i] == hit.shape_a &&
                      c->shape_b[i] == hit.shape_b &&
                      c->feature[i] == w->blocks[hit.block].points[hit.point].feature;
      if (c->is_same[i] != 0) continue;
      set_contact(model, hit.shape_a, hit.shape_b, w->blocks[hit.block].points[hit.point],
                  w->blocks[hit.block].materials[hit.material], i, num_old, c);
    }
  });
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

// Here and below `glide` is glide_ratio(), or 0 for laws that do not glide.
Approach approach_of(const ColliderPair& pair, double glide, const CollisionWorkspace& w) {
  Approach approach{w.travel[pair.a], w.travel[pair.b]};
  const double spin = w.spin[pair.a] + w.spin[pair.b];
  approach.around = spin;
  if (glide > 0)
    approach.around = std::max(spin, glide * (spin + (approach.travel_b - approach.travel_a).norm()));
  return approach;
}

// `apart` is what is known of their distance, before and after.
bool touches(const Model& model, const ColliderPair& pair, const Approach& approach, int id, double* apart,
             CollisionWorkspace* w) {
  const int a = w->shape[pair.a], b = w->shape[pair.b];
  const double margin = std::max(model.shapes[a].pair_margin, model.shapes[b].pair_margin);
  if (!approach.may_meet(w->boxes[pair.a], w->boxes[pair.b], margin)) return false;
  const double reach = approach.reach(), most = std::max(margin, reach);
  if (*apart >= most) return false;
  const Transform &X_WA = w->X_WS[pair.a], &X_WB = w->X_WS[pair.b];
  *apart = std::max(*apart, least_distance(model.shapes[a].collider, X_WA, model.shapes[b].collider, X_WB));
  return !(*apart > most) &&
         collide_pair(model, a, b, X_WA, X_WB, approach, reach, id, &w->blocks[id], apart);
}

// The hits of a pair, as they were found in the last step.
void copy_hits(const std::vector<Block>& old_blocks, const Found& old, int id, Block* block) {
  const Block& from = old_blocks[old.block];
  for (int k = old.hit_begin; k < old.hit_end; ++k) {
    Hit& hit = block->hits.emplace_back(from.hits[k]);
    block->points.push_back(from.points[hit.point]);
    hit.is_copied = true;
    hit.block = id;
    hit.point = static_cast<int>(block->points.size()) - 1;
    hit.material = static_cast<int>(block->materials.size());
  }
  if (old.hit_begin < old.hit_end)
    block->materials.push_back(from.materials[from.hits[old.hit_begin].material]);
}

// Bodies that move together do not come nearer, unless one of them is stopped in this step, which only
// something that touches it (or may) can do. So pairs are first tested as far as they may come nearer by
// themselves; those of a body with a contact then as if it stood still from when it is met; until there are
// no more. Here for the pairs [begin, end).
void collide_pairs(const Model& model, std::span<const ColliderPair> pairs, int begin, int end, double glide,
                   std::span<const char> asleep, std::span<const char> unchanged, int id,
                   CollisionWorkspace* w) {
  Block* block = &w->blocks[id];
  clear(block);
  const auto is_all = [&](std::span<const char> trees, int link_a, int link_b) {
    const auto is = [&](int link) { return link == 0 || trees[model.links[link].tree] != 0; };
    return !trees.empty() && is(link_a) && is(link_b);
  };
  auto old = w->old_found.end();
  if (!unchanged.empty() && begin < end)
    old = std::lower_bound(w->old_found.begin(), w->old_found.end(), pairs[begin],
                           [](const Found& x, const ColliderPair& pair) { return x.pair < pair; });
  for (int k = begin; k < end; ++k) {
    const ColliderPair& pair = pairs[k];
    Found& found = w->found[k];
    const int first = static_cast<int>(block->hits.size());
    found = {pair, id, first, first, -kInfinity};
    const ModelShape &a = model.shapes[w->shape[pair.a]], &b = model.shapes[w->shape[pair.b]];
    if (!can_collide(a.collider.type, b.collider.type) || is_all(asleep, a.link, b.link)) continue;
    while (old != w->old_found.end() && old->pair < pair) ++old;
    if (old != w->old_found.end() && old->pair == pair && is_all(unchanged, a.link, b.link)) {
      copy_hits(w->old_blocks, *old, id, block);
      found.apart = old->apart;
    } else {
      touches(model, pair, approach_of(pair, glide, *w), id, &found.apart, w);
    }
    found.hit_end = static_cast<int>(block->hits.size());
    if (found.hit_begin == found.hit_end && a.link != 0 && b.link != 0)
      block->waiting.push_back({pair, found.apart});
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

// Goes on with those that waited for a body to be stopped, in block 0, in the order in which that may happen
// (Dijkstra's). What sleeps has been stopped.
void collide_waiting(const Model& model, double glide, std::span<const char> asleep, CollisionWorkspace* w) {
  const int num_links = model.num_links();
  w->stop.assign(num_links, 1);
  w->queue.clear();
  const auto stop = [&](int link, double part) {
    if (link == 0 || part >= w->stop[link]) return;
    w->stop[link] = part;
    w->queue.push_back({part, link});
    std::push_heap(w->queue.begin(), w->queue.end(), std::greater());
  };
  for (int l = 1; l < num_links && !asleep.empty(); ++l) {
    if (asleep[model.links[l].tree] != 0) stop(l, 0);
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
      wait.found = touches(model, wait.pair, approach, 0, &wait.apart, w);
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

// Poses, motions and boxes of the colliders [begin, end). They stand still where `velocity` is null.
CAPSTAN_CLONES void place_colliders(const Model& model, const Placement& placement, const Velocity* velocity,
                                    double dt, double glide, int begin, int end, CollisionWorkspace* w) {
  for (int i = begin; i < end; ++i) {
    const Form& form = w->forms[i];
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
      load(placement.origin[form.tree].data(), &origin);
      load(V.data(), &angular);
      load(V.data() + 3, &linear);
      load(model.options.gravity.data(), &g);
      cross(angular, centre - origin, &carried);
      const Four speed = linear + carried;
      travel = dt * speed + dt * dt * g;
      store(travel, w->travel[i].data());
      const double spin = dt * std::sqrt(dot(angular, angular)) * form.bounding_radius;
      w->spin[i] += spin;
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

void collide_within_reach(const Model& model, const Placement& placement, const Velocity* velocity, double dt,
                          double glide, std::span<const char> asleep, std::span<const char> unchanged,
                          const Threads& threads, CollisionWorkspace* w, Contacts* contacts) {
  threads.for_each_block(static_cast<int>(w->shape.size()), kShapesInBlock, [&](int begin, int end) {
    place_colliders(model, placement, velocity, dt, glide, begin, end, w);
  });
  const std::span<const ColliderPair> pairs = w->broad_phase.update(w->swept);
  const int n = static_cast<int>(pairs.size());
  const int size = threads.count() > 1 ? kPairsInBlock : std::max(n, 1);
  const int num_blocks = std::max(1, (n + size - 1) / size);
  std::swap(w->blocks, w->old_blocks);
  std::swap(w->found, w->old_found);
  if (static_cast<int>(w->blocks.size()) < num_blocks) w->blocks.resize(num_blocks);
  w->found.resize(n);
  threads.for_each(num_blocks, [&](int i) {
    collide_pairs(model, pairs, i * size, std::min(n, (i + 1) * size), glide, asleep, unchanged, i, w);
  });
  w->hits.clear();
  w->waiting.clear();
  for (int i = 0; i < num_blocks; ++i) {
    w->waiting.insert(w->waiting.end(), w->blocks[i].waiting.begin(), w->blocks[i].waiting.end());
    w->hits.insert(w->hits.end(), w->blocks[i].hits.begin(), w->blocks[i].hits.end());
  }
  if (!w->waiting.empty()) {
    const std::size_t before = w->blocks[0].hits.size();
    collide_waiting(model, glide, asleep, w);
    w->hits.insert(w->hits.end(), w->blocks[0].hits.begin() + before, w->blocks[0].hits.end());
  }
  gather(model, threads, w, contacts);
}

}  // namespace

CAPSTAN_CLONES Transform shape_pose(const Model& model, const Placement& placement, int shape) {
  Frame X;
  calc_pose(model.shapes[shape], placement, &X);
  Transform X_WS;
  store(X, &X_WS);
  return X_WS;
}

void add_contact(const Model& model, int shape_a, int shape_b, const ContactPoint& p,
                 const ContactMaterial& material, Contacts* c) {
  const int i = c->size();
  resize(i + 1, c);
  set_contact(model, shape_a, shape_b, p, material, i, 0, c);
}

ContactMaterial combine_materials(const Model& model, int shape_a, int shape_b) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  const Material &ma = model.materials[a.material], &mb = model.materials[b.material];
  ContactMaterial m;
  m.stiffness = in_series(a.stiffness, b.stiffness);
  // A body's share of the yielding is k_other / (k_a + k_b).
  const double share_a = std::isinf(a.stiffness)   ? (std::isinf(b.stiffness) ? 0.5 : 0)
                         : std::isinf(b.stiffness) ? 1
                                                   : b.stiffness / (a.stiffness + b.stiffness);
  m.dissipation = share_a * ma.dissipation + (1 - share_a) * mb.dissipation;
  const bool from_step = ma.relaxation_time < 0 || mb.relaxation_time < 0;
  m.relaxation_time = from_step ? std::max(ma.relaxation_time, mb.relaxation_time)
                                : share_a * ma.relaxation_time + (1 - share_a) * mb.relaxation_time;
  const double sum = ma.friction + mb.friction;
  m.friction = sum > 0 ? 2 * ma.friction * mb.friction / sum : 0;
  m.stiction_tolerance = std::min(ma.stiction_tolerance, mb.stiction_tolerance);
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
    m.margin = o.margin.value_or(m.margin);
    if (o.friction_tensor) {
      m.tensor = &*o.friction_tensor;
      m.tensor_of_a = pair.a == ia;
    }
  }
  return m;
}

bool may_collide(const Model& model, int shape_a, int shape_b) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  if (!a.collides || !b.collides || a.link == b.link) return false;
  if (!(a.group_bits & b.mask_bits) && !(b.group_bits & a.mask_bits)) return false;
  if (!model.options.collide_parent_child && are_parent_and_child(model, a.link, b.link)) return false;
  return !is_excluded(model, a.body, b.body) && can_collide(a.collider.type, b.collider.type);
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
    colliders.push_back({shape.link, shape.link == 0, shape.group_bits, shape.mask_bits});
    w.shape.push_back(s);
    const Collider& c = shape.collider;
    w.forms.push_back({shape.X_LS, c.centre, c.half_box, c.bounding_radius, shape.pair_margin, shape.link,
                       model.links[shape.link].tree, c.type == ColliderType::sphere,
                       shape.has_moving_surface});
  }
  if (!model.options.collide_parent_child) {
    for (int l = 1; l < model.num_links(); ++l) {
      if (model.links[l].parent > 0) excluded_links.push_back({model.links[l].parent, l});
    }
  }
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
  collide_within_reach(model, placement, nullptr, 0, 0, {}, {}, Threads(1), w, contacts);
}

void collide(const Model& model, const Placement& placement, const Velocity& velocity, double dt, bool glides,
             std::span<const char> asleep, std::span<const char> unchanged, const Threads& threads,
             CollisionWorkspace* w, Contacts* contacts) {
  collide_within_reach(model, placement, &velocity, dt, glides ? glide_ratio(model, dt) : 0, asleep,
                       unchanged, threads, w, contacts);
}

void collide_all_pairs(const Model& model, const Placement& placement, Contacts* contacts) {
  CollisionWorkspace w;
  w.blocks.resize(1);
  const int n = static_cast<int>(model.shapes.size());
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      if (!may_collide(model, a, b)) continue;
      double apart = -kInfinity;
      collide_pair(model, a, b, shape_pose(model, placement, a), shape_pose(model, placement, b),
                   {Vec3::Zero(), Vec3::Zero()}, 0, 0, &w.blocks[0], &apart);
    }
  }
  w.hits = w.blocks[0].hits;
  gather(model, Threads(1), &w, contacts);
}

SceneRayHit cast_ray(const Model& model, const Placement& placement, const Vec3& origin_W,
                     const Vec3& direction_W, double max_distance) {
  SceneRayHit best;
  double nearest = max_distance;
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) {
    if (!model.shapes[s].collides) continue;
    RayHit hit;
    if (!ray_cast(model.shapes[s].collider, shape_pose(model, placement, s), origin_W, direction_W, nearest,
                  &hit))
      continue;
    if (best.shape >= 0 && hit.distance >= nearest) continue;
    best = {s, hit};
    nearest = hit.distance;
  }
  return best;
}

double shape_distance(const Model& model, const Placement& placement, int shape_a, int shape_b,
                      ContactPoint* contact) {
  return signed_distance(model.shapes[shape_a].collider, shape_pose(model, placement, shape_a),
                         model.shapes[shape_b].collider, shape_pose(model, placement, shape_b), contact);
}

}  // namespace capstan
