// The convex problem of one island: where to start, and which way of globalization after which. Internal to
// solvers/.
#pragma once

#include "capstan/solvers/primal_dual.h"

namespace capstan {

// Law coulomb: in how many iterations of a solve bounds of friction follow the impulses, when it begins
// without impulses (cold) and when it goes on from known ones.
struct Following {
  int cold = 0, warm = 0;
};

class ConvexSolver : protected PrimalDual {
 protected:
  // From the velocities before the step; or, with `go_on`, from the velocities and impulses of `known`.
  void solve_convex(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                    std::span<const int> idle, const Following& following, IslandResult* result);
  // Its two parts; the second one changes only what is condensed and has converged.
  void find_solution(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                     std::span<const int> idle, const Following& following, IslandResult* result);
  void polish(const NewtonOptions& options, IslandResult* result);
  void solve_from_best(const NewtonOptions& options, double best, IslandResult* result);

 private:
  bool polish_with_last_factor(const NewtonOptions& options, IslandResult* result);
  bool try_level();
  bool try_guess(const NewtonOptions& options, double* cost, IslandResult* result);
};

}  // namespace capstan
