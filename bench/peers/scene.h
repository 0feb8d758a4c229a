// The scenes that all engines simulate, as plain numbers: one definition for every program of this folder.
//
// Random numbers: U(i, j) = splitmix64(8 i + j) >> 11, times 2^-53; a seed s > 0 takes 8 (i + 1000003 s) + j.
// Bodies are boxes (10 cm, 1 kg) and balls (radius 5 cm, 0.524 kg) unless a scene says otherwise. SI units, z
// up.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

using Vec = std::array<double, 3>;

inline std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

inline double uniform(std::uint64_t i, std::uint64_t j, std::uint64_t seed = 0) {
  return static_cast<double>(splitmix64(8 * (i + 1000003 * seed) + j) >> 11) * 0x1p-53;
}

struct Body {
  bool is_box = true;
  Vec half = {0.05, 0.05, 0.05};  // [m] half sides of a box; half[0] is a ball's radius
  double mass = 1;                // [kg]
  Vec position = {0, 0, 0};       // [m]
  std::array<double, 4> quat_wxyz = {1, 0, 0, 0};
};

struct StaticBox {
  Vec centre, half;  // [m]
};

struct BallJoint {  // two bodies keep the point `anchor` in common; b < 0: the world
  int a = 0, b = -1;
  Vec anchor;  // [m] in the world, at the start
};

struct Scene {
  std::string name;
  double dt = 0.01, duration = 10;  // [s]
  Vec gravity = {0, 0, -9.81};      // [m/s^2]
  double friction = 1;              // mu of every contact
  bool plane = false;               // the ground z = 0
  std::vector<StaticBox> statics;
  std::vector<Body> bodies;
  std::vector<BallJoint> joints;
  double held_speed = 0;   // [m/s] if not 0: body 0 is given this velocity along x before every step
  double start_speed = 0;  // [m/s] likewise, before the first step alone

  // Articulated scenes instead have a model: `copies` of an MJCF file, `spacing` apart in rows of ten, at a
  // keyframe of it. Empty: none.
  std::string model_file, keyframe;
  int copies = 1;
  double spacing = 2.5;              // [m]
  std::vector<std::string> tracked;  // names of the bodies whose poses are recorded; filled in by the harness
};

inline Body ball(const Vec& position) {
  return {false, {0.05, 0.05, 0.05}, 0.524, position, {1, 0, 0, 0}};
}

// A box turned a little, at random.
inline Body turned_box(const Vec& position, int i, std::uint64_t seed) {
  const auto centred = [&](int j) { return 2 * uniform(i, j, seed) - 1; };
  const Vec axis = {centred(2), centred(3), centred(4)};
  const double angle = 0.15 * centred(5);
  const double s = std::sin(angle / 2) / std::hypot(axis[0], axis[1], axis[2]);
  Body body;
  body.position = position;
  body.quat_wxyz = {std::cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]};
  return body;
}

// Boxes and balls fall in four columns, with or without a box about them. At N = 1000 the heap is higher than
// the walls.
inline Scene clutter(int n, bool walls, std::uint64_t seed) {
  Scene scene;
  scene.plane = !walls;
  if (walls) {
    scene.statics = {{{0, 0, -0.5}, {5, 5, 0.5}},
                     {{0.45, 0, 0.4}, {0.05, 0.5, 0.4}},
                     {{-0.45, 0, 0.4}, {0.05, 0.5, 0.4}},
                     {{0, 0.45, 0.4}, {0.4, 0.05, 0.4}},
                     {{0, -0.45, 0.4}, {0.4, 0.05, 0.4}}};
  }
  for (int i = 0; i < n; ++i) {
    const int c = i % 4, k = i / 4;
    const Vec position = {((c & 1) ? 0.2 : -0.2) + 0.01 * (2 * uniform(i, 0, seed) - 1),
                          ((c & 2) ? 0.2 : -0.2) + 0.01 * (2 * uniform(i, 1, seed) - 1), 0.15 + 0.12 * k};
    scene.bodies.push_back((k + c) % 2 == 0 ? ball(position) : turned_box(position, i, seed));
  }
  return scene;
}

// Ten boxes on each other; `offset` shifts them to and fro, `top_mass` is that of the last.
inline Scene stack(int n, double offset, double top_mass) {
  Scene scene;
  scene.dt = 0.002, scene.duration = 5;
  scene.plane = true;
  for (int i = 0; i < n; ++i) {
    Body body;
    body.position = {i % 2 == 0 ? offset : -offset, i / 2 % 2 == 0 ? offset : -offset, 0.05 + 0.1 * i};
    scene.bodies.push_back(body);
  }
  scene.bodies.back().mass = top_mass;
  return scene;
}

// Rows of n, n-1, ..., 1 boxes, each over the gap of two below; 1 cm between neighbours.
inline Scene pyramid(int n) {
  Scene scene;
  scene.dt = 0.002, scene.duration = 5;
  scene.plane = true;
  for (int row = 0; row < n; ++row) {
    for (int i = 0; i < n - row; ++i) {
      Body body;
      body.position = {0.11 * (i - 0.5 * (n - row - 1)), 0, 0.05 + 0.1 * row};
      scene.bodies.push_back(body);
    }
  }
  return scene;
}

// One box on the plane under gravity turned by atan(0.5) + `degrees`: mu is 0.5, so below 0 it must stick.
inline Scene incline(double degrees) {
  Scene scene = stack(1, 0, 1);
  const double angle = std::atan(0.5) + degrees * 3.14159265358979323846 / 180;
  scene.friction = 0.5;
  scene.gravity = {9.81 * std::sin(angle), 0, -9.81 * std::cos(angle)};
  return scene;
}

// A box that slides at a held 1 m/s: its height over the plane tells whether sliding lifts it.
inline Scene glide() {
  Scene scene = stack(1, 0, 1);
  scene.dt = 0.01, scene.duration = 3;
  scene.friction = 0.7;
  scene.held_speed = 1;
  return scene;
}

// A box or a ball slides over 24 coplanar tiles of 20 cm without friction, for 1 s: it keeps its speed.
inline Scene tiles(double speed, bool is_box) {
  Scene scene = stack(1, 0, 1);
  scene.dt = 0.005, scene.duration = 1;
  scene.plane = false;
  scene.friction = 0;
  scene.start_speed = speed;
  scene.bodies[0].is_box = is_box;
  for (int i = 0; i < 24; ++i) scene.statics.push_back({{0.2 * i, 0, -0.05}, {0.1, 0.1, 0.05}});
  return scene;
}

// 50 tiles stand in a row, 30 mm apart; a ball of 30 mm rolls into the first at about 1 m/s.
inline Scene dominoes() {
  Scene scene;
  scene.dt = 0.005, scene.duration = 4;
  scene.plane = true;
  scene.friction = 0.3;
  scene.start_speed = 1;
  Body rolling = ball({-0.084, 0, 0.03});
  rolling.half = {0.03, 0.03, 0.03};
  rolling.mass = 0.2262;
  scene.bodies.push_back(rolling);
  for (int i = 0; i < 50; ++i) {
    Body tile;
    tile.half = {0.004, 0.012, 0.025};
    tile.mass = 0.0192;
    tile.position = {0.03 * i, 0, 0.025};
    scene.bodies.push_back(tile);
  }
  return scene;
}

// n boxes dropped 2 cm onto the plane, 0.5 m apart: as many islands.
inline Scene scattered(int n, std::uint64_t seed) {
  Scene scene;
  scene.dt = 0.01, scene.duration = 3;
  scene.plane = true;
  const int side = static_cast<int>(std::ceil(std::sqrt(n)));
  for (int i = 0; i < n; ++i) {
    const Body body = turned_box({0.5 * (i % side), 0.5 * (i / side), 0.08}, i, seed);
    scene.bodies.push_back(body);
  }
  return scene;
}

// n balls (radius 4 cm, 1 kg) joined in a line of 10 cm links that hangs from the world with 100 kg at its
// end, let go 20 degrees from the vertical: a chain under tension. Nothing touches. (Links much lighter or
// shorter would turn faster under this tension than any time step of 2 ms can follow: omega^2 = T l/2 / I.)
inline Scene chain(int n) {
  Scene scene;
  scene.dt = 0.002, scene.duration = 3;
  const double link = 0.1, angle = 20 * 3.14159265358979323846 / 180;
  const auto along = [&](double s) { return Vec{s * std::sin(angle), 0, -s * std::cos(angle)}; };
  for (int i = 0; i < n; ++i) {
    Body body = ball(along(link * (i + 0.5)));
    body.half = {0.04, 0.04, 0.04};
    body.mass = i + 1 == n ? 100 : 1;
    scene.bodies.push_back(body);
    scene.joints.push_back({i, i - 1, along(link * i)});
  }
  return scene;
}

}  // namespace bench
