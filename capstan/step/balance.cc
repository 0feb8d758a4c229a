#include "capstan/step/balance.h"

#include <algorithm>

#include "capstan/dynamics/lone_turn.h"
#include "capstan/dynamics/momentum.h"

namespace capstan {
namespace {

// What acts on a tree: nothing, constraints within it, or others as well.
enum : char { kFree, kInner, kOuter };

// Whether both sides of a tie are links of one tree, though their points are apart by round-off, and with
// them what the root does to them.
bool is_within_a_tree(const Model& model, const ConstraintGroup& group) {
  if (group.constraint < 0) return false;
  const ModelConstraint& c = model.constraints[group.constraint];
  if (c.type == ConstraintType::coupler) return false;
  const int a = model.bodies[c.body_a].link, b = model.bodies[c.body_b].link;
  return a != 0 && b != 0 && model.links[a].object == model.links[b].object;
}

void find_tree_kinds(const Problem& problem, std::vector<char>* kinds) {
  const Model& model = *problem.model;
  std::vector<char>& tree_kind = *kinds;
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
      const bool moved = !is_within_a_tree(model, group) &&
                         std::any_of(J, J + n * group.num_rows, [](double x) { return x != 0; });
      tree_kind[tree] = std::max(tree_kind[tree], moved ? char{kOuter} : char{kInner});
    }
  }
}

}  // namespace

void find_touched_trees(const Problem& problem, const StageScope& scope, std::vector<int>* trees) {
  const Model& model = *problem.model;
  trees->clear();
  if (!model.options.conserve_momentum) return;
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (model.trees[t].link_end > model.trees[t].link_begin + 1 && conserves_momentum(model, t) &&
        !scope.is_asleep(t))
      trees->push_back(t);
  }
  if (trees->empty()) return;
  thread_local std::vector<char> tree_kind;
  find_tree_kinds(problem, &tree_kind);
  std::erase_if(*trees, [&](int t) { return tree_kind[t] != kOuter; });
}

void balance_trees(const Problem& problem, const State& state, const Scheme& scheme, const StageScope& scope,
                   std::span<const char> is_reused, Motion* motion, VecX* v, std::vector<int>* turned) {
  const Model& model = *problem.model;
  turned->clear();
  if (!model.options.conserve_momentum) return;
  thread_local std::vector<char> tree_kind;
  find_tree_kinds(problem, &tree_kind);
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (is_reused[t] != 0 || scope.is_asleep(t)) continue;
    if (tree_kind[t] == kInner && conserves_momentum(model, t))
      balance_after_constraints(model, state, problem.dt, scheme, t, motion, v);
    if (tree_kind[t] == kFree && is_staggered(scheme) && turns_alone(model, state, problem.dt, t)) {
      calc_lone_turn(model, state, problem.dt, t, motion, v);
      const Tree& tree = model.trees[t];
      motion->v_star.segment(tree.dof_begin, tree.num_dofs()) = v->segment(tree.dof_begin, tree.num_dofs());
      turned->push_back(t);
    }
  }
}

}  // namespace capstan
