// The same bits for any number of threads.
#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/contact_simulation.h"

namespace capstan {
namespace {

Scene many_islands(int n) {
  return test::boxes_in_pairs(n, 6);
}

// Each box that lies below is held in its place by an actuator with a limit that the fall of the other
// exceeds.
Scene many_drives(int n) {
  Scene scene = many_islands(n);
  for (int i = 0; i < 2 * n; i += 2) {
    scene.bodies[i].joints[0].type = JointType::prismatic;
    Actuator pd;
    pd.name = pd.joint = scene.bodies[i].joints[0].name;
    pd.gain = 1e5;
    pd.bias = Vec3(0, -1e5, -100);
    pd.force_range = {-30, 20};
    scene.actuators.push_back(pd);
  }
  return scene;
}

std::vector<std::uint64_t> run(const Scene& scene, int threads, int num_steps, int* most_islands) {
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  options.threads = threads;
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < num_steps; ++i) {
    const Report report = step(model, options, {}, &state, &workspace);
    *most_islands = std::max(*most_islands, report.solver.islands);
    if (i % 50 == 49) hashes.push_back(hash(state));
  }
  return hashes;
}

void expect_same_bits(const Scene& scene, int num_steps, int islands_at_least) {
  int most_islands = 0;
  const auto alone = run(scene, 1, num_steps, &most_islands);
  EXPECT_GE(most_islands, islands_at_least);
  for (const int threads : {2, 4, 8}) {
    EXPECT_EQ(run(scene, threads, num_steps, &most_islands), alone) << threads << " threads";
  }
}

TEST(Threads, ManyIslandsHaveTheSameBits) {
  expect_same_bits(many_islands(36), 300, 36);
}

TEST(Threads, ActuatorsWithLimitsHaveTheSameBits) {
  expect_same_bits(many_drives(36), 300, 36);
}

// With limits of joints and tendons, damping and motors.
TEST(Threads, HumanoidsHaveTheSameBits) {
  expect_same_bits(read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoids_22.yaml"), 300, 22);
}

TEST(Threads, TheClutterHasTheSameBits) {
  expect_same_bits(read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml"), 2000, 2);
}

}  // namespace
}  // namespace capstan
