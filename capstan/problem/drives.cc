#include "capstan/problem/problem.h"

namespace capstan {
namespace {

ScalarLaw make_law(const ReleasedDrive& drive) {
  ScalarLaw law;
  law.R = 1 / drive.slope;
  law.v_hat = drive.rate + drive.impulse * law.R;
  law.mass = 1 / drive.delassus;
  law.lower = drive.lower;
  law.upper = drive.upper;
  return law;
}

// One row with a part for each tree.
void add_group(const Transmission& transmission, const ScalarLaw& law, Problem* problem) {
  const Model& model = *problem->model;
  ConstraintGroup group;
  group.num_rows = 1;
  group.part_begin = group.part_end = static_cast<int>(problem->parts.size());
  group.law_begin = static_cast<int>(problem->laws.size());
  for (const auto& term : transmission.terms) {
    const int tree = model.dofs[term.dof].object;
    int p = group.part_begin;
    while (p < group.part_end && problem->parts[p].block != tree) ++p;
    if (p == group.part_end) {
      problem->parts.push_back({tree, static_cast<int>(problem->jacobians.size())});
      problem->jacobians.resize(problem->jacobians.size() + model.trees[tree].num_dofs(), 0.0);
      ++group.part_end;
    }
    problem->jacobians[problem->parts[p].jacobian + term.dof - model.trees[tree].dof_begin] +=
        term.coefficient;
  }
  problem->laws.push_back(law);
  problem->groups.push_back(group);
}

}  // namespace

void add_drives(const State& state, const Scheme& scheme, Motion* motion, AssemblyWorkspace* workspace,
                Problem* problem) {
  if (motion->drives.empty()) return;
  const Model& model = *problem->model;
  if (motion->released.empty()) workspace->is_released.assign(model.objects.size(), 0);
  std::vector<char>& trees = workspace->has_constraint;
  trees.assign(model.objects.size(), 0);
  for (const GroupPart& part : problem->parts) trees[problem->object_of(part)] = 1;
  for (const DofLaw& law : problem->dof_laws) trees[model.dofs[law.dof].object] = 1;
  for (std::size_t t = 0; t < trees.size(); ++t) trees[t] = trees[t] && !workspace->is_released[t];
  const std::size_t before = motion->released.size();
  release_drives(model, state, problem->dt, scheme, trees, motion);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (trees[t] == 0) continue;
    workspace->is_released[t] = 1;
    if (t < model.trees.size()) workspace->inverse[t].is_valid = false;  // A is another one now
  }
  for (const ReleasedDrive& drive : std::span(motion->released).subspan(before)) {
    const Transmission& transmission = motion->drives[drive.drive].transmission;
    if (transmission.terms.size() == 1) {
      problem->dof_laws.push_back({transmission.terms[0].dof, 1, make_law(drive)});
    } else {
      add_group(transmission, make_law(drive), problem);
    }
  }
}

}  // namespace capstan
