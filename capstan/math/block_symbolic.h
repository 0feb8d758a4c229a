// Symbolic factorization: from an elimination order to supernodes, and where everything of a front lies.
//
// A front is a supernode's part of the factorization:
//
//            pivot columns   U
//   pivots [ L11                ]  padded to a multiple of kPad rows
//   rows   [ L21              U ]  padded likewise
//
// The panel [L11; L21] lies in the factor, column-major with leading dimension `panel_rows`. U (lower
// triangle, leading dimension `update_rows`) is handed to the parent and lies on one of two stacks, by the
// parity of the depth in the tree, so that a front and its children never share one and nothing is ever
// moved.
#pragma once

#include <vector>

#include "capstan/math/block_matrix.h"
#include "capstan/math/block_ordering.h"

namespace capstan {

inline constexpr int kPad = 4;  // rows; panels and updates are multiples of it, so kernels have no remainders
inline int padded(int n) {
  return (n + kPad - 1) / kPad * kPad;
}

enum class UpdatePlace : char { even_stack, odd_stack, kept };

struct Front {
  int parent = -1;
  bool frozen = false;  // so are all fronts below it: factored by factor_frozen()
  UpdatePlace place = UpdatePlace::even_stack;
  int pivot_start = 0;  // first row in the elimination order
  int num_pivots = 0;   // columns
  int num_updates = 0;  // rows below them
  int pivot_rows = 0;   // padded(num_pivots)
  int update_rows = 0;  // padded(num_updates)
  int panel_rows = 0;   // pivot_rows + update_rows
  long panel = 0;       // where the panel begins in the factor
  long update = 0;      // where U begins in its place
  int children = 0;     // [children, children_end) of SymbolicFactor::children
  int children_end = 0;
  int copies = 0;  // [copies, copies_end) of SymbolicFactor::copies
  int copies_end = 0;
  int runs = 0;  // [runs, runs_end) of SymbolicFactor::runs: how U goes into the parent
  int runs_end = 0;
  int rows = 0;  // [rows, rows_end) of SymbolicFactor::rows: where the rows of L21 lie in a vector
  int rows_end = 0;
};

// Copies one block of the matrix into the panel.
struct BlockCopy {
  int entry;          // of BlockMatrix
  int rows, columns;  // of the block as stored
  int row, column;    // in the panel
  bool transposed;
};

// Consecutive rows (and columns) of a child's U that are consecutive in the parent too.
struct UpdateRun {
  int from;  // in the child's U
  int to;    // in the parent: pivot if below num_pivots of the parent, else num_pivots + row of its U
  int length;
};

// Consecutive rows of L21 that are consecutive in the elimination order too.
struct RowRun {
  int from;  // in L21
  int to;    // in the vector
  int length;
};

struct SymbolicFactor {
  std::vector<Front> fronts;  // children before parents
  std::vector<int> children;  // by number of front
  std::vector<BlockCopy> copies;
  std::vector<UpdateRun> runs;
  std::vector<RowRun> rows;
  std::vector<int> block_order;                 // [blocks] in the order of elimination
  std::vector<int> block_start;                 // [blocks] first row of a block in the elimination order
  std::vector<std::array<int, 3>> permutation;  // (row in x, row in the order, length), coalesced
  long factor_size = 0, even_size = 0, odd_size = 0, kept_size = 0;
  long factor_values = 0;
  int largest_update = 0;                                               // rows, padded
  double flops = 0, frozen_flops = 0, seconds = 0, frozen_seconds = 0;  // predicted
};

// The graph of a matrix, with the entry of each edge.
struct MatrixGraph : BlockGraph {
  std::vector<int> entry;  // [neighbours]
};
void make_graph(const BlockMatrix& matrix, MatrixGraph* graph);

// Scratch memory is kept; it grows only.
class SymbolicAnalysis {
 public:
  void run(const BlockMatrix& matrix, const MatrixGraph& graph, const std::vector<int>& order,
           SymbolicFactor* result);

  // The graph of what the frozen blocks leave behind: vertices are the blocks of stage 1 in the order of
  // `blocks`.
  void reduced_graph(const MatrixGraph& graph, const SymbolicFactor& symbolic, BlockGraph* reduced,
                     std::vector<int>* blocks);

 private:
  void make_elimination_tree(const MatrixGraph& graph, const std::vector<int>& order);
  void merge_supernodes(const BlockMatrix& matrix, const MatrixGraph& graph, const std::vector<int>& order);
  void number_fronts(const BlockMatrix& matrix, const MatrixGraph& graph, SymbolicFactor* result);
  void place_rows(const BlockMatrix& matrix, SymbolicFactor* result);
  void place_blocks(const BlockMatrix& matrix, const MatrixGraph& graph, SymbolicFactor* result);
  void place_updates(SymbolicFactor* result);

  std::vector<int> position_;  // [blocks] in the order given
  std::vector<char> frozen_;   // [positions] the block and all its descendants in the tree are frozen
  std::vector<int> parent_, ancestor_;      // elimination tree over positions
  std::vector<int> struct_start_, struct_;  // rows of each column, as positions, unsorted
  std::vector<int> first_child_, last_child_, next_child_, mark_;
  std::vector<int> first_member_, last_member_, next_member_;  // positions of a supernode
  std::vector<int> pivots_, updates_;                          // rows of each supernode
  std::vector<int> stack_, front_of_, number_of_, row_start_, row_block_, offset_;
};

}  // namespace capstan
