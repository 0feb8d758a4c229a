// Overlaps at the start: the contacts of the collision engine that are deeper than resting contacts are.
#include <algorithm>

#include "capstan/contacts/contacts.h"
#include "capstan/step/examine.h"

namespace capstan {

std::vector<Overlap> find_overlaps(const Model& model, const Placement& placement) {
  constexpr double kDepth = 1e-3;  // [m] resting contacts are this deep by intention
  CollisionWorkspace workspace = make_collision_workspace(model);
  Contacts contacts;
  collide(model, placement, &workspace, &contacts);
  std::vector<Overlap> overlaps;
  for (int i = 0; i < contacts.size(); ++i) {
    const double depth = -contacts.distance[i];
    if (depth <= kDepth) continue;
    const int a = contacts.shape_a[i], b = contacts.shape_b[i];
    const auto same = [&](const Overlap& o) { return o.shape_a == a && o.shape_b == b; };
    const auto it = std::find_if(overlaps.begin(), overlaps.end(), same);
    if (it == overlaps.end()) {
      overlaps.push_back({a, b, depth});
    } else {
      it->depth = std::max(it->depth, depth);
    }
  }
  std::sort(overlaps.begin(), overlaps.end(), [](const Overlap& x, const Overlap& y) {
    return x.shape_a != y.shape_a ? x.shape_a < y.shape_a : x.shape_b < y.shape_b;
  });
  return overlaps;
}

}  // namespace capstan
