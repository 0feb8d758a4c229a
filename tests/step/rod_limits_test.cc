// Rods where edges turn and bend much in one step: energy does not grow beyond what came in, and where a step
// cannot be made it fails and says so. Each of these flew apart, or did not converge, when forces were taken
// as linear in v.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "capstan/step/failures.h"
#include "tests/support/contact_simulation.h"

namespace capstan::rod_limits_test {
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

Scene empty(bool with_gravity) {
  Scene scene = box_on_plane(0.3, 1e6);
  scene.bodies.clear();
  scene.shapes.resize(1);
  if (!with_gravity) scene.options.gravity.setZero();
  return scene;
}

std::shared_ptr<Rod> add(const RodSpec& spec, Simulation* run) {
  auto rod = std::make_shared<Rod>(spec);
  add_rod("rod", rod, 0, &run->model);
  run->state = initial_state(run->model);
  run->workspace = make_workspace(run->model);
  return rod;
}

double energy(const Simulation& run) {
  return calc_mechanics(run.model, run.state).total();
}

// 16 J against a cable of 28 g between two pins.
TEST(RodLimits, ABallAtFortyMetresPerSecondHitsATautCable) {
  for (const double dt : {1e-3, 5e-3}) {
    for (const double young_modulus : {1e7, 1e9}) {
      Scene scene = empty(false);
      scene.bodies = {free_body("ball", Vec3(0, 0, 1.03))};
      scene.shapes.push_back(make_shape("ball", "ball", Sphere{0.02}, 0.02));
      Simulation run(scene, dt, ContactLaw::coulomb);
      RodSpec spec = straight(50, {-0.5, 0, 1}, {0.5, 0, 1}, 0.006, young_modulus);
      spec.pinned_nodes = {0, 50};
      spec.rest_length.assign(50, 0.02 / 1.02);  // taut
      add(spec, &run);
      for (int k = 0; k < 6; ++k) {  // the one that moves it along z
        run.state.v.setZero();
        run.state.v[k] = -40;
        if (calc_mechanics(run.model, run.state).momentum[5] < -0.79) break;
      }
      const double before = energy(run);
      ASSERT_GT(before, 15.9);
      while (run.state.time < 0.1) {
        run.go(dt);
        EXPECT_LT(energy(run), before * (1 + 1e-6)) << dt << " " << young_modulus << " " << run.state.time;
      }
    }
  }
}

// Its clamp goes up and down by 10 cm three times a second: the energy that it has is the work of the clamp.
TEST(RodLimits, ASteelRodThatIsShakenHasTheEnergyThatCameIn) {
  for (const double dt : {1e-3, 5e-3, 1e-2}) {
    Simulation run(empty(true), dt, ContactLaw::coulomb);
    RodSpec spec = straight(50, {0, 0, 2}, {1, 0, 2}, 0.002, 2e11);
    spec.density = 7800;
    spec.clamped_edges = {0};
    const std::shared_ptr<Rod> rod = add(spec, &run);
    const double before = energy(run), omega = 6 * kPi;
    double work = 0;
    VecX force(rod->num_dofs());
    while (run.state.time < 1) {
      const double speed = 0.1 * omega * std::cos(omega * run.state.time);
      for (const int i : {0, 1}) run.state.v[4 * i + 2] = speed;
      run.go(dt);
      rod->calc_gradient(run.state.q, force);
      for (const int i : {0, 1}) work += dt * speed * force[4 * i + 2];
      EXPECT_LT(energy(run) - before, work + 1e-4) << dt << " " << run.state.time;
    }
    EXPECT_GT(work, 0.01);
  }
}

constexpr double kPost = 0.03, kRope = 0.0001;  // [m] radii
RodSpec rope_on_post(int turns) {
  RodSpec spec;
  const double R = kPost + kRope, step = kPi / turns, half = R * std::tan(0.5 * step);
  for (int k = 12; k > 0; --k) spec.nodes.push_back({-R, -(2 * k + 1) * half, 0});
  for (int k = 0; k <= turns + 1; ++k) {
    const double angle = (k - 0.5) * step, r = R / std::cos(0.5 * step);
    spec.nodes.push_back({-r * std::cos(angle), r * std::sin(angle), 0});
  }
  for (int k = 1; k <= 12; ++k) spec.nodes.push_back({R, -(2 * k + 1) * half, 0});
  spec.section.width = 2 * kRope;
  spec.young_modulus = 3e9;
  spec.density = 1e5;
  return spec;
}
Simulation rope_to_pull(double dt, int* last) {
  Scene scene = empty(false);
  scene.shapes[0] = make_shape("post", kWorld, Cylinder{kPost, 0.05});
  Simulation run(scene, dt, ContactLaw::coulomb);
  const RodSpec spec = rope_on_post(20);
  add(spec, &run);
  *last = static_cast<int>(spec.nodes.size()) - 1;
  run.input.generalized_force = VecX::Zero(run.model.num_velocities());
  run.input.generalized_force[4 * *last + 1] = -1;  // [N]
  return run;
}

// 1 N on a rope of 0.7 g: within 20 ms it is off the post, at 30 m/s, and its end whips round.
TEST(RodLimits, ARopePulledOffItsPostHasTheWorkOfTheForce) {
  for (const double dt : {1e-3, 5e-3}) {
    int last = 0;
    Simulation run = rope_to_pull(dt, &last);
    const double begin = run.state.q[4 * last + 1];
    while (run.state.time < 0.3) {
      run.go(dt);
      const double work = begin - run.state.q[4 * last + 1];
      EXPECT_LT(energy(run), work * (1 + 1e-6)) << dt << " " << run.state.time;
    }
    EXPECT_GT(energy(run), 50);
  }
}

TEST(RodLimits, AFoldedRodSpringsOpenWithoutMoreEnergyThanItHad) {
  for (const double angle : {0.5 * kPi, 0.9 * kPi, 0.99 * kPi}) {
    for (const double dt : {1e-3, 5e-3}) {
      Simulation run(empty(false), dt, ContactLaw::coulomb);
      RodSpec spec = straight(10, {0, 0, 2}, {0.2, 0, 2}, 0.004, 1e7);
      for (int i = 1; i <= 10; ++i)
        spec.nodes.push_back({0.2 + 0.02 * i * std::cos(angle), 0, 2 + 0.02 * i * std::sin(angle)});
      spec.rest = RodRest::straight;
      add(spec, &run);
      const double before = energy(run);
      while (run.state.time < 0.1) {
        run.go(dt);
        EXPECT_LT(energy(run), before * (1 + 1e-9)) << angle << " " << dt;
      }
    }
  }
}

TEST(RodLimits, ARodThatFoldsBackOnItselfIsToldWithARemedy) {
  RodSpec spec = straight(4, {0, 0, 0}, {1, 0, 0}, 0.01, 1e7);
  spec.nodes.push_back({0.75, 0, 0});
  try {
    const Rod rod(spec);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("folds back on itself at node 4"), std::string::npos);
  }
}

// The tip after half a second, by a planar discrete rod with the same edges, midpoint, 0.2 ms.
TEST(RodLimits, ARodFallsAtFiveMillisecondsAsItDoesAtSmallSteps) {
  struct Case {
    double young_modulus, x, z;
  };
  for (const Case& c : {Case{1e7, -0.12166, -0.90595}, Case{1e6, -0.19186, -0.91046}}) {
    Simulation run(empty(true), 0.005, ContactLaw::coulomb);
    run.options.integrator = Integrator::midpoint;
    RodSpec spec = straight(100, {0, 0, 5}, {1, 0, 5}, 0.01, c.young_modulus);
    spec.clamped_edges = {0};
    add(spec, &run);
    const double before = energy(run);
    run.go(0.5);
    EXPECT_NEAR(run.state.q[400], c.x, 1e-3);
    EXPECT_NEAR(run.state.q[402] - 5, c.z, 1e-3);
    EXPECT_NEAR(energy(run), before, 2e-3 * 0.0785 * kGravity);  // of what it gave its speed
  }
}

// A strip that swings: 8 mJ, half a second, three swings.
TEST(RodLimits, MidpointKeepsTheEnergyOfASwingingStrip) {
  Simulation run(empty(false), 0.001, ContactLaw::coulomb);
  run.options.integrator = Integrator::midpoint;
  RodSpec spec = straight(30, {0, 0, 2}, {0.3, 0, 2}, 0.002, 2e9);
  spec.section = {RodSectionType::rectangle, 0.001, 0.01, TorsionConstant::exact};
  spec.director = Vec3(0, 0, 1);
  spec.clamped_edges = {0};
  spec.beta = 1e-4;  // stretch at a frequency far above 1 / dt would grow
  add(spec, &run);
  for (int i = 2; i <= 30; ++i) run.state.v[4 * i + 2] = 6 * std::pow(i / 30.0, 2);
  const double before = energy(run);
  while (run.state.time < 0.5) {
    run.go(0.001);
    EXPECT_NEAR(energy(run), before, 0.05 * before);
  }
}

// A wire that hits another one at 2 m/s: contact of 1e6 N/m throws it back; where contact has next to no
// stiffness it comes out on the other side, which is told.
TEST(RodLimits, ARodThatPassesThroughAnotherIsTold) {
  for (const double stiffness : {1e6, 1.0}) {
    Scene scene = empty(false);
    scene.materials[0].stiffness = stiffness;
    Simulation run(scene, 0.002, ContactLaw::coulomb);
    RodSpec spec = straight(10, {-0.1, 0, 1}, {0.1, 0, 1}, 0.004, 1e8);
    spec.pinned_nodes = {0, 10};
    add(spec, &run);
    RodSpec other = straight(10, {0, -0.1, 1.013}, {0, 0.1, 1.013}, 0.004, 1e8);
    other.velocity = Vec3(0, 0, -2);
    add_rod("other", std::make_shared<Rod>(other), 0, &run.model);
    run.state = initial_state(run.model);
    run.workspace = make_workspace(run.model);
    const auto other_height = [&] {  // of its middle, in the state after that of the first one
      return run.state.q[run.model.objects.back().q_begin + 4 * 5 + 2];
    };
    std::string told;
    try {
      run.go(0.03);
    } catch (const StepFailure& failure) {
      told = failure.what();
    }
    if (stiffness == 1e6) {
      EXPECT_EQ(told, "");
      EXPECT_GT(other_height(), Rod::node(run.state.q, 5).z() + 0.0039);
      continue;
    }
    EXPECT_NE(told.find("would pass through rod"), std::string::npos) << told;
    EXPECT_NE(told.find("smaller time step"), std::string::npos) << told;
    run.options.fail_if_not_converged = false;
    run.go(0.03);
    EXPECT_LT(other_height(), Rod::node(run.state.q, 5).z());
  }
}

TEST(RodLimits, AStepThatCannotBeMadeFailsAndSaysWhatToDo) {
  int last = 0;
  Simulation run = rope_to_pull(5e-3, &last);
  run.options.integrator = Integrator::midpoint;  // without damping
  run.options.fail_if_not_converged = false;      // it crumples, and passes through itself before
  State before = run.state;
  try {
    while (run.state.time < 0.3) {
      before = run.state;
      run.go(5e-3);
    }
    FAIL();
  } catch (const StepFailure& failure) {
    const std::string what = failure.what();
    EXPECT_NE(what.find("forces of the rod with body 'rod"), std::string::npos) << what;
    EXPECT_NE(what.find("smaller time step than 0.005 s"), std::string::npos) << what;
    EXPECT_EQ(run.state.q, before.q);
  }
}

}  // namespace
}  // namespace capstan::rod_limits_test
