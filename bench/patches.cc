// Patches of pressure fields on the scenes of ../shared/peers_soft.md, section 3, with CPU time per step:
//
//   P1  a ball of 1 kg and 5 cm at rest on a rigid plane: its depth against that of the field, 1 ms
//   P2  boxes of 10 cm and 1 kg, E 1e7 Pa, mu 0.5, 20 s/m, on rigid ground, 10 ms: 90 scattered, a heap of 40
//       between walls, each for its time and how fast it still is at the end
//   P3  a box that spins at 10 rad/s on a rigid plane: its deceleration against -112.60 rad/s^2
//   mug      two pads hold a mug, a rigid mesh, at its handle's sides and shake it up and down, 5 ms
//   statics  forces of pairs of shapes in fixed poses, with the poses, for others to compare
//
//     patches [P1] [scattered] [heap] [P3] [mug] [statics]      those scenes alone; bench/patch_peers.py has
//     patches mug=FILE.obj                                      Drake in between; the mug as a file, too
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numbers>

#include "bench/peers/scene.h"
#include "capstan/contacts/contacts.h"
#include "capstan/geometry/collide.h"
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

// A cup of 80 x 90 mm with walls of 4 mm, upright about the origin, and the square bow of its handle.
std::shared_ptr<TriangleMesh> make_mug() {
  constexpr int kSectors = 64, kBow = 12;
  constexpr double kOuter = 0.04, kInner = 0.036, kBottom = -0.045, kTop = 0.045, kFloor = -0.039;
  auto mesh = std::make_shared<TriangleMesh>();
  const auto add_quad = [&](int a, int b, int c, int d) {
    mesh->triangles.push_back({a, b, c});
    mesh->triangles.push_back({a, c, d});
  };
  // Rings from the middle of the bottom up the outside and down the inside to the middle of the floor.
  std::vector<std::pair<double, double>> profile = {{0.02, kBottom}};
  for (int k = 0; k <= 12; ++k) profile.push_back({kOuter, kBottom + (kTop - kBottom) * k / 12});
  for (int k = 0; k <= 12; ++k) profile.push_back({kInner, kTop + (kFloor - kTop) * k / 12});
  profile.push_back({0.02, kFloor});
  for (const auto& [r, z] : profile) {
    for (int i = 0; i < kSectors; ++i) {
      const double t = 2 * std::numbers::pi * i / kSectors;
      mesh->vertices.push_back({r * std::cos(t), r * std::sin(t), z});
    }
  }
  const int rings = static_cast<int>(profile.size());
  for (int k = 0; k + 1 < rings; ++k) {
    for (int i = 0; i < kSectors; ++i) {
      const int next = (i + 1) % kSectors;
      add_quad(k * kSectors + i, k * kSectors + next, (k + 1) * kSectors + next, (k + 1) * kSectors + i);
    }
  }
  for (const int k : {0, rings - 1}) {
    const int middle = static_cast<int>(mesh->vertices.size());
    mesh->vertices.push_back({0, 0, profile[k].second});
    for (int i = 0; i < kSectors; ++i) {
      const int a = k * kSectors + i, b = k * kSectors + (i + 1) % kSectors;
      mesh->triangles.push_back(k == 0 ? std::array{b, a, middle} : std::array{a, b, middle});
    }
  }
  const int first = static_cast<int>(mesh->vertices.size());
  for (int k = 0; k <= kBow; ++k) {
    const double t = std::numbers::pi * (k / double{kBow} - 0.5), c = std::cos(t), s = std::sin(t);
    for (const auto& [out, y] : {std::pair(-0.004, -0.006), {0.004, -0.006}, {0.004, 0.006}, {-0.004, 0.006}})
      mesh->vertices.push_back({0.0385 + (0.025 + out) * c, y, (0.025 + out) * s});
  }
  for (int k = 0; k < kBow; ++k) {
    for (int i = 0; i < 4; ++i) {
      const int a = first + 4 * k + i, b = first + 4 * k + (i + 1) % 4;
      add_quad(b, a, a + 4, b + 4);
    }
  }
  add_quad(first, first + 1, first + 2, first + 3);
  const int last = first + 4 * kBow;
  add_quad(last + 3, last + 2, last + 1, last);
  return mesh;
}

void write_mug(const char* path) {
  const auto mesh = make_mug();
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (const Vec3& v : mesh->vertices) std::fprintf(file, "v %.9g %.9g %.9g\n", v.x(), v.y(), v.z());
  for (const auto& [a, b, c] : mesh->triangles) std::fprintf(file, "f %d %d %d\n", a + 1, b + 1, c + 1);
  std::fclose(file);
}

void grip_mug() {
  constexpr double kDt = 0.005, kDuration = 3, kSwing = 0.05;
  Scene scene;
  add_material("soft", 1e6, 20, &scene);
  add_material("rigid", kInfinity, 20, &scene);
  const auto slide = [](const char* name, const Vec3& axis) {
    Joint joint;
    joint.name = name;
    joint.type = JointType::prismatic;
    joint.axis = axis;
    return joint;
  };
  add_body("mug", SurfaceMesh{make_mug()}, {}, &scene);
  scene.shapes.back().material = "rigid";
  scene.bodies.back().inertia = Inertia{.mass = 0.3, .about_com = 4e-4 * Mat3::Identity()};
  add_body("palm", Box{Vec3::Constant(0.01)}, {{0, 0, 0.2}, {1, 0, 0, 0}}, &scene);
  scene.bodies.back().joints = {slide("lift", Vec3::UnitZ())};
  scene.shapes.back().collides = false;
  for (const double side : {-1.0, 1.0}) {
    const std::string name = side < 0 ? "left" : "right";
    add_body(name, Box{Vec3(0.02, 0.01, 0.02)}, {{0, side * 0.0495, -0.2}, {1, 0, 0, 0}}, &scene);
    scene.bodies.back().parent = "palm";
    scene.bodies.back().joints = {slide(name.c_str(), -side * Vec3::UnitY())};
    scene.shapes.back().mass = 0.2;
    Actuator grip;
    grip.name = grip.joint = name;
    grip.control = 20;
    scene.actuators.push_back(grip);
  }
  Actuator lift;
  lift.name = lift.joint = "lift";
  lift.gain = 1e4;
  lift.bias = Vec3(0, -1e4, -200);
  scene.actuators.push_back(lift);
  Timed run(scene, kDt);
  const auto dof = [&](const char* name) { return run.model.joints[run.model.find_joint(name)].q; };
  const int z = dof("mug") + 2, palm = dof("lift");
  double mean = 0, worst = 0, points = 0, slip = 0;
  const int steps = static_cast<int>(std::lround(kDuration / kDt));
  for (int i = 0; i < steps; ++i) {
    run.state.control[2] = kSwing * (1 - std::cos(2 * std::numbers::pi * kDt * (i + 1)));
    const double begin = cpu_seconds();
    const Report report = step(run.model, run.options, {}, &run.state, &run.workspace);
    const double time = 1e3 * (cpu_seconds() - begin);
    mean += time / steps, points += static_cast<double>(report.contacts) / steps;
    worst = std::max(worst, time);
  }
  slip = run.state.q[z] - run.state.q[palm];
  std::printf("| mug | Capstan | %.3f ms, worst %.2f; %.0f points; the mug slips %.3f mm in %g s |\n", mean,
              worst, points, -1e3 * slip, kDuration);
}

// Five poses of each pair: a shape above another one, turned at random, that overlaps it by 3 to 9 mm.
// Rows: names, pose, position and quaternion of the upper one, force on it and its moment about the origin.
void statics() {
  struct Pair {
    const char* name;
    Shape upper, lower;
    double modulus_upper, modulus_lower;
  };
  const Box brick{Vec3(0.03, 0.05, 0.07)}, block{Vec3::Constant(0.08)};
  const Pair pairs[] = {
      {"brick_plane", brick, HalfSpace{}, 1e6, kInfinity},
      {"brick_block", brick, block, 1e6, 3e6},
      {"brick_rigid_block", brick, block, 1e6, kInfinity},
      {"rigid_brick_layer", brick, HalfSpace{}, kInfinity, 1e6},
      {"ball_plane", Sphere{0.05}, HalfSpace{}, 1e6, kInfinity},
      {"ball_block", Sphere{0.05}, block, 1e6, 3e6},
      {"cylinder_plane", Cylinder{0.05, 0.06}, HalfSpace{}, 1e6, kInfinity},
      {"capsule_plane", Capsule{0.04, 0.06}, HalfSpace{}, 1e6, kInfinity},
      {"ellipsoid_plane", Ellipsoid{Vec3(0.03, 0.05, 0.07)}, HalfSpace{}, 1e6, kInfinity},
  };
  for (const Pair& pair : pairs) {
    for (int k = 0; k < 5; ++k) {
      const auto u = [&](int j) { return 2 * bench::uniform(k, j, 0) - 1; };
      Scene scene;
      add_material("upper", pair.modulus_upper, 0, &scene);
      add_material("lower", pair.modulus_lower, 0, &scene);
      add_shape("lower", kWorld, pair.lower, "lower", &scene);
      Pose pose{{0.02 * u(0), 0.02 * u(1), 1},
                quat_from_axis_angle(Vec3(u(2), u(3), u(4)).normalized(), 3 * u(5))};
      const Transform X = to_transform(pose);
      pose.position.z() -=
          signed_distance(make_collider(pair.upper), X, make_collider(pair.lower), {}) + 0.003 * (2 + u(6));
      add_body("upper", pair.upper, pose, &scene);
      scene.shapes.back().material = "upper";
      for (ShapeInstance& shape : scene.shapes) shape.patch.rings = 8;
      const Model model = compile(scene);
      Placement placement = make_placement(model);
      calc_placement(model, initial_state(model).q, &placement);
      Contacts c;
      collide_all_pairs(model, placement, &c);
      Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
      for (int i = 0; i < c.size(); ++i) {
        const double f = c.material[i].stiffness * std::max(0.0, -c.distance[i]);
        force += f * c.normal[i];
        moment += f * cross(c.p_WC[i], c.normal[i]);
      }
      const Vec3& p = pose.position;
      const Vec4& q = pose.quat_wxyz;
      std::printf("| statics %s | Capstan | %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g", pair.name, k, p[0],
                  p[1], p[2], q[0], q[1], q[2], q[3]);
      std::printf(" %.9g %.9g %.9g %.9g %.9g %.9g |\n", force[0], force[1], force[2], moment[0], moment[1],
                  moment[2]);
    }
  }
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
  if (asked("mug")) grip_mug();
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "mug=", 4) == 0) write_mug(argv[i] + 4);
  }
  if (asked("statics")) statics();
  return 0;
}
