// The time-stepping schemes against analytic and reference solutions: convergence orders, energy, stability.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "capstan/math/rotation.h"
#include "capstan/step/step.h"
#include "tests/support/random_scene.h"

namespace capstan::schemes_test {
namespace {

constexpr Integrator kAll[] = {Integrator::explicit_euler, Integrator::symplectic_euler,
                               Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint};

int order_of(Integrator integrator) {
  return integrator == Integrator::midpoint ? 2 : 1;
}

// Of a body that is alone: it turns by the mean of its velocities (dynamics/lone_turn.h).
int order_of_lone_turn(Integrator integrator) {
  const bool is_first = integrator == Integrator::explicit_euler || integrator == Integrator::implicit_euler;
  return is_first ? 1 : 2;
}

Joint make_joint(const char* name, JointType type, const Vec3& axis = Vec3(0, 1, 0)) {
  Joint joint;
  joint.name = name;
  joint.type = type;
  joint.axis = axis;
  return joint;
}

Body make_body(const char* name, const char* parent, const Vec3& position, double mass, const Vec3& com,
               const Vec3& moments) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.pose.position = position;
  body.inertia = Inertia{mass, com, Mat3(moments.asDiagonal())};
  return body;
}

// A double pendulum of two 1 kg rods of 1 m, swinging about y.
Scene double_pendulum() {
  Scene scene;
  scene.bodies.push_back(make_body("upper", kWorld, {0, 0, 0}, 1, {0, 0, -0.5}, {1.0 / 12, 1.0 / 12, 1e-4}));
  scene.bodies.back().joints.push_back(make_joint("shoulder", JointType::revolute));
  scene.bodies.push_back(
      make_body("lower", "upper", {0, 0, -1}, 1, {0, 0, -0.5}, {1.0 / 12, 1.0 / 12, 1e-4}));
  scene.bodies.back().joints.push_back(make_joint("elbow", JointType::revolute));
  scene.initial.q["shoulder"] = {1.0};
  scene.initial.q["elbow"] = {0.5};
  return scene;
}

// Ten masses of 0.2 kg on a line, joined by springs of 50 N/m (prismatic joints in a chain: q is the
// stretch).
Scene spring_chain() {
  Scene scene;
  scene.options.gravity.setZero();
  std::string parent = kWorld;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "m" + std::to_string(i);
    scene.bodies.push_back(
        make_body(name.c_str(), parent.c_str(), {0.1, 0, 0}, 0.2, Vec3::Zero(), {1e-4, 1e-4, 1e-4}));
    scene.bodies.back().joints.push_back(
        make_joint(("s" + std::to_string(i)).c_str(), JointType::prismatic, {1, 0, 0}));
    scene.bodies.back().joints.back().stiffness = 50;
    parent = name;
  }
  scene.initial.q["s9"] = {0.05};
  scene.initial.v["s0"] = {0.3};
  return scene;
}

Scene free_body(bool offset) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies.push_back(make_body("body", kWorld, {1, 2, 3}, 2,
                                   offset ? Vec3(0.1, -0.2, 0.05) : Vec3(0, 0, 0), {0.1, 0.2, 0.25}));
  scene.bodies.back().joints.push_back(make_joint("root", JointType::free));
  scene.initial.v["root"] = {0.1, 0.2, -0.3, 1, 4, 0.5};
  return scene;
}

// A heavy top: a 1 kg disk, 0.2 m from the pivot, spinning at 200 rad/s.
Scene gyroscope() {
  Scene scene;
  scene.bodies.push_back(make_body("top", kWorld, {0, 0, 0}, 1, {0, 0, 0.2}, {0.00125, 0.00125, 0.0025}));
  scene.bodies.back().joints.push_back(make_joint("pivot", JointType::ball));
  const Vec4 tilt = quat_from_axis_angle(Vec3(1, 0, 0), 1.0);
  scene.initial.q["pivot"] = {tilt[0], tilt[1], tilt[2], tilt[3]};
  const Vec3 spin = rotate(tilt, Vec3(0, 0, 200));
  scene.initial.v["pivot"] = {spin[0], spin[1], spin[2]};
  return scene;
}

State simulate(const Model& model, Integrator integrator, double dt, double duration,
               const std::function<void(const State&)>& each = {}) {
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const StepOptions options{dt, integrator};
  const int steps = static_cast<int>(std::lround(duration / dt));
  for (int i = 0; i < steps; ++i) {
    step(model, options, {}, &state, &workspace);
    if (each) each(state);
  }
  return state;
}

// Classical Runge-Kutta on (q, v) with the articulated-body algorithm: the independent high-order reference.
State reference_solution(const Model& model, double dt, double duration) {
  State s = initial_state(model);
  const int n = model.num_velocities(), steps = static_cast<int>(std::lround(duration / dt));
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  TreeWorkspace tree = make_tree_workspace(model);
  ForceGradient gradient = make_force_gradient(model);
  VecX tau(n), a(n);
  const auto acceleration = [&](const VecX& q, const VecX& v) {
    calc_placement(model, q, &placement);
    calc_velocity(model, placement, v, &velocity);
    calc_forces(model, q, v, s.control, &tau, &gradient);
    calc_forward_dynamics(model, placement, velocity, tau, &tree, &a);
    return a;
  };
  VecX q = s.q, d(n);
  for (int i = 0; i < steps; ++i) {
    // In the tangent space at q0: x is the tangent displacement, dx/dt = J_l(x)^-1 v on quaternions.
    const auto rate = [&](const VecX& x, const VecX& v) {
      VecX r = v;
      for (const Stage& stage : model.stages) {
        if (stage.type != StageType::ball && stage.type != StageType::free) continue;
        const int iv = stage.type == StageType::ball ? stage.v : stage.v + 3;
        r.segment<3>(iv) = left_jacobian_inverse(x.segment<3>(iv)) * v.segment<3>(iv);
      }
      return r;
    };
    const auto f = [&](const VecX& x, const VecX& v, VecX* dx, VecX* dv) {
      move(model, s.q, x, 1, &q);
      *dx = rate(x, v);
      *dv = acceleration(q, v);
    };
    VecX x1, v1, x2, v2, x3, v3, x4, v4;
    f(VecX::Zero(n), s.v, &x1, &v1);
    f(dt / 2 * x1, s.v + dt / 2 * v1, &x2, &v2);
    f(dt / 2 * x2, s.v + dt / 2 * v2, &x3, &v3);
    f(dt * x3, s.v + dt * v3, &x4, &v4);
    d = dt / 6 * (x1 + 2 * x2 + 2 * x3 + x4);
    s.v += dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    move(model, s.q, d, 1, &s.q);
  }
  return s;
}

double error(const Model& model, const State& a, const State& b) {
  VecX d(model.num_velocities());
  difference(model, a.q, b.q, &d);
  return d.norm();
}

// Order measured from three time steps; the mean of the two ratios.
double measured_order(const Scene& scene, Integrator integrator, double dt, double duration,
                      const State& exact) {
  const Model model = compile(scene);
  double e[3];
  for (int i = 0; i < 3; ++i)
    e[i] = error(model, simulate(model, integrator, dt / std::pow(2, i), duration), exact);
  return std::log2(e[0] / e[2]) / 2;
}

TEST(Schemes, SmallPendulumHasItsAnalyticPeriod) {
  Scene scene;
  scene.bodies.push_back(make_body("bob", kWorld, {0, 0, 0}, 1, {0, 0, -1}, {1e-9, 1e-9, 1e-9}));
  scene.bodies.back().joints.push_back(make_joint("pivot", JointType::revolute));
  const double amplitude = 0.2;
  scene.initial.q["pivot"] = {amplitude};
  const Model model = compile(scene);
  // T = 4 sqrt(l/g) K(sin(amplitude/2)).
  const double period = 4 * std::sqrt(1 / 9.81) * std::comp_ellint_1(std::sin(amplitude / 2));
  double crossing = 0, previous = amplitude;
  simulate(model, Integrator::midpoint, 1e-4, 1.1 * period / 4, [&](const State& s) {
    if (previous > 0 && s.q[0] <= 0) crossing = s.time - 1e-4 * s.q[0] / (s.q[0] - previous);
    previous = s.q[0];
  });
  EXPECT_NEAR(crossing, period / 4, 1e-8);
}

TEST(Schemes, ConvergeAtTheirOrderOnADoublePendulum) {
  const Scene scene = double_pendulum();
  const State exact = reference_solution(compile(scene), 1e-4, 1);
  for (const Integrator i : kAll) {
    EXPECT_NEAR(measured_order(scene, i, 1e-3, 1, exact), order_of(i), 0.1) << integrator_name(i);
  }
}

TEST(Schemes, ConvergeAtTheirOrderOnAFreeBodyWithOffsetCentreOfMass) {
  const Scene scene = free_body(true);
  const State exact = reference_solution(compile(scene), 1e-4, 1);
  for (const Integrator i : kAll) {
    EXPECT_NEAR(measured_order(scene, i, 1e-3, 1, exact), order_of_lone_turn(i), 0.1) << integrator_name(i);
  }
}

TEST(Schemes, ConvergeAtTheirOrderOnAGyroscope) {
  const Scene scene = gyroscope();
  const State exact = reference_solution(compile(scene), 1e-5, 0.2);
  for (const Integrator i : kAll) {
    EXPECT_NEAR(measured_order(scene, i, 1e-4, 0.2, exact), order_of_lone_turn(i), 0.15)
        << integrator_name(i);
  }
}

// Steady precession of a heavy top, exactly: I_3 w_3 W - I_1 W^2 cos(tilt) = m g l, with w_3 the whole spin
// along the axis and I_1 about the pivot. The tilt stays, and the axis turns about z at the rate W.
TEST(Schemes, GyroscopePrecessesSteadilyAtTheAnalyticRate) {
  const double tilt = 1.0, W = 3.0, I_1 = 0.00125 + 0.2 * 0.2, I_3 = 0.0025;
  const double w_3 = (9.81 * 0.2 + I_1 * W * W * std::cos(tilt)) / (I_3 * W);
  Scene scene = gyroscope();
  const Vec3 axis = rotate(quat_from_axis_angle(Vec3(1, 0, 0), tilt), Vec3(0, 0, 1));
  const Vec3 omega = w_3 * axis + W * (Vec3(0, 0, 1) - std::cos(tilt) * axis);
  scene.initial.v["pivot"] = {omega[0], omega[1], omega[2]};
  const Model model = compile(scene);
  const auto errors = [&](double dt) {
    double angle = 0, last = std::atan2(axis.y(), axis.x()), nod = 0;
    simulate(model, Integrator::midpoint, dt, 1, [&](const State& s) {
      const Vec3 now = rotation_matrix(s.q.head<4>()).col(2);
      nod = std::max(nod, std::abs(now.z() - std::cos(tilt)));
      const double azimuth = std::atan2(now.y(), now.x());
      angle += std::remainder(azimuth - last, 2 * std::numbers::pi);
      last = azimuth;
    });
    return Vec2(std::abs(angle - W), nod);
  };
  const Vec2 coarse = errors(1e-4), fine = errors(5e-5);
  EXPECT_LT(coarse[0], 1e-3 * W);
  EXPECT_LT(coarse[1], 1e-3);
  EXPECT_NEAR(std::log2(coarse[0] / fine[0]), 2, 0.1);  // second order to the analytic solution
  EXPECT_NEAR(std::log2(coarse[1] / fine[1]), 2, 0.1);
}

// Analytic: the chain's normal modes. x(t) = sum over modes of cos and sin.
TEST(Schemes, SpringChainFollowsItsNormalModes) {
  const Scene scene = spring_chain();
  const Model model = compile(scene);
  // In absolute displacements u_i = sum_{j<=i} q_j: m u'' = -k (2u_i - u_{i-1} - u_{i+1}), fixed left, free
  // right end. Modes sin(theta_p (i+1)) with theta_p = (2p-1) pi / (2N+1), omega_p = 2 sqrt(k/m)
  // sin(theta_p/2).
  const int N = 10;
  const double t = 2.0;
  const State start = initial_state(model);
  VecX u0 = start.q, w0 = start.v;
  for (int i = 1; i < N; ++i) u0[i] += u0[i - 1], w0[i] += w0[i - 1];
  VecX u = VecX::Zero(N);
  for (int p = 1; p <= N; ++p) {
    const double theta = (2 * p - 1) * std::numbers::pi / (2 * N + 1),
                 omega = 2 * std::sqrt(50 / 0.2) * std::sin(theta / 2);
    VecX mode(N);
    for (int i = 0; i < N; ++i) mode[i] = std::sin(theta * (i + 1));
    const double c = mode.dot(u0) / mode.squaredNorm(), d = mode.dot(w0) / mode.squaredNorm();
    u += (c * std::cos(omega * t) + d / omega * std::sin(omega * t)) * mode;
  }
  State exact = start;
  exact.q = u;
  for (int i = N - 1; i > 0; --i) exact.q[i] -= exact.q[i - 1];
  for (const Integrator i : kAll) {
    EXPECT_NEAR(measured_order(scene, i, 5e-4, t, exact), order_of(i), 0.2) << integrator_name(i);
  }
  EXPECT_LT(error(model, simulate(model, Integrator::midpoint, 1e-4, t), exact), 1e-4);
}

// A short heavy double pendulum for 20 s. With velocity terms at the old velocities it ends with 0.57 J less
// at 1 ms.
TEST(Schemes, VelocityTermsAtTheMeanKeepEnergy) {
  Scene scene;
  scene.bodies.push_back(make_body("crank", kWorld, {0, 0, 0}, 0.1, {0.05, 0, 0}, {1e-5, 9.17e-5, 9.17e-5}));
  scene.bodies.back().joints.push_back(make_joint("shoulder", JointType::revolute));
  scene.bodies.push_back(make_body("rod", "crank", {0.1, 0, 0}, 0.3, {0.15, 0, 0}, {3e-5, 2.36e-3, 2.36e-3}));
  scene.bodies.back().joints.push_back(make_joint("elbow", JointType::revolute));
  scene.initial.q["shoulder"] = {-1.047};
  scene.initial.q["elbow"] = {1.34};
  const Model model = compile(scene);
  for (const Integrator integrator : {Integrator::semi_implicit, Integrator::symplectic_euler}) {
    for (const double dt : {0.001, 0.002}) {
      State state = initial_state(model);
      Workspace workspace = make_workspace(model);
      double means[2] = {};  // of the first and the last five seconds
      const int steps = static_cast<int>(std::lround(20 / dt)), part = steps / 4;
      for (int i = 0; i < steps; ++i) {
        step(model, {dt, integrator}, {}, &state, &workspace);
        const double energy = calc_mechanics(model, state).total();
        if (i < part) means[0] += energy / part;
        if (i >= steps - part) means[1] += energy / part;
      }
      EXPECT_LT(std::abs(means[1] - means[0]), 0.02) << integrator_name(integrator) << ", " << dt;
    }
  }
}

// SAP VI-B without contact: 0.5 kg on a spring of 100 N/m, dt 20 ms.
TEST(Schemes, EnergyOfASpringMassIsAsPublished) {
  Scene scene;
  scene.options.gravity.setZero();
  scene.bodies.push_back(make_body("mass", kWorld, {0, 0, 0}, 0.5, {0, 0, 0}, {1e-3, 1e-3, 1e-3}));
  scene.bodies.back().joints.push_back(make_joint("slide", JointType::prismatic, {1, 0, 0}));
  scene.bodies.back().joints.back().stiffness = 100;
  scene.initial.q["slide"] = {0.1};
  const Model model = compile(scene);
  const double start = calc_mechanics(model, initial_state(model)).total();
  EXPECT_DOUBLE_EQ(start, 0.5);
  const auto band = [&](Integrator integrator, double duration) {
    double low = start, high = start;
    simulate(model, integrator, 0.02, duration, [&](const State& s) {
      const double energy = calc_mechanics(model, s).total();
      low = std::min(low, energy), high = std::max(high, energy);
    });
    return std::pair(low / start, high / start);
  };
  const auto [mid_low, mid_high] = band(Integrator::midpoint, 600);
  EXPECT_NEAR(mid_low, 1, 1e-10);  // conserved exactly, also after ten minutes
  EXPECT_NEAR(mid_high, 1, 1e-10);
  const auto [sym_low, sym_high] = band(Integrator::symplectic_euler, 600);
  EXPECT_NEAR(sym_high - sym_low, 0.28, 0.02);  // published: a 28 % band
  const auto [imp_low, imp_high] = band(Integrator::implicit_euler, 3);
  EXPECT_LT(imp_low, 1e-3);  // all lost in a few periods
  EXPECT_LE(imp_high, 1);
  const auto [exp_low, exp_high] = band(Integrator::explicit_euler, 3);
  EXPECT_GT(exp_high, 10);  // explicit Euler gains energy
  EXPECT_GE(exp_low, 1);
}

// A spring that one step cannot resolve: omega dt = 63. The implicit schemes stay bounded.
TEST(Schemes, ImplicitSchemesAreStableOnStiffSprings) {
  Scene scene = double_pendulum();
  for (Body& body : scene.bodies) {
    body.joints[0].stiffness = 1e7;
    body.joints[0].damping = 10;
  }
  const Model model = compile(scene);
  for (const Integrator i : {Integrator::semi_implicit, Integrator::implicit_euler}) {
    const State end = simulate(model, i, 0.02, 2);
    EXPECT_LT(end.q.norm(), 1e-3) << integrator_name(
        i);  // at rest at the springs' zero (gravity bends by 1e-6)
  }
  EXPECT_LT(simulate(model, Integrator::midpoint, 0.02, 2).q.norm(), 2);  // bounded, not damped
}

TEST(Schemes, QuaternionsStayUnit) {
  for (const Integrator i : kAll) {
    const Model model = compile(free_body(true));
    simulate(model, i, 1e-2, 2, [&](const State& s) { ASSERT_NEAR(s.q.segment<4>(3).norm(), 1, 1e-15); });
  }
}

// The implicit schemes solve m(v*) = 0 to round-off on random trees of every joint type.
TEST(Schemes, NewtonConvergesOnRandomTrees) {
  test::Random random(21);
  for (int trial = 0; trial < 60; ++trial) {
    const Model model = compile(test::random_scene(random, 1 + trial % 8));
    if (model.num_velocities() == 0) continue;
    State state = test::random_state(random, model, 3);
    Workspace workspace = make_workspace(model);
    for (const Integrator i : {Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
      State s = state;
      const Report report = step(model, {0.01, i}, {}, &s, &workspace);
      EXPECT_LT(report.free_motion_residual, 1e-12) << integrator_name(i) << " trial " << trial;
      EXPECT_LE(report.free_motion_iterations, 8) << integrator_name(i) << " trial " << trial;
    }
  }
}

}  // namespace
}  // namespace capstan::schemes_test
