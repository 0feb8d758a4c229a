#include "capstan/io/surface.h"

#include <Eigen/Geometry>
#include <map>

#include "capstan/geometry/tessellate.h"

namespace capstan {
namespace {

constexpr double kCreaseCosine = 0.766;  // of 40 degrees

// Area times two along the normal, for any plane polygon.
Vec3 area_vector(const Facets& facets, const std::vector<int>& face) {
  Vec3 sum = Vec3::Zero();
  for (std::size_t i = 2; i < face.size(); ++i) {
    const Vec3& a = facets.vertices[face[0]];
    sum += (facets.vertices[face[i - 1]] - a).cross(facets.vertices[face[i]] - a);
  }
  return sum;
}

}  // namespace

DrawnSurface make_surface(const Shape& shape, int segments) {
  const Facets facets = tessellate(shape, segments);
  std::vector<Vec3> area(facets.faces.size());
  // Vertices at one place are one corner, whether or not the tessellation shares them.
  std::map<std::array<double, 3>, std::vector<int>> faces_at;
  const auto place = [&](int v) {
    const Vec3& p = facets.vertices[v];
    return std::array<double, 3>{p.x(), p.y(), p.z()};
  };
  for (std::size_t f = 0; f < facets.faces.size(); ++f) {
    area[f] = area_vector(facets, facets.faces[f]);
    for (const int v : facets.faces[f]) faces_at[place(v)].push_back(static_cast<int>(f));
  }
  DrawnSurface surface;
  for (std::size_t f = 0; f < facets.faces.size(); ++f) {
    const double size = area[f].norm();
    if (!(size > 0)) continue;
    const auto first = static_cast<std::uint32_t>(surface.positions.size());
    for (const int v : facets.faces[f]) {
      Vec3 normal = Vec3::Zero();
      for (const int other : faces_at[place(v)]) {
        if (area[other].dot(area[f]) >= kCreaseCosine * area[other].norm() * size) normal += area[other];
      }
      surface.positions.push_back(floats(facets.vertices[v]));
      surface.normals.push_back(floats(normal.normalized()));
    }
    for (std::uint32_t i = 2; i < facets.faces[f].size(); ++i) {
      surface.triangles.push_back({first, first + i - 1, first + i});
    }
  }
  return surface;
}

}  // namespace capstan
