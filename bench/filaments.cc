// The experiments of Li and Chou with points of contact, "A convex formulation of compliant contact between
// filaments and rigid bodies", Table I: simulated time over the processor time of one thread, and whether the
// answer is right. A first argument is the name of one of them.
//
//   knots    a rope of 1 m and 3 mm with a torus knot of 3, 5, 7 or 9 crossings (unknotting numbers 1 to 4),
//            300 edges, no friction, the ends pulled apart at 0.8 m/s for 0.7 s or until 10 N. After every
//            step two invariants tell whether it is still that knot (tests/support/knots.h); 0.002 there
//   rings    a hanging chain of closed rods of 20 edges, each through the next, for 1 s after it came to
//            rest: time for each ring, and how far the chain's end moves meanwhile; 0.012 for 100 rings there
//   gripper  12 filaments of 260 mm and 130 edges around a tree of sticks curl up (natural curvature of mean
//   10
//            pi / m, 0.5 pi / m from joint to joint) in 2 s, then the palm lifts: how high the tree goes;
//            0.013 there
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>

#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/step.h"
#include "tests/support/knots.h"

namespace {

using namespace capstan;

constexpr double kPi = 3.14159265358979;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Scene make_scene(double friction, double stiffness) {
  Scene scene;
  Material material;
  material.name = "default";
  material.friction = friction;
  material.stiffness = 2 * stiffness;  // of two surfaces in series
  scene.materials = {material};
  return scene;
}

struct Run {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Input input;
  double seconds = 0, contacts = 0, tangents = 0;
  int steps = 0, most_contacts = 0;

  Run(const Scene& scene, double dt) : model(compile(scene)) {
    options = step_options(model);
    options.dt = dt;
    options.judge = false;
  }
  void begin() {
    state = initial_state(model);
    workspace = make_workspace(model);
  }
  void advance() {
    const double start = cpu_seconds();
    const Report report = step(model, options, input, &state, &workspace);
    seconds += cpu_seconds() - start;
    ++steps;
    contacts += report.contacts;
    most_contacts = std::max(most_contacts, report.contacts);
    tangents += report.free_motion_iterations;
  }
  void clear() { seconds = contacts = tangents = 0, steps = most_contacts = 0; }
  void print() const {
    std::printf("%7.0f us/step, real-time rate %.3f, contacts %.0f / %d, %.1f tangents\n",
                1e6 * seconds / steps, steps * options.dt / seconds, contacts / steps, most_contacts,
                tangents / steps);
  }
};

bool tighten(int crossings, double dt) {
  Scene scene = make_scene(0, 1e5);
  scene.options.gravity.setZero();
  Run run(scene, dt);
  constexpr int kEdges = 300;
  const auto rod = std::make_shared<Rod>(test::knot_rod(crossings, kEdges));
  add_rod("rope", rod, 0, &run.model);
  run.begin();
  run.state.v[0] = -0.4;
  run.state.v[4 * kEdges] = 0.4;
  double pull = 0;
  std::string what = "is still loose";
  try {
    while (run.state.time < 0.7) {
      run.advance();
      std::vector<Vec3> nodes;
      for (int i = 0; i <= kEdges; ++i) nodes.push_back(Rod::node(run.state.q, i));
      const test::KnotInvariants knot = test::calc_invariants(nodes);
      if (knot.casson != (crossings * crossings - 1) / 8 || knot.determinant != crossings) {
        what = "PASSES THROUGH ITSELF";
        break;
      }
      pull = rod->tension(run.state.q, 0);
      if (pull > 1) what = "is tight";
      if (pull > 10) break;
    }
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  std::printf("knot of %d, dt %g s: %s at %.3f s, %.1f N; ", crossings, dt, what.c_str(), run.state.time,
              pull);
  run.print();
  std::fflush(stdout);
  return what == "is tight";
}

void hang_rings(int count, double dt) {
  Scene scene = make_scene(0.1, 1e4);
  Run run(scene, dt);
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
  try {
    while (run.state.time < 1) run.advance();
    std::printf("%3d rings, falling into place: ", count);
    run.print();
    const auto end = [&] { return Vec3(run.state.q.segment<3>(run.model.objects.back().q_begin)); };
    const Vec3 before = end();
    run.clear();
    while (run.state.time < 2) run.advance();
    std::printf("%3d rings at rest: %.2e m in 1 s, %.1f us for each ring; ", count, (end() - before).norm(),
                1e6 * run.seconds / run.steps / count);
    run.print();
  } catch (const std::exception& failure) {
    std::printf("%3d rings: %s\n", count, failure.what());
  }
  std::fflush(stdout);
}

constexpr const char* kGripper = R"(
capstan: 1
options: {dt: 0.001}
materials: [{name: rubber, friction: 0.4}]
bodies:
  - name: palm
    position: [0, 0, 0.28]
    joint: {name: lift, type: prismatic, axis: [0, 0, 1]}
    shape: {type: cylinder, radius: 0.035, length: 0.01, mass: 0.5, collides: false}
  - name: tree
    position: [0, 0, 0.003]
    joint: free
    shapes:
      - {type: box, size: [0.05, 0.05, 0.006], density: 500, material: rubber}
      - {type: capsule, radius: 0.005, length: 0.12, position: [0, 0, 0.065], density: 500, material: rubber}
      - {type: capsule, radius: 0.004, length: 0.04, position: [0.017, 0, 0.1], rpy_deg: [0, 50, 0], density: 500,
         material: rubber}
      - {type: capsule, radius: 0.004, length: 0.04, position: [-0.0085, 0.0147, 0.085], rpy_deg: [-50, 0, 30],
         density: 500, material: rubber}
      - {type: capsule, radius: 0.004, length: 0.04, position: [-0.0085, -0.0147, 0.07], rpy_deg: [50, 0, -30],
         density: 500, material: rubber}
shapes:
  - {type: plane, name: floor, material: rubber}
actuators:
  - {name: lift, type: pd, joint: lift, stiffness: 4000, damping: 300}
)";

void grasp(int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> angle(0, 2 * kPi);
  Diagnostics diagnostics;
  Scene scene = read_yaml_text(kGripper, {}, &diagnostics);
  if (!diagnostics.ok()) std::printf("%s\n", diagnostics.text().c_str());
  constexpr int kFilaments = 12, kEdges = 130;
  for (int k = 0; k < kFilaments; ++k) {
    const double radius = k < 8 ? 0.025 : 0.0125, at = 2 * kPi * (k < 8 ? k / 8.0 : (k + 0.5) / 4.0);
    RodSpec rod;
    rod.name = "filament" + std::to_string(k);
    for (int i = 0; i <= kEdges; ++i)
      rod.nodes.push_back({radius * std::cos(at), radius * std::sin(at), 0.275 - 0.26 * i / kEdges});
    const double turn = angle(random);
    rod.director = Vec3(std::cos(turn), std::sin(turn), 0);
    rod.section.width = 0.0042;
    rod.young_modulus = 6.2e5;
    rod.poisson_ratio = 0.4999;
    rod.density = 1155;
    rod.alpha = 1.1;
    rod.rest = RodRest::given;
    for (int j = 0; j + 1 < kEdges; ++j) rod.natural.push_back({kPi * (10 + 0.5 * normal(random)), 0, 0});
    rod.actuated = true;
    RodAttachment clamp;
    clamp.edge = 0;
    clamp.body = "palm";
    rod.attachments = {clamp};
    rod.material = "rubber";
    scene.rods.push_back(rod);
  }
  Run run(scene, 1e-3);
  run.begin();
  const int lift = run.model.find_actuator("lift");
  const auto control = [&](double time) {
    const double curl = std::clamp((time - 0.2) / 2, 0.0, 1.0);
    run.state.control[lift] = 0.15 * std::clamp((time - 2.5) / 1.5, 0.0, 1.0);
    for (int k = 0; k < kFilaments; ++k)
      run.state.control[run.model.find_actuator("filament" + std::to_string(k) + ".natural")] = curl;
  };
  const int tree = run.model.joints[run.model.find_body("tree") - 1].q;
  std::string what;
  try {
    while (run.state.time < 4.5) {
      control(run.state.time);
      run.advance();
    }
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  std::printf("gripper, seed %d: the tree is %.0f mm up%s; ", seed, 1e3 * (run.state.q[tree + 2] - 0.003),
              what.c_str());
  run.print();
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto is_asked = [&](const char* name) { return argc < 2 || std::strcmp(argv[1], name) == 0; };
  if (is_asked("knots")) {
    for (const int crossings : {3, 5, 7, 9}) {
      for (const double dt : {1e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3}) {
        if (!tighten(crossings, dt) && dt > 1e-3) break;
      }
    }
  }
  if (is_asked("rings")) {
    for (const int count : {10, 20, 50, 100}) hang_rings(count, 8e-4);
  }
  if (is_asked("gripper")) {
    for (int seed = 0; seed < (argc < 2 ? 2 : 10); ++seed) grasp(seed);
  }
}
