// Soft bodies that touch over patches: against the field of a rigid box, and against arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "capstan/math/rotation.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/scene/soft_body.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_patch_test {
namespace {

using namespace test;

constexpr double kSide = 0.1;  // [m] of the block

Material patch_material(const std::string& name, double modulus, double friction = 0.5) {
  Material m;
  m.name = name;
  m.contact = ContactModel::patch;
  m.elastic_modulus = modulus;
  m.friction = friction;
  return m;
}

SoftBodySpec soft_block(int cells, double young_modulus, const Vec3& position, const std::string& material) {
  SoftBodySpec spec;
  spec.name = "block";
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets(Vec3::Constant(kSide), {cells, cells, cells}));
  spec.young_modulus = young_modulus;
  spec.poisson_ratio = 0;
  spec.density = 1000;
  spec.pose.position = position;
  spec.material = material;
  return spec;
}

struct Wrench {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // about the origin
  double area = 0, stiffness = 0;
};

// What the patches of a placement do to the last body, at rest.
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
    const double sign = model.shapes[c.shape_b[i]].name == "ball" ? 1 : -1;
    sum.force += sign * f * c.normal[i];
    sum.moment += sign * f * cross(c.p_WC[i], c.normal[i]);
    sum.area += c.material[i].area;
    sum.stiffness += c.material[i].stiffness;
  }
  return sum;
}

// The plain twin: a block of finite elements at rest has the field of a rigid box with the same modulus.
TEST(SoftPatch, ABlockAtRestHasTheFieldOfABox) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 40; ++trial) {
    const bool compliant = trial % 2 == 1;
    const int kind = trial % 4 / 2;
    // A ball or a box that overlaps a face, away from the edges, where cells of a box meet.
    const Vec3 where(0.02 * uniform(random), 0.02 * uniform(random), 0);
    const double depth = 0.001 + 0.0005 * uniform(random), radius = 0.02;
    Scene scene;
    scene.materials = {patch_material("block", 1e5), patch_material("other", compliant ? 3e5 : kInfinity)};
    scene.bodies = {free_body("ball", where + Vec3(0, 0, kSide / 2 + radius - depth))};
    const Shape shape = kind == 0 ? Shape(Sphere{radius}) : Shape(Box{Vec3(0.013, 0.011, radius)});
    scene.shapes = {make_shape("ball", "ball", shape, 1)};
    scene.shapes[0].material = "other";
    Scene rigid = scene;
    scene.soft_bodies = {soft_block(4, 1e5, Vec3::Zero(), "block")};
    rigid.shapes.push_back(make_shape("box", kWorld, Box{Vec3::Constant(kSide / 2)}));
    rigid.shapes.back().material = "block";
    const Wrench soft = calc_wrench(compile(scene)), plain = calc_wrench(compile(rigid));
    ASSERT_GT(plain.force.norm(), 0.01);
    EXPECT_LT((soft.force - plain.force).norm(), 0.02 * plain.force.norm()) << trial;
    EXPECT_LT((soft.moment - plain.moment).norm(), 0.02 * plain.force.norm() * radius) << trial;
    // Where the sides of a box are in the block they press its triangles sideways, each by itself, and count;
    // of a rigid box, which has one normal, they do not: 4 sides of 1 mm of a face of 26 by 22 mm.
    EXPECT_NEAR(soft.area, plain.area, (kind == 1 ? 0.07 : 0.03) * plain.area) << trial;
    if (kind == 1) {
      EXPECT_NEAR(soft.stiffness, plain.stiffness, 0.03 * plain.stiffness) << trial;
    }
  }
}

Scene on_floor(double friction, double modulus) {
  Scene scene;
  scene.materials = {patch_material("gel", modulus, friction), patch_material("floor", kInfinity, friction)};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{})};
  scene.shapes[0].material = "floor";
  return scene;
}

TEST(SoftPatch, ABlockRestsAsDeepAsItsPressureTells) {
  const double modulus = 1e5, weight = 1000 * kSide * kSide * kSide * kGravity;
  for (const int cells : {1, 2, 4}) {
    Scene scene = on_floor(0.5, modulus);
    scene.soft_bodies = {soft_block(cells, 1e6, Vec3(0, 0, 0.0498), "gel")};
    Simulation run(scene, 0.005, ContactLaw::regularized_lagged);
    run.go(2);
    std::vector<ContactForce> forces;
    calc_contact_forces(run.workspace, &forces);
    double force = 0, area = 0, moment = 0;
    for (const ContactForce& f : forces) {
      if (f.normal_force <= 0) continue;
      force += f.normal_force;
      area += f.area;
      moment += f.normal_force * f.distance;
    }
    EXPECT_NEAR(force, weight, 1e-3 * weight);
    EXPECT_NEAR(area, kSide * kSide, 1e-3 * kSide * kSide);  // its rim is that of the sides, whose cells
                                                             // press as the floor lies
    // Uniform strain but for the corners: E A d / H = m g.
    const double depth = calc_depth(*scene.soft_bodies[0].mesh);
    if (cells > 1) {
      EXPECT_NEAR(depth, kSide / 2, 1e-12);
    }
    EXPECT_NEAR(-moment / force, weight * depth / (modulus * kSide * kSide), 0.03 * 5e-4) << cells;
  }
}

TEST(SoftPatch, SticksAndSlidesAsCoulombTells) {
  const double mu = 0.5;
  for (const double slope : {0.4, 0.6}) {
    Scene scene = on_floor(mu, 1e6);
    const double angle = std::atan(slope);
    scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
    scene.soft_bodies = {soft_block(2, 1e6, Vec3(0, 0, 0.04999), "gel")};
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    const auto momentum = [&] {
      return run.model.objects[0].physics->calc_momentum(run.state.q, run.state.v)[3];
    };
    run.go(0.2);
    const double before = momentum();
    run.go(0.3);
    const double wanted = std::max(0.0, std::sin(angle) - mu * std::cos(angle)) * kGravity * 0.3;  // of 1 kg
    const double friction = mu * std::cos(angle) * kGravity * 0.3;
    EXPECT_NEAR(momentum() - before, wanted, (slope < mu ? 2e-3 : 0.01) * friction);
  }
}

// What flies into a soft block without gravity: momentum stays.
TEST(SoftPatch, ImpactsKeepMomentum) {
  Scene scene = on_floor(0.5, 1e6);
  scene.options.gravity.setZero();
  scene.shapes.clear();
  scene.bodies = {free_body("ball", Vec3(0.01, -0.005, 0.1))};
  scene.shapes = {make_shape("ball", "ball", Sphere{0.04}, 0.5)};
  scene.shapes[0].material = "floor";
  scene.soft_bodies = {soft_block(3, 1e5, Vec3::Zero(), "gel")};
  Simulation run(scene, 0.002, ContactLaw::regularized_lagged);
  run.state.v.head<3>() = Vec3(0.3, 0, -1);
  bool has_patch = false;
  for (int i = 0; i < 100; ++i) {
    run.go(0.002);
    std::vector<ContactForce> forces;
    calc_contact_forces(run.workspace, &forces);
    for (const ContactForce& f : forces) has_patch = has_patch || (f.area > 0 && f.normal_force > 0);
    const Vec6 momentum = calc_mechanics(run.model, run.state).momentum;
    ASSERT_LT((momentum.tail<3>() - 0.5 * Vec3(0.3, 0, -1)).norm(), 1e-9) << i;
  }
  EXPECT_TRUE(has_patch);
  EXPECT_LT(run.state.v.head<3>().norm(), 1.04);  // nothing was gained
}

TEST(SoftPatch, ARigidBoxLiesOnASoftBlock) {
  Scene scene = on_floor(0.5, 1e6);
  scene.bodies = {free_body("lid", Vec3(0.005, 0, 0.0999 + 0.02))};
  scene.shapes.push_back(make_shape("lid", "lid", Box{Vec3(0.03, 0.03, 0.02)}, 2));
  scene.shapes[1].material = "floor";
  scene.soft_bodies = {soft_block(4, 1e5, Vec3(0, 0, 0.05), "gel")};
  scene.soft_bodies[0].beta = 0.02;
  Simulation run(scene, 0.005, ContactLaw::regularized_lagged);
  run.go(3);
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double on_lid = 0, on_floor = 0, area = 0;
  for (const ContactForce& f : forces) {
    const bool floor = f.shape_a == 0;
    (floor ? on_floor : on_lid) += f.normal_force;
    if (!floor && f.normal_force > 0) area += f.area;
  }
  EXPECT_NEAR(on_lid, 2 * kGravity, 0.01 * 2 * kGravity);
  EXPECT_NEAR(on_floor, 3 * kGravity, 0.01 * 3 * kGravity);
  EXPECT_NEAR(area, 0.06 * 0.06, 0.1 * 0.06 * 0.06);
  EXPECT_LT(run.state.v.norm(), 1e-2);
}

}  // namespace
}  // namespace capstan::soft_patch_test
