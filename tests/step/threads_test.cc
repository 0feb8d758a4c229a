// The same bits for any number of threads.
#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/contact_simulation.h"

namespace capstan::threads_test {
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

// Swinging boxes, each on a string that lies on a ball of its own.
Scene many_strings(int n, const std::string& integrator) {
  std::string shapes = "shapes:\n", sites = "sites:\n", bodies = "bodies:\n", tendons = "tendons:\n",
              actuators = "actuators:\n";
  for (int i = 0; i < n; ++i) {
    const std::string y = std::to_string(i), name = std::to_string(i);
    shapes += "  - {name: ball" + name + ", type: sphere, radius: 0.1, position: [0.2, " + y +
              ", 1], collides: false}\n";
    sites += "  - {name: pin" + name + ", position: [0, " + y + ", 1.05]}\n";
    bodies += "  - name: box" + name + "\n    position: [0.4, " + y +
              ", 0.4]\n    joint: free\n    shape: {type: box, size: [0.1, 0.2, 0.1], mass: " +
              std::to_string(1 + 0.1 * i) + "}\n    sites: [{name: hook" + name +
              ", position: [0.02, 0.05, 0.05]}]\n";
    tendons += "  - {name: cord" + name + ", path: [{site: pin" + name + "}, {wrap: ball" + name +
               "}, {site: hook" + name + "}], stiffness: 200, damping: 1}\n";
    actuators += "  - {name: pull" + name + ", type: torque, tendon: cord" + name + ", control: -2}\n";
  }
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text("capstan: 1\noptions: {dt: 0.005, integrator: " + integrator + "}\n" +
                                         shapes + sites + bodies + tendons + actuators,
                                     {}, &diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  return scene;
}

TEST(Threads, StringsHaveTheSameBits) {
  for (const char* integrator : {"semi_implicit", "midpoint"})
    expect_same_bits(many_strings(40, integrator), 200, 0);
}

TEST(Threads, TheClutterHasTheSameBits) {
  expect_same_bits(read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml"), 2000, 2);
}

}  // namespace
}  // namespace capstan::threads_test
