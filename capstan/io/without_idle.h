// A scene without what has no effect in it. Other formats have such words by necessity (an URDF joint has an
// effort, a visual geom of MJCF a class with friction), in a YAML scene they are told as mistakes.
#pragma once

#include <string>
#include <vector>

#include "capstan/scene/scene.h"

namespace capstan {

struct TidyScene {
  Scene scene;                        // moves as the given one
  std::vector<std::string> left_out;  // what a reader may miss: "effort_limit of 12 joints (no actuator ...)"
};
TidyScene without_idle(Scene scene);

}  // namespace capstan
