// Soft bodies that touch each other over patches: against the fields of rigid boxes, and against arithmetic.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "capstan/model/add_soft_body.h"
#include "capstan/scene/soft_body.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::soft_on_soft_test {
namespace {

using namespace test;

constexpr double kSide = 0.1;  // [m] of a cube

Material patch_material(const std::string& name, double modulus, double friction = 0.5) {
  Material m;
  m.name = name;
  m.contact = ContactModel::patch;
  m.elastic_modulus = modulus;
  m.friction = friction;
  return m;
}

SoftBodySpec soft_cube(const std::string& name, double side, int cells, double young_modulus,
                       const Vec3& position, const std::string& material) {
  SoftBodySpec spec;
  spec.name = name;
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets(Vec3::Constant(side), {cells, cells, cells}));
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = 0;
  spec.density = 1000;
  spec.pose.position = position;
  spec.material = material;
  return spec;
}

struct Wrench {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // on what is above, about the origin
  double area = 0, stiffness = 0;
};

Wrench calc_wrench(const Model& model) {
  Placement placement = make_placement(model);
  calc_placement(model, initial_state(model).q, &placement);
  Contacts c;
  collide_all_pairs(model, placement, &c);
  Wrench sum;
  for (int i = 0; i < c.size(); ++i) {
    const double f = c.material[i].stiffness * std::max(0.0, -c.distance[i]);
    if (!(f > 0)) continue;
    EXPECT_GT(c.material[i].area, 0);
    const double sign = c.normal[i].z() > 0 ? 1 : -1;
    sum.force += sign * f * c.normal[i];
    sum.moment += sign * f * cross(c.p_WC[i], c.normal[i]);
    sum.area += c.material[i].area;
    sum.stiffness += c.material[i].stiffness;
  }
  return sum;
}

// The plain twin: two cubes of finite elements at rest have the patch of two boxes with the same moduli.
TEST(SoftOnSoft, CubesAtRestHaveThePatchOfBoxes) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 20; ++trial) {
    // The small one overlaps the upper face of the large one, away from its edges.
    const double small = 0.04, depth = 0.001 + 0.0005 * uniform(random);
    const Vec3 where(0.02 * uniform(random), 0.02 * uniform(random), kSide / 2 + small / 2 - depth);
    Scene scene;
    scene.materials = {patch_material("lower", 1e5), patch_material("upper", trial % 2 == 0 ? 1e5 : 4e5)};
    Scene rigid = scene;
    scene.soft_bodies = {soft_cube("lower", kSide, 4, 1e5, Vec3::Zero(), "lower"),
                         soft_cube("upper", small, 2, 1e5, where, "upper")};
    if (trial % 4 >= 2) std::swap(scene.soft_bodies[0], scene.soft_bodies[1]);
    rigid.bodies = {free_body("upper", where)};
    rigid.shapes = {make_shape("upper", "upper", Box{Vec3::Constant(small / 2)}, 1),
                    make_shape("lower", kWorld, Box{Vec3::Constant(kSide / 2)})};
    for (ShapeInstance& shape : rigid.shapes) shape.material = shape.name;
    const Wrench soft = calc_wrench(compile(scene)), plain = calc_wrench(compile(rigid));
    // Both are pressed in as their springs in series are; within that of its rim the upper one's sides are
    // nearer, which have a pressure of boxes (half of it, on average) and none here.
    const double g_lower = 1e5 / calc_depth(*scene.soft_bodies[trial % 4 >= 2 ? 1 : 0].mesh),
                 g_upper = scene.materials[1].elastic_modulus / (small / 2);
    const double inset = depth * g_lower / (g_lower + g_upper), inner = std::pow(small - 2 * inset, 2);
    const double rim = (small * small - inner) / inner;
    EXPECT_NEAR(soft.area, inner, 1e-3 * inner) << trial;
    EXPECT_NEAR(soft.force.z(), g_upper * inset * inner, 1e-3 * soft.force.z()) << trial;
    EXPECT_LT(soft.force.head<2>().norm(), 1e-9 * soft.force.z()) << trial;
    EXPECT_NEAR(soft.stiffness, inner * g_lower * g_upper / (g_lower + g_upper), 1e-3 * soft.stiffness)
        << trial;
    EXPECT_LT((soft.force - plain.force).norm(), (0.5 * rim + 0.01) * soft.force.norm()) << trial;
    EXPECT_LT((soft.moment - plain.moment).norm(), (0.5 * rim + 0.01) * soft.moment.norm()) << trial;
  }
}

// In any pose: the same forces for both, whichever body comes first.
TEST(SoftOnSoft, SwappingBodiesChangesNothing) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int touched = 0;
  for (int trial = 0; trial < 10; ++trial) {
    Scene scene;
    scene.materials = {patch_material("a", 1e5), patch_material("b", 3e5)};
    SoftBodySpec a = soft_cube("a", kSide, 2, 1e5, Vec3::Zero(), "a");
    SoftBodySpec b = soft_cube("b", kSide, 3, 1e5, Vec3(0.01, 0.02, 0.115), "b");
    b.pose.quat_wxyz = Vec4(1, 0.2 * uniform(random), 0.2 * uniform(random), uniform(random)).normalized();
    scene.soft_bodies = {a, b};
    const Wrench one = calc_wrench(compile(scene));
    scene.soft_bodies = {b, a};
    const Wrench other = calc_wrench(compile(scene));
    touched += one.force.norm() > 0 ? 1 : 0;
    EXPECT_LT((one.force - other.force).norm(), 1e-9 * one.force.norm() + 1e-12) << trial;
    EXPECT_LT((one.moment - other.moment).norm(), 1e-9 * one.force.norm() * kSide + 1e-12) << trial;
    EXPECT_NEAR(one.area, other.area, 1e-9 * one.area) << trial;
  }
  EXPECT_GE(touched, 3);
}

Scene on_floor(double modulus, double friction) {
  Scene scene;
  scene.materials = {patch_material("gel", modulus, friction), patch_material("floor", kInfinity, friction)};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{})};
  scene.shapes[0].material = "floor";
  return scene;
}

struct Sum {
  double force = 0, area = 0, moment = 0;
  double depth() const { return -moment / force; }
};

// Of the contacts of the floor, and of those between the cubes.
std::array<Sum, 2> sum_forces(const Workspace& workspace) {
  std::vector<ContactForce> forces;
  calc_contact_forces(workspace, &forces);
  std::array<Sum, 2> sums;
  for (const ContactForce& f : forces) {
    if (f.normal_force <= 0) continue;
    Sum& sum = sums[f.shape_a == 0 ? 0 : 1];
    sum.force += f.normal_force;
    sum.area += f.area;
    sum.moment += f.normal_force * f.distance;
  }
  return sums;
}

// Two springs E A / H in series carry the upper cube.
TEST(SoftOnSoft, ACubeStandsOnACube) {
  const double modulus = 1e5, weight = 1000 * kSide * kSide * kSide * kGravity;
  for (const int cells : {2, 3}) {
    Scene scene = on_floor(modulus, 0.5);
    scene.soft_bodies = {soft_cube("lower", kSide, 2, 3e7, Vec3(0, 0, 0.0490), "gel"),
                         soft_cube("upper", kSide, cells, 3e7, Vec3(0, 0, 0.1480), "gel")};
    for (SoftBodySpec& body : scene.soft_bodies) body.beta = 0.005;
    Simulation run(scene, 0.005, ContactLaw::regularized_lagged);
    run.go(2);
    const auto [floor, between] = sum_forces(run.workspace);
    EXPECT_NEAR(floor.force, 2 * weight, 1e-3 * weight);
    EXPECT_NEAR(between.force, weight, 1e-3 * weight);
    const double H_lower = calc_depth(*scene.soft_bodies[0].mesh),
                 H_upper = calc_depth(*scene.soft_bodies[1].mesh);
    double side = kSide, pressure = 0;  // what of the rim is nearer to the side faces of either is theirs
    for (int i = 0; i < 20; ++i) {
      pressure = weight / (side * side);
      side = kSide - 2 * pressure / modulus * std::max(H_lower, H_upper);
    }
    EXPECT_NEAR(between.area, side * side, 2e-3 * side * side) << cells;
    const double depth = pressure * (H_lower + H_upper) / modulus;
    EXPECT_NEAR(between.depth(), depth, 2e-3 * depth) << cells;
    EXPECT_LT(run.state.v.norm(), 1e-3);
  }
}

// Without gravity: what two cubes and their spins have stays when they hit each other askew.
TEST(SoftOnSoft, ImpactsKeepMomentum) {
  for (const double dt : {0.001, 0.005}) {
    Scene scene;
    scene.options.gravity.setZero();
    scene.materials = {patch_material("gel", 1e6)};
    SoftBodySpec a = soft_cube("a", kSide, 3, 1e5, Vec3::Zero(), "gel"),
                 b = soft_cube("b", kSide, 2, 1e5, Vec3(0.02, 0.03, 0.13), "gel");
    b.velocity = Vec3(0.1, 0, -0.5);
    b.angular_velocity = Vec3(0.5, 1, 2);
    scene.soft_bodies = {a, b};
    Simulation run(scene, dt, ContactLaw::coulomb);
    const auto first = calc_mechanics(run.model, run.state);
    bool has_patch = false;
    double most_energy = 0;
    for (double t = 0; t < 0.2; t += dt) {
      run.go(dt);
      has_patch = has_patch || sum_forces(run.workspace)[1].area > 0;
      const auto now = calc_mechanics(run.model, run.state);
      ASSERT_LT((now.momentum.tail<3>() - first.momentum.tail<3>()).norm(), 1e-12) << t;
      ASSERT_LT((now.momentum.head<3>() - first.momentum.head<3>()).norm(), 1e-9) << t;
      most_energy = std::max(most_energy, now.total());
    }
    EXPECT_TRUE(has_patch);
    EXPECT_LT(most_energy, 1.001 * first.total());
  }
}

TEST(SoftOnSoft, SticksAndSlidesAsCoulombTells) {
  const double mu = 0.5;
  for (const double slope : {0.4, 0.6}) {
    Scene scene;
    scene.materials = {patch_material("gel", 1e6, mu)};
    const double angle = std::atan(slope);
    scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
    scene.soft_bodies = {soft_cube("lower", 2 * kSide, 2, 1e7, Vec3(0, 0, -kSide), "gel"),
                         soft_cube("upper", kSide, 2, 1e6, Vec3(-0.03, 0.01, 0.0499), "gel")};
    SoftRegion all;
    all.half_size.setConstant(1);
    scene.soft_bodies[0].fixed = {all};
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    const Object& upper = run.model.objects[find_soft_bodies(run.model)[1]];
    const auto momentum = [&] {
      return upper.physics->calc_momentum(run.state.q.segment(upper.q_begin, upper.num_positions()),
                                          run.state.v.segment(upper.dof_begin, upper.num_dofs()))[3];
    };
    run.go(0.2);
    const double before = momentum();
    run.go(0.1);
    const double wanted = std::max(0.0, std::sin(angle) - mu * std::cos(angle)) * kGravity * 0.1;  // of 1 kg
    const double friction = mu * std::cos(angle) * kGravity * 0.1;
    EXPECT_NEAR(momentum() - before, wanted, (slope < mu ? 3e-3 : 0.02) * friction) << slope;
  }
}

struct Outcome {
  double speed = 0;  // [m/s] of the first body along x, at the end
  double rise = 0;   // of the energy in a step, of that at the beginning
  int contacts = 0;  // at the end
};

Outcome hit(Scene scene, double dt) {
  scene.options.gravity.setZero();
  scene.materials = {patch_material("gel", 1e6), patch_material("wall", kInfinity)};
  Simulation run(scene, dt, ContactLaw::coulomb);
  const auto energy = [&] {
    double sum = calc_mechanics(run.model, run.state).kinetic;
    for (const int i : find_soft_bodies(run.model)) {
      const Object& o = run.model.objects[i];
      sum += o.physics->calc_elastic_energy(run.state.q.segment(o.q_begin, o.num_positions()));
    }
    return sum;
  };
  const double first = energy();
  double last = first;
  Outcome outcome;
  for (double t = 0; t < 0.1; t += dt) {
    run.go(dt);
    outcome.rise = std::max(outcome.rise, (energy() - last) / first);
    last = energy();
  }
  outcome.contacts = run.report.contacts;
  const Object& o = run.model.objects[find_soft_bodies(run.model)[0]];
  Vec3 moment;
  outcome.speed = o.physics->calc_momentum(run.state.q.segment(o.q_begin, o.num_positions()),
                                           run.state.v.segment(o.dof_begin, o.num_dofs()))[3] /
                  o.physics->calc_mass(run.state.q.segment(o.q_begin, o.num_positions()), &moment);
  return outcome;
}

SoftBodySpec flying(SoftBodySpec body, double speed) {
  body.poisson_ratio = 0.4;
  body.velocity.x() = speed;
  return body;
}

// A ball that hits its mirror image leaves as off a wall, which the plane between them is; the wall's contact
// dissipates a little more, since the gap closes in half the speed and the depth.
TEST(SoftOnSoft, TwoBallsPartAsOffAWall) {
  const auto ball = [](const std::string& name, double x, double speed) {
    SoftBodySpec body = soft_cube(name, kSide, 1, 5e4, Vec3(x, 0, 0), "gel");
    body.mesh = std::make_shared<const TetMesh>(make_ball_tets(0.05, 6));
    return flying(body, speed);
  };
  for (const auto& [speed, dt] : {std::pair(1.0, 0.001), std::pair(1.0, 0.005)}) {
    Scene wall, mirror;
    wall.shapes = {make_shape("wall", kWorld, HalfSpace{})};
    wall.shapes[0].material = "wall";
    wall.shapes[0].pose.quat_wxyz = Vec4(std::sqrt(0.5), 0, -std::sqrt(0.5), 0);
    wall.soft_bodies = {ball("a", -0.055, speed)};
    mirror.soft_bodies = {ball("a", -0.055, speed), ball("b", 0.055, -speed)};
    const Outcome one = hit(wall, dt), two = hit(mirror, dt);
    EXPECT_LT(one.speed, -0.4 * speed) << dt;
    EXPECT_NEAR(two.speed, one.speed, 0.07 * speed) << dt;
    EXPECT_LT(std::max(one.rise, two.rise), 1e-3) << dt;
  }
}

// Corners, edges and faces of cubes on each other.
TEST(SoftOnSoft, WhatHitsPartsAndGainsNothing) {
  for (const Vec4& turn : {Vec4(1, 0, 0, 0), Vec4(0.9, 0, 0, 0.4), Vec4(0.9, 0.1, 0.3, 0.3)}) {
    for (const double dt : {0.001, 0.005}) {
      Scene scene;
      scene.soft_bodies = {flying(soft_cube("a", kSide, 3, 5e4, Vec3(-0.08, 0, 0), "gel"), 0.7),
                           flying(soft_cube("b", kSide, 3, 5e4, Vec3(0.08, 0.01, 0.02), "gel"), -0.7)};
      scene.soft_bodies[1].pose.quat_wxyz = turn.normalized();
      const Outcome outcome = hit(scene, dt);
      EXPECT_EQ(outcome.contacts, 0) << turn.transpose() << " " << dt;
      EXPECT_LT(outcome.speed, 0) << turn.transpose() << " " << dt;
      EXPECT_LT(outcome.rise, 1e-3) << turn.transpose() << " " << dt;
    }
  }
}

// A body touches itself at points, and so do two of which one alone asks for patches.
TEST(SoftOnSoft, PointsWhereNotBothAskForPatches) {
  for (const bool both : {true, false}) {
    Scene scene;
    scene.materials = {patch_material("gel", 1e6)};
    scene.soft_bodies = {soft_cube("a", kSide, 2, 1e5, Vec3::Zero(), "gel"),
                         soft_cube("b", kSide, 2, 1e5, Vec3(0, 0, kSide - 0.0005), "gel")};
    scene.soft_bodies[0].self_contact = true;
    if (!both) scene.soft_bodies[1].contact = ContactModel::point;
    const Model model = compile(scene);
    Placement placement = make_placement(model);
    calc_placement(model, initial_state(model).q, &placement);
    Contacts c;
    collide_all_pairs(model, placement, &c);
    ASSERT_GT(c.size(), 0);
    for (int i = 0; i < c.size(); ++i) {
      EXPECT_EQ(c.material[i].area > 0, both);
      EXPECT_NE(model.shapes[c.shape_a[i]].collider.solid, model.shapes[c.shape_b[i]].collider.solid);
    }
  }
}

// In an impact, too: a ball and a cube, whose contacts are found ahead of touch, for the end of the step.
TEST(SoftOnSoft, SwappingBodiesChangesNoImpact) {
  for (const auto& [dt, gap] : {std::pair(0.002, 0.0026), std::pair(0.002, 0.014), std::pair(0.01, 0.0026)}) {
    Scene scene;
    SoftBodySpec ball = soft_cube("ball", kSide, 1, 1e5, Vec3(-0.07 - gap / 2, 0, 0), "gel");
    ball.mesh = std::make_shared<const TetMesh>(make_ball_tets(0.05, 6));
    ball = flying(ball, 2);
    const SoftBodySpec cube =
        flying(soft_cube("cube", kSide, 4, 1e5, Vec3(0.07 + gap / 2, 0, 0.02), "gel"), -2);
    scene.options.gravity.setZero();
    scene.materials = {patch_material("gel", 1e6)};
    const auto momenta = [&](bool swaps) {
      scene.soft_bodies = {swaps ? cube : ball, swaps ? ball : cube};
      Simulation run(scene, dt, ContactLaw::coulomb);
      do run.go(dt);
      while (sum_forces(run.workspace)[1].force == 0 && run.state.time < 0.1);
      const Object& o = run.model.objects[find_soft_bodies(run.model)[swaps ? 1 : 0]];
      Vec6 p = o.physics->calc_momentum(run.state.q.segment(o.q_begin, o.num_positions()),
                                        run.state.v.segment(o.dof_begin, o.num_dofs()));
      p[3] -= 2 * 0.5073;  // of the ball, before
      return p;
    };
    const Vec6 one = momenta(false), other = momenta(true);
    EXPECT_LT(one[3], -0.003) << dt << " " << gap;
    EXPECT_LT((one - other).norm(), 1e-6 * one.norm()) << dt << " " << gap;
  }
}

// Blocks that touch by round-off and fall together: impulses are round-off, too, and no residual may be
// relative to these alone.
TEST(SoftOnSoft, BlocksThatTouchExactlyFallTogether) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::similar}) {
    Scene scene;
    scene.materials = {patch_material("gel", 1e6)};
    for (const double z : {0.165, 0.215, 0.265}) {
      scene.soft_bodies.push_back(soft_cube(fmt::format("at {}", z), kSide, 3, 1e5, Vec3(0, 0, z), "gel"));
      scene.soft_bodies.back().mesh =
          std::make_shared<const TetMesh>(make_box_tets(Vec3(kSide, kSide, 0.05), {3, 3, 2}));
    }
    Simulation run(scene, 0.005, law);
    run.go(0.05);  // fails where a step does
    for (int i = 0; i < run.model.num_velocities(); ++i)
      ASSERT_NEAR(run.state.v[i], i % 3 == 2 ? -0.05 * kGravity : 0, 1e-9) << i;
  }
}

// A stranger's stack, whose sides are in line: sides at right angles overlapped by the sliver that the blocks
// sink in, were as deep there as a block is wide, and threw the stack apart; with other blocks the program
// ended.
TEST(SoftOnSoft, BlocksInLineStandOnEachOther) {
  for (const double gap : {0.0, 0.001}) {
    std::string text = R"(
materials: [{name: gel, contact: patch, elastic_modulus: 1e6, friction: 0.5}]
soft_bodies:
  - name: low
    box: {size: [0.3, 0.12, 0.04], cells: [6, 3, 1]}
    position: [0, 0, 0.02]
    young_modulus: 1e5
    density: 1000
    damping: {beta: 0.01}
    material: gel
    fixed: [{box: {centre: [0, 0, -0.02], size: [1, 1, 0.001]}}]
)";
    for (int i = 0; i < 3; ++i)
      text += fmt::format(R"(
  - name: block{}
    box: {{size: [0.1, 0.1, 0.05], cells: [3, 3, 2]}}
    position: [0, 0, {}]
    young_modulus: 1e5
    density: 1000
    damping: {{beta: 0.01}}
    material: gel
)",
                          i, 0.065 + 0.05 * i + gap * (i + 1));
    Simulation s(scene_of(text), 0.005, ContactLaw::coulomb);
    double energy = calc_mechanics(s.model, s.state).total();
    const double start = energy;
    while (s.state.time < 0.5) {
      s.go(0.005);
      const double now = calc_mechanics(s.model, s.state).total();
      EXPECT_LT(now, energy + 1e-3 * start) << s.state.time;
      energy = now;
    }
    double load = 0;
    std::vector<ContactForce> forces;
    calc_contact_forces(s.workspace, &forces);
    for (const ContactForce& f : forces) {
      const bool a = s.model.shapes[f.shape_a].name.starts_with("low"),
                 b = s.model.shapes[f.shape_b].name.starts_with("low");
      if (a != b) load += (a ? 1 : -1) * f.force_W().z();
    }
    EXPECT_NEAR(load, 3 * 0.5 * 9.81, 0.1 * 3 * 0.5 * 9.81) << gap;
  }
}

}  // namespace
}  // namespace capstan::soft_on_soft_test
