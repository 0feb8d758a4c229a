// Newton's method with an exact line search on the cost (newton.h). Internal to solvers/.
#pragma once

#include "capstan/solvers/island_iterate.h"

namespace capstan {

class LineSearch : protected IslandIterate {
 protected:
  void solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                         IslandResult* result);
  double exact_step(double slope, double accuracy, IslandResult* result);
  void recenter();

 private:
  LineDerivatives along(double alpha) const;
};

}  // namespace capstan
