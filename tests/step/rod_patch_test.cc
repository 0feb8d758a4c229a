// Rods that touch over patches of pressure fields: the load of a rod is spread along it, as deep as the field
// of its section tells, however many edges it has; the capstan; what each gives the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/contacts/contacts.h"
#include "capstan/geometry/tet_mesh.h"
#include "capstan/model/add_rod.h"
#include "capstan/scene/soft_body.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rod_patch_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

// Material 0, of rods, has this modulus [Pa]; material 1 is rigid.
Scene patch_scene(double modulus, double friction) {
  Scene scene;
  Material rubber;
  rubber.name = "default";
  rubber.contact = ContactModel::patch;
  rubber.elastic_modulus = modulus;
  rubber.friction = friction;
  Material rigid = rubber;
  rigid.name = "rigid";
  rigid.elastic_modulus = kInfinity;
  scene.materials = {rubber, rigid};
  return scene;
}

Scene rigid_floor(double modulus) {
  Scene scene = patch_scene(modulus, 0.5);
  ShapeInstance floor = make_shape("floor", kWorld, HalfSpace{});
  floor.material = "rigid";
  scene.shapes = {floor};
  return scene;
}

RodSpec straight_rod(int edges, double length, double height, const RodSection& section) {
  RodSpec spec;
  for (int i = 0; i <= edges; ++i) spec.nodes.push_back({length * i / edges, 0, height});
  spec.director = Vec3::UnitY();
  spec.section = section;
  spec.young_modulus = 1e7;
  spec.density = 1000;
  spec.alpha = 20;
  return spec;
}

std::shared_ptr<Rod> add(const RodSpec& spec, Simulation* run) {
  auto rod = std::make_shared<Rod>(spec);
  add_rod("rod", rod, 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return rod;
}

// Where f(d), which grows, is `wanted`.
template <class F>
double solve(double wanted, double most, const F& f) {
  double low = 0, high = most;
  for (int k = 0; k < 80; ++k) (f(0.5 * (low + high)) < wanted ? low : high) = 0.5 * (low + high);
  return low;
}

// The depth at rest, and the load of each edge, are those of the field of the section:
//   circle      integral of E (1 - sqrt((R - d)^2 + x^2) / R) dx
//   rectangle   E (w d - d^2) / H, H half the height: the pressure falls to zero within d of its sides
void expect_at_rest(const RodSection& section, double height, double area, double depth, int edges) {
  const double length = 0.4, weight = 1000 * kGravity * area * length;
  Simulation run(rigid_floor(1e5), 0.005, ContactLaw::coulomb);
  add(straight_rod(edges, length, height, section), &run);
  run.go(3);
  std::vector<double> load(edges, 0.0);
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  for (const ContactForce& f : forces) load[std::max(f.shape_a, f.shape_b) - 1] += f.normal_force;
  for (int i = 0; i <= edges; ++i) {
    const double d = height - run.state.q[4 * i + 2];
    EXPECT_NEAR(d, depth, 0.01 * depth) << edges << " edges, node " << i;
  }
  for (int i = 0; i < edges; ++i)
    EXPECT_NEAR(load[i], weight / edges, 0.01 * weight / edges) << edges << " edges, edge " << i;
}

TEST(RodPatches, ARoundRodLiesAsDeepAsItsFieldTells) {
  const double R = 0.005, E = 1e5;
  RodSection section;
  section.width = 2 * R;
  const double depth = solve(1000 * kGravity * kPi * R * R, R, [&](double d) {
    const double z = R - d, a = std::sqrt(R * R - z * z);
    return E / R * (a * R - z * z * std::asinh(a / z));
  });
  for (const int edges : {4, 10, 40}) expect_at_rest(section, R, kPi * R * R, depth, edges);
}

TEST(RodPatches, ABeltLiesAsDeepAsItsFieldTells) {
  const double width = 0.02, H = 0.001, E = 1e5;
  RodSection section;
  section.type = RodSectionType::rectangle;
  section.width = width;  // along y, the director
  section.height = 2 * H;
  const double area = width * 2 * H;
  const double depth =
      solve(1000 * kGravity * area, H, [&](double d) { return E * (width * d - d * d) / H; });
  for (const int edges : {4, 20}) expect_at_rest(section, H, area, depth, edges);
}

TEST(RodPatches, AnEllipticRodTouchesAtPoints) {
  RodSection section;
  section.type = RodSectionType::ellipse;
  section.width = 0.02;
  section.height = 0.01;
  Scene scene = rigid_floor(1e5);
  RodSpec spec = straight_rod(10, 0.4, 0.005, section);
  spec.name = "rod";
  scene.rods = {spec};
  Diagnostics diagnostics;
  const Model model = compile(scene, &diagnostics);
  EXPECT_EQ(std::count_if(diagnostics.list.begin(), diagnostics.list.end(),
                          [](const Diagnostic& d) { return d.what.find("elliptic") != std::string::npos; }),
            1);
  for (const ModelShape& shape : model.shapes) EXPECT_EQ(shape.field != nullptr, shape.link == 0);
}

// Euler's and Eytelwein's formula, as rod_test.cc has it for points: friction acts on the post's surface.
TEST(RodPatches, TheCapstanHoldsExpMuPhi) {
  const double mu = 0.2, post = 0.03, rope = 0.0005;
  for (const double wrap : {0.5 * kPi, kPi}) {
    Scene scene = patch_scene(2e6, mu);
    scene.options.gravity.setZero();
    ShapeInstance cylinder = make_shape("post", kWorld, Cylinder{post, 0.05});
    cylinder.material = "rigid";
    scene.shapes = {cylinder};
    const int turns = 40;
    const double R = post + rope, step = wrap / turns, half = R * std::tan(0.5 * step);
    const auto at = [&](double angle, double radius) {
      return Vec3(-radius * std::cos(angle), radius * std::sin(angle), 0);
    };
    const auto along = [&](double angle) { return Vec3(std::sin(angle), std::cos(angle), 0); };
    RodSpec spec;
    for (int k = 12; k > 0; --k) spec.nodes.push_back(at(0, R) - (2 * k + 1) * half * along(0));
    for (int k = 0; k <= turns + 1; ++k) spec.nodes.push_back(at((k - 0.5) * step, R / std::cos(0.5 * step)));
    for (int k = 1; k <= 12; ++k) spec.nodes.push_back(at(wrap, R) + (2 * k + 1) * half * along(wrap));
    spec.section.width = 2 * rope;
    spec.young_modulus = 1.2e8;  // E A = 94 N
    spec.density = 4000;
    const int last = static_cast<int>(spec.nodes.size()) - 1;
    spec.pinned_nodes = {last};
    Simulation run(scene, 0.001, ContactLaw::coulomb);
    const std::shared_ptr<Rod> rod = add(spec, &run);
    run.input.generalized_force = VecX::Zero(run.model.num_velocities());
    run.input.generalized_force[1] = -1;  // [N]
    run.state.v.segment<3>(4 * last) = 0.02 * along(wrap);
    run.go(0.2);
    double ratio = 0;
    for (int i = 0; i < 50; ++i) {
      run.go(0.001);
      ratio += rod->tension(run.state.q, rod->num_edges() - 1) / rod->tension(run.state.q, 0) / 50;
    }
    EXPECT_GT(run.report.contacts, 2 * turns);  // several points for each edge
    // The rope's axis is nearer by how deep it is.
    const double axis = Rod::node(run.state.q, last / 2).norm();
    const double expected = std::exp(mu * wrap * post / axis);
    EXPECT_NEAR(ratio, expected, 0.01 * expected) << wrap;
  }
}

// A rod across a soft block that lies on the floor: the floor carries both, the block the rod, and nothing
// that falls on it gains energy.
TEST(RodPatches, ARodOnASoftBlockGivesWhatItTakes) {
  Scene scene = rigid_floor(1e5);
  Body block = free_body("block", Vec3(0.2, 0, 0.0499));
  scene.bodies = {block};
  scene.shapes.push_back(make_shape("block", "block", Box{Vec3(0.05, 0.05, 0.05)}, 1));
  RodSection section;
  section.width = 0.01;
  RodSpec spec = straight_rod(20, 0.4, 0.115, section);
  spec.young_modulus = 1e9;
  Simulation run(scene, 0.002, ContactLaw::coulomb);
  const std::shared_ptr<Rod> rod = add(spec, &run);
  double energy = calc_mechanics(run.model, run.state).total();
  for (int k = 0; k < 500; ++k) {
    run.go(0.002);
    const double now = calc_mechanics(run.model, run.state).total();
    EXPECT_LT(now, energy + 1e-4) << k;  // [J] of 0.3 J; fields store some
    energy = now;
  }
  run.go(2);
  double weight = 0;
  for (int i = 0; i <= 20; ++i) weight += rod->inertia()[4 * i] * kGravity;
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double on_floor = 0, on_block = 0;
  for (const ContactForce& f : forces) {
    (std::min(f.shape_a, f.shape_b) == 0 ? on_floor : on_block) += f.normal_force;
    EXPECT_GT(f.area, 0);
  }
  EXPECT_NEAR(on_block, weight, 1e-3 * weight);
  EXPECT_NEAR(on_floor, weight + kGravity, 1e-3 * weight);
}

// Two round rods of radius R that cross at a right angle, their axes 2 R - d apart: where both pressures are
// the same, y^2 + z^2 = x^2 + (h - z)^2, h = 2 R - d, the force is the integral of E (1 - sqrt(y^2 + z^2) /
// R) over x and y.
TEST(RodPatches, RodsThatCrossPressAsTheirFieldsTell) {
  const double R = 0.005, E = 1e5;
  RodSection section;
  section.width = 2 * R;
  for (const double d : {0.0005, 0.001, 0.002}) {
    const double h = 2 * R - d, step = 2e-5;
    double expected = 0;
    for (double x = -R + 0.5 * step; x < R; x += step) {
      for (double y = -R + 0.5 * step; y < R; y += step) {
        const double z = (x * x - y * y + h * h) / (2 * h);
        expected += E * std::max(0.0, 1 - std::hypot(y, z) / R) * step * step;
      }
    }
    Simulation run(patch_scene(E, 0.5), 0.005, ContactLaw::coulomb);
    add(straight_rod(5, 0.1, 0, section), &run);  // crossed in the middle of an edge
    RodSpec across = straight_rod(5, 0.1, h, section);
    for (Vec3& node : across.nodes) node = Vec3(0.05, node.x() - 0.05, node.z());
    across.director = Vec3::UnitX();
    add(across, &run);
    Placement placement = make_placement(run.model);
    calc_placement(run.model, run.state.q, &placement);
    Contacts contacts;
    collide_all_pairs(run.model, placement, &contacts);
    Vec3 force = Vec3::Zero();
    for (int i = 0; i < contacts.size(); ++i) {
      EXPECT_GT(contacts.material[i].area, 0);
      force += contacts.material[i].stiffness * std::max(0.0, -contacts.distance[i]) * contacts.normal[i];
    }
    EXPECT_NEAR(force.norm(), expected, 0.03 * expected) << d;
    EXPECT_NEAR(std::abs(force.z()), force.norm(), 1e-6 * expected) << d;
  }
}

// A rod lies on a soft body over patches, which carries its weight and its own.
TEST(RodPatches, ARodLiesOnASoftBody) {
  Scene scene = rigid_floor(1e6);
  SoftBodySpec block;
  block.name = "block";
  block.mesh = std::make_shared<const TetMesh>(make_box_tets(Vec3(0.1, 0.1, 0.05), {4, 4, 2}));
  block.young_modulus = 1e5;
  block.poisson_ratio = 0.3;
  block.density = 1000;
  block.beta = 0.02;
  block.pose.position = Vec3(0.1, 0, 0.025);
  scene.soft_bodies = {block};
  RodSection section;
  section.width = 0.01;
  RodSpec spec = straight_rod(10, 0.2, 0.0552, section);
  spec.young_modulus = 1e8;
  spec.beta = 0.01;
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const std::shared_ptr<Rod> rod = add(spec, &run);
  run.go(3);
  double weight = 0;
  for (int i = 0; i <= 10; ++i) weight += rod->inertia()[4 * i] * kGravity;
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double on_floor = 0, on_block = 0;
  for (const ContactForce& f : forces) {
    (std::min(f.shape_a, f.shape_b) == 0 ? on_floor : on_block) += f.normal_force;
    EXPECT_TRUE(f.area > 0 || f.normal_force == 0);
  }
  EXPECT_NEAR(on_block, weight, 0.02 * weight);
  EXPECT_NEAR(on_floor, weight + 0.5 * kGravity, 0.01 * (weight + 0.5 * kGravity));
  EXPECT_LT(run.state.v.norm(), 1e-2);
}

TEST(RodPatches, SameBitsWithAnyThreads) {
  RodSection section;
  section.width = 0.01;
  VecX q;
  for (const int threads : {1, 2}) {
    RodSpec spec = straight_rod(30, 0.6, 0.02, section);
    for (int i = 0; i <= 30; ++i) spec.nodes[i].z() += 0.01 * std::sin(0.7 * i);
    spec.rest = RodRest::straight;
    Simulation run(rigid_floor(1e5), 0.002, ContactLaw::coulomb);
    add(spec, &run);
    run.options.threads = threads;
    run.go(0.3);
    EXPECT_GT(run.report.contacts, 10);
    if (threads == 1) q = run.state.q;
    EXPECT_EQ(q, run.state.q);
  }
}

}  // namespace
}  // namespace capstan::rod_patch_test
