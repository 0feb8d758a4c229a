// Soft bodies against the theory of bars and solids: vibration and what each integrator makes of it, twist,
// and volume near incompressibility.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_soft_body.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_solid_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

// A bar of length 0.2 m along z, fixed at its lower end, that swings lengthwise in its first mode: without
// lateral strain (nu = 0) at w = pi c / (2 L), c = sqrt(E / rho).
constexpr double kLength = 0.2, kModulus = 1e5, kDensity = 1000;
constexpr double kSpeed = 10;  // [m/s] of sound
constexpr double kFrequency = kPi * kSpeed / (2 * kLength);

struct Bar {
  Simulation run;
  Bar(Integrator integrator, double dt, Elasticity elasticity = Elasticity::linear_corotational)
      : run(without_gravity(), dt, ContactLaw::coulomb) {
    SoftBodySpec spec;
    spec.mesh = std::make_shared<const TetMesh>(make_box_tets({0.02, 0.02, kLength}, {1, 1, 20}));
    spec.young_modulus = kModulus;
    spec.poisson_ratio = 0;
    spec.density = kDensity;
    spec.elasticity = elasticity;
    spec.fixed.push_back({false, {0, 0, -kLength / 2}, {1, 1, 1e-6}, 0});
    auto body = std::make_shared<SoftBody>(spec);
    add_soft_body("bar", body, 0, &run.model);
    run.state = initial_state(run.model);
    run.workspace = make_workspace(run.model);
    run.options.integrator = integrator;
    for (int i = 0; i < body->num_nodes(); ++i) {
      const double s = body->rest(i).z() + kLength / 2;
      run.state.v[3 * i + 2] = 1e-3 * std::sin(kPi * s / (2 * kLength));
    }
  }
  static Scene without_gravity() {
    Scene scene = box_on_plane(0.5, 1e6);
    scene.bodies.clear();
    scene.shapes.clear();
    scene.options.gravity.setZero();
    return scene;
  }
  double tip() const { return run.state.v[run.state.v.size() - 1]; }
  double energy() const { return calc_mechanics(run.model, run.state).total(); }
};

TEST(SoftSolid, ABarSwingsAtItsFrequency) {
  for (const Elasticity elasticity :
       {Elasticity::linear_corotational, Elasticity::neo_hookean, Elasticity::saint_venant_kirchhoff}) {
    const double dt = 0.0005;
    Bar bar(Integrator::midpoint, dt, elasticity);
    double first = 0, last = 0, before = bar.tip();
    int crossings = 0;
    while (bar.run.state.time < 0.4) {
      bar.run.go(dt);
      const double now = bar.tip();
      if (before * now < 0) {
        last = bar.run.state.time - dt * now / (now - before);
        if (++crossings == 1) first = last;
      }
      before = now;
    }
    ASSERT_GT(crossings, 5);
    const double w = kPi * (crossings - 1) / (last - first);
    EXPECT_NEAR(w, kFrequency, 0.01 * kFrequency) << static_cast<int>(elasticity);
  }
}

// An oscillator of w loses by backward Euler all but 1 / (1 + w^2 dt^2) of its energy in a step; midpoint
// and, below its limit of stability, symplectic Euler lose nothing.
TEST(SoftSolid, IntegratorsDampAsTheyDampAnOscillator) {
  const int steps = 200;
  const double dt = 0.001, factor = 1 / (1 + kFrequency * kFrequency * dt * dt);
  for (const Integrator integrator : {Integrator::semi_implicit, Integrator::implicit_euler}) {
    Bar bar(integrator, dt);
    const double before = bar.energy();
    bar.run.go(steps * dt);
    EXPECT_NEAR(std::log(bar.energy() / before) / steps, std::log(factor), -0.03 * std::log(factor));
  }
  {
    Bar bar(Integrator::midpoint, dt);
    const double before = bar.energy();
    bar.run.go(steps * dt);
    EXPECT_NEAR(bar.energy(), before, 1e-3 * before);
  }
  {
    const double small = 1e-4;
    Bar bar(Integrator::symplectic_euler, small);
    const double before = bar.energy();
    bar.run.go(0.2);
    EXPECT_NEAR(bar.energy(), before, 2 * kFrequency * small * before);
  }
}

// The angle at the end of a square bar under a torque.
double calc_twist(double a, double length, double E, double nu, double torque) {
  Scene scene = Bar::without_gravity();
  Body plate;
  plate.name = "plate";
  plate.pose.position = {0, 0, 1 + length / 2};
  Joint joint;
  joint.name = "turn";
  joint.type = JointType::revolute;
  joint.axis = Vec3(0, 0, 1);
  plate.joints = {joint};
  scene.bodies.push_back(plate);
  scene.shapes.push_back(make_shape("plate", "plate", Box{{0.05, 0.05, 0.005}}, 0.02));
  scene.shapes.back().collides = false;
  SoftBodySpec bar;
  bar.name = "bar";
  bar.mesh = std::make_shared<const TetMesh>(
      make_box_tets({a, a, length}, {2, 2, static_cast<int>(std::lround(2 * length / a))}));
  bar.element = SoftElement::quadratic;
  bar.young_modulus = E;
  bar.poisson_ratio = nu;
  bar.density = 1000;
  bar.alpha = 20;
  bar.beta = 0.02;
  bar.pose.position.z() = 1;
  bar.fixed.push_back({false, {0, 0, -length / 2}, {1, 1, 1e-6}, 0});
  SoftAttachment attachment;
  attachment.region = {false, {0, 0, length / 2}, {1, 1, 1e-6}, 0};
  attachment.body = "plate";
  bar.attachments = {attachment};
  scene.soft_bodies = {bar};
  Simulation run(scene, 0.02, ContactLaw::coulomb);
  run.input.generalized_force = VecX::Zero(run.state.v.size());
  run.input.generalized_force[0] = torque;
  run.go(2);
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-3);
  return run.state.q[0];
}

// A square bar under a torque T turns by T L / (G J), J = 0.1406 a^4. Ends that cannot warp make it as stiff
// as a shorter one: by the same length for any L, which the difference of two does not have. Two quadratic
// elements over the width are 4 % too stiff.
TEST(SoftSolid, ABarTwistsUnderATorque) {
  const double a = 0.02, E = 1e6, nu = 0.3, angle = 0.1;
  const double torque = angle * E / (2 * (1 + nu)) * 0.1406 * a * a * a * a / 0.1;
  const double longer = calc_twist(a, 0.16, E, nu, torque), shorter = calc_twist(a, 0.06, E, nu, torque);
  EXPECT_LT(longer, 1.6 * angle);
  EXPECT_NEAR(longer - shorter, angle, 0.05 * angle);
  EXPECT_LT(longer - shorter, angle);
}

// Under its own weight on a smooth floor a cube has the mean pressure rho g L / 6 in all directions (a third
// of the stress along z): its volume is less by (1 - 2 nu) rho g L / (2 E).
TEST(SoftSolid, VolumeNearIncompressibility) {
  const double E = 2e4, rho = 1000, size = 0.1;
  for (const double nu : {0.45, 0.49}) {
    Scene scene = box_on_plane(0, 1e8);
    scene.bodies.clear();
    scene.shapes.resize(1);
    scene.materials[0].stiffness.reset();
    Simulation run(scene, 0.01, ContactLaw::coulomb);
    SoftBodySpec spec;
    spec.mesh = std::make_shared<const TetMesh>(make_box_tets({size, size, size}, {3, 3, 3}));
    spec.element = SoftElement::quadratic;
    spec.elasticity = Elasticity::neo_hookean;
    spec.young_modulus = E;
    spec.poisson_ratio = nu;
    spec.density = rho;
    spec.alpha = 10;
    spec.beta = 0.02;
    spec.pose.position.z() = 0.0505;
    auto body = std::make_shared<SoftBody>(spec);
    const int id = add_soft_body("cube", body, 0, &run.model);
    run.state = initial_state(run.model);
    run.workspace = make_workspace(run.model);
    run.go(2.5);
    const Object& object = run.model.objects[id];
    const double volume =
        body->calc_strain(run.state.q.segment(object.q_begin, object.num_positions())).volume;
    const double exact = (1 - 2 * nu) * rho * kGravity * size / (2 * E);
    const double lost = 1 - volume / body->rest_volume();
    std::printf("nu %.2f: volume %.3f %% less, exact %.3f %%\n", nu, 100 * lost, 100 * exact);
    EXPECT_NEAR(lost, exact, 0.02 * exact) << nu;
  }
}

}  // namespace
}  // namespace capstan::soft_solid_test
