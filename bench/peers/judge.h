// How well a run did, from the poses of its bodies alone: the same measure for every engine.
#pragma once

#include <cstdio>
#include <vector>

#include "bench/peers/harness.h"

namespace bench {

struct Verdict {
  double penetration_mean = 0;  // [m] over the overlapping contacts of the last step
  double penetration_peak = 0;  // [m] of any contact at any step
  double creep_mean = 0;        // [m/s] over bodies: displacement in the last half second over that
                                // time; balls do not count where there are others, as they may roll on
  double creep_max = 0;         // [m/s]
  double energy_gain = 0;  // [J] the largest rise above an earlier minimum of kinetic + gravity energy, which
                           // contact and friction can only lower
  double energy_released = 0;                              // [J] start minus end, for scale
  Vec top_shift = {0, 0, 0};                               // [m] of the last tracked body, end minus start
  double height_mean = 0, height_min = 0, height_max = 0;  // [m] of the first body, relative to its start
  double acceleration = 0;    // [m/s^2] of the first body along x, mean over the second half
  double joint_gap_mean = 0;  // [m] distance of the two anchors of a ball joint, at the end
  double joint_gap_peak = 0;  // [m] at any step
  bool finite = true;
};

// `recording` holds `steps` + 1 times the poses of Scene::tracked, in order.
Verdict judge(const Scene& scene, std::FILE* recording, long steps);

}  // namespace bench
