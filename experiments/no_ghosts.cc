// Contact only where bodies meet: what slides over seams, flies past corners or spins above a plane keeps its
// speed. And dominoes, which stand where friction is not limited by the normal force of its own step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/math/rotation.h"
#include "experiments/clutter.h"
#include "experiments/programs.h"
#include "experiments/seams.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};  // [s]
constexpr double kKept = 0.995;
constexpr double kPi = std::numbers::pi;

ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape, double mass) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.has_mass = mass > 0;
  if (mass > 0) s.mass = mass;
  return s;
}

void add_body(const std::string& name, const Vec3& position, const Shape& shape, double mass, Scene* scene) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints.push_back(joint);
  scene->bodies.push_back(body);
  scene->shapes.push_back(make_shape(name, name, shape, mass));
}

Scene empty_scene(double friction) {
  Scene scene;
  Material m;
  m.name = "default";
  m.friction = friction;
  scene.materials = {m};
  return scene;
}

// 1 kg slides over 24 coplanar tiles of 20 cm.
Scene tiles(bool ball, double speed) {
  Scene scene = empty_scene(0);
  add_body("body", {0, 0, 0.05}, ball ? Shape(Sphere{0.05}) : Shape(Box{Vec3::Constant(0.05)}), 1, &scene);
  for (int i = 0; i < 24; ++i) {
    scene.shapes.push_back(make_shape(fmt::format("tile{}", i), kWorld, Box{Vec3(0.1, 0.1, 0.05)}, 0));
    scene.shapes.back().pose.position = Vec3(0.2 * i, 0, -0.05);
  }
  scene.initial.v["body"] = {speed, 0, 0, 0, 0, 0};
  return scene;
}

// A ball of 50 mm flies past the edge of a slab, `angle` below the horizontal, and misses it by `clear`.
Scene corner(double angle, double clear, double speed) {
  Scene scene = empty_scene(0.5);
  scene.options.gravity.setZero();
  scene.shapes.push_back(make_shape("slab", kWorld, Box{Vec3(0.5, 0.5, 0.1)}, 0));
  scene.shapes.back().pose.position = Vec3(-0.5, 0, -0.1);
  const Vec3 along(std::cos(angle), 0, -std::sin(angle)), off(std::sin(angle), 0, std::cos(angle));
  add_body("body", (0.05 + clear) * off - 0.3 * along, Sphere{0.05}, 1, &scene);
  scene.initial.v["body"] = {speed * along.x(), 0, speed * along.z(), 0, 0, 0};
  return scene;
}

// A blade of radius 0.2 m spins 5 mm above a plane.
Scene blade() {
  Scene scene = empty_scene(0.5);
  scene.shapes.push_back(make_shape("plane", kWorld, HalfSpace{}, 0));
  add_body("body", {0, 0, 0.205}, Box{Vec3(std::sqrt(0.2 * 0.2 - 0.01 * 0.01), 0.02, 0.01)}, 1, &scene);
  scene.bodies[0].joints[0].type = JointType::revolute;
  scene.bodies[0].joints[0].axis = Vec3(0, 1, 0);
  scene.initial.v["body"] = {60};
  return scene;
}

struct Row {
  const char* what;
  Scene scene;
  double duration, speed;
};

// Returns the part of the speed that is kept; along its first direction, so that turning back is negative.
double speed_kept(const Row& row, ContactLaw law, double dt) {
  Simulation s(row.scene, law, dt);
  const VecX start = s.state.v;
  s.run_until(row.duration);
  return start.dot(s.state.v) / start.squaredNorm();
}

constexpr int kTiles = 50;

// 50 tiles of 8 x 24 x 50 mm stand 30 mm apart; a ball of 30 mm rolls into the first at 1 m/s.
Scene dominoes() {
  Scene scene = empty_scene(0.3);
  scene.shapes.push_back(make_shape("floor", kWorld, HalfSpace{}, 0));
  for (int i = 0; i < kTiles; ++i)
    add_body(fmt::format("tile{}", i), {0.03 * i, 0, 0.025}, Box{Vec3(0.004, 0.012, 0.025)}, 0.0192, &scene);
  add_body("ball", {-0.084, 0, 0.03}, Sphere{0.03}, 2000 * 4 * kPi / 3 * std::pow(0.03, 3), &scene);
  scene.initial.v["ball"] = {1, 0, 0, 0, 1 / 0.03, 0};
  return scene;
}

struct Fall {
  int fallen = 0;
  double last = 0;  // [s] when the last tile is 45 degrees over
  double milliseconds = 0;
};

Fall fall(ContactLaw law, double dt) {
  Simulation s(dominoes(), law, dt);
  const auto is_down = [&](int i) { return rotation_matrix(s.state.q.segment<4>(7 * i + 3))(2, 2) < 0.7; };
  Fall result;
  s.run_until(4, [&] {
    if (result.last == 0 && is_down(kTiles - 1)) result.last = s.state.time;
  });
  for (int i = 0; i < kTiles; ++i) result.fallen += is_down(i);
  result.milliseconds = 1e3 * s.seconds * dt / 4;
  return result;
}

}  // namespace

Result no_ghosts(const Run& run) {
  Result result;
  const Row rows[] = {
      {"box on 24 tiles, 3 m/s", tiles(false, 3), 1, 3},
      {"box on 24 tiles, 0.3 m/s", tiles(false, 0.3), 1, 0.3},
      {"ball on 24 tiles, 3 m/s", tiles(true, 3), 1, 3},
      {"ball past a corner, 30 degrees, 0.2 mm clear, 2 m/s", corner(kPi / 6, 2e-4, 2), 0.31, 2},
      {"ball past a corner, 45 degrees, 5 mm clear, 10 m/s", corner(kPi / 4, 5e-3, 10), 0.06, 10},
      {"blade 5 mm above a plane, 60 rad/s", blade(), 1, 60}};
  Table table{"speed_kept", "Part of the speed that is kept, in percent", {"scene", "law"}, {}};
  for (const double dt : kSteps) table.columns.push_back(fmt::format("dt {:g} ms", 1e3 * dt));
  int done = 0;
  for (const Row& row : rows) {
    double least = 2;
    for (std::size_t l = 0; l < kContactLawNames.size(); ++l) {
      std::vector<std::string> line = {row.what, kContactLawNames[l]};
      for (const double dt : kSteps) {
        const double kept = speed_kept(row, static_cast<ContactLaw>(l), dt);
        least = std::min(least, kept);
        line.push_back(fmt::format("{:.3f}", 100 * kept));
      }
      table.rows.push_back(line);
    }
    result.claim(fmt::format("{}: speed is kept, all laws, dt 1 to 10 ms", row.what), "all of it",
                 fmt::format("{:.3f} % at least", 100 * least), least >= kKept);
    run.tell(0.5 * ++done / 6, row.what);
  }
  result.tables.push_back(table);

  Table domino{"dominoes",
               "Tiles that fall within 4 s, when the last one is 45 degrees over, and the time of a step",
               {"law", "dt [ms]", "fallen of 50", "last [s]", "ms per step"},
               {}};
  double reference = 0;
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::sap}) {
    for (const double dt : {0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01}) {
      if (run.is_short && dt < 0.005) continue;
      const Fall f = fall(law, dt);
      domino.rows.push_back({kContactLawNames[static_cast<int>(law)], fmt::format("{:g}", 1e3 * dt),
                             fmt::format("{}", f.fallen), f.last > 0 ? fmt::format("{:.3f}", f.last) : "",
                             fmt::format("{:.2f}", f.milliseconds)});
      run.tell(0.5 + 0.025 * static_cast<double>(domino.rows.size()), "dominoes");
      if (law != ContactLaw::coulomb) continue;
      result.claim(fmt::format("coulomb: all dominoes fall at dt {:g} ms", 1e3 * dt), "50",
                   fmt::format("{}", f.fallen), f.fallen == kTiles);
      if (reference == 0) {
        reference = f.last;
      } else if (dt <= 0.005 && !run.is_short) {
        result.claim(fmt::format("coulomb: the last one falls when it does at 0.1 ms, dt {:g} ms", 1e3 * dt),
                     "within 5 %", fmt::format("{:+.1f} %", 100 * (f.last / reference - 1)),
                     std::abs(f.last / reference - 1) < 0.05);
      }
    }
  }
  result.tables.push_back(domino);

  Table heaps{"heaps",
              "What the laws take in heaps: clutter that falls into a box, the first 3 s at 10 ms",
              {"bodies", "law", "ms per step", "deepest [mm]"},
              {}};
  for (const int bodies : {40, 160}) {
    if (run.is_short && bodies > 40) continue;
    ClutterOptions options;
    options.num_bodies = bodies;
    options.stiffness = 1e6;
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::sap}) {
      Simulation s(clutter_scene(options), law, 0.01);
      double deepest = 0;
      s.run_until(3, [&] { deepest = std::max(deepest, s.report.deepest); });
      heaps.rows.push_back({fmt::format("{}", bodies), kContactLawNames[static_cast<int>(law)],
                            fmt::format("{:.2f}", 1e3 * s.seconds * 0.01 / 3),
                            fmt::format("{:.1f}", 1e3 * deepest)});
    }
  }
  result.tables.push_back(heaps);
  film_seams(run, &result);
  result.remarks.push_back(
      "[The gauntlet](gauntlet.md#no-ghosts) has scenes of this kind beside MuJoCo, Bullet, ODE, DART and "
      "Drake; "
      "[random meetings](meetings.md) has pairs of shapes that pass and hit each other. Stiction tolerance "
      "and sigma "
      "are those of the papers, 1e-4 m/s and 1e-3, the defaults 1e-6 m/s and 1e-5. Times are of the "
      "processor, on a "
      "machine that other programs share.");
  return result;
}

}  // namespace capstan::experiments
