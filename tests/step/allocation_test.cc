// A step allocates nothing after warm-up: every allocation of the program is counted.
#include <gtest/gtest.h>
#include <string>

#include <atomic>
#include <cstdlib>
#include <new>

#include "capstan/io/read.h"
#include "capstan/step/step.h"

namespace {
std::atomic<long> allocations{0};
}

// Eigen allocates with malloc, so malloc itself is counted (glibc's own entry is __libc_malloc).
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

namespace capstan {
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
  for (int i = 0; i < 800; ++i) step(model, options, {}, &state, &workspace);
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

INSTANTIATE_TEST_SUITE_P(Scenes, Steps,
                         testing::Combine(testing::Values("humanoid.xml", "arm_hand.xml", "quadruped.yaml",
                                                          "scissor_lift.yaml", "patch_gripper.yaml"),
                                          testing::Values(Integrator::explicit_euler,
                                                          Integrator::symplectic_euler,
                                                          Integrator::semi_implicit,
                                                          Integrator::implicit_euler, Integrator::midpoint)));

}  // namespace
}  // namespace capstan
