// What a Newton iteration costs when few blocks of a long object are touched: a chain of masses on springs,
// of which 20 have a ball that lands on the floor. Times of the solves of whole runs, and of the condensation
// in them, which is done once for each tangent.
#include <cstdio>
#include <ctime>
#include <memory>

#include "capstan/solvers/condensation.h"
#include "capstan/step/step.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/point_masses.h"

namespace {

using namespace capstan;

constexpr int kTouched = 20, kSteps = 100;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void run(int count) {
  Scene scene = test::box_on_plane(0.5, 1e5);
  scene.bodies.clear();
  scene.shapes.resize(1);
  test::Simulation simulation(scene, 0.005, ContactLaw::sap);
  test::PointMasses masses;
  const double spacing = 10.0 / count;
  for (int i = 0; i < count; ++i) {
    masses.mass.push_back(2.0 / count);
    masses.position.push_back(Vec3(i * spacing, 0, 0.05));
    if (i > 0) masses.springs.push_back({i - 1, i, 10.0 * count, 0, spacing});
  }
  const int object = add_object("chain", std::make_shared<test::PointMasses>(masses), &simulation.model);
  for (int i = 0; i < count; i += count / kTouched)
    add_carrier_shape(object, i, test::make_shape(std::to_string(i), "", Sphere{0.01}), 0, &simulation.model);
  simulation.state = initial_state(simulation.model);
  Workspace& w = simulation.workspace = make_workspace(simulation.model);

  // Twice, the second time to the last bit: the difference is iterations and nothing else.
  NewtonWorkspace newton = make_newton_workspace(simulation.model);
  NewtonOptions options[2];
  options[1].relative_tolerance = options[1].absolute_tolerance = 0;
  for (NewtonOptions& o : options) o.globalization = Globalization::exact_line_search;
  std::vector<Condensation> condensations;
  std::vector<char> touched;
  const Threads threads(1);
  double solving[2] = {}, condensing = 0;
  long iterations[2] = {}, solves = 0;
  constexpr int kRepeats = 10;
  for (int k = 0; k < kSteps; ++k) {
    simulation.go(0.005);
    if (w.problem.contacts.empty()) continue;
    for (const int which : {0, 1}) {
      const double start = cpu_seconds();
      for (int r = 0; r < kRepeats; ++r)
        iterations[which] += solve_newton(w.problem, options[which], threads, &newton).iterations;
      solving[which] += cpu_seconds() - start;
    }
    const double start = cpu_seconds();
    for (int r = 0; r < kRepeats; ++r) {
      for (Condensation& c : condensations) c.forget();
      condense(w.problem, std::vector<char>(w.problem.groups.size(), 1), threads, &touched, &condensations);
    }
    condensing += cpu_seconds() - start;
    solves += kRepeats;
  }
  std::printf("%8d %12.2f %16.1f %16.1f %20.1f\n", count,
              static_cast<double>(iterations[0]) / static_cast<double>(solves),
              1e6 * solving[0] / static_cast<double>(solves), 1e6 * condensing / static_cast<double>(solves),
              1e6 * (solving[1] - solving[0]) / static_cast<double>(iterations[1] - iterations[0]));
}

}  // namespace

int main() {
  std::printf("%8s %12s %16s %16s %20s\n", "masses", "iterations", "solve [us]", "condense [us]",
              "per iteration [us]");
  for (const int count : {20, 200, 2000, 20000}) run(count);
}
