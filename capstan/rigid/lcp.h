// Linear complementarity problems, with bounds: for given M [n, n], q, lower <= upper find z with
//
//   lower <= z <= upper,   w = M z + q,   w_i >= 0 where z_i = lower_i,
//                                         w_i <= 0 where z_i = upper_i,
//                                         w_i  = 0 between.
//
// lower = 0, upper = inf is the plain problem 0 <= z _|_ M z + q >= 0; lower = -inf, upper = inf an equation.
// In contact z are impulses, w velocities, M = J A^-1 J^T. Nothing here knows of that.
//
// Limits: M positive definite has one answer; semidefinite (more contacts than dofs) one w, many z, or none
// at all where the problem is infeasible; any other M may have any number of answers.
//
// Sources: Cottle, Pang and Stone, The Linear Complementarity Problem, 1992; Andrews, Erleben and Ferguson,
// Contact and Friction Simulation for Computer Graphics, 2022, chapter 3. docs/solvers.md compares the
// solvers.
#pragma once

#include <string_view>
#include <vector>

#include "capstan/base/deadline.h"
#include "capstan/math/types.h"

namespace capstan {

struct LcpProblem {
  MatX M;             // [n, n]
  VecX q;             // [n]
  VecX lower, upper;  // [n], infinite where there is no bound

  int size() const { return static_cast<int>(q.size()); }
  bool is_plain() const;  // 0 and inf everywhere
};

LcpProblem make_plain_lcp(MatX M, VecX q);

enum class LcpStatus {
  solved,           // the natural residual is at the tolerance, or at what rounding leaves (rounding_floor)
  most_iterations,  // max_iterations were done
  ray_termination,  // no step is bounded: infeasible, or M is of no class that the method can solve
  cycled,           // index sets came again
  singular,         // a system of the method had no answer, or only one that rounding ruins
  stalled,          // no step makes the residual smaller
  unsuitable,       // not of the kind that the solver takes (LcpSolver); z is where it began
};
const char* name(LcpStatus status);

struct LcpOptions {
  double tolerance = 1e-10;                  // of natural_residual()
  int max_iterations = 0;                    // 0: 10000 sweeps, 200 Newton steps, 20 n + 100 pivots
  double relaxation = 0;                     // PSOR, Jacobi: factor of a step; 0: that of the method
  VecX start;                                // z where to begin [n], or empty. Lemke cannot use it
  std::vector<double>* residuals = nullptr;  // gets natural_residual() after each iteration
  const Deadline* deadline = nullptr;        // asked in each iteration; null: none
};

struct LcpResult {
  VecX z;  // always finite, whatever the status
  LcpStatus status = LcpStatus::most_iterations;
  int iterations = 0;   // pivots, sweeps or Newton steps
  double residual = 0;  // natural_residual(problem, z)
};

// What is measured: units of rows do not matter. With y = z / s, the scaled problem has M' = S M S with ones
// on the diagonal, q' = S q; for rows with M_ii = 0 the largest entry of the row is 1.
VecX lcp_scale(const LcpProblem& problem);  // s [n]

VecX calc_w(const LcpProblem& problem, const VecX& z);
// Largest component of y - mid(lower', upper', y - w') over that of q' and of w' at the point of the box
// nearest to zero. The same for all solvers: each is graded by it.
double natural_residual(const LcpProblem& problem, const VecX& z);
// What of natural_residual() the rounding of M z + q explains.
double rounding_floor(const LcpProblem& problem, const VecX& z);

// One line of the list of solvers.
struct LcpSolver {
  const char* name;  // as on a command line
  LcpResult (*solve)(const LcpProblem&, const LcpOptions&);
  bool takes_bounds;             // else plain problems only; at present all do
  bool needs_symmetric;          // and semidefinite
  bool needs_positive_diagonal;  // of M
  const char* summary;           // what it does, in a line
};
const std::vector<LcpSolver>& lcp_solvers();
const LcpSolver* find_lcp_solver(std::string_view name);  // or null
// What in the problem the solver does not take, with the remedy; or null.
const char* why_unsuitable(const LcpSolver& solver, const LcpProblem& problem);

LcpResult solve_lemke(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_murty(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_block_pivoting(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_incremental_pivoting(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_projected_jacobi(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_pgs(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_psor(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_symmetric_pgs(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_pgs_sm(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_nncg(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_minimum_map_newton(const LcpProblem& problem, const LcpOptions& options = {});
LcpResult solve_fischer_burmeister_newton(const LcpProblem& problem, const LcpOptions& options = {});

}  // namespace capstan
