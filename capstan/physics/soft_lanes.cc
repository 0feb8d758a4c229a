#include "capstan/physics/soft_lanes.h"

#include <cmath>

#include "capstan/math/lanes.h"

namespace capstan {
namespace {

using Vector = SoftLanes::Vector;
using Matrix = Four[3][3];  // [row][column]

constexpr int kMostLaneSteps = 20;
constexpr double kLaneConverged = 1e-15, kHardlyTurnedLane = 1e-3;  // as in nearest_rotation()

CAPSTAN_INLINE inline void calc_deformation(const Vector (&x)[4], const Vector (&g)[4], Matrix* F) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      (*F)[i][j] = (x[0][i] * g[0][j] + x[1][i] * g[1][j]) + (x[2][i] * g[2][j] + x[3][i] * g[3][j]);
  }
}

CAPSTAN_INLINE inline void calc_lane_cofactor(const Matrix& F, Matrix* C) {
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      (*C)[i][j] = F[i1][j1] * F[i2][j2] - F[i1][j2] * F[i2][j1];
    }
  }
}

// nearest_rotation() of each.
CAPSTAN_INLINE inline void find_rotations(const Matrix& F, Matrix* rotations) {
  Matrix C;
  calc_lane_cofactor(F, &C);
  const Four det = F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2];
  Four squares = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) squares += F[i][j] * F[i][j];
  }
  Matrix& R = *rotations;
  Four scale;
  gather(
      [&](int k) CAPSTAN_INLINE {
        const bool is_plain = det[k] > kHardlyTurnedLane * squares[k] * std::sqrt(squares[k]);
        return is_plain ? 1 / std::cbrt(det[k]) : 0.0;
      },
      &scale);
  const bool all_plain = !any(!(scale > 0));
  const Four one = {1, 1, 1, 1}, half = 0.5 * one;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) R[i][j] = scale > 0 ? F[i][j] * scale : (i == j ? one : Four{});
  }
  for (int k = 0; k < kMostLaneSteps; ++k) {
    calc_lane_cofactor(R, &C);
    const Four inverse = one / (R[0][0] * C[0][0] + R[0][1] * C[0][1] + R[0][2] * C[0][2]);
    Four change = {};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const Four next = half * (R[i][j] + C[i][j] * inverse);
        change += (next - R[i][j]) * (next - R[i][j]);
        R[i][j] = next;
      }
    }
    if (!any(change >= kLaneConverged)) break;
  }
  for (int k = 0; k < 4 && !all_plain; ++k) {
    if (scale[k] > 0) continue;
    Mat3 single;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) single(i, j) = F[i][j][k];
    }
    const Mat3 found = nearest_rotation(single);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) R[i][j][k] = found(i, j);
    }
  }
}

// sum += factor (sym(R^T F) - 1), of whose six numbers those below the diagonal are used.
CAPSTAN_INLINE inline void add_strain(const Matrix& R, const Matrix& F, double factor, Matrix* sum) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) {
      const Four ij = R[0][i] * F[0][j] + R[1][i] * F[1][j] + R[2][i] * F[2][j];
      const Four ji = R[0][j] * F[0][i] + R[1][j] * F[1][i] + R[2][j] * F[2][i];
      const double off = i == j ? 2 : 0;
      (*sum)[i][j] += (0.5 * factor) * (ij + ji - off);
    }
  }
}

}  // namespace

CAPSTAN_CLONES void calc_soft_lanes(const SoftLaneStep& step, bool wants_blocks, SoftLanes* lanes) {
  const Vector(&G)[4] = lanes->gradients;
  Matrix F, F0, R0, R, T = {};
  calc_deformation(lanes->before, G, &F0);
  calc_deformation(lanes->x, G, &F);
  find_rotations(F0, &R0);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      R[i][j] = step.spin(i, 0) * R0[0][j] + step.spin(i, 1) * R0[1][j] + step.spin(i, 2) * R0[2][j];
  }
  add_strain(R, F, 1 + step.damping, &T);
  if (step.damping > 0) add_strain(R0, F0, -step.damping, &T);
  const double mu = step.lame.mu, lambda = step.lame.lambda;
  const Four pressure = lambda * (T[0][0] + T[1][1] + T[2][2]);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) {
      T[i][j] *= 2 * mu;
      if (i == j) T[i][i] += pressure;
      T[j][i] = T[i][j];
    }
  }
  const Four weight = step.push * lanes->weight;
  Vector g[4];  // turned gradients
  for (int a = 0; a < 4; ++a) {
    Vector f;
    for (int i = 0; i < 3; ++i) f[i] = weight * (T[i][0] * G[a][0] + T[i][1] * G[a][1] + T[i][2] * G[a][2]);
    for (int i = 0; i < 3; ++i) {
      lanes->push[a][i] = R[i][0] * f[0] + R[i][1] * f[1] + R[i][2] * f[2];
      g[a][i] = R[i][0] * G[a][0] + R[i][1] * G[a][1] + R[i][2] * G[a][2];
    }
  }
  if (!wants_blocks) return;
  const Four factor = step.block * lanes->weight;
  for (int a = 0; a < 4; ++a) {
    Vector mu_a, lambda_a;
    for (int i = 0; i < 3; ++i) {
      const Four scaled = factor * g[a][i];
      mu_a[i] = mu * scaled;
      lambda_a[i] = lambda * scaled;
    }
    for (int b = 0; b <= a; ++b) {
      const Four along = mu_a[0] * g[b][0] + mu_a[1] * g[b][1] + mu_a[2] * g[b][2];
      Four* const K = lanes->blocks[a * (a + 1) / 2 + b];
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 3; ++i) {
          const Four ij = lambda_a[i] * g[b][j] + g[b][i] * mu_a[j];
          K[3 * j + i] = i == j ? ij + along : ij;
        }
      }
    }
  }
}

}  // namespace capstan
