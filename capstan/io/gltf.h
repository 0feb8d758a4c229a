// Recordings out as glTF 2.0: one binary file with geometry, materials and an animation, which Blender,
// Windows, web pages and game engines open.
//
// A node for each link that moves, its shapes below it; the root node turns Capstan's z up to glTF's y up.
// Half spaces become a plate of 20 m. A soft body is one node, with its surface as a mesh that has a morph
// target for each state after the first; between states positions go straight. That takes 24 bytes for each
// vertex of a surface and state, and 4 bytes for each two states.
//
// Limits: positions in single precision; no contacts.
#pragma once

#include <string>
#include <vector>

#include "capstan/state/state.h"

namespace capstan {

// The states in order of time; the animation starts at 0 s. With one state there is no animation.
std::string gltf_binary(const Model& model, const std::vector<State>& states);

}  // namespace capstan
