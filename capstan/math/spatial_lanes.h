// Spatial algebra (math/spatial.h) of four trees at a time: every number is a Four, one tree in each lane.
// For functions with CAPSTAN_CLONES, into which all of this is inlined.
//
// The structures have the numbers of their plain twins in the same order, so that one function takes any of
// them, or arrays of them, from four places into lanes, and one takes them back.
#pragma once

#include <array>

#include "capstan/math/lanes.h"
#include "capstan/math/spatial.h"

namespace capstan {

struct alignas(32) Lanes1 {
  Four x;
};
// Copied one by one, and so are the others with their Lanes3: GCC 12 would copy halves of Fours, or with
// instructions for strings.
struct alignas(32) Lanes3 {  // Vec3
  Four x = {}, y = {}, z = {};
  CAPSTAN_INLINE Lanes3() {}
  CAPSTAN_INLINE Lanes3(const Four& x_, const Four& y_, const Four& z_) : x(x_), y(y_), z(z_) {}
  CAPSTAN_INLINE Lanes3(const Lanes3& a) : x(a.x), y(a.y), z(a.z) {}
  CAPSTAN_INLINE Lanes3& operator=(const Lanes3& a) {
    x = a.x, y = a.y, z = a.z;
    return *this;
  }
};
struct alignas(32) Lanes6 {  // Vec6
  Lanes3 angular, linear;    // of a force: moment, force
};
struct alignas(32) LanesFrame {  // Transform
  Lanes3 x, y, z, p;
};
struct alignas(32) LanesInertia {  // RigidInertia
  Four mass;
  Lanes3 h;
  Four xx, yy, zz, xy, xz, yz;
};

CAPSTAN_INLINE inline Lanes3 operator+(const Lanes3& a, const Lanes3& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
CAPSTAN_INLINE inline Lanes3 operator-(const Lanes3& a, const Lanes3& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
CAPSTAN_INLINE inline Lanes3 operator*(const Four& s, const Lanes3& a) {
  return {s * a.x, s * a.y, s * a.z};
}
CAPSTAN_INLINE inline Lanes3 operator*(double s, const Lanes3& a) {
  return {s * a.x, s * a.y, s * a.z};
}
CAPSTAN_INLINE inline Lanes3 cross(const Lanes3& a, const Lanes3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

CAPSTAN_INLINE inline Lanes6 operator+(const Lanes6& a, const Lanes6& b) {
  return {a.angular + b.angular, a.linear + b.linear};
}
CAPSTAN_INLINE inline Lanes6 operator*(const Four& s, const Lanes6& a) {
  return {s * a.angular, s * a.linear};
}
CAPSTAN_INLINE inline void dot(const Lanes6& a, const Lanes6& b, Four* sum) {
  *sum = (a.angular.x * b.angular.x + a.angular.y * b.angular.y + a.angular.z * b.angular.z) +
         (a.linear.x * b.linear.x + a.linear.y * b.linear.y + a.linear.z * b.linear.z);
}
CAPSTAN_INLINE inline Lanes6 cross_motion(const Lanes6& v, const Lanes6& m) {
  return {cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular)};
}
CAPSTAN_INLINE inline Lanes6 cross_force(const Lanes6& v, const Lanes6& f) {
  return {cross(v.angular, f.angular) + cross(v.linear, f.linear), cross(v.angular, f.linear)};
}

CAPSTAN_INLINE inline void add(const LanesInertia& a, LanesInertia* sum) {
  sum->mass += a.mass;
  sum->h = sum->h + a.h;
  sum->xx += a.xx, sum->yy += a.yy, sum->zz += a.zz, sum->xy += a.xy, sum->xz += a.xz, sum->yz += a.yz;
}
CAPSTAN_INLINE inline Lanes6 operator*(const LanesInertia& I, const Lanes6& v) {
  const Lanes3& w = v.angular;
  const Lanes3 turned = {I.xx * w.x + I.xy * w.y + I.xz * w.z, I.xy * w.x + I.yy * w.y + I.yz * w.z,
                         I.xz * w.x + I.yz * w.y + I.zz * w.z};
  return {turned + cross(I.h, v.linear), I.mass * v.linear - cross(I.h, w)};
}

// The vector whose components along the axes of the frame are a, the same in all lanes.
CAPSTAN_INLINE inline Lanes3 rotate(const LanesFrame& X, const double* a) {
  return a[0] * X.x + a[1] * X.y + a[2] * X.z;
}

// n numbers at each of four places to the lanes of n Fours.
CAPSTAN_INLINE inline void to_lanes(const std::array<const double*, 4>& from, int n, Four* lanes) {
  const auto four = [&](int lane, int i) CAPSTAN_INLINE -> const Four& {
    return *reinterpret_cast<const Four*>(from[lane] + i);
  };
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const Four a = __builtin_shufflevector(four(0, i), four(1, i), 0, 4, 2, 6);
    const Four b = __builtin_shufflevector(four(0, i), four(1, i), 1, 5, 3, 7);
    const Four c = __builtin_shufflevector(four(2, i), four(3, i), 0, 4, 2, 6);
    const Four d = __builtin_shufflevector(four(2, i), four(3, i), 1, 5, 3, 7);
    lanes[i] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    lanes[i + 1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    lanes[i + 2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    lanes[i + 3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  }
  for (; i < n; ++i) lanes[i] = Four{from[0][i], from[1][i], from[2][i], from[3][i]};
}

// And back, to those of the places that are not null.
CAPSTAN_INLINE inline void from_lanes(const Four* lanes, int n, const std::array<double*, 4>& to) {
  const auto store_fours = [&](const auto& store_four) CAPSTAN_INLINE {
    for (int i = 0; i + 4 <= n; i += 4) {
      const Four a = __builtin_shufflevector(lanes[i], lanes[i + 1], 0, 4, 2, 6);
      const Four b = __builtin_shufflevector(lanes[i], lanes[i + 1], 1, 5, 3, 7);
      const Four c = __builtin_shufflevector(lanes[i + 2], lanes[i + 3], 0, 4, 2, 6);
      const Four d = __builtin_shufflevector(lanes[i + 2], lanes[i + 3], 1, 5, 3, 7);
      store_four(__builtin_shufflevector(a, c, 0, 1, 4, 5), to[0], i);
      store_four(__builtin_shufflevector(b, d, 0, 1, 4, 5), to[1], i);
      store_four(__builtin_shufflevector(a, c, 2, 3, 6, 7), to[2], i);
      store_four(__builtin_shufflevector(b, d, 2, 3, 6, 7), to[3], i);
    }
  };
  const auto store = [](const Four& x, double* place, int i)
                         CAPSTAN_INLINE { *reinterpret_cast<Four*>(place + i) = x; };
  if (to[0] != nullptr && to[1] != nullptr && to[2] != nullptr && to[3] != nullptr) {
    store_fours(store);
  } else {
    store_fours([&](const Four& x, double* place, int i) CAPSTAN_INLINE {
      if (place != nullptr) store(x, place, i);
    });
  }
  for (int i = n & ~3; i < n; ++i) {
    for (int lane = 0; lane < 4; ++lane) {
      if (to[lane] != nullptr) to[lane][i] = lanes[i][lane];
    }
  }
}

}  // namespace capstan
