#include "capstan/geometry/point_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/geometry/distance_kernels.h"
#include "capstan/geometry/mesh_bvh.h"
#include "capstan/geometry/sdf_grid.h"

namespace capstan {
namespace {

// Length of v, and v over its length; `fallback` when v is zero.
double split(const Vec3& v, const Vec3& fallback, Vec3* unit) {
  const double length = v.norm();
  *unit = length > 0 ? Vec3(v / length) : fallback;
  return length;
}

}  // namespace

double point_segment(double half_length, const Vec3& p, Vec3* gradient) {
  const double z = std::clamp(p.z(), -half_length, half_length);
  return split(p - Vec3(0, 0, z), half_length > 0 ? Vec3::UnitX() : Vec3::UnitZ(), gradient);
}

double point_box(const Vec3& h, const Vec3& p, Vec3* gradient) {
  const Vec3 out = p.cwiseAbs() - h;  // beyond each pair of faces
  int axis;
  const double deepest = out.maxCoeff(&axis);
  if (deepest > 0) return split(p - p.cwiseMin(h).cwiseMax(-h), Vec3::UnitX(), gradient);
  *gradient = (p[axis] >= 0 ? 1 : -1) * Vec3::Unit(axis);
  return deepest;
}

double point_cylinder(double radius, double half_length, const Vec3& p, Vec3* gradient) {
  const double across = std::hypot(p.x(), p.y());
  const Vec3 radial = across > 0 ? Vec3(p.x() / across, p.y() / across, 0) : Vec3(Vec3::UnitX());
  const Vec3 axial(0, 0, p.z() >= 0 ? 1 : -1);
  const double out_r = across - radius, out_z = std::abs(p.z()) - half_length;
  if (out_r > 0 && out_z > 0) return split(out_r * radial + out_z * axial, axial, gradient);
  *gradient = out_r >= out_z ? radial : axial;
  return std::max(out_r, out_z);
}

double point_ellipsoid(const Vec3& r, const Vec3& p, Vec3* gradient) {
  const Vec3 r2 = r.cwiseAbs2(), y = p.cwiseAbs(), ry = r.cwiseProduct(y);
  int shortest;
  const double min_r2 = r2.minCoeff(&shortest);
  // Each single term bounds the root from below, all together from above.
  double low = (ry - r2).maxCoeff(), high = std::max(ry.norm() - min_r2, low);
  Vec3 x;
  const double at_edge = low + min_r2;
  bool on_axis = false;
  if (at_edge <= 1e-14 * min_r2) {
    // p is in the mid-plane of the shortest axis: does the equation still have a root above -min r^2?
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      if (r2[i] - min_r2 > 1e-14 * min_r2) sum += std::pow(ry[i] / (r2[i] - min_r2), 2);
    }
    on_axis = sum < 1;
    if (on_axis) {
      for (int i = 0; i < 3; ++i) {
        const double gap = r2[i] - min_r2;
        x[i] = gap > 1e-14 * min_r2 ? r2[i] * y[i] / gap : 0;
      }
      x[shortest] = r[shortest] * std::sqrt(1 - sum);
    }
  }
  if (!on_axis) {
    double t = low;
    for (int i = 0; i < 100; ++i) {
      const Vec3 d = r2.array() + t;
      const Vec3 q = ry.cwiseQuotient(d);
      const double qq = q.squaredNorm();
      if (!(qq < 1e300)) {  // at the pole: p is (nearly) on a mid-plane
        t = (low + high) / 2;
        continue;
      }
      if (qq > 1) {
        low = t;
      } else {
        high = t;
      }
      const double length = std::sqrt(qq);
      // d|q|/dt = -(q . q/d) / |q|; a Newton step on 1 - 1/|q|.
      const double slope = q.cwiseAbs2().cwiseQuotient(d).sum();
      const double next = t + (length - 1) * qq / slope;
      const double step_from = t;
      t = next > low && next < high ? next : (low + high) / 2;
      if (std::abs(t - step_from) <= 1e-16 * (std::abs(t) + min_r2) || !(low < high)) break;
    }
    const Vec3 q = ry.cwiseQuotient(Vec3(r2.array() + t));
    x = r.cwiseProduct(q) / q.norm();
  }
  const Vec3 normal = x.cwiseQuotient(r2).normalized();
  for (int i = 0; i < 3; ++i) (*gradient)[i] = p[i] >= 0 ? normal[i] : -normal[i];
  return normal.dot(y - x);
}

double point_triangle(const std::array<Vec3, 3>& v, const Vec3& p, Vec3* gradient) {
  const Vec3 n = cross(v[1] - v[0], v[2] - v[0]);
  const double nn = n.squaredNorm();
  const Vec3 unit = nn > 0 ? Vec3(n / std::sqrt(nn)) : Vec3(Vec3::UnitZ());
  bool inside = nn > 0;
  for (int i = 0; i < 3 && inside; ++i) {
    inside = n.dot(cross(v[(i + 1) % 3] - v[i], p - v[i])) >= 0;
  }
  if (inside) {
    const double height = unit.dot(p - v[0]);
    *gradient = height >= 0 ? unit : Vec3(-unit);
    return std::abs(height);
  }
  Vec3 best = Vec3::Zero();
  double squared = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const Vec3 e = v[(i + 1) % 3] - v[i];
    const double ee = e.squaredNorm();
    const double t = ee > 0 ? std::clamp(e.dot(p - v[i]) / ee, 0.0, 1.0) : 0;
    const Vec3 apart = p - v[i] - t * e;
    if (apart.squaredNorm() < squared) {
      squared = apart.squaredNorm();
      best = apart;
    }
  }
  return split(best, unit, gradient);
}

double point_face(const Collider& triangle, const Vec3& p, Vec3* gradient) {
  const std::array<Vec3, 3>& v = triangle.vertex;
  const Vec3 unit = cross(Vec3(v[1] - v[0]), Vec3(v[2] - v[0])).normalized();
  const double depth = unit.dot(v[0] - p);
  bool is_below = depth > 0 && depth <= triangle.inside;
  for (int k = 0; k < 6 && is_below; ++k) is_below = triangle.away[k].dot(p - v[k % 3]) <= 0;
  if (!is_below) return point_triangle(v, p, gradient);
  *gradient = unit;
  return -depth;
}

double point_collider(const Collider& collider, const Vec3& p, double cutoff, Vec3* gradient) {
  if (collider.type == ColliderType::half_space) {
    *gradient = Vec3::UnitZ();
    return p.z();
  }
  const double to_box = ((p - collider.centre).cwiseAbs() - collider.half_box).cwiseMax(0).norm();
  if (to_box > cutoff) return to_box;
  if (!is_convex(collider.type)) {
    const MeshBvh& bvh = collider.type == ColliderType::sdf ? *collider.sdf->surface : *collider.bvh;
    const MeshPoint q = bvh.solid ? closest_point_signed(bvh, p) : closest_point(bvh, p);
    const double length = std::abs(q.distance);
    *gradient = length > 1e-12 * collider.bounding_radius ? Vec3((p - q.point) / q.distance)
                                                          : feature_normal(bvh, q.triangle, q.feature);
    return q.distance;
  }
  const Collider point;  // a sphere of radius 0
  Witness witness;
  const double d = sphere_any(point, collider, {Mat3::Identity(), -p}, cutoff, &witness);
  *gradient = -witness.n;
  return d;
}

}  // namespace capstan
