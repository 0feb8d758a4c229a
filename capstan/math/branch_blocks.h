// Cuts a kinematic tree into blocks along its branches, so that a block-sparse factorization sees that limbs
// are coupled through their trunk only.
//
// A block is an unbranched run of consecutive dofs: trunk, arm, leg. Blocks are coupled to the blocks on
// their way to the root and to no others; so is a constraint that acts on a block: its Jacobian reaches that
// block and its ancestors.
//
// Limits: a chain or a free body is one block; a root with n single joints on it is n + 1 blocks.
#pragma once

#include <vector>

#include "capstan/math/block_matrix.h"

namespace capstan {

struct BranchBlocks {
  std::vector<int> block;   // [dofs] which block a dof is in
  std::vector<int> start;   // [blocks + 1] first dof of each block
  std::vector<int> parent;  // [blocks] -1 for roots; parent[b] < b

  int num_blocks() const { return static_cast<int>(parent.size()); }
};

// parent[k] < k is the dof before dof k on the way to the root, or -1 (as in BranchPattern).
BranchBlocks make_branch_blocks(const std::vector<int>& parent);

// The blocks of the forest and the pairs within trees: a pattern for BlockCholesky without any constraint.
BlockPattern make_branch_block_pattern(const BranchBlocks& blocks);

// Adds the pairs of a constraint between blocks a and b (-1: none) with all their ancestors. Pairs within a
// tree are there already.
void add_branch_pairs(const BranchBlocks& blocks, int a, int b, BlockPattern* pattern);

}  // namespace capstan
