// Contacts that a step shows only at its end: what is kicked, or turns while it slides, does not end up in
// something else.
#include "capstan/contacts/late_contacts.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/math/rotation.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::late_contacts_test {
namespace {

using test::kLawNames;
using test::kLaws;
using test::Simulation;

constexpr double kDt = 0.01, kRadius = 0.05;

// [m] the deepest overlap of any two shapes, as they are.
double calc_depth(const Simulation& s) {
  Placement placement = make_placement(s.model);
  calc_placement(s.model, s.state.q, &placement);
  Contacts contacts;
  collide_all_pairs(s.model, placement, &contacts);
  double depth = 0;
  for (const double distance : contacts.distance) depth = std::max(depth, -distance);
  return depth;
}

Scene in_space() {
  Scene scene = test::box_on_plane(0.5, 1e6);
  scene.bodies.clear();
  scene.shapes.clear();
  scene.options.gravity.setZero();
  return scene;
}

void add_ball(const std::string& name, double x, double mass, Scene* scene) {
  scene->bodies.push_back(test::free_body(name, {x, 0, 0}));
  scene->shapes.push_back(test::make_shape(name, name, Sphere{kRadius}, mass));
}

// A ball of 100 kg that flies at 4 m/s touches one of 1 kg at rest, and a third of 1 kg rests 15 mm behind.
// The second has no velocity, so that nothing is looked for on its way of 39 mm.
Scene three_balls() {
  Scene scene = in_space();
  add_ball("heavy", 0, 100, &scene);
  add_ball("kicked", 2 * kRadius, 1, &scene);
  add_ball("third", 4 * kRadius + 0.015, 1, &scene);
  scene.initial.v["heavy"] = {4, 0, 0, 0, 0, 0};
  return scene;
}

// All stay in touch, v_third = v - 15 mm / dt, so that 100 * 4 = 101 v + (v - 1.5).
TEST(LateContacts, AKickedBallMeetsTheNext) {
  for (int l = 0; l < 4; ++l) {
    Simulation s(three_balls(), kDt, kLaws[l]);
    s.go(kDt);
    EXPECT_EQ(s.report.late_contacts, 1) << kLawNames[l];
    EXPECT_TRUE(s.report.solver.converged) << kLawNames[l];
    const double v = 401.5 / 102;
    const double tolerance = kLaws[l] == ContactLaw::sap ? 0.8 : 0.05;  // sap is softer: tau = dt
    EXPECT_NEAR(s.state.v[6], v, tolerance) << kLawNames[l];
    EXPECT_NEAR(s.state.v[12], v - 1.5, tolerance) << kLawNames[l];
    EXPECT_NEAR(100 * s.state.v[0] + s.state.v[6] + s.state.v[12], 400, 1e-10) << kLawNames[l];
    EXPECT_LT(calc_depth(s), 2e-3) << kLawNames[l];
  }
}

// The step is that of a scene in which the margin makes collide() find the third ball from the beginning.
TEST(LateContacts, AreWhatAMarginWouldHaveFound) {
  for (int l = 0; l < 4; ++l) {
    Scene scene = three_balls();
    Simulation late(scene, kDt, kLaws[l]);
    for (ShapeInstance& shape : scene.shapes) shape.margin = 0.02;
    Simulation early(scene, kDt, kLaws[l]);
    late.go(kDt);
    early.go(kDt);
    EXPECT_EQ(late.report.late_contacts, 1);
    EXPECT_EQ(early.report.late_contacts, 0);
    EXPECT_LT((late.state.v - early.state.v).norm(), 1e-6) << kLawNames[l];
  }
}

// The third hangs on an actuator with a limit of force, which was part of free motion until it was hit.
TEST(LateContacts, ADriveActsWithinItsLimit) {
  Scene scene = three_balls();
  scene.bodies[2].joints[0].type = JointType::prismatic;
  scene.bodies[2].joints[0].axis = Vec3(1, 0, 0);
  Actuator pd;
  pd.name = pd.joint = "third";
  pd.gain = 1e5;
  pd.bias = Vec3(0, -1e5, -100);
  pd.force_range = {-30, 30};
  scene.actuators = {pd};
  Simulation late(scene, kDt, ContactLaw::regularized_lagged);
  for (ShapeInstance& shape : scene.shapes) shape.margin = 0.02;
  Simulation early(scene, kDt, ContactLaw::regularized_lagged);
  late.go(kDt);
  early.go(kDt);
  ASSERT_EQ(late.report.late_contacts, 1);
  ASSERT_EQ(late.workspace.motion.released.size(), 1);
  EXPECT_EQ(early.report.late_contacts, 0);
  EXPECT_LT((late.state.v - early.state.v).norm(), 1e-6);
  EXPECT_NEAR(late.workspace.newton.dof_impulse.back(), -30 * kDt, 1e-9);
}

// What is pushed from rest 0.1 mm before a plate of 2 mm and would be beyond it at the end of the step, by
// each of the things that push: 6 N on 20 g are 30 mm in 10 ms.
TEST(LateContacts, WhatIsPushedFromRestStaysBeforeAThinPlate) {
  const char* const body = R"(
  - name: tip
    position: [0, 0, -0.0111]
    joint: {{name: t, type: {}, axis: [0, 0, 1]{}}}
    shape: {{type: {}, mass: 0.02}}
{})";
  struct Push {
    const char *name, *joint, *more, *rest;
  };
  const char* const plate = "shapes: [{name: plate, type: box, size: [0.2, 0.2, 0.002]}]\n";
  for (const Push& push :
       {Push{"motor", "prismatic", "", "actuators: [{name: f, type: torque, joint: t, control: 6}]"},
        Push{"pd", "prismatic", "",
             "actuators: [{name: f, type: pd, joint: t, stiffness: 2000, damping: 1, target: 0.2}]"},
        Push{"speed", "prismatic", "",
             "actuators: [{name: f, type: velocity, joint: t, damping: 50, target: 8}]"},
        Push{"spring", "prismatic", ", stiffness: 2000, spring_reference: 0.2", ""},
        Push{"tendon", "prismatic", "",
             "tendons: [{name: s, joints: {t: 1}, stiffness: 2000, spring_rest: 0.2}]"}}) {
    for (const char* shape : {"sphere, radius: 0.01", "box, size: [0.02, 0.02, 0.02]"}) {
      for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
        const std::string text = "options: {gravity: [0, 0, 0]}\n" + std::string(plate) + "bodies:" +
                                 fmt::format(fmt::runtime(body), push.joint, push.more, shape, push.rest);
        Simulation s(test::scene_of(text), dt, ContactLaw::coulomb);
        s.go(5 * dt);
        EXPECT_LT(s.state.q[0], 0.002) << push.name << ", " << shape << ", " << dt;
      }
    }
  }
}

// The third is asleep until the ball that is kicked reaches it: then the step is the one without sleep.
TEST(LateContacts, WakeWhoSleeps) {
  Scene scene = three_balls();
  scene.initial.v.clear();
  Simulation s(scene, kDt, ContactLaw::regularized_lagged);
  s.options.sleep.on = true;
  s.go(2);
  ASSERT_EQ(s.report.asleep, 3);
  s.state.v[0] = 4;  // wakes the heavy ball and, by its contact, the second
  Simulation awake(scene, kDt, ContactLaw::regularized_lagged);
  awake.state = s.state;
  awake.state.rest.clear();
  s.go(kDt);
  awake.go(kDt);
  EXPECT_EQ(s.report.woken, 3);
  EXPECT_EQ(s.report.late_contacts, 1);
  EXPECT_EQ(s.state.v, awake.state.v);
  EXPECT_EQ(s.state.q, awake.state.q);
  EXPECT_GT(s.state.v[12], 2);
}

// A plank of 10 kg turns about its middle at 20 rad/s and carries a ball upwards that slides along it at
// 3 m/s. The normal of the beginning has both move on as they do, to x = 0.23 and z = 0.11 of the ball, where
// it is 0.07 - (0.11 cos 0.2 - 0.23 sin 0.2) = 7.9 mm deep in the plank that has turned.
Scene plank() {
  Scene scene = in_space();
  Body body;
  body.name = "plank";
  Joint hinge;
  hinge.name = "plank";
  hinge.axis = Vec3(0, -1, 0);  // positive turns x up
  body.joints = {hinge};
  scene.bodies.push_back(body);
  scene.shapes.push_back(test::make_shape("plank", "plank", Box{Vec3(0.5, 0.1, 0.02)}, 10));
  add_ball("ball", 0.2, 1, &scene);
  scene.bodies[1].pose.position.z() = 0.02 + kRadius;
  scene.materials[0].friction = 0;
  scene.initial.v["plank"] = {20};
  scene.initial.v["ball"] = {3, 0, 20 * 0.2, 0, 0, 0};
  return scene;
}

TEST(LateContacts, ABallSlidesAlongWhatTurns) {
  for (int l = 0; l < 4; ++l) {
    Simulation s(plank(), kDt, kLaws[l]);
    int late = 0;
    for (int i = 0; i < 5; ++i) {
      s.go(kDt);
      late += s.report.late_contacts;
      const double softness = kLaws[l] == ContactLaw::sap ? 1e-3 : 0;  // its relaxation time is dt
      EXPECT_LT(calc_depth(s), 1e-3 + softness) << kLawNames[l] << " " << i;
    }
    EXPECT_GT(late, 0) << kLawNames[l];
  }
}

// Boxes that turn at 40 rad/s, by 0.4 rad in a step, drop at 3 m/s on a beam narrower than they are: faces
// and edges that were not the nearest come down on it.
TEST(LateContacts, ASpinningBoxStaysOutOfABeam) {
  for (int l = 0; l < 4; ++l) {
    double deepest = 0;
    int late = 0;
    for (int k = 0; k < 40; ++k) {
      Scene scene = test::box_on_plane(0.5, 1e6);
      scene.shapes[0].shape = Box{Vec3(1, 0.04, 0.05)};
      scene.shapes[0].pose.position.z() = -0.05;
      const Vec3 w = 40 * Vec3(std::cos(k), std::sin(k), std::sin(3 * k)).normalized();
      scene.initial.q["box"] = {0, 0.001 * k, 0.13, 1, 0, 0, 0};
      scene.initial.v["box"] = {1, 0, -3, w.x(), w.y(), w.z()};
      Simulation s(scene, kDt, kLaws[l]);
      for (int i = 0; i < 30; ++i) {
        s.go(kDt);
        late += s.report.late_contacts;
        deepest = std::max(deepest, calc_depth(s));
      }
    }
    if (kLaws[l] != ContactLaw::sap) {  // which glides above the beam
      EXPECT_GT(late, 5) << kLawNames[l];
    }
    EXPECT_LT(deepest, 2e-3) << kLawNames[l];
  }
}

// Two cubes that spin hit each other in space: late contacts act at one point for both.
TEST(LateContacts, KeepMomentum) {
  int late = 0;
  double deepest = 0;
  for (int k = 0; k < 20; ++k) {
    Scene scene = in_space();
    for (const char* name : {"a", "b"}) {
      scene.bodies.push_back(test::free_body(name, {name[0] == 'a' ? 0.0 : 0.2, 0.004 * k, 0}));
      scene.shapes.push_back(test::make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
    }
    scene.initial.v = {{"a", {4, 0, 0, 10.0 - k, 30, 20}}, {"b", {-2, 0.5, 0, 0, -30, 2.0 * k}}};
    Simulation s(scene, kDt, ContactLaw::regularized_lagged);
    const Vec6 before = calc_mechanics(s.model, s.state).momentum;
    for (int i = 0; i < 20; ++i) {
      s.go(kDt);
      late += s.report.late_contacts;
      deepest = std::max(deepest, calc_depth(s));
    }
    const Vec6 after = calc_mechanics(s.model, s.state).momentum;
    EXPECT_LT((after - before).norm(), 1e-12) << k;
  }
  EXPECT_GT(late, 20);
  EXPECT_LT(deepest, 3e-3);
}

// A heap that lands: no overlap is deeper than a few hundredths of a body, going on gives the answer of a
// solution from the beginning, and the bits are the same for any number of threads.
void expect_heap_lands(const Model& model, int steps, double depth) {
  StepOptions options = step_options(model);
  options.dt = kDt;
  options.contact.law = ContactLaw::regularized_lagged;  // convex: it has one answer
  options.newton.relative_tolerance = 1e-10;
  StepOptions on_two = options;
  on_two.threads = 2;
  State state = initial_state(model), twin = state;
  Workspace w = make_workspace(model), w2 = make_workspace(model);
  NewtonWorkspace anew = make_newton_workspace(model);
  int compared = 0;
  double deepest = 0;
  for (int i = 0; i < steps; ++i) {
    const Report report = step(model, options, {}, &state, &w);
    step(model, on_two, {}, &twin, &w2);
    ASSERT_EQ(hash(state), hash(twin)) << i;
    EXPECT_FALSE(report.solver.unfinished);
    EXPECT_TRUE(report.solver.converged);
    deepest = std::max(deepest, report.deepest);
    if (report.late_contacts == 0) continue;
    ++compared;
    ASSERT_TRUE(solve_newton(w.problem, options.newton, &anew).converged) << i;
    EXPECT_LT((anew.v - w.newton.v).norm(), 1e-5 * anew.v.norm()) << i;
    EXPECT_LT(report.judge.momentum, 1e-9) << i;
  }
  std::printf("deepest %.2f mm, late contacts in %d steps\n", 1e3 * deepest, compared);
  EXPECT_LT(deepest, depth);
  EXPECT_GT(compared, 5);
}
TEST(LateContacts, AHeapLands) {
  expect_heap_lands(compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml")), 150, 3e-3);
}

// So large that it is solved roughly until no more late contacts come, and more is let pass the more of them
// there were.
TEST(LateContacts, ALargeHeapLands) {
  expect_heap_lands(compile(test::falling_heap(120)), 150, 6e-3);
}

}  // namespace
}  // namespace capstan::late_contacts_test
