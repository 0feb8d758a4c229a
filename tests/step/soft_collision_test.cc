// Soft bodies that hit each other: none hooks into the other, and what hits its mirror image leaves as off a
// wall.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "capstan/geometry/collide.h"
#include "capstan/model/add_soft_body.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan {
namespace {

using namespace test;

Scene flight(const std::string& text) {
  return scene_of("options: {gravity: [0, 0, 0]}\nmaterials: [{name: m, friction: 0.5}]\n" + text);
}

std::string solid(const char* form, const std::string& name, double x, double vx, const std::string& more) {
  return fmt::format(
      "  - {{name: {}, {}, position: [{}, 0, 0], young_modulus: 5e4, poisson_ratio: 0.4, "
      "density: 1000, velocity: [{}, 0, 0], material: m{}}}\n",
      name, form, x, vx, more);
}

std::string ball(const std::string& name, double x, double vx, const std::string& more = "") {
  return solid("ball: {radius: 0.05, cells: [6]}", name, x, vx, more);
}

std::string cube(const std::string& name, double x, double vx, const std::string& more = "") {
  return solid("box: {size: [0.1, 0.1, 0.1], cells: [4, 4, 4]}", name, x, vx, more);
}

struct Outcome {
  double speed = 0;  // [m/s] of the first body, along x
  double rise = 0;   // of all energy above the least it had before, of the first
  double depth = 0;  // [m]
  int contacts = 0;  // at the end
};

Outcome hit(const std::string& text, double dt, double seconds,
            Integrator integrator = Integrator::semi_implicit) {
  Simulation run(flight(text), dt, ContactLaw::coulomb);
  run.options.integrator = integrator;
  const std::vector<int> bodies = find_soft_bodies(run.model);
  const auto q = [&](const Object& o) { return run.state.q.segment(o.q_begin, o.num_positions()); };
  const auto v = [&](const Object& o) { return run.state.v.segment(o.dof_begin, o.num_dofs()); };
  const auto energy = [&] {
    double sum = 0;
    for (const int i : bodies) {
      const Object& o = run.model.objects[i];
      sum += o.physics->calc_kinetic_energy(q(o), v(o)) + o.physics->calc_elastic_energy(q(o));
    }
    return sum;
  };
  const double first = energy();
  double least = first;
  Outcome outcome;
  for (double t = 0; t < seconds; t += dt) {
    run.go(dt);
    outcome.rise = std::max(outcome.rise, (energy() - least) / first);
    outcome.depth = std::max(outcome.depth, run.report.deepest);
    least = std::min(least, energy());
  }
  outcome.contacts = run.report.contacts;
  const Object& o = run.model.objects[bodies[0]];
  Vec3 moment;
  outcome.speed = o.physics->calc_momentum(q(o), v(o))[3] / o.physics->calc_mass(q(o), &moment);
  return outcome;
}

// At 0.3 m/s the poles of the balls swing through each other as these part; at 1 m/s the surfaces fold.
TEST(SoftCollision, TwoBallsPartAsOffAWall) {
  const std::string wall = "shapes: [{type: plane, z_axis: [-1, 0, 0], material: m}]\n";
  for (const auto& [speed, dt] :
       {std::pair(0.3, 0.0005), std::pair(0.3, 0.001), std::pair(1.0, 0.001), std::pair(1.0, 0.005)}) {
    SCOPED_TRACE(testing::Message() << speed << " m/s, " << dt << " s");
    const double seconds = 0.005 / speed + 0.085;
    const Outcome one = hit(wall + "soft_bodies:\n" + ball("a", -0.055, speed), dt, seconds);
    const Outcome two =
        hit("soft_bodies:\n" + ball("a", -0.055, speed) + ball("b", 0.055, -speed), dt, seconds);
    EXPECT_LT(one.speed, -0.4 * speed);
    EXPECT_NEAR(two.speed, one.speed, 0.04 * speed);
    EXPECT_LT(two.rise, 0.03);
  }
}

// Midpoint keeps the energy of a ball that bounces off a wall: what of it vibrates moves as the scheme has
// it.
TEST(SoftCollision, ABallKeepsItsEnergyWithMidpoint) {
  for (const double dt : {0.0005, 0.001, 0.002}) {
    const Outcome outcome =
        hit("shapes: [{type: plane, z_axis: [-1, 0, 0], material: m}]\nsoft_bodies:\n" + ball("a", -0.055, 1),
            dt, 0.09, Integrator::midpoint);
    EXPECT_LT(outcome.speed, -0.94) << dt;
    EXPECT_LT(outcome.rise, 0.01) << dt;
  }
}

// Turned against each other, balls and cubes, at their corners too.
TEST(SoftCollision, NothingIsPushedFromWithin) {
  const std::string turned = ", rpy_deg: [17, 31, 43]";
  for (const auto& [a, b] : {std::pair(ball("a", -0.06, 1), ball("b", 0.06, -1, turned)),
                             std::pair(cube("a", -0.06, 1), ball("b", 0.06, -1, turned)),
                             std::pair(cube("a", -0.08, 1), cube("b", 0.08, -1, ", rpy_deg: [0, 45, 20]"))}) {
    for (const double dt : {0.001, 0.005}) {
      SCOPED_TRACE(testing::Message() << a << b << dt);
      const Outcome outcome = hit("soft_bodies:\n" + a + b, dt, 0.15);
      EXPECT_EQ(outcome.contacts, 0);
      EXPECT_LT(outcome.rise, 0.01);
      EXPECT_LT(outcome.depth, 0.001);
    }
  }
}

// Of points in a cube, and around it, balls that are there touch the nearest of its faces and no other.
TEST(SoftCollision, ABallIsPushedOutOfTheNearestFace) {
  Simulation run(flight("soft_bodies:\n" + cube("a", 0, 0) + ball("b", 1, 0)), 0.001, ContactLaw::coulomb);
  const Placement& placement = run.workspace.motion.placement;
  run.go(0.001);
  const double radius = 0.0005;
  Collider point = make_collider(Sphere{radius});
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-0.052, 0.052);
  int inside = 0;
  for (int i = 0; i < 3000; ++i) {
    const Vec3 p(uniform(random), uniform(random), uniform(random));
    const double nearest = 0.05 - p.cwiseAbs().maxCoeff();  // below the surface, if it is in the cube
    std::vector<ContactPoint> points;
    for (const ModelShape& shape : run.model.shapes) {
      if (shape.part != SurfacePart::triangle || shape.collider.solid != run.model.shapes[0].collider.solid)
        continue;
      collide(point, {Mat3::Identity(), p}, placement.flexible[shape.flexible], placement.X_WL[shape.link], 0,
              &points);
    }
    if (nearest > 0 && nearest < 0.01) {
      ++inside;
      ASSERT_FALSE(points.empty()) << p.transpose();
    }
    for (const ContactPoint& c : points) {
      if (nearest > 0) {
        EXPECT_NEAR(c.distance, -nearest - radius, 1e-9) << p.transpose();
      } else {
        EXPECT_GT(c.distance, -radius) << p.transpose();
      }
    }
  }
  EXPECT_GT(inside, 500);
}

}  // namespace
}  // namespace capstan
