// What a solver tells about one step, whichever solver it is.
#pragma once

namespace capstan {

struct SolverReport {
  bool converged = true;
  bool unfinished = false;  // of a rough solve: some islands are, or contacts have to come in
  int islands = 0;
  int rounds = 0;           // 1, and 1 more for each time that contacts came in
  int iterations = 0;       // of all islands together
  int most_iterations = 0;  // of one island
  int factorizations = 0;
  int line_search_evaluations = 0;
  double momentum_residual = 0;  // the largest of all islands: |D grad| / max(|D p|, |D j_c|) (SAP eq. 26)
  int worst_island = -1;
  int friction_rounds = 0;    // law coulomb: solves with other bounds of friction, of all islands together
  double cone_violation = 0;  // law coulomb: largest relative error of friction (coulomb.cc)
  bool at_round_off = false;  // the worst island stopped where round-off hides any further progress

  // Counts what an earlier solve of the same step took, too.
  void add_effort(const SolverReport& earlier) {
    rounds += earlier.rounds;
    iterations += earlier.iterations;
    most_iterations += earlier.most_iterations;
    factorizations += earlier.factorizations;
    line_search_evaluations += earlier.line_search_evaluations;
    friction_rounds += earlier.friction_rounds;
  }
};

}  // namespace capstan
