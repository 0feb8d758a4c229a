// W = J A^-1 J^T of a whole problem, for solvers that work with impulses (projected Gauss-Seidel, ADMM,
// pivoting methods) and need nothing of the convex laws. Its rows are those of a rigid model:
//
//   contacts     three for each, in its frame (x, y, normal), in the order of Contacts
//   scalar laws  one for each, in the order of Problem::laws
//   dof laws     one for each, in the order of Problem::dof_laws
//
// What else a rigid model takes of a contact is in Contacts: gap, normal, material.
//
// Limits: no entry of W is stored. multiply() costs one solve with the factor of A for each object that is
// touched; block() one for each of its columns.
#pragma once

#include "capstan/problem/problem.h"

namespace capstan {

class DelassusOperator {
 public:
  explicit DelassusOperator(const Problem& problem);  // which must outlive it, and stay as it is

  int num_rows() const { return num_rows_; }
  int row_of_contact(int i) const { return 3 * i; }
  int row_of_law(int i) const { return 3 * num_contacts_ + i; }
  int row_of_dof_law(int i) const { return row_of_law(num_laws_) + i; }

  VecX multiply_J(const VecX& v) const;          // rows of J v: contact velocities without bias
  VecX multiply_JT(const VecX& impulses) const;  // generalized impulse [dofs]
  VecX multiply(const VecX& impulses) const;     // W x
  VecX velocity(const VecX& impulses) const;     // v* + A^-1 J^T x
  // W[rows, columns] of two contacts; and the diagonal one of each.
  Mat3 block(int contact, int other) const;
  std::vector<Mat3> diagonal_blocks() const;

 private:
  void add_JT(const ConstraintGroup& group, const Vec6& impulse, VecX* to) const;
  void solve_touched(VecX* x) const;

  const Problem& problem_;
  int num_contacts_ = 0, num_laws_ = 0, num_rows_ = 0;
  std::vector<int> group_of_contact_;
  std::vector<int> touched_;  // objects
};

}  // namespace capstan
