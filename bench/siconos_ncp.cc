// Coulomb's law with the exact cone, our solvers and those of Siconos 4.4 on the same problems in one run: C1
// a stack of ten boxes with offsets of 5 mm, C2 and C3 the clutter with walls at 0.4 and 2 s; friction 1,
// steps of 10 ms, tolerance 1e-8. Both get W as a dense matrix, or what it is made of; times are of the
// processor, the least of some repeats. The residual is ours (RigidProblem::calc_residual) for both.
//
// Usage: OPENBLAS_NUM_THREADS=1 siconos_ncp. Needs Debian's libsiconos-numerics-dev.
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <fc3d_Solvers.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "capstan/rigid/rigid_solvers.h"
#include "experiments/blocks.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kTolerance = 1e-8;
constexpr int kMostIterations = 20000;

double milliseconds() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// `solve` returns its own milliseconds.
template <class Solve>
double least_time(const Solve& solve) {
  double least = kInfinity, spent = 0;
  for (int k = 0; k < 3 || (k < 50 && spent < 400); ++k) {
    const double time = solve();
    least = std::min(least, time);
    spent += time;
    if (spent > 3000) break;
  }
  return least;
}

void print_row(const char* whose, const char* name, bool solved, int iterations, double time,
               double residual) {
  std::printf("| %s | %s | %s | %d | %.2f | %.1e |\n", whose, name, solved ? "yes" : "no", iterations, time,
              residual);
  std::fflush(stdout);
}

void run_siconos(const char* name, int solver, const RigidProblem& problem) {
  const int n = problem.num_rows();
  std::vector<int> rows;  // theirs have the normal first
  std::vector<double> mu;
  for (const RigidBlock& block : problem.blocks) {
    rows.insert(rows.end(), {block.row + 2, block.row, block.row + 1});
    mu.push_back(block.mu);
  }
  const MatX W = problem.calc_W()(rows, rows);
  const VecX q = problem.b(rows);
  int failed = 0, iterations = 0;
  VecX x = VecX::Zero(n);
  const double time = least_time([&] {
    MatX matrix = W;
    VecX vector = q, reaction = VecX::Zero(n), velocity = VecX::Zero(n);
    NumericsMatrix* M = NM_create_from_data(NM_DENSE, n, n, matrix.data());
    FrictionContactProblem* p = frictionContactProblem_new_with_data(3, n / 3, M, vector.data(), mu.data());
    SolverOptions* options = solver_options_create(solver);
    options->dparam[SICONOS_DPARAM_TOL] = kTolerance;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = kMostIterations;
    const double began = milliseconds();
    failed = fc3d_driver(p, reaction.data(), velocity.data(), options);
    const double took = milliseconds() - began;
    iterations = options->iparam[SICONOS_IPARAM_ITER_DONE];
    solver_options_delete(options);
    for (int i = 0; i < n; ++i) x[rows[i]] = reaction[i];
    return took;
  });
  print_row("Siconos", name, failed == 0, iterations, time, problem.calc_residual(x));
}

void compare(const char* name, const Simulation& s) {
  RigidOptions options;
  options.tolerance = kTolerance;
  options.max_iterations = kMostIterations;
  const RigidProblem problem(s.workspace.problem, s.workspace.contacts, options);
  std::printf("\n%s: %d contacts\n\n| of | solver | solved | iterations | ms CPU | residual |\n", name,
              static_cast<int>(problem.blocks.size()));
  std::printf("|---|---|---|---|---|---|\n");
  for (const char* solver : {"admm", "newton", "interior_point", "gauss_seidel"}) {
    RigidResult found;
    const double time = least_time([&] {
      const double began = milliseconds();
      found = find_rigid_solver(solver)->solve(problem, VecX::Zero(problem.num_rows()));
      return milliseconds() - began;
    });
    print_row("Capstan", solver, found.converged, found.iterations, time, found.residual);
  }
  run_siconos("ADMM", SICONOS_FRICTION_3D_ADMM, problem);
  run_siconos("PROX", SICONOS_FRICTION_3D_PROX, problem);
  run_siconos("NSN_FB", SICONOS_FRICTION_3D_NSN_FB, problem);
  run_siconos("NSN_AC", SICONOS_FRICTION_3D_NSN_AC, problem);
  run_siconos("NSGS", SICONOS_FRICTION_3D_NSGS, problem);
}

}  // namespace
}  // namespace capstan::experiments

int main() {
  using namespace capstan;
  using namespace capstan::experiments;
  Simulation stack(make_tower(1, 10), ContactLaw::sap, 0.01);
  stack.run_until(0.1);
  compare("C1", stack);
  for (const double time : {0.4, 2.0}) {
    Simulation clutter("clutter", ContactLaw::sap, 0.01);
    clutter.run_until(time);
    compare(time < 1 ? "C2" : "C3", clutter);
  }
}
