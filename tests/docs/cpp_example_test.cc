// docs/cpp.md: its program compiles, and prints what the page says. Then each of its answers again, by
// arithmetic.
#include <gtest/gtest.h>

// [example]
#include <cstdio>

#include "capstan/io/read.h"
#include "capstan/step/probe.h"
#include "capstan/step/sensors.h"

using namespace capstan;

void tour(const std::string& file) {
  Scene scene = read_scene(file);  // throws InputError with every problem, file, line and remedy
  const Model model = compile(scene);
  State state = keyframe_state(model, "ready");  // or initial_state(model)
  Workspace workspace = make_workspace(model);
  const StepOptions options = step_options(model);

  // Names. What is asked for often is asked for once.
  const int elbow = joint_index(model, "elbow"), motor = actuator_index(model, "shoulder");
  std::printf("elbow at %.2f rad; shape 'finger' is number %d, site 'tip' number %d\n",
              state.q[model.joints[elbow].q], shape_index(model, "finger"), site_index(model, "tip"));

  // Poses, velocities, Jacobians, mass matrix: at any state, before or after steps.
  const Transform X = frame_pose(model, state, "tip");
  const MatX J = frame_jacobian(model, state, "tip"), M = dense_mass_matrix(model, state);
  std::printf("tip at (%.3f, %.3f, %.3f) m; dz/delbow = %.3f m/rad; M is %d x %d\n", X.p.x(), X.p.y(),
              X.p.z(), J(5, model.joints[elbow].v), int(M.rows()), int(M.cols()));

  // Controls, and a push at the block's centre of mass. Inputs hold for one step.
  state.control[motor] = 0.3;
  while (state.time < 0.5) {
    Input input;
    input.body_forces = {force_on(model, state, "block", Vec3(3, 0, 0))};
    step(model, options, input, &state, &workspace);
  }

  // Contact forces of the last step: pairs that press, and all on one body.
  for (const BodyPairForce& pair : pair_forces(model, workspace))
    std::printf("%s on %s: %.2f N across %d contacts\n", model.bodies[pair.body_a].name.c_str(),
                model.bodies[pair.body_b].name.c_str(), pair.normal_force, pair.contacts);
  std::printf("on the block: %.2f N to the left\n", -contact_force_on(model, workspace, "block").x());

  // Sensors of the scene.
  Diagnostics diagnostics;
  const SensorSet sensors = make_sensors(model, scene, scene.sensors, &diagnostics);
  VecX values;
  read_sensors(model, sensors, state, &workspace, nullptr, &values);
  for (const SensorSet::Entry& s : sensors.entries)
    std::printf("%s: %.2f %s\n", s.name.c_str(), values[s.begin], s.unit.c_str());

  // Other friction, mass and gains: change the scene and compile it; the state goes on.
  scene.materials[0].friction = 0.2;
  for (Body& body : scene.bodies)
    if (body.name == "block") body.inertia = Inertia{2, Vec3::Zero(), 0.02 * Mat3::Identity()};
  scene.actuators[0].gain = 80;  // a servo's gain and the spring of its bias are one number
  scene.actuators[0].bias[1] = -80;
  const Model changed = compile(scene);
  Workspace anew = make_workspace(changed);
  step(changed, options, {}, &state, &anew);
  std::printf("M of the block is now %.0f kg\n",
              dense_mass_matrix(changed, state)(changed.joints[joint_index(changed, "block")].v,
                                                changed.joints[joint_index(changed, "block")].v));
}
// [example]

#include <fstream>

#include "tests/support/page.h"

namespace {

using capstan::test::between;
using capstan::test::read_text;

std::string scene_file() {
  const std::string path = testing::TempDir() + "/cpp_page.yaml";
  std::ofstream(path) << between(read_text("docs/cpp.md"), "```yaml\n", "```");
  return path;
}

TEST(CppPage, ShowsTheProgramOfThisFile) {
  EXPECT_EQ(between(read_text("docs/cpp.md"), "```cpp\n", "```"),
            between(read_text("tests/docs/cpp_example_test.cc"), "// [example]\n", "// [example]"));
}

TEST(CppPage, TheProgramPrintsWhatThePageSays) {
  testing::internal::CaptureStdout();
  tour(scene_file());
  const std::string printed = testing::internal::GetCapturedStdout();
  std::printf("%s", printed.c_str());
  EXPECT_NE(read_text("docs/cpp.md").find(printed), std::string::npos) << "not in docs/cpp.md:\n" << printed;
}

TEST(CppPage, AnswersByArithmetic) {
  const Scene scene = read_scene(scene_file());
  const Model model = compile(scene);
  State state = keyframe_state(model, "ready");
  // Two links of 0.4 and 0.3 m, the first at 0.5 rad from upright, the second 1 rad further.
  const Vec3 tip = frame_pose(model, state, "tip").p;
  EXPECT_NEAR(tip.x(), 0.4 * std::sin(0.5) + 0.3 * std::sin(1.5), 1e-12);
  EXPECT_NEAR(tip.z(), 0.2 + 0.4 * std::cos(0.5) + 0.3 * std::cos(1.5), 1e-12);
  const MatX J = frame_jacobian(model, state, "tip");
  const double h = 1e-6;
  for (int k = 0; k < 2; ++k) {  // against differences
    State moved = state;
    moved.q[model.joints[k].q] += h;
    const Vec3 column = (frame_pose(model, moved, "tip").p - tip) / h;
    EXPECT_LT((J.block<3, 1>(3, model.joints[k].v) - column).norm(), 1e-6);
  }
  state.v.setConstant(0.7);
  EXPECT_LT((frame_velocity(model, state, "tip") - J * state.v).norm(), 1e-12);
  const MatX M = dense_mass_matrix(model, state);
  EXPECT_EQ((M - M.transpose()).norm(), 0);
  EXPECT_NEAR(M(2, 2), 1, 1e-12);  // the block

  // A force on a body acts at its centre of mass: the block does not turn in free fall.
  Workspace workspace = make_workspace(model);
  State thrown = initial_state(model);
  thrown.q[model.joints[joint_index(model, "block")].q + 2] = 5;
  Input input;
  input.body_forces = {force_on(model, thrown, "block", Vec3(3, 1, 0))};
  step(model, step_options(model), input, &thrown, &workspace);
  const auto v = thrown.v.segment<6>(model.joints[joint_index(model, "block")].v);
  EXPECT_NEAR(v[0], 3 * 0.002, 1e-12);
  EXPECT_LT(v.tail<3>().norm(), 1e-12);
  EXPECT_TRUE(pair_forces(model, workspace).empty());
  input.body_forces = {
      force_at(model, "block", frame_pose(model, thrown, "block").p + Vec3(0, 0, 0.1), Vec3(3, 0, 0))};
  step(model, step_options(model), input, &thrown, &workspace);
  EXPECT_GT(thrown.v[model.joints[joint_index(model, "block")].v + 4], 1e-3);

  try {
    joint_index(model, "elbou");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no joint 'elbou'; did you mean 'elbow'"), std::string::npos)
        << error.what();
  }
}

}  // namespace
