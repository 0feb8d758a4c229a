// Solvers of RigidProblem, and the one table of which solver takes which model. All start from given impulses
// where the method allows it, stop at the residual that RigidProblem::calc_residual() tells, and say so when
// they did not get there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capstan/rigid/lcp.h"
#include "capstan/rigid/rigid_problem.h"

namespace capstan {

struct RigidResult {
  VecX x;  // impulses
  bool converged = false;
  int iterations = 0;  // sweeps over all blocks, products with W, pivots, Newton steps
  double residual = 0;
  std::vector<double> history;  // the residual, after every `history_step` iterations
  int history_step = 5;
};

struct RigidSolver {
  const char* name;
  const char* what;  // in a few words
  unsigned models;   // a bit for each RigidModel that it takes
  RigidResult (*function)(const RigidProblem& problem, const VecX& start);  // or null:
  LcpResult (*lcp)(const LcpProblem& problem, const LcpOptions& options);   // on the model's LCP

  bool takes(RigidModel model) const { return (models >> static_cast<int>(model) & 1U) != 0; }
  RigidResult solve(const RigidProblem& problem, const VecX& start) const;
};
std::span<const RigidSolver> rigid_solvers();
const RigidSolver* find_rigid_solver(const std::string& name);  // null: there is none
const char* default_solver(RigidModel model);
std::string solvers_of(RigidModel model);  // their names, with commas between
// In markdown, as docs/solvers.md has them: the models; which solver takes which.
std::string rigid_model_table();
std::string rigid_solver_table();

// One step of a model: contacts that leave are released where the model made them stick, frozen bounds found,
// and Poisson's restitution is a second solve. The problem's blocks tell afterwards what was decided.
RigidResult solve_rigid(const RigidSolver& solver, const VecX& start, RigidProblem* problem);

// One block after the other, each solved exactly with all others as they are.
RigidResult solve_gauss_seidel(const RigidProblem& problem, const VecX& start);
// The same with projections x <- P(x - r u) in place of exact solutions; and all blocks at a time.
RigidResult solve_proximal_gauss_seidel(const RigidProblem& problem, const VecX& start);
RigidResult solve_proximal_jacobi(const RigidProblem& problem, const VecX& start);
// Convex models only: accelerated projected gradient with restarts.
RigidResult solve_accelerated_gradient(const RigidProblem& problem, const VecX& start);
// Alternating directions; of ncp with the mu |u_t| of the last iterate. `newton` ends with Newton's method.
RigidResult solve_admm(const RigidProblem& problem, const VecX& start);
RigidResult solve_cone_path(const RigidProblem& problem, const VecX& start);
RigidResult solve_admm_newton(const RigidProblem& problem, const VecX& start);
// Rules that do not depend on the normal impulse: tangential rows are eliminated, normal ones pivoted.
RigidResult solve_reduced(const RigidProblem& problem, const VecX& start);

// The contact alone, u = W x + q, solved exactly by Coulomb's law: it separates, sticks or slides.
Vec3 solve_one_contact(const Mat3& W, const Vec3& q, double mu);

// The model as a linear complementarity problem, and back. Polyhedral: z has, for each contact, x_n, one
// impulse for each direction, and the slip lambda; then the scalars.
LcpProblem make_polyhedral_lcp(const RigidProblem& problem);
VecX polyhedral_impulses(const RigidProblem& problem, const VecX& z);
// All others: z = x with bounds, those of box by the normal impulses of x.
LcpProblem make_boxed_lcp(const RigidProblem& problem, const VecX& x);
// Of those asked for: a Newton step and a pivot cost many sweeps, and more than some of them help no one.
int most_iterations(const RigidSolver& solver, int rows, int asked);
RigidResult solve_polyhedral(const RigidProblem& problem, const RigidSolver& solver);
RigidResult solve_boxed(const RigidProblem& problem, const VecX& start, const RigidSolver& solver);

}  // namespace capstan
