// The problem of a SAP step as a conic program, its file, and a plain interior-point method for it.
//
//   min over v, gamma  1/2 |v - v*|^2_A + 1/2 gamma^T R gamma
//   subject to         g_i = J_i v - v_hat_i + R_i gamma_i  in the dual cone  { mu |g_t| <= g_n } (SAP
//   eq. 19)
//
// The file is text, numbers separated by blanks or line ends, matrices row by row, indices from 0:
//
//   capstan-conic-problem 1
//   <dofs> <blocks of A> <contacts>
//   block   <first dof> <size n>  <n n numbers>                       for each block on the diagonal of A
//   v_star  <dofs numbers>
//   v0      <dofs numbers>                                            velocities before the step
//   contact <mu> <R_t> <R_n> <v_hat_n> <parts>                        for each contact, and for each of its
//   parts part    <first dof> <size n>  <3 n numbers: J, rows t1 t2 n>
#pragma once

#include <string>
#include <vector>

#include "experiments/simulation.h"

namespace capstan::experiments {

struct ConicProblem {
  struct Part {
    int block = 0;
    MatX J;  // 3 x dofs of the block, rows t1, t2, n
  };
  struct ContactRow {
    double mu = 1;
    Vec3 R = Vec3::Ones();
    double v_hat = 0;  // normal; the tangential ones are 0
    std::vector<Part> parts;
  };
  std::vector<MatX> A;     // diagonal blocks
  std::vector<int> start;  // [blocks + 1] first dof
  VecX v_star, v0;
  std::vector<ContactRow> contacts;
};

// Of a problem with the law sap, and contacts between objects. Laws of single dofs (drives, limits) become
// what they are near `answer`: quadratics with the same impulse and stiffness there, so that the minimum
// stays.
ConicProblem conic_problem(const Problem& problem, const VecX& answer);
// Of a problem that has none of those.
ConicProblem conic_problem(const Problem& problem);
void save(const ConicProblem& problem, const std::string& path);

struct ConicAnswer {
  VecX v;
  std::vector<Vec3> gamma;
  int iterations = 0;
  bool converged = false;
};

struct ConicErrors {
  double momentum = 0;         // e_m (SAP eq. 32)
  double complementarity = 0;  // e_mu (eq. 33)
};
ConicErrors errors(const ConicProblem& problem, const ConicAnswer& answer);

// Primal-dual path following with Nesterov-Todd scaling and Mehrotra's corrector (as in CVXOPT's coneqp:
// Andersen, Dahl, Vandenberghe). Each iteration factors A + J^T (R + W^2)^-1 J with the block Cholesky that
// the Newton solver uses too, so that the two differ in the method, not in the linear algebra. Starts cold,
// as such methods do.
ConicAnswer solve_interior_point(const ConicProblem& problem, double tolerance);

// Newton's method, warm, and the interior-point method on the same problems.
struct SolverComparison {
  int samples = 0, unsolved = 0;           // unsolved: by the interior-point method
  double newton_time = 0, conic_time = 0;  // [s] of the processor, of those that are solved
  double newton_iterations = 0, conic_iterations = 0;
  double worst_momentum = 0;  // e_m of the interior-point method
  double worst_cost = 0;      // the larger of the two answers' costs over the smaller, less 1
  double ratio() const { return conic_time / newton_time; }
  int solved() const { return samples - unsolved; }
};

// Adds the problem of the last step.
void compare_solvers(const Simulation& simulation, double conic_tolerance, SolverComparison* sum);

}  // namespace capstan::experiments
