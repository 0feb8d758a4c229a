// Rods on what is made of parts: triangle meshes, distance grids, height fields and tiles are floors and
// posts as the plane and the cylinder are; and links of trees that push, sweep and carry rods.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::rod_surfaces_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;
constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};
constexpr ContactLaw kBoth[] = {ContactLaw::coulomb, ContactLaw::sap};
constexpr int kColumns = 57, kRows = 9;  // of squares, or tiles, of a floor of 4 x 0.6 m

using Mesh = std::shared_ptr<TriangleMesh>;
void add_quad(int a, int b, int c, int d, TriangleMesh* mesh) {
  mesh->triangles.push_back({a, b, c});
  mesh->triangles.push_back({a, c, d});
}

// [-2, 2] x [-0.3, 0.3] x [-0.2, 0], closed.
Mesh make_slab() {
  auto mesh = std::make_shared<TriangleMesh>();
  const auto at = [&](int i, int j) { return i * (kRows + 1) + j; };
  for (const double z : {0.0, -0.2}) {
    for (int i = 0; i <= kColumns; ++i) {
      for (int j = 0; j <= kRows; ++j)
        mesh->vertices.push_back({-2 + 4.0 * i / kColumns, -0.3 + 0.6 * j / kRows, z});
    }
  }
  const int low = static_cast<int>(mesh->vertices.size()) / 2;
  for (int i = 0; i < kColumns; ++i) {
    for (int j = 0; j < kRows; ++j) {
      add_quad(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1), mesh.get());
      add_quad(low + at(i, j), low + at(i, j + 1), low + at(i + 1, j + 1), low + at(i + 1, j), mesh.get());
    }
    add_quad(low + at(i, 0), low + at(i + 1, 0), at(i + 1, 0), at(i, 0), mesh.get());
    add_quad(at(i, kRows), at(i + 1, kRows), low + at(i + 1, kRows), low + at(i, kRows), mesh.get());
  }
  for (int j = 0; j < kRows; ++j) {
    add_quad(at(0, j), at(0, j + 1), low + at(0, j + 1), low + at(0, j), mesh.get());
    add_quad(low + at(kColumns, j), low + at(kColumns, j + 1), at(kColumns, j + 1), at(kColumns, j),
             mesh.get());
  }
  return mesh;
}

// A prism about z around a cylinder.
Mesh make_tube(double radius, double half, int facets) {
  auto mesh = std::make_shared<TriangleMesh>();
  for (const double z : {-half, half}) {
    for (int i = 0; i < facets; ++i) {
      const double a = 2 * kPi * (i + 0.37) / facets, r = radius / std::cos(kPi / facets);
      mesh->vertices.push_back({r * std::cos(a), r * std::sin(a), z});
    }
  }
  mesh->vertices.push_back({0, 0, -half});
  mesh->vertices.push_back({0, 0, half});
  for (int i = 0; i < facets; ++i) {
    const int next = (i + 1) % facets;
    add_quad(i, next, facets + next, facets + i, mesh.get());
    mesh->triangles.push_back({2 * facets, next, i});
    mesh->triangles.push_back({2 * facets + 1, facets + i, facets + next});
  }
  return mesh;
}

const char* const kFloors[] = {"mesh", "signed_distance", "height_field", "tiles"};
Scene floor_of(const std::string& kind, double friction, double stiffness) {
  Scene scene = box_on_plane(friction, stiffness);
  scene.bodies.clear();
  scene.shapes.clear();
  const auto add_part = [&](const Shape& shape, double x, double z) {
    scene.shapes.push_back(make_shape("floor" + std::to_string(scene.shapes.size()), kWorld, shape));
    scene.shapes.back().pose.position = Vec3(x + 0.003, 0.002, z);  // no node on a seam
  };
  if (kind == "mesh") add_part(SurfaceMesh{make_slab()}, 0, 0);
  if (kind == "signed_distance") add_part(SignedDistanceMesh{make_slab(), 64}, 0, 0);
  if (kind == "height_field") {
    HeightField field;
    field.rows = kRows + 1;
    field.columns = kColumns + 1;
    field.half_size = Vec2(2, 0.3);
    field.base = 0.2;
    field.height = std::make_shared<std::vector<double>>(field.rows * field.columns, 0.0);
    add_part(field, 0, 0);
  }
  for (int i = 0; kind == "tiles" && i < kColumns; ++i)
    add_part(Box{Vec3(2.0 / kColumns, 0.3, 0.1)}, -2 + 4 * (i + 0.5) / kColumns, -0.1);
  return scene;
}

// 0.4 m of rope (or of a square strap), lying on z = 0 with the depth of its weight on two contacts for each
// edge, which share a node.
constexpr int kEdges = 20;
constexpr double kWidth = 0.01, kSpan = 0.4 / kEdges;
RodSpec rope_at(double x, double turn, double depth, bool flat) {
  RodSpec spec;
  for (int i = 0; i <= kEdges; ++i) {
    const double s = 0.4 * i / kEdges - 0.2;
    spec.nodes.push_back({x + s * std::cos(turn), s * std::sin(turn), 0.5 * kWidth - depth});
  }
  spec.section.width = kWidth;
  if (flat) spec.section = {RodSectionType::rectangle, kWidth, kWidth, TorsionConstant::exact};
  spec.director = Vec3(-std::sin(turn), std::cos(turn), 0);
  spec.young_modulus = 1e7;
  spec.density = 1000;
  return spec;
}
double depth_at_rest(bool flat, double stiffness) {  // two contacts at a node, four for a strap
  const double area = flat ? kWidth * kWidth : 0.25 * kPi * kWidth * kWidth;
  return 1000 * area * kSpan * kGravity / ((flat ? 4 : 2) * stiffness);
}

std::shared_ptr<Rod> add(const RodSpec& spec, Simulation* run) {
  auto rod = std::make_shared<Rod>(spec);
  add_rod("rope", rod, 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return rod;
}

Vec3 force_on_rope(const Simulation& run) {
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  Vec3 sum = Vec3::Zero();
  for (const ContactForce& f : forces)
    sum += run.model.shapes[f.shape_a].name.starts_with("rope") ? Vec3(-f.force_W()) : Vec3(f.force_W());
  return sum;
}

double mean_speed(const Rod& rod, const State& state) {  // along x
  double mass = 0, p = 0;
  for (int i = 0; i < rod.num_nodes(); ++i) {
    mass += rod.inertia()[4 * i];
    p += rod.inertia()[4 * i] * state.v[4 * i];
  }
  return p / mass;
}

// Calls test(kind, flat, law, dt) with all of them.
template <typename Test>
void for_all(const Test& test) {
  for (const char* const kind : kFloors) {
    for (const bool flat : {false, true}) {
      for (const ContactLaw law : kBoth) {
        for (const double dt : kSteps) {
          SCOPED_TRACE(fmt::format("{}, {}, {}, dt {}", kind, flat ? "strap" : "rope",
                                   kContactLawNames[static_cast<int>(law)], dt));
          test(kind, flat, law, dt);
        }
      }
    }
  }
}

// So soft that `sap` is not near-rigid. Tiles share an edge across a seam, which then lies less deep.
TEST(RodSurfaces, ARopeRestsAtTheDepthOfItsWeight) {
  for_all([](const std::string& kind, bool flat, ContactLaw law, double dt) {
    constexpr double kStiffness = 200;
    Simulation run(floor_of(kind, 0.3, kStiffness), dt, law);
    RodSpec spec = rope_at(0, 0.3, -1e-5, flat);
    spec.alpha = 20;
    const std::shared_ptr<Rod> rod = add(spec, &run);
    run.go(1);
    const double weight = 1000 * rod->section().area * 0.4 * kGravity,
                 expected = depth_at_rest(flat, kStiffness);
    const Vec3 force = force_on_rope(run);
    EXPECT_NEAR(force.z(), weight, 1e-4 * weight);
    EXPECT_LT(force.head<2>().norm(), 1e-3 * weight);
    for (int i = 0; i <= kEdges; ++i) {
      const double depth = 0.5 * kWidth - run.state.q[4 * i + 2];
      if (kind == "tiles") {
        EXPECT_LT(depth, 1.05 * expected) << i;
        EXPECT_GT(depth, 0) << i;
      } else {
        EXPECT_NEAR(depth, expected, 2e-3 * expected) << i;
      }
    }
  });
}

// mu g, which `sap` has to less than 1 % at 10 ms, as it rises where it begins to glide.
TEST(RodSurfaces, ARopeSlidesOverSeamsWithItsFriction) {
  for_all([](const std::string& kind, bool flat, ContactLaw law, double dt) {
    constexpr double kFriction = 0.3, kTime = 0.2;
    Simulation run(floor_of(kind, kFriction, 1e4), dt, law);
    const std::shared_ptr<Rod> rod = add(rope_at(-0.5, 0, depth_at_rest(flat, 1e4), flat), &run);
    for (int i = 0; i <= kEdges; ++i) run.state.v[4 * i] = 1;
    run.go(kTime);
    const double expected = kFriction * kGravity * kTime;
    EXPECT_NEAR(1 - mean_speed(*rod, run.state), expected, (law == ContactLaw::sap ? 0.01 : 1e-3) * expected);
  });
}

// Half a metre, across 14 seams, askew.
TEST(RodSurfaces, SeamsDoNotBrakeWhatHasNoFriction) {
  for_all([](const std::string& kind, bool flat, ContactLaw law, double dt) {
    Simulation run(floor_of(kind, 0, 1e5), dt, law);
    const std::shared_ptr<Rod> rod = add(rope_at(-0.5, 0.3, depth_at_rest(flat, 1e5), flat), &run);
    for (int i = 0; i <= kEdges; ++i) run.state.v[4 * i] = 1;
    run.go(0.5);
    EXPECT_GT(mean_speed(*rod, run.state), 0.9995);
    EXPECT_LT(mean_speed(*rod, run.state), 1.0005);
  });
}

// Friction of 0.3: 3 % less and more than its angle.
TEST(RodSurfaces, ARopeOnASlopeHoldsAndSlides) {
  for_all([](const std::string& kind, bool flat, ContactLaw law, double dt) {
    for (const double share : {0.97, 1.03}) {
      Scene scene = floor_of(kind, 0.3, 1e4);
      const double slope = share * std::atan(0.3);
      scene.options.gravity = kGravity * Vec3(std::sin(slope), 0, -std::cos(slope));
      Simulation run(scene, dt, law);
      const std::shared_ptr<Rod> rod = add(rope_at(-0.5, 0, depth_at_rest(flat, 1e4), flat), &run);
      run.go(0.2);
      const double speed = mean_speed(*rod, run.state);
      const double expected = 0.2 * kGravity * (std::sin(slope) - 0.3 * std::cos(slope));
      if (share < 1) {
        EXPECT_LT(std::abs(speed), 1e-4);
      } else {
        EXPECT_NEAR(speed, expected, 0.012 * expected);
      }
    }
  });
}

// A rope half around a post of 180 facets, pulled along at 20 um a step, as RodStep.TheCapstanHoldsExpMuPhi
// has it for a cylinder. Each corner that passes moves the tensions by 1 %; the mean counts.
TEST(RodSurfaces, TheCapstanHoldsOnAPostOfFacets) {
  constexpr double kPost = 0.03, kRope = 1e-4, kFriction = 0.2;
  constexpr int kTurns = 40, kLast = kTurns + 25;
  RodSpec spec;
  const double R = kPost + kRope, angle = kPi / kTurns, half = R * std::tan(0.5 * angle);
  for (int k = 12; k > 0; --k) spec.nodes.push_back({-R, -(2 * k + 1) * half, 0});
  for (int k = 0; k <= kTurns + 1; ++k) {
    const double a = (k - 0.5) * angle, r = R / std::cos(0.5 * angle);
    spec.nodes.push_back({-r * std::cos(a), r * std::sin(a), 0});
  }
  for (int k = 1; k <= 12; ++k) spec.nodes.push_back({R, -(2 * k + 1) * half, 0});
  spec.section.width = 2 * kRope;
  spec.young_modulus = 3e9;
  spec.density = 1e5;
  spec.pinned_nodes = {kLast};
  const double expected = std::exp(kFriction * kPi * kPost / R);
  const Mesh mesh = make_tube(kPost, 0.05, 180);
  for (const bool grid : {false, true}) {
    for (const ContactLaw law : kBoth) {
      for (const double dt : kSteps) {
        if (grid && dt != 0.005) continue;  // the triangles of the same mesh
        Scene scene = floor_of("none", kFriction, 1e5);
        scene.options.gravity.setZero();
        scene.shapes = {make_shape("post", kWorld,
                                   grid ? Shape(SignedDistanceMesh{mesh, 64}) : Shape(SurfaceMesh{mesh}))};
        Simulation run(scene, dt, law);
        const std::shared_ptr<Rod> rod = add(spec, &run);
        run.input.generalized_force = VecX::Zero(run.model.num_velocities());
        run.input.generalized_force[1] = -1;  // [N]
        run.state.v[4 * kLast + 1] = -2e-5 / dt;
        run.go(100 * dt);
        double ratio = 0;
        for (int i = 0; i < 100; ++i) {
          run.go(dt);
          ratio += rod->tension(run.state.q, rod->num_edges() - 1) / rod->tension(run.state.q, 0) / 100;
        }
        EXPECT_NEAR(ratio, expected, 0.006 * expected)
            << kContactLawNames[static_cast<int>(law)] << " " << dt;
      }
    }
  }
}

// Weights of 0.2 and 0.3 kg on a wire that runs over a fixed peg without friction: g / 5, on a peg of 360
// facets as on a cylinder. Its normals were those of where it came from (problem/assemble_lean.cc): then it
// had 5, 12 and 25 % less at 1, 2 and 5 ms.
TEST(RodSurfaces, AWireRunsOverAPegOfFacets) {
  Scene scene = scene_of(R"(
materials: [{name: default, friction: 0}]
bodies:
  - {name: light, position: [-0.0501, 0, -0.4], joint: free, shape: {type: sphere, radius: 0.02, mass: 0.2, collides: false}}
  - {name: heavy, position: [0.0501, 0, -0.4], joint: free, shape: {type: sphere, radius: 0.02, mass: 0.3, collides: false}}
shapes: [{type: cylinder, name: peg, radius: 0.05, length: 0.05, rpy_deg: [90, 0, 0]}]
rods:
  - name: wire
    points: [[-0.0501, 0, -0.4], [-0.0501, 0, 0.0501], [0.0501, 0, 0.0501], [0.0501, 0, -0.4]]
    rounding: 0.0501
    edges: 120
    diameter: 0.0002
    young_modulus: 2e10
    density: 7800
    damping: {beta: 0.02}
    rest: straight
    attach: [{node: first, body: light}, {node: last, body: heavy}]
)");
  for (ShapeInstance& shape : scene.shapes) {
    if (shape.name == "peg") shape.shape = SurfaceMesh{make_tube(0.05, 0.025, 360)};
  }
  for (const double dt : {0.001, 0.002, 0.005}) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(0.1);
    const double before = run.state.v[8];
    run.go(0.2);
    EXPECT_NEAR(-(run.state.v[8] - before) / 0.2, kGravity / 5, 0.03 * kGravity / 5) << dt;
  }
}

const char* const kIce = "options: {gravity: [0, 0, 0]}\nmaterials: [{name: default, friction: 0}]\n";
double mass_of_rope() {
  return 1000 * 0.25 * kPi * 1e-4 * 0.4;
}  // of the next two

// A bar on a rail pushes a rope sideways with 1 N: both have 1 N / (M + m), the rope takes its share.
TEST(RodSurfaces, ALinkFeelsTheInertiaOfTheRopeItPushes) {
  for (const ContactLaw law : kBoth) {
    for (const double dt : kSteps) {
      Simulation run(scene_of(std::string(kIce) + R"(
bodies:
  - name: bar
    joint: {type: prismatic, axis: [0, 1, 0]}
    shape: {type: box, size: [0.6, 0.02, 0.04], mass: 0.1}
rods: [{name: rope, line: {from: [-0.2, 0.0151, 0], to: [0.2, 0.0151, 0]}, edges: 20, diameter: 0.01, young_modulus: 1e7, density: 1000}]
)"),
                     dt, law);
      run.input.generalized_force = VecX::Zero(run.model.num_velocities());
      run.input.generalized_force[0] = 1;
      run.go(0.1);
      const double before = run.state.v[0], m = mass_of_rope();
      run.go(0.3);
      EXPECT_NEAR((run.state.v[0] - before) / 0.3, 1 / (0.1 + m), 1e-4 / (0.1 + m)) << dt;
      EXPECT_NEAR(force_on_rope(run).y(), m / (0.1 + m), 1e-3 * m) << dt;
    }
  }
}

// A hinged arm with a torque of 0.1 N m sweeps a rope along: the angular momentum of both about the hinge is
// torque times time, and an eighth of it the rope's.
TEST(RodSurfaces, AnArmSweepsARope) {
  for (const ContactLaw law : kBoth) {
    for (const double dt : kSteps) {
      Simulation run(scene_of(std::string(kIce) + R"(
bodies:
  - name: arm
    joint: {type: revolute, axis: [0, 0, 1]}
    shape: {type: box, size: [0.6, 0.02, 0.04], position: [0.3, 0, 0], mass: 0.2}
rods: [{name: rope, line: {from: [0.1, 0.0151, 0], to: [0.5, 0.0151, 0]}, edges: 20, diameter: 0.01, young_modulus: 1e7, density: 1000}]
)"),
                     dt, law);
      run.input.generalized_force = VecX::Zero(run.model.num_velocities());
      run.input.generalized_force[0] = 0.1;
      run.go(0.4);
      const int object = find_rods(run.model)[0];
      const Object& own = run.model.objects[object];
      const double rope = rod_of(run.model, object)
                              .calc_momentum(run.state.q.segment(own.q_begin, own.num_positions()),
                                             run.state.v.segment(own.dof_begin, own.num_dofs()))[2];
      const double inertia = 0.2 * ((0.36 + 4e-4) / 12 + 0.09);
      EXPECT_NEAR(rope + inertia * run.state.v[0], 0.04, 5e-5 * 0.04) << dt;
      EXPECT_NEAR(rope / 0.04, 0.1263, 1e-3) << dt;
    }
  }
}

// A rope hangs over the arm of a motor, which lifts it: held still, the motor has the moment of the arm and
// of the rope about the hinge.
TEST(RodSurfaces, AnArmLiftsARope) {
  for (const ContactLaw law : kBoth) {
    for (const double dt : kSteps) {
      Simulation run(scene_of(R"(
materials: [{name: default, friction: 0.8}]
bodies:
  - name: arm
    position: [0, 0, 0.3]
    joint: {name: hinge, type: revolute, axis: [0, -1, 0]}
    shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.6, 0, 0], mass: 0.2}
actuators: [{name: motor, type: pd, joint: hinge, stiffness: 2000, damping: 50}]
rods: [{name: rope, points: [[0.4, -0.15, 0.1], [0.4, -0.015, 0.312], [0.4, 0.015, 0.312], [0.4, 0.15, 0.1]], edges: 20, diameter: 0.004, young_modulus: 1e6, density: 1000, damping: {alpha: 3, beta: 0.01}, rest: straight}]
)"),
                     dt, law);
      const Object& own = run.model.objects[find_rods(run.model)[0]];
      const Rod& rod = rod_of(run.model, find_rods(run.model)[0]);
      const auto expect_carried = [&](double target) {
        Vec3 moment;
        const double mass = rod.calc_mass(run.state.q.segment(own.q_begin, own.num_positions()), &moment);
        const double q = run.state.q[0], torque = kGravity * (0.2 * 0.3 * std::cos(q) + moment.x());
        EXPECT_NEAR(2000 * (target - q), torque, 2e-3 * torque) << dt << " " << target;
        EXPECT_NEAR(force_on_rope(run).z(), mass * kGravity, 0.02 * mass * kGravity) << dt << " " << target;
        return moment.z() / mass;
      };
      run.go(1);
      const double before = expect_carried(0);
      const int steps = static_cast<int>(std::lround(1 / dt));
      for (int i = 1; i <= steps; ++i) {
        run.state.control[0] = 0.15 * (1 - std::cos(kPi * i / steps));
        run.go(dt);
      }
      run.go(1);
      EXPECT_GT(expect_carried(0.3), before + 0.1) << dt;
    }
  }
}

}  // namespace
}  // namespace capstan::rod_surfaces_test
