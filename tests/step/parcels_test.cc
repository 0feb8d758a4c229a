// Parcels on belts, in straps and on cords, as an engineer of conveyors tried them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "capstan/physics/soft_body.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::parcels_test {
namespace {

using test::scene_of;
using test::Simulation;

constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};

// Two cartons whirl about each other on a taut strap, in empty space: v^2 / r = 0.35 g all the time, which
// the strap of 22 g passes on to 40 kg. It threw them apart, with kilojoules, by what it did to keep its own
// momentum.
TEST(Parcels, TwoCartonsWhirlOnAStrap) {
  const Scene scene = scene_of(R"(
options: {gravity: [0, 0, 0]}
bodies:
  - {name: a, position: [0, 0, 0], joint: {type: free, initial_velocity: [0, 3, 0, 0, 0, 0]},
     shape: {type: box, size: [0.2, 0.2, 0.2], mass: 20}}
  - {name: b, position: [1.4, 0, 0], joint: free, shape: {type: box, size: [0.2, 0.2, 0.2], mass: 20}}
rods:
  - name: strap
    line: {from: [0.1, 0, 0], to: [1.3, 0, 0]}
    edges: 24
    diameter: 0.005
    young_modulus: 1e9
    density: 900
    damping: {beta: 0.002}
    attach: [{node: first, body: a, point: [0.1, 0, 0]}, {node: last, body: b, point: [-0.1, 0, 0]}]
)");
  for (const double dt : kSteps) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const auto spin = [&] {  // about the centre of mass
      const Mechanics m = calc_mechanics(run.model, run.state);
      return m.momentum[2] - cross(m.center_of_mass, Vec3(m.momentum.tail<3>())).z();
    };
    const double before = spin(), energy = calc_mechanics(run.model, run.state).total();
    run.go(1);
    const double kept = spin() / before, rest = calc_mechanics(run.model, run.state).total() / energy;
    std::printf("two cartons on a strap, %g ms: %.4f of the angular momentum, %.4f of the energy\n", 1e3 * dt,
                kept, rest);
    EXPECT_NEAR(kept, 1, 1e-3) << dt;
    EXPECT_NEAR(rest, 1, 5e-3) << dt;
  }
}

// A rope, a weight, another rope, another weight.
TEST(Parcels, LoadsHangOneBelowTheOther) {
  const Scene scene = scene_of(R"(
bodies:
  - {name: hook, position: [0, 0, -1], joint: {type: free, initial_velocity: [0.5, 0, 0, 0, 0, 0]},
     shape: {type: sphere, radius: 0.05, mass: 3, collides: false}}
  - {name: load, position: [0, 0, -2], joint: free, shape: {type: sphere, radius: 0.05, mass: 40, collides: false}}
rods:
  - {name: upper, line: {from: [0, 0, 0], to: [0, 0, -1]}, edges: 12, diameter: 0.006, young_modulus: 5e9,
     density: 1000, damping: {beta: 0.002}, fixed_nodes: [first], collides: false, attach: [{node: last, body: hook}]}
  - {name: lower, line: {from: [0, 0, -1], to: [0, 0, -2]}, edges: 12, diameter: 0.006, young_modulus: 5e9,
     density: 1000, damping: {beta: 0.002}, collides: false,
     attach: [{node: first, body: hook}, {node: last, body: load}]}
)");
  for (const double dt : kSteps) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    const double before = calc_mechanics(run.model, run.state).total();
    run.go(1.5);
    const double change = calc_mechanics(run.model, run.state).total() - before;
    std::printf("two loads, %g ms: energy changes by %.3f J\n", 1e3 * dt, change);
    EXPECT_LT(change, 0.01) << dt;
    EXPECT_GT(change, -3) << dt;  // the ropes, which stretch by 12 mm and are damped, take the first jolt
  }
}

// The front of a box reaches the next belt at the very moment when a step begins, or nearly: some of its
// points touch the belt's end face then, others are apart from it by round-off.
TEST(Parcels, ABoxGoesOnToTheNextBelt) {
  for (const double dt : kSteps) {
    for (const double start : {0.0, 1e-7, 1e-5, 0.0013}) {
      Simulation run(scene_of(fmt::format(R"(
materials: [{{name: default, friction: 0.5}}]
shapes:
  - {{name: belt0, type: box, size: [1, 0.6, 0.1], position: [0, 0, -0.05], surface_velocity: [1, 0, 0]}}
  - {{name: belt1, type: box, size: [1, 0.6, 0.1], position: [1.02, 0, -0.05], surface_velocity: [1, 0, 0]}}
bodies:
  - name: carton
    position: [{}, 0, 0.0401]
    joint: {{type: free, initial_velocity: [1, 0, 0, 0, 0, 0]}}
    shape: {{type: box, size: [0.3, 0.2, 0.08], density: 300}}
)",
                                          start)),
                     dt, ContactLaw::coulomb);
      double slowest = 1;
      while (run.state.time < 0.7) {
        run.go(dt);
        slowest = std::min(slowest, run.state.v[0]);
      }
      EXPECT_GT(slowest, 0.99) << "dt " << dt << ", start " << start;
    }
  }
}

// The front of a bag hangs a few micrometres below the level of the next plate, whose end it is not to hit.
TEST(Parcels, ABagSlidesOverGaps) {
  for (const double gap : {0.005, 0.02}) {
    for (const double dt : kSteps) {
      Simulation run(scene_of(fmt::format(R"(
materials: [{{name: default, friction: 0}}]
shapes:
  - {{name: plate0, type: box, size: [1, 0.6, 0.1], position: [0, 0, -0.05]}}
  - {{name: plate1, type: box, size: [1, 0.6, 0.1], position: [{}, 0, -0.05]}}
soft_bodies:
  - {{name: bag, box: {{size: [0.3, 0.2, 0.08], cells: [5, 4, 2]}}, position: [0.0037, 0, 0.041], young_modulus: 2e5,
     poisson_ratio: 0.4, density: 300, damping: {{beta: 0.01}}, velocity: [1, 0, 0]}}
)",
                                          1 + gap)),
                     dt, ContactLaw::coulomb);
      run.go(0.8);
      const Mechanics m = calc_mechanics(run.model, run.state);
      const double speed = m.momentum[3] / (300 * 0.3 * 0.2 * 0.08);
      std::printf("bag, gap of %g mm, %g ms: %.5f m/s\n", 1e3 * gap, 1e3 * dt, speed);
      EXPECT_NEAR(speed, 1, 0.01) << "dt " << dt;
    }
  }
}

// On a smooth floor that is as compliant as the bag: the lower edge of its front is in the floor, and the
// front's own normal is the way that it goes.
TEST(Parcels, ABagWithPatchesSlidesOnASmoothFloor) {
  for (const char* modulus : {"1e6", "1e7"}) {
    for (const double dt : {0.002, 0.005, 0.01}) {
      Simulation run(scene_of(fmt::format(R"(
materials: [{{name: default, friction: 0, contact: patch, elastic_modulus: {}}}]
shapes: [{{type: box, size: [20, 2, 0.2], position: [8, 0, -0.1]}}]
soft_bodies:
  - {{name: bag, box: {{size: [0.3, 0.2, 0.08], cells: [5, 4, 2]}}, position: [0, 0, 0.0401], young_modulus: 5e4,
     poisson_ratio: 0.4, density: 300, damping: {{beta: 0.02}}, velocity: [3, 0, 0]}}
)",
                                          modulus)),
                     dt, ContactLaw::coulomb);
      run.go(0.5);
      const double speed = calc_mechanics(run.model, run.state).momentum[3] / (300 * 0.3 * 0.2 * 0.08);
      EXPECT_NEAR(speed, 3, 3e-3) << "dt " << dt << ", modulus " << modulus;
    }
  }
}

// Over smooth rollers. What sags between them and is lifted again vibrates and loses some speed at any step:
// at 0.2 ms 0.967 of 1 m/s are left without dissipation, 0.919 with the default one; of 0.2 m/s 0.172 at 1
// ms. With the normals of the beginning of a step 0.930 / 0.905, 0.883 / 0.830 and 0.166 / 0.158 were left at
// 5 / 10 ms.
TEST(Parcels, ABagWithPatchesSlidesOverSmoothRollers) {
  const auto go = [](double speed, double dissipation, double dt) {
    std::string text = fmt::format(
        "materials: [{{name: default, friction: 0, contact: patch, elastic_modulus: 1e6, dissipation: {}}}]\n"
        "shapes:\n",
        dissipation);
    for (int i = -3; i < 12; ++i)
      text += fmt::format(
          "  - {{type: cylinder, radius: 0.025, length: 0.6, position: [{}, 0, -0.025], rpy_deg: [90, 0, "
          "0]}}\n",
          0.075 * i);
    text += fmt::format(R"(
soft_bodies:
  - {{name: bag, box: {{size: [0.3, 0.2, 0.08], cells: [5, 4, 2]}}, position: [0, 0, 0.0401], young_modulus: 5e4,
     poisson_ratio: 0.4, density: 300, damping: {{beta: 0.02}}, velocity: [{}, 0, 0]}}
)",
                        speed);
    Simulation run(scene_of(text), dt, ContactLaw::coulomb);
    run.go(0.6);
    const double left = calc_mechanics(run.model, run.state).momentum[3] / (300 * 0.3 * 0.2 * 0.08);
    std::printf("bag over rollers, %g m/s, dissipation %g, %g ms: %.4f m/s\n", speed, dissipation, 1e3 * dt,
                left);
    return left;
  };
  for (const double dt : kSteps) {
    EXPECT_NEAR(go(1, 0, dt), 0.967, 0.012) << dt;
    EXPECT_NEAR(go(1, 50, dt), 0.919, dt < 0.01 ? 0.015 : 0.04) << dt;
  }
  for (const double dt : {0.001, 0.005, 0.01}) EXPECT_NEAR(go(0.2, 50, dt), 0.1725, 0.002) << dt;
}

// Nothing that a smooth plane does to a soft body has a part along it, however its triangles lie: a ball goes
// on, a tilted block that falls stays where it is.
TEST(Parcels, ASmoothPlanePushesAlongItsNormal) {
  for (const char* modulus : {".inf", "1e6"}) {
    for (const double dt : {0.005, 0.01}) {
      Simulation run(scene_of(fmt::format(R"(
materials:
  - {{name: gel, friction: 0, contact: patch, elastic_modulus: 2e6}}
  - {{name: floor, friction: 0, contact: patch, elastic_modulus: {}}}
shapes: [{{type: plane, material: floor}}]
soft_bodies:
  - {{name: ball, ball: {{radius: 0.1, cells: [6]}}, position: [0, 0, 0.1005], young_modulus: 2e5, density: 500,
     damping: {{beta: 0.002}}, velocity: [1, 0, 0], material: gel}}
  - {{name: block, box: {{size: [0.2, 0.1, 0.06], cells: [4, 2, 2]}}, position: [0, 1, 0.08], rpy_deg: [0, 30, 0],
     young_modulus: 2e5, density: 500, damping: {{beta: 0.002}}, material: gel}}
)",
                                          modulus)),
                     dt, ContactLaw::coulomb);
      const auto push = [&](int object) {
        const Object& o = run.model.objects[object];
        return run.model.objects[object].physics->calc_momentum(
            run.state.q.segment(o.q_begin, o.num_positions()),
            run.state.v.segment(o.dof_begin, o.num_dofs()));
      };
      const double before = push(0)[3];
      run.go(0.5);
      EXPECT_NEAR(push(0)[3], before, 2e-3 * before) << dt;
      EXPECT_NEAR(push(1)[3], 0, 2e-3) << dt;  // of 0.6 kg
      EXPECT_NEAR(push(1)[4], 0, 2e-3) << dt;
    }
  }
}

// A ball of 30 mm falls on a cord of 10 mm that is stretched to twice its length: onto a node, between whose
// edges there was a gap of 100 mm, and beside one.
TEST(Parcels, AStretchedCordHasNoGaps) {
  for (const double dt : {0.002, 0.005, 0.01}) {
    for (const double at : {0.5, 0.525, 0.55}) {
      Simulation run(scene_of(fmt::format(R"(
bodies:
  - {{name: ball, position: [{}, 0, 0.1], joint: free, shape: {{type: sphere, radius: 0.015, mass: 0.02}}}}
rods:
  - {{name: cord, line: {{from: [0, 0, 0], to: [1, 0, 0]}}, edges: 10, diameter: 0.01, young_modulus: 1e6, density: 1000,
     damping: {{alpha: 2, beta: 0.005}}, stretch: 1, fixed_nodes: [first, last]}}
)",
                                          at)),
                     dt, ContactLaw::coulomb);
      run.go(0.5);
      EXPECT_GT(run.state.q[2], 0) << "the ball, dropped at " << at << ", dt " << dt;
    }
  }
}

// A rope is hauled in to a third of its length, each edge with it: nothing of it comes to touch anything. At
// half its length edges and those after the next pressed each other with 1600 N.
TEST(Parcels, AHoistRopeDoesNotPressItself) {
  Simulation run(scene_of(R"(
bodies:
  - {name: load, position: [0, 0, -1], joint: free, shape: {type: sphere, radius: 0.02, mass: 40, collides: false}}
rods:
  - {name: rope, line: {from: [0, 0, 0], to: [0, 0, -1]}, edges: 16, diameter: 0.006, young_modulus: 5e9, density: 1000,
     damping: {beta: 0.002}, fixed_nodes: [first], actuated: true, attach: [{node: last, body: load}]}
)"),
                 0.005, ContactLaw::coulomb);
  int length = -1;
  for (std::size_t i = 0; i < run.model.actuators.size(); ++i)
    if (run.model.actuators[i].name == "rope.length") length = static_cast<int>(i);
  ASSERT_GE(length, 0);
  const double start = run.state.q[2];
  while (run.state.time < 2) {
    run.state.control[length] = 1 - std::min(1.0, run.state.time) * 2 / 3;
    run.report = step(run.model, run.options, run.input, &run.state, &run.workspace);
    ASSERT_EQ(run.report.contacts, 0) << "at " << run.state.time;
  }
  EXPECT_NEAR(run.state.q[2] - start, 2.0 / 3, 5e-3);
}

}  // namespace
}  // namespace capstan::parcels_test
