#include "capstan/geometry/tessellate.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kMaxBoxCells = 6;

// Rings of vertices from the bottom up, joined by quads; a ring of radius zero is a pole.
struct Ring {
  double radius, z;
};
Facets lathe(const std::vector<Ring>& rings, int segments) {
  Facets facets;
  std::vector<std::vector<int>> index;
  for (const Ring& ring : rings) {
    index.emplace_back();
    for (int i = 0; i < (ring.radius > 0 ? segments : 1); ++i) {
      const double angle = 2 * kPi * i / segments;
      index.back().push_back(static_cast<int>(facets.vertices.size()));
      facets.vertices.emplace_back(ring.radius * std::cos(angle), ring.radius * std::sin(angle), ring.z);
    }
  }
  for (std::size_t r = 0; r + 1 < rings.size(); ++r) {
    const std::vector<int>&low = index[r], &high = index[r + 1];
    for (int i = 0; i < segments; ++i) {
      const int j = (i + 1) % segments;
      std::vector<int> face;
      face.push_back(low[low.size() == 1 ? 0 : i]);
      if (low.size() > 1) face.push_back(low[j]);
      if (high.size() > 1) face.push_back(high[j]);
      face.push_back(high[high.size() == 1 ? 0 : i]);
      if (face.size() >= 3) facets.faces.push_back(face);
    }
  }
  return facets;
}

std::vector<Ring> ball_rings(double radius, double half_length, int segments) {
  std::vector<Ring> rings;
  const int n = std::max(2, segments / 4);  // from the equator to a pole
  for (int i = 0; i <= n; ++i) {
    const double angle = kPi / 2 * (1 - static_cast<double>(i) / n);
    rings.push_back({i == 0 ? 0 : radius * std::cos(angle), -half_length - radius * std::sin(angle)});
  }
  for (int i = half_length > 0 ? 0 : 1; i <= n; ++i) {
    const double angle = kPi / 2 * static_cast<double>(i) / n;
    rings.push_back({i == n ? 0 : radius * std::cos(angle), half_length + radius * std::sin(angle)});
  }
  return rings;
}

struct Tessellator {
  int segments;

  Facets operator()(const Sphere& s) const { return lathe(ball_rings(s.radius, 0, segments), segments); }
  Facets operator()(const Capsule& c) const {
    return lathe(ball_rings(c.radius, c.half_length, segments), segments);
  }
  Facets operator()(const Ellipsoid& e) const {
    Facets facets = lathe(ball_rings(1, 0, segments), segments);
    for (Vec3& v : facets.vertices) v = v.cwiseProduct(e.radii);
    return facets;
  }
  Facets operator()(const Cylinder& c) const {
    Facets facets = lathe({{c.radius, -c.half_length}, {c.radius, c.half_length}}, segments);
    std::vector<int> bottom, top;
    for (int i = 0; i < segments; ++i) {
      bottom.push_back(segments - 1 - i);
      top.push_back(segments + i);
    }
    facets.faces.push_back(bottom);
    facets.faces.push_back(top);
    return facets;
  }
  Facets operator()(const Box& b) const {
    Facets facets;
    const double cell = std::max(b.half_size.minCoeff(), b.half_size.maxCoeff() / kMaxBoxCells);
    for (int axis = 0; axis < 3; ++axis) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      const int nu = std::clamp(static_cast<int>(std::lround(b.half_size[u] / cell)), 1, kMaxBoxCells);
      const int nv = std::clamp(static_cast<int>(std::lround(b.half_size[v] / cell)), 1, kMaxBoxCells);
      for (const int side : {-1, 1}) {
        const int first = static_cast<int>(facets.vertices.size());
        for (int i = 0; i <= nu; ++i) {
          for (int j = 0; j <= nv; ++j) {
            Vec3 p;
            p[axis] = side * b.half_size[axis];
            p[u] = b.half_size[u] * (2.0 * i / nu - 1);
            p[v] = b.half_size[v] * (2.0 * j / nv - 1);
            facets.vertices.push_back(p);
          }
        }
        for (int i = 0; i < nu; ++i) {
          for (int j = 0; j < nv; ++j) {
            const int a = first + i * (nv + 1) + j;
            std::vector<int> face = {a, a + nv + 1, a + nv + 2, a + 1};
            if (side < 0) std::reverse(face.begin(), face.end());
            facets.faces.push_back(face);
          }
        }
      }
    }
    return facets;
  }
  Facets operator()(const HalfSpace&) const { return {}; }
  Facets operator()(const ConvexMesh& m) const { return triangles(*m.mesh); }
  Facets operator()(const SurfaceMesh& m) const { return triangles(*m.mesh); }
  Facets operator()(const SignedDistanceMesh& m) const { return triangles(*m.mesh); }
  Facets operator()(const HeightField& h) const {
    Facets facets;
    for (int r = 0; r < h.rows; ++r) {
      for (int c = 0; c < h.columns; ++c) {
        facets.vertices.emplace_back(h.half_size.x() * (2.0 * c / (h.columns - 1) - 1),
                                     h.half_size.y() * (2.0 * r / (h.rows - 1) - 1),
                                     (*h.height)[r * h.columns + c]);
        if (r == 0 || c == 0) continue;
        const int a = r * h.columns + c;
        facets.faces.push_back({a - h.columns - 1, a - h.columns, a});
        facets.faces.push_back({a - h.columns - 1, a, a - 1});
      }
    }
    return facets;
  }
  static Facets triangles(const TriangleMesh& mesh) {
    Facets facets{mesh.vertices, {}};
    for (const auto& t : mesh.triangles) facets.faces.push_back({t[0], t[1], t[2]});
    return facets;
  }
};

}  // namespace

Facets tessellate(const Shape& shape, int segments) {
  return std::visit(Tessellator{std::max(4, segments)}, shape);
}

}  // namespace capstan
