#include "capstan/step/balance.h"

#include <algorithm>

#include "capstan/dynamics/momentum.h"

namespace capstan {

void balance_trees_with_inner_constraints(const Problem& problem, const State& state, const Scheme& scheme,
                                          std::span<const char> is_reused, Motion* motion, VecX* v) {
  const Model& model = *problem.model;
  if (!model.options.conserve_momentum) return;
  enum : char { kFree, kInner, kOuter };
  thread_local std::vector<char> tree_kind;
  tree_kind.assign(model.trees.size(), kFree);
  const auto root_dofs_end = [&](int tree) { return model.links[model.trees[tree].link_begin].dof_end; };
  for (const DofLaw& law : problem.dof_laws) {
    const int tree = model.dofs[law.dof].object;
    if (!model.objects[tree].is_tree()) continue;
    const char kind = law.dof < root_dofs_end(tree) ? kOuter : kInner;
    tree_kind[tree] = std::max(tree_kind[tree], kind);
  }
  for (const ConstraintGroup& group : problem.groups) {
    for (int p = group.part_begin; p < group.part_end; ++p) {
      // A constraint within the tree does not see the root move: those columns cancel to zero exactly.
      const int tree = problem.parts[p].block;  // and its block
      if (!model.object_of_block(tree).is_tree()) continue;
      const int n = root_dofs_end(tree) - model.trees[tree].dof_begin;
      if (tree_kind[tree] == kOuter) continue;
      const double* J = problem.jacobians.data() + problem.parts[p].jacobian;
      const bool moved = std::any_of(J, J + n * group.num_rows, [](double x) { return x != 0; });
      tree_kind[tree] = std::max(tree_kind[tree], moved ? char{kOuter} : char{kInner});
    }
  }
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (tree_kind[t] == kInner && is_reused[t] == 0 && conserves_momentum(model, t)) {
      balance_after_constraints(model, state, problem.dt, scheme, t, motion, v);
    }
  }
}

}  // namespace capstan
