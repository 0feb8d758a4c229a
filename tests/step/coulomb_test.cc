// The law coulomb: friction within the cone of its own step, without lag and without gliding.
#include <gtest/gtest.h>

#include <cstdio>

#include "capstan/laws/contact_laws.h"
#include "capstan/math/rotation.h"
#include "tests/support/contact_simulation.h"

namespace capstan::coulomb_test {
namespace {

using namespace test;

struct Sliding {
  Model model;
  StepOptions options;
  State state;
  Workspace w;
  Sliding(const Scene& scene, double dt, ContactLaw law = ContactLaw::coulomb)
      : model(compile(scene)),
        options(step_options(model)),
        state(initial_state(model)),
        w(make_workspace(model)) {
    options.dt = dt;
    options.contact.law = law;
  }
  Report step() { return capstan::step(model, options, {}, &state, &w); }
};

// A box that starts at 1 m/s loses mu g dt in every step, the first one included, and stops after the sum of
// these.
TEST(Coulomb, ABoxStopsAfterTheDiscreteSum) {
  for (const double dt : {0.01, 0.005, 0.002}) {
    const double mu = 0.7;
    Scene scene = box_on_plane(mu, 1e6);
    scene.bodies[0].pose.position.z() = 0.05 - kGravity / 1e6 / 4;  // where it rests on four corners
    scene.initial.v["box"] = {1, 0, 0, 0, 0, 0};
    Sliding run(scene, dt);
    double expected = 0;
    for (double v = 1 - mu * kGravity * dt; v > 0; v -= mu * kGravity * dt) expected += v * dt;
    const double start = run.state.q[0];
    while (run.state.time < 0.4) run.step();
    EXPECT_NEAR(run.state.q[0] - start, expected, 5e-3 * expected) << "dt " << dt;
    EXPECT_NEAR(run.state.v.norm(), 0, 1e-3);
    EXPECT_NEAR(run.state.q[2], 0.05, 1e-5);  // it does not glide
  }
}

// A ball rolls against a row of tiles.
Scene row_of_dominoes(int num_tiles) {
  Scene scene;
  Material m;
  m.name = "default";
  m.friction = 0.3;
  scene.materials = {m};
  scene.shapes.push_back(make_shape("floor", kWorld, HalfSpace{}));
  for (int i = 0; i < num_tiles; ++i) {
    const std::string name = "tile" + std::to_string(i);
    scene.bodies.push_back(free_body(name, {0.03 * i, 0, 0.025}));
    scene.shapes.push_back(make_shape(name, name, Box{Vec3(0.004, 0.012, 0.025)}, 0.0192));
  }
  scene.bodies.push_back(free_body("ball", {-0.084, 0, 0.03}));
  scene.shapes.push_back(make_shape("ball", "ball", Sphere{0.03}, 0.226));
  scene.initial.v["ball"] = {1, 0, 0, 0, 1 / 0.03, 0};
  return scene;
}

// What lagged friction gets wrong: a row of dominoes falls at any time step. In nearly every step friction is
// in its cone, as the judge sees it.
void expect_dominoes_fall(int num_tiles) {
  const Scene scene = row_of_dominoes(num_tiles);
  for (const double dt : {0.01, 0.005, 0.002, 0.001}) {
    Sliding run(scene, dt);
    int steps = 0, outside = 0;
    while (run.state.time < 1.5) {
      const Report report = run.step();
      ++steps;
      outside += report.judge.cone_violation > 2e-3 * report.judge.largest_impulse;
    }
    int fallen = 0;
    for (int i = 0; i < num_tiles; ++i)
      fallen += rotation_matrix(Vec4(run.state.q.segment<4>(7 * i + 3)))(2, 2) < 0.7;
    EXPECT_EQ(fallen, num_tiles) << "dt " << dt;
    std::printf("%d tiles, dt %g s: friction outside its cone in %d of %d steps\n", num_tiles, dt, outside,
                steps);
    EXPECT_LE(outside, (dt > 0.005 ? 0.02 : 0.01) * steps)
        << "dt " << dt;  // 3 of 150 with 4 tiles, 0 with 10
  }
}
TEST(Coulomb, DominoesFall) {
  expect_dominoes_fall(4);
  expect_dominoes_fall(10);
}

// The wave runs as fast at any time step, and as with the complementarity model (0.0365 s a tile); friction
// is in its cone, be the island one of a hundred contacts and more.
TEST(Coulomb, TheWaveOfDominoesHasOneSpeed) {
  constexpr int kTiles = 20;
  const Scene scene = row_of_dominoes(kTiles);
  for (const double dt : {0.005, 0.002, 0.001, 0.0005}) {
    Sliding run(scene, dt);
    double times[2] = {};
    int steps = 0, outside = 0, most_contacts = 0;
    for (const int k : {0, 1}) {
      const int tile = k == 0 ? 12 : kTiles - 1;
      while (run.state.time < 2 && rotation_matrix(Vec4(run.state.q.segment<4>(7 * tile + 3)))(2, 2) > 0.97) {
        const Report report = run.step();
        ++steps;
        outside += report.judge.cone_violation > 2e-3 * report.judge.largest_impulse;
        most_contacts = std::max(most_contacts, report.contacts);
      }
      times[k] = run.state.time;
    }
    std::printf("dt %g s: friction outside its cone in %d of %d steps, up to %d contacts\n", dt, outside,
                steps, most_contacts);
    EXPECT_LE(outside, (dt > 0.002 ? 0.05 : 0.005) * steps) << "dt " << dt;
    EXPECT_NEAR((times[1] - times[0]) / (kTiles - 13), 0.0365, 0.004) << dt;
  }
}

// Two tiles that share the weight of a box do not brake it twice, as lagged friction does.
TEST(Coulomb, ABoxStopsOnTilesAsOnASlab) {
  for (const double dt : {0.005, 0.01}) {
    for (const ContactLaw law : {ContactLaw::regularized_lagged, ContactLaw::coulomb}) {
      double way[2];
      for (const int num_tiles : {1, 24}) {
        Scene scene = box_on_plane(0.3, 1e6);
        scene.shapes.erase(scene.shapes.begin());
        const double length = 4.8 / num_tiles;
        for (int i = 0; i < num_tiles; ++i) {
          const std::string name = "tile" + std::to_string(i);
          scene.shapes.push_back(make_shape(name, kWorld, Box{Vec3(length / 2, 0.5, 0.1)}));
          scene.shapes.back().pose.position = Vec3(-0.1 + (i + 0.5) * length, 0, -0.1);
        }
        scene.initial.v["box"] = {2, 0, 0, 0, 0, 0};
        Sliding run(scene, dt, law);
        while (run.state.time < 1.5) run.step();
        way[num_tiles > 1] = run.state.q[0];
      }
      std::printf("dt %g s, %s: stops after %.3f m on a slab, %.3f m on tiles\n", dt,
                  kContactLawNames[static_cast<int>(law)], way[0], way[1]);
      if (law == ContactLaw::coulomb) {
        EXPECT_NEAR(way[1], way[0], 1e-3 * way[0]);
      }
    }
  }
}

// The plain twin: where Haslinger's fixed point converges (bounds become the normal impulses, again and
// again) it leads to the same velocities.
TEST(Coulomb, AgreesWithTheFixedPoint) {
  Scene scene = box_on_plane(0.3, 1e5);
  scene.bodies[0].pose.position.z() =
      0.049;  // sinks in, askew and sliding: the bounds of the start are far off
  scene.initial.v["box"] = {0.8, -0.3, -0.2, 1, 2, 3};
  int compared = 0;
  Sliding run(scene, 0.005);
  run.options.newton.relative_tolerance = 1e-9;
  for (int k = 0; k < 40; ++k) {
    const Report report = run.step();
    if (report.solver.cone_violation > 1e-3 || report.solver.iterations == 0) continue;
    Problem problem = run.w.problem;
    problem.options.law = ContactLaw::regularized_lagged;
    for (ContactData& d : problem.contacts) RegularizedLagged<HuntCrossley>::set_bound(0, &d);
    NewtonWorkspace plain = make_newton_workspace(run.model);
    double change = 1;
    for (int i = 0; i < 300 && change > 1e-9; ++i) {
      ASSERT_TRUE(solve_newton(problem, run.options.newton, &plain).converged);
      change = 0;
      for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
        ContactData& d = problem.contacts[c];
        const double n = 0.5 * (d.normal_impulse + plain.impulse[c].z());
        change = std::max(change, std::abs(n - d.normal_impulse));
        RegularizedLagged<HuntCrossley>::set_bound(n, &d);
      }
    }
    if (change > 1e-9) continue;
    ++compared;
    EXPECT_LE((plain.v - run.w.newton.v).norm(), 2e-3 * plain.v.norm() + 1e-6) << "step " << k;
  }
  EXPECT_GE(compared, 10);
}

}  // namespace
}  // namespace capstan::coulomb_test
