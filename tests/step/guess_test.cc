// The solver looks first where the motion goes on as in the step before (State::a): it changes how many
// iterations a step takes, and nothing else.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/contact_simulation.h"

namespace capstan::guess_test {
namespace {

using test::kGravity;
using test::Simulation;

// A ball on a slope of `angle`, which gravity tilts.
Scene ball_on_slope(double angle) {
  Scene scene = test::box_on_plane(1, 1e6);
  scene.shapes[1].shape = Sphere{0.05};
  scene.options.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
  return scene;
}

struct Outcome {
  Simulation simulation;
  int iterations = 0;
};
// Without `guesses`, each step forgets the acceleration before it.
Outcome run(const Scene& scene, double dt, int num_steps, bool guesses) {
  Outcome r{{scene, dt, ContactLaw::regularized_lagged}};
  Simulation& s = r.simulation;
  for (int i = 0; i < num_steps; ++i) {
    if (!guesses) s.state.a.resize(0);
    s.report = step(s.model, s.options, {}, &s.state, &s.workspace);
    EXPECT_LE(s.report.solver.momentum_residual, 1e-5);
    r.iterations += s.report.solver.iterations;
  }
  return r;
}

// Its height swings by what the tolerance lets it, which no guess foresees: some steps do need an iteration.
TEST(Guess, ABallThatRollsDownASlopeNeedsFewerIterations) {
  const double angle = 0.3, dt = 0.005;
  const int n = 200;
  const Outcome with = run(ball_on_slope(angle), dt, n, true),
                without = run(ball_on_slope(angle), dt, n, false);
  EXPECT_LT(with.iterations, 3 * n / 4);
  EXPECT_GE(without.iterations, n - 20);
  const double speed = 5.0 / 7 * kGravity * std::sin(angle) * n * dt;
  EXPECT_NEAR(with.simulation.state.v[0], speed, 1e-3 * speed);
  EXPECT_NEAR(without.simulation.state.v[0], speed, 1e-3 * speed);
}

TEST(Guess, TheAccelerationIsThatOfTheStep) {
  Simulation s(ball_on_slope(0.3), 0.005, ContactLaw::regularized_lagged);
  EXPECT_TRUE(s.state.a.isZero(0));
  for (int i = 0; i < 20; ++i) {
    const VecX before = s.state.v;
    step(s.model, s.options, {}, &s.state, &s.workspace);
    EXPECT_EQ(s.state.a, (s.state.v - before) / 0.005);
  }
  EXPECT_NEAR(s.state.a[0], 5.0 / 7 * kGravity * std::sin(0.3), 1e-2);
}

// A guess that is nonsense costs an evaluation, and no digit.
TEST(Guess, AWrongOneIsNotFollowed) {
  for (const double wrong : {1e3, -1e6, std::nan("")}) {
    Simulation a(test::falling_heap(12), 0.005, ContactLaw::regularized_lagged);
    a.go(0.4);
    State state = a.state;
    state.a.resize(0);
    Workspace fresh = make_workspace(a.model);
    step(a.model, a.options, {}, &state, &fresh);
    a.state.a.setConstant(wrong);
    step(a.model, a.options, {}, &a.state, &a.workspace);
    EXPECT_EQ(a.state.v, state.v) << wrong;
    EXPECT_EQ(a.state.q, state.q) << wrong;
  }
}

// Of three heaps together: what a single one needs while it settles is a matter of chance.
TEST(Guess, AHeapAtRestIsFoundWithFewerIterations) {
  const int n = 600;
  int with_guess = 0, without_guess = 0;
  for (const int count : {16, 24, 32}) {
    const Outcome with = run(test::falling_heap(count), 0.01, n, true),
                  without = run(test::falling_heap(count), 0.01, n, false);
    with_guess += with.iterations;
    without_guess += without.iterations;
    // Both came to rest, but for balls that roll and spin on the floor, which nothing brakes.
    for (const Outcome* r : {&with, &without})
      EXPECT_LT(calc_mechanics(r->simulation.model, r->simulation.state).kinetic, 0.1) << count;
  }
  EXPECT_LT(with_guess, without_guess);
}

TEST(Guess, AccelerationsOfAnotherModelAreRefused) {
  Simulation s(ball_on_slope(0.3), 0.005, ContactLaw::regularized_lagged);
  s.state.a = VecX::Zero(3);
  EXPECT_THROW(step(s.model, s.options, {}, &s.state, &s.workspace), InputError);
}

}  // namespace
}  // namespace capstan::guess_test
