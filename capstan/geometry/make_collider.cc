#include <variant>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/collider.h"

namespace capstan {

Collider make_collider(const Shape& shape) {
  return std::visit(
      [](const auto& s) -> Collider {
        using T = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<T, ConvexMesh>) {
          return make_collider(std::make_shared<const ConvexHull>(make_convex_hull(s.mesh->vertices)));
        } else if constexpr (std::is_same_v<T, SurfaceMesh> || std::is_same_v<T, HeightField>) {
          throw InputError({}, "collision of surface meshes and height fields is not built in",
                           "use a convex_mesh or a primitive shape");
        } else {
          return make_collider(s);
        }
      },
      shape);
}

}  // namespace capstan
