// Meshes that tests share.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "capstan/geometry/mesh.h"
#include "capstan/math/rotation.h"
#include "capstan/math/transform.h"

namespace capstan {

inline std::shared_ptr<const TriangleMesh> shared(TriangleMesh mesh) {
  return std::make_shared<const TriangleMesh>(std::move(mesh));
}

// n x n cells of a square [-h, h]^2 at z = 0, normals up; diagonals alternate when `mixed`.
inline TriangleMesh floor_mesh(double h, int n, bool mixed = true) {
  TriangleMesh mesh;
  for (int r = 0; r <= n; ++r) {
    for (int c = 0; c <= n; ++c) mesh.vertices.push_back({h * (2.0 * c / n - 1), h * (2.0 * r / n - 1), 0});
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      const int i = r * (n + 1) + c, j = i + n + 1;
      if (mixed && (r + c) % 2) {
        mesh.triangles.push_back({i, i + 1, j});
        mesh.triangles.push_back({i + 1, j + 1, j});
      } else {
        mesh.triangles.push_back({i, i + 1, j + 1});
        mesh.triangles.push_back({i, j + 1, j});
      }
    }
  }
  return mesh;
}

// A closed box with n x n cells on each side.
inline TriangleMesh box_mesh(const Vec3& half, int n) {
  TriangleMesh mesh;
  std::map<std::array<int, 3>, int> index;
  const auto vertex = [&](std::array<int, 3> g) {
    const auto [it, is_new] = index.try_emplace(g, static_cast<int>(mesh.vertices.size()));
    if (is_new) {
      mesh.vertices.push_back(
          half.cwiseProduct(Vec3(2.0 * g[0] / n - 1, 2.0 * g[1] / n - 1, 2.0 * g[2] / n - 1)));
    }
    return it->second;
  };
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side <= n; side += n) {
      for (int u = 0; u < n; ++u) {
        for (int v = 0; v < n; ++v) {
          const auto at = [&](int du, int dv) {
            std::array<int, 3> g;
            g[axis] = side;
            g[(axis + 1) % 3] = u + du;
            g[(axis + 2) % 3] = v + dv;
            return vertex(g);
          };
          int a = at(0, 0), b = at(1, 0), c = at(1, 1), d = at(0, 1);
          if (side == 0) std::swap(b, d);
          mesh.triangles.push_back({a, b, c});
          mesh.triangles.push_back({a, c, d});
        }
      }
    }
  }
  return mesh;
}

// A torus about z, R to the centre of the tube, r of the tube.
inline TriangleMesh torus_mesh(double R, double r, int n, int m) {
  TriangleMesh mesh;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      const double a = 2 * M_PI * i / n, b = 2 * M_PI * j / m;
      mesh.vertices.push_back(
          {(R + r * std::cos(b)) * std::cos(a), (R + r * std::cos(b)) * std::sin(a), r * std::sin(b)});
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      const int p = i * m + j, q = (i + 1) % n * m + j, s = (i + 1) % n * m + (j + 1) % m,
                t = i * m + (j + 1) % m;
      mesh.triangles.push_back({p, q, s});
      mesh.triangles.push_back({p, s, t});
    }
  }
  return mesh;
}

// A sphere by subdividing an octahedron `levels` times; vertices on the sphere.
inline TriangleMesh sphere_mesh(double radius, int levels) {
  TriangleMesh mesh;
  mesh.vertices = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  mesh.triangles = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  for (int l = 0; l < levels; ++l) {
    std::map<std::array<int, 2>, int> middle;
    std::vector<std::array<int, 3>> finer;
    const auto mid = [&](int a, int b) {
      const auto [it, is_new] =
          middle.try_emplace({std::min(a, b), std::max(a, b)}, static_cast<int>(mesh.vertices.size()));
      if (is_new) mesh.vertices.push_back((mesh.vertices[a] + mesh.vertices[b]).normalized());
      return it->second;
    };
    for (const auto& t : mesh.triangles) {
      const int a = mid(t[0], t[1]), b = mid(t[1], t[2]), c = mid(t[2], t[0]);
      finer.insert(finer.end(), {{t[0], a, c}, {t[1], b, a}, {t[2], c, b}, {a, b, c}});
    }
    mesh.triangles = std::move(finer);
  }
  for (Vec3& v : mesh.vertices) v *= radius;
  return mesh;
}

struct RandomPoses {
  std::mt19937 engine;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit{-1, 1};
  explicit RandomPoses(unsigned seed) : engine(seed) {}
  double number() { return unit(engine); }
  Vec3 vector(double scale) { return scale * Vec3(number(), number(), number()); }
  Vec3 direction() {
    Vec3 d;
    do {
      d = Vec3(normal(engine), normal(engine), normal(engine));
    } while (d.norm() < 1e-3);
    return d.normalized();
  }
  Mat3 rotation() {
    return rotation_matrix(Vec4(normal(engine), normal(engine), normal(engine), normal(engine)).normalized());
  }
  Transform pose(double scale) { return {rotation(), vector(scale)}; }
};

}  // namespace capstan
