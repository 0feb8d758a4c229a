#include "capstan/geometry/contact_feature.h"

#include <algorithm>

namespace capstan {
namespace {

using Kind = ContactFeature::Kind;

void set_plane(const Vec3& normal_F, const Vec3& through_F, ContactFeature* f) {
  f->slope_x = -normal_F.x() / normal_F.z();
  f->slope_y = -normal_F.y() / normal_F.z();
  f->height = through_F.z() - f->slope_x * through_F.x() - f->slope_y * through_F.y();
}

void set_segment(const Vec3& a, int id_a, const Vec3& b, int id_b, double bend, ContactFeature* f) {
  f->kind = Kind::segment;
  f->count = 2;
  f->vertex[0] = a;
  f->vertex[1] = b;
  f->id[0] = static_cast<std::uint16_t>(id_a);
  f->id[1] = static_cast<std::uint16_t>(id_b);
  f->bend = bend;
}

// Axis and sign of the box face that looks most along d.
int box_face(const Vec3& d) {
  int axis;
  d.cwiseAbs().maxCoeff(&axis);
  return axis;
}

void box_feature(const Collider& c, const Transform& X, double side, double min_face, double max_edge,
                 const Vec3& d, ContactFeature* f) {
  const int k = box_face(d), i = (k + 1) % 3, j = (k + 2) % 3;
  const double sign = d[k] >= 0 ? 1 : -1;
  if (std::abs(d[k]) >= min_face) {
    // Corners (+,+), (-,+), (-,-), (+,-) of the axes i, j turn counter-clockwise about +k.
    const bool forward = sign * side > 0;
    const Vec3 centre = X.p + X.R.col(k) * (sign * c.size[k]);
    const Vec3 u = X.R.col(i) * c.size[i], v = X.R.col(j) * c.size[j];
    const int face = sign > 0 ? 1 << k : 0;
    const auto set = [&](int at, const Vec3& p, int bits) {
      f->vertex[at] = p;
      f->id[at] = static_cast<std::uint16_t>(face | bits);
    };
    set(0, centre + u + v, 1 << i | 1 << j);
    set(forward ? 1 : 3, centre - u + v, 1 << j);
    set(2, centre - u - v, 0);
    set(forward ? 3 : 1, centre + u - v, 1 << i);
    f->kind = Kind::polygon;
    f->count = 4;
    set_plane(X.R.col(k), centre, f);
    return;
  }
  // The edge most across d, at the support corner.
  int e;
  if (d.cwiseAbs().minCoeff(&e) > max_edge) return;
  Vec3 corner;
  int bits = 0;
  for (int axis = 0; axis < 3; ++axis) {
    corner[axis] = d[axis] >= 0 ? c.size[axis] : -c.size[axis];
    if (axis != e && d[axis] >= 0) bits |= 1 << axis;
  }
  corner[e] = -c.size[e];
  const Vec3 start = X * corner;
  set_segment(start, bits, start + 2 * c.size[e] * X.R.col(e), bits | 1 << e, 0, f);
}

void cylinder_feature(const Collider& c, const Transform& X, double min_face, double max_edge, const Vec3& d,
                      ContactFeature* f) {
  const double across = std::hypot(d.x(), d.y());
  // Where the radial direction is lost to rounding, the shape's x axis takes its place.
  const Vec3 radial = across > 1e-7 ? Vec3(d.x() / across, d.y() / across, 0) : Vec3(Vec3::UnitX());
  const double sign = d.z() >= 0 ? 1 : -1;
  if (std::abs(d.z()) >= min_face) {
    f->kind = Kind::disc;
    f->centre = X * Vec3(0, 0, sign * c.size.z());
    f->axis_u = X.R * radial;
    f->axis_v = X.R * Vec3(-radial.y(), radial.x(), 0);
    f->radius = c.size.x();
    set_plane(X.R.col(2), f->centre, f);
  } else if (std::abs(d.z()) <= max_edge) {
    const Vec3 low = X * (c.size.x() * radial - Vec3(0, 0, c.size.z()));
    set_segment(low, 0, low + 2 * c.size.z() * X.R.col(2), 1, c.size.x(), f);
  }
}

void polygon_from_loop(const Vec3* vertices, const int* loop, int size, const Vec3& normal,
                       const Transform& X, double side, ContactFeature* f) {
  const int count = std::min(size, ContactFeature::kMaxVertices);
  for (int k = 0; k < count; ++k) {
    const int source = loop[static_cast<long>(k) * size / count];
    const int at = side > 0 ? k : count - 1 - k;
    f->vertex[at] = X * vertices[source];
    f->id[at] = static_cast<std::uint16_t>(source & 0x7fff);
  }
  f->kind = Kind::polygon;
  f->count = count;
  set_plane(X.R * normal, f->vertex[0], f);
}

// The face at the support vertex that looks most along d.
int hull_face(const ConvexHull& hull, int vertex, const Vec3& d) {
  int best = -1;
  double value = -2;
  for (const int face : hull.faces_at(vertex)) {
    const double v = hull.faces[face].normal.dot(d);
    if (v > value) {
      value = v;
      best = face;
    }
  }
  return best;
}

void hull_feature(const Collider& c, const Transform& X, double side, double min_face, double max_edge,
                  const Vec3& d, ContactFeature* f) {
  const ConvexHull& hull = *c.hull;
  const int v = support_vertex(hull, d, -1);
  const int face = hull_face(hull, v, d);
  if (hull.faces[face].normal.dot(d) >= min_face) {
    const auto loop = hull.face_loop(face);
    polygon_from_loop(hull.vertices.data(), loop.data(), static_cast<int>(loop.size()),
                      hull.faces[face].normal, X, side, f);
    return;
  }
  int best = -1;
  double slope = max_edge;
  for (const int w : hull.neighbours(v)) {
    const Vec3 e = hull.vertices[w] - hull.vertices[v];
    const double s = std::abs(e.dot(d)) / e.norm();
    if (s <= slope) {
      slope = s;
      best = w;
    }
  }
  if (best >= 0) {
    const int first = std::min(v, best), second = std::max(v, best);
    set_segment(X * hull.vertices[first], first & 0x7fff, X * hull.vertices[second], second & 0x7fff, 0, f);
  }
}

void triangle_feature(const Collider& c, const Transform& X, double min_face, double max_edge, const Vec3& d,
                      ContactFeature* f) {
  constexpr int loop[3] = {0, 1, 2};
  const Vec3 n = cross(c.vertex[1] - c.vertex[0], c.vertex[2] - c.vertex[0]);
  const double length = n.norm();
  if (length > 0 && std::abs(n.dot(d)) >= min_face * length) {
    const Vec3 unit = n / length;
    polygon_from_loop(c.vertex.data(), loop, 3, unit, X, X.R.row(2).dot(unit) >= 0 ? 1 : -1, f);
    return;
  }
  // The edge that reaches farthest along d at both ends and is most across it.
  int best = -1;
  double reach = 0;
  for (int i = 0; i < 3; ++i) {
    const Vec3 e = c.vertex[(i + 1) % 3] - c.vertex[i];
    const double length_e = e.norm();
    if (!(length_e > 0)) continue;
    const double s = std::abs(e.dot(d)) / length_e, r = d.dot(c.vertex[i] + e / 2);
    if (s <= max_edge && (best < 0 || r > reach)) {
      best = i;
      reach = r;
    }
  }
  if (best >= 0) {
    const int next = (best + 1) % 3;
    set_segment(X * c.vertex[best], best, X * c.vertex[next], next, 0, f);
  }
}

}  // namespace

double face_alignment(const Collider& c, const Transform& X, double side) {
  const Vec3 d = side * X.R.row(2).transpose();
  switch (c.type) {
    case ColliderType::box:
      return d.cwiseAbs().maxCoeff();
    case ColliderType::cylinder:
      return std::abs(d.z());
    case ColliderType::hull: {
      const int face = hull_face(*c.hull, support_vertex(*c.hull, d, -1), d);
      return c.hull->faces[face].normal.dot(d);
    }
    case ColliderType::triangle: {
      const Vec3 n = cross(c.vertex[1] - c.vertex[0], c.vertex[2] - c.vertex[0]);
      const double length = n.norm();
      return length > 0 ? std::abs(n.dot(d)) / length : 0;
    }
    default:
      return 0;
  }
}

void find_feature(const Collider& c, const Transform& X, double side, double min_face, double max_edge,
                  ContactFeature* f) {
  const Vec3 d = side * X.R.row(2).transpose();  // the direction in the shape's frame
  f->kind = Kind::point;
  switch (c.type) {
    case ColliderType::capsule:
      if (c.size.z() > 0 && std::abs(d.z()) <= max_edge) {
        const Vec3 half = c.size.z() * X.R.col(2);
        set_segment(X.p - half, 0, X.p + half, 1, c.rounding, f);
      }
      break;
    case ColliderType::box:
      box_feature(c, X, side, min_face, max_edge, d, f);
      break;
    case ColliderType::cylinder:
      cylinder_feature(c, X, min_face, max_edge, d, f);
      break;
    case ColliderType::hull:
      hull_feature(c, X, side, min_face, max_edge, d, f);
      break;
    case ColliderType::triangle:
      triangle_feature(c, X, min_face, max_edge, d, f);
      break;
    default:
      break;
  }
}

}  // namespace capstan
