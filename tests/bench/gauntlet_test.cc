// The gauntlet (bench/gauntlet): its files are whole, its judge measures what it says.
#include "bench/gauntlet/gauntlet.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <set>

#include "capstan/math/rotation.h"

namespace capstan::gauntlet {
namespace {

TEST(Gauntlet, EveryFileIsReadWithoutAWordOfComplaint) {
  const std::vector<std::string> files = task_files();
  EXPECT_GE(files.size(), 40u);
  std::set<std::string> groups;
  for (const std::string& file : files) {
    Diagnostics diagnostics;
    diagnostics.strict = true;
    const Task task = read_task(file, &diagnostics);
    EXPECT_EQ(diagnostics.text(), "") << file;
    EXPECT_GT(task.duration(), 0);
    EXPECT_GT(task.tolerance, 0);
    EXPECT_GT(task.num_recorded(), 0u) << file;
    groups.insert(task.group);
    // One material, so that the friction of every pair is unambiguous for all engines.
    for (const Material& material : task.scene.materials) EXPECT_EQ(material.name, "default") << file;
    EXPECT_TRUE(task.scene.pairs.empty()) << file;
  }
  EXPECT_EQ(groups.size(), kGroups.size());
}

std::string scratch(const std::string& text) {
  const std::string path = testing::TempDir() + "gauntlet_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << text;
  return path;
}

TEST(Gauntlet, AnIncompleteTaskIsToldWithAllThatIsMissing) {
  const std::string path = scratch(
      "capstan: 1\nextra: {title: t, measure: {quantity: weight, over: end, body: b}, group: rest}\n"
      "bodies: [{name: a, joint: free, shape: {type: sphere, radius: 1}}]\n");
  Diagnostics diagnostics;
  read_task(path, &diagnostics);
  const std::string text = diagnostics.text();
  for (const char* word : {"'shows'", "'why'", "'answer'", "'tolerance'", "weight", "no body 'b'"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
  std::remove(path.c_str());
}

constexpr const char* kRod =
    "rods: [{name: rope, line: {from: [0, 0, 0], to: [1, 0, 0]}, edges: 4, diameter: 0.01, young_modulus: "
    "1e7,"
    " density: 1000, velocity: [0, 2, 0]}]\n";

TEST(Gauntlet, AProbeNeedsANameOfItsOwnAndSomethingToBeOf) {
  const std::string path = scratch(
      std::string(
          "capstan: 1\nextra:\n  probes: [{name: a, of: rope}, {name: a, of: rope}, {name: c, of: nothing}]\n"
          "  measure: {quantity: tilt, over: end, body: a}\n") +
      kRod);
  Diagnostics diagnostics;
  read_task(path, &diagnostics);
  for (const char* word : {"that nothing else has", "no rod or soft body 'nothing'", "a probe is a point"})
    EXPECT_NE(diagnostics.text().find(word), std::string::npos) << word << " in\n" << diagnostics.text();
  std::remove(path.c_str());
}

// A rod of 1 m that flies sideways at 2 m/s: a node of it, and all of it.
TEST(Gauntlet, ProbesTellOfPointsAndOfWholeRods) {
  const std::string path = scratch(
      std::string(
          "capstan: 1\nextra:\n  title: t\n  shows: s\n  group: rods\n  why: w\n  answer: 0\n  tolerance: 1\n"
          "  probes: [{name: node, of: rope, at: [0.25, 0, 0]}, {name: whole, of: rope}]\n"
          "  measure: {quantity: y, over: change, body: node}\n"
          "options: {duration: 0.1, gravity: [0, 0, 0]}\n") +
      kRod);
  Task task = read_task(path);
  EXPECT_EQ(task.num_recorded(), 2u);
  std::string trouble;
  const Trajectory trajectory = run(task, 0.01, make_capstan(task, 0.01, {}).get(), &trouble);
  EXPECT_EQ(trouble, "");
  EXPECT_NEAR(measure(task, trajectory), 0.2, 1e-9);
  EXPECT_NEAR(trajectory.at(0)[0].position.x(), 0.25, 1e-12);
  EXPECT_NEAR(trajectory.at(0)[1].position.x(), 0.5, 1e-12);
  const double mass = 1000 * std::numbers::pi * 0.005 * 0.005;
  EXPECT_NEAR(task.inertia(1).mass, mass, 1e-9);
  // The judge takes momentum from whole rods: in front of one at rest it is all of it.
  Trajectory stopped = trajectory;
  stopped.states.back() = {};
  task.measure.quantity = "momentum";
  task.measure.over = "end";
  task.measure.body = "";
  EXPECT_NEAR(measure(task, stopped), 2 * mass, 1e-9);
  task.measure.quantity = "angular_momentum";
  EXPECT_NEAR(measure(task, stopped), 2 * mass * 0.5, 1e-9);
  std::remove(path.c_str());
}

// One body that flies in a circle of radius 2 about z at 3 rad/s, turning with it, and climbs at 0.5 m/s.
constexpr double kRadius = 2, kRate = 3, kClimb = 0.5;

Task circle_task(const std::string& quantity, const std::string& over) {
  Task task;
  Body body;
  body.name = "a";
  Inertia inertia;
  inertia.mass = 4;
  inertia.about_com = Vec3(1, 2, 3).asDiagonal();
  body.inertia = inertia;
  task.scene.bodies = {body};
  task.measure.quantity = quantity;
  task.measure.over = over;
  task.measure.body = "a";
  return task;
}

Trajectory circle() {
  Trajectory trajectory;
  trajectory.num_bodies = 1;
  for (int k = 0; k <= 4000; ++k) {
    const double t = 0.001 * k, angle = kRate * t;
    const Vec3 out(std::cos(angle), std::sin(angle), 0), along(-std::sin(angle), std::cos(angle), 0);
    trajectory.time.push_back(t);
    trajectory.states.push_back({kRadius * out + Vec3(0, 0, kClimb * t),
                                 quat_from_axis_angle(Vec3(0, 0, 1), angle),
                                 kRadius * kRate * along + Vec3(0, 0, kClimb), Vec3(0, 0, kRate)});
  }
  return trajectory;
}

double measured(const Task& task) {
  return measure(task, circle());
}

TEST(GauntletMeasure, PositionsAndVelocitiesOfAPoint) {
  EXPECT_NEAR(measured(circle_task("z", "end")), 2, 1e-12);
  EXPECT_NEAR(measured(circle_task("z", "change")), 2, 1e-12);
  EXPECT_NEAR(measured(circle_task("x", "max")), kRadius, 1e-12);
  EXPECT_NEAR(measured(circle_task("x", "min")), -kRadius, 1e-5);
  EXPECT_NEAR(measured(circle_task("speed", "mean")), std::hypot(kRadius * kRate, kClimb), 1e-12);
  EXPECT_NEAR(measured(circle_task("wz", "end")), kRate, 1e-12);
  EXPECT_NEAR(measured(circle_task("spin", "end")), kRate, 1e-12);
  Task task = circle_task("x", "max");
  task.measure.point = Vec3(0.5, 0, 0);  // turns with the body: further out
  EXPECT_NEAR(measured(task), kRadius + 0.5, 1e-12);
  task.measure.quantity = "speed";
  EXPECT_NEAR(measured(task), std::hypot((kRadius + 0.5) * kRate, kClimb), 1e-12);
}

TEST(GauntletMeasure, AnglesAddUpBeyondAFullTurn) {
  EXPECT_NEAR(measured(circle_task("turn", "change")), 4 * kRate, 1e-9);
  EXPECT_NEAR(measured(circle_task("azimuth", "change")), 4 * kRate, 1e-9);
  EXPECT_NEAR(measured(circle_task("tilt", "end")), 0, 1e-7);
}

TEST(GauntletMeasure, TimesOfCrossings) {
  Task task = circle_task("z", "time_above");
  task.measure.value = 0.30003;  // between two samples
  EXPECT_NEAR(measured(task), 0.30003 / kClimb, 1e-9);
  task = circle_task("x", "time_below");
  task.measure.nth = 2;
  EXPECT_NEAR(measured(task), (0.5 + 2) * std::numbers::pi / kRate, 1e-6);
  task.measure.nth = 3;
  EXPECT_TRUE(std::isnan(measured(task)));
}

TEST(GauntletMeasure, WindowsAndChanges) {
  Task task = circle_task("displacement", "max");
  task.measure.from = 1, task.measure.to = 1.5;
  const double chord = 2 * kRadius * std::sin(kRate * 0.25);
  EXPECT_NEAR(measured(task), std::hypot(chord, 0.25), 1e-9);
  task.measure.quantity = "z", task.measure.over = "largest_change";
  EXPECT_NEAR(measured(task), 0.25, 1e-9);
}

TEST(GauntletMeasure, EnergyAndMomentum) {
  const double v2 = kRadius * kRate * kRadius * kRate + kClimb * kClimb;
  Task task = circle_task("kinetic", "end");
  task.measure.body = "";
  EXPECT_NEAR(measured(task), 0.5 * 4 * v2 + 0.5 * 3 * kRate * kRate, 1e-9);
  task.measure.quantity = "energy", task.measure.over = "change";
  EXPECT_NEAR(measured(task), 4 * 9.81 * 2, 1e-9);
  // The horizontal momentum turns round: at the far side it has changed by twice its size.
  task.measure.quantity = "momentum", task.measure.over = "max";
  EXPECT_NEAR(measured(task), 2 * 4 * kRadius * kRate, 1e-4);
}

TEST(GauntletMeasure, RelativeToAnotherBodyAndCounts) {
  Task task = circle_task("x", "max");
  task.scene.bodies.push_back(task.scene.bodies[0]);
  task.scene.bodies[1].name = "b";
  task.measure.relative_to = "b";
  Trajectory one = circle(), two;
  two.num_bodies = 2;
  two.time = one.time;
  for (const BodyState& s : one.states) {
    BodyState other;
    other.position = Vec3(1, 0, 0);
    other.quat_wxyz = quat_from_axis_angle(Vec3(1, 0, 0), 1);
    two.states.push_back(s);
    two.states.push_back(other);
  }
  EXPECT_NEAR(measure(task, two), kRadius - 1, 1e-12);
  task.measure = {};
  task.measure.quantity = "tilted", task.measure.over = "end", task.measure.value = 0.5;
  EXPECT_EQ(measure(task, two), 1);
  task.measure.bodies = "a";
  EXPECT_EQ(measure(task, two), 0);
}

TEST(GauntletMeasure, WhatIsNotFiniteOrStoppedFails) {
  Task task = circle_task("z", "end");
  task.answer = 2, task.tolerance = 0.1;
  Trajectory trajectory = circle();
  EXPECT_TRUE(judge(task, trajectory, "").pass);
  EXPECT_FALSE(judge(task, trajectory, "the step failed").pass);
  trajectory.states.back().position.z() = std::nan("");
  EXPECT_FALSE(judge(task, trajectory, "").pass);
  task.answer = 2.2;
  EXPECT_FALSE(judge(task, circle(), "").pass);
}

TEST(Gauntlet, ATrajectoryFileKeepsEveryBit) {
  const std::string path = testing::TempDir() + "gauntlet_" + std::to_string(getpid()) + ".txt";
  const Trajectory trajectory = circle();
  write_trajectory(trajectory, path);
  const Trajectory again = read_trajectory(1, path);
  ASSERT_EQ(again.time, trajectory.time);
  for (std::size_t k = 0; k < again.states.size(); ++k) {
    ASSERT_EQ(again.states[k].position, trajectory.states[k].position);
    ASSERT_EQ(again.states[k].quat_wxyz, trajectory.states[k].quat_wxyz);
    ASSERT_EQ(again.states[k].velocity, trajectory.states[k].velocity);
    ASSERT_EQ(again.states[k].angular, trajectory.states[k].angular);
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace capstan::gauntlet
