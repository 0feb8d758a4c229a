// Broad phase: time for each update with every box moving, at 1k, 10k and 100k boxes and the growth between.
//
//   pile     boxes of 2..8 cm at constant density in a cube, each drifting at 1 m/s, dt 5 ms
//   floor    the same above one static floor of 10 m (or as large as needed) and one unbounded half space
//   sizes    extents from 1 cm to 2 m, log-uniform by volume: a few large ones over many small ones
//   jumps    every box is placed anew at random at each step: no coherence to use
//   rest     nothing moves
//
// and beside it, for the pile, the plain alternative: sort along x and sweep, anew at each step.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "capstan/contacts/broad_phase.h"

using namespace capstan;

namespace {

// Of this thread only: other programs on the machine do not count.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Scene {
  std::vector<BroadPhaseCollider> colliders;
  std::vector<Aabb> boxes;
  std::vector<Vec3> velocity;
  double side = 1;
};

Scene make_scene(const std::string& kind, int n, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  Scene scene;
  scene.side = 0.09 * std::cbrt(n);
  for (int i = 0; i < n; ++i) {
    Vec3 half =
        0.5 * Vec3(0.02 + 0.06 * unit(random), 0.02 + 0.06 * unit(random), 0.02 + 0.06 * unit(random));
    if (kind == "sizes")
      half = Vec3::Constant(0.005 * std::min(200.0, std::pow(unit(random) + 1e-12, -1.0 / 3)));
    const Vec3 centre = scene.side * Vec3(unit(random), unit(random), unit(random));
    scene.boxes.push_back({centre - half, centre + half});
    scene.colliders.push_back({i, false, 1, 1});
    scene.velocity.push_back(Vec3(normal(random), normal(random), normal(random)));
    if (kind == "rest") scene.velocity.back().setZero();
  }
  if (kind == "floor") {
    const double inf = std::numeric_limits<double>::infinity(), w = std::max(10.0, scene.side);
    scene.boxes.push_back({{-w, -w, -1}, {w, w, 0.02}});
    scene.boxes.push_back({{-inf, -inf, -inf}, {inf, inf, 0}});
    for (int k = 0; k < 2; ++k) {
      scene.colliders.push_back({-1, true, 1, 1});
      scene.velocity.push_back(Vec3::Zero());
    }
  }
  return scene;
}

size_t sweep_along_x(const std::vector<Aabb>& boxes, std::vector<int>& order,
                     std::vector<ColliderPair>& pairs) {
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return boxes[a].lower.x() < boxes[b].lower.x(); });
  pairs.clear();
  for (size_t i = 0; i < order.size(); ++i) {
    const Aabb& a = boxes[order[i]];
    for (size_t j = i + 1; j < order.size() && boxes[order[j]].lower.x() <= a.upper.x(); ++j) {
      if (overlaps(a, boxes[order[j]]))
        pairs.push_back({std::min(order[i], order[j]), std::max(order[i], order[j])});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const ColliderPair& p, const ColliderPair& q) {
    return p.a < q.a || (p.a == q.a && p.b < q.b);
  });
  return pairs.size();
}

double milliseconds_per_update(const std::string& kind, int n, size_t& pairs, size_t& candidates,
                               double& escapes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  Scene scene = make_scene(kind, n, random);
  const bool sweep = kind == "sweep";
  std::vector<int> order;
  std::vector<ColliderPair> swept;
  for (int i = 0; i < n; ++i) order.push_back(i);
  BroadPhase broad_phase(scene.colliders);
  const int warm_up = sweep ? 1 : 20, steps = sweep ? 4 : n >= 100000 ? 40 : 200;
  double seconds = 0;
  for (int step = 0; step < warm_up + steps; ++step) {
    for (size_t i = 0; i < scene.velocity.size(); ++i) {
      Vec3 shift = 0.005 * scene.velocity[i];
      const Vec3 centre = 0.5 * (scene.boxes[i].lower + scene.boxes[i].upper);
      if (scene.velocity[i].isZero()) continue;
      for (int k = 0; k < 3; ++k) {
        if (centre[k] < 0) scene.velocity[i][k] = std::abs(scene.velocity[i][k]);
        if (centre[k] > scene.side) scene.velocity[i][k] = -std::abs(scene.velocity[i][k]);
      }
      if (kind == "jumps") shift = scene.side * Vec3(unit(random), unit(random), unit(random)) - centre;
      scene.boxes[i].lower += shift;
      scene.boxes[i].upper += shift;
    }
    const long before = broad_phase.statistics().escapes;
    const double start = cpu_seconds();
    pairs = sweep ? sweep_along_x(scene.boxes, order, swept) : broad_phase.update(scene.boxes).size();
    const double end = cpu_seconds();
    candidates = broad_phase.statistics().candidates;
    if (step >= warm_up) {
      seconds += end - start;
      escapes +=
          static_cast<double>(broad_phase.statistics().escapes - before) / (static_cast<double>(n) * steps);
    }
  }
  return 1e3 * seconds / steps;
}

}  // namespace

int main() {
  std::printf("%-8s %9s %10s %10s %12s %12s %10s %8s\n", "scene", "boxes", "pairs", "candidates",
              "escape rate", "ms/update", "ns/box", "growth");
  for (const char* kind : {"pile", "floor", "sizes", "jumps", "rest", "sweep"}) {
    double previous = 0;
    for (int n : {1000, 10000, 100000}) {
      size_t pairs = 0, candidates = 0;
      double escapes = 0;
      const double ms = milliseconds_per_update(kind, n, pairs, candidates, escapes);
      std::printf("%-8s %9d %10zu %10zu %12.3f %12.3f %10.1f", kind, n, pairs, candidates, escapes, ms,
                  1e6 * ms / n);
      if (previous > 0) std::printf(" %7.1fx", ms / previous);
      std::printf("\n");
      previous = ms;
    }
  }
}
