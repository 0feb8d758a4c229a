// What pictures of a model have in common, whether they are lines (picture.cc) or pixels (image.cc): shapes
// as facets in the world, a camera that sees all of them, light.
#pragma once

#include <vector>

#include "capstan/geometry/tessellate.h"
#include "capstan/io/picture.h"

namespace capstan::drawing {

using Color = Eigen::Vector3f;

inline const Color kPaper(0.965f, 0.97f, 0.98f);  // distant things and ghosts fade to it

// A camera that looks at `target`; lengths of the picture are in pixels, y down.
struct Camera {
  Vec3 target = Vec3::Zero();
  Mat3 R_CW = Mat3::Identity();  // rows: right, up, towards the viewer
  double distance = 0;           // [m] of the eye from the target; 0: orthographic
  double scale = 1;              // [px/m] at the target
  Vec2 center = Vec2::Zero();    // [px] where the target is drawn

  Vec3 view(const Vec3& p_W) const { return R_CW * (p_W - target); }
  Vec2 project(const Vec3& p_W) const {
    const Vec3 p = view(p_W);
    const double s = distance > 0 ? scale * distance / std::max(0.05 * distance, distance - p.z()) : scale;
    return center + s * Vec2(p.x(), -p.y());
  }
  Vec3 eye_W() const { return target + R_CW.transpose() * Vec3(0, 0, distance); }
  // From a point to the viewer, unit.
  Vec3 to_viewer(const Vec3& p_W) const {
    if (distance <= 0) return R_CW.row(2).transpose();
    return (eye_W() - p_W).normalized();
  }
};

struct Item {  // a shape at one state
  const ModelShape* shape;
  Color color;    // base_color()
  Facets facets;  // vertices in the world
};

// The shapes that are to be seen. pixels_per_meter 0: coarse.
std::vector<Item> place_shapes(const Model& model, const State& state, double pixels_per_meter);

// Looks from azimuth and elevation at the middle of the points, as large as fits.
Camera aim(const std::vector<Vec3>& points, const PictureOptions& options);

inline const Vec3 kLight = Vec3(-0.35, -0.55, 0.95).normalized();  // towards the light, world
// Its own, or where it has none and can move one of ten, by body or, in large models, by tree: as in the
// viewer (viewer/page/src/world.ts).
Color base_color(const Model& model, const ModelShape& shape);
// `light` is how much of the lamp comes through, 0 to 1.
Color shade(const Color& base, const Vec3& normal, const Vec3& to_viewer, double light = 1);

}  // namespace capstan::drawing
