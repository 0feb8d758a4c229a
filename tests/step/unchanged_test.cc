// What is not computed again has the very bits it would get: each run beside its plain twin, which forgets
// everything before each step.
#include "capstan/step/unchanged.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/contact_simulation.h"

namespace capstan::unchanged_test {
namespace {

using test::Simulation;

// Cubes in a row on a plane, the last two one on the other; a ball rolls towards the first.
constexpr int kBoxes = 8;
Scene row_of_boxes() {
  Scene scene = test::box_on_plane(0.5, 1e5);
  scene.bodies.clear();
  scene.shapes.resize(1);
  for (int i = 0; i < kBoxes; ++i) {
    const std::string name = "box" + std::to_string(i);
    const bool on_top = i == kBoxes - 1;
    scene.bodies.push_back(test::free_body(name, {0.2 * (on_top ? i - 1 : i), 0, on_top ? 0.15 : 0.05}));
    scene.shapes.push_back(test::make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
  }
  scene.bodies.push_back(test::free_body("ball", {-1, 0.01, 0.05}));
  scene.shapes.push_back(test::make_shape("ball", "ball", Sphere{0.05}, 1));
  return scene;
}

Simulation simulate(const Scene& scene) {
  return {scene, 0.005, ContactLaw::regularized_lagged};
}

void roll(Simulation* s, double speed) {
  const int v = s->model.joints[s->model.find_joint("ball")].v;
  s->state.v.segment<6>(v) << speed, 0, 0, 0, speed / 0.05, 0;
}

// How many answers were kept in all of the steps.
int run_beside_twin(const Scene& scene, int num_steps, int threads,
                    const std::function<void(int, Simulation*)>& act = {}) {
  Simulation a = simulate(scene), b = simulate(scene);
  a.options.threads = threads;
  int kept = 0;
  for (int i = 0; i < num_steps; ++i) {
    b.workspace.unchanged.is_valid = false;
    for (Simulation* s : {&a, &b}) {
      if (act) act(i, s);
      s->report = step(s->model, s->options, s->input, &s->state, &s->workspace);
    }
    kept += a.report.reused;
    EXPECT_EQ(b.report.reused, 0);
    const bool same = a.state.q == b.state.q && a.state.v == b.state.v &&
                      a.workspace.newton.impulse == b.workspace.newton.impulse &&
                      a.workspace.contacts.distance == b.workspace.contacts.distance &&
                      a.report.solver.momentum_residual == b.report.solver.momentum_residual &&
                      a.report.solver.islands == b.report.solver.islands &&
                      a.report.solver.rounds == b.report.solver.rounds &&
                      a.report.judge.momentum == b.report.judge.momentum &&
                      a.report.judge.cost == b.report.judge.cost;
    EXPECT_TRUE(same) << "step " << i << " " << (a.state.v - b.state.v).norm();
    if (!same) break;
  }
  return kept;
}

TEST(Unchanged, BoxesAtRestAreKeptAndHaveTheBitsOfTheTwin) {
  for (const int threads : {1, 2}) EXPECT_GT(run_beside_twin(row_of_boxes(), 300, threads), 200 * kBoxes);
}

TEST(Unchanged, ABallThatComesIsFeltByThoseItMeets) {
  for (const double speed : {0.5, 3.0, 30.0}) {
    const int kept = run_beside_twin(row_of_boxes(), 500, 1, [&](int i, Simulation* s) {
      if (i == 100) roll(s, speed);
    });
    EXPECT_GT(kept, 80 * kBoxes) << speed;
    EXPECT_LT(kept, 499 * (kBoxes + 1) - 100) << speed << ": the ball met nobody";
  }
}

TEST(Unchanged, AHeapThatFallsHasTheBitsOfTheTwin) {
  EXPECT_GT(run_beside_twin(test::falling_heap(16), 800, 1), 100);
}

// Every thing that may change between two steps, in one of them only.
TEST(Unchanged, WhateverChangesIsSeen) {
  const auto of_box = [](const Simulation& s, int i) {
    return s.model.joints[s.model.find_joint("box" + std::to_string(i))];
  };
  const struct {
    const char* name;
    std::function<void(Simulation*)> change;
    int least, most;  // answers kept in the step that sees it
  } kCases[] = {
      {"nothing", [](Simulation*) {}, kBoxes, kBoxes + 1},
      {"a generalized force",
       [&](Simulation* s) {
         s->input.generalized_force = VecX::Zero(s->model.num_velocities());
         s->input.generalized_force[of_box(*s, 2).v] = 1;
       },
       kBoxes - 1, kBoxes},
      {"a force on a body",
       [&](Simulation* s) {
         BodyForce f;
         f.body = of_box(*s, 3).body;
         f.force_W = Vec3(0, 0, 1);
         s->input.body_forces = {f};
       },
       kBoxes - 1, kBoxes},
      {"a velocity", [&](Simulation* s) { s->state.v[of_box(*s, 4).v] += 1e-9; }, kBoxes - 1, kBoxes},
      {"a position", [&](Simulation* s) { s->state.q[of_box(*s, 5).q + 1] += 1e-12; }, kBoxes - 1, kBoxes},
      {"gravity", [](Simulation* s) { s->model.options.gravity.z() *= 1 + 1e-12; }, 0, 0},
      {"the time step", [](Simulation* s) { s->options.dt *= 1 + 1e-12; }, 0, 0},
      {"the integrator", [](Simulation* s) { s->options.integrator = Integrator::midpoint; }, 0, 0},
      {"the contact law", [](Simulation* s) { s->options.contact.sigma = 1e-6; }, 0, 0},
      {"the tolerance", [](Simulation* s) { s->options.newton.relative_tolerance = 1e-11; }, 0, 0},
      {"a moving surface", [](Simulation* s) { s->input.surface_scale = VecX::Ones(s->model.shapes.size()); },
       0, 0},
  };
  for (const auto& c : kCases) {
    Simulation s = simulate(row_of_boxes());
    s.go(1);
    ASSERT_GE(s.report.reused, kBoxes) << c.name;
    c.change(&s);
    for (int i = 0; i < 3; ++i) {
      if (i == 1) s.input = {};  // forces end again
      State state = s.state;
      Workspace fresh = make_workspace(s.model);
      step(s.model, s.options, s.input, &state, &fresh);
      s.report = step(s.model, s.options, s.input, &s.state, &s.workspace);
      EXPECT_EQ(s.state.q, state.q) << c.name << " " << i;
      EXPECT_EQ(s.state.v, state.v) << c.name << " " << i;
      if (i > 0) continue;
      EXPECT_GE(s.report.reused, c.least) << c.name;
      EXPECT_LE(s.report.reused, c.most) << c.name;
    }
  }
}

TEST(Unchanged, AFailedStepLeavesNothingToKeep) {
  Simulation s = simulate(row_of_boxes());
  s.go(1);
  ASSERT_GE(s.report.reused, kBoxes);
  const State before = s.state;
  s.input.generalized_force = VecX::Constant(s.model.num_velocities(), NAN);
  EXPECT_THROW(s.go(0.005), StepFailure);
  s.input = {};
  s.go(0.005);
  EXPECT_EQ(s.report.reused, 0);
  EXPECT_EQ(s.state.q, before.q);
}

// A state that is set back after one step: the next step is that step again, not one that kept its
// velocities.
TEST(Unchanged, StatesThatAreSetBack) {
  Simulation s = simulate(row_of_boxes());
  const State start = s.state;
  step(s.model, s.options, s.input, &s.state, &s.workspace);
  const State once = s.state;
  ASSERT_NE(once.v, start.v);  // it sinks into the plane
  s.state = start;
  const Report report = step(s.model, s.options, s.input, &s.state, &s.workspace);
  EXPECT_EQ(report.reused, 0);
  EXPECT_EQ(s.state.q, once.q);
  EXPECT_EQ(s.state.v, once.v);
}

}  // namespace
}  // namespace capstan::unchanged_test
