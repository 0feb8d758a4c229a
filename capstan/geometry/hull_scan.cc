#include "capstan/geometry/hull_scan.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "capstan/math/clones.h"

namespace capstan {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// Unit vectors of the directions in x-y.
struct Directions {
  std::array<double, kScanDirections> x, y;
  Directions() {
    for (int k = 0; k < kScanDirections; ++k) {
      x[k] = std::cos(k * 2 * std::numbers::pi / kScanDirections);
      y[k] = std::sin(k * 2 * std::numbers::pi / kScanDirections);
    }
  }
};
const Directions kDirections;

}  // namespace

// Four maxima at a time, so that no comparison waits for the one before.
int nearest_face(const ConvexHull& hull, const Vec3& p) {
  const int n = static_cast<int>(hull.faces.size());
  std::array<double, 4> most = {kNone, kNone, kNone, kNone};
  std::array<int, 4> best = {0, 0, 0, 0};
  const auto look_at = [&](int face, int lane) CAPSTAN_INLINE {
    const ConvexHull::Face& f = hull.faces[face];
    const double s = f.normal.dot(p) - f.offset;
    best[lane] = s > most[lane] ? face : best[lane];
    most[lane] = s > most[lane] ? s : most[lane];
  };
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int lane = 0; lane < 4; ++lane) look_at(i + lane, lane);
  }
  for (; i < n; ++i) look_at(i, i % 4);
  int lane = 0;
  for (int k = 1; k < 4; ++k) {
    if (most[k] > most[lane] || (most[k] == most[lane] && best[k] < best[lane])) lane = k;
  }
  return best[lane];
}

int find_vertices_above(const ConvexHull& hull, const Transform& X, double lowest, int capacity,
                        int* vertices) {
  const Vec3 up = X.R.row(2);
  const double p = X.p.z();
  const int n = static_cast<int>(hull.vertices.size());
  int count = 0;
  for (int i = 0; i < n; ++i) {
    if (!(up.dot(hull.vertices[i]) + p >= lowest)) continue;
    if (count < capacity) vertices[count] = i;
    ++count;
  }
  return count;
}

CAPSTAN_CLONES std::array<int, kScanDirections + 1> find_outermost_vertices(const ConvexHull& hull,
                                                                            const Transform& X,
                                                                            double lowest) {
  constexpr int kFours = kScanDirections / 4;
  Four dx[kFours], dy[kFours], most[kFours], best[kFours];
  for (int k = 0; k < kFours; ++k) {
    dx[k] = *reinterpret_cast<const Four*>(kDirections.x.data() + 4 * k);
    dy[k] = *reinterpret_cast<const Four*>(kDirections.y.data() + 4 * k);
    most[k] = Four{} + kNone;
    best[k] = Four{} - 1.0;
  }
  double highest = kNone;
  int top = -1;
  const double* R = X.R.data();  // by columns
  const int n = static_cast<int>(hull.vertices.size());
  for (int i = 0; i < n; ++i) {
    const double* v = hull.vertices[i].data();
    const double z = R[2] * v[0] + R[5] * v[1] + R[8] * v[2] + X.p[2];
    if (z < lowest) continue;
    const double x = R[0] * v[0] + R[3] * v[1] + R[6] * v[2] + X.p[0];
    const double y = R[1] * v[0] + R[4] * v[1] + R[7] * v[2] + X.p[1];
    const double index = i;
    for (int k = 0; k < kFours; ++k) {
      const Four reach = dx[k] * x + dy[k] * y;
      best[k] = reach > most[k] ? Four{} + index : best[k];
      most[k] = reach > most[k] ? reach : most[k];
    }
    if (z > highest) {
      highest = z;
      top = i;
    }
  }
  std::array<int, kScanDirections + 1> found;
  for (int k = 0; k < kScanDirections; ++k) found[k] = static_cast<int>(best[k / 4][k % 4]);
  found[kScanDirections] = top;
  return found;
}

}  // namespace capstan
