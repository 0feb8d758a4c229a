// The Hessian of a problem at its answer, factored: H = A + J^T G J with G = -dgamma/dv of every law there.
// By the implicit function theorem it is what derivatives of a step solve with: the answer moves by
// dv = H^-1 (A dv* + d(J^T gamma) at constant v). Islands that were solved without an iteration have it, too.
//
// Limits: with the law coulomb the bounds of friction are those that were found (set_bounds() in newton.h)
// and count as constant. What a step does after the optimum is not in H: see docs/architecture.md.
#pragma once

#include <memory>

#include "capstan/problem/problem.h"

namespace capstan {

class AnswerFactor {
 public:
  // At v, [dofs]. The problem and its motion must outlive the factor, and stay as they are.
  AnswerFactor(const Problem& problem, const VecX& v);
  ~AnswerFactor();
  AnswerFactor(AnswerFactor&&) noexcept;

  explicit operator bool() const;  // false: H is not positive definite to round-off

  // X <- H^-1 X, [dofs x any number of columns].
  void solve_in_place(Eigen::Ref<MatX> X) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace capstan
