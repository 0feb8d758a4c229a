// A scene that says nothing of stiffness holds what rests on it, from a grain to a tower: cubes of 1 mm and
// 1 mg to 100 m and 1e9 kg, alone and in stacks of ten with mass ratios of 1000, at every time step. What is
// asked of each: a depth below 1e-3 of its size, that of the springs to 1 %, and rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "capstan/contacts/contacts.h"
#include "capstan/io/read.h"
#include "capstan/physics/physics.h"
#include "tests/support/contact_simulation.h"

namespace capstan::scale_test {
namespace {

using namespace test;

constexpr double kSizes[] = {1e-3, 1e-2, 0.1, 1, 10, 100};  // [m]
constexpr double kDts[] = {0.001, 0.005, 0.01};             // [s]

double water(double size) {
  return 1000 * size * size * size;
}

// Cubes of one size on top of each other, the first at the bottom; all just touch.
Scene stack(double size, const std::vector<double>& masses) {
  Scene scene;
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{})};
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const std::string name = "cube" + std::to_string(i);
    scene.bodies.push_back(free_body(name, Vec3(0, 0, (0.5 + static_cast<double>(i)) * size)));
    scene.shapes.push_back(make_shape(name, name, Box{Vec3::Constant(size / 2)}, masses[i]));
  }
  return scene;
}

// All in units of the size, and of the speed that a fall by it gives.
struct Rest {
  double depth = 0;           // of the deepest contact
  double by_springs = 0;      // what four springs under the weight above say
  double error = 0;           // largest difference of the two over by_springs, of all contacts
  double speed = 0, way = 0;  // largest of all; way: across
};

Rest calc_rest(double size, double dt, const std::vector<double>& masses) {
  Simulation run(stack(size, masses), dt, ContactLaw::regularized_lagged);
  run.options.newton.relative_tolerance = 1e-5;  // the scene format's
  run.go(1 + 0.15 * size);  // Hunt-Crossley: what sinks by x gets there in a time d x, 2.5 s for the largest
  Rest rest;
  double below = 0;  // height of the surface that the next one stands on
  double weight = kGravity * std::accumulate(masses.begin(), masses.end(), 0.0);
  for (int i = 0; i < static_cast<int>(masses.size()); ++i) {
    const Vec3 p = run.state.q.segment<3>(7 * i);
    const double depth = (below - (p.z() - size / 2)) / size;
    const double k = combine_materials(run.model, i, i + 1).stiffness;
    const double by_springs = weight / (4 * k) / size;
    if (depth > rest.depth) rest.depth = depth, rest.by_springs = by_springs;
    // One bit of the height is as much as 1e-3 of the depth of a grain in a stack.
    const double round_off = 1e-15 * static_cast<double>(masses.size());
    rest.error = std::max(rest.error, std::max(0.0, std::abs(depth - by_springs) - round_off) / by_springs);
    rest.way = std::max(rest.way, p.head<2>().norm() / size);
    rest.speed = std::max(rest.speed, run.state.v.segment<3>(6 * i).norm() / std::sqrt(2 * kGravity * size));
    below = p.z() + size / 2;
    weight -= kGravity * masses[i];
  }
  return rest;
}

void check_rest(const char* what, double size, double dt, const std::vector<double>& masses) {
  const Rest rest = calc_rest(size, dt, masses);
  std::printf("%-18s %6g m %3g ms: depth %.1e of the size, %.0e off, speed %.0e, %.0e across\n", what, size,
              1e3 * dt, rest.depth, rest.error, rest.speed, rest.way);
  const std::string where = std::string(what) + " of " + std::to_string(size) + " m, " + std::to_string(dt);
  EXPECT_LT(rest.depth, 1e-3) << where;
  EXPECT_LT(rest.error, 0.01) << where;
  EXPECT_LT(rest.speed, 1e-5) << where;
  EXPECT_LT(rest.way, 1e-5) << where;
}

TEST(Scale, ACubeOfAnySizeStandsOnTheFloor) {
  for (const double size : kSizes) {
    for (const double dt : kDts) check_rest("alone", size, dt, {water(size)});
  }
}

TEST(Scale, TenCubesStandWithTheHeaviestOnTopOrBelow) {
  for (const double size : kSizes) {
    for (const double dt : kDts) {
      std::vector<double> masses(10, water(size));
      check_rest("ten alike", size, dt, masses);
      for (int i = 0; i < 10; ++i) masses[i] = water(size) * std::pow(1e-3, 1 - i / 9.0);
      check_rest("heavier upwards", size, dt, masses);
      std::reverse(masses.begin(), masses.end());
      check_rest("heavier downwards", size, dt, masses);
      std::fill(masses.begin(), masses.end(), 1e-3 * water(size));
      masses.back() = water(size);
      check_rest("one heavy on top", size, dt, masses);
    }
  }
}

// A grain of 1 mg on 1e6 N/m: stiff by any measure, dt^2 k is 2.5e7 times its mass at 5 ms. It must fall like
// a stone: without a gain of energy in any step, to rest, and with no more iterations than a cube of 1 kg.
TEST(Scale, AGrainThatIsDroppedComesToRest) {
  const auto drop = [](double size, double dt) {
    Scene scene = stack(size, {water(size)});
    scene.bodies[0].pose.position.z() += size;
    scene.bodies[0].pose.quat_wxyz = Vec4(1, 0.1, 0.2, 0.05).normalized();
    Simulation run(scene, dt, ContactLaw::regularized_lagged);
    run.options.newton.relative_tolerance = 1e-5;
    const double unit = water(size) * kGravity * size;  // [J]
    double energy = calc_mechanics(run.model, run.state).total();
    int most = 0;
    for (int i = 0; i < std::lround(2 / dt); ++i) {
      run.go(dt);
      const double now = calc_mechanics(run.model, run.state).total();
      // Springs of contacts are not counted: what rests on them may come up by its depth.
      EXPECT_LT(now, energy + 1e-4 * unit) << size << " m, " << dt << " s, step " << i;
      energy = now;
      most = std::max(most, run.report.solver.iterations);
    }
    EXPECT_LT(run.state.v.head<3>().norm(), 1e-5 * std::sqrt(kGravity * size)) << size << " m, " << dt;
    EXPECT_NEAR(run.state.q[2], size / 2, 1e-3 * size) << size << " m, " << dt;
    return most;
  };
  for (const double dt : kDts) {
    const int grain = drop(1e-3, dt), cube = drop(0.1, dt);
    std::printf("%g ms: at most %d iterations for the grain, %d for the cube\n", 1e3 * dt, grain, cube);
    EXPECT_LE(grain, cube + 5);
  }
}

double default_stiffness(const Scene& scene, const std::string& name) {
  for (const ModelShape& shape : compile(scene).shapes) {
    if (shape.name == name) return shape.stiffness;
  }
  return 0;
}

// k = 1000 g m / s, with g = 9.81 m/s^2.
TEST(Scale, TheDefaultIsThatOfTheHeaviestLoad) {
  const auto expect = [](double k, const Scene& scene, const std::string& name) {
    EXPECT_NEAR(default_stiffness(scene, name) / k, 1, 1e-12) << name;
  };
  expect(9.81e6, stack(1, {1e3}), "cube0");
  expect(9.81e6, stack(1, {1e3}), "floor");
  expect(9.81e10, stack(100, {1e9}), "cube0");
  expect(1e6, stack(1, {100}), "cube0");      // 1e6 is more
  expect(1e6, stack(1e-3, {1e-6}), "floor");  // never less
  const Scene ratio = stack(1, {1, 1e3, 1e7});
  expect(9.81e3 * (1 + 1e3 + 1e6), ratio, "cube0");  // 1e7 kg are more than a million times its own
  expect(9.81e3 * 10001001, ratio, "cube1");
  expect(9.81e3 * 10001001, ratio, "floor");
  expect(9.81e4 * 1e3, stack(1, std::vector<double>(30, 1e3)), "cube7");  // ten of them

  Scene weightless = stack(1, {1e3});
  weightless.options.gravity = Vec3::Zero();
  expect(1e6, weightless, "cube0");

  // A plank of 10 kg and 2 m, and a robot of 2 t and 3 m: two links, free or on the world.
  Scene robot = stack(1, {10});
  robot.shapes[1].shape = Box{Vec3(1, 0.1, 0.01)};
  for (const char* name : {"trunk", "leg"}) {
    robot.bodies.push_back(free_body(name, Vec3(0, 0, 3)));
    robot.shapes.push_back(make_shape(name, name, Box{Vec3(0.5, 0.5, 0.75)}, 1e3));
  }
  Body& leg = robot.bodies.back();
  leg.parent = "trunk";
  leg.joints[0].type = JointType::revolute;
  leg.joints[0].axis = Vec3(1, 0, 0);
  leg.pose.position.z() = -1.5;
  expect(9.81e3 * 2e3 / 2, robot, "cube0");
  expect(9.81e3 * 2e3 / 3, robot, "leg");
  robot.bodies[1].joints[0].type = JointType::revolute;  // an arm does not come down on the plank
  expect(1e6, robot, "cube0");
}

TEST(Scale, AStiffnessThatIsWrittenIsKept) {
  Scene scene = stack(1, {1e3});
  Material m;
  m.name = "default";
  m.stiffness = 1e6;
  scene.materials = {m};
  EXPECT_EQ(default_stiffness(scene, "cube0"), 1e6);
  EXPECT_EQ(default_stiffness(scene, "floor"), 1e6);
  Simulation run(scene, 0.005, ContactLaw::regularized_lagged);
  run.go(5);
  EXPECT_NEAR(0.5 - run.state.q[2], 1e3 * kGravity / (4 * 5e5), 1e-7);  // 4.9 mm, as ever
  scene.bodies.push_back(free_body("other", Vec3(0, 0, 5)));
  scene.shapes.push_back(make_shape("other", "other", Box{Vec3::Constant(0.5)}, 1e3));
  scene.shapes.back().material = "plain";
  m.name = "plain";
  m.stiffness.reset();
  scene.materials.push_back(m);
  EXPECT_EQ(default_stiffness(scene, "cube0"), 1e6);
  EXPECT_GT(default_stiffness(scene, "other"), 1e7);
}

// The normal law hertz has k in N/m^1.5: f = k x^1.5.
TEST(Scale, HertzHoldsCubesOfAnySizeToo) {
  for (const double size : kSizes) {
    Scene scene = stack(size, {water(size)});
    scene.options.contact.normal_law = NormalLaw::hertz;
    Simulation run(scene, 0.005, ContactLaw::regularized_lagged);
    run.options.contact.normal_law = NormalLaw::hertz;
    run.go(1 + 0.15 * size);
    const double k = combine_materials(run.model, 0, 1).stiffness;
    const double depth = size / 2 - run.state.q[2];
    EXPECT_LT(depth, 1e-3 * size) << size;
    EXPECT_NEAR(depth / std::pow(water(size) * kGravity / (4 * k), 2.0 / 3), 1, 0.01) << size;
  }
}

// At ordinary scales 1e6 N/m is enough, and is what it was: recordings and figures of the shipped scenes
// stay.
TEST(Scale, ShippedScenesKeepAMillion) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CAPSTAN_SOURCE_DIR "/scenes")) {
    const std::string extension = entry.path().extension();
    if (extension != ".yaml" && extension != ".xml" && extension != ".urdf") continue;
    const Model model = compile(read_scene(entry.path()));
    for (const ModelShape& shape : model.shapes) {
      const Material& m = model.materials[shape.material];
      if (!shape.collides || m.stiffness || m.stiffness_per_kilogram > 0) continue;
      const Object& object = model.objects[model.links[shape.link].object];
      if (shape.link > 0 && !object.is_tree() && object.physics->kind() == "soft body") continue;  // by area
      ++count;
      EXPECT_EQ(shape.stiffness, 1e6) << entry.path() << ": " << shape.name;
    }
  }
  EXPECT_GT(count, 100);
}

// Its momentum is below what residuals can tell: a step ends all the same.
TEST(Scale, AStepOfASphereOfANanometreEnds) {
  Scene scene = stack(1, {4.2e-24});
  scene.shapes[1].shape = Sphere{1e-9};
  scene.bodies[0].pose.position.setZero();
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.most_seconds = 10;
  for (int i = 0; i < 20; ++i) step(model, options, {}, &state, &workspace);
  EXPECT_TRUE(state.q.allFinite());
}

}  // namespace
}  // namespace capstan::scale_test
