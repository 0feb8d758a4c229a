// Soft bodies against peers' scenes and theory, with CPU time per step:
//
//   drop        F1: a cube of 0.1 m, 1,000 nodes and 3,645 tets, E 1e5 Pa, nu 0.4, falls 0.1 m on a plane, 10
//   ms cantilever  F2: 0.2 x 0.04 x 0.04 m, E 1e6 Pa, nu 0.3, under its weight; the solid's limit is 15.00 mm
//   cost        a cube at rest on a plane by its number of nodes, and the exponent
//   finray      experiments/finray: two fingers of 1,005 vertices and 2,688 tets each put a peg into a holder
//
// Arguments: the names of those to run; none: all.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "capstan/io/read.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/step/schedule.h"
#include "capstan/step/step.h"

namespace {

using namespace capstan;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Run {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  std::shared_ptr<SoftBody> body;

  Run(bool has_floor, const SoftBodySpec& spec, double dt) {
    Scene scene;
    Material material;
    material.name = "default";
    material.friction = 0.5;
    scene.materials = {material};
    if (has_floor) {
      ShapeInstance floor;
      floor.name = "floor";
      floor.body = kWorld;
      floor.shape = HalfSpace{};
      scene.shapes = {floor};
    }
    model = compile(scene);
    body = std::make_shared<SoftBody>(spec);
    add_soft_body("body", body, 0, &model);
    state = initial_state(model);
    workspace = make_workspace(model);
    options = step_options(model);
    options.dt = dt;
    options.judge = false;
  }
  Report advance() { return step(model, options, {}, &state, &workspace); }
  double lowest() const {
    double z = kInfinity;
    for (int i = 0; i < body->num_nodes(); ++i) z = std::min(z, state.q[3 * i + 2]);
    return z;
  }
};

SoftBodySpec block(const Vec3& size, const std::array<int, 3>& cells, double young_modulus,
                   double poisson_ratio) {
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets(size, cells));
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = poisson_ratio;
  spec.density = 1000;
  return spec;
}

void drop(Elasticity elasticity, const char* name) {
  SoftBodySpec spec = block({0.1, 0.1, 0.1}, {9, 9, 9}, 1e5, 0.4);
  spec.elasticity = elasticity;
  spec.beta = 0.01;
  spec.pose.position.z() = 0.15;
  Run run(true, spec, 0.01);
  const double radius = kVertexRadius * run.body->mean_edge(), volume = run.body->rest_volume();
  double flight = 0, contact = 0, worst = 0, slowest = 0, least = 0;
  int flight_steps = 0, contact_steps = 0, most_contacts = 0;
  long tangents = 0;
  for (int i = 0; i < 200; ++i) {
    const double start = cpu_seconds();
    const Report report = run.advance();
    const double seconds = cpu_seconds() - start;
    tangents += report.free_motion_iterations;
    (report.contacts > 0 ? contact : flight) += seconds;
    ++(report.contacts > 0 ? contact_steps : flight_steps);
    slowest = std::max(slowest, seconds);
    most_contacts = std::max(most_contacts, report.contacts);
    worst = std::min(worst, run.lowest() - radius);
    least = std::min(least, run.body->calc_strain(run.state.q).volume / volume - 1);
  }
  std::printf(
      "drop     %-20s %5.1f ms/step in flight, %5.1f in contact (most %.1f), %.1f tangents, %d contacts\n",
      name, 1e3 * flight / std::max(1, flight_steps), 1e3 * contact / std::max(1, contact_steps),
      1e3 * slowest, tangents / 200.0, most_contacts);
  std::printf("         deepest %.3f mm, at the end %.3f mm; volume %.2f %% at worst; %.1e m/s at 2 s\n",
              -1e3 * worst, -1e3 * (run.lowest() - radius), 100 * least, run.state.v.cwiseAbs().maxCoeff());
}

void cantilever(SoftElement element, const std::array<int, 3>& cells) {
  SoftBodySpec spec = block({0.2, 0.04, 0.04}, cells, 1e6, 0.3);
  spec.element = element;
  spec.alpha = 20;
  spec.fixed.push_back({false, {-0.1, 0, 0}, {1e-6, 1, 1}, 0});
  Run run(false, spec, 0.01);
  const double start = cpu_seconds();
  for (int i = 0; i < 150; ++i) run.advance();
  const double seconds = (cpu_seconds() - start) / 150;
  double sum = 0;
  int count = 0, free = 0;
  for (int i = 0; i < run.body->num_nodes(); ++i) {
    free += run.body->is_fixed(i) ? 0 : 3;
    if (run.body->rest(i).x() < 0.0999) continue;
    sum += run.body->rest(i).z() - run.state.q[3 * i + 2];
    ++count;
  }
  const double drop = 1e3 * sum / count;
  std::printf("cantilever %s %dx%dx%d cells, %5d dofs: %.2f mm, %+.1f %% of 15.00 mm, %.2f ms/step\n",
              element == SoftElement::linear ? "linear   " : "quadratic", cells[0], cells[1], cells[2], free,
              drop, 100 * (drop / 14.997 - 1), 1e3 * seconds);
}

void cost() {
  double first_nodes = 0, first_time = 0, nodes = 0, time = 0;
  for (const int n : {7, 9, 13, 17, 21, 26}) {
    SoftBodySpec spec = block({0.1, 0.1, 0.1}, {n, n, n}, 1e5, 0.4);
    spec.beta = 0.01;
    spec.pose.position.z() = 0.0501;
    Run run(true, spec, 0.01);
    const int steps = n > 20 ? 2 : 5;
    for (int i = 0; i < steps; ++i) run.advance();
    const double start = cpu_seconds();
    for (int i = 0; i < steps; ++i) run.advance();
    time = (cpu_seconds() - start) / steps;
    nodes = run.body->num_nodes();
    if (first_nodes == 0) {
      first_nodes = nodes;
      first_time = time;
    }
    std::printf("cost     %6.0f nodes: %.1f ms/step\n", nodes, 1e3 * time);
  }
  std::printf("cost     exponent %.2f\n", std::log(time / first_time) / std::log(nodes / first_nodes));
}

void finray() {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/experiments/finray/finray_grasp.yaml");
  const Model model = compile(scene);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.judge = false;
  Input input;
  const int steps = static_cast<int>(std::lround(model.options.duration / options.dt));
  double contacts = 0, iterations = 0, slowest = 0;
  int most = 0;
  const double start = cpu_seconds();
  for (int i = 0; i < steps; ++i) {
    const double before = cpu_seconds();
    apply_schedule(model, schedule, options.dt, &state, &input);
    const Report report = step(model, options, input, &state, &workspace);
    slowest = std::max(slowest, cpu_seconds() - before);
    contacts += report.contacts;
    most = std::max(most, report.contacts);
    iterations += report.solver.iterations;
  }
  const double mean = (cpu_seconds() - start) / steps;
  const auto peg = std::find_if(model.bodies.begin(), model.bodies.end(),
                                [](const ModelBody& body) { return body.name == "peg"; });
  const Vec3 p = workspace.motion.placement.X_WL[peg->link].p;  // at the beginning of the last step
  std::printf(
      "finray   %.1f ms/step, slowest %.1f; contacts %.1f, at most %d; %.1f iterations; peg at %.3f %.3f "
      "%.3f m\n",
      1e3 * mean, 1e3 * slowest, contacts / steps, most, iterations / steps, p.x(), p.y(), p.z());
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto asked = [&](const char* name) {
    return argc < 2 ||
           std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::string(a) == name; });
  };
  if (asked("drop")) {
    drop(Elasticity::linear_corotational, "linear corotational");
    drop(Elasticity::corotated, "corotated");
    drop(Elasticity::neo_hookean, "neo-Hookean");
  }
  if (asked("cantilever")) {
    cantilever(SoftElement::linear, {10, 2, 2});
    cantilever(SoftElement::linear, {20, 4, 4});
    cantilever(SoftElement::quadratic, {4, 1, 1});
    cantilever(SoftElement::quadratic, {5, 1, 1});
    cantilever(SoftElement::quadratic, {10, 2, 2});
  }
  if (asked("cost")) cost();
  if (asked("finray")) finray();
}
