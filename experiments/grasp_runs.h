// The hand of the grasp stress test (ICF XII-B): how long it holds its rod.
#pragma once

#include <string>
#include <vector>

#include "experiments/simulation.h"

namespace capstan::experiments {

inline constexpr double kFinger = 1e6;  // [N/m] of what holds the width of a grip: much stiffer than the pads

// What holds the fingers: the width of the grip, by a stiff spring, or a force.
enum class Hold { width, force };

struct GraspRun {
  Hold hold = Hold::width;
  ContactLaw law = ContactLaw::lagged;
  double dt = 1e-3, frequency = 2, dissipation = 0, longest = 20;  // [s], [Hz], [s/m], [s]
  double grip = 14;                                                // [N] of each finger at the start
  double depth = 0;                                                // [m] that each pad yields to that
};

struct Failure {
  double time = 0;      // [s] until the rod is lost, or as long as the run
  double grip = 0;      // [N] mean normal force of a pad until then
  double contacts = 0;  // mean
};

// Swings the hand of `scene`, a variant of the shipped scene grasp, and takes the time.
Failure time_to_failure(Scene scene, const GraspRun& run);

// Relative differences b / a - 1 [%], signed, over the frequencies at which both failed.
struct Percent {
  double least = 1e30, most = -1e30;
  std::string text() const;
};
Percent compare_times(const std::vector<double>& a, const std::vector<double>& b, double longest);

// The same at each frequency, to be drawn.
Series time_errors(const std::string& name, const std::vector<double>& frequencies,
                   const std::vector<double>& reference, const std::vector<double>& times, double longest,
                   LineStyle line);

}  // namespace capstan::experiments
