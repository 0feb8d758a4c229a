// The experiments of Li and Chou with points of contact (experiments/filament_runs.h), their Table I:
// simulated time over the processor time of one thread, and whether the answer is right. A first argument is
// the name of one of them, a second one its seed, crossings or rings, a third one the time step [s].
//
//   knots     pulled tight, at the paper's step of 0.1 ms and larger ones; 0.002 there
//   capsules  the same with a chain of capsules in place of a rod
//   loop      the area that the knot goes around and its pull, pulled slowly, rod and capsules, as CSV
//   rings     a hanging chain for 1 s after it came to rest; 0.012 for 100 rings there
//   rest      the same for 60 s, or as many as a fourth argument says: how far the chain's end moves
//   gripper   filaments around a tree of sticks; 0.013 there
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "experiments/filament_runs.h"

namespace {

using namespace capstan::experiments;

bool tighten(int crossings, double dt, bool is_rod = true) {
  const KnotPull pull{.crossings = crossings, .dt = dt};
  const KnotRun knot = is_rod ? tighten_knot(pull) : tighten_chain_of_capsules(pull);
  const char* what = !knot.failure.empty() ? knot.failure.c_str()
                     : !knot.keeps_knot    ? "PASSES THROUGH ITSELF"
                     : knot.is_tight       ? "is tight"
                                           : "is still loose";
  std::printf("%s with a knot of %d, dt %g s: %s at %.3f s, %.1f N; %s\n", is_rod ? "rod" : "capsules",
              crossings, dt, what, knot.time, knot.pull, knot.cost.text().c_str());
  std::fflush(stdout);
  return knot.passes();
}

void print_loop(KnotPull pull, int crossings, double dt, bool is_rod) {
  pull.crossings = crossings, pull.dt = dt;
  const KnotRun knot = is_rod ? tighten_knot(pull) : tighten_chain_of_capsules(pull, springs_of_rope());
  for (std::size_t i = 0; i < knot.ways.size(); ++i)
    std::printf("%s,%d,%.1f,%.6f,%.4f,%.8f\n", is_rod ? "rod" : "capsules", crossings, pull.speed,
                knot.ways[i], knot.pulls[i], knot.areas[i]);
}

void hang(int count, double dt, double rest) {
  const RingRun rings = hang_rings(count, dt, 1, rest);
  if (!rings.failure.empty()) {
    std::printf("%3d rings: %s\n", count, rings.failure.c_str());
  } else {
    std::printf("%3d rings, dt %g s, falling into place: %s\n", count, dt, rings.falling.text().c_str());
    std::printf(
        "%3d rings, dt %g s, at rest: the end is %.2e m away after %g s, %.2e m at most, %s; fastest node "
        "%.1e m/s; %.1f us for each ring; %s\n",
        count, dt, rings.moved, rest, rings.most_moved, rings.stays_linked ? "all linked" : "COMES APART",
        rings.speed, rings.resting.microseconds() / count, rings.resting.text().c_str());
  }
  std::fflush(stdout);
}

void grasp(int seed, double dt) {
  const GripRun grip = grip_tree(seed, dt);
  std::printf("gripper, seed %d, dt %g s: the tree is %.0f mm up%s; %s\n", seed, dt, 1e3 * grip.lifted,
              grip.failure.c_str(), grip.cost.text().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto is_asked = [&](const char* name) { return argc < 2 || std::strcmp(argv[1], name) == 0; };
  const auto list = [&](std::vector<int> all) {
    return argc > 2 ? std::vector<int>{std::atoi(argv[2])} : all;
  };
  const auto steps = [&](std::vector<double> all) {
    return argc > 3 ? std::vector<double>{std::atof(argv[3])} : all;
  };
  if (is_asked("knots")) {
    for (const int crossings : list({3, 5, 7, 9})) {
      for (const double dt : steps({1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3})) tighten(crossings, dt);
    }
  }
  if (argc > 1 && is_asked("capsules")) {
    for (const int crossings : list({3, 9})) {
      for (const double dt : steps({1e-4})) tighten(crossings, dt, false);
    }
  }
  if (argc > 1 && is_asked("loop")) {
    std::printf("rope,crossings,speed [m/s],way of the ends [m],pull [N],area [m^2]\n");
    for (const int crossings : list({9})) {
      for (const double dt : steps({5e-4})) {
        for (const bool is_rod : {true, false}) print_loop(kQuietPull, crossings, dt, is_rod);
      }
    }
  }
  if (is_asked("rings")) {
    for (const int count : list({10, 20, 50, 100, 200, 400})) hang(count, steps({8e-4})[0], 1);
  }
  if (argc > 1 && is_asked("rest"))
    hang(list({100})[0], steps({8e-4})[0], argc > 4 ? std::atof(argv[4]) : 60);
  if (is_asked("gripper")) {
    for (const int seed :
         list(argc < 2 ? std::vector<int>{0, 1} : std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
      grasp(seed, steps({1e-3})[0]);
  }
}
