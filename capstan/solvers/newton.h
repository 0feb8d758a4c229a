// The convex problem of a step by Newton's method with exact line search (sap.txt IV).
//
//   H dv = -grad,   grad = A (v - v*) - J^T gamma(v),   H = A + J^T G(v) J,   v <- v + alpha dv
//
// Each island is solved apart. All contacts of one pair of links are summed to a 6-vector of impulse and a
// 6x6 Hessian before a Jacobian is applied. alpha is the root of the directional derivative, found by Newton
// with bisection as its safeguard; an evaluation costs O(contacts). Stops when the scaled momentum residual
// is small (eq. 26):
//
//   |D grad| <= eps_a + eps_r max(|D A v|, |D J^T gamma|),   D = diag(A)^-1/2
//
// The cost falls at every iteration. Starts from the better of v0 and v*.
#pragma once

#include <memory>
#include <vector>

#include "capstan/base/parallel.h"
#include "capstan/problem/problem.h"
#include "capstan/solvers/report.h"

namespace capstan {

struct NewtonOptions {
  double relative_tolerance = 1e-5;   // eps_r
  double absolute_tolerance = 1e-16;  // eps_a [sqrt(J)]
  int max_iterations = 100;
};

// The answer, and memory that solves of one model reuse.
struct NewtonWorkspace {
  VecX v;                           // [dofs] the solution
  std::vector<Vec3> impulse;        // [contacts] gamma in the contact frame, on b from a [N s]
  std::vector<double> law_impulse;  // [scalar laws]
  std::vector<double> dof_impulse;  // [dof laws] along the law's own direction

  struct Solvers;
  std::shared_ptr<Solvers> solvers;
};
NewtonWorkspace make_newton_workspace(const Model& model);

// Islands are solved on all `threads`; the answer has the same bits for any number of them.
SolverReport solve_newton(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace);
inline SolverReport solve_newton(const Problem& problem, const NewtonOptions& options,
                                 NewtonWorkspace* workspace) {
  return solve_newton(problem, options, Threads(1), workspace);
}

}  // namespace capstan
