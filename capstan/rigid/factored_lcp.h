// Plain complementarity problems whose matrix W = N A^-1 N^T (+ diagonal) is never formed: n rows (contacts),
// m dofs.
//
//   0 <= z  _|_  N A^-1 N^T z + diag(compliance) z + q >= 0
//
// At most m entries of z are positive in the answer that is found (without compliance), so a pivot costs one
// row against those that are active, O(m^2), and one multiplication with N: O(m^3 + m^2 n) in all when the
// number of pivots is that of the dofs.
//
// Source: Drumwright, Rapidly computable viscous friction and no-slip rigid contact models, 2015, Algorithms
// 1 and 2.
#pragma once

#include <functional>
#include <vector>

#include "capstan/rigid/lcp.h"

namespace capstan {

struct FactoredLcp {
  int num_dofs = 0;
  std::function<VecX(const VecX& v)> multiply_N;  // N v [n]
  std::function<VecX(int i)> row;                 // N^T e_i [m]
  std::function<VecX(const VecX& f)> solve_A;     // A^-1 f [m]
  VecX q;                                         // [n]
  VecX compliance;                                // [n], >= 0, or empty

  int size() const { return static_cast<int>(q.size()); }
};

// With a dense N [n, m], which must outlive the problem.
FactoredLcp make_factored_lcp(const MatX& N, std::function<VecX(const VecX&)> solve_A, VecX q);
// Dense, for tests and for other solvers. n solves with A.
LcpProblem make_dense(const FactoredLcp& problem);

struct FactoredLcpResult {
  VecX z;                // [n]
  VecX w;                // [n]
  VecX velocity_change;  // A^-1 N^T z [m]
  LcpStatus status = LcpStatus::most_iterations;
  int iterations = 0;             // pivots
  long long solves = 0;           // with A
  long long multiplications = 0;  // with N
  double residual = 0;  // largest of -w, and of |w| where z > 0, over the largest of |q|; z >= 0 exactly
};

// Algorithm 1, the modified principal pivoting method. As printed it takes an index in although its row
// depends on those that are in, and has no guard: a row that depends on others is exchanged here, and a
// partition that comes again ends the printed rule in favour of the dual active set method (Goldfarb and
// Idnani 1983), which is finite.
FactoredLcpResult solve_modified_ppm(const FactoredLcp& problem, const LcpOptions& options = {});

// Algorithm 2, FIND-INDICES: rows that have full rank together, in the order given, each kept when it does
// not depend on those kept before; `relative_tolerance` of the squared length of a row in the metric of A^-1.
// The paper's J, S, T are one list: first all of J, then S_1, T_1, S_2, T_2, ...
std::vector<int> find_independent_rows(int num_rows, const std::function<VecX(int i)>& row,
                                       const std::function<VecX(const VecX& f)>& solve_A,
                                       double relative_tolerance = 1e-10);

}  // namespace capstan
