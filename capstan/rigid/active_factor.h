// Cholesky factorization L L^T of the rows and columns of a symmetric matrix that are active, when these come
// and go: O(k^2) for each, with k active.
//
// Limits: an index whose pivot (its Schur complement) is not above a bound depends on the active ones, and is
// refused. Source: Golub and Van Loan, Matrix Computations, section 12.5; removal by Givens rotations.
#pragma once

#include "capstan/math/types.h"

namespace capstan {

class ActiveFactor {
 public:
  int size() const { return size_; }
  // The new last index: its entries with the active ones [size] and with itself. False, and nothing done, if
  // its pivot is not above `smallest_pivot`.
  bool append(const VecX& column, double diagonal, double smallest_pivot);
  void remove(int position);
  VecX solve(const VecX& b) const;

 private:
  void reserve(int size);

  MatX L_;
  int size_ = 0;
};

}  // namespace capstan
