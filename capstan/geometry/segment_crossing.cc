#include "capstan/geometry/segment_crossing.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr int kCrossingBisections = 60;

Vec3 at(const MovingSegment& s, int end, double t) {
  return s.begin[end] + t * (s.end[end] - s.begin[end]);
}

double calc_volume(const MovingSegment& a, const MovingSegment& b, double t) {
  const Vec3 a0 = at(a, 0, t), b0 = at(b, 0, t);
  return cross(Vec3(at(a, 1, t) - a0), Vec3(at(b, 1, t) - b0)).dot(b0 - a0);
}

// In one plane at t: whether each has its ends on different sides of the other.
bool cross_at(const MovingSegment& a, const MovingSegment& b, double t) {
  const Vec3 a0 = at(a, 0, t), b0 = at(b, 0, t), u = at(a, 1, t) - a0, v = at(b, 1, t) - b0, w = b0 - a0;
  const Vec3 n = cross(u, v);
  const double square = n.squaredNorm();
  if (!(square > 0)) return false;
  const double s = cross(w, v).dot(n) / square, r = cross(w, u).dot(n) / square;
  return s >= 0 && s <= 1 && r >= 0 && r <= 1;
}

}  // namespace

bool pass_through(const MovingSegment& a, const MovingSegment& b) {
  const auto middle = [](const std::array<Vec3, 2>& ends) { return Vec3(0.5 * (ends[0] + ends[1])); };
  const auto half = [](const std::array<Vec3, 2>& ends) { return 0.5 * (ends[1] - ends[0]).norm(); };
  double way = 0;  // of one end of one relative to one of the other, at most
  for (const int i : {0, 1}) {
    for (const int j : {0, 1}) way = std::max(way, (a.end[i] - a.begin[i] - b.end[j] + b.begin[j]).norm());
  }
  if ((middle(a.begin) - middle(b.begin)).norm() > half(a.begin) + half(b.begin) + way) return false;
  // The cubic through four of its values: c0 + c1 t + c2 t^2 + c3 t^3.
  const double f0 = calc_volume(a, b, 0), f1 = calc_volume(a, b, 1.0 / 3), f2 = calc_volume(a, b, 2.0 / 3),
               f3 = calc_volume(a, b, 1);
  const double c1 = -5.5 * f0 + 9 * f1 - 4.5 * f2 + f3, c2 = 9 * f0 - 22.5 * f1 + 18 * f2 - 4.5 * f3,
               c3 = -4.5 * f0 + 13.5 * f1 - 13.5 * f2 + 4.5 * f3;
  // Between its turning points it has one root, if the signs differ.
  double turns[4] = {0, 1, 1, 1};
  int count = 1;
  const double discriminant = c2 * c2 - 3 * c1 * c3;
  if (discriminant > 0) {
    const double q = -(c2 + std::copysign(std::sqrt(discriminant), c2));
    double roots[2] = {q / (3 * c3), c1 / q};
    if (!(roots[0] < roots[1])) std::swap(roots[0], roots[1]);
    for (const double root : roots)
      if (root > 0 && root < 1) turns[count++] = root;
  }
  turns[count] = 1;
  bool passes = false;
  for (int k = 0; k < count; ++k) {
    double low = turns[k], high = turns[k + 1];
    const double at_low = calc_volume(a, b, low);
    if (!(at_low * calc_volume(a, b, high) < 0)) continue;
    for (int i = 0; i < kCrossingBisections; ++i) {
      const double t = 0.5 * (low + high);
      (at_low * calc_volume(a, b, t) > 0 ? low : high) = t;
    }
    if (cross_at(a, b, 0.5 * (low + high))) passes = !passes;
  }
  return passes;
}

}  // namespace capstan
