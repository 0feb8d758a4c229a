#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/geometry/patch.h"

namespace capstan {
namespace {

// The direction in which the force of some points spreads most, by power iteration: it need not be exact.
Vec3 longest_direction(const std::vector<PatchPoint>& points, const int* order, int count) {
  double sum = 0;
  Vec3 centre = Vec3::Zero();
  for (int k = 0; k < count; ++k) {
    const PatchPoint& p = points[order[k]];
    sum += p.pressure * p.area;
    centre += p.pressure * p.area * p.p;
  }
  centre /= sum;
  Mat3 spread = Mat3::Zero();
  for (int k = 0; k < count; ++k) {
    const PatchPoint& p = points[order[k]];
    const Vec3 d = p.p - centre;
    spread += p.pressure * p.area * d * d.transpose();
  }
  int longest = 0;
  spread.diagonal().maxCoeff(&longest);
  Vec3 axis = spread.col(longest);
  for (int i = 0; i < 8 && axis.norm() > 0; ++i) axis = (spread * axis.normalized()).eval();
  return axis.norm() > 0 ? Vec3(axis.normalized()) : Vec3(Vec3::UnitX());
}

PatchPoint merge_points(const std::vector<PatchPoint>& points, const int* order, int count) {
  if (count == 1) return points[order[0]];
  PatchPoint m{Vec3::Zero(), Vec3::Zero(), 0, 0, 0};
  double sum = 0;
  Vec3 force = Vec3::Zero();
  for (int k = 0; k < count; ++k) {
    const PatchPoint& p = points[order[k]];
    const double f = p.pressure * p.area;
    sum += f;
    force += f * p.normal;
    m.p += f * p.p;
    m.area += p.area;
    m.stiffness += p.stiffness;
  }
  const double size = force.norm();
  m.p /= sum;
  m.normal = size > 0 ? Vec3(force / size) : points[order[0]].normal;
  m.pressure = size / m.area;
  m.stiffness *= size / sum;
  return m;
}

// Halves the points [first, first + count) of `order` until each part may be one point.
void halve_points(const std::vector<PatchPoint>& points, int* order, int count, int most,
                  std::vector<PatchPoint>* merged) {
  if (most <= 1 || count <= 1) {
    if (count > 0) merged->push_back(merge_points(points, order, count));
    return;
  }
  const Vec3 axis = longest_direction(points, order, count);
  std::sort(order, order + count, [&](int x, int y) {
    const double a = axis.dot(points[x].p), b = axis.dot(points[y].p);
    return a != b ? a < b : x < y;
  });
  double sum = 0, part = 0;
  for (int k = 0; k < count; ++k) sum += points[order[k]].pressure * points[order[k]].area;
  const int low = most / 2;  // points of the lower half, with as much of the force
  int split = 0;
  while (split < count - 1 && part < sum * low / most)
    part += points[order[split]].pressure * points[order[split]].area, ++split;
  split = std::clamp(split, 1, count - 1);
  halve_points(points, order, split, low, merged);
  halve_points(points, order + split, count - split, most - low, merged);
}

}  // namespace

void reduce_patch(int most, PatchWorkspace* w) {
  if (static_cast<int>(w->points.size()) <= most) return;
  w->order.resize(w->points.size());
  std::iota(w->order.begin(), w->order.end(), 0);
  w->scratch.clear();
  halve_points(w->points, w->order.data(), static_cast<int>(w->order.size()), most, &w->scratch);
  std::swap(w->points, w->scratch);
}

}  // namespace capstan
