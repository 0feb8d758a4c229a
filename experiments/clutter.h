// The clutter of both papers: columns of spheres and boxes that fall, into a box or onto the ground.
#pragma once

#include <numbers>

#include "experiments/simulation.h"

namespace capstan::experiments {

struct ClutterOptions {
  int num_bodies = 40;
  bool walls = true;
  double stiffness = 1e12;      // [N/m] of a contact
  double dissipation = 50;      // Hunt-Crossley [s/m]
  double relaxation_time = -1;  // [s] negative: the time step
};

// 40 bodies with walls are those of scenes/clutter.yaml. Other numbers stand in four columns (from 100 bodies
// on in sixteen, so that they do not fall from tens of metres), with walls high enough to hold them all.
Scene clutter_scene(const ClutterOptions& options);

// Islands stop apart, each when its own e_m (sap eq. 32) is small enough. Of all together, with p_i and j_i
// the scaled momentum and impulse of an island, |D grad|^2 <= eps_i^2 sum max(p_i, j_i)^2 <= 2 eps_i^2 max(p,
// j)^2: with this tolerance for each, e_m of the whole problem, which the paper solves as one, is at most
// `e_m`.
inline double island_tolerance(double e_m) {
  return e_m / std::numbers::sqrt2;
}

// Mean over contacts that push of the speed at which friction turns from sticking to sliding [m/s].
double stiction_tolerance(const Simulation& simulation);

// Complementarity error e_mu (sap eq. 33) of the last step, a SAP one: mean |g . gamma| over the cost.
double complementarity_error(const Simulation& simulation);

// Momentum error e_m (sap eq. 32) of the last step, by the judge.
double momentum_error(const Simulation& simulation);

}  // namespace capstan::experiments
