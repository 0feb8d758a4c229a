// Soft surfaces between their vertices, and soft bodies that touch themselves: sharp edges across each other,
// a U that closes, a strip that is folded.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "capstan/io/read.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/step/schedule.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_contact_test {
namespace {

using namespace test;

Scene empty_scene(double friction) {
  Scene scene = box_on_plane(friction, 1e8);
  scene.bodies.clear();
  scene.shapes.clear();
  scene.materials[0].stiffness.reset();
  return scene;
}

SoftBodySpec solid(TetMesh mesh, double young_modulus) {
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(std::move(mesh));
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = 0.3;
  spec.density = 1000;
  spec.beta = 0.01;
  spec.has_edges = true;
  return spec;
}

int add(const SoftBodySpec& spec, const std::string& name, Simulation* run) {
  const int object = add_soft_body(name, std::make_shared<SoftBody>(spec), 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return object;
}

VecX q_of(const Simulation& run, int object) {
  const Object& o = run.model.objects[object];
  return run.state.q.segment(o.q_begin, o.num_positions());
}

// A slab of few cells, without a vertex near the middle.
SoftBodySpec slab() {
  SoftBodySpec spec = solid(make_box_tets({0.24, 0.1, 0.02}, {3, 2, 1}), 3e4);
  spec.alpha = 3;
  return spec;
}

// [m] of the lower surface of a slab above x = 0, y = 0 at rest: the least of its edges that cross x =
// x_line.
double height_over_line(const Simulation& run, int object, double x_line) {
  const VecX q = q_of(run, object);
  double least = kInfinity;
  for (const auto& edge : soft_body_of(run.model, object).edges()) {
    const Vec3 a = SoftBody::node(q, edge.nodes[0]), b = SoftBody::node(q, edge.nodes[1]);
    if ((a.x() - x_line) * (b.x() - x_line) > 0 || std::abs(a.x() - b.x()) < 1e-9) continue;
    const double s = (x_line - a.x()) / (b.x() - a.x());
    least = std::min(least, a.z() + s * (b.z() - a.z()));
  }
  return least;
}

// The edges of a soft bar whose ends are beyond the slab, and of the slab whose ends are beyond the bar: no
// vertex is where they touch.
double sink_on_soft_bar(bool has_edges) {
  Simulation run(empty_scene(0.5), 0.005, ContactLaw::coulomb);
  SoftBodySpec bar = solid(make_box_tets({0.02, 0.3, 0.04}, {1, 1, 2}), 1e6);
  bar.pose.position.z() = -0.02;
  bar.fixed.push_back({false, Vec3::Zero(), {1, 1, 1}, 0});
  SoftBodySpec spec = slab();
  spec.pose.position.z() = 0.012;
  bar.has_edges = spec.has_edges = has_edges;
  add(bar, "bar", &run);
  const int object = add(spec, "slab", &run);
  double lowest = kInfinity;
  for (int i = 0; i < 100; ++i) {
    run.go(0.005);
    const VecX q = q_of(run, object);
    // The middle of the slab's underside, between the vertices at x = -0.04 and 0.04.
    double sum = 0;
    int count = 0;
    const SoftBody& body = soft_body_of(run.model, object);
    for (int n = 0; n < body.num_nodes(); ++n) {
      if (std::abs(body.rest(n).x()) > 0.05 || body.rest(n).z() > 0) continue;
      sum += q[3 * n + 2];
      ++count;
    }
    lowest = std::min(lowest, sum / count);
  }
  return lowest;
}

TEST(SoftContact, EdgesHoldASlabAcrossASoftBar) {
  EXPECT_LT(sink_on_soft_bar(false), -0.1);  // without them it falls around the bar
  EXPECT_GT(sink_on_soft_bar(true), -0.012);
}

// Of rigid bodies, convex ones meet triangles, which have edges; so do those of meshes.
TEST(SoftContact, ASlabDoesNotSinkOnAThinRigidBar) {
  for (const bool is_mesh : {false, true}) {
    Scene scene = empty_scene(0.5);
    auto ridge = std::make_shared<TriangleMesh>();  // a roof along y
    ridge->vertices = {{-0.02, -0.2, -0.04}, {0.02, -0.2, -0.04}, {0, -0.2, 0},
                       {-0.02, 0.2, -0.04},  {0.02, 0.2, -0.04},  {0, 0.2, 0}};
    ridge->triangles = {{0, 1, 2}, {3, 5, 4}, {0, 3, 4}, {0, 4, 1},
                        {1, 4, 5}, {1, 5, 2}, {2, 5, 3}, {2, 3, 0}};
    if (is_mesh) {
      scene.shapes.push_back(make_shape("ridge", kWorld, SurfaceMesh{ridge}));
    } else {
      scene.shapes.push_back(make_shape("bar", kWorld, Box{{0.002, 0.2, 0.01}}));
      scene.shapes[0].pose.position.z() = -0.01;
    }
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    SoftBodySpec spec = slab();
    spec.pose.position.z() = 0.012;
    const int object = add(spec, "slab", &run);
    double least = kInfinity;
    for (int i = 0; i < 100; ++i) {
      run.go(0.005);
      least = std::min(least, height_over_line(run, object, 0));
    }
    EXPECT_GT(least, -4e-4) << is_mesh;  // a fiftieth of its thickness, as it lands
    EXPECT_LT(least, 1e-3) << is_mesh;   // it lies on it
  }
}

// Without cells that `keep` does not want.
template <class F>
TetMesh cut(TetMesh mesh, const F& keep) {
  std::erase_if(mesh.tets, [&](const std::array<int, 4>& tet) {
    Vec3 centre = Vec3::Zero();
    for (const int v : tet) centre += mesh.vertices[v] / 4;
    return !keep(centre);
  });
  return cleaned(mesh);
}

double calc_energy(const Simulation& run, int object) {
  const Object& o = run.model.objects[object];
  const VecX v = run.state.v.segment(o.dof_begin, o.num_dofs());
  return o.physics->calc_elastic_energy(q_of(run, object)) +
         o.physics->calc_kinetic_energy(q_of(run, object), v);
}

// A U whose arms, 2 cm apart, are thrown at each other by its open end.
struct Closing {
  double least_gap = kInfinity;  // [m] between the arms, by the ends
  double most_energy = 0;        // [J] over that of the start
  int most_contacts = 0;
};
Closing close_u(bool self_contact) {
  Scene scene = empty_scene(0.3);
  scene.options.gravity.setZero();
  Simulation run(scene, 0.002, ContactLaw::coulomb);
  SoftBodySpec spec = solid(cut(make_box_tets({0.16, 0.04, 0.06}, {8, 2, 3}),
                                [](const Vec3& c) { return c.x() < -0.06 || std::abs(c.z()) > 0.01; }),
                            2e4);
  spec.beta = 0;
  spec.self_contact = self_contact;
  const int object = add(spec, "u", &run);
  const SoftBody& body = soft_body_of(run.model, object);
  const int begin = run.model.objects[object].dof_begin;
  std::vector<int> upper, lower;
  for (int n = 0; n < body.num_nodes(); ++n) {
    const Vec3& x = body.rest(n);
    const double far = std::max(0.0, x.x() + 0.06) / 0.14;
    run.state.v[begin + 3 * n + 2] = (x.z() > 0 ? -1.0 : 1.0) * far;
    if (x.x() < 0.079 || std::abs(std::abs(x.z()) - 0.01) > 1e-6) continue;
    (x.z() > 0 ? upper : lower).push_back(n);
  }
  Closing closing;
  const double start = calc_energy(run, object);
  for (int i = 0; i < 200; ++i) {
    run.go(0.002);
    const VecX q = q_of(run, object);
    double up = 0, down = 0;
    for (const int n : upper) up += q[3 * n + 2] / static_cast<double>(upper.size());
    for (const int n : lower) down += q[3 * n + 2] / static_cast<double>(lower.size());
    closing.least_gap = std::min(closing.least_gap, up - down);
    closing.most_energy = std::max(closing.most_energy, calc_energy(run, object) / start);
    closing.most_contacts = std::max(closing.most_contacts, run.report.contacts);
  }
  return closing;
}

TEST(SoftContact, AUThatClosesTouchesItself) {
  const Closing through = close_u(false), holds = close_u(true);
  EXPECT_LT(through.least_gap, -0.02);
  EXPECT_EQ(through.most_contacts, 0);
  EXPECT_GT(holds.least_gap, 0);
  EXPECT_GT(holds.most_contacts, 5);
  EXPECT_LT(holds.most_energy, 1 + 1e-6);
}

// A strip that is thrown together by its ends over a rod: it lies on itself, in two layers, at rest.
TEST(SoftContact, AFoldedStripLiesOnItself) {
  Scene scene = empty_scene(0.5);
  scene.shapes.push_back(make_shape("floor", kWorld, HalfSpace{}));
  Simulation run(scene, 0.004, ContactLaw::coulomb);
  SoftBodySpec spec = solid(make_box_tets({0.4, 0.05, 0.01}, {20, 3, 1}), 3e4);
  spec.alpha = 2;
  spec.self_contact = true;
  spec.pose.position.z() = 0.0055;
  spec.fixed.push_back({false, {-0.1, 0, 0}, {0.101, 1, 1}, 0});
  const int object = add(spec, "strip", &run);
  const SoftBody& body = soft_body_of(run.model, object);
  const int begin = run.model.objects[object].dof_begin;
  for (int n = 0; n < body.num_nodes(); ++n) {  // the free half turns over
    const double far = std::max(0.0, body.rest(n).x());
    run.state.v[begin + 3 * n + 2] = 16 * far;
  }
  double tip_x = 0, least = kInfinity;
  for (int i = 0; i < 500; ++i) {
    run.go(0.004);
    const VecX q = q_of(run, object);
    for (int n = 0; n < body.num_nodes(); ++n) {
      if (body.rest(n).x() < 0.199) continue;
      tip_x = q[3 * n];
      if (q[3 * n] < -0.02) least = std::min(least, q[3 * n + 2]);
    }
  }
  EXPECT_LT(tip_x, -0.05);
  EXPECT_GT(least, 0.0104);  // above the lower layer, whose top is at 0.0105
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 0.05);
}

// The scene: two bubbles of sealed air lift a mug by 12 cm and hold it. Pressed, their air has a higher
// pressure.
TEST(SoftContact, ABubbleGripperLiftsAMug) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/bubble_gripper.yaml");
  const Model model = compile(scene);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.judge = false;
  Input input;
  const int mug = model.bodies[model.find_body("mug")].link;
  const int bubble = find_soft_bodies(model)[0];
  const SoftBody& body = soft_body_of(model, bubble);
  const auto pressure = [&] {
    const Object& o = model.objects[bubble];
    return body.calc_pressure(state.q.segment(o.q_begin, o.num_positions()));
  };
  EXPECT_NEAR(pressure(), 2000, 1e-6);
  const auto go_to = [&](double time) {
    while (state.time < time - 1e-9) {
      apply_schedule(model, schedule, options.dt, &state, &input);
      step(model, options, input, &state, &workspace);
    }
    return workspace.motion.placement.X_WL[mug].p.z();
  };
  go_to(0.2);
  const double before = pressure();  // blown up, touching nothing
  EXPECT_LT(before, 1500);
  EXPECT_NEAR(go_to(1.2), 0.0475, 1e-4);
  EXPECT_GT(pressure(), 1.5 * before);
  const double lifted = go_to(2.45);
  EXPECT_NEAR(lifted, 0.0475 + 0.1162, 0.0005);  // the bubbles give way by 3.7 mm
  EXPECT_NEAR(go_to(2.55), lifted, 1e-4);        // and hold it
}

}  // namespace
}  // namespace capstan::soft_contact_test
