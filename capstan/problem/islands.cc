#include "capstan/problem/islands.h"

#include <algorithm>

namespace capstan {

void find_islands(const Problem& problem, const std::vector<char>& uses, Islands* islands) {
  const Model& model = *problem.model;
  const int n = model.num_objects();
  UnionFind& sets = islands->sets;
  sets.reset(n);
  islands->of_object.assign(n, -1);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const ConstraintGroup& group = problem.groups[g];
    for (int p = group.part_begin; uses[g] && p < group.part_end; ++p) {
      const int object = problem.object_of(problem.parts[p]);
      sets.unite(problem.object_of(problem.parts[group.part_begin]), object);
      islands->of_object[object] = 0;
    }
  }
  const auto object_of_law = [&](int i) { return model.dofs[problem.dof_laws[i].dof].object; };
  const int num_laws = static_cast<int>(problem.dof_laws.size());
  for (int i = 0; i < num_laws; ++i) islands->of_object[object_of_law(i)] = 0;

  int num_islands = 0;
  for (int t = 0; t < n; ++t) {
    if (islands->of_object[t] < 0) continue;
    const int r = sets.find(t);
    islands->of_object[t] = r == t ? num_islands++ : islands->of_object[r];
  }
  islands->list.assign(num_islands, {});

  // Sorts 0 ... count - 1 by island, in order.
  const auto distribute = [&](int count, auto island_of, int Island::*begin, int Island::*end,
                              std::vector<int>* list) {
    list->assign(count, 0);
    for (int i = 0; i < count; ++i) {
      if (const int island = island_of(i); island >= 0) ++(islands->list[island].*end);
    }
    int start = 0;
    for (Island& island : islands->list) {
      const int size = island.*end;
      island.*begin = island.*end = start;
      start += size;
    }
    for (int i = 0; i < count; ++i) {
      if (const int island = island_of(i); island >= 0) (*list)[(islands->list[island].*end)++] = i;
    }
  };
  const auto island_of_group = [&](int g) {
    const ConstraintGroup& group = problem.groups[g];
    const bool acts = uses[g] && group.part_begin < group.part_end;
    return acts ? islands->of_object[problem.object_of(problem.parts[group.part_begin])] : -1;
  };
  distribute(
      n, [&](int t) { return islands->of_object[t]; }, &Island::object_begin, &Island::object_end,
      &islands->objects);
  distribute(static_cast<int>(problem.groups.size()), island_of_group, &Island::group_begin,
             &Island::group_end, &islands->groups);
  distribute(
      num_laws, [&](int i) { return islands->of_object[object_of_law(i)]; }, &Island::dof_law_begin,
      &Island::dof_law_end, &islands->dof_laws);
}

}  // namespace capstan
