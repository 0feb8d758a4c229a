#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace capstan {

// Sets of the numbers 0 ... n - 1 that grow together; each is named by its lowest member. Keeps its memory.
class UnionFind {
 public:
  void reset(int n) {  // each alone
    parent_.resize(n);
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

}  // namespace capstan
