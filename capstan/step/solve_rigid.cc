#include <fmt/core.h>

#include <string>

#include "capstan/rigid/rigid_solvers.h"
#include "capstan/step/solve_contacts.h"

namespace capstan {

void StepRun::solve_rigid() {
  const RigidSolver* solver = find_rigid_solver(options.rigid.solver);
  if (solver == nullptr || !solver->takes(options.rigid.options.model))
    throw InputError({}, "solver '" + options.rigid.solver + "' does not take this model of contact",
                     "choose one that docs/solvers.md lists for it");
  const RigidProblem problem(w.problem, w.contacts, options.rigid.options);
  const RigidResult result = solver->solve(problem, VecX::Zero(problem.num_rows()));
  if (!result.converged && options.fail_if_not_converged) {
    std::string others;
    for (const RigidSolver& other : rigid_solvers()) {
      if (&other != solver && other.takes(options.rigid.options.model))
        others += (others.empty() ? "" : ", ") + std::string(other.name);
    }
    throw StepFailure(fmt::format(
        "step {} at t = {:g} s failed: solver {} of model {} did not converge (residual {:.1e} "
        "after {} iterations, {:g} is asked for). Other solvers of this model: {}; or let the run "
        "go on with the last iterate, or take a contact law, which is not rigid",
        state.step, state.time, solver->name, kRigidModelNames[static_cast<int>(options.rigid.options.model)],
        result.residual, result.iterations, options.rigid.options.tolerance, others));
  }
  w.newton.v = w.motion.v_star + problem.calc_dv(result.x);
  w.newton.impulse.assign(w.problem.contacts.size(), Vec3::Zero());
  w.newton.law_impulse.assign(w.problem.laws.size(), 0);
  w.newton.dof_impulse.assign(w.problem.dof_laws.size(), 0);
  const int laws = 3 * static_cast<int>(w.problem.contacts.size());
  const int dof_laws = laws + static_cast<int>(w.problem.laws.size());
  for (const RigidBlock& block : problem.blocks) {
    if (block.is_contact()) {
      w.newton.impulse[block.row / 3] = result.x.segment<3>(block.row);
    } else if (block.row < dof_laws) {
      w.newton.law_impulse[block.row - laws] = result.x[block.row];
    } else {
      w.newton.dof_impulse[block.row - dof_laws] = result.x[block.row];
    }
  }
  w.newton.is_reused.assign(model.num_objects(), 0);
  find_islands(w.problem, std::vector<char>(w.problem.groups.size(), 1), &w.newton.islands);
  report.solver = {};
  report.solver.converged = result.converged;
  report.solver.islands = static_cast<int>(w.newton.islands.list.size());
  report.solver.worst_island = report.solver.islands > 0 ? 0 : -1;
  report.solver.iterations = report.solver.most_iterations = result.iterations;
  report.solver.momentum_residual = result.residual;
}

}  // namespace capstan
