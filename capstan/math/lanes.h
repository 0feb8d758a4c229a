// Vectors of three in one register of four, whose last lane nobody looks at, or numbers of four contacts, for
// loops over many links, shapes or contacts in functions with CAPSTAN_CLONES. Everything here is inlined into
// its caller.
#pragma once

#include <cmath>

#include "capstan/math/clones.h"
#include "capstan/math/transform.h"

namespace capstan {

// Two halves: {x[0], x[1], x[2], 0} would go through the stack (GCC 12).
CAPSTAN_INLINE inline void load(const double* x, Four* lanes) {
  const Two low = *reinterpret_cast<const Two*>(x), high = {x[2], 0};
  *lanes = __builtin_shufflevector(low, high, 0, 1, 2, 3);
}
CAPSTAN_INLINE inline void store(const Four& lanes, double* x) {
  x[0] = lanes[0];
  x[1] = lanes[1];
  x[2] = lanes[2];
}

// f(0) to f(3).
template <class F>
CAPSTAN_INLINE inline void gather(const F& f, Four* lanes) {
  *lanes = Four{f(0), f(1), f(2), f(3)};
}
CAPSTAN_INLINE inline void square_root(const Four& x, Four* root) {
  *root = Four{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
}

// Whether a comparison of lanes holds for one of them.
template <class Mask>
CAPSTAN_INLINE inline bool any(const Mask& mask) {
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}

// (y, z, x), and (z, x, y).
#define CAPSTAN_YZX(a) __builtin_shufflevector(a, a, 1, 2, 0, 3)
#define CAPSTAN_ZXY(a) __builtin_shufflevector(a, a, 2, 0, 1, 3)

CAPSTAN_INLINE inline double dot(const Four& a, const Four& b) {
  const Four product = a * b;
  return product[0] + product[1] + product[2];
}

// c = a x b.
CAPSTAN_INLINE inline void cross(const Four& a, const Four& b, Four* c) {
  const Four turned = a * CAPSTAN_YZX(b) - CAPSTAN_YZX(a) * b;
  *c = CAPSTAN_YZX(turned);
}

// The axes and the origin of a frame.
struct Frame {
  Four x = {}, y = {}, z = {}, p = {};
};
CAPSTAN_INLINE inline void load(const Transform& X, Frame* frame) {
  load(X.R.data(), &frame->x);
  load(X.R.data() + 3, &frame->y);
  load(X.R.data() + 6, &frame->z);
  load(X.p.data(), &frame->p);
}
CAPSTAN_INLINE inline void store(const Frame& frame, Transform* X) {
  store(frame.x, X->R.data());
  store(frame.y, X->R.data() + 3);
  store(frame.z, X->R.data() + 6);
  store(frame.p, X->p.data());
}

// The vector whose components along the axes of the frame are a.
CAPSTAN_INLINE inline void rotate(const Frame& X, const double* a, Four* out) {
  *out = X.x * a[0] + X.y * a[1] + X.z * a[2];
}
// Likewise the columns of a 3 x 3 matrix, which may be written to the axes themselves.
CAPSTAN_INLINE inline void rotate(const Frame& X, const Mat3& A, Four* x, Four* y, Four* z) {
  const Frame before = X;
  rotate(before, A.data(), x);
  rotate(before, A.data() + 3, y);
  rotate(before, A.data() + 6, z);
}
// XY = X Y, which may be written to X.
CAPSTAN_INLINE inline void multiply(const Frame& X, const Transform& Y, Frame* XY) {
  XY->p = X.p + X.x * Y.p[0] + X.y * Y.p[1] + X.z * Y.p[2];
  rotate(X, Y.R, &XY->x, &XY->y, &XY->z);
}

}  // namespace capstan
