// What sticks stays where it is on what turns (problem/assemble_sticking.cc): accelerations that J v does not
// tell.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "capstan/math/rotation.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/scene_text.h"

namespace capstan::paths_test {
namespace {

using test::scene_of;
using test::Simulation;

// A box of 0.5 kg lies on a disc of 20 kg, 0.3 m off its axis; both turn at 3 rad/s. w^2 r is 2.7, mu g 4.9
// m/s^2.
const char* const kTurntable = R"(
bodies:
  - name: disc
    joint: {type: revolute, axis: [0, 0, 1], initial_velocity: 3}
    shape: {type: cylinder, radius: 0.5, length: 0.02, mass: 20}
  - name: box
    position: [0.3, 0, 0.06]
    joint: {type: free, initial_velocity: [0, 0.9, 0, 0, 0, 3]}
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 0.5}
)";

// [m] how far a body has moved over another one since the first `settle` seconds, and what that was.
double creep(Simulation* run, const char* body, const char* on, double settle, double time) {
  const int b = run->model.find_body(body), a = run->model.find_body(on);
  const auto relative = [&] {
    Placement placement = make_placement(run->model);
    calc_placement(run->model, run->state.q, &placement);
    const Transform X_WA = body_pose(run->model, placement, a);
    return Vec3(X_WA.R.transpose() * (body_pose(run->model, placement, b).p - X_WA.p));
  };
  run->go(settle);
  const Vec3 before = relative();
  run->go(time);
  return (relative() - before).norm();
}

TEST(Paths, ABoxStaysOnATurntable) {
  const Scene scene = scene_of(kTurntable);
  for (const double dt : {0.01, 0.005, 0.001}) {
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::lagged}) {
      for (const Integrator integrator : {Integrator::semi_implicit, Integrator::midpoint}) {
        Simulation run(scene, dt, law);
        run.options.integrator = integrator;
        EXPECT_LT(creep(&run, "box", "disc", 0.2, 5), 2e-5) << dt << " " << static_cast<int>(law);
      }
    }
  }
}

TEST(Paths, WithoutItTheBoxDriftsOutward) {
  Scene scene = scene_of(kTurntable);
  scene.options.follow_paths = false;
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  const double r = 0.3, w = 3;
  EXPECT_NEAR(creep(&run, "box", "disc", 0.2, 1), r * w * w * 0.005 / 2, 0.05 * r * w * w * 0.005 / 2);
}

// The same where the disc stands and its surface turns.
TEST(Paths, ABoxStaysOnASurfaceThatTurns) {
  Simulation run(scene_of(R"(
shapes: [{name: disc, type: cylinder, radius: 0.5, length: 0.02, surface_spin: [0, 0, 3]}]
bodies:
  - name: box
    position: [0.3, 0, 0.06]
    joint: {type: free, initial_velocity: [0, 0.9, 0, 0, 0, 3]}
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 0.5}
)"),
                 0.005, ContactLaw::coulomb);
  run.go(6);
  EXPECT_NEAR(run.state.q.head<2>().norm(), 0.3, 3e-5);
  const double angle = std::atan2(run.state.q[1], run.state.q[0]);
  EXPECT_NEAR(std::remainder(angle - 18, 2 * std::numbers::pi), 0, 1e-4);
}

// A tray that an arm carries round, always facing the same way: nothing turns, but the way is a circle.
TEST(Paths, ABoxStaysOnATrayThatGoesRound) {
  for (const double dt : {0.01, 0.005}) {
    Simulation run(scene_of(R"(
bodies:
  - name: arm
    joint: {type: revolute, axis: [0, 0, 1], initial_velocity: 2}
    inertia: {mass: 1, moments: [1, 1, 1]}
    children:
      - name: tray
        position: [0.5, 0, 0]
        joint: {type: revolute, axis: [0, 0, 1], initial_velocity: -2}
        shape: {type: box, size: [0.4, 0.4, 0.02], mass: 5}
  - name: box
    position: [0.5, 0, 0.06]
    joint: {type: free, initial_velocity: [0, 1, 0, 0, 0, 0]}
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 0.5}
)"),
                   dt, ContactLaw::coulomb);
    EXPECT_LT(creep(&run, "box", "tray", 0.2, 5), 40 * dt * dt) << dt;  // without: 1 m/s^2 dt, 50 mm at 10 ms
  }
}

// A box on a tray that swings by 40 degrees, 1 m below its hinge: the tray carries it with m (g cos + w^2 r),
// from step to step alike, also at 10 ms, in which it goes 0.1 mm off its tangent.
TEST(Paths, ATrayThatSwingsCarriesSmoothly) {
  Simulation run(scene_of(R"(
materials: [{name: default, friction: 0.2}]
bodies:
  - name: tray
    joint: {type: revolute, axis: [0, 1, 0], initial_deg: 40}
    shape: {type: box, size: [0.4, 0.2, 0.02], position: [0, 0, -1.01], mass: 2}
  - name: box
    joint: {type: free, initial: [-0.626718, 0, -0.746893, 0.9396926, 0, 0.3420201, 0]}
    shape: {type: box, size: [0.05, 0.05, 0.05], mass: 0.2}
)"),
                 0.01, ContactLaw::coulomb);
  run.go(0.3);
  double before = 0, rough = 0;
  for (int i = 0; i < 300; ++i) {
    run.go(0.01);
    double force = 0;
    for (const Vec3& gamma : run.workspace.newton.impulse) force += gamma.z() / 0.01;
    if (i > 0) rough = std::max(rough, std::abs(force - before));
    before = force;
    const double angle = run.state.q[0], w = run.state.v[0];
    EXPECT_NEAR(force, 0.2 * (test::kGravity * std::cos(angle) + 0.975 * w * w), 0.06) << i;
  }
  EXPECT_LT(rough, 0.1);  // [N] of 1.5 to 2.9
}

// A cube between the fingers of an arm that swings round at 2 rad/s.
TEST(Paths, AGripperThatSwingsKeepsWhatItHolds) {
  Simulation run(scene_of(R"(
materials: [{name: rubber, friction: 0.8}]
bodies:
  - name: arm
    position: [0, 0, 1]
    joint: {type: revolute, axis: [0, 0, 1], initial_velocity: 2}
    shape: {type: box, size: [0.6, 0.05, 0.05], position: [0.25, 0, 0.1], mass: 5}
    children:
      - {name: left, position: [0.6, 0.04, 0], joint: {type: prismatic, axis: [0, -1, 0]}, shape: {type: box, size: [0.06, 0.02, 0.06], material: rubber}}
      - {name: right, position: [0.6, -0.04, 0], joint: {type: prismatic, axis: [0, 1, 0]}, shape: {type: box, size: [0.06, 0.02, 0.06], material: rubber}}
  - name: cube
    position: [0.6, 0, 1]
    joint: {type: free, initial_velocity: [0, 1.2, 0, 0, 0, 2]}
    shape: {type: box, size: [0.06, 0.06, 0.06], mass: 0.2, material: rubber}
actuators:
  - {name: l, type: torque, joint: left, control: 20}
  - {name: r, type: torque, joint: right, control: 20}
constraints: [{type: coupler, joint_a: left, joint_b: right}]
)"),
                 0.005, ContactLaw::coulomb);
  EXPECT_LT(creep(&run, "cube", "arm", 0.5, 5), 5e-5);  // without: 30 mm
}

// A leg on a flat foot that stands: the knee bends and stretches, and the foot must not walk away.
TEST(Paths, AFootThatStandsDoesNotCreepAsItsKneeBends) {
  const auto moved = [](bool follow) {
    Scene scene = scene_of(R"(
shapes: [{type: plane}]
bodies:
  - name: slider
    position: [0, 0, 0.63]
    joint: {type: prismatic, axis: [0, 0, 1]}
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 5, collides: false}
    children:
      - name: thigh
        joint: {type: revolute, axis: [0, 1, 0], initial: 0.5}
        shape: {type: box, size: [0.04, 0.04, 0.38], position: [0, 0, -0.2], mass: 1, collides: false}
        children:
          - name: shin
            position: [0, 0, -0.4]
            joint: {type: revolute, axis: [0, 1, 0], initial: -1}
            shape: {type: box, size: [0.04, 0.04, 0.38], position: [0, 0, -0.2], mass: 1, collides: false}
            children:
              - name: foot
                position: [0, 0, -0.3]
                joint: {type: revolute, axis: [0, 1, 0], initial: 0.5, damping: 0.1}
                shape: {type: box, size: [0.2, 0.1, 0.02], mass: 0.3}
actuators:
  - {name: knee, type: pd, joint: shin, stiffness: 2000, damping: 60}
)");
    scene.options.follow_paths = follow;
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    const int foot = run.model.find_body("foot");
    Placement placement = make_placement(run.model);
    const auto place = [&] {
      calc_placement(run.model, run.state.q, &placement);
      return body_pose(run.model, placement, foot).p.x();
    };
    run.state.control[0] = -1;
    run.go(0.5);
    const double before = place();
    for (int i = 0; i < 1000; ++i) {
      run.state.control[0] = -1 + 0.5 * std::sin(6 * i * 0.005);
      run.go(0.005);
    }
    return std::abs(place() - before);
  };
  EXPECT_LT(moved(true), 0.1 * moved(false));
}

// A ball that rolls on a table which turns at W goes in circles, once in 7/2 of the table's turns.
TEST(Paths, ABallOnATurntableGoesInCircles) {
  const double W = 2, period = 3.5 * 2 * std::numbers::pi / W, v = 0.2;
  for (const double dt : {0.005, 0.001}) {
    // It rolls where the surface has its speed: w x (-R n) = W x p - v, w = n x (v - W x p) / R.
    const Vec3 n(0, 0, 1), p(0.4, 0, 0.1), speed(0, v, 0);
    const Vec3 w = cross(n, Vec3(speed - W * cross(n, p))) / 0.1;
    Scene scene = scene_of(fmt::format(R"(
options: {{follow_paths: true}}
bodies:
  - name: disc
    joint: {{type: revolute, axis: [0, 0, 1], initial_velocity: {}}}
    shape: {{type: cylinder, radius: 3, length: 0.2, position: [0, 0, -0.1], mass: 1e6}}
  - name: ball
    position: [0.4, 0, 0.1]
    joint: {{type: free, initial_velocity: [0, {}, 0, {}, {}, {}]}}
    shape: {{type: sphere, radius: 0.1, mass: 1}}
)",
                                       W, v, w.x(), w.y(), w.z()));
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(period / 2);
    // Its circle has the radius v / (2/7 W), about a point to its left.
    const double across = 2 * v / (2 * W / 7);
    const int q = run.model.joints[1].q;
    EXPECT_NEAR(run.state.q[q], 0.4 - across, 0.02 * across * dt / 0.005) << dt;
    run.go(period - run.state.time);
    EXPECT_NEAR(run.state.q[q], 0.4, 0.02 * across * dt / 0.005) << dt;
  }
}

// An ellipsoid that rolls on a plane and does not slip, about its lowest point r: with the direction n of
// that in its own axes, (I + m (r^2 1 - r r^T)) w' = m r x (r' x w + w x (r x w) - g n) - w x I w, n' = n x
// w.
struct Rolling {
  Vec3 squares, I;  // of the radii [m^2]; moments of inertia
  double mass;
  Vec3 n, w;

  std::pair<Vec3, Vec3> rates(const Vec3& m, const Vec3& v) const {
    const Vec3 turn = cross(m, v), Dn = squares.cwiseProduct(m);
    const double length = std::sqrt(m.dot(Dn));
    const Vec3 r = Dn / length, change = (squares.cwiseProduct(turn) - r * r.dot(turn)) / length;
    const Mat3 A = Mat3(I.asDiagonal()) + mass * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
    const Vec3 a = cross(change, v) + cross(v, cross(r, v)) - test::kGravity * m;
    return {turn, A.inverse() * (mass * cross(r, a) - cross(v, Vec3(I.cwiseProduct(v))))};
  }
  void go(double time) {  // Runge and Kutta's fourth order
    constexpr double kStep = 1e-4;
    for (int i = 0; i < std::lround(time / kStep); ++i) {
      const auto [n1, w1] = rates(n, w);
      const auto [n2, w2] = rates(n + kStep / 2 * n1, w + kStep / 2 * w1);
      const auto [n3, w3] = rates(n + kStep / 2 * n2, w + kStep / 2 * w2);
      const auto [n4, w4] = rates(n + kStep * n3, w + kStep * w3);
      n += kStep / 6 * (n1 + 2 * n2 + 2 * n3 + n4);
      w += kStep / 6 * (w1 + 2 * w2 + 2 * w3 + w4);
    }
  }
};

// An egg and a lentil spin while they lean and rock. As balls of their mean radius, the lentil lost a seventh
// of its spin in 5 s at 5 ms, and the energy of either rose by up to a half (a stranger's).
TEST(Paths, EllipsoidsRollAsTheyShould) {
  constexpr double kMass = 0.2, kLean = 0.3, kSpin = 6;
  for (const Vec3& radii : {Vec3(0.05, 0.05, 0.06), Vec3(0.05, 0.05, 0.03)}) {
    for (const double dt : {0.001, 0.002, 0.005}) {
      const Vec3 squares = radii.cwiseAbs2(), z(-std::sin(kLean), 0, std::cos(kLean));  // up, in its axes
      Rolling exact{squares, kMass / 5 * (squares.sum() * Vec3::Ones() - squares), kMass, -z, kSpin * z};
      const double height = std::sqrt(z.dot(squares.cwiseProduct(z)));
      const Vec3 lowest = -squares.cwiseProduct(z) / height;
      Scene scene = scene_of("materials: [{name: default, friction: 2}]\nshapes: [{type: plane}]\n");
      scene.bodies.push_back(test::free_body("egg", Vec3(0, 0, height)));
      scene.shapes.push_back(test::make_shape("egg", "egg", Ellipsoid{radii}, kMass));
      Simulation run(scene, dt, ContactLaw::coulomb);
      // It leans about y, and its lowest point is at rest.
      const double along = lowest.x() * std::cos(kLean) + lowest.z() * std::sin(kLean);
      run.state.q.tail<4>() << std::cos(kLean / 2), 0, std::sin(kLean / 2), 0;
      run.state.v << 0, -kSpin * along, 0, 0, 0, kSpin;
      for (int i = 0; i < 10; ++i) {
        run.go(0.5);
        exact.go(0.5);
        const Vec3 up = -exact.n;
        const Mat3 R = rotation_matrix(Vec4(run.state.q.tail<4>()));
        EXPECT_NEAR(run.state.v[5], exact.w.dot(up), 0.012) << radii.z() << " " << dt << " " << i;
        EXPECT_NEAR(R(2, 2), up.z(), 4 * dt) << radii.z() << " " << dt << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::paths_test
