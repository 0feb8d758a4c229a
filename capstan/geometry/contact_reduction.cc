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

// Brings up to four chosen points of p[0, n) to the front; p[0] is the deepest.
int choose_spread(ContactPoint* p, int n, double same) {
  const Vec3 normal = p[0].normal, origin = p[0].p_B;
  const auto flat = [&](int i) {
    const Vec3 r = p[i].p_B - origin;
    return Vec3(r - normal.dot(r) * normal);
  };
  const auto bring = [&](int k, const auto& value) {
    int best = -1;
    double most = same * same;
    for (int i = k; i < n; ++i) {
      const double v = value(i);
      if (v > most * (1 + 1e-9)) most = v, best = i;
    }
    if (best < 0) return false;
    std::swap(p[k], p[best]);
    return true;
  };
  if (!bring(1, [&](int i) { return flat(i).squaredNorm(); })) return 1;
  const Vec3 u = flat(1), v = cross(normal, u);
  if (!bring(2, [&](int i) { return std::abs(v.dot(flat(i))); })) return 2;
  const Vec3 w = flat(2);
  const double turn = normal.dot(cross(u, w)) > 0 ? 1 : -1;
  const auto outside = [&](int i) {
    const Vec3 r = flat(i);
    return std::max({-turn * normal.dot(cross(u, r)), -turn * normal.dot(cross(w - u, r - u)),
                     turn * normal.dot(cross(w, r))});
  };
  return bring(3, outside) ? 4 : 3;
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
