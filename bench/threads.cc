// How much faster a step is on two threads than on one: both in turns, and of the ratios of all rounds the
// median, because the speed of a machine that is shared changes from one second to the next. Usage: threads
// [steps [rounds]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/contact_simulation.h"

namespace capstan {
namespace {

constexpr double StepTimes::*kStages[] = {&StepTimes::free_motion, &StepTimes::collide, &StepTimes::assemble,
                                          &StepTimes::solve, &StepTimes::advance};

// Sums over the steps, and the state at the end.
std::uint64_t run(const Model& model, int steps, int threads, StepTimes* sum) {
  StepOptions options = step_options(model);
  options.threads = threads;
  options.judge = false;
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < steps; ++i) {
    const StepTimes t = step(model, options, {}, &state, &workspace).times;
    for (const auto x : kStages) sum->*x += t.*x;
  }
  return hash(state);
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + x.size() / 2, x.end());
  return x[x.size() / 2];
}

void compare(const std::string& name, const Scene& scene, int steps, int rounds) {
  const Model model = compile(scene);
  std::vector<StepTimes> times[2] = {std::vector<StepTimes>(rounds), std::vector<StepTimes>(rounds)};
  std::uint64_t bits[2];
  for (int round = 0; round < rounds; ++round) {
    for (const int threads : {1, 2}) {
      bits[threads - 1] = run(model, steps, threads, &times[threads - 1][round]);
    }
  }
  std::printf("%s: %d dofs, %d steps, same bits: %s\n", name.c_str(), model.num_velocities(), steps,
              bits[0] == bits[1] ? "yes" : "NO");
  const auto row = [&](const char* what, const auto& time) {
    std::vector<double> one, two, ratio;
    for (int i = 0; i < rounds; ++i) {
      one.push_back(1e6 * time(times[0][i]) / steps);
      two.push_back(1e6 * time(times[1][i]) / steps);
      ratio.push_back(one.back() / two.back());
    }
    std::printf("  %-12s %9.1f us %9.1f us  %5.2fx\n", what, median(one), median(two), median(ratio));
  };
  const char* const names[] = {"free motion", "collide", "assemble", "solve", "advance"};
  for (int i = 0; i < 5; ++i) row(names[i], [&](const StepTimes& t) { return t.*kStages[i]; });
  row("step", [](const StepTimes& t) { return t.total(); });
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200, rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  capstan::compare("scattered boxes", capstan::test::boxes_in_pairs(200, 20), steps, rounds);
  capstan::compare("22 humanoids", capstan::read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoids_22.yaml"), steps,
                   rounds);
}
