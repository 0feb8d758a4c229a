// Soft bodies through every stage of a step: momentum, rest under their own weight, friction, beams,
// inversion, and contact with rigid bodies, rods and each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/solvers/condensation.h"
#include "capstan/step/contact_forces.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_body_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

SoftBodySpec block(const Vec3& size, const std::array<int, 3>& cells, double young_modulus) {
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets(size, cells));
  spec.young_modulus = young_modulus;
  spec.density = 1000;
  return spec;
}

Scene floor_only(double friction, double stiffness = 1e8) {
  Scene scene = box_on_plane(friction, stiffness);
  scene.bodies.clear();
  scene.shapes.resize(1);
  scene.materials[0].stiffness.reset();
  return scene;
}

int add(const SoftBodySpec& spec, const std::string& name, Simulation* run) {
  const int object = add_soft_body(name, std::make_shared<SoftBody>(spec), 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return object;
}

VecX own_q(const Simulation& run, int object) {
  const Object& o = run.model.objects[object];
  return run.state.q.segment(o.q_begin, o.num_positions());
}

double lowest(const Simulation& run, int object) {
  const VecX q = own_q(run, object);
  double z = kInfinity;
  for (int i = 0; i < q.size() / 3; ++i) z = std::min(z, q[3 * i + 2]);
  return z;
}

Vec3 centre(const Simulation& run, int object) {
  Vec3 moment;
  const double mass = run.model.objects[object].physics->calc_mass(own_q(run, object), &moment);
  return moment / mass;
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

constexpr Elasticity kAll[] = {Elasticity::linear_corotational, Elasticity::corotated,
                               Elasticity::neo_hookean, Elasticity::saint_venant_kirchhoff};

TEST(SoftBodyStep, AFreeBodyKeepsItsMomentum) {
  Scene scene = floor_only(0.5);
  scene.options.gravity.setZero();
  for (const Elasticity elasticity : kAll) {
    for (const Integrator integrator :
         {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
      for (const double dt : {0.001, 0.01}) {
        SoftBodySpec spec = block({0.2, 0.1, 0.1}, {4, 2, 2}, 1e5);
        spec.elasticity = elasticity;
        spec.beta = 0.001;
        spec.lumped_mass = dt > 0.005;
        spec.pose.position.z() = 1;
        spec.velocity = {0.3, -0.1, 0.2};
        spec.angular_velocity = {5, 3, -8};
        Simulation run(scene, dt, ContactLaw::coulomb);
        run.options.integrator = integrator;
        const int object = add(spec, "block", &run);
        run.state.v.tail<3>() += Vec3(0.5, 0.2, -0.3);  // it vibrates, too
        const Mechanics before = calc_mechanics(run.model, run.state);
        const Vec3 start = centre(run, object);
        const Vec3 speed = Vec3(before.momentum.tail<3>()) / 2.0;
        run.go(0.2);
        const Mechanics after = calc_mechanics(run.model, run.state);
        EXPECT_LT((Vec3(after.momentum.tail<3>()) - Vec3(before.momentum.tail<3>())).norm(), 1e-12);
        EXPECT_LT((centre(run, object) - start - 0.2 * speed).norm(), 1e-12);
        EXPECT_LT((Vec3(after.momentum.head<3>()) - Vec3(before.momentum.head<3>())).norm(),
                  1e-10 * Vec3(before.momentum.head<3>()).norm())
            << static_cast<int>(elasticity) << " " << static_cast<int>(integrator) << " " << dt;
      }
    }
  }
}

// Without the correction a spin of w decays by w^2 dt in a second: so much is given back.
TEST(SoftBodyStep, ConserveMomentumGivesBackWhatTheIntegratorTakes) {
  Scene scene = floor_only(0.5);
  scene.options.gravity.setZero();
  const double w = 5, dt = 0.01;
  for (const bool conserves : {true, false}) {
    scene.options.conserve_momentum = conserves;
    SoftBodySpec spec = block({0.1, 0.1, 0.1}, {2, 2, 2}, 1e6);
    spec.pose.position.z() = 1;
    spec.angular_velocity = {0, 0, w};
    Simulation run(scene, dt, ContactLaw::coulomb);
    add(spec, "block", &run);
    const double before = calc_mechanics(run.model, run.state).momentum[2];
    run.go(0.2);
    const double lost = 1 - calc_mechanics(run.model, run.state).momentum[2] / before;
    if (conserves) {
      EXPECT_LT(std::abs(lost), 1e-12);
    } else {
      EXPECT_NEAR(lost, 0.2 * w * w * dt, 0.1 * 0.2 * w * w * dt);
    }
  }
}

// Of a body that spins freely, at up to 0.1 rad in a step: velocities are chords of its way, so that the
// first step changes the energy by a few 1e-3; it does not grow after that, and the body turns by w t.
TEST(SoftBodyStep, ASpinningBodyKeepsItsEnergyAndAngle) {
  Scene scene = floor_only(0.5);
  scene.options.gravity.setZero();
  for (const Elasticity elasticity : kAll) {
    for (const double dt : {0.005, 0.01}) {
      const double w = 10;
      SoftBodySpec spec = block({0.1, 0.1, 0.1}, {2, 2, 2}, 1e6);
      spec.elasticity = elasticity;
      spec.angular_velocity = {0, 0, w};
      spec.pose.position.z() = 1;
      Simulation run(scene, dt, ContactLaw::coulomb);
      const int object = add(spec, "block", &run);
      const double start = calc_mechanics(run.model, run.state).total();
      run.go(dt);
      const double first = calc_mechanics(run.model, run.state).total();
      EXPECT_NEAR(first, start, 0.5 * w * w * dt * dt * start);
      double most = first;
      for (double t = dt; t < 1 - 0.5 * dt; t += 0.05) {
        run.go(0.05);
        most = std::max(most, calc_mechanics(run.model, run.state).total());
      }
      EXPECT_LT(most, (1 + 0.05 * w * w * dt * dt) * first) << static_cast<int>(elasticity) << " " << dt;
      const Vec3 corner = own_q(run, object).head<3>() - centre(run, object);
      const double t = run.state.time, turned = std::atan2(corner.y(), corner.x()) - std::atan2(-1.0, -1.0);
      EXPECT_LT(std::abs(std::remainder(turned - w * t, 2 * kPi)), 0.005 * w * t);
    }
  }
}

// A soft wheel on a plane goes on as a rigid one does: as fast as it was, but for a percent.
TEST(SoftBodyStep, ASoftWheelRollsOn) {
  const double r = 0.1, speed = 1;
  for (const double dt : {0.002, 0.01}) {
    TetMesh mesh = make_cylinder_tets(r, 0.05, 12, 2);
    for (Vec3& x : mesh.vertices) x = Vec3(x.x(), -x.z(), x.y());
    SoftBodySpec spec = block({1, 1, 1}, {1, 1, 1}, 1e6);
    spec.mesh = std::make_shared<const TetMesh>(mesh);
    spec.poisson_ratio = 0.3;
    spec.angular_velocity.y() = speed / r;
    spec.velocity.x() = speed;
    spec.pose.position.z() = r;
    Simulation run(floor_only(0.8), dt, ContactLaw::coulomb);
    const int object = add(spec, "wheel", &run);
    run.go(1);
    EXPECT_NEAR(centre(run, object).x(), speed, 0.01 * speed) << dt;
  }
}

// Without lateral strain (nu = 0) a cube is shorter by rho g L^2 / (2 E) under its own weight.
TEST(SoftBodyStep, ACubeIsPressedByItsOwnWeight) {
  for (const SoftElement element : {SoftElement::linear, SoftElement::quadratic}) {
    const int n = element == SoftElement::linear ? 4 : 2;
    SoftBodySpec spec = block({0.1, 0.1, 0.1}, {n, n, n}, 1e5);
    spec.element = element;
    spec.lumped_mass = element == SoftElement::linear;
    spec.poisson_ratio = 0;
    spec.alpha = 20;
    spec.beta = 0.01;
    spec.pose.position.z() = 0.0501;
    Simulation run(floor_only(0.5), 0.01, ContactLaw::coulomb);
    const int object = add(spec, "cube", &run);
    run.go(3);
    EXPECT_NEAR(weight_on_floor(run), kGravity, 1e-6 * kGravity);
    const VecX q = own_q(run, object);
    double top = 0, bottom = 1;
    for (int i = 0; i < q.size() / 3; ++i) {
      top = std::max(top, q[3 * i + 2]);
      bottom = std::min(bottom, q[3 * i + 2]);
    }
    const double exact = 1000 * kGravity * 0.01 / (2 * 1e5);
    EXPECT_NEAR(0.1 - (top - bottom), exact, (element == SoftElement::linear ? 0.02 : 0.01) * exact);
    EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-6);
  }
}

// The force of contact is the weight, and the depth that of the whole face, for any mesh.
TEST(SoftBodyStep, TheDepthOfContactDoesNotDependOnTheMesh) {
  for (const int n : {2, 4, 6}) {
    SoftBodySpec spec = block({0.1, 0.1, 0.1}, {n, n, n}, 1e6);
    spec.poisson_ratio = 0;
    spec.alpha = 20;
    spec.beta = 0.01;
    const double radius = kVertexRadius * SoftBody(spec).mean_edge();
    spec.pose.position.z() = 0.05 + radius;
    Scene scene = floor_only(0.5);
    scene.materials[0].stiffness = 1e4;
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    const int object = add(spec, "cube", &run);
    run.go(2);
    EXPECT_NEAR(weight_on_floor(run), kGravity, 1e-6 * kGravity);
    EXPECT_NEAR(radius - lowest(run, object), kGravity / 1e4, 0.02 * kGravity / 1e4) << n;
  }
}

TEST(SoftBodyStep, SticksBelowAndSlidesAboveTheAngleOfFriction) {
  const double mu = 0.5;
  for (const double degrees : {-0.5, 0.5}) {
    const double angle = std::atan(mu) + degrees * kPi / 180;
    Scene scene = floor_only(mu);
    SoftBodySpec spec = block({0.1, 0.1, 0.05}, {4, 4, 2}, 1e6);
    spec.alpha = 5;
    spec.beta = 0.01;
    spec.pose.position.z() = 0.025;
    scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    const int object = add(spec, "cube", &run);
    run.go(1.5);
    const double x = centre(run, object).x();
    run.go(1);
    const double way = centre(run, object).x() - x;
    if (degrees < 0) {
      EXPECT_LT(way, 1e-4);
    } else {
      EXPECT_GT(way, 0.005);
    }
  }
}

TEST(SoftBodyStep, DoesNotFallThroughAThinPlate) {
  for (const bool is_plane : {true, false}) {
    Scene scene = floor_only(0.5);
    if (!is_plane) scene.shapes[0] = make_shape("plate", kWorld, Box{{0.5, 0.5, 0.001}});
    SoftBodySpec spec = block({0.1, 0.1, 0.1}, {3, 3, 3}, 1e5);
    spec.beta = 0.01;
    spec.pose.position.z() = 0.2;
    spec.velocity.z() = -10;  // 10 cm in a step
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    const int object = add(spec, "cube", &run);
    double deepest = 0;
    for (int i = 0; i < 100; ++i) {
      run.go(0.01);
      deepest = std::min(deepest, lowest(run, object) - (is_plane ? 0 : 0.001));
    }
    EXPECT_GT(deepest, -0.002) << is_plane;
    EXPECT_GT(centre(run, object).z(), 0.02) << is_plane;
  }
}

// F2 of the benchmarks: a cantilever under its own weight. The solid's limit is that of hexahedra of 27 nodes
// (docs/soft_bodies.md).
double calc_drop(SoftElement element, const std::array<int, 3>& cells, Elasticity elasticity) {
  Scene scene = floor_only(0.5);
  SoftBodySpec spec = block({0.2, 0.04, 0.04}, cells, 1e6);
  spec.element = element;
  spec.elasticity = elasticity;
  spec.poisson_ratio = 0.3;
  spec.alpha = 20;
  spec.pose.position.z() = 1;
  spec.fixed.push_back({false, {-0.1, 0, 0}, {1e-6, 1, 1}, 0});
  Simulation run(scene, 0.02, ContactLaw::coulomb);
  const int object = add(spec, "beam", &run);
  run.go(1.2);
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-3);
  const SoftBody& body = soft_body_of(run.model, object);
  const VecX q = own_q(run, object);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < body.num_nodes(); ++i) {
    if (body.rest(i).x() < 0.0999) continue;
    sum += 1 + body.rest(i).z() - q[3 * i + 2];
    ++count;
  }
  return sum / count;
}

TEST(SoftBodyStep, ACantileverHangsAsFarAsABeam) {
  const double exact = 14.997e-3;
  for (const Elasticity elasticity : {Elasticity::linear_corotational, Elasticity::neo_hookean})
    EXPECT_NEAR(calc_drop(SoftElement::quadratic, {5, 1, 1}, elasticity), exact, 0.015 * exact);
  EXPECT_NEAR(calc_drop(SoftElement::quadratic, {10, 2, 2}, Elasticity::linear_corotational), exact,
              0.006 * exact);
  const double coarse = calc_drop(SoftElement::linear, {10, 2, 2}, Elasticity::linear_corotational),
               fine = calc_drop(SoftElement::linear, {20, 4, 4}, Elasticity::linear_corotational);
  EXPECT_LT(coarse, fine);
  EXPECT_LT(exact - fine, 0.45 * (exact - coarse));  // they converge, from the stiff side
}

// Half of the body starts turned inside out.
TEST(SoftBodyStep, ComesBackFromInversion) {
  for (const Elasticity elasticity :
       {Elasticity::neo_hookean, Elasticity::corotated, Elasticity::linear_corotational}) {
    Scene scene = floor_only(0.5);
    scene.options.gravity.setZero();
    SoftBodySpec spec = block({0.2, 0.1, 0.1}, {4, 2, 2}, 1e5);
    spec.elasticity = elasticity;
    spec.alpha = 5;
    spec.beta = 0.02;
    spec.pose.position.z() = 1;
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    const int object = add(spec, "block", &run);
    const SoftBody& body = soft_body_of(run.model, object);
    for (int i = 0; i < body.num_nodes(); ++i) {
      if (body.rest(i).x() > 0.01) run.state.q[3 * i] = -0.5 * run.state.q[3 * i];
    }
    EXPECT_GT(body.calc_strain(own_q(run, object)).largest, 1);
    run.go(3);
    EXPECT_LT(body.calc_strain(own_q(run, object)).largest, 0.02) << static_cast<int>(elasticity);
    EXPECT_NEAR(body.calc_strain(own_q(run, object)).volume, 0.002, 1e-5) << static_cast<int>(elasticity);
  }
}

TEST(SoftBodyStep, CarriesARigidBox) {
  Scene scene = floor_only(0.5);
  scene.bodies.push_back(free_body("load", {0, 0, 0.1305}));
  scene.shapes.push_back(make_shape("load", "load", Box{{0.03, 0.03, 0.03}}, 0.5));
  Simulation run(scene, 0.01, ContactLaw::coulomb);
  SoftBodySpec spec = block({0.1, 0.1, 0.1}, {4, 4, 4}, 1e5);
  spec.alpha = 5;
  spec.beta = 0.02;
  spec.pose.position.z() = 0.0505;
  const int object = add(spec, "cube", &run);
  run.go(3);
  EXPECT_NEAR(weight_on_floor(run), 1.5 * kGravity, 1e-5 * kGravity);
  EXPECT_NEAR(run.state.q[2], 0.129, 0.003);  // on top of a cube that is a little shorter
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_NEAR(centre(run, object).x(), 0, 1e-3);
}

TEST(SoftBodyStep, LiesOnAnotherSoftBody) {
  Simulation run(floor_only(0.5), 0.01, ContactLaw::coulomb);
  SoftBodySpec spec = block({0.1, 0.1, 0.05}, {4, 4, 2}, 1e5);
  spec.alpha = 5;
  spec.beta = 0.02;
  spec.pose.position.z() = 0.026;
  const int lower = add(spec, "lower", &run);
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets({0.08, 0.08, 0.05}, {3, 3, 2}));
  spec.pose.position = {0.003, 0.002, 0.08};
  const int upper = add(spec, "upper", &run);
  run.go(3);
  EXPECT_NEAR(weight_on_floor(run), (0.5 + 0.32) * kGravity, 1e-5 * kGravity);
  EXPECT_NEAR(centre(run, upper).z() - centre(run, lower).z(), 0.05, 0.002);
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-3);
}

// A weight on a strap that is tied to it by a region: stretched by F L / (E A), half of its own weight
// included.
TEST(SoftBodyStep, HoldsAWeightThatIsAttached) {
  Scene scene = floor_only(0.5);
  scene.shapes[0].pose.position.z() = -1;
  scene.bodies.push_back(free_body("weight", {0, 0, -0.13}));
  scene.shapes.push_back(make_shape("weight", "weight", Box{{0.03, 0.03, 0.03}}, 0.2));
  SoftBodySpec strap = block({0.02, 0.02, 0.2}, {1, 1, 6}, 1e6);
  strap.name = "strap";
  strap.element = SoftElement::quadratic;
  strap.poisson_ratio = 0;  // its ends could not contract
  strap.alpha = 5;
  strap.beta = 0.01;
  strap.fixed.push_back({false, {0, 0, 0.1}, {0.1, 0.1, 1e-6}, 0});
  SoftAttachment attachment;
  attachment.region = {false, {0, 0, -0.1}, {0.1, 0.1, 1e-6}, 0};
  attachment.body = "weight";
  strap.attachments = {attachment};
  scene.soft_bodies = {strap};
  Simulation run(scene, 0.01, ContactLaw::coulomb);
  run.go(2);
  const double stretch = (0.2 + 0.5 * 0.08) * kGravity * 0.2 / (1e6 * 4e-4);
  EXPECT_NEAR(-0.13 - run.state.q[2], stretch, 0.01 * stretch);
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-5);
}

// A soft rope that falls across a cushion, and over its sides.
TEST(SoftBodyStep, ARopeFallsOnACushion) {
  Simulation run(floor_only(0.5), 0.005, ContactLaw::coulomb);
  SoftBodySpec cushion = block({0.3, 0.2, 0.1}, {6, 4, 2}, 2e4);
  cushion.density = 200;
  cushion.alpha = 1;
  cushion.beta = 0.01;
  cushion.pose.position.z() = 0.051;
  add(cushion, "cushion", &run);
  RodSpec rope;
  const int edges = 40;
  for (int i = 0; i <= edges; ++i) rope.nodes.push_back({-0.25 + 0.5 * i / edges, 0, 0.2});
  rope.section.width = rope.section.height = 0.01;
  rope.young_modulus = 1e5;
  rope.density = 1000;
  const double mass = 1000 * kPi * 25e-6 * 0.5 + 200 * 0.006;
  add_rod("rope", std::make_shared<Rod>(rope), 0, &run.model);
  run.state = initial_state(run.model);
  run.workspace = make_workspace(run.model);
  run.go(2.5);
  EXPECT_NEAR(weight_on_floor(run), mass * kGravity, 0.02 * mass * kGravity);
}

// A hollow ball under pressure, of so many cells across: how far its two surfaces move.
struct Balloon {
  double inner = 0, outer = 0;  // [m]
  double cavity = 0;            // [m^3] before
};
Balloon blow_up(double a, double b, double E, double nu, double pressure, int across) {
  Scene scene = floor_only(0.5);
  scene.options.gravity.setZero();
  SoftBodySpec spec = block({1, 1, 1}, {1, 1, 1}, E);
  spec.mesh = std::make_shared<const TetMesh>(make_shell_tets(b, a, across, 1));
  spec.element = SoftElement::quadratic;
  spec.poisson_ratio = nu;
  spec.pressure = pressure;
  spec.alpha = 20;
  spec.beta = 0.01;
  spec.pose.position.z() = 1;
  Simulation run(scene, 0.05, ContactLaw::coulomb);
  const int object = add(spec, "balloon", &run);
  const SoftBody& body = soft_body_of(run.model, object);
  Balloon balloon;
  balloon.cavity = body.calc_cavity_volume(own_q(run, object));
  run.go(0.8);
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_LT(calc_mechanics(run.model, run.state).momentum.norm(), 1e-12);  // it moves and turns nothing
  const VecX q = own_q(run, object);
  int num_inner = 0, num_outer = 0;
  for (int i = 0; i < static_cast<int>(spec.mesh->vertices.size()); ++i) {
    const double r = body.rest(i).norm(), moved = (SoftBody::node(q, i) - Vec3(0, 0, 1)).norm() - r;
    if (r < a + 1e-9) balloon.inner += moved, ++num_inner;
    if (r > b - 1e-9) balloon.outer += moved, ++num_outer;
  }
  balloon.inner /= num_inner;
  balloon.outer /= num_outer;
  // At rest the elastic energy is half the work p dV of the pressure.
  const double work = pressure * (body.calc_cavity_volume(q) - balloon.cavity);
  EXPECT_NEAR(body.calc_elastic_energy(q), 0.5 * work, 0.02 * work);
  return balloon;
}

// A thick sphere under inner pressure (Lame): u(r) = p a^3 / (E (b^3 - a^3)) ((1 - 2 nu) r + (1 + nu) b^3 /
// (2 r^2)). Its faces are flat, an error of second order, which two meshes tell.
TEST(SoftBodyStep, ABalloonIsAsLargeAsItsPressureMakesIt) {
  const double a = 0.06, b = 0.1, E = 1e5, nu = 0.3, p = 500;
  const Balloon coarse = blow_up(a, b, E, nu, p, 6), fine = blow_up(a, b, E, nu, p, 8);
  const double part = 1.0 / 64 / (1.0 / 36 - 1.0 / 64);
  const auto limit = [&](double Balloon::*of) { return fine.*of + part * (fine.*of - coarse.*of); };
  const auto u = [&](double r) {
    return p * a * a * a / (E * (b * b * b - a * a * a)) *
           ((1 - 2 * nu) * r + (1 + nu) * b * b * b / (2 * r * r));
  };
  const double volume = 4.0 / 3 * kPi * a * a * a;
  EXPECT_NEAR(limit(&Balloon::cavity), volume, 0.02 * volume);
  EXPECT_NEAR(limit(&Balloon::inner), u(a), 0.03 * u(a));
  EXPECT_NEAR(limit(&Balloon::outer), u(b), 0.03 * u(b));
}

SoftBodySpec hollow_ball(double pressure) {
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(make_shell_tets(0.1, 0.08, 6, 1));
  spec.young_modulus = 1e5;
  spec.poisson_ratio = 0.3;
  spec.density = 1000;
  spec.pressure = pressure;
  return spec;
}

// A sealed gas comes to rest where a pump with its pressure would.
TEST(SoftBodyStep, ASealedGasActsAsItsPressure) {
  Scene scene = floor_only(0.5);
  scene.options.gravity.setZero();
  const auto rest = [&](const SoftBodySpec& given) {
    SoftBodySpec spec = given;
    spec.beta = 0.05;
    spec.pose.position.z() = 1;
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    const int object = add(spec, "ball", &run);
    run.go(2);
    EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-6);
    return own_q(run, object);
  };
  SoftBodySpec spec = hollow_ball(4000);
  spec.is_sealed = true;
  spec.pressure_around = 2e4;
  const VecX q = rest(spec);
  const double p = SoftBody(spec).calc_pressure(q);
  EXPECT_LT(p, 3000);  // it grew by a twentieth or more
  EXPECT_GT(p, 500);
  EXPECT_LT((rest(hollow_ball(p)) - q).cwiseAbs().maxCoeff(), 1e-6);
}

// Air is much stiffer than the wall, and its vibration far faster than the step; energy comes from nowhere.
TEST(SoftBodyStep, ABallOfAirBouncesAtLargeSteps) {
  for (const double dt : {0.004, 0.02}) {
    Simulation run(floor_only(0.5), dt, ContactLaw::coulomb);
    SoftBodySpec spec = hollow_ball(0);
    spec.is_sealed = true;
    spec.pose.position.z() = 0.5;
    const int object = add(spec, "ball", &run);
    const Object& o = run.model.objects[object];
    const SoftBody& body = soft_body_of(run.model, object);
    const double volume = body.calc_cavity_volume(own_q(run, object));
    const auto energy = [&] {
      const VecX v = run.state.v.segment(o.dof_begin, o.num_dofs());
      Vec3 moment;
      body.calc_mass(own_q(run, object), &moment);
      return body.calc_kinetic_energy(own_q(run, object), v) + body.calc_elastic_energy(own_q(run, object)) +
             kGravity * moment.z();
    };
    const double start = energy();
    double most = 0, least_volume = kInfinity, highest = 0;
    for (int i = 0; i < static_cast<int>(1 / dt); ++i) {
      run.go(dt);
      most = std::max(most, energy() / start);
      least_volume = std::min(least_volume, body.calc_cavity_volume(own_q(run, object)) / volume);
      if (run.state.time > 0.45) highest = std::max(highest, centre(run, object).z());
    }
    EXPECT_LT(most, 1.001) << dt;
    EXPECT_GT(least_volume, 0.9) << dt;
    EXPECT_GT(highest, dt < 0.01 ? 0.11 : 0.09) << dt;  // it leaves the floor again, where steps are small
  }
}

// A step depends on the state alone: two halves of a run are the whole, bit for bit.
TEST(SoftBodyStep, GoesOnFromASavedState) {
  SoftBodySpec spec = block({0.1, 0.1, 0.1}, {2, 2, 2}, 1e5);
  spec.pose.position.z() = 0.06;
  spec.angular_velocity = {1, 2, 3};
  Simulation whole(floor_only(0.5), 0.01, ContactLaw::coulomb),
      half(floor_only(0.5), 0.01, ContactLaw::coulomb);
  add(spec, "cube", &whole);
  add(spec, "cube", &half);
  half.go(0.25);
  half.workspace = make_workspace(half.model);
  half.go(0.25);
  whole.go(0.5);
  EXPECT_EQ(whole.state.q, half.state.q);
  EXPECT_EQ(whole.state.v, half.state.v);
}

// The same of a solid so large that nodes which are likely to touch the floor are eliminated last: they are
// others in every step while it lands on an edge.
TEST(SoftBodyStep, ALargeOneGoesOnFromASavedState) {
  SoftBodySpec spec = block({0.1, 0.1, 0.1}, {7, 7, 7}, 1e5);
  spec.pose.position.z() = 0.06;
  spec.angular_velocity = {0, 3, 0.5};
  spec.velocity.z() = -0.3;
  Simulation whole(floor_only(0.5), 0.01, ContactLaw::coulomb),
      parts(floor_only(0.5), 0.01, ContactLaw::coulomb);
  const int object = add(spec, "cube", &whole);
  add(spec, "cube", &parts);
  int steps_with_likely = 0;
  for (int i = 0; i < 8; ++i) {
    whole.go(0.02);
    parts.go(0.02);
    ASSERT_EQ(whole.state.q, parts.state.q) << i;
    ASSERT_EQ(whole.state.v, parts.state.v) << i;
    steps_with_likely += !motion_of(whole.model, whole.workspace.motion, object).likely.empty();
    parts.workspace = make_workspace(parts.model);
  }
  EXPECT_GT(steps_with_likely, 3);
}

// What the factor of free motion leaves of nodes on the floor is what a factorization for contacts alone
// leaves of them.
TEST(SoftBodyStep, OneFactorizationServesFreeMotionAndContacts) {
  SoftBodySpec spec = block({0.1, 0.1, 0.1}, {7, 7, 7}, 1e5);
  spec.pose.position.z() = 0.0501;
  Simulation run(floor_only(0.5), 0.01, ContactLaw::coulomb);
  const int object = add(spec, "cube", &run);
  run.go(0.05);
  ObjectMotion& motion = motion_of(run.model, run.workspace.motion, object);
  const std::vector<char> touched = motion.likely;
  ASSERT_EQ(std::count(touched.begin(), touched.end(), 1), 64);
  Condensation shared, own;
  shared.update(motion, touched);
  ASSERT_FALSE(shared.is_whole());
  const std::vector<int> blocks = shared.blocks();
  const MatX S = shared.matrix().dense();
  VecX x = VecX::Random(motion.factor.matrix.num_rows()), y = x;
  shared.extend(x.data());
  motion.likely.clear();
  own.update(motion, touched);
  own.extend(y.data());
  EXPECT_EQ(own.blocks(), blocks);
  EXPECT_LT((own.matrix().dense() - S).norm(), 1e-12 * S.norm());
  EXPECT_LT((x - y).norm(), 1e-10 * y.norm());
}

}  // namespace
}  // namespace capstan::soft_body_test
