// X H^-1 X^T for a matrix H with the sparsity of a tree (math/branch_matrix.h) and a few rows X, all at a
// time: half of a solve, L^-T X^T, and a product.
#pragma once

#include <span>

#include "capstan/math/branch_matrix.h"

namespace capstan {

// W += X H^-1 X^T with a factored H and X of 3 or 6 rows, stored as its columns, 4 or 8 numbers for each
// unknown, the first of them `first`; it is zero but for `unknowns`, in order, which are there with all their
// ancestors. Overwrites X. W has the rows of X, of 4 or 8 numbers.
void add_inverse_product(const BranchPattern& pattern, const double* factored, std::span<const int> unknowns,
                         int first, int rows, double* X, double* W);

// w += the diagonal of X H^-1 X^T, for X of up to 4 rows that is zero but for unknown k and its ancestors: 4
// numbers for each of these only, root first. Overwrites X.
void add_inverse_diagonal(const BranchPattern& pattern, const double* factored, int k, double* X, double* w);

}  // namespace capstan
