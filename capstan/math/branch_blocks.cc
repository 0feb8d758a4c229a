#include "capstan/math/branch_blocks.h"

#include "capstan/base/diagnostics.h"

namespace capstan {

BranchBlocks make_branch_blocks(const std::vector<int>& parent) {
  const int n = static_cast<int>(parent.size());
  std::vector<int> children(n, 0);
  for (int k = 0; k < n; ++k) {
    CAPSTAN_ASSERT(parent[k] >= -1 && parent[k] < k);
    if (parent[k] >= 0) ++children[parent[k]];
  }
  BranchBlocks blocks;
  blocks.block.resize(n);
  for (int k = 0; k < n; ++k) {
    const int p = parent[k];
    if (p < 0 || p != k - 1 || children[p] > 1) {
      blocks.start.push_back(k);
      blocks.parent.push_back(p < 0 ? -1 : blocks.block[p]);
    }
    blocks.block[k] = blocks.num_blocks() - 1;
  }
  blocks.start.push_back(n);
  return blocks;
}

BlockPattern make_branch_block_pattern(const BranchBlocks& blocks) {
  BlockPattern pattern;
  for (int b = 0; b < blocks.num_blocks(); ++b) {
    pattern.sizes.push_back(blocks.start[b + 1] - blocks.start[b]);
    for (int a = blocks.parent[b]; a >= 0; a = blocks.parent[a]) pattern.pairs.push_back({b, a});
  }
  return pattern;
}

void add_branch_pairs(const BranchBlocks& blocks, int a, int b, BlockPattern* pattern) {
  for (int i = a; i >= 0; i = blocks.parent[i]) {
    for (int j = b; j >= 0; j = blocks.parent[j]) {
      if (i != j) pattern->pairs.push_back({i, j});
    }
  }
}

}  // namespace capstan
