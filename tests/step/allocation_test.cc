// A step allocates nothing after warm-up: every allocation of the program is counted.
#include <gtest/gtest.h>
#include <string>

#include <atomic>
#include <cstdlib>
#include <new>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/scene_text.h"

namespace {
std::atomic<long> allocations{0};
}

// Eigen allocates with malloc, so malloc itself is counted (glibc's own entry is __libc_malloc).
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

namespace capstan::allocation_test {
namespace {

TEST(Allocation, TheCounterCounts) {
  const long before = allocations;
  VecX x = VecX::Zero(1000);
  EXPECT_GT(allocations - before, 0);
  EXPECT_EQ(x.size(), 1000);
}

class Steps : public testing::TestWithParam<std::tuple<const char*, Integrator>> {};

TEST_P(Steps, AllocateNothing) {
  const auto [file, integrator] = GetParam();
  const Model model = compile(read_scene(std::string(CAPSTAN_SOURCE_DIR "/scenes/") + file));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const Input input;
  const StepOptions options{0.002, integrator};
  const int settled = std::string(file) == "arm_hand.xml" ? 1000 : 200;  // no more contacts than before
  for (int i = 0; i < settled; ++i) step(model, options, input, &state, &workspace);
  const long before = allocations;
  for (int i = 0; i < 20; ++i) step(model, options, input, &state, &workspace);
  EXPECT_EQ(allocations - before, 0);
}

// A heap that has settled: contacts still come and go. (While it settles, an island may be larger than any
// before it at its place in the order of size, and memory grows.)
void expect_no_allocation_at_rest(bool sleep) {
  const Model model = compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.sleep.on = sleep;
  for (int i = 0; i < 2400; ++i) step(model, options, {}, &state, &workspace);
  const long before = allocations;
  for (int i = 0; i < 100; ++i) step(model, options, {}, &state, &workspace);
  EXPECT_EQ(allocations - before, 0);
}
TEST(Allocation, AHeapAtRestAllocatesNothing) {
  expect_no_allocation_at_rest(false);
}
TEST(Allocation, AHeapThatMaySleepAllocatesNothing) {
  expect_no_allocation_at_rest(true);
}

// A ball that bounces and a disc that spins and bounces, by steps in which something bounces and others.
TEST(Allocation, WhatSpinsAndBouncesAllocatesNothing) {
  const Model model = compile(test::scene_of(R"(
materials: [{name: default, restitution: 1, friction: 0}]
shapes: [{type: half_space}]
bodies:
  - name: disc
    position: [0, 0, 0.3]
    joint: {type: free, initial_velocity: [0, 0, 0, 0, 0, 60]}
    shape: {type: cylinder, radius: 0.1, length: 0.04, mass: 1}
  - {name: ball, position: [0.5, 0, 0.5], joint: free, shape: {type: sphere, radius: 0.05, mass: 1}}
)"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const StepOptions options{0.002};
  for (int i = 0; i < 600; ++i) step(model, options, {}, &state, &workspace);
  const long before = allocations;
  int bounces = 0;
  for (int i = 0; i < 600; ++i) bounces += step(model, options, {}, &state, &workspace).bounce_rounds;
  EXPECT_GE(bounces, 4);
  EXPECT_EQ(allocations - before, 0);
}

// Ropes on the floor, across each other and under a box; a strap on terrain; a rope that a motor's arm
// holds up.
TEST(Allocation, RodsThatTouchAllocateNothing) {
  const char* const scenes[] = {R"(
shapes: [{type: half_space}]
bodies: [{name: box, position: [0.1, 0, 0.045], joint: free, shape: {type: box, size: [0.06, 0.06, 0.06], mass: 0.2}}]
rods:
  - {name: rope, line: {from: [-0.2, 0, 0.01], to: [0.3, 0, 0.01]}, edges: 12, diameter: 0.01, young_modulus: 1e7, density: 1000, damping: {alpha: 2}}
  - {name: other, line: {from: [-0.1, -0.2, 0.025], to: [-0.1, 0.2, 0.025]}, edges: 12, diameter: 0.01, young_modulus: 1e6, density: 1000, damping: {alpha: 2}}
)",
                                R"(
shapes: [{type: height_field, size: [1, 0.5], base: 0.1, heights: [[0, 0.01, 0, 0.02], [0, 0, 0, 0], [0.01, 0, 0, 0]]}]
rods:
  - {name: strap, line: {from: [-0.2, 0.01, 0.05], to: [0.3, 0, 0.05]}, edges: 12, section: {type: rectangle, width: 0.02, height: 0.005}, young_modulus: 1e7, density: 1000, damping: {alpha: 2}, velocity: [0.1, 0, 0]}
)",
                                R"(
bodies:
  - name: arm
    position: [0, 0, 0.3]
    joint: {name: hinge, type: revolute, axis: [0, -1, 0]}
    shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.6, 0, 0], mass: 0.2}
actuators: [{name: motor, type: pd, joint: hinge, stiffness: 50, damping: 5}]
rods:
  - {name: rope, points: [[0.4, -0.15, 0.1], [0.4, -0.015, 0.312], [0.4, 0.015, 0.312], [0.4, 0.15, 0.1]], edges: 16, diameter: 0.004, young_modulus: 1e6, density: 1000, damping: {alpha: 1, beta: 0.01}, rest: straight}
)"};
  for (const char* const scene : scenes) {
    for (const Integrator integrator :
         {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
      const Model model = compile(test::scene_of(scene));
      State state = initial_state(model);
      Workspace workspace = make_workspace(model);
      const StepOptions options{0.002, integrator};
      for (int i = 0; i < 1000; ++i) step(model, options, {}, &state, &workspace);
      const long before = allocations;
      int contacts = 0;
      for (int i = 0; i < 50; ++i) contacts += step(model, options, {}, &state, &workspace).contacts;
      EXPECT_GT(contacts, 0);
      EXPECT_EQ(allocations - before, 0) << scene << static_cast<int>(integrator);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, Steps,
                         testing::Combine(testing::Values("humanoid.xml", "arm_hand.xml", "quadruped.yaml",
                                                          "scissor_lift.yaml", "patch_gripper.yaml"),
                                          testing::Values(Integrator::explicit_euler,
                                                          Integrator::symplectic_euler,
                                                          Integrator::semi_implicit,
                                                          Integrator::implicit_euler, Integrator::midpoint)));

}  // namespace
}  // namespace capstan::allocation_test
