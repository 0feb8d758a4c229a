// Shapes of one link that touch each other.
#include <algorithm>
#include <numeric>

#include "capstan/geometry/aabb.h"
#include "capstan/geometry/collide.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

constexpr double kTouch = 1e-3;  // of the smaller bounding radius: gaps this wide are none

Aabb box_in_link(const ModelShape& shape) {
  const Collider& c = shape.collider;
  if (!c.half_box.allFinite()) return {Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
  const Vec3 centre = shape.X_LS * c.centre, half = shape.X_LS.R.cwiseAbs() * c.half_box;
  return inflated({centre - half, centre + half}, kTouch * c.bounding_radius);
}

bool touch(const ModelShape& a, const ModelShape& b) {
  const Collider &A = a.collider, &B = b.collider;
  if (A.type == ColliderType::half_space && B.type == ColliderType::half_space) return false;
  if (!is_convex(A.type) || !is_convex(B.type)) return true;  // their boxes do
  return signed_distance(A, a.X_LS, B, b.X_LS) <= kTouch * std::min(A.bounding_radius, B.bounding_radius);
}

}  // namespace

void ModelCompiler::compile_neighbours() {
  std::vector<int> order;
  std::vector<Aabb> boxes(model.shapes.size());
  for (int i = 0; i < static_cast<int>(model.shapes.size()); ++i) {
    if (!model.shapes[i].collides) continue;
    boxes[i] = box_in_link(model.shapes[i]);
    order.push_back(i);
  }
  // Sweep along x, link by link.
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    const int a = model.shapes[i].link, b = model.shapes[j].link;
    if (a != b) return a < b;
    return boxes[i].lower.x() != boxes[j].lower.x() ? boxes[i].lower.x() < boxes[j].lower.x() : i < j;
  });
  for (std::size_t k = 0; k < order.size(); ++k) {
    ModelShape& a = model.shapes[order[k]];
    for (std::size_t l = k + 1; l < order.size(); ++l) {
      ModelShape& b = model.shapes[order[l]];
      if (b.link != a.link || boxes[order[l]].lower.x() > boxes[order[k]].upper.x()) break;
      if (!overlaps(boxes[order[k]], boxes[order[l]]) || !touch(a, b)) continue;
      a.neighbours.push_back(order[l]);
      b.neighbours.push_back(order[k]);
    }
  }
  for (ModelShape& shape : model.shapes) std::sort(shape.neighbours.begin(), shape.neighbours.end());
}

}  // namespace capstan
