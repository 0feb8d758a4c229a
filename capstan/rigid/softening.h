// A second try for pivoting methods where contacts are redundant.
//
// Semidefinite problems have bases that are singular, or nearly so: rounding then decides over pivots that
// are zero, and a path that is finite on paper is lost. With a little compliance, M + eps I, every principal
// submatrix is regular. The answer to that problem has the right partition, and an error of about eps, which
// Newton's steps of least change on the minimum map (polish()) take away.
//
// Limits: eps grows from 1e-9 to 1e-5 of the diagonal until the judge of the *given* problem agrees. Where
// none does, the problem may have no answer: the status is that of the first try. Iterations are those of all
// tries.
#pragma once

#include "capstan/rigid/lcp_run.h"

namespace capstan {

// Solves with `solve`, and again with the softer matrix where that is of no avail.
LcpResult solve_softened(const LcpProblem& problem, const LcpOptions& options,
                         LcpResult (*solve)(const LcpProblem&, const LcpOptions&));

// A y near an answer made better: M_FF dy_F = -w_F by least squares and of least norm, where F is what
// natural_map() takes for free; again while the residual falls.
VecX polish(const LcpRun& run, VecX y);

}  // namespace capstan
