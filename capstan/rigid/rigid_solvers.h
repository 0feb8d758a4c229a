// Solvers of RigidProblem, one file each. All start from given impulses, stop at the residual that
// RigidProblem::calc_residual() tells, and say so when they did not get there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capstan/rigid/rigid_problem.h"

namespace capstan {

struct RigidResult {
  VecX x;  // impulses
  bool converged = false;
  int iterations = 0;  // sweeps over all blocks, or products with W
  double residual = 0;
  std::vector<double> history;  // the residual after each iteration
};

struct RigidSolver {
  const char* name;
  const char* what;  // in a few words
  bool takes_ncp, takes_ccp, takes_box;
  RigidResult (*solve)(const RigidProblem& problem, const VecX& start);

  bool takes(RigidModel model) const {
    return model == RigidModel::ncp ? takes_ncp : model == RigidModel::ccp ? takes_ccp : takes_box;
  }
};
std::span<const RigidSolver> rigid_solvers();
const RigidSolver* find_rigid_solver(const std::string& name);  // null: there is none

// One block after the other, each solved exactly with all others as they are.
RigidResult solve_gauss_seidel(const RigidProblem& problem, const VecX& start);
// The same with projections x <- P(x - r u) in place of exact solutions; and all blocks at a time.
RigidResult solve_proximal_gauss_seidel(const RigidProblem& problem, const VecX& start);
RigidResult solve_proximal_jacobi(const RigidProblem& problem, const VecX& start);
// Convex models only: accelerated projected gradient with restarts; alternating directions.
RigidResult solve_accelerated_gradient(const RigidProblem& problem, const VecX& start);
RigidResult solve_admm(const RigidProblem& problem, const VecX& start);

// The contact alone, u = W x + q, solved exactly by Coulomb's law: it separates, sticks or slides.
Vec3 solve_one_contact(const Mat3& W, const Vec3& q, double mu);

}  // namespace capstan
