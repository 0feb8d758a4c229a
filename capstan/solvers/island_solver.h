// One island solved: the convex problem, and with the law coulomb the bounds of friction in it. Each
// algorithm is a layer with a header of its own, and uses those below it:
//
//   IslandSolver    bounds of friction that are the normal impulses of the same step (coulomb.cc)
//   ConvexSolver    where to start, what to try after what
//   PrimalDual      Newton's method on velocities and impulses, and worst_groups.cc
//   Multipliers     for what the others stall on
//   LineSearch      Newton's method on velocities
//   IslandIterate   velocity, laws and stopping test, which all of them share
//   IslandSystem    the numbers of the island and its linear systems
#pragma once

#include "capstan/solvers/convex_solver.h"

namespace capstan {

class IslandSolver : private ConvexSolver {
 public:
  using IslandIterate::finish;

  void begin(const Problem& problem, const Islands& islands, const Island& island,
             const std::vector<double>& bounds, IslandMaps* maps);
  // From the velocities before the step; or, with `go_on`, from the velocities and impulses of `known`.
  // Returns early, interrupted, when an iterate closes one of the `idle` groups of contacts; those may touch
  // other objects, too, which move as in `known`. followed: that of the island's last solve in this step.
  IslandResult solve(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                     std::span<const int> idle, Followed followed);

 private:
  static constexpr int kMostKrylov = 20;                   // products in a round
  using BoundVector = Eigen::Map<VecX, Eigen::Aligned16>;  // [contacts]
  IslandResult solve_coulomb(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                             std::span<const int> idle, Followed followed);
  void settle_friction(const NewtonOptions& options, const NewtonWorkspace& known, std::span<const int> idle,
                       bool is_exact, IslandResult* result);
  double measure_friction();
  bool find_bound_change();
  void grow_bounds();
  bool jams = false;  // the change that was found last lets bounds grow
  void leave_base(const NewtonOptions& options, IslandResult* result);
  void keep_impulses();
  void solve_with_bounds(const NewtonOptions& options, const NewtonWorkspace& known,
                         std::span<const int> idle, IslandResult* result);
  bool has_exact_friction() const;
  void apply_bounds(const BoundVector& change);
  void leave_to_points(BoundVector change) const;
  struct Bound {
    double first_n0 = 0;             // that of the last step or solve
    double best_n0 = 0, best_n = 0;  // those of the best round
    double n = 0, slope = 0;         // normal impulse at v, and how it falls with the normal velocity
    double error = 0;                // [N s] of friction with the bound n0 in place of n
    double size = 0;                 // [N s] of the impulse with n
    double weight = 1;               // of the impulses of others, which hide an error: mu of what turns
    Vec2 derivative = Vec2::Zero();  // of friction by n0
  };
  std::vector<Bound> bounds;    // [contacts] of the law coulomb; empty for others
  std::vector<Dual> best_dual;  // those of the best round, where it has_duals
  std::vector<ScalarDual> best_law_dual, best_dof_dual;
  std::vector<double> bound_values;  // of the vectors below; memory only grows
  BoundVector krylov(int i) {
    const int n = system.num_contacts();
    return {bound_values.data() + static_cast<long>(i) * (n + n % 2), n};
  }
  BoundVector bound_change() { return krylov(kMostKrylov + 1); }
};

}  // namespace capstan
