// Pictures of a model in pixels, drawn without a screen: colours, distances and which shape is seen where.
// Triangles are filled with a depth buffer; half spaces are met by the ray of each pixel; one lamp, with
// shadows.
//
// A camera looks along the axis from `eye` to `target`. A point at depth d along that axis and x to the
// right, y up of it, is drawn at
//
//   column = width / 2 + f x / d,   row = height / 2 - f y / d,   f = height / (2 tan(fov / 2))
//
// Limits: flat shading; what is seen through has no distance, number and shadow; what is nearer than 0.001
// of the scene's size is cut off. The page of the viewer draws better, and needs a browser.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capstan/state/state.h"

namespace capstan {

struct ImageCamera {
  Vec3 eye = Vec3(3, -4, 3), target = Vec3::Zero();  // [m] world
  Vec3 up = Vec3(0, 0, 1);
  double fov = 0.8;  // [rad] from the lower to the upper edge
};

struct ImageOptions {
  int width = 640, height = 480;      // [px]
  std::optional<ImageCamera> camera;  // none: from azimuth and elevation, as large as fits (PictureOptions)
  double azimuth = 0.65, elevation = 0.32;  // [rad]
  int samples = 2;                          // of colours across a pixel, 1 to 4: smooth edges
  bool shadows = true;
};

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;     // [height][width][3]
  std::vector<float> depth;          // [height][width] [m] along the camera's axis; infinite where nothing is
  std::vector<std::int32_t> shapes;  // [height][width] of the model; -1 where nothing is
};

// Throws std::invalid_argument where the camera cannot look.
Image draw_image(const Model& model, const State& state, const ImageOptions& options = {});

}  // namespace capstan
