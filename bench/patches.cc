// Patches of pressure fields on the scenes of ../shared/peers_soft.md, section 3, with CPU time per step:
//
//   P1  a ball of 1 kg and 5 cm at rest on a rigid plane: its depth against that of the field, 1 ms
//   P2  boxes of 10 cm and 1 kg, E 1e7 Pa, mu 0.5, 20 s/m, on rigid ground, 10 ms: 90 scattered, a heap of 40
//       between walls, each for its time and how fast it still is at the end
//   P3  a box that spins at 10 rad/s on a rigid plane: its deceleration against -112.60 rad/s^2
//
//     patches [P1] [scattered] [heap] [P3]      those scenes alone; bench/patch_peers.py has Drake in between
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numbers>

#include "bench/peers/scene.h"
#include "capstan/math/rotation.h"
#include "capstan/step/step.h"

namespace {

using namespace capstan;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void add_material(const char* name, double modulus, double dissipation, Scene* scene) {
  Material m;
  m.name = name;
  m.contact = ContactModel::patch;
  m.elastic_modulus = modulus;
  m.dissipation = dissipation;
  scene->materials.push_back(m);
}

ShapeInstance& add_shape(const std::string& name, const std::string& body, const Shape& shape,
                         const char* material, Scene* scene) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.material = material;
  s.mass = 1;
  scene->shapes.push_back(s);
  return scene->shapes.back();
}

void add_body(const std::string& name, const Shape& shape, const Pose& pose, Scene* scene) {
  Body body;
  body.name = name;
  body.pose = pose;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints = {joint};
  scene->bodies.push_back(body);
  add_shape(name, name, shape, "soft", scene);
}

Scene plain_scene(double modulus, double dissipation) {
  Scene scene;
  add_material("soft", modulus, dissipation, &scene);
  add_material("rigid", kInfinity, dissipation, &scene);
  add_shape("ground", kWorld, HalfSpace{}, "rigid", &scene);
  return scene;
}

struct Timed {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  double mean = 0, second_half = 0, worst = 0;  // [ms]
  double contacts = 0;                          // mean of the second half

  Timed(const Scene& scene, double dt)
      : model(compile(scene)), state(initial_state(model)), workspace(make_workspace(model)) {
    options = step_options(model);
    options.dt = dt;
    options.judge = false;
    options.threads = 1;
  }
  void go(double duration) {
    const int steps = static_cast<int>(std::lround(duration / options.dt));
    for (int i = 0; i < steps; ++i) {
      const double begin = cpu_seconds();
      const Report report = step(model, options, {}, &state, &workspace);
      const double time = 1e3 * (cpu_seconds() - begin);
      mean += time / steps;
      worst = std::max(worst, time);
      if (i < steps / 2) continue;
      second_half += time / (steps - steps / 2);
      contacts += static_cast<double>(report.contacts) / (steps - steps / 2);
    }
  }
};

double exact_depth(double E, double R, double force) {
  double low = 0, high = R;
  for (int i = 0; i < 200; ++i) {
    const double d = (low + high) / 2, h = R - d;
    const double f =
        E * std::numbers::pi * (R * R - h * h) - 2 * std::numbers::pi * E * (R * R * R - h * h * h) / (3 * R);
    (f < force ? low : high) = d;
  }
  return low;
}

void rest_depth(double E, int rings) {
  Scene scene = plain_scene(E, 20);
  const double exact = exact_depth(E, 0.05, 9.81);
  add_body("ball", Sphere{0.05}, {{0, 0, 0.05 - 0.9 * exact}, {1, 0, 0, 0}}, &scene);
  scene.shapes.back().patch.rings = rings;
  Timed settling(scene, 0.001), run(scene, 0.001);
  settling.go(0.02);
  run.go(2);
  const double depth = 0.05 - run.state.q[2];
  std::printf(
      "| P1 E %.0e | Capstan, %d rings | %.4f mm (exact %.4f, %+.2f %%), %d points, %.4f ms at rest, %.4f "
      "while it settles |\n",
      E, rings, 1e3 * depth, 1e3 * exact, 100 * (depth / exact - 1), run.workspace.contacts.size(),
      run.second_half, settling.mean);
}

Vec4 turn_of(int i) {
  const auto u = [&](int k) { return 2 * bench::uniform(i, k, 0) - 1; };
  return quat_from_axis_angle(Vec3(u(2), u(3), u(4)).normalized(), 0.15 * u(5));
}

Scene scattered(int count) {
  Scene scene = plain_scene(1e7, 20);
  for (int i = 0; i < count; ++i)
    add_body("box" + std::to_string(i), Box{Vec3::Constant(0.05)},
             {{0.25 * (i % 10), 0.25 * (i / 10), 0.08}, turn_of(i)}, &scene);
  return scene;
}

Scene heap(int count) {
  Scene scene = plain_scene(1e7, 20);
  for (int side = 0; side < 4; ++side) {
    const double s = side < 2 ? 1 : -1;
    const bool along_x = side % 2 == 0;
    add_shape("wall" + std::to_string(side), kWorld,
              Box{along_x ? Vec3(0.05, 0.5, 0.4) : Vec3(0.4, 0.05, 0.4)}, "rigid", &scene)
        .pose.position = Vec3(along_x ? 0.45 * s : 0, along_x ? 0 : 0.45 * s, 0.4);
  }
  for (int i = 0; i < count; ++i) {
    const int c = i % 4;
    const auto wobble = [&](int k) { return 0.01 * (2 * bench::uniform(i, k, 0) - 1); };
    add_body("box" + std::to_string(i), Box{Vec3::Constant(0.05)},
             {{(c & 1 ? 0.2 : -0.2) + wobble(0), (c & 2 ? 0.2 : -0.2) + wobble(1), 0.15 + 0.12 * (i / 4)},
              turn_of(i)},
             &scene);
  }
  return scene;
}

void pile(const char* name, const Scene& scene, double duration, int most_points) {
  Scene reduced = scene;
  for (ShapeInstance& shape : reduced.shapes) shape.patch.points = most_points;
  Timed run(reduced, 0.01);
  run.go(duration);
  int below = 0;
  for (int i = 0; i < static_cast<int>(run.model.joints.size()); ++i) below += run.state.q[7 * i + 2] < 0;
  const std::string points =
      most_points > 0 ? ", at most " + std::to_string(most_points) + " points a patch" : "";
  std::printf(
      "| P2 %s | Capstan%s | %.3f ms, %.3f in the second half, %.2f worst; %.0f points; fastest %.1e at the "
      "end, %d below the floor |\n",
      name, points.c_str(), run.mean, run.second_half, run.worst, run.contacts,
      run.state.v.cwiseAbs().maxCoeff(), below);
}

void spin(double dt) {
  Scene scene = plain_scene(1e7, 20);
  add_body("box", Box{Vec3::Constant(0.05)}, {{0, 0, 0.05 - 9.81 * 0.05 / 1e5}, {1, 0, 0, 0}}, &scene);
  Timed run(scene, dt);
  run.state.v[5] = 10;
  run.go(0.05);
  const double a = (run.state.v[5] - 10) / 0.05, exact = -0.5 * 9.81 * 0.0382598 * 600;
  run.go(0.1);
  std::printf(
      "| P3 dt %g ms | Capstan | %.2f rad/s^2 (exact %.2f, %+.2f %%), %d points, %.1e rad/s after it stopped "
      "|\n",
      1e3 * dt, a, exact, 100 * (a / exact - 1), run.workspace.contacts.size(), run.state.v[5]);
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* name) {
    return argc < 2 ||
           std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::strcmp(a, name) == 0; });
  };
  if (asked("P1")) {
    for (const double E : {1e6, 1e7}) {
      for (const int rings : {3, 6}) rest_depth(E, rings);
    }
    for (const int rings : {2, 4, 8}) rest_depth(1e7, rings);
  }
  if (asked("scattered")) pile("scattered 90", scattered(90), 2, 0);
  if (asked("heap")) {
    pile("heap 40", heap(40), 3, 0);
    pile("heap 40", heap(40), 3, 8);
  }
  if (asked("P3")) {
    spin(0.001);
    spin(0.01);
  }
  return 0;
}
