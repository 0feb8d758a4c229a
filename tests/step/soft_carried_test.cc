// Soft bodies that sleep and wake, and soft bodies that a mocap body carries: its nodes go where that goes,
// whatever acts on them, and the rest of the solid feels how it moves. All against arithmetic.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "capstan/math/rotation.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/mocap.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::soft_carried_test {
namespace {

using namespace test;

constexpr double kSteps[] = {0.001, 0.005, 0.01};

Scene cube_and_ball() {
  return scene_of(R"(
options: {sleep: true}
materials: [{name: default, friction: 0.5}]
shapes: [{type: plane}]
bodies:
  - {name: lid, position: [0, 0, 0.111], joint: free, shape: {type: box, size: [0.08, 0.08, 0.02], mass: 0.5}}
  - {name: ball, position: [-0.4, 0, 0.05], joint: free, shape: {type: sphere, radius: 0.05, mass: 1}}
soft_bodies:
  - {name: cube, box: {size: [0.1, 0.1, 0.1], cells: [3, 3, 3]}, position: [0, 0, 0.0505], young_modulus: 1e5,
     poisson_ratio: 0.3, density: 1000, damping: {beta: 0.02}}
)");
}

// A cube under a lid falls asleep and keeps every bit; a ball that is thrown rolls to it and wakes both, in a
// step that is the one that would have been made had they never slept.
TEST(SoftCarried, ACubeSleepsUntilABallHitsIt) {
  for (const double dt : kSteps) {
    Simulation run(cube_and_ball(), dt, ContactLaw::coulomb);
    run.options = step_options(run.model);
    run.options.dt = dt;
    ASSERT_TRUE(run.options.sleep.on);
    run.go(0.4);
    EXPECT_EQ(run.report.asleep, 0) << "sooner than it may";
    while (run.state.time < 4 && run.report.asleep < 3) run.go(dt);
    std::printf("%g ms: all sleep at %.3f s\n", 1e3 * dt, run.state.time);
    ASSERT_EQ(run.report.asleep, 3) << dt;
    const VecX q = run.state.q;
    run.go(0.5);
    EXPECT_EQ(run.state.q, q);
    EXPECT_TRUE(run.state.v.isZero(0));
    EXPECT_EQ(run.report.contacts, 0) << "contacts of what sleeps cost nothing";

    const int ball = run.model.joints[run.model.find_joint("ball")].v;
    run.state.v[ball] = 1;             // [m/s]
    run.state.v[ball + 4] = 1 / 0.05;  // it rolls
    bool wakes = false;
    for (int i = 0; i < 1 / dt && !wakes; ++i) {
      StepOptions awake = run.options;
      awake.sleep.on = false;
      Workspace workspace = make_workspace(run.model);
      State expected = run.state;
      expected.rest.clear();
      const bool slept = run.report.asleep > 0 || i == 0;
      step(run.model, awake, run.input, &expected, &workspace);
      run.go(dt);
      wakes = slept && run.report.asleep == 0;
      if (!wakes) continue;
      std::printf("  they wake at %.3f s, the cube then has %.1e m/s\n", run.state.time,
                  run.state.v.tail(run.model.objects.back().num_dofs()).cwiseAbs().maxCoeff());
      EXPECT_EQ(run.state.q, expected.q) << dt;
      EXPECT_EQ(run.state.v, expected.v) << dt;
    }
    ASSERT_TRUE(wakes) << dt;
    run.go(0.05);
    const Mechanics m = calc_mechanics(run.model, run.state);
    EXPECT_GT(m.center_of_mass.x(), -0.16) << "the ball, 1 kg of 2.5 kg, got as far as the cube";
    run.go(2);
    EXPECT_EQ(run.report.asleep, 2) << dt;  // again, all but the ball, which rolls back for ever
  }
}

constexpr double kLength = 0.4, kModulus = 1e5, kDensity = 1000;

// A bar of 0.1 x 0.1 x 0.4 m along its own z, whose upper end a hand of the world holds: in its frame
// [0, 0, 0]. Without Poisson's ratio it is a bar of one dimension.
Scene held_bar(bool weight, double rpy_y, double speed) {
  return scene_of(fmt::format(R"(
options: {{gravity: [0, 0, {}]}}
bodies: [{{name: hand, mocap: true}}]
soft_bodies:
  - {{name: bar, box: {{size: [0.1, 0.1, 0.4], cells: [2, 2, 8]}}, position: [{}, 0, {}], rpy: [0, {}, 0],
     young_modulus: 1e5, poisson_ratio: 0, density: 1000, damping: {{beta: 0.1}}, velocity: [{}, 0, 0],
     attach: [{{body: hand, box: {{centre: [0, 0, 0.2], size: [0.2, 0.2, 1e-3]}}}}]}}
)",
                              weight ? -kGravity : 0.0, rpy_y == 0 ? 0 : 0.2, rpy_y == 0 ? -0.2 : 0, rpy_y,
                              speed));
}

void go(Simulation* run, double dt, double until, const std::function<Transform(double)>& pose) {
  while (run->state.time < until - 1e-9) {
    const double t = run->state.time + dt;
    aim_mocap(run->model, run->state, run->model.find_body("hand"), pose(t), dt, &run->input);
    run->go(dt);
  }
}

// How far the centre of mass is below where it is without a weight: rho a L^2 / 3 E.
TEST(SoftCarried, AHandLiftsABarWithAcceleration) {
  for (const double dt : kSteps) {
    for (const double a : {0.0, 5.0, -5.0}) {
      const double v = 0.3;  // [m/s] sideways, which is nothing to it
      Simulation run(held_bar(true, 0, v), dt, ContactLaw::coulomb);
      go(&run, dt, 2, [&](double t) { return Transform{Mat3::Identity(), Vec3(v * t, 0, 0.5 * a * t * t)}; });
      const Vec3 hand(v * 2, 0, 0.5 * a * 4);
      const Vec3 sag = calc_mechanics(run.model, run.state).center_of_mass - hand + Vec3(0, 0, kLength / 2);
      const double exact = kDensity * (kGravity + a) * kLength * kLength / (3 * kModulus);
      std::printf("%g ms, %+g m/s^2: sags by %.5f mm, exact %.5f, sideways %.5f mm\n", 1e3 * dt, a,
                  -1e3 * sag.z(), 1e3 * exact, 1e3 * sag.x());
      EXPECT_NEAR(-sag.z(), exact, 0.01 * exact) << dt << ", " << a;
      EXPECT_NEAR(sag.x(), 0, 1e-4) << dt << ", " << a;
    }
  }
}

// A bar that a hand turns about one of its ends gets longer: with the displacement u, u'' = -k / L^2 (x + u),
// u(0) = 0, u'(L) = 0 and k = s^2 = rho w^2 L^2 / E. So x + u = L sin(s x / L) / (s cos s).
TEST(SoftCarried, AHandSwingsABar) {
  const double w = 3;  // [rad/s]
  for (const double dt : kSteps) {
    Simulation run(held_bar(false, -M_PI / 2, 0), dt, ContactLaw::coulomb);
    go(&run, dt, 4, [&](double t) {
      const double angle = t < 1 ? w * t * t * t * (1 - 0.5 * t) : w * (t - 0.5);
      return Transform{rotation_matrix(quat_exp(Vec3(0, 0, angle))), Vec3::Zero()};
    });
    const Vec3 centre = calc_mechanics(run.model, run.state).center_of_mass;
    const double angle = w * 3.5, k = kDensity * w * w * kLength * kLength / kModulus;
    const double s = std::sqrt(k), exact = kLength * (1 - std::cos(s)) / (k * std::cos(s));
    const Vec3 along(std::cos(angle), std::sin(angle), 0);
    const double across = cross(along, centre).z();
    std::printf("%g ms: centre of mass at %.5f m, exact %.5f (at rest %.5f), behind by %.2e rad\n", 1e3 * dt,
                along.dot(centre), exact, kLength / 2, -across / centre.norm());
    EXPECT_NEAR(along.dot(centre) - kLength / 2, exact - kLength / 2, 0.03 * (exact - kLength / 2)) << dt;
    EXPECT_NEAR(across, 0, 2e-3 * kLength) << dt;
    EXPECT_NEAR(centre.z(), 0, 1e-4) << dt;
  }
}

}  // namespace
}  // namespace capstan::soft_carried_test
