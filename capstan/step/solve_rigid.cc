#include <fmt/core.h>

#include <map>
#include <string>
#include <tuple>

#include "capstan/rigid/position_correction.h"
#include "capstan/step/solve_contacts.h"

namespace capstan {

// Impulses of the last step, to begin with: contacts by their features, in world axes; scalars by their
// places, where there are as many as before.
struct RigidMemory {
  using Key = std::tuple<int, int, std::uint32_t>;
  std::map<Key, Vec3> contacts;
  std::vector<double> laws, dof_laws;
};

namespace {

RigidMemory::Key key_of(const Contacts& contacts, int i) {
  return {contacts.shape_a[i], contacts.shape_b[i], contacts.feature[i]};
}

VecX recall(const RigidMemory& memory, const Contacts& contacts, const Problem& problem) {
  const int laws = 3 * contacts.size(), dof_laws = laws + static_cast<int>(problem.laws.size());
  VecX x = VecX::Zero(dof_laws + static_cast<int>(problem.dof_laws.size()));
  for (int i = 0; i < contacts.size(); ++i) {
    if (!contacts.is_point(i)) continue;
    const auto found = memory.contacts.find(key_of(contacts, i));
    if (found != memory.contacts.end()) x.segment<3>(3 * i) = problem.R_WC[i].transpose() * found->second;
  }
  if (memory.laws.size() == problem.laws.size())
    x.segment(laws, static_cast<long>(memory.laws.size())) = VecX::Map(memory.laws.data(), dof_laws - laws);
  if (memory.dof_laws.size() == problem.dof_laws.size())
    x.tail(x.size() - dof_laws) = VecX::Map(memory.dof_laws.data(), x.size() - dof_laws);
  return x;
}

void remember(const Workspace& w, RigidMemory* memory) {
  memory->contacts.clear();
  for (int i = 0; i < w.contacts.size(); ++i) {
    if (w.contacts.is_point(i) && !w.newton.impulse[i].isZero(0))
      memory->contacts[key_of(w.contacts, i)] = w.problem.R_WC[i] * w.newton.impulse[i];
  }
  memory->laws = w.newton.law_impulse;
  memory->dof_laws = w.newton.dof_impulse;
}

const RigidSolver& choose_solver(const RigidSettings& settings) {
  const RigidModel model = settings.options.model;
  const RigidSolver* solver =
      find_rigid_solver(settings.solver.empty() ? default_solver(model) : settings.solver);
  if (solver == nullptr || !solver->takes(model))
    throw InputError({},
                     fmt::format("solver '{}' does not solve model {}", settings.solver, traits(model).name),
                     "choose one of " + solvers_of(model));
  return *solver;
}

void keep_answer(const RigidProblem& problem, const VecX& x, Workspace* w) {
  w->newton.v = w->motion.v_star + problem.calc_dv(x);
  w->newton.impulse.assign(w->problem.contacts.size(), Vec3::Zero());
  w->newton.law_impulse.assign(w->problem.laws.size(), 0);
  w->newton.dof_impulse.assign(w->problem.dof_laws.size(), 0);
  const int laws = 3 * static_cast<int>(w->problem.contacts.size());
  const int dof_laws = laws + static_cast<int>(w->problem.laws.size());
  for (const RigidBlock& block : problem.blocks) {
    if (block.is_contact()) {
      w->newton.impulse[block.row / 3] = x.segment<3>(block.row);
    } else if (block.row < laws) {  // it turns
      w->newton.impulse[block.row / 3][block.row % 3] = x[block.row];
    } else if (block.row < dof_laws) {
      w->newton.law_impulse[block.row - laws] = x[block.row];
    } else {
      w->newton.dof_impulse[block.row - dof_laws] = x[block.row];
    }
  }
}

}  // namespace

void StepRun::solve_rigid() {
  const RigidOptions& rigid = options.rigid.options;
  const RigidSolver& solver = choose_solver(options.rigid);
  if (!w.rigid) w.rigid = std::make_shared<RigidMemory>();
  VecX start = recall(*w.rigid, w.contacts, w.problem);
  for (int i = 0; i < w.contacts.size(); ++i) {  // what turns is bounded by the last impulse of its point
    if (!w.contacts.is_point(i))
      w.problem.contacts[i].normal_impulse = std::max(0.0, start[3 * (i - w.problem.turning[i].back) + 2]);
  }
  RigidProblem problem(w.problem, w.contacts, rigid);
  if (!rigid.warm_start) start.setZero();
  const RigidResult result = capstan::solve_rigid(solver, start, &problem);
  if (!result.converged && options.fail_if_not_converged) {
    throw StepFailure(
        fmt::format("step {} at t = {:g} s failed: solver {} of model {} did not converge (residual {:.1e} "
                    "after {} iterations, {:g} is asked for). Solvers of this model: {}; or let the run "
                    "go on with the last iterate (--keep-going), or take a contact law, which is not rigid",
                    state.step, state.time, solver.name, traits(rigid.model).name, result.residual,
                    result.iterations, rigid.tolerance, solvers_of(rigid.model)));
  }
  keep_answer(problem, result.x, &w);
  remember(w, w.rigid.get());
  w.bounce.drift = calc_position_correction(problem, result.x);
  w.bounce.has_drift = w.bounce.drift.size() > 0;
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
