// A random symmetric positive definite matrix with the sparsity of a random forest, packed and dense.
#pragma once

#include <random>
#include <vector>

#include "capstan/math/branch_matrix.h"

namespace capstan::test {

struct RandomForest {
  RandomForest(int n, std::mt19937* random) : dense(n, n) {
    std::vector<int> parent(n);
    for (int k = 0; k < n; ++k) parent[k] = std::uniform_int_distribution<int>(-1, k - 1)(*random);
    pattern = make_branch_pattern(parent);
    values.resize(pattern.num_values());
    for (double& x : values) x = std::uniform_real_distribution<double>(-1, 1)(*random);
    for (int k = 0; k < n; ++k) values[pattern.row_start[k + 1] - 1] += 2 * n;  // dominant
    expand(pattern, values.data(), 0, n, dense);
  }
  BranchPattern pattern;
  VecX values;
  MatX dense;
};

}  // namespace capstan::test
