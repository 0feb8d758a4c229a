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
  void begin();                                               // after rods were added
  void advance(FilamentCost* cost, const VecX& forces = {});  // [N or N m] on each dof
};
Scene filament_scene(double friction, double stiffness);

// A rope of 1 m and 3 mm with a torus knot of 3, 5, 7 or 9 crossings (unknotting numbers 1 to 4), 300 edges,
// no friction, whose ends are pulled apart until they have gone 0.56 m, or until 10 N. After every step two
// invariants tell whether it is still that knot (tests/support/knots.h).
struct KnotPull {
  int crossings = 3;
  double dt = 1e-4;
  double speed = 0.8;  // [m/s] at which the ends part: Li and Chou's
  double alpha = 1;    // [1/s] damping of velocities, theirs as well
};
inline constexpr KnotPull kQuietPull = {3, 5e-4, 0.4, 20};  // slower and damped: the loop does not whirl

struct KnotRun {
  FilamentCost cost;
  int dofs = 0;
  bool keeps_knot = true;  // in every step
  bool is_tight = false;   // its pull came above 1 N
  double pull = 0;         // [N] at the end
  double time = 0;         // [s]
  std::string failure;     // of a step
  // Every 0.2 mm: way of the ends [m]; pull [N]; area of the loop from where the rope first meets itself to
  // where it is met [m^2]; where its nodes are
  std::vector<double> ways, pulls, areas;
  std::vector<std::vector<Vec3>> shapes;
  bool passes() const { return keeps_knot && is_tight && failure.empty(); }
};
KnotRun tighten_knot(const KnotPull& pull);

// The same rope as 300 rigid capsules, whose ends are held together by springs and turn against springs.
struct ChainSprings {
  double stretch = 3e3, turn = 2e-3;  // [N/m], [N m/rad]: those of the authors' code
};
ChainSprings springs_of_rope();  // EA / h and EI / h of the rod
KnotRun tighten_chain_of_capsules(const KnotPull& pull, const ChainSprings& springs = {});

// Where the loop collapses: 10 mm of way in which its area falls by the largest factor. Looked for until the
// loop is 3 cm^2 small, less than which is the rope itself.
struct Collapse {
  double way = 0, factor = 1;              // [m] at its beginning
  double area = 0;                         // [m^2] there
  double pull_before = 0, pull_after = 0;  // [N] the most before, the least from there to 20 mm on
};
Collapse find_collapse(const KnotRun& knot);

// The knot of a rope, from the side from which its loop is seen best, its two halves in two colours: 360 x
// 240.
std::string draw_knot(const std::vector<Vec3>& nodes, const std::string& title);

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
  std::vector<std::string> pictures;  // lowered, curled up, lifted; as SVG of 480 x 480
};
GripRun grip_tree(int seed, double dt, double duration = 5.25);

}  // namespace capstan::experiments
