// Controls over time: tracks with arithmetic, tables, mistakes, and a gripper that closes and then lifts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "capstan/io/controls_csv.h"
#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/step/schedule.h"
#include "capstan/step/step.h"

namespace capstan::schedule_test {
namespace {

std::string write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/capstan_schedule_" + name;
  std::ofstream(path) << text;
  return path;
}

Scene read_text(const std::string& text) {
  return read_scene(write("scene.yaml", "capstan: 1\n" + text));
}

const std::string kMass =
    "options: {gravity: [0, 0, 0], dt: 0.01, integrator: symplectic_euler}\n"
    "bodies: [{name: m, joint: {type: prismatic, axis: [1, 0, 0]}, shape: {type: box, size: [1, 1, 1], mass: "
    "2}}]\n"
    "actuators: [{name: push, type: torque, joint: m, control: 0.5}]\n"
    "keyframes: [{name: hard, control: {push: 8}}]\n";

TEST(Schedule, Interpolation) {
  const Schedule::Track track{0,
                              {{1, Interpolation::linear, Vec3(2, 0, 0)},
                               {2, Interpolation::linear, Vec3(4, 0, 0)},
                               {3, Interpolation::constant, Vec3(8, 0, 0)},
                               {5, Interpolation::smooth, Vec3(0, 0, 0)}}};
  EXPECT_FALSE(value_at(track, 0.999));
  EXPECT_EQ(value_at(track, 1)->x(), 2);
  EXPECT_DOUBLE_EQ(value_at(track, 1.25)->x(), 2.5);
  EXPECT_EQ(value_at(track, 2.999)->x(), 4);
  EXPECT_EQ(value_at(track, 3)->x(), 8);
  EXPECT_DOUBLE_EQ(value_at(track, 3.5)->x(), 8 * (1 - 0.15625));  // 3/16 - 2/64
  EXPECT_DOUBLE_EQ(value_at(track, 4)->x(), 4);
  EXPECT_EQ(value_at(track, 99)->x(), 0);
}

// 0.5 N until 1 s, then up to 8 N at 2 s on a line: impulse 0.5 + (0.5 + 8) / 2, and the midpoint rule is
// exact for it.
TEST(Schedule, ImpulseOfARamp) {
  const Scene scene =
      read_text(kMass + "controls:\n  - {time: 1, control: {push: 0.5}}\n  - {time: 2, keyframe: hard}\n");
  const Model model = compile(scene);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  const StepOptions options = step_options(model);
  for (int i = 0; i < 200; ++i) {
    apply_schedule(model, schedule, options.dt, &state, &input);
    step(model, options, input, &state, &workspace);
  }
  EXPECT_NEAR(2 * state.v[0], 0.5 + 4.25, 1e-10);
}

TEST(Schedule, ForcesActAtTheCentreOfMass) {
  const Scene scene = read_text(
      "options: {gravity: [0, 0, 0], dt: 0.01}\nbodies: [{name: b, joint: free, shape: {type: box, size: [1, "
      "1, 1], "
      "mass: 2, position: [0.3, 0, 0]}}]\ncontrols:\n  - {time: 0, force: {b: [0, 4, 0]}}\n  - {time: 1, "
      "force: {b: "
      "[0, 0, 0]}, interpolate: constant}\n");
  const Model model = compile(scene);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  for (int i = 0; i < 150; ++i) {
    apply_schedule(model, schedule, 0.01, &state, &input);
    step(model, step_options(model), input, &state, &workspace);
  }
  EXPECT_NEAR(state.v[1], 2, 1e-9);
  EXPECT_NEAR(state.v.tail<3>().norm(), 0, 1e-9);  // no turn
}

TEST(Schedule, IsWrittenAndReadBack) {
  const std::string text =
      kMass +
      "controls:\n  - {time: 0.5, interpolate: smooth, keyframe: hard, control: {push: -1}}\n"
      "  - {time: 0.5, force: {m: [1, 2, 3]}}\nsensors: [{type: joint_velocity, joint: m}]\n";
  const Scene scene = read_text(text);
  const std::string written = write_yaml(scene);
  const Scene again = read_scene(write("again.yaml", written));
  EXPECT_EQ(write_yaml(again), written);
  ASSERT_EQ(again.controls.size(), 2u);
  EXPECT_EQ(again.controls[0].interpolation, Interpolation::smooth);
  EXPECT_EQ(again.controls[0].keyframe, "hard");
  EXPECT_EQ(again.controls[0].control.at("push"), -1);
  EXPECT_EQ(again.controls[1].force.at("m"), Vec3(1, 2, 3));
  EXPECT_EQ(again.sensors.at(0).joint, "m");
}

TEST(Schedule, MistakesAreTold) {
  const auto problems = [](const std::string& points) {
    Diagnostics diagnostics;
    const Scene scene =
        read_scene(write("bad.yaml", "capstan: 1\n" + kMass + "controls:\n" + points), &diagnostics);
    if (diagnostics.ok()) make_schedule(compile(scene), scene.controls, &diagnostics);
    return diagnostics.text();
  };
  EXPECT_EQ(problems("  - {time: 0, control: {push: 1}}\n"), "");
  EXPECT_NE(problems("  - {time: 0, control: {posh: 1}}\n").find("bad.yaml:7: error"), std::string::npos);
  EXPECT_NE(problems("  - {time: 0, control: {posh: 1}}\n").find("did you mean 'push'?"), std::string::npos);
  EXPECT_NE(problems("  - {control: {push: 1}}\n").find("has no time"), std::string::npos);
  EXPECT_NE(problems("  - {time: 2}\n  - {time: 1}\n").find("in the order of time"), std::string::npos);
  EXPECT_NE(problems("  - {time: 0, keyframe: soft}\n").find("unknown keyframe 'soft'"), std::string::npos);
  EXPECT_NE(problems("  - {time: 0, interpolate: cubic}\n").find("smooth"), std::string::npos);
  EXPECT_NE(problems("  - {time: 0, surface: {m_box: 1}}\n").find("has no moving surface"),
            std::string::npos);
}

TEST(Schedule, Tables) {
  Diagnostics diagnostics;
  const auto read = [&](const std::string& text) {
    diagnostics = {};
    return read_controls_csv(write("table.csv", text), {"push", "b,c"}, Interpolation::constant,
                             &diagnostics);
  };
  const auto points = read("time [s],push.control [1],\"b,c\"\n# a comment\n0, 1.5 ,\n\n0.5,-2,3\n");
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].control, (std::map<std::string, double>{{"push", 1.5}}));
  EXPECT_EQ(points[1].time, 0.5);
  EXPECT_EQ(points[1].control, (std::map<std::string, double>{{"push", -2}, {"b,c", 3}}));
  EXPECT_EQ(points[1].interpolation, Interpolation::constant);
  const auto logged =
      read("time [s],m.q [m],push.control [1],\"b,c.control [1]\",energy.total [J]\n0,nan,1,2,x\n");
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].control, (std::map<std::string, double>{{"push", 1}, {"b,c", 2}}));
  read("time,push.control,pull.control,m.q\n0,1,2,3\n");
  EXPECT_NE(diagnostics.text().find("column 'pull' is no actuator of the scene"), std::string::npos);
  EXPECT_EQ(diagnostics.text().find("m.q"), std::string::npos) << diagnostics.text();
  read("time,,push\n0,1,2\n");
  EXPECT_NE(diagnostics.text().find("column '' is no actuator"), std::string::npos) << diagnostics.text();
  read("push,time\n1,2\n");
  EXPECT_NE(diagnostics.text().find("table.csv:1: error: the first line, 'push', does not name"),
            std::string::npos);
  read("time;push\n1;2\n");
  EXPECT_NE(diagnostics.text().find("with commas between them"), std::string::npos);
  read("time,pash,push,push,time\n1,2,3,4,5\n");
  EXPECT_NE(diagnostics.text().find("table.csv:1: error: column 'pash' is no actuator of the scene; did you "
                                    "mean 'push'?"),
            std::string::npos);
  EXPECT_NE(diagnostics.text().find("table.csv:1: error: there are two columns 'push'"), std::string::npos);
  EXPECT_NE(diagnostics.text().find("column 'time' is no actuator of the scene; known are push, b,c"),
            std::string::npos);
  read("time,push\n1,2\n3,4\n2,5\n");
  EXPECT_NE(diagnostics.text().find("table.csv:4: error: the line for 2 s comes after the one for 3 s"),
            std::string::npos);
  read("time,\"push\n1,2\n");
  EXPECT_NE(diagnostics.text().find("table.csv:1: error: a quote (\") is not closed"), std::string::npos);
  EXPECT_EQ(read("\xEF\xBB\xBFtime,push\r\n1,2\r\n").size(), 1u);  // as a spreadsheet saves it
  read("time,push\n1\n");
  EXPECT_NE(diagnostics.text().find("table.csv:2: error: 1 fields for 2 columns"), std::string::npos);
  read("time,push\n1,fast\n");
  EXPECT_NE(diagnostics.text().find("'fast' in column 'push' is not a number"), std::string::npos);
  read("time,push\n");
  EXPECT_NE(diagnostics.text().find("has no controls"), std::string::npos);
}

// The example of docs/scene.md.
TEST(Schedule, AGripperClosesThenLifts) {
  std::ifstream page(CAPSTAN_SOURCE_DIR "/docs/scene.md");
  std::stringstream whole;
  whole << page.rdbuf();
  const std::string text = whole.str();
  const std::size_t begin = text.find("capstan: 1            # gripper.yaml");
  ASSERT_NE(begin, std::string::npos);
  const Scene scene = read_scene(write("gripper.yaml", text.substr(begin, text.find("```", begin) - begin)));
  const Model model = compile(scene);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  const StepOptions options = step_options(model);
  const int z = model.joints[model.find_joint("cube")].q + 2;
  while (state.time < 1.2) {
    apply_schedule(model, schedule, options.dt, &state, &input);
    step(model, options, input, &state, &workspace);
  }
  EXPECT_NEAR(state.q[z], 0.02, 1e-3);
  while (state.time < 3) {
    apply_schedule(model, schedule, options.dt, &state, &input);
    step(model, options, input, &state, &workspace);
  }
  EXPECT_NEAR(state.q[z], 0.19, 5e-3);  // lifted by 17 cm
}

}  // namespace
}  // namespace capstan::schedule_test
