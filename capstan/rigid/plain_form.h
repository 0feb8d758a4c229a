// A problem with bounds as a plain one: z = c + B x, x >= 0.
//
//   lower only     z = lower + x
//   upper only     z = upper - x
//   both           z = lower + x, and a row more: 0 <= s _|_ upper - lower - x >= 0, with w_x = B^T w + s
//   neither        z = x+ - x-: w_x+ = w, w_x- = -w, both >= 0
//   equal ones     z = lower
//
// Limits: semidefinite M stays semidefinite, copositive-plus rows without bounds of their own stay so; size
// at most 2 n.
#pragma once

#include "capstan/rigid/lcp.h"

namespace capstan {

struct PlainForm {
  LcpProblem problem;  // of (x, s)
  MatX B;              // [n, size of x]
  VecX c;              // [n]

  VecX restore(const VecX& x_and_s) const { return c + B * x_and_s.head(B.cols()); }
};

PlainForm make_plain_form(const LcpProblem& problem);

}  // namespace capstan
