// Torsional and rolling friction, against arithmetic: how far a ball rolls, how long it spins, on which slope
// it stays; in every law and at time steps of 1 to 10 ms.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"

namespace capstan::turning_test {
namespace {

using namespace test;

constexpr double kRadius = 0.05, kInertia = 0.4 * kRadius * kRadius;  // of 1 kg
constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};
constexpr ContactLaw kAllLaws[] = {ContactLaw::coulomb, ContactLaw::lagged, ContactLaw::regularized_lagged,
                                   ContactLaw::similar, ContactLaw::sap};

// A ball of 1 kg that rests on a plane; only the ball's material has friction against turning.
Scene ball_on_plane(double torsional, double rolling) {
  Scene scene;
  Material ball;
  ball.name = "ball";
  ball.torsional_friction = torsional;
  ball.rolling_friction = rolling;
  Material plane;
  plane.name = "plane";
  scene.materials = {ball, plane};
  scene.bodies = {free_body("ball", {0, 0, kRadius - 2 * kGravity / 1e6})};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{kRadius}, 1)};
  scene.shapes[0].material = "plane";
  scene.shapes[1].material = "ball";
  return scene;
}

double energy(const Simulation& run) {
  return calc_mechanics(run.model, run.state).kinetic;
}

// (m + I / R^2) dv/dt = -c m g / R
TEST(Turning, ABallRollsForItsStoppingDistanceAndStays) {
  const double c = 2e-3, speed = 0.5, deceleration = c * kGravity / kRadius / 1.4;
  const double distance = speed * speed / (2 * deceleration), time = speed / deceleration;
  for (const ContactLaw law : kAllLaws) {
    for (const double dt : kSteps) {
      Simulation run(ball_on_plane(0, c), dt, law);
      run.state.v[0] = speed;
      run.state.v[4] = speed / kRadius;
      run.go(0.5 * time);
      EXPECT_NEAR(run.state.v[0], speed - deceleration * run.state.time, 0.01 * speed) << dt;
      run.go(0.6 * time);
      const double at_rest = run.state.q[0];
      EXPECT_NEAR(at_rest, distance, 0.004 * distance + speed * dt) << traits(law).name << " " << dt;
      run.go(1);
      EXPECT_NEAR(run.state.q[0], at_rest, 1e-9) << traits(law).name << " " << dt;
      EXPECT_LT(run.state.v.norm(), 1e-9) << traits(law).name << " " << dt;
    }
  }
}

// Friction is the same in every direction: a ball rolls straight on, and its path turns with that direction.
TEST(Turning, RollingFrictionHasNoDirection) {
  const double c = 2e-3, speed = 0.3;
  double first = 0;
  for (const double angle : {0.0, 0.4, 1.0, 2.5}) {
    Simulation run(ball_on_plane(1e-3, c), 0.005, ContactLaw::coulomb);
    const Vec3 u(std::cos(angle), std::sin(angle), 0);
    run.state.v.head<3>() = speed * u;
    run.state.v.segment<3>(3) = speed / kRadius * Vec3(-u.y(), u.x(), 0);
    run.go(2);
    const Vec3 way(run.state.q[0], run.state.q[1], 0);
    EXPECT_NEAR(cross(way, u).z(), 0, 1e-6) << angle;
    if (angle == 0) first = way.norm();
    EXPECT_NEAR(way.norm(), first, 1e-6) << angle;
  }
}

// I dw/dt = -c m g
TEST(Turning, ASpinningBallStopsInTime) {
  const double c = 2e-3, spin = 20, deceleration = c * kGravity / kInertia, time = spin / deceleration;
  for (const ContactLaw law : kAllLaws) {
    for (const double dt : kSteps) {
      Simulation run(ball_on_plane(c, 0), dt, law);
      run.state.v[5] = spin;
      run.go(0.5 * time);
      // Laws that neither lag nor find bounds take them from the depth before the step: none in the first.
      const bool is_late = !traits(law).lags && !traits(law).finds_bounds;
      EXPECT_NEAR(run.state.v[5], spin - deceleration * run.state.time,
                  1e-3 * spin + (is_late ? 1.5 * deceleration * dt : 0))
          << traits(law).name << " " << dt;
      run.go(0.5 * time + 2 * dt);
      EXPECT_LT(std::abs(run.state.v[5]), 1e-4) << traits(law).name << " " << dt;
      EXPECT_LT(run.state.v.head<3>().norm(), 1e-6);
    }
  }
}

// On a slope below c / R a ball stays, above it rolls down at g (sin - c cos / R) / 1.4.
TEST(Turning, ASlopeHoldsAMarble) {
  const double c = 5e-3;
  for (const ContactLaw law : kAllLaws) {
    for (const double dt : kSteps) {
      for (const double part : {0.8, 1.2}) {
        const double slope = std::atan(part * c / kRadius);
        Scene scene = ball_on_plane(0, c);
        scene.options.gravity = kGravity * Vec3(std::sin(slope), 0, -std::cos(slope));
        Simulation run(scene, dt, law);
        run.go(0.5);
        const double q0 = run.state.q[0], v0 = run.state.v[0];
        run.go(1);
        if (part < 1) {
          // It creeps at max(1e-6 m/s, sigma w mu n0) q / sqrt(1 - q^2); the second, 5e-6 m/s at 10 ms, is of
          // the laws with sigma.
          EXPECT_LT(std::abs(run.state.q[0] - q0), 1e-5) << traits(law).name << " " << dt;
        } else {
          const double a = kGravity * (std::sin(slope) - c / kRadius * std::cos(slope)) / 1.4;
          EXPECT_NEAR(run.state.v[0] - v0, a, 0.01 * a) << traits(law).name << " " << dt;
        }
      }
    }
  }
}

// Two balls that spin against each other, pressed together: the torques on them are opposite, and the
// relative spin falls by c f (1 / I_a + 1 / I_b).
TEST(Turning, BallsThatSpinAgainstEachOtherKeepTheirAngularMomentum) {
  const double c = 1e-3, force = 10, dt = 0.002;
  for (const ContactLaw law : kAllLaws) {
    Scene scene = ball_on_plane(c, 1e-3);
    scene.options.gravity.setZero();
    scene.bodies = {free_body("a", {0, 0, 0}), free_body("b", {2 * kRadius - 1e-5, 0, 0})};
    scene.shapes = {make_shape("a", "a", Sphere{kRadius}, 1), make_shape("b", "b", Sphere{kRadius}, 2)};
    for (ShapeInstance& shape : scene.shapes) shape.material = "ball";
    Simulation run(scene, dt, law);
    run.state.v[3] = 10;
    run.state.v[10] = 1;  // about y
    double last = kInfinity;
    const auto angular_momentum = [&] {
      return Vec3(calc_mechanics(run.model, run.state).momentum.head<3>());
    };
    const Vec3 before = angular_momentum();
    for (int i = 0; i < 250; ++i) {
      run.input.body_forces.clear();
      for (int body = 1; body <= 2; ++body) {
        const Vec3 p = run.state.q.segment<3>(7 * (body - 1));
        const Vec3 between = (run.state.q.segment<3>(7) - run.state.q.head<3>()).normalized();
        run.input.body_forces.push_back({body, p, (body == 1 ? force : -force) * between, Vec3::Zero()});
      }
      run.go(dt);
      const double relative = run.state.v[3] - run.state.v[9];
      EXPECT_LE(std::abs(relative), last + 1e-12);
      last = std::abs(relative);
    }
    EXPECT_LT((angular_momentum() - before).norm(), 1e-9) << traits(law).name;
    const double rate = c * force * (1 / kInertia + 0.5 / kInertia);
    EXPECT_NEAR(last, 10 - 0.5 * rate, 0.15) << traits(law).name;
  }
}

TEST(Turning, EnergyNeverGrows) {
  for (const ContactLaw law : kAllLaws) {
    if (traits(law).glides) continue;  // they lift what begins to slide
    for (const double dt : kSteps) {
      Simulation run(ball_on_plane(1e-3, 1e-3), dt, law);
      run.go(0.2);
      run.state.v[0] = 1;
      run.state.v[1] = -0.3;
      run.state.v[3] = 8;
      run.state.v[5] = 30;
      double last = energy(run);
      for (int i = 0; i < 1 / dt; ++i) {
        run.go(dt);
        EXPECT_LE(energy(run), last * (1 + 1e-9) + 1e-12) << traits(law).name << " " << dt << " " << i;
        last = energy(run);
      }
    }
  }
}

// The judge, which computes with links, agrees with the solver, which computes with groups; and torques are
// told with the forces of their points.
TEST(Turning, ForcesAndJudgeTellTheTorques) {
  const double torsional = 2e-3, rolling = 1e-3;
  for (const ContactLaw law : kAllLaws) {
    Simulation run(ball_on_plane(torsional, rolling), 0.002, law);
    run.go(0.2);
    run.state.v[0] = 0.5;
    run.state.v[4] = 0.5 / kRadius;
    run.state.v[5] = 10;
    run.go(0.05);
    const Residual residual =
        calc_residual(run.workspace.problem, run.workspace.contacts, answer(run.workspace));
    EXPECT_LT(residual.momentum, 1e-4);
    EXPECT_LT(residual.law, 1e-6);
    EXPECT_LT(residual.friction_gain, 1e-12);
    const double power = rolling * kGravity * 10 + torsional * kGravity * run.state.v[5];
    EXPECT_NEAR(residual.dissipated_power, power, 0.03 * power);
    std::vector<ContactForce> forces;
    calc_contact_forces(run.workspace, &forces);
    ASSERT_EQ(forces.size(), 1u);
    EXPECT_EQ(run.report.contacts, 1);
    const double n = forces[0].normal_force;
    EXPECT_NEAR(forces[0].torque_W.y(), -rolling * n, 1e-3 * rolling * n) << traits(law).name;
    EXPECT_NEAR(forces[0].torque_W.z(), -torsional * n, 1e-3 * torsional * n) << traits(law).name;
    std::vector<BodyPairForce> pairs;
    sum_contact_forces(run.model, forces, &pairs);
    EXPECT_NEAR(pairs.at(0).torque_W.z(),
                forces[0].torque_W.z() + cross(forces[0].p_W, forces[0].force_W()).z(), 1e-12);
  }
}

// A disc that turns in its plane under the ball takes it along.
TEST(Turning, ATurntableSpinsABall) {
  Scene scene = ball_on_plane(2e-3, 0);
  scene.shapes[0].surface_spin = {0, 0, 5};
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  run.go(1);
  EXPECT_NEAR(run.state.v[5], 5, 1e-3);
}

// The larger of two materials' lengths counts; a pair says otherwise.
TEST(Turning, ThePairDecides) {
  Scene scene = ball_on_plane(2e-3, 1e-3);
  scene.materials[1].rolling_friction = 3e-3;
  PairOverride pair;
  pair.a = "ball";
  pair.b = "plane";
  pair.torsional_friction = 7e-3;
  ContactMaterial m = combine_materials(compile(scene), 0, 1);
  EXPECT_EQ(m.torsional_friction, 2e-3);
  EXPECT_EQ(m.rolling_friction, 3e-3);
  scene.pairs = {pair};
  m = combine_materials(compile(scene), 0, 1);
  EXPECT_EQ(m.torsional_friction, 7e-3);
  EXPECT_EQ(m.rolling_friction, 3e-3);
}

// A ball that bounces straight up and spins loses c (1 + e) m u / I of its spin at each impact.
TEST(Turning, AnImpactTakesSpin) {
  const double c = 1e-3, e = 0.5, height = 0.1, speed = std::sqrt(2 * kGravity * height);
  Scene scene = ball_on_plane(c, 0);
  scene.materials[0].restitution = e;
  scene.bodies[0].pose.position.z() = kRadius + height;
  Simulation run(scene, 0.001, ContactLaw::coulomb);
  run.state.v[5] = 100;
  run.go(0.2);
  const double lost = c * (1 + e) * speed / kInertia;
  EXPECT_NEAR(100 - run.state.v[5], lost, 0.02 * lost);
}

// The models of rigid contact have it, with bounds of the last normal impulse.
TEST(Turning, RigidModelsHaveIt) {
  const double c = 2e-3, spin = 20, speed = 0.5, dt = 0.005;
  for (const RigidModelTraits& traits : kRigidModels) {
    const RigidModel id = static_cast<RigidModel>(&traits - kRigidModels.data());
    if (id == RigidModel::frictionless) continue;
    Simulation run(ball_on_plane(c, c), dt, ContactLaw::coulomb);
    run.options.rigid.is_on = true;
    run.options.rigid.options.model = id;
    run.go(0.1);
    run.state.v[0] = speed;
    run.state.v[4] = speed / kRadius;
    run.state.v[5] = spin;
    const double time = 0.3;
    run.go(time);
    EXPECT_NEAR(run.state.v[5], spin - c * kGravity / kInertia * time, 0.02 * spin) << traits.name;
    if (id == RigidModel::viscous || id == RigidModel::viscous_explicit) continue;  // they never hold
    EXPECT_NEAR(run.state.v[4] * kRadius, speed - c * kGravity / kRadius / 1.4 * time, 0.02 * speed)
        << traits.name;
    run.go(2.5);
    EXPECT_LT(run.state.v.norm(), 1e-6) << traits.name;
  }
}

}  // namespace
}  // namespace capstan::turning_test
