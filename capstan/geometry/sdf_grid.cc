#include "capstan/geometry/sdf_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/base/diagnostics.h"

namespace capstan {

SdfGrid make_sdf_grid(std::shared_ptr<const TriangleMesh> mesh, int resolution) {
  if (resolution < 4 || resolution > 512) {
    throw InputError({}, fmt::format("the signed-distance grid has resolution {}", resolution),
                     "write a number of cells along the longest side from 4 to 512");
  }
  SdfGrid grid;
  auto bvh = std::make_shared<MeshBvh>(make_mesh_bvh(std::move(mesh)));
  if (!bvh->solid) {
    long open = 0;
    for (const auto& n : bvh->neighbour) open += (n[0] < 0) + (n[1] < 0) + (n[2] < 0);
    throw InputError(
        {},
        fmt::format("the mesh of the signed-distance grid is not closed: {} of its triangle sides have no "
                    "single partner",
                    open),
        "close the mesh and join its duplicate vertices, or give it the kind 'surface'");
  }
  const double volume = volume_properties(*bvh->mesh).volume;
  if (!(volume > 0)) {
    throw InputError(
        {},
        fmt::format("the mesh of the signed-distance grid is inside out or flat: its volume is {} m^3",
                    volume),
        "turn its triangles counter-clockwise seen from outside");
  }
  grid.surface = bvh;
  const Aabb& box = bvh->nodes[0].box;
  const Vec3 extent = box.upper - box.lower;
  grid.cell = extent.maxCoeff() / resolution;
  constexpr int kBorder = 3;
  for (int a = 0; a < 3; ++a) {
    const int cells = static_cast<int>(std::ceil(extent[a] / grid.cell - 1e-9)) + 2 * kBorder;
    grid.nodes[a] = cells + 1;
    grid.origin[a] = (box.lower[a] + box.upper[a]) / 2 - cells * grid.cell / 2;
  }
  grid.value.reserve(static_cast<std::size_t>(grid.nodes[0]) * grid.nodes[1] * grid.nodes[2]);
  // The distance at the last node plus a cell bounds the distance at this one and keeps the search short.
  for (int k = 0; k < grid.nodes[2]; ++k) {
    for (int j = 0; j < grid.nodes[1]; ++j) {
      double reach = std::numeric_limits<double>::infinity();
      for (int i = 0; i < grid.nodes[0]; ++i) {
        const Vec3 p = grid.origin + grid.cell * Vec3(i, j, k);
        MeshPoint q = closest_point(*bvh, p, reach * (1 + 1e-9));
        if (q.triangle < 0) q = closest_point(*bvh, p);  // lost to rounding
        const double sign = (p - q.point).dot(feature_normal(*bvh, q.triangle, q.feature)) < 0 ? -1 : 1;
        grid.value.push_back(static_cast<float>(sign * q.distance));
        reach = q.distance + grid.cell;
      }
    }
  }
  for (int k = 0; k + 1 < grid.nodes[2]; ++k) {
    for (int j = 0; j + 1 < grid.nodes[1]; ++j) {
      for (int i = 0; i + 1 < grid.nodes[0]; ++i) {
        if (std::abs(grid.at(i, j, k)) > 2 * grid.cell) continue;
        const Vec3 p = grid.origin + grid.cell * Vec3(i + 0.5, j + 0.5, k + 0.5);
        grid.error =
            std::max(grid.error, std::abs(sdf_value(grid, p) - closest_point_signed(*bvh, p).distance));
      }
    }
  }
  return grid;
}

double sdf_value(const SdfGrid& grid, const Vec3& p, Vec3* gradient) {
  Vec3 x = (p - grid.origin) / grid.cell, inside;
  std::array<int, 3> n;
  Vec3 f;
  for (int a = 0; a < 3; ++a) {
    inside[a] = std::clamp(x[a], 0.0, grid.nodes[a] - 1.0);
    n[a] = std::min(static_cast<int>(inside[a]), grid.nodes[a] - 2);
    f[a] = inside[a] - n[a];
  }
  const auto [i, j, k] = n;
  const double v000 = grid.at(i, j, k), v100 = grid.at(i + 1, j, k), v010 = grid.at(i, j + 1, k),
               v110 = grid.at(i + 1, j + 1, k), v001 = grid.at(i, j, k + 1), v101 = grid.at(i + 1, j, k + 1),
               v011 = grid.at(i, j + 1, k + 1), v111 = grid.at(i + 1, j + 1, k + 1);
  const auto mix = [](double a, double b, double t) { return a + t * (b - a); };
  const double v00 = mix(v000, v100, f[0]), v10 = mix(v010, v110, f[0]), v01 = mix(v001, v101, f[0]),
               v11 = mix(v011, v111, f[0]);
  const double v0 = mix(v00, v10, f[1]), v1 = mix(v01, v11, f[1]);
  double s = mix(v0, v1, f[2]);
  Vec3 g = Vec3::Zero();
  if (gradient) {
    g[0] = mix(mix(v100 - v000, v110 - v010, f[1]), mix(v101 - v001, v111 - v011, f[1]), f[2]) / grid.cell;
    g[1] = mix(v10 - v00, v11 - v01, f[2]) / grid.cell;
    g[2] = (v1 - v0) / grid.cell;
  }
  // Beyond the grid: the mesh lies on the other side of the nearest grid point c, at an angle of at least 90
  // degrees, so |p - q|^2 >= |p - c|^2 + s(c)^2 for each of its points q.
  const Vec3 out = grid.cell * (x - inside);
  if (const double distance = out.norm(); distance > 0) {
    const double beyond = std::hypot(s, distance);
    for (int a = 0; a < 3; ++a) g[a] = (out[a] != 0 ? out[a] : s * g[a]) / beyond;
    s = beyond;
  }
  if (gradient) *gradient = g;
  return s;
}

}  // namespace capstan
