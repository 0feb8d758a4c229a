// The drive of a BarrettHand's finger: see barrett_finger.cc.
#pragma once

#include "capstan/scene/scene.h"

namespace capstan::experiments {

// The link meets an obstacle at `stop` [rad].
Scene make_barrett_finger(double worm_friction, double stop);

}  // namespace capstan::experiments
