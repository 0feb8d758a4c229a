// Rods against a reference and against theory, with CPU time per step. A first argument is the name of one.
//
//   drop     a rod of 1 m and 10 mm, 100 edges, clamped at one end, falls about its clamp: distance of the
//   tip
//            from that of a planar discrete rod with the same edges, midpoint, 0.2 ms
//   capstan  a rope of 2 mm around a post of 60 mm, pulled by 0.01 t N for 2 s: ratio of the tensions at its
//            ends. Friction acts on the surface, tension on the axis: exp(mu phi R / (R + r))
//   coil     a rope of 5 mm in 5 turns of 100 mm, 8 mm apart, 160 edges, falls on the floor and lies on
//   itself
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "capstan/model/add_rod.h"
#include "capstan/step/step.h"

namespace {

using namespace capstan;

constexpr double kPi = 3.14159265358979;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Run {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Input input;
  std::shared_ptr<Rod> rod;
  double seconds = 0;
  long steps = 0, tangents = 0;
  int contacts = 0;  // of the last step

  Run(const Scene& scene, const RodSpec& spec, double dt, Integrator integrator) {
    model = compile(scene);
    rod = std::make_shared<Rod>(spec);
    add_rod("rod", rod, 0, &model);
    state = initial_state(model);
    workspace = make_workspace(model);
    options = step_options(model);
    options.dt = dt;
    options.integrator = integrator;
    options.judge = false;
    input.generalized_force = VecX::Zero(model.num_velocities());
  }
  void advance() {
    const double start = cpu_seconds();
    const Report report = step(model, options, input, &state, &workspace);
    tangents += report.free_motion_iterations;
    contacts = report.contacts;
    seconds += cpu_seconds() - start;
    ++steps;
  }
};

Scene scene_with_friction(double friction) {
  Scene scene;
  Material material;
  material.name = "default";
  material.friction = friction;
  scene.materials = {material};
  return scene;
}

void drop(double young_modulus, double x, double z, double dt, Integrator integrator) {
  RodSpec spec;
  for (int i = 0; i <= 100; ++i) spec.nodes.push_back({0.01 * i, 0, 0});
  spec.section.width = 0.01;
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = 0.4;
  spec.density = 1000;
  spec.clamped_edges = {0};
  Run run(scene_with_friction(0.5), spec, dt, integrator);
  while (run.state.time < 0.5 - 1e-9) run.advance();
  const double error = std::hypot(run.state.q[400] - x, run.state.q[402] - z);
  std::printf("drop     E %-6g %-14s dt %g s: %5.2f mm off at 0.5 s, %4.0f us/step, %.1f tangents\n",
              young_modulus, integrator_name(integrator), dt, 1e3 * error, 1e6 * run.seconds / run.steps,
              static_cast<double>(run.tangents) / run.steps);
}

void capstan_friction(double wrap, double dt) {
  const double post = 0.03, r = 0.001, mu = 0.2, R = post + r, turn = 0.025 * kPi;
  const double half = R * std::tan(0.5 * turn);
  const int turns = static_cast<int>(std::lround(wrap / turn));
  const auto at = [&](double angle, double radius) {
    return Vec3(-radius * std::cos(angle), radius * std::sin(angle), 0);
  };
  const Vec3 along(std::sin(wrap), std::cos(wrap), 0);
  RodSpec spec;
  for (int k = 12; k > 0; --k) spec.nodes.push_back({-R, -(2 * k + 1) * half, 0});
  for (int k = 0; k <= turns + 1; ++k) spec.nodes.push_back(at((k - 0.5) * turn, R / std::cos(0.5 * turn)));
  for (int k = 1; k <= 12; ++k) spec.nodes.push_back(at(wrap, R) + (2 * k + 1) * half * along);
  spec.section.width = 2 * r;
  spec.young_modulus = 1e5;
  spec.poisson_ratio = 0.4999;
  spec.density = 1000;
  spec.rest = RodRest::straight;
  spec.pinned_nodes = {0};
  Scene scene = scene_with_friction(mu);
  scene.options.gravity.setZero();
  ShapeInstance shape;
  shape.name = "post";
  shape.body = kWorld;
  shape.shape = Cylinder{post, 0.05};
  scene.shapes = {shape};
  Run run(scene, spec, dt, Integrator::semi_implicit);
  const int last = static_cast<int>(spec.nodes.size()) - 1, steps = static_cast<int>(std::lround(2 / dt));
  double ratio = 0;
  for (int i = 0; i < steps; ++i) {
    run.input.generalized_force.segment<3>(4 * last) = 0.01 * (i + 1) * dt * along;
    run.advance();
    if (i >= steps - 50)
      ratio += run.rod->tension(run.state.q, last - 1) / run.rod->tension(run.state.q, 0) / 50;
  }
  const double exact = std::exp(mu * wrap * post / R);
  std::printf("capstan  wrap %.0f pi dt %g s: ratio %.4f, %+.2f %% off, %4.0f us/step, %.1f tangents\n",
              wrap / kPi, dt, ratio, 100 * (ratio / exact - 1), 1e6 * run.seconds / run.steps,
              static_cast<double>(run.tangents) / run.steps);
}

void coil(double dt) {
  Scene scene = scene_with_friction(0.5);
  ShapeInstance floor;
  floor.name = "floor";
  floor.body = kWorld;
  floor.shape = HalfSpace{};
  scene.shapes = {floor};
  RodSpec spec;
  for (int i = 0; i <= 160; ++i) {
    const double turns = i / 32.0;
    spec.nodes.push_back(
        {0.05 * std::cos(2 * kPi * turns), 0.05 * std::sin(2 * kPi * turns), 0.02 + 0.008 * turns});
  }
  spec.section.width = 0.005;
  spec.young_modulus = 1e6;
  spec.density = 1000;
  spec.beta = 0.002;
  Run run(scene, spec, dt, Integrator::semi_implicit);
  for (const double until : {0.25, 0.5, 1.0}) {
    const double before = run.seconds;
    const long steps = run.steps, tangents = run.tangents;
    while (run.state.time < until) run.advance();
    std::printf("coil     dt %g s, until %.2f s: %5.0f us/step, %.1f tangents, %d contacts\n", dt, until,
                1e6 * (run.seconds - before) / (run.steps - steps),
                static_cast<double>(run.tangents - tangents) / (run.steps - steps), run.contacts);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto is_asked = [&](const char* name) { return argc < 2 || std::strcmp(argv[1], name) == 0; };
  if (is_asked("coil")) coil(2e-3);
  for (const Integrator integrator : {Integrator::midpoint, Integrator::semi_implicit}) {
    for (const double dt : {1e-3, 5e-3}) {
      if (!is_asked("drop")) break;
      drop(1e7, -0.12166, -0.90595, dt, integrator);
      drop(1e6, -0.19186, -0.91046, dt, integrator);
    }
  }
  if (!is_asked("capstan")) return 0;
  for (const double dt : {1e-3, 5e-3}) capstan_friction(kPi, dt);
  capstan_friction(2 * kPi, 1e-3);
}
