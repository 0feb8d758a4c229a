// Plain twins of the collision code and the shapes and poses its tests share.
//
// Nothing here calls the library's support functions: each formula is written again, slowly.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "capstan/geometry/collide.h"
#include "capstan/math/rotation.h"

namespace capstan::twin {

// Convex hull by brute force: every triple of points whose plane has all points on one side is part of a
// face.
inline ConvexHull brute_hull(const std::vector<Vec3>& points) {
  ConvexHull hull;
  hull.vertices = points;
  const int n = static_cast<int>(points.size());
  std::vector<std::vector<int>> seen;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      for (int k = j + 1; k < n; ++k) {
        Vec3 m = cross(points[j] - points[i], points[k] - points[i]);
        if (m.norm() < 1e-12) continue;
        m.normalize();
        double low = 0, high = 0;
        for (const Vec3& p : points) {
          low = std::min(low, m.dot(p - points[i]));
          high = std::max(high, m.dot(p - points[i]));
        }
        if (low < -1e-10 && high > 1e-10) continue;
        if (high > 1e-10) m = -m;
        std::vector<int> on;
        for (int l = 0; l < n; ++l) {
          if (std::abs(m.dot(points[l] - points[i])) < 1e-9) on.push_back(l);
        }
        if (std::find(seen.begin(), seen.end(), on) != seen.end()) continue;
        seen.push_back(on);
        Vec3 centre = Vec3::Zero();
        for (const int l : on) centre += points[l] / static_cast<double>(on.size());
        const Mat3 F = frame_from_z(m);
        std::sort(on.begin(), on.end(), [&](int a, int b) {
          const Vec3 u = F.transpose() * (points[a] - centre), v = F.transpose() * (points[b] - centre);
          return std::atan2(u.y(), u.x()) < std::atan2(v.y(), v.x());
        });
        hull.faces.push_back(
            {m, m.dot(points[i]), static_cast<int>(hull.loop.size()), static_cast<int>(on.size())});
        hull.loop.insert(hull.loop.end(), on.begin(), on.end());
      }
    }
  }
  std::vector<std::vector<int>> neighbours(n), faces(n);
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const auto loop = hull.face_loop(f);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const int a = loop[i], b = loop[(i + 1) % loop.size()];
      faces[a].push_back(f);
      neighbours[a].push_back(b);
      if (a < b) hull.edges.push_back({{a, b}, {f, -1}});
    }
  }
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const auto loop = hull.face_loop(f);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      for (auto& e : hull.edges) {
        if (e.vertex[1] == loop[i] && e.vertex[0] == loop[(i + 1) % loop.size()]) e.face[1] = f;
      }
    }
  }
  for (int v = 0; v < n; ++v) {
    hull.first_neighbour.push_back(static_cast<int>(hull.neighbour.size()));
    hull.first_face.push_back(static_cast<int>(hull.vertex_face.size()));
    std::sort(neighbours[v].begin(), neighbours[v].end());
    hull.neighbour.insert(hull.neighbour.end(), neighbours[v].begin(), neighbours[v].end());
    hull.vertex_face.insert(hull.vertex_face.end(), faces[v].begin(), faces[v].end());
    hull.interior += points[v] / n;
  }
  hull.first_neighbour.push_back(static_cast<int>(hull.neighbour.size()));
  hull.first_face.push_back(static_cast<int>(hull.vertex_face.size()));
  return hull;
}

inline Collider hull_collider(const std::vector<Vec3>& points) {
  return make_collider(std::make_shared<const ConvexHull>(brute_hull(points)));
}

// A ball-like polytope of 30 vertices (enough for the walk over neighbours), and a prism with six sides:
// large faces and small ones.
inline std::vector<Vec3> pebble_points() {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<Vec3> points;
  for (int i = 0; i < 30; ++i) {
    const Vec3 v = Vec3(normal(random), normal(random), normal(random)).normalized();
    points.push_back(v.cwiseProduct(Vec3(0.1, 0.08, 0.07)));
  }
  return points;
}
inline std::vector<Vec3> prism_points() {
  std::vector<Vec3> points;
  for (int i = 0; i < 6; ++i) {
    const double angle = i * M_PI / 3;
    for (const double z : {-0.06, 0.06}) points.push_back({0.1 * std::cos(angle), 0.1 * std::sin(angle), z});
  }
  return points;
}

struct NamedShape {
  std::string name;
  Collider collider;
};

// About 20 cm each.
inline const std::vector<NamedShape>& shapes() {
  static const std::vector<NamedShape> list = {
      {"sphere", make_collider(Sphere{0.1})},
      {"capsule", make_collider(Capsule{0.05, 0.08})},
      {"box", make_collider(Box{{0.1, 0.08, 0.06}})},
      {"cylinder", make_collider(Cylinder{0.07, 0.09})},
      {"ellipsoid", make_collider(Ellipsoid{{0.1, 0.07, 0.05}})},
      {"pebble", hull_collider(pebble_points())},
      {"prism", hull_collider(prism_points())},
      {"triangle", make_triangle_collider({-0.1, -0.06, 0.01}, {0.1, -0.05, 0}, {0.02, 0.1, -0.02})},
      {"half_space", make_collider(HalfSpace{})},
  };
  return list;
}

// h(n) of a whole shape (with its rounding) in its own frame, n unit. A half space has one direction only.
inline double extent(const Collider& c, const Vec3& n) {
  switch (c.type) {
    case ColliderType::sphere:
      return c.rounding;
    case ColliderType::capsule:
      return std::abs(n.z()) * c.size.z() + c.rounding;
    case ColliderType::box:
      return std::abs(n.x()) * c.size.x() + std::abs(n.y()) * c.size.y() + std::abs(n.z()) * c.size.z();
    case ColliderType::cylinder:
      return std::hypot(n.x(), n.y()) * c.size.x() + std::abs(n.z()) * c.size.z();
    case ColliderType::ellipsoid:
      return std::sqrt(std::pow(n.x() * c.size.x(), 2) + std::pow(n.y() * c.size.y(), 2) +
                       std::pow(n.z() * c.size.z(), 2));
    case ColliderType::hull: {
      double h = -1e300;
      for (const Vec3& v : c.hull->vertices) h = std::max(h, n.dot(v));
      return h;
    }
    case ColliderType::triangle:
      return std::max({n.dot(c.vertex[0]), n.dot(c.vertex[1]), n.dot(c.vertex[2])});
    default:
      return 1e300;
  }
}

// s(n): B's nearest minus A's farthest along n.
inline double separation(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                         const Vec3& n) {
  return n.dot(X_WB.p - X_WA.p) - extent(A, X_WA.R.transpose() * n) - extent(B, -(X_WB.R.transpose() * n));
}

// d = max s(n): a dense set of directions, then a shrinking grid about each of the best few.
inline double distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                       Vec3* normal = nullptr) {
  if (B.type == ColliderType::half_space) {
    const Vec3 n = -X_WB.R.col(2);
    if (normal) *normal = n;
    return n.dot(X_WB.p - X_WA.p) - extent(A, X_WA.R.transpose() * n);
  }
  if (A.type == ColliderType::half_space) return distance(B, X_WB, A, X_WA, normal);
  constexpr int kDirections = 3000;
  std::vector<std::pair<double, Vec3>> samples;
  for (int i = 0; i < kDirections; ++i) {
    const double z = 1 - (2 * i + 1.0) / kDirections, r = std::sqrt(1 - z * z), t = i * 2.399963229728653;
    const Vec3 n(r * std::cos(t), r * std::sin(t), z);
    samples.push_back({separation(A, X_WA, B, X_WB, n), n});
  }
  std::sort(samples.begin(), samples.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::vector<Vec3> starts;
  for (const auto& [s, n] : samples) {
    bool apart = true;
    for (const Vec3& m : starts) apart = apart && m.dot(n) < 0.97;
    if (apart) starts.push_back(n);
    if (starts.size() == 5) break;
  }
  double best = -1e300;
  for (Vec3 n : starts) {
    double s = separation(A, X_WA, B, X_WB, n);
    // A width is kept while it still gains, so that ridges of s(n) are followed for a while.
    int stay = 0;
    for (double width = 0.12; width > 1e-8;) {
      const Mat3 F = frame_from_z(n);
      Vec3 next = n;
      const double before = s;
      for (int i = -4; i <= 4; ++i) {
        for (int j = -4; j <= 4; ++j) {
          const Vec3 m = (n + F.col(0) * (i * width / 4) + F.col(1) * (j * width / 4)).normalized();
          const double v = separation(A, X_WA, B, X_WB, m);
          if (v > s) {
            s = v;
            next = m;
          }
        }
      }
      n = next;
      if (s <= before + 1e-3 * width * width || ++stay % 3 == 0) width *= 0.5;
    }
    if (s > best) {
      best = s;
      if (normal) *normal = n;
    }
  }
  return best;
}

// How far a point of the world is outside a shape, or a lower bound of it; negative inside.
inline double outside(const Collider& c, const Transform& X_WS, const Vec3& p_W) {
  const Vec3 p = X_WS.R.transpose() * (p_W - X_WS.p);
  switch (c.type) {
    case ColliderType::sphere:
      return p.norm() - c.rounding;
    case ColliderType::capsule:
      return (p - Vec3(0, 0, std::clamp(p.z(), -c.size.z(), c.size.z()))).norm() - c.rounding;
    case ColliderType::box:
      return (p.cwiseAbs() - c.size).maxCoeff();
    case ColliderType::cylinder:
      return std::max(std::hypot(p.x(), p.y()) - c.size.x(), std::abs(p.z()) - c.size.z());
    case ColliderType::ellipsoid:
      return (p.cwiseQuotient(c.size).norm() - 1) * c.size.minCoeff();
    case ColliderType::hull: {
      double s = -1e300;
      for (const auto& f : c.hull->faces) s = std::max(s, f.normal.dot(p) - f.offset);
      return s;
    }
    case ColliderType::triangle: {
      const Vec3 n = cross(c.vertex[1] - c.vertex[0], c.vertex[2] - c.vertex[0]).normalized();
      double s = std::abs(n.dot(p - c.vertex[0]));
      for (int i = 0; i < 3; ++i) {
        const Vec3 e = (c.vertex[(i + 1) % 3] - c.vertex[i]).normalized();
        s = std::max(s, cross(e, n).dot(p - c.vertex[i]));
      }
      return s;
    }
    default:
      return p.z();
  }
}

// The same generator in every test: poses in which B is about to touch A.
struct Poses {
  std::mt19937_64 random;
  explicit Poses(unsigned seed) : random(seed) {}

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  Vec3 direction() {
    std::normal_distribution<double> normal;
    return Vec3(normal(random), normal(random), normal(random)).normalized();
  }
  Mat3 rotation() {
    std::normal_distribution<double> normal;
    return rotation_matrix(Vec4(normal(random), normal(random), normal(random), normal(random)).normalized());
  }
  Transform pose(double reach) {
    return {rotation(), Vec3(uniform(-reach, reach), uniform(-reach, reach), uniform(-reach, reach))};
  }
  // Puts B beside A so that along a random direction they are apart by a random amount in [low, high].
  void pair(const Collider& A, const Collider& B, double low, double high, Transform* X_WA, Transform* X_WB) {
    *X_WA = pose(1);
    *X_WB = {rotation(), X_WA->p};
    Vec3 n = direction();
    if (A.type == ColliderType::half_space) n = X_WA->R.col(2);
    if (B.type == ColliderType::half_space) n = -X_WB->R.col(2);
    const double h_A = A.type == ColliderType::half_space ? 0 : extent(A, X_WA->R.transpose() * n);
    const double h_B = B.type == ColliderType::half_space ? 0 : extent(B, -(X_WB->R.transpose() * n));
    X_WB->p += (h_A + h_B + uniform(low, high)) * n;
  }
  // The same, then moved along the contact normal, so that the signed distance is near `target`: below it
  // only where another feature takes over.
  void pair_at(const Collider& A, const Collider& B, double target, Transform* X_WA, Transform* X_WB) {
    pair(A, B, 0.001, 0.02, X_WA, X_WB);
    ContactPoint c;
    signed_distance(A, *X_WA, B, *X_WB, &c);
    X_WB->p += (target - c.distance) * c.normal;
  }
};

}  // namespace capstan::twin
