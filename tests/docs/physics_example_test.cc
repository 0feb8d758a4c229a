// docs/physics.md: its program compiles and does what the page says, and its numbers are those measured here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdarg>
#include <fstream>
#include <sstream>

// [example]
#include <cstdio>

#include "capstan/step/step.h"

using namespace capstan;

// Two rods of 1 kg and 1 m that swing about y, released at 1 rad and 0.5 rad.
Scene double_pendulum() {
  Scene scene;
  for (const char* name : {"upper", "lower"}) {
    Body rod;
    rod.name = name;
    rod.inertia = Inertia{1, Vec3(0, 0, -0.5), Mat3(Vec3(1 / 12.0, 1 / 12.0, 1e-4).asDiagonal())};
    Joint hinge;
    hinge.name = rod.name + "_hinge";
    hinge.axis = Vec3(0, 1, 0);
    rod.joints.push_back(hinge);
    scene.bodies.push_back(rod);
  }
  scene.bodies[1].parent = "upper";
  scene.bodies[1].pose.position = Vec3(0, 0, -1);
  scene.initial.q = {{"upper_hinge", {1.0}}, {"lower_hinge", {0.5}}};
  return scene;
}

State swing(const Model& model, const StepOptions& options, double seconds) {
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  while (state.time < seconds - options.dt / 2) step(model, options, Input{}, &state, &workspace);
  return state;
}

double energy_change(const Model& model, const State& state) {
  return calc_mechanics(model, state).total() - calc_mechanics(model, initial_state(model)).total();
}

void print_energy_change() {
  const Model model = compile(double_pendulum());  // throws InputError with every problem it finds
  const State end = swing(model, {0.001, Integrator::midpoint}, 2);
  std::printf("energy changed by %.1e J in %.0f s\n", energy_change(model, end), end.time);
}
// [example]

#include "tests/support/page.h"

#include "capstan/io/read.h"

namespace {

using capstan::test::between;
using capstan::test::read_text;

std::string format(const char* pattern, ...) {
  char line[300];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(line, sizeof line, pattern, arguments);
  va_end(arguments);
  return line;
}

void expect_in_page(const std::string& line) {
  std::printf("%s\n", line.c_str());
  EXPECT_NE(read_text("docs/physics.md").find(line), std::string::npos) << "not in docs/physics.md: " << line;
}

constexpr Integrator kAll[] = {Integrator::explicit_euler, Integrator::symplectic_euler,
                               Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint};

TEST(PhysicsPage, ShowsTheProgramOfThisFile) {
  EXPECT_EQ(between(read_text("docs/physics.md"), "```cpp\n", "```"),
            between(read_text("tests/docs/physics_example_test.cc"), "// [example]\n", "// [example]"));
}

TEST(PhysicsPage, TheProgramPrintsWhatThePageSays) {
  testing::internal::CaptureStdout();
  print_energy_change();
  std::string printed = testing::internal::GetCapturedStdout();
  printed.pop_back();
  expect_in_page(printed);
}

// 0.5 kg on a spring of 100 N/m, 20 ms steps (SAP VI-B): lowest and highest energy in 3 s, relative.
std::pair<double, double> spring_energy(Integrator integrator) {
  Scene scene;
  scene.options.gravity.setZero();
  Body body;
  body.name = "mass";
  body.inertia = Inertia{0.5, Vec3::Zero(), 1e-3 * Mat3::Identity()};
  Joint slide;
  slide.name = "slide";
  slide.type = JointType::prismatic;
  slide.stiffness = 100;
  body.joints.push_back(slide);
  scene.bodies.push_back(body);
  scene.initial.q["slide"] = {0.1};
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const double start = calc_mechanics(model, state).total();
  double low = 1, high = 1;
  for (int i = 0; i < 150; ++i) {
    step(model, {0.02, integrator}, {}, &state, &workspace);
    const double energy = calc_mechanics(model, state).total() / start;
    low = std::min(low, energy), high = std::max(high, energy);
  }
  return {low, high};
}

TEST(PhysicsPage, TableOfSchemes) {
  const Model model = compile(double_pendulum());
  for (const Integrator i : kAll) {
    VecX q[3];
    for (int k = 0; k < 3; ++k) q[k] = swing(model, {0.001 / (1 << k), i}, 1).q;
    const double order = std::log2((q[0] - q[1]).norm() / (q[1] - q[2]).norm());
    const auto [low, high] = spring_energy(i);
    expect_in_page(format("| `%s` | %.2f | %+.1e J | %.2g to %.3g |", integrator_name(i), order,
                          energy_change(model, swing(model, {0.001, i}, 2)), low, high));
  }
}

TEST(PhysicsPage, MomentumOfAFloatingHumanoid) {
  Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/humanoid_floating.xml");
  scene.options.gravity.setZero();
  std::string line;
  for (const bool conserve : {true, false}) {
    scene.options.conserve_momentum = conserve;
    const Model model = compile(scene);
    State state = initial_state(model);
    state.v.head<6>() << 0.3, -0.2, 0.5, 0.8, -0.4, 0.6;
    Workspace workspace = make_workspace(model);
    const Vec3 start = calc_mechanics(model, state).momentum.head<3>();
    for (int i = 0; i < 1000; ++i) {
      for (int k = 0; k < state.control.size(); ++k) state.control[k] = 0.3 * std::sin(3 * state.time + k);
      step(model, {0.002, Integrator::semi_implicit}, {}, &state, &workspace);
    }
    const double drift = (calc_mechanics(model, state).momentum.head<3>() - start).norm() / start.norm();
    if (conserve) {
      std::printf("drift with the correction: %.1e\n", drift);
      EXPECT_LT(drift, 1e-12);
    } else {
      std::printf("drift without the correction: %.1e\n", drift);
      EXPECT_GT(drift, 1e-2);
    }
  }
  expect_in_page("below 1e-12 with the correction, above 1e-2 without the correction");
}

}  // namespace
