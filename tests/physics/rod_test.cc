// Discrete elastic rods against finite differences and against the theory of beams, with the order in which
// they converge. Static answers are found by a plain dense Newton method.
#include "capstan/physics/rod.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "capstan/math/block_matrix.h"
#include "capstan/math/rotation.h"
#include "tests/support/rod_statics.h"

namespace capstan::rod_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

// A crooked, twisted, stressed rod with a flat section.
RodSpec crooked(bool closed, int nodes, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  RodSpec spec = cantilever(4, 1);
  spec.nodes.clear();
  spec.closed = closed;
  spec.clamped_edges.clear();
  spec.section = {RodSectionType::rectangle, 0.02, 0.008, TorsionConstant::exact};
  for (int i = 0; i < nodes; ++i) {
    const double angle = 2 * kPi * i / nodes;
    const Vec3 on_line(0.1 * i, 0, 0), on_ring(0.3 * std::cos(angle), 0.3 * std::sin(angle), 0);
    spec.nodes.push_back((closed ? on_ring : on_line) + 0.04 * Vec3(u(random), u(random), u(random)));
  }
  const int edges = closed ? nodes : nodes - 1, joints = closed ? nodes : nodes - 2;
  spec.rest = RodRest::given;
  for (int i = 0; i < edges; ++i) {
    spec.angles.push_back(u(random));
    spec.rest_length.push_back(0.1 * (1 + 0.2 * u(random)));
  }
  for (int j = 0; j < joints; ++j) spec.natural.push_back(3 * Vec3(u(random), u(random), u(random)));
  return spec;
}

VecX load(const Rod& rod, int dof, double value) {
  VecX force = VecX::Zero(rod.num_dofs());
  force[dof] = value;
  return force;
}

TEST(Rod, GradientAndHessianAreTheDerivativesOfTheEnergy) {
  for (const bool closed : {false, true}) {
    for (int seed = 0; seed < 3; ++seed) {
      const Rod rod(crooked(closed, closed ? 5 + seed : 4 + seed, seed));
      const VecX q = initial(rod);
      const int n = rod.num_dofs();
      const VecX g = gradient(rod, q);
      const MatX K = rod.calc_stiffness(q);
      MatX differences(n, n);
      const double h = 1e-6;
      for (int k = 0; k < n; ++k) {
        const VecX up = moved(rod, q, VecX::Unit(n, k), h), down = moved(rod, q, VecX::Unit(n, k), -h);
        EXPECT_NEAR((rod.calc_elastic_energy(up) - rod.calc_elastic_energy(down)) / (2 * h), g[k],
                    1e-7 * g.cwiseAbs().maxCoeff())
            << k;
        differences.col(k) = (gradient(rod, up) - gradient(rod, down)) / (2 * h);
      }
      // Bending and twist are softer than stretch: scale by the diagonal.
      const VecX scale = K.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
      const MatX error =
          scale.asDiagonal() * (0.5 * (differences + differences.transpose()) - K) * scale.asDiagonal();
      EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-6) << closed << seed;
      EXPECT_LT((K - K.transpose()).cwiseAbs().maxCoeff(), 1e-9 * K.cwiseAbs().maxCoeff());
    }
  }
}

// What steps are made with, four joints at a time, against the plain sums of gradient and stiffness.
TEST(Rod, TheSystemOfAStepIsThatOfGradientAndStiffness) {
  for (const bool closed : {false, true}) {
    for (int nodes = closed ? 3 : 2; nodes < 13; ++nodes) {
      for (const int held : {0, 1}) {
        RodSpec spec = crooked(closed, nodes, nodes);
        if (closed && nodes < 5) {  // no fold
          for (int i = 0; i < nodes; ++i)
            spec.nodes[i] =
                0.3 * Vec3(std::cos(2 * kPi * i / nodes), std::sin(2 * kPi * i / nodes), 0.1 * (i % 2));
          for (Vec3& natural : spec.natural) natural *= 0.1;
        }
        if (held != 0) spec.pinned_nodes = {nodes / 2};
        if (held != 0) spec.held_angles = {0};
        const Rod rod(spec);
        const VecX q = initial(rod), none = VecX::Zero(rod.num_dofs());
        const int n = rod.num_dofs();
        VecX v(n), m(n), m_alone(n);
        for (int k = 0; k < n; ++k) v[k] = 0.3 * std::sin(3.0 * k);
        ObjectStep step{q, none, none, Vec3::Zero()};
        step.dt = 0.05;
        BlockMatrix A;
        const ObjectLayout layout = rod.layout();
        A.set_pattern({layout.block_sizes, layout.pairs, {}});
        rod.calc_system(step, v, m, Tangent::exact, &A);
        rod.calc_system(step, v, m_alone, Tangent::exact, nullptr);
        EXPECT_LT((m - m_alone).norm(), 1e-14 * m.norm());
        const VecX end = moved(rod, q, v, step.dt);
        double potential = rod.calc_elastic_energy(end);
        for (int k = 0; k < n; ++k) potential += rod.is_held(k) ? 0 : 0.5 * rod.inertia()[k] * v[k] * v[k];
        EXPECT_NEAR(rod.calc_potential(step, v), potential, 1e-12 * potential);
        VecX expected = rod.inertia().cwiseProduct(v) + step.dt * gradient(rod, end);
        MatX K = step.dt * step.dt * rod.calc_stiffness(end);
        K.diagonal() += rod.inertia();
        for (int i = 0; i < n; ++i) {
          if (!rod.is_held(i)) continue;
          expected[i] = m[i];
          K.row(i).setZero();
          K.col(i).setZero();
          K(i, i) = A.dense()(i, i);
        }
        EXPECT_LT((m - expected).norm(), 1e-12 * expected.norm()) << closed << nodes << held;
        const VecX scale = K.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
        const MatX error = scale.asDiagonal() * (A.dense() - K) * scale.asDiagonal();
        EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-12) << closed << nodes << held;
      }
    }
  }
}

// With damping, and by the middle of a step.
TEST(Rod, TheTangentOfADampedStepIsTheDerivativeOfItsMomentum) {
  for (const bool closed : {false, true}) {
    RodSpec spec = crooked(closed, 7, 5);
    spec.beta = 0.03;
    spec.alpha = 2;
    const Rod rod(spec);
    const int n = rod.num_dofs();
    const VecX q = initial(rod), force = VecX::LinSpaced(n, -1, 1);
    const VecX v = VecX::Zero(n), v0 = v;  // at others frames have turned by the area that tangents sweep
    VecX up(n), down(n), m(n);
    ObjectStep step{q, v0, force, Vec3(1, 2, 3)};
    step.dt = 0.05;
    step.theta = step.theta_vq = step.theta1 = 0.5;
    BlockMatrix A;
    const ObjectLayout layout = rod.layout();
    A.set_pattern({layout.block_sizes, layout.pairs, {}});
    rod.calc_system(step, v, m, Tangent::exact, &A);
    MatX differences(n, n);
    const double h = 1e-4;
    for (int k = 0; k < n; ++k) {
      const VecX a = v + h * VecX::Unit(n, k), b = v - h * VecX::Unit(n, k);
      rod.calc_system(step, a, up, Tangent::exact, nullptr);
      rod.calc_system(step, b, down, Tangent::exact, nullptr);
      differences.col(k) = (up - down) / (2 * h);
    }
    const MatX H = A.dense();
    const VecX scale = H.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
    const MatX error =
        scale.asDiagonal() * (0.5 * (differences + differences.transpose()) - H) * scale.asDiagonal();
    EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-6);
  }
}

// Both are wrong when a term of the bend's or the twist's Hessian is: each alone, by its own strain.
TEST(Rod, EachStrainHasItsDerivatives) {
  const Rod rod(crooked(false, 3, 7));
  const VecX q = initial(rod);
  const double h = 1e-5;
  const RodEdge e = rod.edge(q, 0), f = rod.edge(q, 1);
  for (int a = 0; a < 3; ++a) {
    Mat11 H = Mat11::Zero(), differences;
    add_joint_hessian(e, f, Vec3::Unit(a), &H);
    const Vec11 g = calc_joint_gradient(e, f).col(a);
    for (int k = 0; k < 11; ++k) {
      const VecX up = moved(rod, q, VecX::Unit(11, k), h), down = moved(rod, q, VecX::Unit(11, k), -h);
      EXPECT_NEAR((rod.strain(up, 0)[a] - rod.strain(down, 0)[a]) / (2 * h), g[k], 1e-7 * g.norm()) << a << k;
      differences.col(k) = (calc_joint_gradient(rod.edge(up, 0), rod.edge(up, 1)).col(a) -
                            calc_joint_gradient(rod.edge(down, 0), rod.edge(down, 1)).col(a)) /
                           (2 * h);
    }
    EXPECT_LT((0.5 * (differences + differences.transpose()) - H).norm(), 1e-6 * H.norm()) << a;
  }
}

TEST(Rod, ARigidMotionChangesNoEnergyAndForcesBalance) {
  const Rod rod(crooked(false, 8, 1));
  const VecX q = initial(rod), g = gradient(rod, q);
  const Vec4 turn = quat_exp(Vec3(0.3, -1.1, 0.7));
  VecX turned = q;
  for (int i = 0; i < rod.num_nodes(); ++i)
    turned.segment<3>(4 * i) = rotate(turn, Rod::node(q, i)) + Vec3(1, 2, 3);
  for (int i = 0; i < rod.num_edges(); ++i) {
    const int at = rod.num_dofs() + 3 * i;
    turned.segment<3>(at) = rotate(turn, q.segment<3>(at));
  }
  EXPECT_NEAR(rod.calc_elastic_energy(turned), rod.calc_elastic_energy(q),
              1e-11 * rod.calc_elastic_energy(q));
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
  for (int i = 0; i < rod.num_nodes(); ++i) {
    force += g.segment<3>(4 * i);
    moment += cross(Rod::node(q, i), Vec3(g.segment<3>(4 * i)));
  }
  for (int i = 0; i < rod.num_edges(); ++i) moment += g[4 * i + 3] * rod.edge(q, i).tangent;
  EXPECT_LT(force.norm(), 1e-11 * g.norm());
  EXPECT_LT(moment.norm(), 1e-11 * g.norm());
}

// A loop of small steps brings the nodes back; what the frames turned by is in gamma plus beta, not lost.
TEST(Rod, FramesCarriedAroundGiveTheSameTwist) {
  const Rod rod(crooked(false, 3, 2));
  VecX q = initial(rod);
  const Vec3 before = rod.strain(q, 0);
  // The last node goes round the axis of the first edge ten times: tau of the joint follows each turn.
  const Vec3 t = rod.edge(q, 0).tangent, x1 = Rod::node(q, 1);
  const int steps = 2000;
  for (int k = 0; k < steps; ++k) {
    const Vec3 r = Rod::node(q, 2) - x1;
    VecX v = VecX::Zero(rod.num_dofs());
    v.segment<3>(8) = rotate(quat_from_axis_angle(t, 20 * kPi / steps), r) - r;
    q = moved(rod, q, v, 1);
  }
  // Ten turns sweep ten times the area 2 pi (1 - cos): the reference frames twist by it, without a jump.
  const double turn = std::acos(t.dot(rod.edge(q, 1).tangent));
  EXPECT_NEAR(std::abs(rod.strain(q, 0)[2] - before[2]), 20 * kPi * (1 - std::cos(turn)), 1e-2);
  EXPECT_GT(20 * kPi * (1 - std::cos(turn)), 0.1);
}

TEST(Rod, PointsOfAnEdgeMoveAsTheEdgeDoes) {
  const Rod rod(crooked(false, 5, 3));
  const VecX q = initial(rod);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(-1, 1);
  VecX v(rod.num_dofs());
  for (double& x : v) x = u(random);
  std::vector<Transform> X(4), X1(4), X0(4);
  std::vector<Vec6> V(4);
  rod.place(q, X);
  const double h = 1e-6;
  rod.place(moved(rod, q, v, h), X1);
  rod.place(moved(rod, q, v, -h), X0);
  const Vec3 origin(0.1, 0.2, 0.3);
  rod.calc_twists(q, v, origin, V);
  for (int i = 0; i < 4; ++i) {
    const Vec3 p_C(0.01, -0.02, 0), p = X[i] * p_C;
    const Vec3 velocity = (X1[i] * p_C - X0[i] * p_C) / (2 * h);
    PointPart parts[kMostPointParts];
    Vec3 sum = Vec3::Zero();
    const int n = rod.calc_point(q, i, p, parts);
    for (int k = 0; k < n; ++k) {
      EXPECT_EQ(parts[k].size, parts[k].block == 4 ? 3 : 4);
      sum += Eigen::Map<const Eigen::Matrix<double, 3, Eigen::Dynamic>>(parts[k].J.data(), 3, parts[k].size) *
             v.segment(4 * parts[k].block, parts[k].size);
    }
    EXPECT_LT((sum - velocity).norm(), 1e-8);
    EXPECT_LT((V[i].tail<3>() + cross(Vec3(V[i].head<3>()), Vec3(p - origin)) - velocity).norm(), 1e-8);
  }
}

ObjectStep make_step(const VecX& q, const VecX& v, const VecX& force, double dt) {
  return {q, v, force, Vec3(0, 0, -9.81), dt, 0, 1, 1};
}
BlockMatrix system_matrix(const Rod& rod) {
  BlockMatrix A;
  const ObjectLayout layout = rod.layout();
  A.set_pattern({layout.block_sizes, layout.pairs, {}});
  return A;
}

TEST(Rod, AIsTheDerivativeOfTheResidualAndPositiveDefinite) {
  for (const bool closed : {false, true}) {
    RodSpec spec = crooked(closed, 6, 5);
    spec.alpha = 0.7;
    const int nodes = static_cast<int>(spec.nodes.size());
    for (int i = 0; i < static_cast<int>(spec.rest_length.size()); ++i)  // under pressure
      spec.rest_length[i] = 1.2 * (spec.nodes[(i + 1) % nodes] - spec.nodes[i]).norm();
    const Rod rod(spec);
    const VecX q = initial(rod), zero = VecX::Zero(rod.num_dofs());
    BlockMatrix A = system_matrix(rod), unused = system_matrix(rod);
    const int n = rod.num_dofs();
    const double dt = 3e-4;  // short: no element needs a change
    const ObjectStep step = make_step(q, zero, zero, dt);
    VecX m(n), up(n), down(n);
    rod.calc_system(step, zero, m, Tangent::convex, &A);
    MatX differences(n, n);
    for (int k = 0; k < n; ++k) {
      rod.calc_system(step, 1e-2 * VecX::Unit(n, k), up, Tangent::convex, &unused);
      rod.calc_system(step, -1e-2 * VecX::Unit(n, k), down, Tangent::convex, &unused);
      differences.col(k) = (up - down) / 2e-2;
    }
    const MatX dense = A.dense();
    const VecX scale = dense.diagonal().cwiseSqrt().cwiseInverse();
    const MatX error =
        scale.asDiagonal() * (0.5 * (differences + differences.transpose()) - dense) * scale.asDiagonal();
    EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-6);
    // Long steps: K itself is indefinite here, A is not.
    EXPECT_LT(Eigen::SelfAdjointEigenSolver<MatX>(rod.calc_stiffness(q)).eigenvalues()[0], -1e-3);
    for (const double long_dt : {1e-3, 1e-2, 1.0}) {
      rod.calc_system(make_step(q, zero, zero, long_dt), zero, m, Tangent::convex, &A);
      EXPECT_EQ(Eigen::LLT<MatX>(A.dense()).info(), Eigen::Success) << long_dt;
    }
  }
}

TEST(Rod, DampingTakesNothingFromARigidMotionAndStopsStrain) {
  RodSpec spec = crooked(false, 6, 8);
  spec.beta = 0.1;
  const Rod damped(spec);
  spec.beta = 0;
  const Rod plain(spec);
  const VecX q = initial(damped), zero = VecX::Zero(damped.num_dofs());
  VecX spin = zero;
  const Vec3 w(0.5, -0.4, 0.9);
  for (int i = 0; i < damped.num_nodes(); ++i) spin.segment<3>(4 * i) = cross(w, Rod::node(q, i));
  for (int i = 0; i < damped.num_edges(); ++i) spin[4 * i + 3] = w.dot(damped.edge(q, i).tangent);
  BlockMatrix A = system_matrix(damped);
  const double dt = 1e-7;
  VecX m1(zero), m0(zero);
  for (const bool rigid : {true, false}) {
    VecX v = spin;
    if (!rigid) v.setOnes(), v[1] = -3;
    damped.calc_system(make_step(q, v, zero, dt), v, m1, Tangent::convex, &A);
    plain.calc_system(make_step(q, v, zero, dt), v, m0, Tangent::convex, &A);
    const double power = v.dot(m1 - m0) / dt;  // that damping takes
    if (rigid) {
      EXPECT_LT(std::abs(power), 1e-4);
    } else {
      EXPECT_GT(power, 1);
    }
  }
}

TEST(Rod, StretchIsFLOverEA) {
  RodSpec spec = cantilever(10, 1);
  spec.clamped_edges.clear();
  spec.pinned_nodes = {0};
  spec.held_angles = {0};
  const Rod rod(spec);
  // No stiffness holds a straight rod on one pin, unless it is under tension: begin with some.
  VecX q = initial(rod);
  VecX v = VecX::Zero(rod.num_dofs());
  for (int i = 0; i <= 10; ++i) v[4 * i] = 1e-3 * i;
  q = settle(rod, moved(rod, q, v, 1), load(rod, 40, 5));
  const double length = (spec.nodes[10] - spec.nodes[0]).norm();
  EXPECT_NEAR(q[40] - q[0] - length, 5 * length / (1e7 * kPi / 4 * 1e-4), 1e-11);
  EXPECT_NEAR(rod.tension(q, 3), 5, 1e-8);
}

TEST(Rod, TorsionIsTLOverGJ) {
  struct Case {
    RodSectionType type;
    double width, height, J;  // J by the books: 0.1406 a^4 for a square, 0.2287 a b^3 at 2:1
  };
  const double d = 0.01;
  for (const Case& c : {Case{RodSectionType::circle, d, 0, kPi / 32 * std::pow(d, 4)},
                        Case{RodSectionType::rectangle, d, d, 0.14058 * std::pow(d, 4)},
                        Case{RodSectionType::rectangle, d, 2 * d, 0.22868 * 2 * std::pow(d, 4)},
                        Case{RodSectionType::rectangle, 10 * d, d, 0.31233 * 10 * std::pow(d, 4)},
                        Case{RodSectionType::ellipse, 3 * d, d, kPi / 16 * 27 / 10 * std::pow(d, 4)}}) {
    RodSpec spec = cantilever(12, 1);
    spec.section = {c.type, c.width, c.height, TorsionConstant::exact};
    const Rod rod(spec);
    const double h = rod.rest_length(0), G = 1e7 / 2.6, torque = 1e-3;
    const VecX q = settle(rod, initial(rod), load(rod, 4 * 11 + 3, torque));
    EXPECT_NEAR(q[4 * 11 + 3], torque * 11 * h / (G * c.J), 1e-4 * q[4 * 11 + 3]);
  }
  EXPECT_NEAR(calc_section_constants({RodSectionType::circle, d, 0, TorsionConstant::polar}).torsion,
              kPi / 32 * std::pow(d, 4), 1e-20);
  const double belt = calc_section_constants({RodSectionType::rectangle, 0.02, 0.002}).torsion;
  const double polar =
      calc_section_constants({RodSectionType::rectangle, 0.02, 0.002, TorsionConstant::polar}).torsion;
  EXPECT_NEAR(polar, 0.02 * 0.002 * (4e-4 + 4e-6) / 12, 1e-18);
  EXPECT_NEAR(polar / belt, 27, 0.5);
}

TEST(Rod, ACantileverBendsByFL3Over3EIInBothDirections) {
  double error[2];
  for (int k = 0; k < 2; ++k) {
    RodSpec spec = cantilever(k == 0 ? 10 : 20, 1);
    spec.section = {RodSectionType::rectangle, 0.02, 0.01, TorsionConstant::exact};  // m1 is along z
    const Rod rod(spec);
    const int tip = 4 * (rod.num_nodes() - 1);
    const double force = 1e-5, w = 0.02, h = 0.01;
    for (const int axis : {1, 2}) {
      const VecX q = settle(rod, initial(rod), load(rod, tip + axis, force));
      const double I = axis == 2 ? w * w * w * h / 12 : w * h * h * h / 12;
      const double expected = force / (3 * 1e7 * I);
      error[k] = std::abs(q[tip + axis] / expected - 1);
      EXPECT_LT(error[k], k == 0 ? 3e-3 : 8e-4) << axis;
    }
  }
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2, 0.15);  // second order
}

// Tip deflection (along, down) of Euler's elastica of length 1 under F L^2 / E I = p, by shooting.
Vec2 elastica_tip(double p) {
  const int steps = 4000;
  const double h = 1.0 / steps;
  Vec2 tip;
  const auto end_curvature = [&](double k) {
    double angle = 0;
    tip.setZero();
    for (int i = 0; i < steps; ++i) {  // angle'' = -p cos(angle), Stoermer and Verlet, order 2
      const double half = k - 0.5 * h * p * std::cos(angle), middle = angle + 0.5 * h * half;
      tip += h * Vec2(std::cos(middle), std::sin(middle));
      angle += h * half;
      k = half - 0.5 * h * p * std::cos(angle);
    }
    return k;
  };
  double low = 0, high = p;
  for (int i = 0; i < 60; ++i) (end_curvature(0.5 * (low + high)) > 0 ? high : low) = 0.5 * (low + high);
  return tip;
}

TEST(Rod, ALargeDeflectionIsEulersElastica) {
  EXPECT_NEAR(elastica_tip(1)[1], 0.30172, 1e-5);  // Bisshopp and Drucker
  const double p = 6;
  const Vec2 expected = elastica_tip(p);
  double error[2];
  for (int k = 0; k < 2; ++k) {
    const Rod rod(cantilever(k == 0 ? 20 : 40, 1));
    const int tip = 4 * (rod.num_nodes() - 1);
    const double EI = 1e7 * kPi / 64 * 1e-8;
    VecX q = initial(rod);
    for (int i = 1; i <= 12; ++i) q = settle(rod, q, load(rod, tip + 2, -p * EI * i / 12));
    error[k] = (Vec2(q[tip], -q[tip + 2]) - expected).norm();
  }
  EXPECT_LT(error[1], 1e-3);
  EXPECT_GT(std::log2(error[0] / error[1]), 1.5);
}

TEST(Rod, AColumnBucklesAtEulersLoad) {
  const double EI = 1e7 * kPi / 64 * 1e-8, expected = kPi * kPi * EI / 4;
  double error[2];
  for (int k = 0; k < 2; ++k) {
    const Rod rod(cantilever(k == 0 ? 10 : 20, 1));
    double low = 0.5 * expected, high = 1.5 * expected;
    for (int i = 0; i < 25; ++i) {
      const double P = 0.5 * (low + high);
      const VecX q = settle(rod, initial(rod), load(rod, 4 * (rod.num_nodes() - 1), -P));
      (eigenvalues_of(rod, q, false)[0] < 0 ? high : low) = P;
    }
    error[k] = std::abs(low / expected - 1);
  }
  EXPECT_LT(error[1], 2e-3);
  EXPECT_GT(error[0], 2 * error[1]);
}

TEST(Rod, ARopeHangsInACatenary) {
  // y = a cosh(x / a) between x = -1 and 1 with a = 1: sag cosh(1) - 1, length 2 sinh(1).
  double error[2];
  for (int k = 0; k < 2; ++k) {
    const int edges = k == 0 ? 16 : 32;
    RodSpec spec = cantilever(edges, 1);
    spec.clamped_edges.clear();
    spec.nodes.clear();
    for (int i = 0; i <= edges; ++i) {
      const double s = std::sinh(1.0) * (2.0 * i / edges - 1);
      spec.nodes.push_back({std::asinh(s), 0, std::sqrt(1 + s * s)});
    }
    spec.rest_length.assign(edges, 2 * std::sinh(1.0) / edges);
    spec.rest = RodRest::straight;
    spec.section.width = 1e-4;  // stretch rho g a / E = 3e-5, bending E d^2 / (16 rho g a^3) = 2e-5
    spec.young_modulus = 3e9;
    spec.density = 1e4;
    spec.pinned_nodes = {0, edges};
    spec.held_angles = {0};
    const Rod rod(spec);
    VecX force = VecX::Zero(rod.num_dofs());
    for (int i = 0; i <= edges; ++i) force[4 * i + 2] = -9.81 * rod.inertia()[4 * i];
    const VecX q = settle(rod, initial(rod), force);
    error[k] = std::abs(q[4 * (edges / 2) + 2] - 1);
    // The horizontal force is weight per length times a.
    EXPECT_NEAR(rod.tension(q, edges / 2) * rod.edge(q, edges / 2).tangent.x(), 1e4 * kPi / 4 * 1e-8 * 9.81,
                0.01 * 7.7e-4);
  }
  EXPECT_LT(error[1], 2e-3);
  EXPECT_GT(error[0], 2.5 * error[1]);
}

TEST(Rod, NaturalCurvatureMakesARing) {
  // Curvature 1 / R along the whole rod of length 2 pi R: it closes on itself without stress.
  const int edges = 40;
  const double R = 0.1, h = 2 * kPi * R / edges;
  RodSpec spec = cantilever(4, 1);
  spec.nodes.clear();
  for (int i = 0; i <= edges; ++i) spec.nodes.push_back({i * h, 0, 0});
  spec.rest = RodRest::given;
  spec.natural.assign(edges - 1, Vec3(1 / R, 0, 0));
  const Rod rod(spec);
  VecX q = initial(rod);
  Rod growing(spec);  // by steps: curvature as actuation
  for (int k = 1; k <= 30; ++k) {
    for (int j = 0; j < growing.num_joints(); ++j) growing.set_natural(j, Vec3(k / (30 * R), 0, 0));
    q = settle(growing, q, VecX::Zero(rod.num_dofs()));
  }
  EXPECT_LT(rod.calc_elastic_energy(q), 1e-16);
  EXPECT_LT((Rod::node(q, edges) - Rod::node(q, 0)).norm(), 1e-9);
}

TEST(Rod, AClosedRingIsAtRestAndItsTwistCloses) {
  RodSpec spec = cantilever(4, 1);
  spec.clamped_edges.clear();
  spec.closed = true;
  spec.nodes.clear();
  for (int i = 0; i < 30; ++i) {
    const double a = 2 * kPi * i / 30;
    spec.nodes.push_back({std::cos(a), std::sin(a), 0.2 * std::sin(2 * a) + 0.1 * std::cos(3 * a)});
  }
  const Rod rod(spec);
  const VecX q = initial(rod);
  EXPECT_LT(gradient(rod, q).norm(), 1e-9);
  EXPECT_EQ(rod.num_dofs(), 120);
  const double twist = rod.strain(q, 0)[2] / rod.rest_span(0);
  for (int j = 1; j < 30; ++j) EXPECT_NEAR(rod.strain(q, j)[2] / rod.rest_span(j), twist, 1e-9);
  spec.nodes.resize(3);
  EXPECT_EQ(Rod(spec).layout().pairs.size(), 3u);
}

TEST(Rod, NeighboursAlongTheRodAreApart) {
  RodSpec spec = cantilever(10, 0.095);  // edges of 10 mm, diameter 10 mm
  const std::vector<std::array<int, 2>> apart = Rod(spec).layout().apart;
  const auto has = [&](int a, int b) {
    return std::find(apart.begin(), apart.end(), std::array{a, b}) != apart.end();
  };
  EXPECT_TRUE(has(3, 4));
  EXPECT_TRUE(has(3, 5));   // 10 mm between them, less than pi/2 10 mm
  EXPECT_FALSE(has(3, 6));  // 20 mm
}

TEST(Rod, WrongInputIsToldWithARemedy) {
  const auto complaint = [](const RodSpec& spec) -> std::string {
    try {
      const Rod rod(spec);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const RodSpec good = cantilever(4, 1);
  EXPECT_EQ(complaint(good), "");
  RodSpec bad = good;
  bad.section.width = 0;
  bad.young_modulus = -1;
  EXPECT_NE(complaint(bad).find("diameter is 0 m"), std::string::npos);
  EXPECT_NE(complaint(bad).find("Young's modulus is -1 Pa"), std::string::npos);
  bad = good;
  bad.nodes[2] = bad.nodes[1];
  EXPECT_NE(complaint(bad).find("nodes 1 and 2"), std::string::npos);
  bad = good;
  bad.closed = true;
  bad.nodes.resize(2);
  EXPECT_NE(complaint(bad).find("at least 3"), std::string::npos);
  bad = good;
  bad.pinned_nodes = {17};
  EXPECT_NE(complaint(bad).find("no node 17"), std::string::npos);
}

}  // namespace
}  // namespace capstan::rod_test
