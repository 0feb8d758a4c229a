// Random linear complementarity problems of every class, and their plain twin: all index sets, one after the
// other.
#pragma once

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "capstan/rigid/lcp.h"

namespace capstan {

using Random = std::mt19937;

inline double uniform(Random& random, double low = -1, double high = 1) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
inline int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline MatX random_matrix(Random& random, int rows, int columns) {
  MatX X(rows, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) X(i, j) = uniform(random);
  }
  return X;
}
inline VecX random_vector(Random& random, int n) {
  return random_matrix(random, n, 1).col(0);
}

inline LcpProblem random_definite(Random& random, int n) {
  const MatX J = random_matrix(random, n, n + 2);
  return make_plain_lcp(J * J.transpose(), random_vector(random, n));
}

// As contacts are: more rows than dofs, some rows the same as others, q = J v.
inline LcpProblem random_redundant(Random& random, int n) {
  const int m = pick(random, 1, std::max(1, n - 1));
  MatX J = random_matrix(random, n, m);
  if (n > 2) J.row(n - 1) = J.row(0);
  return make_plain_lcp(J * J.transpose(), J * random_vector(random, m));
}

// Semidefinite, solvable (q = w0 - M z0 with complementary w0, z0 >= 0), with zeros in both: degenerate.
inline LcpProblem random_degenerate(Random& random, int n) {
  LcpProblem problem = random_redundant(random, n);
  VecX z0 = VecX::Zero(n), w0 = VecX::Zero(n);
  for (int i = 0; i < n; ++i) {
    const int kind = pick(random, 0, 2);
    if (kind == 0) z0[i] = pick(random, 0, 2);
    if (kind == 1) w0[i] = pick(random, 0, 2);
  }
  problem.q = w0 - problem.M * z0;
  return problem;
}

// Two rows that oppose each other: w_0 = (...) - 1 and w_1 = -(...) - 1 cannot both be >= 0.
inline LcpProblem random_infeasible(Random& random, int n) {
  const int m = pick(random, 1, n);
  MatX J = random_matrix(random, n, m);
  J.row(1) = -J.row(0);
  VecX q = J * random_vector(random, m);
  q[0] -= 1;
  q[1] -= 1;
  return make_plain_lcp(J * J.transpose(), q);
}

// Boxes on each other: four contacts a face, so that of their 12 rows six are independent; friction between
// bounds that are given, some of them zero. Velocities q = J v can be undone, so there is an answer.
inline LcpProblem random_faces(Random& random, int boxes) {
  const int m = 6 * boxes, n = 12 * boxes;
  MatX J = MatX::Zero(n, m);
  VecX lower(n), upper(n);
  for (int face = 0; face < boxes; ++face) {  // between this box and the one below
    for (int corner = 0; corner < 4; ++corner) {
      const double x = corner % 2 == 0 ? -0.5 : 0.5, y = corner < 2 ? -0.5 : 0.5;
      const double bound = pick(random, 0, 3) == 0 ? 0 : uniform(random, 0, 0.5);
      for (int axis = 0; axis < 3; ++axis) {
        const int row = 12 * face + 3 * corner + axis;
        for (const int side : {0, 1}) {  // of this box the lower face, of that below the upper one
          if (face < side) continue;
          const double sign = side == 0 ? 1 : -1, z = side == 0 ? -0.5 : 0.5;
          const int at = 6 * (face - side);
          J(row, at + axis) = sign;
          const double arm[3] = {x, y, z};
          J(row, at + 3 + (axis + 1) % 3) = sign * arm[(axis + 2) % 3];
          J(row, at + 3 + (axis + 2) % 3) = -sign * arm[(axis + 1) % 3];
        }
        lower[row] = axis == 2 ? 0 : -bound;
        upper[row] = axis == 2 ? std::numeric_limits<double>::infinity() : bound;
      }
    }
  }
  VecX v = 0.3 * random_vector(random, m);
  for (int b = 0; b < boxes; ++b) v[6 * b + 2] -= 1;
  return {J * J.transpose(), J * v, lower, upper};
}

// The polyhedral friction of Stewart and Trinkle for one or two contacts in the plane: unknowns normal
// impulse, two tangential ones and the slip, for each: copositive-plus, not symmetric, zeros on the diagonal.
inline LcpProblem random_friction(Random& random, int contacts) {
  const int m = 3, n = 4 * contacts;
  MatX G = MatX::Zero(n, m), C = MatX::Zero(n, n);
  for (int c = 0; c < contacts; ++c) {
    G.row(4 * c) = random_vector(random, m).transpose();
    G.row(4 * c + 1) = random_vector(random, m).transpose();
    G.row(4 * c + 2) = -G.row(4 * c + 1);
    C(4 * c + 1, 4 * c + 3) = C(4 * c + 2, 4 * c + 3) = 1;
    C(4 * c + 3, 4 * c) = uniform(random, 0, 1);
    C(4 * c + 3, 4 * c + 1) = C(4 * c + 3, 4 * c + 2) = -1;
  }
  return make_plain_lcp(G * G.transpose() + C, G * random_vector(random, m));
}

// Bounds of every kind on a problem.
inline LcpProblem with_bounds(Random& random, LcpProblem problem, bool free_ones = true) {
  for (int i = 0; i < problem.size(); ++i) {
    switch (pick(random, 0, free_ones ? 5 : 4)) {
      case 0:
        break;
      case 1:
        problem.lower[i] = -uniform(random, 0, 1), problem.upper[i] = uniform(random, 0, 1);
        break;
      case 2:
        problem.lower[i] = uniform(random, -1, 0), problem.upper[i] = problem.lower[i] + 1;
        break;
      case 3:
        problem.lower[i] = -kInfinity, problem.upper[i] = uniform(random);
        break;
      case 4:
        problem.lower[i] = problem.upper[i] = uniform(random);
        break;
      default:
        problem.lower[i] = -kInfinity;
        break;
    }
  }
  return problem;
}

// The first index set that gives an answer, or none. 3^n systems.
inline std::optional<VecX> enumerate(const LcpProblem& p, double tolerance = 1e-9) {
  const int n = p.size();
  std::vector<int> side(static_cast<size_t>(n), 0);
  while (true) {
    VecX z = VecX::Zero(n);
    std::vector<int> F;
    bool valid = true;
    for (int i = 0; i < n; ++i) {
      if (side[i] == 1) {
        F.push_back(i);
      } else {
        z[i] = side[i] == 0 ? p.lower[i] : p.upper[i];
        valid &= std::isfinite(z[i]);
      }
    }
    if (valid && !F.empty()) {
      const VecX rest = (p.M * z + p.q)(F);
      const Eigen::FullPivLU<MatX> lu(p.M(F, F));
      const VecX z_F = lu.solve(-rest);
      valid = lu.rcond() > 1e-13;
      for (size_t k = 0; k < F.size(); ++k) z[F[k]] = z_F[static_cast<long>(k)];
    }
    if (valid) {
      const VecX w = p.M * z + p.q;
      for (int i = 0; i < n; ++i) {
        if (side[i] == 1) valid &= z[i] >= p.lower[i] - tolerance && z[i] <= p.upper[i] + tolerance;
        if (side[i] == 1) valid &= std::abs(w[i]) <= tolerance;  // else the system was all but singular
        if (p.lower[i] == p.upper[i]) continue;
        if (side[i] == 0) valid &= w[i] >= -tolerance;
        if (side[i] == 2) valid &= w[i] <= tolerance;
      }
      if (valid) return z;
    }
    int i = 0;
    while (i < n && side[i] == 2) side[i++] = 0;
    if (i == n) return std::nullopt;
    ++side[i];
  }
}

// A heap: `bodies` of 6 dofs, `contacts` rows each between two of them or the ground, in groups of four that
// are redundant, as a face on a face has; masses over `ratio`; q = J v + bias.
inline MatX heap_rows(Random& random, int bodies, int contacts) {
  MatX J = MatX::Zero(contacts, 6 * bodies);
  for (int c = 0; c < contacts; c += 4) {
    const int a = (c / 4) % bodies, b = pick(random, -1, bodies - 1);
    const Vec3 normal = random_vector(random, 3).normalized(),
               side = cross(normal, random_vector(random, 3)).normalized(), up = cross(normal, side),
               at = random_vector(random, 3);
    for (int k = 0; k < 4 && c + k < contacts; ++k) {
      const Vec3 p = at + (k % 2 == 0 ? 1 : -1) * side + (k / 2 == 0 ? 1 : -1) * up;
      J.block<1, 3>(c + k, 6 * a) = normal.transpose();
      J.block<1, 3>(c + k, 6 * a + 3) = cross(p, normal).transpose();
      if (b < 0 || b == a) continue;
      J.block<1, 3>(c + k, 6 * b) = -normal.transpose();
      J.block<1, 3>(c + k, 6 * b + 3) = -cross(p, normal).transpose();
    }
  }
  return J;
}

inline VecX heap_masses(Random& random, int bodies, double ratio) {
  VecX masses(6 * bodies);
  for (int b = 0; b < bodies; ++b)
    masses.segment<6>(6 * b).setConstant(std::pow(ratio, uniform(random, 0, 1)));
  return masses;
}

inline LcpProblem random_heap(Random& random, int bodies, int contacts, double ratio) {
  const MatX J = heap_rows(random, bodies, contacts);
  const VecX masses = heap_masses(random, bodies, ratio);
  return make_plain_lcp(J * masses.cwiseInverse().asDiagonal() * J.transpose(),
                        J * random_vector(random, 6 * bodies));
}

}  // namespace capstan
