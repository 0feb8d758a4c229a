// Axis-aligned boxes. Sides may be infinite (half spaces); an empty box has lower > upper.
#pragma once

#include <limits>

#include "capstan/math/types.h"

namespace capstan {

struct Aabb {
  Vec3 lower = Vec3::Constant(std::numeric_limits<double>::infinity());   // [m]
  Vec3 upper = Vec3::Constant(-std::numeric_limits<double>::infinity());  // [m]
};

// Boxes that share only a side, an edge or a corner overlap.
inline bool overlaps(const Aabb& a, const Aabb& b) {
  return a.lower.x() <= b.upper.x() && b.lower.x() <= a.upper.x() && a.lower.y() <= b.upper.y() &&
         b.lower.y() <= a.upper.y() && a.lower.z() <= b.upper.z() && b.lower.z() <= a.upper.z();
}

inline void include(Aabb& box, const Vec3& point) {
  box.lower = box.lower.cwiseMin(point);
  box.upper = box.upper.cwiseMax(point);
}

inline Aabb merged(const Aabb& a, const Aabb& b) {
  return {a.lower.cwiseMin(b.lower), a.upper.cwiseMax(b.upper)};
}

inline Aabb inflated(const Aabb& box, double margin) {
  return {box.lower - Vec3::Constant(margin), box.upper + Vec3::Constant(margin)};
}

// From a point to the nearest point of a finite box; 0 inside.
inline double squared_distance(const Aabb& box, const Vec3& point) {
  return (box.lower - point).cwiseMax(point - box.upper).cwiseMax(0.0).squaredNorm();
}

}  // namespace capstan
