// The experiments of Li and Chou with points of contact, "A convex formulation of compliant contact between
// filaments and rigid bodies", Table I, as runs that tell what came of them and what they cost. The page's
// experiment (filaments.cc) and bench/filaments.cc use them.
#pragma once

#include <string>
#include <vector>

#include "capstan/step/step.h"
#include "experiments/experiment.h"

namespace capstan::experiments {

struct FilamentCost {
  double seconds = 0;  // of the processor, in steps alone
  double dt = 0;
  int steps = 0, most_contacts = 0;
  double contacts = 0, tangents = 0;                    // sums
  StepTimes stages;                                     // sums
  double rate() const { return steps * dt / seconds; }  // simulated time over processor time
  double microseconds() const { return 1e6 * seconds / steps; }
  std::string text() const;
  void add(const Report& report, double dt, double seconds);
};

// Figure 4: which part of the time of steps each stage has, one row for each of these.
Table stage_table(const std::vector<std::pair<std::string, FilamentCost>>& runs);

// What steps of a run work on.
struct Filaments {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;

  Filaments(const Scene& scene, double dt);
  void begin();  // after rods were added
  void advance(FilamentCost* cost);
};
Scene filament_scene(double friction, double stiffness);

// A rope of 1 m and 3 mm with a torus knot of 3, 5, 7 or 9 crossings (unknotting numbers 1 to 4), 300 edges,
// no friction, whose ends are pulled apart at 0.8 m/s for 0.7 s or until 10 N. After every step two
// invariants tell whether it is still that knot (tests/support/knots.h).
struct KnotRun {
  FilamentCost cost;
  bool keeps_knot = true;  // in every step
  bool is_tight = false;   // its pull came above 1 N
  double pull = 0;         // [N] at the end
  double time = 0;         // [s]
  std::string failure;     // of a step
  // After every millisecond [s]: pull [N]; area that the rope goes around [m^2]; root of the mean square of
  // its nodes' speed [m/s]
  std::vector<double> times, pulls, areas, speeds;
  bool passes() const { return keeps_knot && is_tight && failure.empty(); }
};
KnotRun tighten_knot(int crossings, double dt);

// The same rope as 300 rigid capsules with springs between their ends, 3e3 N/m and 2e-3 N m/rad.
KnotRun tighten_chain_of_capsules(int crossings, double dt);

// A hanging chain of closed rods of 20 edges, each through the next; the lower half of the first is fixed.
struct RingRun {
  FilamentCost falling, resting;
  double moved = 0;  // [m] the last ring in `rest`
  double most_moved =
      0;             // [m] it was so far from where it was at the beginning of `rest`, looked at each second
  double speed = 0;  // [m/s] of the fastest node in the end
  bool stays_linked = true;  // each ring goes through the next one, looked at each tenth of a second
  std::string failure;
  bool passes() const { return failure.empty() && stays_linked && most_moved < 1e-4; }
};
RingRun hang_rings(int count, double dt, double settle, double rest);

// A palm with 12 filaments of 260 mm and 130 edges is lowered onto a tree of sticks of 27 g; they curl up in
// 2 s, each in a direction of its own, by 10 pi in all on average and 0.5 pi from joint to joint (times the
// number of joints); then the palm lifts by 150 mm.
struct GripRun {
  FilamentCost cost;
  double lifted = 0;  // [m] that the tree came up
  std::string failure;
};
GripRun grip_tree(int seed, double dt, double duration = 5.25);

}  // namespace capstan::experiments
