// Actuated rods: natural curvature and rest lengths that controls change during a run.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/model/add_rod.h"
#include "capstan/scene/rod.h"
#include "capstan/step/schedule.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rod_actuation_test {
namespace {

using namespace test;

Scene empty_space() {
  Scene scene = box_on_plane(0.5, 1e5);
  scene.bodies.clear();
  scene.shapes.clear();
  scene.options.gravity.setZero();
  return scene;
}

RodSpec straight(int edges) {
  RodSpec spec;
  spec.name = "rod";
  for (int i = 0; i <= edges; ++i) spec.nodes.push_back({0.3 * i / edges, 0, 1});
  spec.section.width = 0.01;
  spec.young_modulus = 1e6;
  spec.density = 1000;
  spec.rest = RodRest::given;
  spec.natural.assign(edges - 1, Vec3(8, 0, 3));
  spec.actuated = true;
  return spec;
}

// Free of loads a rod has its natural curvature, whatever that is made.
TEST(RodActuation, AFreeRodFollowsItsNaturalCurvature) {
  Scene scene = empty_space();
  RodSpec spec = straight(20);
  spec.alpha = 20;
  spec.beta = 0.01;
  scene.rods = {spec};
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const int natural = run.model.find_actuator("rod.natural");
  ASSERT_GE(natural, 0);
  EXPECT_EQ(run.state.control[natural], 1);
  const Rod& rod = rod_of(run.model, find_rods(run.model)[0]);
  for (const double factor : {0.0, 1.0, -0.5}) {
    run.state.control[natural] = factor;
    run.go(4);
    for (int j = 0; j < rod.num_joints(); ++j) {
      const double turn = factor * 8 * rod.rest_span(j);
      const Vec3 expected(2 * std::tan(0.5 * turn), 0, factor * 3 * rod.rest_span(j));
      EXPECT_LT((rod.strain(run.state.q, j) - expected).norm(), 1e-4) << factor << " " << j;
    }
  }
}

TEST(RodActuation, AShorterRestLengthPulls) {
  Scene scene = empty_space();
  RodSpec spec = straight(10);
  spec.rest = RodRest::straight;
  spec.natural.clear();
  spec.pinned_nodes = {0, 10};
  spec.alpha = 50;
  scene.rods = {spec};
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  run.state.control[run.model.find_actuator("rod.length")] = 0.8;
  run.go(2);
  const Rod& rod = rod_of(run.model, find_rods(run.model)[0]);
  const double expected = 1e6 * rod.section().area * (1 / 0.8 - 1);
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(rod.tension(run.state.q, i), expected, 1e-6 * expected);
  EXPECT_NEAR(rod.calc_elastic_energy(run.state.q), 0.5 * expected * (1 / 0.8 - 1) * 0.8 * 0.3, 1e-8);
}

constexpr const char* kScene = R"(
capstan: 1
options: {dt: 0.005, gravity: [0, 0, 0]}
rods:
  - {name: finger, line: {from: [0, 0, 0], to: [0.2, 0, 0]}, edges: 12, diameter: 0.01, young_modulus: 1e6, density: 1000,
     damping: {alpha: 20, beta: 0.01}, rest: {curvature: [0, 6]}, actuated: true, clamped_edges: [first]}
controls:
  - {time: 0, control: {finger.natural: 0}}
  - {time: 0.5, control: {finger.natural: 0}}
  - {time: 1, control: {finger.natural: 1, finger.length: 1.1}, interpolate: smooth}
)";

TEST(RodActuation, ControlsOfASceneBendIt) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(kScene, {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_EQ(write_yaml(read_yaml_text(write_yaml(scene), {}, &diagnostics)), write_yaml(scene));
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const Schedule schedule = make_schedule(run.model, scene.controls, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const auto go = [&](double until) {
    while (run.state.time < until - 1e-9) {
      apply_schedule(run.model, schedule, 0.005, &run.state, &run.input);
      run.go(0.005);
    }
  };
  const Rod& rod = rod_of(run.model, find_rods(run.model)[0]);
  go(0.5);
  for (int j = 0; j < rod.num_joints(); ++j) EXPECT_LT(rod.strain(run.state.q, j).norm(), 1e-12);
  go(0.75);
  const State middle = restore(run.model, save(run.model, run.state));
  EXPECT_NEAR(rod.natural_factor(middle.q), 0.5, 0.02);
  go(4);
  for (int j = 0; j < rod.num_joints(); ++j)
    EXPECT_NEAR(rod.strain(run.state.q, j)[1], 2 * std::tan(3 * rod.rest_span(j)), 1e-4);
  const double length = (Rod::node(run.state.q, 12) - Rod::node(run.state.q, 11)).norm();
  EXPECT_NEAR(length, 1.1 * rod.rest_length(11), 1e-6);
  const State end = run.state;
  run.state = middle;
  go(4);
  EXPECT_EQ(hash(run.state), hash(end));
}

TEST(RodActuation, AnUnknownOneIsTold) {
  Diagnostics diagnostics;
  std::string text = kScene;
  text.replace(text.find("finger.natural: 0}"), 14, "finger.naturl");
  read_yaml_text(text, {}, &diagnostics);
  EXPECT_NE(diagnostics.text().find("did you mean 'finger.natural'?"), std::string::npos)
      << diagnostics.text();
}

TEST(RodActuation, AControlWakesARodThatSleeps) {
  Scene scene = box_on_plane(0.5, 1e5);
  scene.bodies.clear();
  scene.shapes.resize(1);
  RodSpec spec = straight(10);
  for (Vec3& node : spec.nodes) node.z() = 0.0051;
  spec.alpha = 5;
  scene.rods = {spec};
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const int natural = run.model.find_actuator("rod.natural");
  run.options.sleep.on = true;
  run.state.control[natural] = 0;
  run.go(3);
  ASSERT_EQ(run.report.asleep, 1);
  run.state.control[natural] = 1;
  run.go(0.005);
  EXPECT_EQ(run.report.asleep, 0);
}

}  // namespace
}  // namespace capstan::rod_actuation_test
