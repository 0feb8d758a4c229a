// Rods against a reference and against theory, with CPU time per step. A first argument is the name of one.
//
//   drop     a rod of 1 m and 10 mm, 100 edges, clamped at one end, falls about its clamp: distance of the
//   tip
//            from that of a planar discrete rod with the same edges, midpoint, 0.2 ms
//   rest     the same rod hangs still: distance of the tip from that of the elastica with stretch
//   capstan  a rope of 2 mm around a post of 60 mm, pulled by 0.01 t N for 2 s: ratio of the tensions at its
//            ends, and how much longer it is. Friction acts on the surface, tension on the axis:
//            exp(mu phi R / (R + r))
//   coil     a rope of 5 mm in 5 turns of 100 mm, 8 mm apart, 160 edges, falls on the floor and lies on
//   itself
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

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

struct Tip {
  double x, z;  // [m]
};
// After 0.5, 1 and 2 s, and at rest.
struct Reference {
  double young_modulus;
  Tip tips[3], rest;
};
constexpr Reference kReferences[] = {
    {1e7, {{-0.12166, -0.90595}, {-0.45102, -0.03789}, {0.43399, -0.81846}}, {0.12287, -0.95133}},
    {1e6, {{-0.19186, -0.91046}, {-0.75787, -0.09050}, {0.69918, -0.51608}}, {0.03657, -0.98975}}};

RodSpec clamped_rod(double young_modulus) {
  RodSpec spec;
  for (int i = 0; i <= 100; ++i) spec.nodes.push_back({0.01 * i, 0, 0});
  spec.section.width = 0.01;
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = 0.4;
  spec.density = 1000;
  spec.clamped_edges = {0};
  return spec;
}

double millimetres_off(const Run& run, const Tip& tip) {
  return 1e3 * std::hypot(run.state.q[400] - tip.x, run.state.q[402] - tip.z);
}

void drop(const Reference& reference, double dt, Integrator integrator) {
  Run run(scene_with_friction(0.5), clamped_rod(reference.young_modulus), dt, integrator);
  std::string errors;
  for (int k = 0; k < 3; ++k) {
    try {
      while (run.state.time < 0.5 * (1 << k) - 1e-9) run.advance();
    } catch (const StepFailure&) {
      errors += " / a step fails at " + std::to_string(run.state.time) + " s";
      break;
    }
    char text[40];
    std::snprintf(text, sizeof(text), "%s%.1f", k == 0 ? "" : " / ", millimetres_off(run, reference.tips[k]));
    errors += text;
  }
  std::printf("drop     E %-6g %-14s dt %g s: %s mm off at 0.5 / 1 / 2 s, %.0f us/step, %.1f tangents\n",
              reference.young_modulus, integrator_name(integrator), dt, errors.c_str(),
              1e6 * run.seconds / run.steps, static_cast<double>(run.tangents) / run.steps);
  std::fflush(stdout);
}

void rest(const Reference& reference) {
  RodSpec spec = clamped_rod(reference.young_modulus);
  spec.alpha = 5;
  Run run(scene_with_friction(0.5), spec, 5e-3, Integrator::implicit_euler);
  while (run.state.time < 20) run.advance();
  std::printf("rest     E %-6g: tip (%.5f, %.5f), %.1f mm from the elastica's; %.0e m/s after 20 s\n",
              reference.young_modulus, run.state.q[400], run.state.q[402],
              millimetres_off(run, reference.rest), run.state.v.cwiseAbs().maxCoeff());
}

// How much longer a rope of this length at rest is, that slips everywhere: held on a side of length `held`,
// wrapped about a radius, T_1 exp(k phi) in between, pulled by `pull`.
double stretch_of_slipping_rope(double length, double held, double radius, double wrap, double k, double pull,
                                double EA) {
  const double first = pull / std::exp(k * wrap);
  double at_rest = held / (1 + first / EA), now = held + radius * wrap;
  constexpr int kParts = 1000;
  for (int i = 0; i < kParts; ++i)
    at_rest += radius * wrap / kParts / (1 + first * std::exp(k * wrap * (i + 0.5) / kParts) / EA);
  now += (length - at_rest) * (1 + pull / EA);
  return now - length;
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
  spec.mask_bits = 0;  // its ends pass through each other at a whole turn; the post sees its group
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
  const double k = mu * post / R, exact = std::exp(k * wrap);
  double before = 0, now = 0;
  for (int i = 0; i < last; ++i) {
    before += (spec.nodes[i + 1] - spec.nodes[i]).norm();
    now += (Rod::node(run.state.q, i + 1) - Rod::node(run.state.q, i)).norm();
  }
  const double EA = spec.young_modulus * kPi * r * r;
  std::printf(
      "capstan  wrap %.0f pi dt %g s: ratio %.4f, %+.2f %% off; %.2f mm longer of %.0f mm (%.2f mm by its "
      "modulus); "
      "%.0f us/step, %.1f tangents\n",
      wrap / kPi, dt, ratio, 100 * (ratio / exact - 1), 1e3 * (now - before), 1e3 * before,
      1e3 * stretch_of_slipping_rope(before, 25 * half, R, wrap, k, 0.02, EA), 1e6 * run.seconds / run.steps,
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
      for (const Reference& reference : kReferences) {
        if (is_asked("drop")) drop(reference, dt, integrator);
      }
    }
  }
  for (const Reference& reference : kReferences) {
    if (is_asked("rest")) rest(reference);
  }
  for (const double wrap : {kPi, 2 * kPi}) {
    for (const double dt : {1e-3, 5e-3}) {
      if (is_asked("capstan")) capstan_friction(wrap, dt);
    }
  }
}
