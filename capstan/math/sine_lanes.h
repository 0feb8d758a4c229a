// Sine and cosine of four angles at a time, for functions with CAPSTAN_CLONES. The result of a lane depends
// on no other lane; its error is below 1.8e-16 (tests/math/lanes_test.cc).
//
// x = n pi/2 + r with |r| <= pi/4, then Taylor's series of sin r and cos r, whose next terms, r^19/19! and
// r^18/18!, are below 3e-18. pi/2 is the sum of three numbers of 33 bits, and what is left of it is below
// 1e-31: n of up to 2^20 times these are exact, and so r is as good as x.
#pragma once

#include <cmath>

#include "capstan/math/lanes.h"

namespace capstan {

typedef long long FourWhole __attribute__((vector_size(32), may_alias, aligned(8)));

CAPSTAN_INLINE inline void calc_sine_and_cosine(const Four& x, Four* sine, Four* cosine) {
  constexpr double kTwoByPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e0p-69};
  constexpr double kWhole = 0x1.8p52;  // added to a number, it leaves the nearest whole one in the last bits
  constexpr double kLargest = 0x1p19;  // whose n is below 2^20
  const Four shifted = x * kTwoByPi + kWhole;
  const Four n = shifted - kWhole;
  const Four r = ((x - n * kHalfPi[0]) - n * kHalfPi[1]) - n * kHalfPi[2];
  const Four z = r * r;
  constexpr double kSine[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
                              -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  constexpr double kCosine[] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,          1.0 / 40320,
                                -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200., 1.0 / 20922789888e3};
  Four s = kSine[7] + Four{}, c = kCosine[7] + Four{};
  for (int i = 6; i >= 0; --i) {
    s = s * z + kSine[i];
    c = c * z + kCosine[i];
  }
  s = r + (r * z) * s;
  c = 1 + z * c;
  // A quarter turn makes the one the other, half a turn changes the signs.
  const FourWhole quarters = reinterpret_cast<const FourWhole&>(shifted);
  const FourWhole is_odd = -(quarters & 1);
  const FourWhole bits_s = reinterpret_cast<const FourWhole&>(s),
                  bits_c = reinterpret_cast<const FourWhole&>(c);
  const FourWhole sine_bits = ((bits_c & is_odd) | (bits_s & ~is_odd)) ^ ((quarters & 2) << 62);
  const FourWhole cosine_bits = ((bits_s & is_odd) | (bits_c & ~is_odd)) ^ (((quarters + 1) & 2) << 62);
  *sine = reinterpret_cast<const Four&>(sine_bits);
  *cosine = reinterpret_cast<const Four&>(cosine_bits);
  if (!any(!(x * x < kLargest * kLargest))) return;
  for (int lane = 0; lane < 4; ++lane) {
    if (std::abs(x[lane]) < kLargest) continue;
    (*sine)[lane] = std::sin(x[lane]);
    (*cosine)[lane] = std::cos(x[lane]);
  }
}

}  // namespace capstan
