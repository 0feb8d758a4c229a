#include <algorithm>
#include <variant>

#include "capstan/geometry/collider.h"
#include "capstan/geometry/sdf_grid.h"

namespace capstan {
namespace {

Collider with_bvh(ColliderType type, std::shared_ptr<const MeshBvh> bvh) {
  Collider c;
  c.type = type;
  Aabb box = bvh->nodes[0].box;
  if (bvh->base != 0) box.lower.z() = std::min(box.lower.z(), -bvh->base);
  c.centre = (box.lower + box.upper) / 2;
  c.half_box = (box.upper - box.lower) / 2;
  c.bounding_radius = c.half_box.norm();
  c.bvh = std::move(bvh);
  return c;
}

}  // namespace

Collider make_collider(const Shape& shape) {
  return std::visit(
      [](const auto& s) -> Collider {
        using T = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<T, ConvexMesh>) {
          return make_collider(std::make_shared<const ConvexHull>(make_convex_hull(s.mesh->vertices)));
        } else if constexpr (std::is_same_v<T, SurfaceMesh>) {
          return with_bvh(ColliderType::mesh, std::make_shared<const MeshBvh>(make_mesh_bvh(s.mesh)));
        } else if constexpr (std::is_same_v<T, HeightField>) {
          Collider c =
              with_bvh(ColliderType::height_field, std::make_shared<const MeshBvh>(make_height_field_bvh(s)));
          c.height_field = std::make_shared<const HeightField>(s);
          return c;
        } else if constexpr (std::is_same_v<T, SignedDistanceMesh>) {
          auto grid = std::make_shared<const SdfGrid>(make_sdf_grid(s.mesh, s.resolution));
          Collider c = with_bvh(ColliderType::sdf, grid->surface);
          c.sdf = grid;
          return c;
        } else {
          return make_collider(s);
        }
      },
      shape);
}

}  // namespace capstan
