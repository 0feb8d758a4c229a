#include "capstan/geometry/contact_reduction.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

bool deeper(const ContactPoint& a, const ContactPoint& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.feature != b.feature) return a.feature < b.feature;
  return std::lexicographical_compare(a.p_A.data(), a.p_A.data() + 3, b.p_A.data(), b.p_A.data() + 3);
}

constexpr int kMaxPoints = 8;
constexpr double kReach = 0.05;

// Brings the chosen points of p[0, n) to the front and returns their number. p is sorted by depth.
int choose_spread(ContactPoint* p, int n, double same) {
  const Vec3 normal = p[0].normal;
  int level = 0;  // as deep as the deepest
  Vec3 mean = Vec3::Zero();
  while (level < n && p[level].distance <= p[0].distance + 1e-3 * same) mean += p[level++].p_B;
  mean /= level;

  const auto bring = [&](int to, int end, double least, const auto& value) {
    int best = -1;
    double most = least;
    for (int i = to; i < end; ++i) {
      const double v = value(i);
      if (v > most * (1 + 1e-9)) most = v, best = i;
    }
    if (best >= 0) std::swap(p[to], p[best]);
    return best >= 0;
  };
  const auto flat = [&](int i, const Vec3& from) {
    const Vec3 r = p[i].p_B - from;
    return Vec3(r - normal.dot(r) * normal);
  };
  const double same2 = same * same;
  bring(0, level, same2, [&](int i) { return flat(i, mean).squaredNorm(); });
  const Vec3 origin = p[0].p_B;
  if (!bring(1, n, same2, [&](int i) { return flat(i, origin).squaredNorm(); })) return 1;
  const Vec3 u = flat(1, origin), v = cross(normal, u);
  const double size = u.norm();
  if (!bring(2, n, same * size, [&](int i) { return std::abs(v.dot(flat(i, origin))); })) return 2;

  // The chosen points as a polygon, counter-clockwise about the normal.
  Vec3 corner[kMaxPoints] = {Vec3::Zero(), u, flat(2, origin)};
  if (normal.dot(cross(corner[1], corner[2])) < 0) std::swap(corner[1], corner[2]);
  int count = 3;
  const auto outside = [&](int i, int* side) {
    const Vec3 r = flat(i, origin);
    double most = -1;
    for (int k = 0; k < count; ++k) {
      if ((r - corner[k]).squaredNorm() <= same2) return -1.0;
      const Vec3 e = corner[(k + 1) % count] - corner[k];
      const double d = normal.dot(cross(r - corner[k], e)) / std::max(e.norm(), same);
      if (d > most) most = d, *side = k;
    }
    return most;
  };
  int side = 0;
  while (count < kMaxPoints &&
         bring(count, n, count == 3 ? same : kReach * size, [&](int i) { return outside(i, &side); })) {
    outside(count, &side);
    const Vec3 r = flat(count, origin);
    for (int k = count; k > side + 1; --k) corner[k] = corner[k - 1];
    corner[side + 1] = r;
    ++count;
  }
  return count;
}

}  // namespace

void reduce_contacts(std::size_t first, double same, double angle, std::vector<ContactPoint>* contacts) {
  auto out = contacts->begin() + static_cast<std::ptrdiff_t>(first), rest = out;
  const auto end = contacts->end();
  const double cosine = std::cos(angle);
  while (rest != end) {
    std::iter_swap(rest, std::min_element(rest, end, deeper));
    const Vec3 normal = rest->normal;
    const auto last =
        std::partition(rest, end, [&](const ContactPoint& c) { return c.normal.dot(normal) >= cosine; });
    // The choice must not depend on the order in which the contacts were found.
    std::sort(rest, last, deeper);
    const int kept = choose_spread(&*rest, static_cast<int>(last - rest), same);
    out = std::move(rest, rest + kept, out);
    rest = last;
  }
  contacts->erase(out, end);
}

}  // namespace capstan
