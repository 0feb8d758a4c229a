// docs/rods.md: its program compiles and prints what the page says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "capstan/io/read.h"
#include "capstan/step/schedule.h"

// [example]
#include <cmath>
#include <cstdio>
#include <memory>

#include "capstan/model/add_rod.h"
#include "capstan/step/step.h"

using namespace capstan;

// A rope of 4 mm over a peg of 50 mm: 0.6 m hang down on one side, `other` on the other one.
RodSpec rope_over_peg(double other) {
  const double radius = 0.025 + 0.002, pi = std::acos(-1), edge = 0.02;
  RodSpec rope;
  for (double s = 0.6; s > edge / 2; s -= edge) rope.nodes.push_back({-radius, 0, -s});
  for (int i = 0; i <= 10; ++i)
    rope.nodes.push_back({-radius * std::cos(i * pi / 10), 0, radius * std::sin(i * pi / 10)});
  for (double s = edge; s < other + edge / 2; s += edge) rope.nodes.push_back({radius, 0, -s});
  rope.section.width = 0.004;
  rope.young_modulus = 1e6;
  rope.density = 1000;
  rope.rest = RodRest::straight;
  rope.beta = 0.01;
  return rope;
}

void hang(double other) {
  Scene scene;
  ShapeInstance peg;
  peg.name = "peg";
  peg.body = kWorld;
  peg.shape = Cylinder{0.025, 0.1};
  peg.pose.quat_wxyz = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};
  scene.shapes = {peg};
  Material material;
  material.name = "default";
  material.friction = 0.3;
  scene.materials = {material};

  Model model = compile(scene);
  const auto rod = std::make_shared<Rod>(rope_over_peg(other));
  const int object = add_rod("rope", rod, 0, &model);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options;
  options.dt = 0.001;
  const auto end = [&] { return state.q[model.objects[object].q_begin + 2]; };  // z of the first node
  while (state.time < 0.5) step(model, options, {}, &state, &workspace);        // it settles
  const double before = end();
  while (state.time < 0.75) step(model, options, {}, &state, &workspace);
  std::printf("0.6 m against %.1f m: %s\n", other,
              std::abs(end() - before) < 1e-3 ? "friction holds it" : "it slips");
}
// [example]

#include "tests/support/page.h"

namespace {

using capstan::test::between;
using capstan::test::read_text;

TEST(RodsPage, ShowsTheProgramOfThisFile) {
  EXPECT_EQ(between(read_text("docs/rods.md"), "```cpp\n", "```"),
            between(read_text("tests/docs/rods_example_test.cc"), "// [example]\n", "// [example]"));
}

// The weight of the page's scene hangs: what it sinks by while the rope stretches and settles, and no more.
TEST(RodsPage, TheRopeOfTheSceneHolds) {
  const std::string yaml = between(read_text("docs/rods.md"), "```yaml\n", "```");
  for (const double friction : {0.5, 0.3}) {
    Diagnostics diagnostics;
    Scene scene = read_yaml_text(yaml, {}, &diagnostics);
    ASSERT_EQ(diagnostics.text(), "");
    scene.materials[0].friction = friction;
    const Model model = compile(scene);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    const auto run_to = [&](double time) {
      while (state.time < time) step(model, step_options(model), {}, &state, &workspace);
      return state.q[2];
    };
    const double before = run_to(0.5), after = run_to(0.75);
    if (friction > 0.4) {
      EXPECT_LT(std::abs(after - before), 1e-3);
    } else {
      EXPECT_LT(after, before - 0.02);
    }
  }
}

// Its last edges end where an arc of 50 mm from the clamp ends.
TEST(RodsPage, TheFingerOfTheSceneCurls) {
  const std::string page = read_text("docs/rods.md");
  const std::string yaml = between(page.substr(page.find("## Rods that move")), "```yaml\n", "```");
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(yaml, {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  while (state.time < 4) {
    apply_schedule(model, schedule, 0.005, &state, &input);
    step(model, step_options(model), input, &state, &workspace);
  }
  const Vec3 tip = state.q.segment<3>(80);
  const double turn = 0.195 / 0.05;  // from the middle of the clamped edge on
  EXPECT_NEAR(tip.x(), 0.005 + 0.05 * std::sin(turn), 2e-4);
  EXPECT_NEAR(tip.tail<2>().norm(), 0.05 * (1 - std::cos(turn)), 2e-4);
}

TEST(RodsPage, TheProgramPrintsWhatThePageSays) {
  testing::internal::CaptureStdout();
  hang(0.3);
  hang(0.1);
  const std::string printed = testing::internal::GetCapturedStdout();
  std::printf("%s", printed.c_str());
  EXPECT_NE(read_text("docs/rods.md").find(printed), std::string::npos) << "not in docs/rods.md:\n"
                                                                        << printed;
}

}  // namespace
