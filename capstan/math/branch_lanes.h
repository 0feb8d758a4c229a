// factor() and solve_in_place() (math/branch_matrix.h) for four matrices of one pattern at a time, one in
// each lane.
#pragma once

#include "capstan/math/branch_matrix.h"
#include "capstan/math/clones.h"

namespace capstan {

// Of the unknowns [begin, end) of whole trees; values and x begin with those of `begin`, at
// multiples of 32 bytes. Returns -1, or an
// unknown whose pivot is not above `smallest_pivot` in one of the lanes.
int factor(const BranchPattern& pattern, Four* values, double smallest_pivot, int begin, int end);
void solve_in_place(const BranchPattern& pattern, const Four* factored, Four* x, int begin, int end);

}  // namespace capstan
