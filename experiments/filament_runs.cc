#include "experiments/filament_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "capstan/io/picture.h"
#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"

namespace capstan::experiments {
namespace {

constexpr double kPi = 3.14159265358979;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// How often one closed line winds around another: half the sum of the signs of their crossings, seen askew
// along z.
int linking_number(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  const Vec3 z = Vec3(0.1234, 0.2311, 1).normalized(), x = Vec3(z.z(), 0, -z.x()).normalized(),
             y = cross(z, x);
  const auto seen = [&](const Vec3& p) { return Vec3(x.dot(p), y.dot(p), z.dot(p)); };
  const auto area = [](const Vec3& u, const Vec3& v) { return u.x() * v.y() - u.y() * v.x(); };
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Vec3 p = seen(a[i]), e = seen(a[(i + 1) % a.size()]) - p;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Vec3 r = seen(b[j]), f = seen(b[(j + 1) % b.size()]) - r, d = r - p;
      const double size = area(e, f);
      if (size == 0) continue;
      const double s = area(d, f) / size, t = area(d, e) / size;
      if (s < 0 || s >= 1 || t < 0 || t >= 1) continue;
      const bool is_over = p.z() + s * e.z() > r.z() + t * f.z();
      sum += (size > 0) == is_over ? 1 : -1;
    }
  }
  return sum / 2;
}

// Sizes, densities and friction are those of the authors' code, whose branches are as thick and long as the
// trunk. The palm is lowered from above the tree.
constexpr double kPalmLow = 0.21;                    // [m] of the filaments' roots above the floor
constexpr double kPalmHigh = 0.405, kPalmUp = 0.15;  // at the start; by which it is lifted in the end
constexpr double kLowered = 1.8, kCurlBegins = 1.25, kCurled = 3.25, kLifted = 4.75;  // [s]
constexpr const char* kGripper = R"(
capstan: 1
options: {dt: 0.001}
materials:
  - {name: rubber, friction: 0.4}
  - {name: wood, friction: 0.2}
  - {name: branch, friction: 0.5}
  - {name: flange, friction: 0.1}
bodies:
  - name: palm
    position: [0, 0, 0.415]
    joint: {name: lift, type: prismatic, axis: [0, 0, 1]}
    shape: {type: cylinder, radius: 0.04, length: 0.02, mass: 0.5, material: flange}
  - name: tree
    position: [0, 0, 0.003]
    joint: free
    shapes:
      - {type: box, size: [0.05, 0.05, 0.006], density: 500, material: wood}
      - {type: capsule, radius: 0.005, length: 0.12, position: [0, 0, 0.063], density: 500, material: wood}
      - {type: capsule, radius: 0.005, length: 0.12, position: [0, 0, 0.12], rpy_deg: [0, 90, 45], density: 500,
         material: branch}
      - {type: capsule, radius: 0.005, length: 0.12, position: [0, 0, 0.12], rpy_deg: [0, 90, -45], density: 500,
         material: branch}
      - {type: capsule, radius: 0.005, length: 0.12, position: [0, 0, 0.06], rpy_deg: [0, 90, 0], density: 500,
         material: branch}
shapes:
  - {type: plane, name: floor, material: branch}
actuators:
  - {name: lift, type: pd, joint: lift, stiffness: 4000, damping: 300}
)";

}  // namespace

std::string FilamentCost::text() const {
  return fmt::format("{:7.0f} us/step, real-time rate {:.3f}, contacts {:.0f} / {}, {:.1f} tangents",
                     microseconds(), rate(), contacts / steps, most_contacts, tangents / steps);
}

void FilamentCost::add(const Report& report, double step_size, double taken) {
  seconds += taken;
  dt = step_size;
  ++steps;
  contacts += report.contacts;
  most_contacts = std::max(most_contacts, report.contacts);
  tangents += report.free_motion_iterations;
  stages.free_motion += report.times.free_motion;
  stages.collide += report.times.collide;
  stages.assemble += report.times.assemble;
  stages.solve += report.times.solve;
  stages.advance += report.times.advance;
}

Table stage_table(const std::vector<std::pair<std::string, FilamentCost>>& runs) {
  Table table{"stages",
              "Which part of the time of a step each stage has [%] (figure 4)",
              {"run", "free motion", "collision", "assembly", "solver", "the rest"},
              {}};
  for (const auto& [name, cost] : runs) {
    const auto share = [&, all = cost.stages.total()](double part) {
      return fmt::format("{:.0f}", 100 * part / all);
    };
    const StepTimes& t = cost.stages;
    table.rows.push_back(
        {name, share(t.free_motion), share(t.collide), share(t.assemble), share(t.solve), share(t.advance)});
  }
  return table;
}

Scene filament_scene(double friction, double stiffness) {
  Scene scene;
  Material material;
  material.name = "default";
  material.friction = friction;
  material.stiffness = 2 * stiffness;  // of two surfaces in series
  scene.materials = {material};
  return scene;
}

Filaments::Filaments(const Scene& scene, double dt) : model(compile(scene)) {
  options = step_options(model);
  options.dt = dt;
  options.judge = false;
}

void Filaments::begin() {
  state = initial_state(model);
  workspace = make_workspace(model);
}

void Filaments::advance(FilamentCost* cost, const VecX& forces) {
  Input input;
  input.generalized_force = forces;
  const double start = cpu_seconds();
  const Report report = step(model, options, input, &state, &workspace);
  cost->add(report, options.dt, cpu_seconds() - start);
}

RingRun hang_rings(int count, double dt, double settle, double rest) {
  Filaments run(filament_scene(0.1, 1e4), dt);
  constexpr int kEdges = 20;
  constexpr double kRadius = 0.01, kDiameter = 0.0025, kApart = 0.0175;
  for (int k = 0; k < count; ++k) {
    RodSpec ring;
    ring.closed = true;
    for (int i = 0; i < kEdges; ++i) {
      const double angle = 2 * kPi * i / kEdges, c = kRadius * std::cos(angle), s = kRadius * std::sin(angle);
      ring.nodes.push_back(k % 2 == 0 ? Vec3(c, 0, s - k * kApart) : Vec3(0, c, s - k * kApart));
    }
    ring.section.width = kDiameter;
    ring.young_modulus = 1e7;
    ring.poisson_ratio = 0.4;
    ring.density = 500;
    ring.alpha = 10;
    for (int i = kEdges / 2; k == 0 && i < kEdges; ++i) ring.pinned_nodes.push_back(i);  // its lower half
    add_rod("ring" + std::to_string(k), std::make_shared<Rod>(ring), 0, &run.model);
  }
  run.begin();
  const int first = static_cast<int>(run.model.objects.size()) - count;
  RingRun rings;
  const auto end = [&] { return Vec3(run.state.q.segment<3>(run.model.objects.back().q_begin)); };
  const auto ring = [&](int k) {
    std::vector<Vec3> nodes;
    for (int i = 0; i < kEdges; ++i)
      nodes.push_back(run.state.q.segment<3>(run.model.objects[first + k].q_begin + 4 * i));
    return nodes;
  };
  const auto look = [&](double* next) {
    if (run.state.time < *next) return;
    *next += 0.1;
    for (int k = 0; k + 1 < count && rings.stays_linked; ++k)
      rings.stays_linked = std::abs(linking_number(ring(k), ring(k + 1))) == 1;
  };
  try {
    double next_look = 0;
    while (run.state.time < settle) {
      run.advance(&rings.falling);
      look(&next_look);
    }
    const Vec3 before = end();
    double next_second = settle;
    while (run.state.time < settle + rest) {
      run.advance(&rings.resting);
      look(&next_look);
      rings.moved = (end() - before).norm();
      if (run.state.time < next_second) continue;
      next_second += 1;
      rings.most_moved = std::max(rings.most_moved, rings.moved);
    }
    rings.most_moved = std::max(rings.most_moved, rings.moved);
    rings.speed = run.state.v.cwiseAbs().maxCoeff();
  } catch (const std::exception& failure) {
    rings.failure = failure.what();
  }
  return rings;
}

GripRun grip_tree(int seed, double dt, double duration) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> any_angle(0, 2 * kPi);
  Diagnostics diagnostics;
  Scene scene = read_yaml_text(kGripper, {}, &diagnostics);
  if (!diagnostics.ok()) throw InputError(diagnostics);
  constexpr int kFilaments = 12, kEdges = 130, kJoints = kEdges - 1;
  constexpr double kLength = 0.26, kJoint = kLength / kEdges;
  for (int k = 0; k < kFilaments; ++k) {
    const double radius = k < 8 ? 0.025 : 0.0125, at = 2 * kPi * (k < 8 ? k / 8.0 : k / 4.0);
    RodSpec rod;
    rod.name = "filament" + std::to_string(k);
    for (int i = 0; i <= kEdges; ++i)
      rod.nodes.push_back({radius * std::cos(at), radius * std::sin(at), kPalmHigh - kJoint * i});
    const double turn = any_angle(random);
    rod.director = Vec3(std::cos(turn), std::sin(turn), 0);
    rod.section.width = 0.0042;
    rod.young_modulus = 6.2e5;
    rod.poisson_ratio = 0.4999;
    rod.density = 1155;
    rod.alpha = 1.1;
    rod.rest = RodRest::given;
    // A curl of five turns in all.
    for (int j = 0; j < kJoints; ++j) {
      const double bend = kPi * (10 + 0.5 * normal(random)) / kJoints, twist = normal(random) / kJoints;
      rod.natural.push_back(Vec3(bend, 0, twist) / kJoint);
    }
    rod.actuated = true;
    RodAttachment clamp;
    clamp.edge = 0;
    clamp.body = "palm";
    rod.attachments = {clamp};
    rod.material = "rubber";
    rod.rgba = {0.25f, 0.5f, 0.75f, 1};
    scene.rods.push_back(rod);
  }
  Filaments run(scene, dt);
  run.begin();
  const int lift = run.model.find_actuator("lift");
  const int tree = run.model.joints[run.model.find_body("tree") - 1].q;
  GripRun grip;
  const auto draw = [&] {
    PictureOptions view;
    view.width = view.height = 480;
    grip.pictures.push_back(draw_picture(run.model, {run.state}, view));
  };
  try {
    while (run.state.time < duration) {
      const double time = run.state.time,
                   curl = std::clamp((time - kCurlBegins) / (kCurled - kCurlBegins), 0.0, 1.0);
      for (const double moment : {kCurlBegins, kCurled}) {
        if (std::abs(time - moment) < 0.5 * dt) draw();
      }
      run.state.control[lift] = (kPalmLow - kPalmHigh) * std::clamp(time / kLowered, 0.0, 1.0) +
                                kPalmUp * std::clamp((time - kCurled) / (kLifted - kCurled), 0.0, 1.0);
      for (int k = 0; k < kFilaments; ++k)
        run.state.control[run.model.find_actuator("filament" + std::to_string(k) + ".natural")] = curl;
      run.advance(&grip.cost);
    }
  } catch (const std::exception& failure) {
    grip.failure = failure.what();
  }
  draw();
  grip.lifted = run.state.q[tree + 2] - 0.003;
  return grip;
}

}  // namespace capstan::experiments
