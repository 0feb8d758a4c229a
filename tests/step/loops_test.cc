// Closed loops: they stay closed at ordinary steps, move as their geometry says, and neither gain nor lose
// energy.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/problem/gap.h"
#include "capstan/step/examine.h"
#include "capstan/step/step.h"
#include "tests/support/scene_text.h"

namespace capstan::loops_test {
namespace {

struct Mechanism {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Placement placement;

  explicit Mechanism(const Scene& scene)
      : model(compile(scene)),
        state(initial_state(model)),
        workspace(make_workspace(model)),
        options(step_options(model)),
        placement(make_placement(model)) {}
  explicit Mechanism(const std::string& file) : Mechanism(read_scene(CAPSTAN_SOURCE_DIR "/scenes/" + file)) {}

  // Largest gap of any loop after a step [m].
  double go() {
    step(model, options, {}, &state, &workspace);
    calc_placement(model, state.q, &placement);
    double gap = 0;
    for (const ModelConstraint& c : model.constraints)
      gap = std::max(gap, calc_gap(model, c, state.q, placement).lpNorm<Eigen::Infinity>());
    return gap;
  }
  double energy() const { return calc_mechanics(model, state).total(); }
};

TEST(Loops, TheFourBarStaysClosedForAMinute) {
  for (const Integrator integrator :
       {Integrator::semi_implicit, Integrator::midpoint, Integrator::implicit_euler}) {
    Mechanism m("four_bar.xml");
    m.options.dt = 0.002;
    m.options.integrator = integrator;
    m.state = keyframe_state(m.model, "turning");
    double gap = 0;
    while (m.state.time < 60) gap = std::max(gap, m.go());
    EXPECT_LT(gap, 1e-6) << integrator_name(integrator);
    // A turn a second, but for what the drive lags behind against the joints' damping.
    EXPECT_NEAR(m.state.q[0], 60 * 2 * std::numbers::pi, 3) << integrator_name(integrator);
  }
}

TEST(Loops, TheSliderCrankMovesAsItsGeometrySaysAndKeepsItsEnergy) {
  Mechanism m("slider_crank.yaml");
  const double start = m.energy();
  double gap = 0, least = start, most = start, wrong = 0;
  while (m.state.time < 60) {
    gap = std::max(gap, m.go());
    least = std::min(least, m.energy());
    most = std::max(most, m.energy());
    const double a = m.state.q[0], x = 0.1 * std::cos(a) + std::sqrt(0.09 - std::pow(0.1 * std::sin(a), 2));
    wrong = std::max(wrong, std::abs(0.4 + m.state.q[2] - x));
  }
  EXPECT_LT(gap, 1e-6);
  EXPECT_LT(wrong, 1e-6);
  EXPECT_GT(m.state.q[0], 300);
  std::printf("slider-crank: gap %.1e m, energy %.4f to %.4f of the start\n", gap, least / start,
              most / start);
  // First order: a loop's impulses act along its directions at the beginning of the step.
  EXPECT_GT(least, 0.97 * start);
  EXPECT_LT(most, 1.001 * start);
}

// Swinging under gravity for 20 s with the default integrator: energy swings with the step, without drift.
TEST(Loops, KeepTheirEnergy) {
  for (const double dt : {0.001, 0.002}) {
    Mechanism m(read_scene(CAPSTAN_SOURCE_DIR "/bench/gauntlet/scenes/slider_crank.yaml"));
    m.options.dt = dt;
    double means[2] = {};  // of the first and the last second
    const int steps = static_cast<int>(std::lround(20 / dt)), second = static_cast<int>(std::lround(1 / dt));
    for (int i = 0; i < steps; ++i) {
      EXPECT_LT(m.go(), 1e-5);
      if (i < second) means[0] += m.energy() / second;
      if (i >= steps - second) means[1] += m.energy() / second;
    }
    std::printf("slider-crank that swings with 0.4 J, dt %g: energy %+.5f J in 20 s\n", dt,
                means[1] - means[0]);
    EXPECT_LT(std::abs(means[1] - means[0]), 0.004) << dt;
  }
}

// Midpoint takes loops, and the momenta of what they hold, half-way through the step: what is lost of the
// energy, and the error of the motion, fall at least with the square of the step.
TEST(Loops, AreOfSecondOrderWithMidpoint) {
  for (const char* const name : {"four_bar", "slider_crank"}) {
    const auto run = [&](double dt, double* angle) {
      Mechanism m(std::string("../bench/gauntlet/scenes/") + name + ".yaml");
      m.options.dt = dt;
      m.options.integrator = Integrator::midpoint;
      m.options.contact.law = ContactLaw::coulomb;
      const double start = m.energy();
      double gap = 0;
      for (int i = 0; i < std::lround(2 / dt); ++i) gap = std::max(gap, m.go());
      EXPECT_LT(gap, 1e-6);
      *angle = m.state.q[0];
      return std::abs(m.energy() - start);
    };
    double exact, angle, last_loss = 0, last_error = 0;
    EXPECT_LT(run(0.00025, &exact), 1e-5) << name;
    for (const double dt : {0.008, 0.004, 0.002}) {
      const double loss = run(dt, &angle), error = std::abs(angle - exact);
      std::printf("%s at %g ms: energy off by %.1e J, angle by %.1e rad\n", name, 1e3 * dt, loss, error);
      if (last_error > 0) {
        EXPECT_LT(loss, last_loss / 4) << name << " " << dt;
        EXPECT_LT(error, last_error / 3.5) << name << " " << dt;
      }
      last_loss = loss, last_error = error;
    }
  }
}

// Links with their centre of mass off their origin, which tumble and hold each other alone.
TEST(Loops, AFloatingChainKeepsItsMomentaWithMidpoint) {
  double last = 0;
  for (const double dt : {0.01, 0.005, 0.0025}) {
    Mechanism m("../bench/gauntlet/scenes/floating_chain_of_constraints.yaml");
    m.options.dt = dt;
    m.options.integrator = Integrator::midpoint;
    const Mechanics start = calc_mechanics(m.model, m.state);
    double off = 0;
    while (m.state.time < 4) {
      m.go();
      const Mechanics now = calc_mechanics(m.model, m.state);
      off = std::max(off, (now.momentum - start.momentum).head<3>().norm());
      EXPECT_LT((now.momentum - start.momentum).tail<3>().norm(), 2e-3 * start.momentum.tail<3>().norm());
    }
    std::printf("floating chain at %g ms: angular momentum off by %.1e of %.2f N m s\n", 1e3 * dt, off,
                start.momentum.head<3>().norm());
    if (last > 0) {
      EXPECT_LT(off, last / 3.5) << dt;
    }
    last = off;
  }
  EXPECT_LT(last, 1e-3);
}

// A four-bar that floats, its loop within one tree; at 1 rad/s only the crank starts to turn, which closes
// the loop like a blow. A stranger's took 19 times its energy from that in a step, and drifted by 9 % in 20
// s.
TEST(Loops, AFloatingLinkageKeepsItsMomenta) {
  for (const double crank : {0.0, 1.0}) {
    const Scene scene = test::scene_of(fmt::format(R"(
options: {{gravity: [0, 0, 0]}}
bodies:
  - name: base
    joint: {{type: free, initial_velocity: [0.1, 0.2, 0, 0.5, 2, 0.3]}}
    shape: {{type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.3, 0, 0], mass: 0.3, collides: false}}
    children:
      - name: crank
        joint: {{type: revolute, axis: [0, 1, 0], initial_velocity: {}}}
        shape: {{type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.1], mass: 0.2, collides: false}}
        children:
          - name: link
            position: [0, 0, 0.1]
            joint: {{type: revolute, axis: [0, 1, 0], initial: -0.512053}}
            shape: {{type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.3, 0, 0], mass: 0.3, collides: false}}
      - name: rocker
        position: [0.3, 0, 0]
        joint: {{type: revolute, axis: [0, 1, 0], initial: -0.154578}}
        shape: {{type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.25], mass: 0.2, collides: false}}
constraints:
  - {{type: ball, body_a: link, point_a: [0.3, 0, 0], body_b: rocker, point_b: [0, 0, 0.25]}}
)",
                                                   crank));
    for (const double dt : {0.001, 0.005, 0.01}) {
      Mechanism m(scene);
      m.options.dt = dt;
      const Mechanics start = calc_mechanics(m.model, m.state);
      double off = 0, most = 0;
      while (m.state.time < 5) {
        m.go();
        const Mechanics now = calc_mechanics(m.model, m.state);
        off = std::max(off, (now.momentum - start.momentum).norm() / start.momentum.norm());
        most = std::max(most, now.total() / start.total());
      }
      const double left = m.energy() / start.total();
      std::printf(
          "floating four-bar, crank at %g rad/s, %g ms: momenta off by %.1e of them, %.4f of the energy "
          "left\n",
          crank, 1e3 * dt, off, left);
      EXPECT_LT(off, 1e-3);
      EXPECT_LT(most, 1.002);
      EXPECT_NEAR(left, crank == 0 ? 1 : 0.978, 0.004);
    }
  }
}

TEST(Loops, TheScissorLiftStaysClosedAndKeepsItsEnergy) {
  Mechanism m("scissor_lift.yaml");
  const double start = m.energy();
  double gap = 0, least = start, most = start, low = 0, high = 0;
  while (m.state.time < 60) {
    gap = std::max(gap, m.go());
    least = std::min(least, m.energy());
    most = std::max(most, m.energy());
    low = std::min(low, m.state.q[0]);
    high = std::max(high, m.state.q[0]);
  }
  EXPECT_LT(gap, 1e-6);
  EXPECT_GT(low, -0.01);  // it comes back to where it was released,
  EXPECT_GT(high, 0.25);  // having swung through 40 degrees and beyond
  std::printf("scissor lift: gap %.1e m, energy %.3f to %.3f J from %.3f, bars swing by %.3f rad\n", gap,
              least, most, start, high - low);
  EXPECT_GT(least, start - 0.5);
  EXPECT_LT(most, start + 0.5);
}

// Four free rods tied end to end in a ring, thrown and spinning: what ties them is inside.
Scene ring() {
  Scene scene;
  scene.options.gravity.setZero();
  const Vec3 corners[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  for (int i = 0; i < 4; ++i) {
    Body rod;
    rod.name = "rod" + std::to_string(i);
    rod.pose.position = 0.5 * (corners[i] + corners[(i + 1) % 4]);
    const Vec3 u = corners[(i + 1) % 4] - corners[i];
    rod.inertia = Inertia{1, Vec3::Zero(), (Mat3::Identity() - 0.99 * u * u.transpose()) / 12};
    Joint joint;
    joint.name = rod.name;
    joint.type = JointType::free;
    rod.joints = {joint};
    scene.bodies.push_back(rod);
    Constraint pin;
    pin.name = "pin" + std::to_string(i);
    pin.type = ConstraintType::ball;
    pin.body_a = rod.name;
    pin.body_b = "rod" + std::to_string((i + 1) % 4);
    pin.pose_a = Pose{0.5 * u};
    pin.pose_b = Pose{-0.5 * (corners[(i + 2) % 4] - corners[(i + 1) % 4])};
    scene.constraints.push_back(pin);
    // A rigid turn about z at 3 rad/s, and a throw.
    const Vec3 v = cross(Vec3(0, 0, 3), Vec3(rod.pose.position - Vec3(0.5, 0.5, 0))) + Vec3(0.3, -0.2, 0.5);
    scene.initial.v[rod.name] = {v.x(), v.y(), v.z(), 0.4 * (i % 2), 0, 3};
  }
  return scene;
}

TEST(Loops, AFreeRingKeepsItsMomentumAndItsCentreGoesStraight) {
  Mechanism m(ring());
  m.options.dt = 0.002;
  m.go();  // the first step makes the velocities fit the ring
  const Mechanics start = calc_mechanics(m.model, m.state);
  const double t0 = m.state.time;
  double gap = 0;
  while (m.state.time < 10) gap = std::max(gap, m.go());
  const Mechanics end = calc_mechanics(m.model, m.state);
  EXPECT_LT(gap, 1e-6);
  EXPECT_LT((end.momentum - start.momentum).tail<3>().norm(), 1e-10);
  const Vec3 expected = start.center_of_mass + (m.state.time - t0) * start.momentum.tail<3>() / 4;
  EXPECT_LT((end.center_of_mass - expected).norm(), 1e-9);
  const Vec3 about_center =
      start.momentum.head<3>() - cross(start.center_of_mass, Vec3(start.momentum.tail<3>()));
  const Vec3 after = end.momentum.head<3>() - cross(end.center_of_mass, Vec3(end.momentum.tail<3>()));
  EXPECT_LT((after - about_center).norm(), 1e-6 * about_center.norm());
}

// Held at two places 1 cm apart at once: it stays between them.
TEST(Loops, ConstraintsThatContradictEachOtherMeetInTheMiddle) {
  Scene scene;
  Body body;
  body.name = "body";
  body.inertia = Inertia{1, Vec3::Zero(), Mat3::Identity()};
  Joint joint;
  joint.name = "body";
  joint.type = JointType::free;
  body.joints = {joint};
  scene.bodies = {body};
  for (const double x : {-0.005, 0.005}) {
    Constraint hold;
    hold.name = x < 0 ? "left" : "right";
    hold.type = ConstraintType::weld;
    hold.body_a = kWorld;
    hold.body_b = "body";
    hold.pose_a = Pose{Vec3(x, 0, 0)};
    hold.pose_b = Pose{};
    scene.constraints.push_back(hold);
  }
  Mechanism m(scene);
  while (m.state.time < 1) m.go();
  EXPECT_LT(m.state.q.head<3>().norm(), 1e-6);
  EXPECT_LT(m.state.v.norm(), 1e-6);
}

// A stick of 0.3 m that swings from a ball constraint, with its origin at its end or in its middle.
Scene hung_stick(double origin) {
  Scene scene;
  Body stick;
  stick.name = "stick";
  stick.pose.position = Vec3(origin, 0, 0);
  stick.inertia = Inertia{0.5, Vec3(0.15 - origin, 0, 0), Mat3(Vec3(1e-4, 3.8e-3, 3.8e-3).asDiagonal())};
  Joint root;
  root.name = "root";
  root.type = JointType::free;
  stick.joints.push_back(root);
  scene.bodies.push_back(stick);
  Constraint pivot;
  pivot.name = "pivot";
  pivot.type = ConstraintType::ball;
  pivot.body_a = "stick";
  pivot.pose_a = Pose{};
  pivot.pose_a->position = Vec3(-origin, 0, 0);
  scene.constraints.push_back(pivot);
  return scene;
}

TEST(Loops, AStickSwingsAlikeWhereverItsOriginIs) {
  for (const double dt : {0.002, 0.005}) {
    Mechanism ends[] = {Mechanism(hung_stick(0)), Mechanism(hung_stick(0.15))};
    double start = ends[0].energy();
    EXPECT_NEAR(ends[1].energy(), start, 1e-12);
    for (Mechanism& m : ends) {
      m.options.dt = dt;
      while (m.state.time < 10) {
        m.go();
        // It swings with 0.74 J; velocities are half a step from positions.
        ASSERT_NEAR(m.energy(), start, 5 * dt) << dt << ", " << m.state.time;
      }
    }
    // The middle, told by both.
    const auto middle = [](const Mechanism& m, double from_origin) -> Vec3 {
      return m.placement.X_WL[1] * Vec3(from_origin, 0, 0);
    };
    EXPECT_LT((middle(ends[0], 0.15) - middle(ends[1], 0)).norm(), 1e-6) << dt;
  }
}

// Crank, coupler and rocker stand at (0, 0, 1), (0, 0, 1.15) and (0.4, 0, 1), and meet at (0.4, 0, 1.3). With
// 12, w and u rad/s the ends of coupler and rocker go at (3.6 + 0.15 w, 0, -4.8 - 0.4 w) and (0.3 u, 0, 0)
// m/s: 6 m/s apart with w = u = 0, together with w = -12, u = 6.
TEST(Loops, StartsThatWouldOpenThemAreTold) {
  const auto told = [](const std::string& coupler, const std::string& rocker,
                       const std::string& pin = "0.3") {
    const std::string hinge = "joint: {type: revolute, axis: [0, 1, 0], initial_velocity: ";
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(
        "capstan: 1\nbodies:\n  - {name: crank, position: [0, 0, 1], " + hinge +
            "12}, shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.15], collides: false}}\n"
            "  - {name: coupler, parent: crank, position: [0, 0, 0.15], " +
            hinge + coupler +
            "}, shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0.4, 0, 0.15], collides: false}}\n"
            "  - {name: rocker, position: [0.4, 0, 1], " +
            hinge + rocker +
            "}, shape: {type: capsule, radius: 0.01, from: [0, 0, 0], to: [0, 0, 0.3], collides: false}}\n"
            "constraints:\n  - {name: pin, type: ball, body_a: coupler, point_a: [0.4, 0, 0.15], body_b: "
            "rocker, point_b: [0, 0, " +
            pin + "]}\n",
        {}, &diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
    const Model model = compile(scene);
    examine_loops(scene, model, model.initial, {}, "the start", &diagnostics);
    return diagnostics.text();
  };
  EXPECT_NE(told("0", "0").find("the velocities of the start would open constraint 'pin' at 6 m/s"),
            std::string::npos)
      << told("0", "0");
  EXPECT_NE(told("-12", "0").find("at 1.8 m/s"), std::string::npos) << told("-12", "0");
  EXPECT_EQ(told("-12", "6"), "");
  EXPECT_EQ(told("-12.01", "6.01"), "");  // as three digits have it
  EXPECT_EQ(told("-12", "6", "0.3005"), "");
  EXPECT_NE(told("-12", "5.8", "0.31").find("constraint 'pin' is open by 0.01 m in the start"),
            std::string::npos)
      << told("-12", "5.8", "0.31");
}

}  // namespace
}  // namespace capstan::loops_test
