// Objects that constraints connect: each island is solved apart from all others.
#pragma once

#include <vector>

#include "capstan/base/union_find.h"
#include "capstan/problem/problem.h"

namespace capstan {

// Slices of the lists of Islands.
struct Island {
  int object_begin = 0, object_end = 0;    // ascending
  int group_begin = 0, group_end = 0;      // ascending
  int dof_law_begin = 0, dof_law_end = 0;  // ascending
};

struct Islands {
  std::vector<Island> list;  // by their lowest object
  std::vector<int> objects, groups, dof_laws;
  std::vector<int> of_object;  // [objects] island, -1: nothing acts on it

  UnionFind sets;  // scratch: of objects
};

// The components of the graph whose edges are the groups g with uses[g]; the others count as absent. Dof laws
// all count.
void find_islands(const Problem& problem, const std::vector<char>& uses, Islands* islands);

}  // namespace capstan
