// The method of multipliers, where line search and primal-dual iteration stall (multipliers.cc). Internal to
// solvers/.
#pragma once

#include "capstan/solvers/line_search.h"

namespace capstan {

class Multipliers : protected LineSearch {
 protected:
  void solve_by_multipliers(const NewtonOptions& options, IslandResult* result);

 private:
  bool solve_in_series(const NewtonOptions& options, double tolerance, int most_iterations,
                       IslandResult* result);
  bool update_multipliers(const NewtonOptions& options, IslandResult* result);
};

}  // namespace capstan
