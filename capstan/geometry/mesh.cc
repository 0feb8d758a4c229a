#include "capstan/geometry/mesh.h"

#include <algorithm>

namespace capstan {

VolumeProperties volume_properties(const TriangleMesh& mesh) {
  VolumeProperties result;
  if (mesh.vertices.empty()) return result;
  Vec3 origin = Vec3::Zero();
  for (const Vec3& v : mesh.vertices) origin += v;
  origin /= static_cast<double>(mesh.vertices.size());

  // Over the tetrahedron (0, a, b, c) of signed volume V: the integral of x is V (a+b+c)/4 and that of x x^T
  // is V/20 (a a^T + b b^T + c c^T + s s^T), s = a + b + c.
  double volume = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (const auto& t : mesh.triangles) {
    const Vec3 a = mesh.vertices[t[0]] - origin, b = mesh.vertices[t[1]] - origin,
               c = mesh.vertices[t[2]] - origin;
    const double v = a.dot(cross(b, c)) / 6;
    const Vec3 s = a + b + c;
    volume += v;
    first += v / 4 * s;
    second += v / 20 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
  }
  result.volume = volume;
  if (volume == 0) return result;
  const Vec3 centroid = first / volume;
  second -= volume * centroid * centroid.transpose();
  result.centroid = origin + centroid;
  result.inertia = second.trace() * Mat3::Identity() - second;
  return result;
}

bool is_closed(const TriangleMesh& mesh) {
  std::vector<std::array<int, 2>> edges;
  edges.reserve(3 * mesh.triangles.size());
  for (const auto& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) edges.push_back({t[k], t[(k + 1) % 3]});
  }
  std::sort(edges.begin(), edges.end());
  if (std::adjacent_find(edges.begin(), edges.end()) != edges.end()) return false;
  return !edges.empty() && std::all_of(edges.begin(), edges.end(), [&](const std::array<int, 2>& e) {
    return e[0] != e[1] && std::binary_search(edges.begin(), edges.end(), std::array<int, 2>{e[1], e[0]});
  });
}

}  // namespace capstan
