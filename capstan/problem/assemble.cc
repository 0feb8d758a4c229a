#include "capstan/problem/assembler.h"
#include "capstan/problem/gap.h"

namespace capstan {

void assemble(const Model& model, const StepData& data, double dt, const ContactOptions& options,
              const StageScope& scope, AssemblyWorkspace* workspace, Problem* problem) {
  const State& state = data.state;
  problem->model = &model;
  problem->motion = &data.motion;
  problem->dt = dt;
  problem->options = options;
  problem->v0 = state.v;
  problem->v_guess.resize(state.a.size());
  if (state.a.size() > 0) problem->v_guess = state.v + dt * state.a;
  workspace->old_groups.swap(problem->groups);
  workspace->old_parts.swap(problem->parts);
  problem->groups.clear();
  problem->parts.clear();
  problem->laws.clear();
  problem->dof_laws.clear();
  if (!workspace->soft_weights.is_known) calc_soft_weights(model, &workspace->soft_weights);
  workspace->column.resize(model.num_velocities());
  workspace->inverse.resize(model.trees.size());
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    workspace->inverse[t].is_valid &= scope.is_unchanged(static_cast<int>(t));
  workspace->path.resize(model.num_links());
  workspace->has_path.assign(model.num_links(), 0);
  Assembler a{model, state, data.input, data.motion, data.contacts, dt, *workspace, *problem, scope, 0};
  a.add_contacts(0);
  workspace->wanted.clear();
  workspace->wanted_of_dofs.clear();
  const int first = static_cast<int>(problem->groups.size());
  a.add_dof_laws();
  a.add_tendons();
  a.make_laws(first);
  if (!model.constraints.empty()) {
    if (workspace->ahead.X_WL.empty()) {
      workspace->ahead = make_placement(model);
      workspace->constrained_objects = find_constrained_objects(model);
    }
    workspace->q_ahead = state.q;
    const bool midway = a.is_midway();
    calc_placement_ahead(model, workspace->constrained_objects, state.q, state.v, midway ? dt / 2 : dt,
                         &workspace->q_ahead, &workspace->ahead, midway);
  }
  for (int i = 0; i < static_cast<int>(model.constraints.size()); ++i) {
    const ModelConstraint& c = model.constraints[i];
    if (!c.active || a.sleeps(c)) continue;
    if (c.type == ConstraintType::coupler) {
      a.add_coupler(c, i);
    } else {
      a.add_tie(c, i);
    }
  }
  problem->jacobians.resize(a.num_values);
  workspace->reused_groups.resize(problem->groups.size());
}

void add_late_contacts(const StepData& data, int first_group, const StageScope& scope,
                       AssemblyWorkspace* workspace, Problem* problem) {
  const StageScope anew{.asleep = {}, .unchanged = {}, .threads = scope.threads};
  Assembler a{*problem->model, data.state, data.input, data.motion, data.contacts,
              problem->dt,     *workspace, *problem,   anew};
  a.add_contacts(first_group);
  problem->jacobians.resize(a.num_values);
}

}  // namespace capstan
