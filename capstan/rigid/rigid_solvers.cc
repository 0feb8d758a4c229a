#include "capstan/rigid/rigid_solvers.h"

#include <array>

namespace capstan {
namespace {

constexpr std::array<RigidSolver, 5> kSolvers = {
    {{"gauss_seidel", "block after block, each exactly", true, true, true, solve_gauss_seidel},
     {"proximal_gauss_seidel", "block after block, by projections", true, true, true,
      solve_proximal_gauss_seidel},
     {"proximal_jacobi", "all blocks at a time, by projections", true, true, true, solve_proximal_jacobi},
     {"accelerated_gradient", "Nesterov's projected gradient with restarts", false, true, false,
      solve_accelerated_gradient},
     {"admm", "alternating directions, one factorization", false, true, false, solve_admm}}};

}  // namespace

std::span<const RigidSolver> rigid_solvers() {
  return kSolvers;
}

const RigidSolver* find_rigid_solver(const std::string& name) {
  for (const RigidSolver& solver : kSolvers) {
    if (solver.name == name) return &solver;
  }
  return nullptr;
}

}  // namespace capstan
