// Soft bodies that hit each other: none hooks into the other, and what hits its mirror image leaves as off a
// wall.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "capstan/dynamics/objects.h"
#include "capstan/dynamics/tree.h"
#include "capstan/geometry/collide.h"
#include "capstan/model/add_soft_body.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::soft_collision_test {
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

double energy_of(const Simulation& run) {
  double sum = 0;
  for (const int i : find_soft_bodies(run.model)) {
    const Object& o = run.model.objects[i];
    const VecX q = run.state.q.segment(o.q_begin, o.num_positions());
    Vec3 moment;
    o.physics->calc_mass(q, &moment);
    sum += o.physics->calc_kinetic_energy(q, run.state.v.segment(o.dof_begin, o.num_dofs())) +
           o.physics->calc_elastic_energy(q) - moment.dot(run.model.options.gravity);
  }
  return sum;
}

// Five bodies dropped between walls press each other so that their surfaces fold, and edges within faces get
// sharp and flat again. The pile rests. (Where edges had contacts from one bend on and none below it, its
// energy went up and down by 1.1e-3 J, for ever.)
TEST(SoftCollision, APileBetweenWallsComesToRest) {
  Simulation run(scene_of(R"(
materials: [{name: default, friction: 0.8}]
shapes:
  - {type: plane}
  - {type: plane, position: [-0.06, 0, 0], z_axis: [1, 0, 0]}
  - {type: plane, position: [0.06, 0, 0], z_axis: [-1, 0, 0]}
  - {type: plane, position: [0, -0.06, 0], z_axis: [0, 1, 0]}
  - {type: plane, position: [0, 0.06, 0], z_axis: [0, -1, 0]}
soft_bodies:
  - {name: b0, ball: {radius: 0.037, cells: [4]}, position: [-0.005, -0.012, 0.060],
     rpy_deg: [43.9, 80.4, 35.1], young_modulus: 100000,
     poisson_ratio: 0.3, density: 1000, damping: {beta: 0.01}}
  - {name: b1, ball: {radius: 0.033, cells: [4]}, position: [-0.019, 0.006, 0.170],
     rpy_deg: [0.8, 79.3, 61.8], young_modulus: 50000,
     poisson_ratio: 0.4, density: 1000, damping: {beta: 0.002}}
  - {name: b2, ball: {radius: 0.037, cells: [4]}, position: [-0.011, -0.011, 0.280],
     rpy_deg: [41.4, 26.1, 1.9], young_modulus: 20000,
     poisson_ratio: 0.3, density: 1000, damping: {beta: 0.005}}
  - {name: b3, box: {size: [0.084, 0.055, 0.063], cells: [3, 3, 3]}, position: [0.013, 0.007, 0.390],
     rpy_deg: [27.3, 52.9, 79.4], young_modulus: 100000,
     poisson_ratio: 0.4, density: 1000, damping: {beta: 0.01}}
  - {name: b4, box: {size: [0.069, 0.080, 0.066], cells: [2, 2, 2]}, position: [0.002, 0.008, 0.500],
     rpy_deg: [60.7, 33.7, 39.5], young_modulus: 20000,
     poisson_ratio: 0.3, density: 1000, damping: {beta: 0.005}}
)"),
                 0.005, ContactLaw::coulomb);
  run.go(1.6);
  double last = energy_of(run), change = 0;
  for (int i = 0; i < 40; ++i) {
    run.go(0.005);
    change = std::max(change, std::abs(energy_of(run) - last));
    last = energy_of(run);
    EXPECT_EQ(run.report.late_contacts, 0);
  }
  EXPECT_LT(change, 1e-6);  // of 1.5 J
}

// The angular momentum of a rigid body and of soft ones together [N m s].
Vec3 angular_momentum_of(const Simulation& run) {
  Placement placement = make_placement(run.model);
  calc_placement(run.model, run.state.q, &placement);
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < run.model.num_objects(); ++i) {
    const Object& o = run.model.objects[i];
    if (!o.is_tree()) {
      sum += o.physics
                 ->calc_momentum(run.state.q.segment(o.q_begin, o.num_positions()),
                                 run.state.v.segment(o.dof_begin, o.num_dofs()))
                 .head<3>();
      continue;
    }
    std::vector<Vec6> V(run.model.num_links());
    calc_twists(run.model, placement, run.state.v, i, &V);
    const int l = o.link_begin;
    const Link& link = run.model.links[l];
    const Transform& X = placement.X_WL[l];
    const Vec3 centre = X * link.com, w = V[l].head<3>();
    const Vec3 v = V[l].tail<3>() + cross(w, Vec3(centre - placement.origin[i]));
    sum += cross(centre, Vec3(link.mass * v)) + X.R * link.inertia * X.R.transpose() * w;
  }
  return sum;
}

// Gaps are up to 0.1 m when a step begins that ends in contact, and friction is across them: what the two
// sides get has no moment. (3 % of it was made where a box hit.)
TEST(SoftCollision, AngularMomentumIsKeptWhereSomethingIsHitOffCentre) {
  const std::string block = "soft_bodies:\n" + cube("a", 0, 0);
  const auto shot = [&](const std::string& shape, double y, double speed) {
    return fmt::format(
        "bodies:\n"
        "  - {{name: shot, position: [-0.15, {}, 0.017], joint: {{type: free, initial_velocity: [{}, 0, 0, "
        "0, "
        "0, 0]}}, shape: {{{}, mass: 0.1, material: m}}}}\n",
        y, speed, shape);
  };
  const std::string sphere = "type: sphere, radius: 0.02", box = "type: box, size: [0.03, 0.03, 0.03]";
  const std::string soft = fmt::format(
      "  - {{name: b, ball: {{radius: 0.04, cells: [4]}}, position: [-0.15, 0.03, 0.017], young_modulus: "
      "5e4, "
      "poisson_ratio: 0.4, density: 1000, velocity: [{}, 0, 0], material: m}}\n",
      5);
  for (const std::string& text : {shot(sphere, 0.045, 2) + block, shot(sphere, 0.01, 10) + block,
                                  shot(box, 0.01, 2) + block, shot(box, 0.045, 10) + block, block + soft}) {
    for (const double dt : {0.005, 0.01}) {
      SCOPED_TRACE(testing::Message() << text << dt);
      Simulation run(flight(text), dt, ContactLaw::coulomb);
      const Vec3 before = angular_momentum_of(run);
      int contacts = 0;
      for (int i = 0; i < 12; ++i) {
        run.go(dt);
        contacts += run.report.contacts;
      }
      EXPECT_GT(contacts, 0);
      EXPECT_LT((angular_momentum_of(run) - before).norm(), 1e-6 * before.norm());
    }
  }
}

}  // namespace
}  // namespace capstan::soft_collision_test
