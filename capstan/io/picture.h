// Drawings of a model as SVG: its shapes, tessellated, shaded and sorted from far to near.
#pragma once

#include <string>
#include <vector>

#include "capstan/state/state.h"

namespace capstan {

struct PictureOptions {
  int width = 960, height = 720;  // [px]
  double azimuth = 0.65;          // [rad] of the camera about z, from -y towards +x
  double elevation = 0.32;        // [rad] above the ground
  double perspective = 0.28;      // size of the scene over the camera's distance; 0: orthographic
  std::string title;
  std::vector<Vec3> trail;  // [m] a path to draw, oldest point first
};

// The model at several states, one over the other: the last one in full, those before it fainter.
std::string draw_picture(const Model& model, const std::vector<State>& states,
                         const PictureOptions& options = {});

// Text as SVG wants it: markup characters escaped, control characters left out.
std::string xml_text(const std::string& text);

}  // namespace capstan
