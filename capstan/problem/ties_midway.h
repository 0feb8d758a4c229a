// Rigid constraints where a scheme moves positions along the mean of old and new velocities.
#pragma once

#include "capstan/problem/problem.h"

namespace capstan {

// Takes the rows of rigid constraints between trees, and how they bend, from where the mean velocity v leads
// half-way through the step: at first (assemble()) it is the velocity before it. Of constraints on `objects`
// ([objects], not 0); marks there those that they act on.
void move_ties_midway(const StepData& data, const VecX& v, const StageScope& scope,
                      AssemblyWorkspace* workspace, Problem* problem, std::vector<char>* objects);

}  // namespace capstan
