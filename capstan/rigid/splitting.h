// Sweeps of projected Gauss-Seidel (splitting.cc), which other methods are built on.
#pragma once

#include "capstan/rigid/lcp_run.h"

namespace capstan {

// `rows` is M transposed: its columns are the rows of M.
void sweep_forwards(const LcpProblem& problem, const MatX& rows, double omega, VecX* y);
void sweep_backwards(const LcpProblem& problem, const MatX& rows, double omega, VecX* y);
bool has_positive_diagonal(const LcpProblem& problem);

}  // namespace capstan
