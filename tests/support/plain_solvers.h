// Plain and slow solvers of a step's convex problem, for comparison with ours. They use dense matrices from
// point Jacobians and share no sums with the library's solver.
#pragma once

#include "capstan/contacts/contacts.h"
#include "capstan/problem/problem.h"

namespace capstan::test {

// A and the Jacobians of a problem of trees, dense: three rows for each contact, in its frame; one for each
// scalar law, then one for each dof law.
MatX dense_A(const Problem& problem);
MatX contact_rows(const Problem& problem, const Contacts& contacts);
MatX scalar_rows(const Problem& problem);

struct DualAnswer {
  VecX v;
  bool converged = false;
  int iterations = 0;
};

// Law sap, and every scalar law. The dual of the problem,
//
//   min over gamma in C   1/2 gamma^T (W + R) gamma + gamma^T (J v* - v_hat),   W = J A^-1 J^T,
//
// C a friction cone for each contact and an interval for each scalar law, by projected Gauss-Seidel: one
// contact or scalar at a time takes a gradient step and is projected. v = v* + A^-1 J^T gamma. Converged when
// a sweep changes v by less than `tolerance` of itself.
DualAnswer solve_dual(const Problem& problem, const Contacts& contacts, double tolerance, int most_sweeps);

// Any law; contacts only. BFGS with the cost and its gradient, line search by bisection on the slope.
// Converged when the momentum residual is below `tolerance`.
DualAnswer minimize_by_bfgs(const Problem& problem, const Contacts& contacts, double tolerance,
                            int most_iterations);

// |a - b| over |b|, both scaled by diag(A)^1/2 (square root of energy).
double scaled_distance(const Problem& problem, const VecX& a, const VecX& b);

}  // namespace capstan::test
