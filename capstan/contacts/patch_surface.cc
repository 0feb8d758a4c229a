#include "capstan/contacts/patch_surface.h"

#include <algorithm>

#include "capstan/contacts/patches.h"
#include "capstan/geometry/collide.h"

namespace capstan {

void calc_patch_surface(const Model& model, const Placement& placement,
                        std::span<const std::pair<int, int>> pairs, PatchSurfaceWorkspace* workspace,
                        PatchSurface* surface) {
  surface->vertices.clear();
  surface->ends.clear();
  CollisionWorkspace::Block* block = &workspace->block;
  for (const auto& [a, b] : pairs) {
    if (!has_patch(model.shapes[a], model.shapes[b])) continue;
    const Transform X_WA = shape_pose(model, placement, a), X_WB = shape_pose(model, placement, b);
    block->points.clear();
    block->materials.clear();
    if (!add_patch_of_cells(model, placement, a, X_WA, b, X_WB, 0, block)) {
      collide(collider_of(model, placement, a), X_WA, collider_of(model, placement, b), X_WB, 0,
              &block->points);
      if (!replace_by_patch(model, placement, a, X_WA, b, X_WB, 0, 0, block)) continue;
    }
    for (const PatchPolygon& polygon : block->patch.polygons) {
      if (polygon.is_ahead) continue;
      for (int i = polygon.first; i < polygon.end; ++i) {
        const Vec3& v = block->patch.vertices[i];
        const double p = polygon.pressure + polygon.gradient.dot(v - polygon.centroid);
        surface->vertices.push_back({static_cast<float>(v.x()), static_cast<float>(v.y()),
                                     static_cast<float>(v.z()), static_cast<float>(std::max(0.0, p))});
      }
      surface->ends.push_back(static_cast<std::int32_t>(surface->vertices.size()));
    }
  }
}

}  // namespace capstan
