// Rods through every stage of a step: momentum, vibration, rest on the floor, rolling, the capstan, rods that
// meet, saved and restored.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rod_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

RodSpec straight(int edges, const Vec3& from, const Vec3& to, double diameter, double young_modulus) {
  RodSpec spec;
  for (int i = 0; i <= edges; ++i) spec.nodes.push_back(from + double(i) / edges * (to - from));
  spec.section.width = diameter;
  spec.young_modulus = young_modulus;
  spec.density = 1000;
  return spec;
}

Scene floor_only(double friction, double stiffness) {
  Scene scene = box_on_plane(friction, stiffness);
  scene.bodies.clear();
  scene.shapes.resize(1);
  return scene;
}

std::shared_ptr<Rod> add(const RodSpec& spec, const std::string& name, Simulation* run) {
  auto rod = std::make_shared<Rod>(spec);
  add_rod(name, rod, 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return rod;
}

VecX own_q(const Simulation& run, int object) {
  const Object& o = run.model.objects[object];
  return run.state.q.segment(o.q_begin, o.num_positions());
}

double weight_on_floor(const Simulation& run) {
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double sum = 0;
  for (const ContactForce& f : forces) {
    if (f.shape_a == 0) sum += f.normal_force;
  }
  return sum;
}

TEST(RodStep, AFreeRodKeepsItsMomentum) {
  Scene scene = floor_only(0.5, 1e5);
  scene.options.gravity.setZero();
  for (const Integrator integrator : {Integrator::midpoint, Integrator::semi_implicit}) {
    RodSpec spec = straight(20, {0, 0, 3}, {1, 0, 3}, 0.02, 1e6);
    for (int i = 0; i <= 20; ++i) spec.nodes[i].y() = 0.1 * std::sin(0.5 * i);
    spec.rest = RodRest::straight;  // it springs open
    Simulation run(scene, 0.002, ContactLaw::coulomb);
    add(spec, "rod", &run);
    run.options.integrator = integrator;
    for (int i = 0; i <= 20; ++i) run.state.v.segment<3>(4 * i) = Vec3(0.5, 0.1 * i, -0.02 * i);
    const Mechanics before = calc_mechanics(run.model, run.state);
    run.go(0.5);
    const Mechanics after = calc_mechanics(run.model, run.state);
    EXPECT_LT((after.momentum - before.momentum).tail<3>().norm(), 1e-10 * before.momentum.tail<3>().norm());
    const double turn =
        (after.momentum - before.momentum).head<3>().norm() / before.momentum.head<3>().norm();
    EXPECT_LT(turn, integrator == Integrator::midpoint ? 1e-5 : 1e-2);
    const double energy = after.total() / before.total();
    if (integrator == Integrator::midpoint) {
      EXPECT_NEAR(energy, 1, 0.02);
    } else {
      EXPECT_LT(energy, 1);
    }
  }
}

TEST(RodStep, ForcesAndTorquesOnAnEdgeChangeItsMomentum) {
  Scene scene = floor_only(0.5, 1e5);
  scene.options.gravity.setZero();
  Simulation run(scene, 1e-4, ContactLaw::coulomb);
  RodSpec spec = straight(10, {0, 0, 3}, {1, 0.3, 3.2}, 0.02, 1e6);
  spec.nodes[5].y() += 0.05;
  const std::shared_ptr<Rod> rod = add(spec, "rod", &run);
  BodyForce force;
  force.body = run.model.find_body("rod/4");
  force.point_W = 0.5 * (spec.nodes[4] + spec.nodes[5]) + Vec3(0, 0.01, 0);
  force.force_W = Vec3(1, -2, 3);
  force.torque_W = Vec3(0.1, 0.2, -0.3);
  run.input.body_forces = {force};
  run.go(1e-4);
  const Vec6 momentum = rod->calc_momentum(run.state.q, run.state.v);
  const Vec3 moment = force.torque_W + cross(force.point_W, force.force_W);
  EXPECT_LT((momentum.tail<3>() - 1e-4 * force.force_W).norm(), 1e-9 * 1e-4);
  EXPECT_LT((momentum.head<3>() - 1e-4 * moment).norm(), 1e-3 * 1e-4);
}

TEST(RodStep, ACantileverVibratesAtItsFirstFrequency) {
  Scene scene = floor_only(0.5, 1e5);
  scene.options.gravity.setZero();
  const int edges = 20;
  const double h = 1 / (edges - 0.5);
  RodSpec spec = straight(edges, {-0.5 * h, 0, 1}, {1, 0, 1}, 0.01, 1e9);
  spec.clamped_edges = {0};
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const std::shared_ptr<Rod> rod = add(spec, "rod", &run);
  run.options.integrator = Integrator::midpoint;
  for (int i = 2; i <= edges; ++i) {
    const double x = spec.nodes[i].x();
    run.state.v[4 * i + 2] = 0.01 * x * x * (6 - 4 * x + x * x) / 3;  // much as the first mode
  }
  const int tip = 4 * edges + 2;
  int crossings = 0;
  double last = 0;
  for (int k = 0; k < 800 && crossings < 4; ++k) {
    const double before = run.state.q[tip] - 1;
    run.go(0.005);
    const double after = run.state.q[tip] - 1;
    if (k > 5 && before * after < 0) ++crossings, last = run.state.time - 0.005 * after / (after - before);
  }
  ASSERT_EQ(crossings, 4);
  const double omega = std::pow(1.8751040687, 2) * std::sqrt(1e9 * 1e-4 / (16 * 1000));
  EXPECT_NEAR(2 * (2 * kPi) / last, omega, 5e-3 * omega);
}

TEST(RodStep, ARodRestsOnTheFloorWithItsWeight) {
  for (const bool flat : {false, true}) {
    Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
    RodSpec spec = straight(20, {0, 0, 0.006}, {1, 0, 0.006}, 0.01, 1e7);
    if (flat) spec.section = {RodSectionType::rectangle, 0.01, 0.03, TorsionConstant::exact};
    spec.director = Vec3(0, 0, 1);
    spec.alpha = 2;
    const std::shared_ptr<Rod> rod = add(spec, "rod", &run);
    run.go(4);
    const double weight = 1000 * rod->section().area * kGravity;
    EXPECT_NEAR(weight_on_floor(run), weight, 1e-6 * weight);
    EXPECT_LT(run.state.v.norm(), 1e-6);
    EXPECT_LT(run.report.judge.momentum, 1e-6);
    for (int i = 0; i <= 20; ++i) EXPECT_NEAR(run.state.q[4 * i + 2], 0.005, 1e-4);
  }
}

// A rope pushed sideways slides, then rolls at two thirds of its speed: its sections turn with the edges.
TEST(RodStep, ARopeRolls) {
  Simulation run(floor_only(0.5, 1e6), 0.001, ContactLaw::coulomb);
  const double r = 0.01;
  add(straight(10, {0, 0, r}, {1, 0, r}, 2 * r, 1e7), "rope", &run);
  for (int i = 0; i <= 10; ++i) run.state.v[4 * i + 1] = 0.3;
  run.go(0.3);
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(run.state.v[4 * i + 1], 0.2, 2e-3) << i;
    EXPECT_NEAR(run.state.v[4 * i + 3], -0.2 / r, 0.2) << i;  // the tangent is along +x
  }
}

// A rope half around a fixed post about z, pulled down at both ends; edges touch the post at their middles.
constexpr double kPost = 0.03, kRope = 0.0001;  // [m] radii
RodSpec rope_on_post(double wrap, int turns) {
  RodSpec spec;
  const double R = kPost + kRope, step = wrap / turns, half = R * std::tan(0.5 * step);
  const Vec3 start(-R, 0, 0);
  const auto at = [&](double angle, double radius) {
    return Vec3(-radius * std::cos(angle), radius * std::sin(angle), 0);
  };
  const auto along = [&](double angle) { return Vec3(std::sin(angle), std::cos(angle), 0); };
  for (int k = 12; k > 0; --k) spec.nodes.push_back(start - (2 * k + 1) * half * along(0));
  for (int k = 0; k <= turns + 1; ++k) spec.nodes.push_back(at((k - 0.5) * step, R / std::cos(0.5 * step)));
  for (int k = 1; k <= 12; ++k) spec.nodes.push_back(at(wrap, R) + (2 * k + 1) * half * along(wrap));
  spec.section.width = 2 * kRope;
  spec.young_modulus = 3e9;  // E A = 94 N
  spec.density = 1e5;
  return spec;
}
Scene post(double friction) {
  Scene scene = floor_only(friction, 1e5);
  scene.options.gravity.setZero();
  scene.shapes[0] = make_shape("post", kWorld, Cylinder{kPost, 0.05});
  return scene;
}

TEST(RodStep, TheCapstanHoldsExpMuPhi) {
  struct Case {
    double wrap;  // [rad]
    int turns;    // that the rope makes on it
    double dt, speed;
    ContactLaw law;
    double most;  // error
  };
  const double mu = 0.2;
  for (const Case& c : {Case{0.4 * kPi, 40, 1e-3, 0.02, ContactLaw::coulomb, 3e-3},
                        Case{0.4 * kPi, 160, 1e-3, 0.02, ContactLaw::coulomb, 3e-3},
                        Case{kPi, 20, 1e-3, 0.02, ContactLaw::coulomb, 3e-3},
                        Case{kPi, 40, 1e-3, 0.02, ContactLaw::coulomb, 3e-3},
                        Case{kPi, 80, 5e-3, 0.004, ContactLaw::coulomb, 3e-3},
                        Case{kPi, 160, 1e-3, 0.02, ContactLaw::coulomb, 3e-3},
                        Case{kPi, 40, 1e-3, 0.02, ContactLaw::similar, 4e-3},
                        Case{2 * kPi, 80, 1e-3, 0.02, ContactLaw::coulomb, 4e-3},
                        Case{2 * kPi, 80, 5e-3, 0.004, ContactLaw::coulomb, 4e-3}}) {
    RodSpec spec = rope_on_post(c.wrap, c.turns);
    const int last = static_cast<int>(spec.nodes.size()) - 1;
    spec.pinned_nodes = {last};
    Simulation run(post(mu), c.dt, c.law);
    const std::shared_ptr<Rod> rod = add(spec, "rope", &run);
    run.input.generalized_force = VecX::Zero(run.model.num_velocities());
    run.input.generalized_force[1] = -1;  // [N] holds the first end; the last is pulled
    run.state.v.segment<3>(4 * last) = c.speed * Vec3(std::sin(c.wrap), std::cos(c.wrap), 0);
    run.go(200 * c.dt);
    double ratio = 0;
    for (int i = 0; i < 50; ++i) {
      run.go(c.dt);
      const VecX q = own_q(run, 0);
      ratio += rod->tension(q, rod->num_edges() - 1) / rod->tension(q, 0) / 50;
    }
    // Friction acts on the surface, tension on the axis: the exponent is less by r / (R + r).
    const double expected = std::exp(mu * c.wrap * kPost / (kPost + kRope));
    EXPECT_NEAR(ratio, expected, c.most * expected) << c.wrap << " " << c.turns << " " << c.dt;
  }
}

TEST(RodStep, TheCapstanSlidesAboveItsRatio) {
  const double mu = 0.2;
  for (const double share : {0.95, 1.05}) {
    const RodSpec spec = rope_on_post(kPi, 20);
    const int last = static_cast<int>(spec.nodes.size()) - 1;
    Simulation run(post(mu), 0.001, ContactLaw::coulomb);
    add(spec, "rope", &run);
    run.input.generalized_force = VecX::Zero(run.model.num_velocities());
    for (int i = 1; i <= 200; ++i) {  // slowly: waves along the rope would make it slip
      run.input.generalized_force[1] = -0.005 * i;
      run.input.generalized_force[4 * last + 1] = -0.005 * i * std::exp(mu * kPi) * 0.9;
      run.go(0.001);
    }
    run.input.generalized_force[4 * last + 1] = -std::exp(mu * kPi) * share;
    run.go(0.005);  // it stretches
    const double before = run.state.q[4 * last + 1];
    run.go(0.01);
    const double went = before - run.state.q[4 * last + 1];
    if (share < 1) {
      EXPECT_LT(std::abs(went), 1e-4);
    } else {
      EXPECT_GT(went, 2e-3);
    }
  }
}

TEST(RodStep, ARodLaidAcrossAnotherDoesNotPassIt) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  RodSpec low = straight(10, {-0.5, 0, 0.3}, {0.5, 0, 0.3}, 0.01, 1e8), high = low;
  low.pinned_nodes = {0, 10};
  for (int i = 0; i <= 10; ++i) high.nodes[i] = Vec3(0.013, 0.1 * (i - 5), 0.6);
  high.alpha = low.alpha = 1;
  add(low, "low", &run);
  add(high, "high", &run);
  run.go(1);
  const Object& object = run.model.objects[1];
  EXPECT_GT(run.state.q[object.q_begin + 4 * 5 + 2], run.state.q[4 * 5 + 2]);
  EXPECT_GT(run.report.contacts, 0);
}

TEST(RodStep, AClosedRingLiesOnTheFloorWithItsWeight) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  RodSpec spec = straight(3, {0, 0, 0}, {1, 0, 0}, 0.005, 1e6);
  spec.nodes.clear();
  spec.closed = true;
  for (int i = 0; i < 20; ++i) {
    const double a = 2 * kPi * i / 20;
    spec.nodes.push_back({0.1 * std::cos(a), 0.1 * std::sin(a), 0.02});
  }
  spec.alpha = 2;
  const std::shared_ptr<Rod> rod = add(spec, "ring", &run);
  run.go(3);
  const double weight = rod->inertia()(0) * 20 * kGravity;
  EXPECT_NEAR(weight_on_floor(run), weight, 1e-6 * weight);
  EXPECT_LT(run.state.v.norm(), 1e-5);
}

TEST(RodStep, ARopeComesToRestOnItself) {
  // Along x on the floor, three quarters of a circle, rising, and down across the first part, 3 cm above it.
  Simulation run(floor_only(0.5, 1e5), 0.002, ContactLaw::coulomb);
  RodSpec spec = straight(2, {0, 0, 0}, {1, 0, 0}, 0.01, 1e6);
  spec.nodes.clear();
  for (int i = 0; i < 20; ++i) spec.nodes.push_back({-0.3 + 0.02 * i, 0, 0.005});
  for (int i = 0; i < 24; ++i) {
    const double angle = 1.5 * kPi * i / 24;
    spec.nodes.push_back({0.1 + 0.1 * std::sin(angle), 0.1 - 0.1 * std::cos(angle), 0.005 + 0.03 * i / 24});
  }
  for (int i = 0; i <= 15; ++i) spec.nodes.push_back({0, 0.1 - 0.02 * i, 0.035});
  spec.alpha = 3;
  const std::shared_ptr<Rod> rod = add(spec, "rope", &run);
  run.go(3);
  double weight = 0;
  for (int i = 0; i < rod->num_nodes(); ++i) weight += rod->inertia()[4 * i] * kGravity;
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  double on_itself = 0;
  for (const ContactForce& f : forces) {
    if (f.shape_a != 0) on_itself += f.normal_force;
    EXPECT_GT(f.distance, -1e-4);
  }
  EXPECT_GT(on_itself, 0.01 * weight);
  EXPECT_NEAR(weight_on_floor(run), weight, 1e-5 * weight);
  EXPECT_LT(rod->calc_speed(run.state.q, run.state.v), 1e-3);
}

TEST(RodStep, AFastRodDoesNotPassAThinPlate) {
  Scene scene = floor_only(0.5, 1e5);
  ShapeInstance plate = make_shape("plate", kWorld, Box{Vec3(0.5, 0.5, 0.001)});
  plate.pose.position = Vec3(0, 0, 1);
  scene.shapes.push_back(plate);
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  add(straight(10, {-0.1, 0, 1.2}, {0.1, 0.02, 1.22}, 0.01, 1e7), "rod", &run);
  for (int i = 0; i <= 10; ++i) run.state.v[4 * i + 2] = -30;
  for (int k = 0; k < 40; ++k) {
    run.go(0.005);
    for (int i = 0; i <= 10; ++i) ASSERT_GT(run.state.q[4 * i + 2], 1) << k << " " << i;
  }
}

TEST(RodStep, ARodSleepsAndWakes) {
  Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
  RodSpec spec = straight(10, {0, 0, 0.006}, {0.5, 0, 0.006}, 0.01, 1e7);
  spec.alpha = 2;
  add(spec, "rod", &run);
  run.options.sleep.on = true;
  run.go(3);
  EXPECT_EQ(run.report.asleep, 1);
  const VecX q = run.state.q;
  run.go(0.5);
  EXPECT_EQ(run.state.q, q);
  run.input.generalized_force = VecX::Zero(run.model.num_velocities());
  run.input.generalized_force[2] = 1;
  run.go(0.1);
  EXPECT_GT(run.state.q[2], q[2] + 0.01);
}

TEST(RodStep, SavedAndRestoredBitForBitWithAnyThreads) {
  const auto make = [](int threads) {
    Simulation run(box_on_plane(0.5, 1e5), 0.005, ContactLaw::coulomb);
    RodSpec spec = straight(30, {-0.2, 0, 0.2}, {0.3, 0.05, 0.25}, 0.01, 1e6);
    spec.rest = RodRest::given;
    spec.natural.assign(29, Vec3(3, 1, 2));
    add(spec, "rod", &run);
    run.options.threads = threads;
    return run;
  };
  Simulation run = make(1), again = make(2);
  run.go(0.2);
  again.state = restore(again.model, save(run.model, run.state));
  EXPECT_EQ(hash(again.state), hash(run.state));
  Simulation whole = make(2);
  whole.go(0.2);
  EXPECT_EQ(hash(whole.state), hash(run.state));
  run.go(0.2);
  whole.go(0.2);
  EXPECT_EQ(hash(whole.state), hash(run.state));
  again.go(0.2);
  EXPECT_EQ(hash(again.state), hash(run.state));
}

// A long soft rod that swings at the step of a user: energy never grows, but for what it swings by between
// velocities and positions half a step apart, now that swinging is not damped (physics/rod_swing.cc).
TEST(RodStep, ASoftRodFallsAndSwingsAtFiveMilliseconds) {
  for (const double young_modulus : {1e6, 1e7}) {
    Simulation run(floor_only(0.5, 1e5), 0.005, ContactLaw::coulomb);
    RodSpec spec = straight(100, {0, 0, 2}, {1, 0, 2}, 0.01, young_modulus);
    spec.clamped_edges = {0};
    add(spec, "rod", &run);
    double least = calc_mechanics(run.model, run.state).total();
    for (int k = 0; k < 100; ++k) {
      run.go(0.005);
      const double now = calc_mechanics(run.model, run.state).total();
      EXPECT_LT(now, 1.001 * least) << k;
      least = std::min(least, now);
    }
  }
}

}  // namespace
}  // namespace capstan::rod_test
