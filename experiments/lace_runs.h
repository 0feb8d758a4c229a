// A lace of 4 mm that two posts hold is laid out loosely as a knot above them and pulled tight by hands that
// pinch it between two fingers each. A force then pushes the posts apart, and the hands let go. The page's
// experiment (shoelace.cc) tells what it shows.
#pragma once

#include <string>
#include <vector>

#include "experiments/filament_runs.h"

namespace capstan::experiments {

enum class LaceKnot { reef, granny, bow };  // the second half knot: mirrored, the same again, of two loops

struct LaceTask {
  LaceKnot knot = LaceKnot::bow;
  ContactModel contact = ContactModel::patch;
  ContactLaw law = ContactLaw::coulomb;
  double dt = 2e-3;       // [s]
  double friction = 0.8;  // of the lace, on itself and on the posts
  double edge = 5e-3;     // [m]
  int patch_points = 1;   // of two edges; 0: up to 4
  double end = 3.6;       // [s]
};

inline constexpr double kLaceLoad = 3;  // [N] that pushes the posts apart
// Times at which things begin [s].
inline constexpr double kLacePinched = 0.15, kLaceLoads = 0.8, kLaceLoaded = 1.1, kLaceTight = 1.2,
                        kLaceLetGo = 1.4, kLaceLooks = 2;

struct LaceRun {
  FilamentCost cost;
  int dofs = 0;
  std::vector<double> time, opening, pinch;  // [s], [m] of the posts, [N] on a finger that pulls
  double finger_slip = 0;                    // [m] the most that the lace slips in a hand that pulls
  double pinch_changes = 0;                  // [N] root mean square about its mean, while the hands pull
  double slip = 0;                           // [m] that the posts part from kLaceLooks on
  double last_slip = 0;                      // [m] of it in its last second
  double ends_move = 0;                      // [m] the most, from kLaceLooks on
  int passed = 0;                            // pairs of edges that passed through each other
  double least_apart = 1;  // [m] of the axes of two parts of the lace that touch, at the end of any step
  bool keeps_knot = true;  // reef and granny, whose ends lie outside: by the invariants of knots
  double residual = 0;     // relative, of momentum, the largest of all steps
  int unconverged = 0;     // steps
  std::vector<std::string> pictures;  // as laid out, while it is pulled, tight, let go, in the end
  std::string failure;
  double opened() const { return opening.empty() ? 0 : opening.back(); }
};

// Nodes of the lace as it is laid out: nothing touches.
std::vector<Vec3> lay_lace(LaceKnot knot, int edges);
Scene lace_scene(const LaceTask& task);
LaceRun tie_lace(const LaceTask& task);

inline constexpr int kLacePictureWidth = 300, kLacePictureHeight = 230;

}  // namespace capstan::experiments
