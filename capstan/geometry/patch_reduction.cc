#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/geometry/patch.h"

namespace capstan {
namespace {

// The force; ahead, what would be pulled.
double weight_of(const PatchPoint& p) {
  return std::abs(p.pressure) * p.area;
}

// The direction in which the force of some points spreads most, by power iteration: it need not be exact.
Vec3 longest_direction(const std::vector<PatchPoint>& points, const int* order, int count) {
  double sum = 0;
  Vec3 centre = Vec3::Zero();
  for (int k = 0; k < count; ++k) {
    const PatchPoint& p = points[order[k]];
    sum += weight_of(p);
    centre += weight_of(p) * p.p;
  }
  centre /= sum;
  Mat3 spread = Mat3::Zero();
  for (int k = 0; k < count; ++k) {
    const PatchPoint& p = points[order[k]];
    const Vec3 d = p.p - centre;
    spread += weight_of(p) * d * d.transpose();
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
    const double f = weight_of(p);
    sum += f;
    force += f * p.normal;
    m.p += f * p.p;
    m.area += p.area;
    m.stiffness += p.stiffness;
  }
  const double size = force.norm();
  m.p /= sum;
  m.normal = size > 0 ? Vec3(force / size) : points[order[0]].normal;
  m.pressure = std::copysign(size / m.area, points[order[0]].pressure);
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
  for (int k = 0; k < count; ++k) sum += weight_of(points[order[k]]);
  const int low = most / 2;  // points of the lower half, with as much of the force
  int split = 0;
  while (split < count - 1 && part < sum * low / most) part += weight_of(points[order[split]]), ++split;
  split = std::clamp(split, 1, count - 1);
  halve_points(points, order, split, low, merged);
  halve_points(points, order + split, count - split, most - low, merged);
}

}  // namespace

void reduce_patch(int most, PatchWorkspace* w) {
  const auto ahead = [](const PatchPoint& p) { return p.pressure < 0; };
  const int n = static_cast<int>(w->points.size());
  const int pressing =
      static_cast<int>(std::find_if(w->points.begin(), w->points.end(), ahead) - w->points.begin());
  if (pressing <= most && n - pressing <= most) return;
  w->order.resize(n);
  std::iota(w->order.begin(), w->order.end(), 0);
  w->scratch.clear();
  const auto reduce = [&](int first, int count) {
    if (count > most) return halve_points(w->points, w->order.data() + first, count, most, &w->scratch);
    w->scratch.insert(w->scratch.end(), w->points.begin() + first, w->points.begin() + first + count);
  };
  reduce(0, pressing);
  reduce(pressing, n - pressing);
  std::swap(w->points, w->scratch);
}

}  // namespace capstan
