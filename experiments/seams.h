// Things that pass over seams, along their way: scenes of the gauntlet, for no_ghosts.
#pragma once

#include "experiments/experiment.h"

namespace capstan::experiments {

// For each scene pictures of one seam being passed, speed and height over the way, and a claim.
void film_seams(const Run& run, Result* result);

}  // namespace capstan::experiments
