// Benchmarks in the manner of SimBenchmark (Kang and Hwangbo, leggedrobotics.github.io/SimBenchmark):
// rolling, bouncing, "666", momentum and energy. The figures of the other engines are those of the data files
// in its repository (folder data/, default solver settings, without error correction unless said); each was
// measured there, on another machine, in 2018.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kGravity = 9.81;

Body free_body(const std::string& name, const Vec3& position) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints = {joint};
  return body;
}

ShapeInstance shape_of(const std::string& name, const std::string& body, const Shape& shape, double mass,
                       const std::string& material) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  if (mass > 0) s.mass = mass;
  s.material = material;
  return s;
}

Material material(const std::string& name, double friction, double stiffness, double dissipation) {
  Material m;
  m.name = name;
  m.friction = friction;
  m.stiffness = stiffness;
  m.dissipation = dissipation;
  return m;
}

PairOverride friction_of_pair(const std::string& a, const std::string& b, double friction) {
  PairOverride p;
  p.a = a, p.b = b, p.friction = friction;
  return p;
}

// --- Rolling: a 10 kg box with 25 balls of 1 kg on it, pushed by 150 N at 60 degrees to x ---

Scene rolling_scene() {
  Scene scene;
  scene.materials = {material("ground", 0.4, 1e7, 50), material("box", 0.4, 1e7, 50),
                     material("ball", 0.8, 1e7, 50)};
  scene.pairs = {friction_of_pair("box", "ground", 0.4), friction_of_pair("box", "ball", 0.8)};
  scene.shapes.push_back(shape_of("ground", kWorld, HalfSpace{}, 0, "ground"));
  scene.bodies.push_back(free_body("box", Vec3(0, 0, 0.5)));
  scene.shapes.push_back(shape_of("box", "box", Box{Vec3(10, 10, 0.5)}, 10, "box"));
  for (int i = 0; i < 25; ++i) {
    const std::string name = fmt::format("ball_{}", i);
    scene.bodies.push_back(free_body(name, Vec3(2.0 * (i % 5) - 4, 2.0 * (i / 5) - 4, 1.5)));
    scene.shapes.push_back(shape_of(name, name, Sphere{0.5}, 1, "ball"));
  }
  return scene;
}

// Sum of the mean square errors of the velocities of box and first ball over 4 s, as the benchmark has it.
double rolling_error(ContactLaw law, double dt, double duration) {
  const double mu = 0.4, n = 25, M = 10, m = 1, F = 150;
  const double ground = mu * (M + n * m) * kGravity, ball = (F - ground) / M / (3.5 / m + n / M);
  const double box_a = (F - ground - n * ball) / M, ball_a = ball / m;
  const Vec3 direction(0.5, std::sqrt(0.75), 0);
  Simulation s(rolling_scene(), law, dt);
  s.options.newton.relative_tolerance = 1e-9;
  s.run_until(0.5);  // onto its resting depth
  const double start = s.state.time;
  const int box = s.model.find_body("box");
  s.input.body_forces = {{box, Vec3::Zero(), F * direction, Vec3::Zero()}};
  double sum = 0;
  long steps = 0;
  while (s.state.time < start + duration - 0.5 * dt) {
    s.input.body_forces[0].point_W =
        s.state.q.head<3>() - Vec3(0, 0, 0.5);  // low, so that the box does not tip
    s.step();
    const double t = s.state.time - start;
    sum += (s.state.v.head<3>() - box_a * t * direction).squaredNorm() +
           (s.state.v.segment<3>(6) - ball_a * t * direction).squaredNorm();
    ++steps;
  }
  return sum / static_cast<double>(steps);
}

void rolling(const Run& run, Result* result) {
  run.tell(0, "rolling");
  const double duration = run.is_short ? 1 : 4;
  Table table{"rolling",
              "Rolling, dt = 1 ms: mean square error of the velocities of box and ball over 4 s [m^2/s^2]; "
              "published: SimBenchmark, force at an angle",
              {"engine", "error", "from"},
              {},
              true};
  double best = 1e9, default_law = 0;
  for (const Law& law : {kCoulomb, kRegularized, kLagged, kSimilar, kSap}) {
    const double error = rolling_error(law.law, 1e-3, duration);
    if (law.law == ContactOptions{}.law) default_law = error;
    best = std::min(best, error);
    table.rows.push_back({fmt::format("Capstan, {}", law.name), fmt::format("{:.2e}", error), "this run"});
  }
  for (const auto& [engine, error] : std::vector<std::pair<std::string, std::string>>{
           {"Bullet, multibody", "6.4e-09"},
           {"RaiSim", "4.1e-07"},
           {"MuJoCo, PGS", "6.1e-03"},
           {"MuJoCo, Newton", "7.1e-03"},
           {"MuJoCo, CG", "8.0e-03"},
           {"ODE, quick", "3.1 (friction pyramid: does not move)"},
           {"DART, Dantzig", "3.1 (friction pyramid: does not move)"}}) {
    table.rows.push_back({engine, error, "published"});
  }
  result->tables.push_back(table);
  result->claim("rolling: error of the default law, coulomb",
                "4.1e-7 RaiSim, 6.1e-3 MuJoCo at its best, 3.1 ODE and DART (m^2/s^2)",
                fmt::format("{:.1e}", default_law), default_law < 6.1e-3);
}

// --- Bouncing: balls of 10 kg fall from 5 m onto an elastic ground ---

struct Bounce {
  double error = 0;         // [J^2] mean square error of the energy of 49 balls, as the benchmark has it
  double first_bounce = 0;  // energy after the first bounce, over that before
};

constexpr double kBallMass = 10, kBallStiffness = 1e6, kBounceHeight = 5;  // [kg, N/m, m]

// Balls do not meet, so that one serves for 49. Elastic: restitution 1, or a spring without dissipation.
// Contact forces are those at the end of the step (implicit), which damps the spring like a dashpot of ratio
// omega dt/2, so that a bounce of half a period keeps exp(-pi omega dt) of the energy, omega = sqrt(k/m).
Bounce bounce(double dt, double duration, bool restitution) {
  Scene scene;
  const double height = kBounceHeight;
  scene.materials = {material("ground", 0, kInfinity, 0), material("ball", 0, kBallStiffness, 0)};
  if (restitution) scene.materials[1].restitution = 1;
  scene.shapes = {shape_of("ground", kWorld, HalfSpace{}, 0, "ground"),
                  shape_of("ball", "ball", Sphere{0.1}, kBallMass, "ball")};
  scene.bodies = {free_body("ball", Vec3(0, 0, height))};
  Simulation s(scene, ContactLaw::lagged, dt);
  s.options.newton.relative_tolerance = 1e-12;
  const double E = kBallMass * kGravity * height;
  double sum = 0;
  long steps = 0;
  Bounce b;
  s.run_until(duration, [&] {
    const double depth = std::max(0.0, 0.1 - s.state.q[2]);
    const double energy = s.total_energy() + 0.5 * kBallStiffness * depth * depth;  // with that of the spring
    sum += 49.0 * 49.0 * (energy - E) * (energy - E);
    ++steps;
    // Potential energy counts from the centre at height 0, the ball bounces at 0.1.
    const double rest = kBallMass * kGravity * 0.1;
    if (b.first_bounce == 0 && s.state.time > 1.2) b.first_bounce = (energy - rest) / (E - rest);
  });
  b.error = sum / static_cast<double>(steps);
  return b;
}

void bouncing(const Run& run, Result* result) {
  run.tell(0.3, "bouncing");
  const double duration = run.is_short ? 1.5 : 20, omega = std::sqrt(kBallStiffness / kBallMass);
  Table table{"bouncing",
              "Bouncing of 49 elastic balls from 5 m, 20 s: mean square error of the energy [J^2]; "
              "published: SimBenchmark, "
              "restitution 1",
              {"engine", "dt = 0.01 ms", "dt = 0.1 ms", "dt = 1 ms", "from"},
              {},
              true};
  table.rows = {{"Capstan, restitution 1"},
                {"Capstan, spring of 1e6 N/m"},
                {"RaiSim", "1.9e-10", "1.9e-06", "0.019", "published"},
                {"RaiSim, error correction", "0.09", "0.09", "241", "published"},
                {"ODE", "0.019", "1.85", "185", "published"},
                {"DART", "7.4", "483", "72274", "published"},
                {"Bullet, multibody", "7.5", "752", "75245", "published"}};
  std::string kept, formula;
  bool as_formula = true;
  double at_fine = 0, at_coarse = 0;
  for (const double dt : {1e-5, 1e-4, 1e-3}) {
    const double error = bounce(dt, duration, true).error;
    (dt == 1e-5 ? at_fine : at_coarse) = error;
    table.rows[0].push_back(fmt::format("{:.3g}", error));
    const Bounce b = bounce(dt, duration, false);
    table.rows[1].push_back(fmt::format("{:.3g}", b.error));
    const double expected = std::exp(-std::numbers::pi * omega * dt);
    kept += fmt::format("{}{:.3f}", kept.empty() ? "" : ", ", b.first_bounce);
    formula += fmt::format("{}{:.3f}", formula.empty() ? "" : ", ", expected);
    if (omega * dt < 0.1) as_formula = as_formula && std::abs(b.first_bounce - expected) < 0.02;
  }
  for (const int row : {0, 1}) table.rows[row].push_back("this run");
  result->tables.push_back(table);
  result->claim("bouncing: energy that a spring keeps in the first bounce, dt = 0.01, 0.1, 1 ms",
                "exp(-pi omega dt): " + formula, kept, as_formula);
  result->claim("bouncing: error of the energy with restitution 1, dt = 0.01 and 1 ms",
                "7.5 and 75245 J^2 (Bullet), 7.4 and 72274 (DART), 0.019 and 185 (ODE)",
                fmt::format("{:.2g} and {:.3g} J^2", at_fine, at_coarse), at_fine < 7.4 && at_coarse < 72274);
}

// --- 666: 216 balls of 10 kg, inelastic and without friction, as a cube that collapses ---

Scene cube_scene() {
  Scene scene;
  scene.materials = {material("default", 0, 1e8, 50)};
  scene.shapes.push_back(shape_of("ground", kWorld, HalfSpace{}, 0, "default"));
  std::uint64_t state = 42;
  const auto random = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 216; ++i) {
    const std::string name = fmt::format("ball_{}", i);
    const Vec3 grid(0.21 * (i % 6), 0.21 * (i / 6 % 6), 0.101 + 0.21 * (i / 36));
    scene.bodies.push_back(free_body(name, grid + 0.001 * Vec3(random(), random(), random())));
    scene.shapes.push_back(shape_of(name, name, Sphere{0.1}, 10, "default"));
  }
  return scene;
}

void cube(const Run& run, Result* result) {
  run.tell(0.5, "666");
  const double duration = run.is_short ? 0.4 : 10;
  Table table{"cube",
              "666: mean over time of the sum of squared penetrations of all pairs [m^2], and time of "
              "the processor for 10 s; published: SimBenchmark",
              {"engine", "dt = 1 ms", "time [s]", "dt = 10 ms", "time [s]", "from"},
              {},
              true};
  std::vector<double> errors;
  std::vector<std::string> row = {"Capstan, regularized Lagged, k = 5e7 N/m"};
  for (const double dt : {1e-3, 1e-2}) {
    Simulation s(cube_scene(), ContactLaw::regularized_lagged, dt);
    double sum = 0;
    s.run_until(duration, [&] {
      for (const double phi : s.workspace.contacts.distance) sum += phi < 0 ? phi * phi : 0;
    });
    errors.push_back(sum / static_cast<double>(s.state.step));
    row.push_back(fmt::format("{:.2e}", errors.back()));
    row.push_back(fmt::format("{:.2f}", s.seconds * 10 / duration));
  }
  row.push_back("this run");
  table.rows = {row,
                {"RaiSim", "1.4e-04", "1.41", "1.5e-02", "0.16", "published"},
                {"ODE, quick", "1.6e-04", "10.0", "1.6e-02", "1.00", "published"},
                {"MuJoCo, CG", "9.5e-02", "12.1", "0.93", "1.79", "published"},
                {"Bullet, multibody", "0.38", "12.0", "37.4", "2.01", "published"}};
  result->tables.push_back(table);
  result->claim("666: penetration at dt = 1 ms and 10 ms", "1.4e-4 and 1.5e-2 m^2 at best (RaiSim)",
                fmt::format("{:.1e} and {:.1e} m^2", errors[0], errors[1]),
                errors[0] < 1.4e-4 && errors[1] < 1.5e-2);
}

// --- Momentum and energy of a robot ---

void robot(const Run& run, Result* result) {
  run.tell(0.9, "momentum and energy");
  // A quadruped without gravity, thrown and spinning, its legs free: nothing acts from outside.
  Scene scene = shipped_scene("quadruped");
  scene.options.gravity.setZero();
  scene.actuators.clear();
  std::erase_if(scene.shapes, [](const ShapeInstance& s) { return s.body == kWorld; });
  for (ShapeInstance& s : scene.shapes) s.collides = false;
  for (Body& b : scene.bodies) {
    for (Joint& j : b.joints) j.damping = j.dry_friction = j.rotor_inertia = 0, j.limits.clear();
  }
  scene.initial.control.clear();
  for (Keyframe& k : scene.keyframes) k.control.clear();
  const double duration = run.is_short ? 2 : 10;
  Table table{"robot",
              "A free quadruped without gravity for 10 s: relative change of momentum and of energy",
              {"integrator", "dt [ms]", "linear momentum", "angular momentum", "energy"},
              {},
              true};
  double worst = 0, drift = 0;
  for (const Integrator integrator : {Integrator::midpoint, Integrator::semi_implicit}) {
    for (const double dt : {1e-3, 4e-3}) {
      Simulation s(scene, ContactLaw::regularized_lagged, dt);
      s.options.integrator = integrator;
      for (int i = 0; i < s.state.v.size(); ++i) s.state.v[i] = 0.5 * std::sin(1.0 + i);
      s.state.v.head<6>() << 0.5, -0.3, 0.2, 0.4, -0.6, 1.0;
      const Mechanics a = calc_mechanics(s.model, s.state);
      s.run_until(duration);
      const Mechanics b = calc_mechanics(s.model, s.state);
      const double linear = (b.momentum - a.momentum).tail<3>().norm() / a.momentum.tail<3>().norm();
      const double angular = (b.momentum - a.momentum).head<3>().norm() / a.momentum.head<3>().norm();
      const double energy = std::abs(b.kinetic / a.kinetic - 1);
      worst = std::max({worst, linear, angular});
      if (integrator == Integrator::midpoint) drift = std::max(drift, energy);
      table.rows.push_back({integrator_name(integrator), fmt::format("{:g}", 1e3 * dt),
                            fmt::format("{:.1e}", linear), fmt::format("{:.1e}", angular),
                            fmt::format("{:.1e}", energy)});
    }
  }
  result->tables.push_back(table);
  result->claim("momentum of a free robot", "constant", fmt::format("{:.1e} relative change at most", worst),
                worst < 1e-9);
  result->claim("energy of a free robot, midpoint", "constant",
                fmt::format("{:.1e} relative change at most", drift), drift < 1e-2);
}

}  // namespace

Result simulation_benchmarks(const Run& run) {
  Result result;
  rolling(run, &result);
  bouncing(run, &result);
  cube(run, &result);
  robot(run, &result);
  result.remarks.push_back(
      "Sizes of box and balls in the rolling test are not on the benchmark's page; ours are 20 x 20 x 1 m "
      "and 1 m. An elastic ball is a "
      "ball on a spring without dissipation; its energy includes that of the spring. "
      "With restitution 1 every bounce loses 4e-5 of the energy, at any dt: impacts are solved as contacts "
      "that give way by 1e-5 of the velocity that they change (kStiffness in step/bounce.cc), so that the "
      "speed after it is short by 2e-5. "
      "The published robot is ANYmal with other initial conditions; its figures are not comparable and not "
      "shown.");
  return result;
}

}  // namespace capstan::experiments
