// Symmetric matrices with the sparsity of a tree, and their factorization without fill.
//
// Unknown k is coupled to its ancestors and descendants only (the mass matrix of a kinematic tree:
// Featherstone 2008, section 6). Row k stores the entries for its ancestors, root first, then the diagonal:
// the row of an ancestor is aligned with the beginning of row k, so that every inner loop is contiguous.
//
//   H = L^T D L,   L unit lower triangular with the pattern of H.
//
// Limits: a chain is a dense triangle; n free bodies are n diagonal 6x6 blocks.
#pragma once

#include <vector>

#include "capstan/math/types.h"

namespace capstan {

struct BranchPattern {
  std::vector<int> parent;     // of each unknown; -1 for roots; parent[k] < k
  std::vector<int> row_start;  // n + 1: where row k begins in `columns` and in the values
  std::vector<int> columns;    // ancestors of k from the root down, then k itself

  int size() const { return static_cast<int>(parent.size()); }
  int row_size(int k) const { return row_start[k + 1] - row_start[k]; }
  int num_values() const { return row_start.back(); }
};

BranchPattern make_branch_pattern(std::vector<int> parent);

// In place: values of H become those of L (off the diagonal) and D. Returns -1, or the unknown whose pivot is
// not above `smallest_pivot` (H is not positive definite).
int factor(const BranchPattern& pattern, double* values, double smallest_pivot = 0);
// The same for the unknowns [begin, end) of whole trees only; likewise below. Values, x and y still begin
// with unknown 0.
int factor(const BranchPattern& pattern, double* values, double smallest_pivot, int begin, int end);

// x = H^-1 x with a factored H.
void solve_in_place(const BranchPattern& pattern, const double* factored, double* x);
void solve_in_place(const BranchPattern& pattern, const double* factored, double* x, int begin, int end);

// x = D^-1/2 L^-T x with a factored H, for an x that is zero but for unknown k and its ancestors: x has these
// entries only, root first, and stays so. Then u^T H^-1 v is the dot product of two such vectors.
void half_solve_in_place(const BranchPattern& pattern, const double* factored, int k, double* x);

// y = H x with an unfactored H.
void multiply(const BranchPattern& pattern, const double* values, const double* x, double* y);
void multiply(const BranchPattern& pattern, const double* values, const double* x, double* y, int begin,
              int end);

// Rows and columns [begin, end) as a dense symmetric matrix.
void expand(const BranchPattern& pattern, const double* values, int begin, int end, Eigen::Ref<MatX> dense);

}  // namespace capstan
