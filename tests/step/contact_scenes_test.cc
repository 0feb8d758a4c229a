// Whole scenes with contact, against arithmetic or for a minute: stacks, a card house, a spinning disk, a row
// of balls, a bounce.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "tests/support/contact_simulation.h"

namespace capstan::contact_scenes_test {
namespace {

using namespace test;

Scene stack(int n, double top_mass) {
  Scene scene = box_on_plane(1, 1e6);
  scene.bodies.clear();
  scene.shapes.resize(1);
  for (int i = 0; i < n; ++i) {
    const std::string name = "b" + std::to_string(i);
    scene.bodies.push_back(free_body(name, {0, 0, 0.05 + 0.1 * i}));
    scene.shapes.push_back(make_shape(name, name, Box{Vec3::Constant(0.05)}, i == n - 1 ? top_mass : 1));
  }
  return scene;
}

// Each face is four springs in parallel: the top of the stack sinks by the sum of the loads over 4 k. Sap is
// softer where k dt (dt + tau) exceeds 4 pi^2/w (w = 4/m at the corner of a cube, summed over
// both).
double expected_sinking(int n, double top_mass, double dt, double tau, ContactLaw law) {
  constexpr double k = 1e6;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double w = 4 / (i == n - 1 ? top_mass : 1) + (i == 0 ? 0 : 4);
    const double near_rigid = 4 * std::numbers::pi * std::numbers::pi / (w * dt * (dt + tau));
    sum += kGravity * (top_mass + n - 1 - i) / (4 * (law == ContactLaw::sap ? std::min(k, near_rigid) : k));
  }
  return sum;
}

void expect_stack_stands(int n, double top_mass, double dt, double tau, double duration, int l) {
  Scene scene = stack(n, top_mass);
  scene.materials[0].relaxation_time = tau;
  Simulation run(scene, dt, kLaws[l]);
  run.options.newton.relative_tolerance = 1e-6;
  run.go(duration);
  const int top = run.model.joints[n - 1].q;
  const double expected = expected_sinking(n, top_mass, dt, tau, kLaws[l]);
  EXPECT_LT(run.state.q.segment<2>(top).norm(), 1e-4) << kLawNames[l];
  EXPECT_NEAR(0.1 * n - 0.05 - run.state.q[top + 2], expected, 0.01 * expected) << kLawNames[l];
  EXPECT_LT(run.state.v.norm(), 1e-4) << kLawNames[l];
}

TEST(Stack, OfTenStandsForAMinute) {
  for (int l = 0; l < 4; ++l) expect_stack_stands(10, 1, 0.005, 0.005, 60, l);
}

TEST(Stack, OfAThousandKilogramsOnOneStands) {
  for (int l = 0; l < 4; ++l) expect_stack_stands(2, 1000, 0.005, 0.005, 10, l);
}

// Sap at 5 ms is too soft for this: boxes of 1 kg give way by 2.5 cm each, and the stack buckles. Its
// relaxation time is long enough here to damp the top's swing of 3 Hz.
TEST(Stack, OfAThousandKilogramsOnNineStands) {
  for (int l = 0; l < 4; ++l) {
    expect_stack_stands(10, 1000, kLaws[l] == ContactLaw::sap ? 0.0005 : 0.005, 0.02, 6, l);
  }
}

// scenes/card_house.yaml: 15 cards in three storeys. Its stiction tolerance bounds how far they creep in a
// minute.
TEST(CardHouse, StandsForAMinute) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/card_house.yaml");
  const Model model = compile(scene);
  State state = initial_state(model);
  const State start = state;
  Workspace workspace = make_workspace(model);
  const StepOptions options = step_options(model);
  while (state.time < 60) step(model, options, {}, &state, &workspace);
  double moved = 0;
  for (const ModelJoint& joint : model.joints)
    moved = std::max(moved, (state.q.segment<3>(joint.q) - start.q.segment<3>(joint.q)).norm());
  std::printf("cards moved by at most %.2f mm\n", 1e3 * moved);
  EXPECT_EQ(model.joints.size(), 15u);
  EXPECT_LT(moved, 0.5e-3);  // 0.1 mm of it while they settle, in the first 0.02 s
}

// A disk that spins flat on a plane rests on points of its rim, so friction brakes it by 2 mu g / r.
TEST(Disk, SpinsDownAtItsRate) {
  const double radius = 0.1, mu = 0.3;
  Scene scene = box_on_plane(mu, 1e5);
  scene.shapes[1].shape = Cylinder{radius, 0.05};
  for (int l = 0; l < 4; ++l) {
    Simulation run(scene, 0.001, kLaws[l]);
    run.go(0.5);
    run.state.v.setZero();
    run.state.v[5] = 20;
    run.go(0.1);
    const double before = run.state.v[5];
    run.go(0.1);
    const double expected = 2 * mu * kGravity / radius;
    EXPECT_NEAR((before - run.state.v[5]) / 0.1, expected, 0.01 * expected) << kLawNames[l];
    run.go(0.2);  // 20 / 58.86 = 0.34 s in all
    EXPECT_LT(std::abs(run.state.v[5]), 1e-2) << kLawNames[l];
    EXPECT_LT(run.state.q.head<2>().norm(), 1e-3) << kLawNames[l];
  }
}

// Balls of 0.1 kg on a rail, 1 mm apart, without dissipation; the first comes with 1 m/s.
Scene row(int n) {
  Scene scene;
  scene.options.gravity.setZero();
  Material m;
  m.name = "default";
  m.stiffness = 2e6;
  m.dissipation = 0;
  m.friction = 0;
  scene.materials = {m};
  for (int i = 0; i < n; ++i) {
    Body ball;
    ball.name = "ball" + std::to_string(i);
    ball.pose.position = Vec3(0.041 * i, 0, 0);
    Joint rail;
    rail.name = ball.name;
    rail.type = JointType::prismatic;
    rail.axis = Vec3(1, 0, 0);
    ball.joints = {rail};
    scene.bodies.push_back(ball);
    scene.shapes.push_back(make_shape(ball.name, ball.name, Sphere{0.02}, 0.1));
  }
  scene.initial.v["ball0"] = {1};
  return scene;
}

// Contacts follow one another, so each passes on (1 + e)/2 of the speed and keeps (1 - e)/2, with the
// restitution e of two balls alone; e goes to 1 with dt, at first order.
TEST(NewtonsCradle, PassesTheImpulseThroughTheRow) {
  double loss[2];
  for (const int k : {0, 1}) {
    const double dt = k == 0 ? 2e-6 : 1e-6;
    Simulation two(row(2), dt, ContactLaw::lagged);
    two.go(0.01);
    const double e = two.state.v[1] - two.state.v[0];
    EXPECT_NEAR(two.state.v.sum(), 1, 1e-12);
    loss[k] = 1 - e;
    Simulation five(row(5), dt, ContactLaw::lagged);
    five.go(0.02);
    EXPECT_NEAR(five.state.v.sum(), 1, 1e-12);  // momentum
    double v = 1;
    for (int i = 0; i < 4; ++i, v *= (1 + e) / 2) EXPECT_NEAR(five.state.v[i], v * (1 - e) / 2, 1e-4) << i;
    EXPECT_NEAR(five.state.v[4], v, 1e-3);
    EXPECT_GT(five.state.v[4], 0.95);
  }
  EXPECT_LT(loss[1], 0.01);
  EXPECT_NEAR(loss[0] / loss[1], 2, 0.1);
}

// scenes/newtons_cradle.yaml: let go at 30 degrees, the last ball swings up nearly as high, the others stay.
TEST(NewtonsCradle, ShippedSwings) {
  const Model model = compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/newtons_cradle.yaml"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const StepOptions options = step_options(model);
  double highest[5] = {};
  while (state.time < 0.6) {
    step(model, options, {}, &state, &workspace);
    for (int i = 0; i < 5; ++i) highest[i] = std::min(highest[i], state.q[i] * 180 / std::numbers::pi);
  }
  EXPECT_LT(highest[4], -29);
  for (int i = 0; i < 4; ++i) EXPECT_GT(highest[i], -1);
  // Four seconds and seven impacts later, too.
  double most[5] = {};
  while (state.time < 5) {
    step(model, options, {}, &state, &workspace);
    if (state.time < 3.8) continue;
    for (int i = 0; i < 5; ++i) most[i] = std::max(most[i], std::abs(state.q[i] * 180 / std::numbers::pi));
  }
  EXPECT_NEAR(most[0], 30, 1);
  EXPECT_NEAR(most[4], 30, 1);
  for (int i = 1; i < 4; ++i) EXPECT_LT(most[i], 2) << i;
}

// Hunt and Crossley: the rebound speed v' of an impact at v obeys (1 + d v) exp(-d v) = (1 - d v') exp(d v').
TEST(Bounce, HasTheRestitutionOfHuntAndCrossley) {
  for (const ContactLaw law : {ContactLaw::lagged, ContactLaw::similar, ContactLaw::regularized_lagged}) {
    for (const double d : {0.1, 0.5, 2.0}) {
      Scene scene = box_on_plane(0, 1e5);
      scene.options.gravity.setZero();
      scene.shapes[1].shape = Sphere{0.05};
      scene.materials[0].dissipation = d;
      scene.initial.v["box"] = {0, 0, -1, 0, 0, 0};
      Simulation run(scene, 1e-6, law);
      run.go(0.03);
      const auto side = [&](double v) { return std::log1p(-d * v) + d * v; };
      double low = 0, high = std::min(1.0, 0.999999 / d);
      for (int i = 0; i < 100; ++i) {
        const double v = 0.5 * (low + high);
        (side(v) > side(-1) ? low : high) = v;
      }
      EXPECT_NEAR(run.state.v[2], low, 1e-3) << d;
    }
  }
}

}  // namespace
}  // namespace capstan::contact_scenes_test
