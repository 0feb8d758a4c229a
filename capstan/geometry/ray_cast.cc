#include "capstan/geometry/ray_cast.h"

#include <cmath>
#include <limits>

#include "capstan/geometry/mesh_bvh.h"
#include "capstan/geometry/sdf_grid.h"

namespace capstan {
namespace {

// The nearest of the crossings offered, in the frame of the shape.
struct Nearest {
  const Vec3 &o, &d;
  double t;  // the limit, then the best so far
  Vec3 normal = Vec3::Zero();
  bool found = false;
  int triangle = -1;

  void offer(double at, const Vec3& n) {
    if (!(at >= 0 && at <= t) || (found && at == t)) return;
    t = at;
    normal = n;
    found = true;
  }
};

// Roots of a t^2 + 2 b t + c = 0 without cancellation; false when there are none.
bool roots(double a, double b, double c, double* t0, double* t1) {
  const double disc = b * b - a * c;
  if (!(a > 0) || disc < 0) return false;
  const double q = -(b + std::copysign(std::sqrt(disc), b));
  if (q == 0) {
    *t0 = *t1 = 0;
    return true;
  }
  *t0 = q / a;
  *t1 = c / q;
  return true;
}

// A ball about `centre`; only the part with side * (z - centre.z) >= 0 when side is not 0.
void ball(const Vec3& centre, double radius, double side, Nearest* hit) {
  const Vec3 o = hit->o - centre;
  double t[2];
  if (!roots(hit->d.squaredNorm(), o.dot(hit->d), o.squaredNorm() - radius * radius, &t[0], &t[1])) return;
  for (double at : t) {
    const Vec3 p = o + at * hit->d;
    if (side * p.z() >= 0) hit->offer(at, p / radius);
  }
}

void tube(double radius, double half_length, Nearest* hit) {
  const Vec3 &o = hit->o, &d = hit->d;
  double t[2];
  if (!roots(d.head<2>().squaredNorm(), o.head<2>().dot(d.head<2>()),
             o.head<2>().squaredNorm() - radius * radius, &t[0], &t[1])) {
    return;
  }
  for (double at : t) {
    const Vec3 p = o + at * d;
    if (std::abs(p.z()) <= half_length) hit->offer(at, Vec3(p.x(), p.y(), 0) / radius);
  }
}

void cylinder(double radius, double half_length, Nearest* hit) {
  tube(radius, half_length, hit);
  for (double side : {1.0, -1.0}) {
    const double at = (side * half_length - hit->o.z()) / hit->d.z();
    const Vec3 p = hit->o + at * hit->d;
    if (p.head<2>().squaredNorm() <= radius * radius) hit->offer(at, side * Vec3::UnitZ());
  }
}

// The part of the ray inside all planes n.x <= offset; its ends are crossings.
struct Clip {
  double enter = -std::numeric_limits<double>::infinity(), leave = std::numeric_limits<double>::infinity();
  Vec3 enter_normal = Vec3::Zero(), leave_normal = Vec3::Zero();

  bool plane(const Vec3& n, double offset, const Vec3& o, const Vec3& d) {
    const double height = n.dot(o) - offset, rate = n.dot(d);
    if (rate == 0) return height <= 0;
    const double at = -height / rate;
    if (rate < 0 && at > enter) enter = at, enter_normal = n;
    if (rate > 0 && at < leave) leave = at, leave_normal = n;
    return enter <= leave;
  }
  void report(Nearest* hit) const {
    hit->offer(enter, enter_normal);
    if (enter < 0) hit->offer(leave, leave_normal);
  }
};

void box(const Vec3& half, Nearest* hit) {
  Clip clip;
  for (int k = 0; k < 3; ++k) {
    if (!clip.plane(Vec3::Unit(k), half[k], hit->o, hit->d)) return;
    if (!clip.plane(-Vec3::Unit(k), half[k], hit->o, hit->d)) return;
  }
  clip.report(hit);
}

void hull(const ConvexHull& h, Nearest* hit) {
  Clip clip;
  for (const ConvexHull::Face& f : h.faces) {
    if (!clip.plane(f.normal, f.offset, hit->o, hit->d)) return;
  }
  clip.report(hit);
}

// Scaled to a unit ball; the normal is the gradient of sum x_i^2 / r_i^2.
void ellipsoid(const Vec3& radii, Nearest* hit) {
  const Vec3 o = hit->o.cwiseQuotient(radii), d = hit->d.cwiseQuotient(radii);
  double t[2];
  if (!roots(d.squaredNorm(), o.dot(d), o.squaredNorm() - 1, &t[0], &t[1])) return;
  for (double at : t) hit->offer(at, (o + at * d).cwiseQuotient(radii).normalized());
}

void triangle(const std::array<Vec3, 3>& v, Nearest* hit) {
  const Vec3 n = cross(v[1] - v[0], v[2] - v[0]);
  const double at = n.dot(v[0] - hit->o) / n.dot(hit->d);
  if (!std::isfinite(at)) return;
  const Vec3 p = hit->o + at * hit->d;
  for (int k = 0; k < 3; ++k) {
    if (n.dot(cross(v[(k + 1) % 3] - v[k], p - v[k])) < 0) return;
  }
  hit->offer(at, n.normalized());
}

void mesh(const MeshBvh& bvh, Nearest* hit) {
  MeshRayHit at;
  if (!ray_cast(bvh, hit->o, hit->d, hit->t, &at)) return;
  hit->offer(at.t, bvh.face_normal[at.triangle]);
  hit->triangle = at.triangle;
}

}  // namespace

bool ray_cast(const Collider& c, const Transform& X_WC, const Vec3& origin_W, const Vec3& direction_W,
              double max_distance, RayHit* hit) {
  const Vec3 o = X_WC.R.transpose() * (origin_W - X_WC.p), d = X_WC.R.transpose() * direction_W;
  Nearest nearest{o, d, max_distance};
  switch (c.type) {
    case ColliderType::sphere:
      ball(Vec3::Zero(), c.rounding, 0, &nearest);
      break;
    case ColliderType::capsule:
      tube(c.rounding, c.size.z(), &nearest);
      ball({0, 0, c.size.z()}, c.rounding, 1, &nearest);
      ball({0, 0, -c.size.z()}, c.rounding, -1, &nearest);
      break;
    case ColliderType::box:
      box(c.size, &nearest);
      break;
    case ColliderType::cylinder:
      cylinder(c.size.x(), c.size.z(), &nearest);
      break;
    case ColliderType::ellipsoid:
      ellipsoid(c.size, &nearest);
      break;
    case ColliderType::hull:
      hull(*c.hull, &nearest);
      break;
    case ColliderType::triangle:
      triangle(c.vertex, &nearest);
      break;
    case ColliderType::half_space:
      if (d.z() != 0) nearest.offer(-o.z() / d.z(), Vec3::UnitZ());
      break;
    case ColliderType::mesh:
    case ColliderType::height_field:
    case ColliderType::sdf:
      mesh(*c.bvh, &nearest);
      break;
  }
  if (!nearest.found) return false;
  hit->distance = nearest.t;
  hit->point = origin_W + nearest.t * direction_W;
  hit->normal = X_WC.R * nearest.normal;
  hit->triangle = nearest.triangle;
  return true;
}

}  // namespace capstan
