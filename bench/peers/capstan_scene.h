// The scenes of scene.h as Capstan's own, for the engine and for the judge.
#pragma once

#include "bench/peers/scene.h"
#include "capstan/scene/scene.h"

namespace bench {

struct ContactSettings {
  double stiffness = 1e6;            // [N/m] of every material
  double dissipation = 50;           // [s/m]
  double stiction_tolerance = 1e-5;  // [m/s]
};

capstan::Scene make_capstan_scene(const Scene& scene, const ContactSettings& settings);

}  // namespace bench
