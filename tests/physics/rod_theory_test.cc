// Discrete elastic rods against solutions of rod theory in space, and vibrations, each with the order in
// which it is reached: twisted rings, helices, modes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "tests/support/rod_statics.h"

namespace capstan::rod_theory_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

TEST(RodTheory, ACantileverVibratesAtItsFirstThreeFrequencies) {
  const double EI = 1e7 * kPi / 64 * 1e-8, rho_A = 1000 * kPi / 4 * 1e-4;
  const double roots[3] = {1.8751040687, 4.6940911330, 7.8547574382};  // of cos x cosh x = -1
  std::array<double, 3> error[2];
  for (int k = 0; k < 2; ++k) {
    const Rod rod(cantilever(k == 0 ? 20 : 40, 1));
    const VecX squares = eigenvalues_of(rod, initial(rod), true);
    for (int mode = 0; mode < 3; ++mode) {
      const double expected = roots[mode] * roots[mode] * std::sqrt(EI / rho_A);
      for (const int direction : {0, 1}) {  // a round section has each mode twice
        error[k][mode] = std::abs(std::sqrt(squares[2 * mode + direction]) / expected - 1);
        EXPECT_LT(error[k][mode], (k == 0 ? 2e-3 : 5e-4) * (1 + 3 * mode)) << mode;
      }
    }
  }
  for (int mode = 0; mode < 3; ++mode) EXPECT_NEAR(std::log2(error[0][mode] / error[1][mode]), 2, 0.1);
}

// A rod, straight at rest, joined to a ring with a total twist. By natural twist: what a round section feels
// is the difference.
Rod twisted_ring(int nodes, double twist, double poisson_ratio) {
  RodSpec spec;
  for (int i = 0; i < nodes; ++i)
    spec.nodes.push_back({std::cos(2 * kPi * i / nodes), std::sin(2 * kPi * i / nodes), 0});
  spec.closed = true;
  spec.section.width = 0.02;
  spec.young_modulus = 1e9;
  spec.poisson_ratio = poisson_ratio;
  spec.density = 1000;
  spec.rest = RodRest::given;
  const double length = nodes * 2 * std::sin(kPi / nodes);
  spec.natural.assign(nodes, Vec3(0, 0, twist / length));
  return Rod(spec);
}

// A ring leaves its plane when it is twisted by more than 2 pi sqrt(3) E I / (G J), in all (Michell 1889,
// Zajac 1962); for a round section E I / (G J) = 1 + nu. Seven motions take no energy: six rigid ones, and
// the turn of all sections.
TEST(RodTheory, ATwistedRingBucklesAtMichellsTwist) {
  for (const double poisson_ratio : {0.0, 0.4}) {
    const double expected = 2 * kPi * std::sqrt(3.0) * (1 + poisson_ratio);
    double error[3];
    for (int k = 0; k < 3; ++k) {
      const int nodes = 16 << k;
      const double unit = 1e9 * 0.02 * 0.02 / 16 / 1000;  // E I / (rho A R^4)
      double low = 0.5 * expected, high = 1.5 * expected;
      for (int i = 0; i < 16; ++i) {
        const double twist = 0.5 * (low + high);
        const Rod ring = twisted_ring(nodes, twist, poisson_ratio);
        const VecX q = initial(ring);
        if (i == 0) {
          EXPECT_LT(gradient(ring, q).cwiseAbs().maxCoeff(), 1e-9);  // the flat ring is an equilibrium
        }
        const VecX squares = eigenvalues_of(ring, q, true) / unit;
        (squares[0] < -1e-5 ? high : low) = twist;
        if (i == 15) {
          EXPECT_LT(std::abs(squares[6]), 1e-5);
          EXPECT_GT(squares[9], 0.1);
        }
      }
      error[k] = low / expected - 1;
    }
    EXPECT_LT(std::abs(error[2]), 8e-3) << poisson_ratio;
    EXPECT_LT(std::abs(4 * error[2] - error[1]) / 3, 5e-4);  // without what is of second order
    EXPECT_NEAR(std::log2(error[0] / error[1]), 2, 0.2);
    EXPECT_NEAR(std::log2(error[1] / error[2]), 2, 0.2);
  }
}

struct Helix {
  double radius = 0.05, pitch = 0.03, turns = 4;
  double per_turn() const { return std::hypot(2 * kPi * radius, pitch); }
  double length() const { return turns * per_turn(); }
  Vec3 at(double s) const {
    const double angle = 2 * kPi * s / per_turn();
    return {radius * std::cos(angle), radius * std::sin(angle), -pitch * s / per_turn()};
  }
  Vec3 tangent(double s) const {
    const double angle = 2 * kPi * s / per_turn();
    return Vec3(-2 * kPi * radius * std::sin(angle), 2 * kPi * radius * std::cos(angle), -pitch) / per_turn();
  }
};

// How far the lower end of a helix goes down that is clamped at its upper one, by Castigliano's theorem: the
// moment of all that hangs below a section, and that of a unit force on the end, over E I and G J.
double sag_of(const Helix& helix, double weight, double EI, double GJ) {
  const int n = 20000;
  const double h = helix.length() / n;
  double sum = 0, below = 0;
  Vec3 first = Vec3::Zero();  // sum of x ds of what is below
  const Vec3 end = helix.at(helix.length());
  for (int i = n - 1; i >= 0; --i) {
    const double s = (i + 0.5) * h;
    first += 0.5 * h * helix.at(s);
    below += 0.5 * h;
    const Vec3 x = helix.at(s), t = helix.tangent(s), down(0, 0, -1);
    const Vec3 M = cross(Vec3(first - below * x), Vec3(weight * down)), m = cross(Vec3(end - x), down);
    const double twist = M.dot(t) * m.dot(t);
    sum += h * (twist / GJ + (M.dot(m) - twist) / EI);
    first += 0.5 * h * helix.at(s);
    below += 0.5 * h;
  }
  return sum;
}

TEST(RodTheory, AHelixSagsUnderItsOwnWeight) {
  const Helix helix;
  const double d = 0.003, E = 1e9, nu = 0.3, rho = 1000, gravity = 0.01;
  const double I = kPi / 64 * std::pow(d, 4), EI = E * I, GJ = E / (2 * (1 + nu)) * 2 * I;
  const double weight = rho * kPi / 4 * d * d * gravity, expected = sag_of(helix, weight, EI, GJ);
  // Springs of many turns: half of the weight at the end, W L R^2 (cos^2 / G J + sin^2 / E I) / 2.
  const double rise = std::pow(helix.pitch / helix.per_turn(), 2), L = helix.length();
  const double spring = 0.5 * weight * L * L * helix.radius * helix.radius * ((1 - rise) / GJ + rise / EI);
  EXPECT_NEAR(expected, spring, 0.1 * spring);
  double error[3];
  for (int k = 0; k < 3; ++k) {
    const int edges = 40 << k;
    const double h = L / (edges - 0.5);
    RodSpec spec;
    for (int i = 0; i <= edges; ++i) spec.nodes.push_back(helix.at((i - 0.5) * h));
    spec.section.width = d;
    spec.young_modulus = E;
    spec.poisson_ratio = nu;
    spec.density = rho;
    spec.clamped_edges = {0};
    const Rod rod(spec);
    VecX force = VecX::Zero(rod.num_dofs());
    for (int i = 0; i <= edges; ++i) force[4 * i + 2] = -gravity * rod.inertia()[4 * i];
    const VecX q = settle(rod, initial(rod), force);
    error[k] = (spec.nodes[edges].z() - q[4 * edges + 2]) / expected - 1;
  }
  EXPECT_LT(std::abs(error[2]), 9e-3);
  EXPECT_LT(std::abs(4 * error[2] - error[1]) / 3, 5e-4);  // without what is of second order
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2, 0.3);
  EXPECT_NEAR(std::log2(error[1] / error[2]), 2, 0.3);
}

}  // namespace
}  // namespace capstan::rod_theory_test
