// The cells of round fields about a patch (pressure_field.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "capstan/geometry/cell_list.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr int kMostCorners = 64;        // of a facet: four times the most rings
constexpr double kBeyondPatch = 1.001;  // of the angle that a half space cuts out

// Mean of |x - foot|^2 over a planar convex polygon.
double mean_square(const Vec3* v, int count, const Vec3& foot) {
  double area = 0, sum = 0;
  const Vec3 a = v[0] - foot;
  for (int i = 1; i + 1 < count; ++i) {
    const Vec3 b = v[i] - foot, c = v[i + 1] - foot;
    const double twice = cross(Vec3(b - a), Vec3(c - a)).norm();
    area += twice;
    sum += twice * (a.squaredNorm() + b.squaredNorm() + c.squaredNorm() + a.dot(b) + b.dot(c) + c.dot(a)) / 6;
  }
  return area > 0 ? sum / area : 0;
}

// The cone over a facet with corners v on the unit sphere, counter-clockwise from outside; x = p + radii * y.
// What of it is nearer to the centre than `inner` is in no patch.
void add_cone(const Vec3* v, int count, const Vec3& p, const Vec3& radii, double inner, CellList* list) {
  Vec3 u = Vec3::Zero();
  for (int i = 0; i < count; ++i) u += cross(v[i], v[(i + 1) % count]);
  u.normalize();
  const double inscribed = u.dot(v[0]);
  if (!(inscribed > 1e-6)) return;
  // The mean of cos(angle to u) over the facet: that far out a flat facet is as deep as the sphere.
  const double out = 1 / std::sqrt(1 + mean_square(v, count, inscribed * u) / (inscribed * inscribed));
  const Vec3 gradient = -u.cwiseQuotient(radii) / out;
  PressureCell& cell = begin_cell(gradient, 1 - gradient.dot(p), list);
  for (int i = 0; i < count; ++i) {
    include(cell.box, p + v[i].cwiseProduct(radii) * (out / inscribed));
    include(cell.box, p + v[i].cwiseProduct(radii) * inner);
  }
  for (int i = 0; i < count; ++i) {
    const Vec3 side = cross(v[(i + 1) % count], v[i]).cwiseQuotient(radii);
    add_cell_plane(side, side.dot(p), list);
  }
}

// Rings about n of the ball at p; those with z above (side = 1) or below (-1) the plane z = p.z only, unless
// side is 0.
void add_ball(const Vec3& p, const Vec3& radii, const Vec3& n, double c, int rings, int side,
              CellList* list) {
  Vec3 axis = radii.cwiseProduct(n);
  const double length = axis.norm();
  const double reach = (c - n.dot(p)) / length;  // of the unit sphere
  if (reach >= 1) return;
  axis /= length;
  const int sectors = 4 * rings;
  // The rim of the facets is around that of the patch.
  const double angle = std::min(std::acos(std::max(-1.0, reach)) / std::cos(std::numbers::pi / sectors),
                                std::numbers::pi - 1e-3);
  // The same facets for n and -n: those of two bodies in contact then are each other's images.
  const bool flipped = axis.x() < 0 || (axis.x() == 0 && (axis.y() < 0 || (axis.y() == 0 && axis.z() < 0)));
  const Mat3 R = frame_from_z(flipped ? Vec3(-axis) : axis);
  const auto corner = [&](int ring, int sector) -> Vec3 {
    const double theta = angle * ring / rings;
    const double psi = 2 * std::numbers::pi * (sector % sectors) / sectors;
    const Vec3 across = std::cos(psi) * R.col(0) + (flipped ? -1.0 : 1.0) * std::sin(psi) * R.col(1);
    return std::cos(theta) * axis + std::sin(theta) * across;
  };
  std::array<std::array<Vec3, kMostCorners>, 2> v;  // of two rings
  const double inner = std::max(0.0, 0.999 * reach);
  const auto add = [&](const Vec3* corners, int count) {
    const std::size_t before = list->cells.size();
    add_cone(corners, count, p, radii, inner, list);
    if (side == 0 || list->cells.size() == before) return;
    PressureCell& cell = list->cells.back();
    if (side > 0 ? cell.box.upper.z() <= p.z() : cell.box.lower.z() >= p.z()) {
      list->planes.resize(cell.first);
      list->cells.pop_back();
      return;
    }
    add_cell_plane(-side * Vec3::UnitZ(), -side * p.z(), list);
  };
  for (int s = 0; s < sectors; ++s) v[1][s] = corner(1, s);
  add(v[1].data(), sectors);
  for (int ring = 2; ring <= rings; ++ring) {
    v[0] = v[1];
    for (int s = 0; s < sectors; ++s) v[1][s] = corner(ring, s);
    for (int s = 0; s < sectors; ++s) {
      const int t = (s + 1) % sectors;
      const Vec3 facet[4] = {v[0][s], v[1][s], v[1][t], v[0][t]};
      add(facet, 4);
    }
  }
}

// Strips along z over the angles [-half, half] about the direction of n across z. f(u, out, edges) adds the
// cells of one strip: u its normal, out [m] how far from the axis it is, edges the directions of its sides.
template <class F>
void each_strip(const Vec3& n, double R, double half, int count, const F& f) {
  Vec3 x(n.x(), n.y(), 0);
  x = x.norm() > 1e-12 ? Vec3(x.normalized()) : Vec3(Vec3::UnitX());
  const Vec3 y = cross(Vec3(Vec3::UnitZ()), x);
  const auto direction = [&](double psi) -> Vec3 { return std::cos(psi) * x + std::sin(psi) * y; };
  const double width = 2 * half / count;
  const double out = R * std::sin(width / 2) / (width / 2);
  for (int i = 0; i < count; ++i) {
    const double psi = -half + i * width;
    f(direction(psi + width / 2), out, std::array<Vec3, 2>{direction(psi), direction(psi + width)},
      out / std::cos(width / 2));
  }
}

void add_strip_sides(const std::array<Vec3, 2>& edges, CellList* list) {
  add_cell_plane(cross(edges[0], Vec3(Vec3::UnitZ())), 0, list);
  add_cell_plane(cross(Vec3(Vec3::UnitZ()), edges[1]), 0, list);
}

// inner and outer: along the edges.
void include_strip(const std::array<Vec3, 2>& edges, double inner, double outer, double low, double high,
                   Aabb* box) {
  for (const Vec3& edge : edges) {
    for (const double r : {inner, outer}) {
      for (const double z : {low, high}) include(*box, Vec3(r * edge.x(), r * edge.y(), z));
    }
  }
}

void make_capsule_cells(const PressureField& field, const Vec3& n, double c, CellList* list) {
  const double R = field.size.x(), h = field.size.z(), across = n.head<2>().norm();
  const double reach = (c - h * std::abs(n.z())) / std::max(R * across, 1e-300);
  if (reach < 1) {
    const double half = std::min(kBeyondPatch * std::acos(std::max(-1.0, reach)), std::numbers::pi);
    each_strip(n, R, half, 2 * field.rings,
               [&](const Vec3& u, double out, const std::array<Vec3, 2>& edges, double outer) {
                 PressureCell& cell = begin_cell(-u / out, 1, list);
                 include_strip(edges, std::max(0.0, 0.999 * reach * R), outer, -h, h, &cell.box);
                 add_strip_sides(edges, list);
                 add_cell_plane(Vec3::UnitZ(), h, list);
                 add_cell_plane(-Vec3::UnitZ(), h, list);
               });
  }
  if (field.is_segment) return;
  for (const int side : {-1, 1})
    add_ball(Vec3(0, 0, side * h), Vec3::Constant(R), n, c, field.rings, side, list);
}

void make_cylinder_cells(const PressureField& field, const Vec3& n, double c, CellList* list) {
  const double R = field.size.x(), h = field.size.z(), m = field.depth, across = n.head<2>().norm();
  const double depth = R * across + h * std::abs(n.z()) - c;
  if (depth <= 0) return;
  const double reach = 1 - depth / std::max(R * across, 1e-300);
  // What is beyond the axis is in no wedge of less than a full turn.
  const double half = reach < 0 ? std::numbers::pi : kBeyondPatch * std::acos(reach);
  each_strip(n, R, half, 4 * field.rings,
             [&](const Vec3& u, double out, const std::array<Vec3, 2>& edges, double outer) {
               PressureCell& wall = begin_cell(-u / m, out / m, list);
               include_strip(edges, std::max(0.0, out - m), outer, -h, h, &wall.box);
               add_strip_sides(edges, list);
               for (const double z : {-1.0, 1.0}) add_cell_plane(z * Vec3::UnitZ() - u, h - out, list);
               for (const double z : {-1.0, 1.0}) {
                 PressureCell& lid = begin_cell(-z * Vec3::UnitZ() / m, h / m, list);
                 include_strip(edges, 0, outer, z * (h - m), z * h, &lid.box);
                 add_strip_sides(edges, list);
                 add_cell_plane(u - z * Vec3::UnitZ(), out - h, list);
                 add_cell_plane(-z * Vec3::UnitZ(), 0, list);
               }
             });
}

}  // namespace

void make_round_cells(const PressureField& field, const Vec3& n, double c, CellList* list) {
  list->clear();
  switch (field.form) {
    case PressureField::Form::ellipsoid:
      return add_ball(Vec3::Zero(), field.size, n, c, field.rings, 0, list);
    case PressureField::Form::capsule:
      return make_capsule_cells(field, n, c, list);
    case PressureField::Form::cylinder:
      return make_cylinder_cells(field, n, c, list);
    case PressureField::Form::cells:
      return;
  }
}

double calc_round_support(const PressureField& field, const Vec3& n) {
  const double across = n.head<2>().norm();
  switch (field.form) {
    case PressureField::Form::ellipsoid:
      return field.size.cwiseProduct(n).norm();
    case PressureField::Form::capsule:
      return field.size.x() + field.size.z() * std::abs(n.z());
    default:
      return field.size.x() * across + field.size.z() * std::abs(n.z());
  }
}

}  // namespace capstan
