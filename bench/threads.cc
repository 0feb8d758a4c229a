// How much faster a step is on two threads than on one: both in turns in one run, and of each step and stage
// the shortest time of all rounds, so that other work on the machine does not count. Usage: threads [steps
// [rounds]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "capstan/io/read.h"
#include "capstan/step/step.h"

namespace capstan {
namespace {

// Boxes in pairs, one a little askew on the other, pairs apart.
Scene scattered_boxes(int pairs) {
  Scene scene;
  ShapeInstance floor;
  floor.name = "floor";
  floor.shape = HalfSpace{};
  scene.shapes.push_back(floor);
  for (int i = 0; i < 2 * pairs; ++i) {
    Body body;
    body.name = "box" + std::to_string(i);
    body.pose.position = Vec3(0.5 * (i / 2 % 20) + 0.01 * (i % 3), 0.5 * (i / 40), i % 2 ? 0.17 : 0.055);
    Joint joint;
    joint.name = body.name;
    joint.type = JointType::free;
    body.joints = {joint};
    scene.bodies.push_back(body);
    ShapeInstance box;
    box.name = box.body = body.name;
    box.shape = Box{Vec3::Constant(0.05)};
    scene.shapes.push_back(box);
  }
  return scene;
}

constexpr double StepTimes::*kStages[] = {&StepTimes::free_motion, &StepTimes::collide, &StepTimes::assemble,
                                          &StepTimes::solve, &StepTimes::advance};

// Keeps for each step and stage the shorter time.
std::uint64_t run(const Model& model, int threads, std::vector<StepTimes>* best) {
  StepOptions options = step_options(model);
  options.threads = threads;
  options.judge = false;
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (StepTimes& b : *best) {
    const StepTimes t = step(model, options, {}, &state, &workspace).times;
    for (const auto x : kStages) b.*x = b.*x == 0 ? t.*x : std::min(b.*x, t.*x);
  }
  return hash(state);
}

void compare(const std::string& name, const Scene& scene, int steps, int rounds) {
  const Model model = compile(scene);
  std::vector<StepTimes> times[2] = {std::vector<StepTimes>(steps), std::vector<StepTimes>(steps)};
  std::uint64_t bits[2];
  for (int round = 0; round < rounds; ++round) {
    for (const int threads : {1, 2}) bits[threads - 1] = run(model, threads, &times[threads - 1]);
  }
  StepTimes best[2];
  for (int i = 0; i < 2; ++i) {
    for (const StepTimes& t : times[i]) {
      for (const auto x : kStages) best[i].*x += t.*x;
    }
  }
  std::printf("%s: %d dofs, %d steps, same bits: %s\n", name.c_str(), model.num_velocities(), steps,
              bits[0] == bits[1] ? "yes" : "NO");
  const auto row = [&](const char* what, double one, double two) {
    std::printf("  %-12s %9.1f us %9.1f us  %5.2fx\n", what, 1e6 * one / steps, 1e6 * two / steps, one / two);
  };
  row("free motion", best[0].free_motion, best[1].free_motion);
  row("collide", best[0].collide, best[1].collide);
  row("assemble", best[0].assemble, best[1].assemble);
  row("solve", best[0].solve, best[1].solve);
  row("advance", best[0].advance, best[1].advance);
  row("step", best[0].total(), best[1].total());
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200, rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  capstan::compare("scattered boxes", capstan::scattered_boxes(200), steps, rounds);
  capstan::compare("22 humanoids", capstan::read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoids_22.yaml"), steps,
                   rounds);
}
