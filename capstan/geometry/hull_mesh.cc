#include "capstan/geometry/hull_mesh.h"

#include "capstan/geometry/convex_hull.h"

namespace capstan {

TriangleMesh hull_mesh(const std::vector<Vec3>& points) {
  const ConvexHull hull = make_convex_hull(points);
  TriangleMesh mesh;
  mesh.vertices = hull.vertices;
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const std::span<const int> loop = hull.face_loop(f);
    for (std::size_t i = 2; i < loop.size(); ++i) mesh.triangles.push_back({loop[0], loop[i - 1], loop[i]});
  }
  return mesh;
}

}  // namespace capstan
