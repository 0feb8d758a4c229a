// Bodies that are moved from outside: they go exactly where they are told, whatever acts on them, and what
// touches them, hangs at them or is tied to them feels how they move. All against arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/math/rotation.h"
#include "capstan/step/mocap.h"
#include "capstan/step/schedule.h"
#include "capstan/step/step.h"

namespace capstan::mocap_test {
namespace {

constexpr double kGravity = 9.81;

Scene read_text(const std::string& text) {
  const std::string path = testing::TempDir() + "/capstan_mocap.yaml";
  std::ofstream(path) << "capstan: 1\n" << text;
  return read_scene(path);
}

struct MocapRun {
  Scene scene;
  Model model;
  State state;
  StepOptions options;
  Workspace workspace;
  Input input;
  Report report;

  explicit MocapRun(const std::string& text)
      : scene(read_text(text)),
        model(compile(scene)),
        state(initial_state(model)),
        options(step_options(model)),
        workspace(make_workspace(model)) {}

  void step() {
    report = capstan::step(model, options, input, &state, &workspace);
    EXPECT_LT(report.judge.momentum, 1e-5) << state.time;
  }
  void step_to(const std::string& body, const Vec3& p, const Vec4& quat = identity_quat()) {
    aim_mocap(model, state, model.find_body(body), {rotation_matrix(quat), p}, options.dt, &input);
    step();
  }
  int q(const std::string& joint) const { return model.joints[model.find_joint(joint)].q; }
  int v(const std::string& joint) const { return model.joints[model.find_joint(joint)].v; }
  Vec3 position(const std::string& joint) const { return state.q.segment<3>(q(joint)); }
  Vec3 velocity(const std::string& joint) const { return state.v.segment<3>(v(joint)); }
};

const std::string kTray =
    "options: {dt: 0.005}\n"
    "bodies:\n"
    "  - {name: tray, mocap: true, shape: {type: box, size: [4, 2, 0.1], mass: 1}}\n"
    "  - {name: box, position: [0, 0, 0.1], joint: free, shape: {type: box, size: [0.2, 0.2, 0.1], mass: "
    "30}}\n"
    "materials: [{name: default, friction: 0.4}]\n"
    "shapes: [{type: half_space, position: [0, 0, -0.04]}]\n";  // the tray is in it, which nobody minds

TEST(Mocap, StaysWhereItIsWithoutABitOfMotionUnderALoad) {
  MocapRun run(kTray);
  for (int i = 0; i < 200; ++i) run.step();
  EXPECT_EQ(run.position("tray"), Vec3(0, 0, 0));
  EXPECT_TRUE(run.velocity("tray").isZero(0));
  EXPECT_NEAR(run.position("box").z(), 0.1, 1e-4);
  EXPECT_GT(run.report.contacts, 0);
  EXPECT_LT(run.velocity("box").norm(), 1e-6);
}

TEST(Mocap, GoesWhereItIsTold) {
  MocapRun run(kTray);
  for (int i = 1; i <= 200; ++i) {
    const double t = i * run.options.dt;
    const Vec3 p(0.1 * std::sin(2 * t), 0, 0.05 * t);
    const Vec4 quat = quat_exp(Vec3(0, 0, 0.3 * t));
    run.step_to("tray", p, quat);
    EXPECT_LT((run.position("tray") - p).norm(), 1e-14);
    EXPECT_LT((run.state.q.segment<4>(run.q("tray") + 3) - quat).norm(), 1e-14);
  }
  // The mean velocity of the last step, and none once it is there.
  EXPECT_NEAR(run.velocity("tray").z(), 0.05, 1e-12);
  EXPECT_NEAR(run.state.v[run.v("tray") + 5], 0.3, 1e-12);
  const Vec3 end = run.position("tray");
  const Vec4 quat = run.state.q.segment<4>(run.q("tray") + 3);
  for (int i = 0; i < 3; ++i) run.step_to("tray", end, quat);
  EXPECT_TRUE(run.state.v.segment<6>(run.v("tray")).isZero(0));
  EXPECT_LT((run.position("tray") - end).norm(), 1e-15);
}

// It sets off at once: what lies on it slips, by friction gets its speed at t = u / (mu g), and lags by
// u^2 / (2 mu g).
TEST(Mocap, FrictionTakesAlongWhatLiesOnIt) {
  MocapRun run(kTray);
  run.options.dt = 0.001;
  for (int i = 0; i < 100; ++i) run.step();
  const double u = 0.6, mu = 0.4, before = run.position("box").x();
  for (int i = 1; i <= 400; ++i) {
    run.step_to("tray", Vec3(u * i * run.options.dt, 0, 0));
    if (i == 75) {
      EXPECT_NEAR(run.velocity("box").x(), mu * kGravity * 0.075, 0.01 * u);
    }
  }
  EXPECT_NEAR(run.velocity("box").x(), u, 1e-4);
  const double lag = run.position("tray").x() - (run.position("box").x() - before);
  EXPECT_NEAR(lag, u * u / (2 * mu * kGravity), 0.01 * lag);
}

// With the acceleration a, contact carries m (g + a).
TEST(Mocap, LiftsWithTheForceOfItsAcceleration) {
  MocapRun run(kTray);
  const double dt = run.options.dt, a = 3;
  double z = 0, w = 0;
  for (int i = 0; i < 100; ++i) run.step();
  const double before = run.velocity("box").z();
  for (int i = 0; i < 100; ++i) {
    w += a * dt;
    z += w * dt;
    run.step_to("tray", Vec3(0, 0, z));
  }
  EXPECT_NEAR(run.velocity("box").z() - before, a * 100 * dt, 0.02 * a * 100 * dt);
  EXPECT_NEAR(run.position("box").z(), z + 0.1, 2e-3);
}

// A pendulum at a pivot that accelerates is one in gravity that leans: the same numbers, step for step.
TEST(Mocap, WhatHangsAtItFeelsItsAcceleration) {
  const double a = 2.5;
  const auto text = [](const std::string& gravity, const std::string& pivot) {
    return "options: {dt: 0.002, gravity: " + gravity +
           "}\nbodies:\n"
           "  - {name: pivot, " +
           pivot +
           "children: [{name: rod, joint: {name: hinge, type: revolute, axis: [0, 1, 0]}, shape: {type: "
           "capsule, radius: 0.02, from: [0, 0, 0], to: [0, 0, -0.5], mass: 1}}]}\n";
  };
  MocapRun moved(text("[0, 0, -9.81]", "mocap: true, ")), leant(text("[-2.5, 0, -9.81]", ""));
  double x = 0, u = 0, widest = 0;
  for (int i = 0; i < 500; ++i) {
    u += a * moved.options.dt;
    x += u * moved.options.dt;
    moved.step_to("pivot", Vec3(x, 0, 0));
    leant.step();
    ASSERT_NEAR(moved.state.q[moved.q("hinge")], leant.state.q[0], 1e-9) << i;
    widest = std::max(widest, std::abs(leant.state.q[0]));
  }
  EXPECT_NEAR(widest, 2 * std::atan2(a, kGravity), 0.01);  // it swings about where it would hang
}

// A free body, off its centre, welded to it: it follows the path, and is where the weld says to 1e-4 m.
TEST(Mocap, DragsWhatIsWeldedToIt) {
  MocapRun run(
      "options: {dt: 0.002}\n"
      "bodies:\n"
      "  - {name: hand, mocap: true, position: [0, 0, 1]}\n"
      "  - {name: load, position: [0.3, 0, 1], joint: free, shape: {type: box, size: [0.1, 0.2, 0.3], mass: "
      "5}}\n"
      "constraints: [{type: weld, body_a: hand, body_b: load}]\n");
  double largest = 0;
  for (int i = 1; i <= 1000; ++i) {
    const double t = i * run.options.dt, angle = 0.5 * (1 - std::cos(2 * t));
    const Vec3 p(0.2 * (1 - std::cos(3 * t)), 0.1 * std::sin(t), 1);
    const Vec4 quat = quat_exp(Vec3(0, 0, angle));
    run.step_to("hand", p, quat);
    largest = std::max(largest, (run.position("load") - (p + rotate(quat, Vec3(0.3, 0, 0)))).norm());
    EXPECT_LT((run.position("hand") - p).norm(), 1e-13);
  }
  EXPECT_LT(largest, 1e-4);
}

TEST(Mocap, KeepsItsVelocityWithoutAForceAndEnergyDoesNotCountIt) {
  MocapRun run(kTray);
  run.state.v.segment<3>(run.v("tray")) = Vec3(0.1, 0, 0);
  for (int i = 0; i < 200; ++i) run.step();
  EXPECT_EQ(run.velocity("tray"), Vec3(0.1, 0, 0));
  EXPECT_NEAR(run.position("tray").x(), 0.1, 1e-12);
  // The tray's own 1 kg and the box of 30 kg; its rotors are no energy.
  EXPECT_NEAR(calc_mechanics(run.model, run.state).kinetic, 0.5 * 31 * 0.01, 1e-3);
}

TEST(Mocap, WhatSleepsOnItWakesWhenItMoves) {
  MocapRun run("options: {sleep: true, sleep_time: 0.1, dt: 0.005}\n" + kTray.substr(kTray.find('\n') + 1));
  for (int i = 0; i < 100; ++i) run.step();
  EXPECT_EQ(run.report.asleep, 2);
  for (int i = 1; i <= 100; ++i) run.step_to("tray", Vec3(1e-3 * i, 0, 0));
  EXPECT_EQ(run.report.asleep, 0);
  EXPECT_NEAR(run.position("box").x(), 0.1, 0.02);
  for (int i = 0; i < 100; ++i) run.step_to("tray", Vec3(0.1, 0, 0));
  EXPECT_EQ(run.report.asleep, 2);
}

// Tracks of controls: where it is at the end of each step is where the track is then.
TEST(Mocap, FollowsASchedule) {
  const std::string text = kTray +
                           "controls:\n"
                           "  - {time: 0, control: {tray.x: 0, tray.turn_z: 0}}\n"
                           "  - {time: 1, control: {tray.x: 0.5}, interpolate: smooth}\n"
                           "  - {time: 2, control: {tray.turn_z: 0.8}}\n";
  MocapRun run(text);
  EXPECT_NE(write_yaml(run.scene).find("mocap: true"), std::string::npos);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(run.model, run.scene.controls, &diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  while (run.state.time < 2.5) {
    apply_schedule(run.model, schedule, run.options.dt, &run.state, &run.input);
    run.step();
    const double t = run.state.time, s = std::min(t, 1.0);
    EXPECT_NEAR(run.position("tray").x(), 0.5 * (3 - 2 * s) * s * s, 1e-12);
    EXPECT_EQ(run.position("tray").z(), 0);
    const Vec4 quat = run.state.q.segment<4>(run.q("tray") + 3);
    EXPECT_NEAR(2 * std::atan2(quat[3], quat[0]), 0.4 * std::min(t, 2.0), 1e-12);
  }
  EXPECT_GT(run.position("box").x(), 0.3);
}

TEST(Mocap, MistakesAreTold) {
  const auto complaint = [](const std::string& text) {
    try {
      compile(read_text(text));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(complaint("bodies: [{name: a, mocap: true, joint: free}]\n").find("has a joint"),
            std::string::npos);
  EXPECT_NE(
      complaint("bodies: [{name: b, children: [{name: a, mocap: true}]}]\n").find("hangs at another body"),
      std::string::npos);
  EXPECT_NE(complaint("bodies: [{name: a, mocap: true}]\ncontrols: [{time: 0, control: {a.w: 1}}]\n")
                .find("unknown actuator 'a.w'"),
            std::string::npos);
  Diagnostics diagnostics;
  compile(read_text("bodies: [{name: a, mocap: true}]\nconstraints: [{type: weld, body_a: a}]\n"),
          &diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_NE(diagnostics.text().find("neither is moved by forces"), std::string::npos) << diagnostics.text();
}

TEST(Mocap, MjcfHasThem) {
  const std::string path = testing::TempDir() + "/capstan_mocap.xml";
  std::ofstream(path)
      << "<mujoco><worldbody><body name='hand' mocap='true' pos='0 0 1'><geom size='.1' "
         "contype='0' conaffinity='0'/></body>"
         "<body name='load' pos='.2 0 1'><freejoint name='f'/><geom size='.05'/></body></worldbody>"
         "<equality><weld body1='hand' body2='load'/></equality>"
         "<keyframe><key name='up' qpos='.2 0 2 1 0 0 0' mpos='0 0 2' mquat='1 0 0 0'/></keyframe>"
         "</mujoco>";
  Diagnostics diagnostics;
  const Scene scene = read_scene(path, &diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(diagnostics.text().find("mocap"), std::string::npos) << diagnostics.text();
  const Model model = compile(scene);
  ASSERT_EQ(find_mocap_links(model).size(), 1u);
  State state = keyframe_state(model, "up");
  EXPECT_EQ(state.q.segment<3>(0), Vec3(0, 0, 2));
  EXPECT_EQ(state.q.segment<3>(7), Vec3(0.2, 0, 2));
  const StepOptions options = step_options(model);
  Workspace workspace = make_workspace(model);
  Input input;
  const int hand = model.find_body("hand");
  for (int i = 1; i <= 1000; ++i) {  // half a metre in two seconds
    aim_mocap(model, state, hand, {Mat3::Identity(), Vec3(5e-4 * i, 0, 2)}, options.dt, &input);
    step(model, options, input, &state, &workspace);
  }
  EXPECT_NEAR(state.q[0], 0.5, 1e-12);
  EXPECT_NEAR(state.q[7], 0.7, 0.02);  // by MuJoCo's soft weld
  EXPECT_NEAR(state.v[6], 0.25, 0.01);
}

}  // namespace
}  // namespace capstan::mocap_test
