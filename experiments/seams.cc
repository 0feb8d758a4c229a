#include "experiments/seams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capstan/io/picture.h"
#include "capstan/io/read.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

struct Crossing {
  const char* scene;       // of bench/gauntlet/scenes
  const char* what;        // moves
  double first, distance;  // [m] where seams are along x: first + k distance
  double acceleration;     // [m/s^2] along x, without seams
  double most_lost;  // of the speed that it should have; below 0: none is claimed (the facets of a wheel)
};
const Crossing kCrossings[] = {
    {"marble_run", "marble on 50 boxes and meshes by turns", 0.05, 0.1, 9.81 * 0.0871557427, 0.005},
    {"ball_over_fields_and_boxes", "ball over boxes and height fields by turns", 0.25, 0.5, 0, 0.005},
    {"foot_over_tiles", "foot of two boxes and a capsule on tiles", 0.1, 0.2, 0, 0.005},
    {"faceted_wheel_on_tiles", "wheel of 36 facets on tiles", 0.1, 0.2, 0, -1},
};
constexpr double kStep = 0.005;    // [s]
constexpr int kPictures = 4;       // of one seam, from 60 mm before it to 60 mm after it
constexpr double kBesides = 0.06;  // [m]

// The scene without what is far from x [m], and with the parts of its floor in two shades.
Scene close_up(Scene scene, double x, double reach) {
  std::erase_if(scene.shapes, [&](const ShapeInstance& shape) {
    return shape.body == kWorld && std::abs(shape.pose.position.x() - x) > reach;
  });
  int i = 0;
  for (ShapeInstance& shape : scene.shapes) {
    const float shade = ++i % 2 ? 0.62f : 0.78f;
    shape.rgba = {shade, shade, shade, 1};
    if (shape.body != kWorld) shape.rgba = {0.8f, 0.35f, 0.15f, 1};
  }
  return scene;
}

void film(const Crossing& c, Result* result) {
  const Scene scene =
      read_scene(fmt::format("{}/bench/gauntlet/scenes/{}.yaml", CAPSTAN_SOURCE_DIR, c.scene));
  Simulation s(scene, ContactLaw::coulomb, kStep);
  Series speed{"speed", {}, {}, LineStyle::solid}, height{"height", {}, {}, LineStyle::solid};
  const double start = s.state.v[0], ground = s.state.q[2];
  double least = 1, most_high = 0;
  std::vector<State> states;
  s.run_until(scene.options.duration, [&] {
    const double expected = start + c.acceleration * s.state.time;
    states.push_back(s.state);
    speed.x.push_back(s.state.q[0]);
    speed.y.push_back(100 * s.state.v[0] / expected);
    height.x.push_back(s.state.q[0]);
    height.y.push_back(1e3 * (s.state.q[2] - ground));
    least = std::min(least, s.state.v[0] / expected);
    most_high = std::max(most_high, std::abs(s.state.q[2] - ground));
  });
  // The seam nearest to the middle of the way.
  const double way = s.state.q[0];
  const double seam = c.first + c.distance * std::round((way / 2 - c.first) / c.distance);
  const Scene near = close_up(scene, seam, 0.75 * c.distance + 0.01);
  const Model model = compile(near);
  std::vector<std::string> pictures;
  for (int k = 0; k < kPictures; ++k) {
    const double x = seam + kBesides * (2.0 * k / (kPictures - 1) - 1);
    const auto at = std::find_if(states.begin(), states.end(), [&](const State& st) { return st.q[0] >= x; });
    if (at == states.end()) break;
    PictureOptions options;
    options.width = 480, options.height = 300;
    options.azimuth = 0.35, options.elevation = 0.2;
    options.title = fmt::format("{:.3f} s", at->time);
    pictures.push_back(draw_picture(model, {*at}, options));
  }
  result->figure(fmt::format("{}_seam", c.scene),
                 fmt::format("A seam is passed: {}; dt {:g} ms", c.what, 1e3 * kStep),
                 arrange(pictures, 2, 480, 300));
  PlotOptions plot;
  plot.width = 960, plot.height = 260;
  plot.x_label = "way [m]";
  plot.y_label = "speed [% of that without seams]";
  std::vector<std::string> plots;
  const double low = std::min(99.0, 100 * least - 1);
  plot.y_range = PlotRange{low, 101};
  plots.push_back(draw_plot({speed}, plot));
  plot.y_label = "height over that at the start [mm]";
  plot.y_range.reset();
  plots.push_back(draw_plot({height}, plot));
  const int seams = static_cast<int>(std::floor((way - c.first) / c.distance)) + 1;
  result->figure(fmt::format("{}_way", c.scene),
                 fmt::format("Along the way, over {} seams: {}; dt {:g} ms", seams, c.what, 1e3 * kStep),
                 arrange(plots, 1, 960, 260));
  if (c.most_lost < 0) return;
  result->claim(fmt::format("{}: speed is kept over {} seams, dt {:g} ms", c.what, seams, 1e3 * kStep),
                fmt::format("within {:g} %", 100 * c.most_lost),
                fmt::format("{:.3f} % at least, height within {:.3f} mm", 100 * least, 1e3 * most_high),
                least >= 1 - c.most_lost);
}

}  // namespace

void film_seams(const Run& run, Result* result) {
  for (const Crossing& c : kCrossings) {
    run.tell(0.95, c.what);
    film(c, result);
  }
}

}  // namespace capstan::experiments
