#include "capstan/step/crossings.h"

#include <fmt/core.h>

#include "capstan/geometry/segment_crossing.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/failures.h"

namespace capstan {
namespace {

// The rod of an object, or none.
const Rod* find_rod(const Model& model, int object) {
  return model.objects[object].is_tree() ? nullptr
                                         : dynamic_cast<const Rod*>(model.objects[object].physics.get());
}

MovingSegment edge_of(const Object& object, const Rod& rod, int edge, const VecX& q0, const VecX& q1) {
  const int last = edge + 1 == rod.num_nodes() ? 0 : edge + 1;
  const auto node = [&](const VecX& q, int i) {
    return Rod::node(q.segment(object.q_begin, object.num_positions()), i);
  };
  return {{node(q0, edge), node(q0, last)}, {node(q1, edge), node(q1, last)}};
}

}  // namespace

void check_crossings(const Model& model, const CollisionWorkspace& collision, const State& before,
                     const State& after, double dt) {
  if (model.num_links() == model.num_tree_links()) return;
  int known = -1;  // the object whose rod is known
  const Rod* rod = nullptr;
  const auto rod_of_object = [&](int object) {
    if (object != known) known = object, rod = find_rod(model, object);
    return rod;
  };
  for (const ColliderPair& pair : collision.broad_phase.pairs()) {
    const ModelShape &sa = model.shapes[collision.shape[pair.a]], &sb = model.shapes[collision.shape[pair.b]];
    if (sa.link < model.num_tree_links() || sb.link < model.num_tree_links() || !can_touch(sa, sb)) continue;
    const int object_a = model.links[sa.link].object, object_b = model.links[sb.link].object;
    const Rod *a = rod_of_object(object_a), *b = a == nullptr ? nullptr : rod_of_object(object_b);
    if (a == nullptr || b == nullptr) continue;
    const Object &oa = model.objects[object_a], &ob = model.objects[object_b];
    const int edge_a = sa.link - oa.link_begin, edge_b = sb.link - ob.link_begin;
    if (!pass_through(edge_of(oa, *a, edge_a, before.q, after.q), edge_of(ob, *b, edge_b, before.q, after.q)))
      continue;
    const std::string name = rod_name(model, object_a);
    throw StepFailure(fmt::format(
        "step {} at t = {:g} s failed: rod '{}' would pass through {} (edge {} through edge {}): in one step "
        "of "
        "{:g} s they go too far for contact to hold them apart. Try a smaller time step, more damping, or a "
        "stiffer material",
        before.step, before.time, name,
        object_a == object_b ? "itself" : fmt::format("rod '{}'", rod_name(model, object_b)), edge_a, edge_b,
        dt));
  }
}

}  // namespace capstan
