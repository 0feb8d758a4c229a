#include "capstan/geometry/collider.h"

#include <algorithm>
#include <limits>

namespace capstan {
namespace {

Collider make_symmetric(ColliderType type, const Vec3& size, const Vec3& half_box, double bounding_radius) {
  Collider c;
  c.type = type;
  c.size = size;
  c.half_box = half_box;
  c.bounding_radius = bounding_radius;
  return c;
}

// Bounding box, and the ball about its centre through the farthest vertex.
void bound(const Vec3* vertices, std::size_t count, Collider* c) {
  Vec3 lower = Vec3::Constant(std::numeric_limits<double>::infinity()), upper = -lower;
  for (std::size_t i = 0; i < count; ++i) {
    lower = lower.cwiseMin(vertices[i]);
    upper = upper.cwiseMax(vertices[i]);
  }
  c->centre = (lower + upper) / 2;
  c->half_box = (upper - lower) / 2;
  double squared = 0;
  for (std::size_t i = 0; i < count; ++i) {
    squared = std::max(squared, (vertices[i] - c->centre).squaredNorm());
  }
  c->bounding_radius = std::sqrt(squared);
}

}  // namespace

Collider make_collider(const Sphere& s) {
  Collider c = make_symmetric(ColliderType::sphere, Vec3::Zero(), Vec3::Constant(s.radius), s.radius);
  c.rounding = s.radius;
  return c;
}

Collider make_collider(const Capsule& s) {
  const double end = s.radius + s.half_length;
  Collider c = make_symmetric(ColliderType::capsule, {0, 0, s.half_length}, {s.radius, s.radius, end}, end);
  c.rounding = s.radius;
  return c;
}

Collider make_collider(const Box& s) {
  return make_symmetric(ColliderType::box, s.half_size, s.half_size, s.half_size.norm());
}

Collider make_collider(const Cylinder& s) {
  const Vec3 size(s.radius, s.radius, s.half_length);
  return make_symmetric(ColliderType::cylinder, size, size, std::hypot(s.radius, s.half_length));
}

Collider make_collider(const Ellipsoid& s) {
  return make_symmetric(ColliderType::ellipsoid, s.radii, s.radii, s.radii.maxCoeff());
}

Collider make_collider(const HalfSpace&) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return make_symmetric(ColliderType::half_space, Vec3::Zero(), Vec3::Constant(infinity), infinity);
}

Collider make_collider(std::shared_ptr<const ConvexHull> hull) {
  Collider c;
  c.type = ColliderType::hull;
  bound(hull->vertices.data(), hull->vertices.size(), &c);
  c.hull = std::move(hull);
  return c;
}

Collider make_triangle_collider(const Vec3& v0, const Vec3& v1, const Vec3& v2) {
  Collider c;
  c.type = ColliderType::triangle;
  c.vertex = {v0, v1, v2};
  bound(c.vertex.data(), 3, &c);
  return c;
}

}  // namespace capstan
