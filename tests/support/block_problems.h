// Block patterns like those of contact problems, and positive definite matrices on them. Used by tests and
// bench/.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "capstan/math/block_matrix.h"

namespace capstan {

// The contact graph of a pile of n equal spheres: centres on a jittered lattice that fills a cube, and the
// 3 n shortest distances (less for few bodies) as contacts, so that a body has about 6 neighbours. The bodies
// are numbered at random.
inline std::vector<std::array<int, 2>> pile_contacts(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> jitter(-0.25, 0.25);
  const int side = std::max(1, static_cast<int>(std::ceil(std::cbrt(n))));
  std::vector<Vec3> centres(n);
  for (int k = 0; k < n; ++k) {
    centres[k] = Vec3(k % side, k / side % side, k / side / side) +
                 Vec3(jitter(random), jitter(random), jitter(random));
  }
  std::shuffle(centres.begin(), centres.end(), random);
  std::vector<std::pair<double, std::array<int, 2>>> near;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      const double distance = (centres[i] - centres[j]).norm();
      if (distance < 1.7) near.push_back({distance, {i, j}});
    }
  }
  std::sort(near.begin(), near.end());
  near.resize(std::min(near.size(), static_cast<std::size_t>(3) * n));
  std::vector<std::array<int, 2>> pairs;
  for (const auto& [distance, pair] : near) pairs.push_back(pair);
  std::shuffle(pairs.begin(), pairs.end(), random);
  return pairs;
}

// H = diagonal blocks B B^T + s I, plus for every pair J^T J over both blocks, as contacts add: J is 3 x (n_i
// + n_j).
inline void fill_contact_matrix(const BlockPattern& pattern, double scale, unsigned seed, BlockMatrix* H) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto random_matrix = [&](int rows, int columns) {
    return MatX(MatX::NullaryExpr(rows, columns, [&] { return normal(random); }));
  };
  H->set_zero();
  const auto block = [&](int i, int j) {
    return Eigen::Map<MatX>(H->block(i, j), H->block_size(i), H->block_size(j));
  };
  for (int i = 0; i < H->num_blocks(); ++i) {
    const int n = H->block_size(i);
    const MatX B = random_matrix(n, n);
    block(i, i) += 0.1 * B * B.transpose() + MatX::Identity(n, n);
  }
  for (const auto& [a, b] : pattern.pairs) {
    const int i = std::max(a, b), j = std::min(a, b);
    if (i == j) continue;
    const MatX Ji = random_matrix(3, H->block_size(i)), Jj = random_matrix(3, H->block_size(j));
    block(i, i) += scale * Ji.transpose() * Ji;
    block(j, j) += scale * Jj.transpose() * Jj;
    block(i, j) += scale * Ji.transpose() * Jj;
  }
}

}  // namespace capstan
