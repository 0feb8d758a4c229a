// Products with the Jacobians of constraint groups, the inner loops of every iteration: a group has up to six
// rows and acts on a few blocks, nearly all of them free bodies of six dofs. To be inlined into functions
// that are compiled for several processors (math/clones.h).
#pragma once

#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"

namespace capstan {

// Jacobians of a free body have six rows, those of larger trees whole fours, of which the last end with
// zeros.
constexpr int padded_size(int dofs) {
  return dofs == 6 ? 6 : (dofs + 3) / 4 * 4;
}
CAPSTAN_INLINE inline Four& four(double* x) {
  return *reinterpret_cast<Four*>(x);
}
CAPSTAN_INLINE inline const Four& four(const double* x) {
  return *reinterpret_cast<const Four*>(x);
}
CAPSTAN_INLINE inline Two& two(double* x) {
  return *reinterpret_cast<Two*>(x);
}
CAPSTAN_INLINE inline const Two& two(const double* x) {
  return *reinterpret_cast<const Two*>(x);
}

// Below, J^T of a part is n x rows, its columns one after the other; n is padded_size(). Rows and N are the
// sizes where the compiler knows them, 0 where it does not: nearly all parts are of a free body (N = 6) and
// have the rows of one contact (3) or of several (6). x and y of larger trees are padded, too.
template <int Rows, int N>
CAPSTAN_INLINE inline void add_motion(const double* JT, int rows, int size, const double* x, double* u) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += JT[n * r + i] * x[i];
      u[r] += sum;
    }
  } else {
    Four sum[Rows > 0 ? Rows : 6] = {};
    for (int i = 0; i < n; i += 4) {
      for (int r = 0; r < R; ++r) sum[r] += four(JT + n * r + i) * four(x + i);
    }
    for (int r = 0; r < R; ++r) u[r] += sum_of(sum[r]);
  }
}

// The motions of a group whose trees are all free bodies.
template <int Rows, class F>
CAPSTAN_INLINE inline void calc_motion_of_bodies(int part_begin, int part_end, const F& part, double* u) {
  Four sum4[Rows] = {};
  Two sum2[Rows] = {};
  for (int p = part_begin; p < part_end; ++p) {
    const auto [JT, x] = part(p);
    const Four x4 = four(x);
    const Two x2 = two(x + 4);
    for (int r = 0; r < Rows; ++r) {
      sum4[r] += four(JT + 6 * r) * x4;
      sum2[r] += two(JT + 6 * r + 4) * x2;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    const Two sum = sum2[r] + __builtin_shufflevector(sum4[r], sum4[r], 0, 1) +
                    __builtin_shufflevector(sum4[r], sum4[r], 2, 3);
    u[r] = sum[0] + sum[1];
  }
}

template <int Rows, int N>
CAPSTAN_INLINE inline void add_impulse(const double* JT, int rows, int size, const double* f, double* y) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      for (int i = 0; i < n; ++i) y[i] += JT[n * r + i] * f[r];
    }
  } else {
    for (int i = 0; i < n; i += 4) {
      Four sum = four(y + i);
      for (int r = 0; r < R; ++r) sum += four(JT + n * r + i) * f[r];
      four(y + i) = sum;
    }
  }
}

// The impulses f of a group on its trees, which are all free bodies.
template <int Rows, class F>
CAPSTAN_INLINE inline void add_impulse_on_bodies(int part_begin, int part_end, const F& part,
                                                 const double* f) {
  for (int p = part_begin; p < part_end; ++p) {
    const auto [JT, y] = part(p);
    Four y4 = four(y);
    Two y2 = two(y + 4);
    for (int r = 0; r < Rows; ++r) {
      y4 += four(JT + 6 * r) * f[r];
      y2 += two(JT + 6 * r + 4) * f[r];
    }
    four(y) = y4;
    two(y + 4) = y2;
  }
}

// T = J^T G, n x rows; G has the leading dimension 6 and is symmetric.
template <int Rows, int N>
CAPSTAN_INLINE inline void multiply_hessian(const double* JT, int rows, int size, const double* G,
                                            double* T) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      Four t4 = {};
      Two t2 = {};
      for (int s = 0; s < R; ++s) {
        t4 += four(JT + 6 * s) * G[6 * r + s];
        t2 += two(JT + 6 * s + 4) * G[6 * r + s];
      }
      four(T + 6 * r) = t4;
      two(T + 6 * r + 4) = t2;
    }
  } else {
    for (int i = 0; i < n; i += 4) {
      Four J[Rows > 0 ? Rows : 6];
      for (int r = 0; r < R; ++r) J[r] = four(JT + n * r + i);
      for (int r = 0; r < R; ++r) {
        Four sum = {};
        for (int s = 0; s < R; ++s) sum += J[s] * G[6 * r + s];
        four(T + n * r + i) = sum;
      }
    }
  }
}

// block += Ja^T Tb^T; the block is that of two whole trees and has `height` rows. Of larger trees only the
// columns dofs_b, since the others of Tb are zero, and if kLower the lower triangle (with some of the upper).
template <int Rows, int N, bool kLower>
CAPSTAN_INLINE inline void add_product(const double* JaT, int na, const double* Tb, int nb, const int* dofs_b,
                                       int num_b, int rows, double* block, int height) {
  const int R = Rows > 0 ? Rows : rows;
  if constexpr (N > 0) {
    for (int k = 0; k < 6; ++k) {
      if (!kLower || k < 4) {
        Four sum = four(block + 6 * k);
        for (int r = 0; r < R; ++r) sum += four(JaT + 6 * r) * Tb[6 * r + k];
        four(block + 6 * k) = sum;
      }
      Two sum = two(block + 6 * k + 4);
      for (int r = 0; r < R; ++r) sum += two(JaT + 6 * r + 4) * Tb[6 * r + k];
      two(block + 6 * k + 4) = sum;
    }
  } else {
    if (height < 4) {
      for (int b = 0; b < num_b; ++b) {
        double* column = block + height * dofs_b[b];
        for (int i = 0; i < height; ++i) {
          for (int r = 0; r < R; ++r) column[i] += JaT[na * r + i] * Tb[nb * r + dofs_b[b]];
        }
      }
      return;
    }
    const int over = height % 4;
    const Four first = {1, over > 1 ? 1.0 : 0, over > 2 ? 1.0 : 0, 0};  // those that no other four has
    for (int b = 0; b < num_b; b += 2) {  // two columns for each time that J is loaded
      const bool two = b + 1 < num_b;
      const int k = dofs_b[b], l = two ? dofs_b[b + 1] : k, top = kLower ? k : 0;
      double* x = block + static_cast<long>(height) * k;
      double* y = block + static_cast<long>(height) * l;
      double t[Rows > 0 ? Rows : 6] = {}, u[Rows > 0 ? Rows : 6] = {};
      for (int r = 0; r < R; ++r) t[r] = Tb[nb * r + k], u[r] = Tb[nb * r + l];
      int i = height - 4;
      for (; i >= 0 && i > top - 4; i -= 4) {  // from below, where all columns end
        Four sum = four(x + i), sum2 = four(y + i);
        for (int r = 0; r < R; ++r) {
          const Four J = four(JaT + na * r + i);
          sum += J * t[r];
          sum2 += J * u[r];
        }
        four(x + i) = sum;
        if (two) four(y + i) = sum2;
      }
      if (i <= top - 4 || over == 0) continue;
      Four sum = four(x), sum2 = four(y);
      for (int r = 0; r < R; ++r) {
        const Four J = four(JaT + na * r) * first;
        sum += J * t[r];
        sum2 += J * u[r];
      }
      four(x) = sum;
      if (two) four(y) = sum2;
    }
  }
}

// f<Fours>(i) for rows [i, i + 4 Fours), or with Fours = 0 for row i, such that each of n rows is in one or
// two.
template <class F>
CAPSTAN_INLINE inline void for_each_rows(int n, const F& f) {
  if (n >= 16) {
    for (int i = n - 16; i > 0; i -= 16) f.template operator()<4>(i);
    f.template operator()<4>(0);
  } else if (n >= 4) {
    for (int i = n - 4; i > 0; i -= 4) f.template operator()<1>(i);
    f.template operator()<1>(0);
  } else {
    for (int i = 0; i < n; ++i) f.template operator()<0>(i);
  }
}

// Calls f<Rows, N>() with the sizes as constants if they are the usual ones; N is 6 whenever all trees have
// six dofs, because those have no padding.
template <class F>
CAPSTAN_INLINE inline void with_sizes(int rows, bool free_bodies, const F& f) {
  if (free_bodies && rows == 3) {
    f.template operator()<3, 6>();
  } else if (free_bodies && rows == 6) {
    f.template operator()<6, 6>();
  } else if (free_bodies) {
    f.template operator()<0, 6>();
  } else if (rows == 3) {
    f.template operator()<3, 0>();
  } else if (rows == 6) {
    f.template operator()<6, 0>();
  } else {
    f.template operator()<0, 0>();
  }
}

// Calls f<Rows>() where all trees of a group are free bodies and its rows are as usual.
template <class F>
CAPSTAN_INLINE inline bool with_bodies(int rows, bool bodies, const F& f) {
  if (!bodies || (rows != 3 && rows != 6)) return false;
  if (rows == 3) {
    f.template operator()<3>();
  } else {
    f.template operator()<6>();
  }
  return true;
}

}  // namespace capstan
