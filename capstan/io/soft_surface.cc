#include "capstan/io/soft_surface.h"

#include <cmath>
#include <numeric>

#include "capstan/io/surface.h"

namespace capstan {
namespace {

constexpr double kCrease = 0.766;  // cos 40 degrees, between the normals of two triangles

}  // namespace

SoftSurface make_soft_surface(const SoftBody& body) {
  const auto& triangles = body.triangles();
  const int n = static_cast<int>(triangles.size());
  std::vector<Vec3> normals;
  for (const auto& [a, b, c] : triangles)
    normals.push_back(
        cross(Vec3(body.rest(b) - body.rest(a)), Vec3(body.rest(c) - body.rest(a))).normalized());
  // Corners of triangles are one vertex where they are at one node, beside each other, and no crease between.
  std::vector<int> same(3 * n);
  std::iota(same.begin(), same.end(), 0);
  const auto find = [&](int corner) {
    while (same[corner] != corner) corner = same[corner] = same[same[corner]];
    return corner;
  };
  for (int t = 0; t < n; ++t) {
    for (int edge = 0; edge < 3; ++edge) {
      const int other = body.beside(t, edge);
      if (other < 0 || normals[t].dot(normals[other]) < kCrease) continue;
      for (const int k : {edge, (edge + 1) % 3}) {
        for (int l = 0; l < 3; ++l) {
          if (triangles[other][l] == triangles[t][k]) same[find(3 * other + l)] = find(3 * t + k);
        }
      }
    }
  }
  SoftSurface surface;
  std::vector<int> vertex(3 * n, -1);
  for (int t = 0; t < n; ++t) {
    auto& triangle = surface.triangles.emplace_back();
    for (int k = 0; k < 3; ++k) {
      int& v = vertex[find(3 * t + k)];
      if (v < 0) {
        v = static_cast<int>(surface.nodes.size());
        surface.nodes.push_back(triangles[t][k]);
      }
      triangle[k] = static_cast<std::uint32_t>(v);
    }
  }
  return surface;
}

SoftVertices calc_soft_vertices(const SoftSurface& surface, const Eigen::Ref<const VecX>& q) {
  SoftVertices vertices;
  std::vector<Vec3> sums(surface.nodes.size(), Vec3::Zero());
  const auto at = [&](std::uint32_t vertex) { return SoftBody::node(q, surface.nodes[vertex]); };
  for (const auto& [a, b, c] : surface.triangles) {
    const Vec3 twice_area = cross(Vec3(at(b) - at(a)), Vec3(at(c) - at(a)));
    for (const std::uint32_t v : {a, b, c}) sums[v] += twice_area;
  }
  for (std::size_t v = 0; v < sums.size(); ++v) {
    vertices.positions.push_back(floats(SoftBody::node(q, surface.nodes[v])));
    const double size = sums[v].norm();
    vertices.normals.push_back(floats(size > 0 ? Vec3(sums[v] / size) : Vec3(Vec3::UnitZ())));
  }
  return vertices;
}

}  // namespace capstan
