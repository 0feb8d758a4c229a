// Solids that hardly change their volume: how far a cantilever bends with each element, for poisson_ratio up
// to 0.49, beside the solution of another element and the theory of beams.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/Sparse>
#include <cmath>
#include <memory>

#include "capstan/model/add_soft_body.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_locking_test {
namespace {

using namespace test;

// It sinks by 0.7 % of its length, so that the linear theory holds.
constexpr double kLength = 0.2, kWidth = 0.04, kModulus = 1e7, kDensity = 1000;

// [m] Timoshenko's beam under its weight, with Cowper's coefficient of shear. It may warp at its root.
double beam_drop(double nu) {
  const double load = kDensity * kGravity * kLength * kLength / kModulus;
  const double shear = 10 * (1 + nu) / (12 + 11 * nu);
  return load * (1.5 * kLength * kLength / (kWidth * kWidth) + (1 + nu) / shear);
}

// [m] The linear solid with its root held all over, by 20 x 3 x 3 hexahedra of 27 nodes and 27 points that
// get shorter towards the root. With 20 x 4 x 4 it sinks 0.05 % more at nu 0.3, and 0.2 % at 0.49.
double solid_drop(double nu) {
  constexpr int kCells[3] = {20, 3, 3}, kNodes[3] = {41, 7, 7};
  const double mu = kModulus / (2 * (1 + nu)), lambda = 2 * mu * nu / (1 - 2 * nu);
  const auto place = [&](int i, int j, int k) {
    return Vec3(kLength * std::pow(i / 40.0, 1.5), kWidth * j / 6, kWidth * k / 6);
  };
  // Nodes at the root have no number.
  const auto number = [&](int i, int j, int k) {
    return i == 0 ? -1 : (i - 1) + (kNodes[0] - 1) * (j + kNodes[1] * k);
  };
  const int free = 3 * (kNodes[0] - 1) * kNodes[1] * kNodes[2];
  VecX force = VecX::Zero(free);
  std::vector<Eigen::Triplet<double>> entries;
  const double points[3] = {-std::sqrt(0.6), 0, std::sqrt(0.6)}, weights[3] = {5 / 9.0, 8 / 9.0, 5 / 9.0};
  for (int cell = 0; cell < kCells[0] * kCells[1] * kCells[2]; ++cell) {
    const int at[3] = {cell % kCells[0], cell / kCells[0] % kCells[1], cell / (kCells[0] * kCells[1])};
    Eigen::Matrix<double, 3, 27> x;
    int nodes[27];
    for (int n = 0; n < 27; ++n) {
      const int i = 2 * at[0] + n % 3, j = 2 * at[1] + n / 3 % 3, k = 2 * at[2] + n / 9;
      x.col(n) = place(i, j, k);
      nodes[n] = number(i, j, k);
    }
    MatX K = MatX::Zero(81, 81);
    for (int p = 0; p < 27; ++p) {
      const int of[3] = {p % 3, p / 3 % 3, p / 9};
      double value[3][3], slope[3][3];
      for (int d = 0; d < 3; ++d) {
        const double t = points[of[d]];
        const double N[3] = {t * (t - 1) / 2, 1 - t * t, t * (t + 1) / 2}, dN[3] = {t - 0.5, -2 * t, t + 0.5};
        std::copy(N, N + 3, value[d]);
        std::copy(dN, dN + 3, slope[d]);
      }
      Eigen::Matrix<double, 3, 27> G;
      VecX shape(27);
      for (int n = 0; n < 27; ++n) {
        const int a = n % 3, b = n / 3 % 3, c = n / 9;
        shape[n] = value[0][a] * value[1][b] * value[2][c];
        G.col(n) << slope[0][a] * value[1][b] * value[2][c], value[0][a] * slope[1][b] * value[2][c],
            value[0][a] * value[1][b] * slope[2][c];
      }
      const Mat3 J = x * G.transpose();
      G = (J.inverse().transpose() * G).eval();
      const double w = weights[of[0]] * weights[of[1]] * weights[of[2]] * J.determinant();
      for (int a = 0; a < 27; ++a) {
        if (nodes[a] >= 0) force[3 * nodes[a] + 2] -= w * kDensity * kGravity * shape[a];
        for (int b = 0; b < 27; ++b) {
          const Vec3 ga = G.col(a), gb = G.col(b);
          K.block<3, 3>(3 * a, 3 * b) += w * (lambda * ga * gb.transpose() + mu * gb * ga.transpose() +
                                              mu * ga.dot(gb) * Mat3::Identity());
        }
      }
    }
    for (int r = 0; r < 81; ++r) {
      for (int c = 0; c < 81; ++c) {
        if (nodes[r / 3] >= 0 && nodes[c / 3] >= 0)
          entries.emplace_back(3 * nodes[r / 3] + r % 3, 3 * nodes[c / 3] + c % 3, K(r, c));
      }
    }
  }
  Eigen::SparseMatrix<double> stiffness(free, free);
  stiffness.setFromTriplets(entries.begin(), entries.end());
  const VecX u = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(stiffness).solve(force);
  double sum = 0;
  for (int j = 0; j < kNodes[1]; ++j) {
    for (int k = 0; k < kNodes[2]; ++k) sum -= u[3 * number(40, j, k) + 2];
  }
  return sum / (kNodes[1] * kNodes[2]);
}

// [m] Mean of the nodes at the tip.
double drop(SoftElement element, std::array<int, 3> cells, double nu, Elasticity elasticity) {
  Scene scene = box_on_plane(0, 1e6);
  scene.bodies.clear();
  scene.shapes.clear();
  Simulation run(scene, 0.05, ContactLaw::coulomb);
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets({kLength, kWidth, kWidth}, cells));
  spec.element = element;
  spec.elasticity = elasticity;
  spec.young_modulus = kModulus;
  spec.poisson_ratio = nu;
  spec.density = kDensity;
  spec.lumped_mass = false;
  spec.fixed.push_back({false, {-kLength / 2, 0, 0}, {1e-6, 1, 1}, 0});
  auto body = std::make_shared<SoftBody>(spec);
  add_soft_body("beam", body, 0, &run.model);
  run.state = initial_state(run.model);
  run.workspace = make_workspace(run.model);
  run.go(0.5);  // each step takes all but 1 / 30 of the swing
  EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 1e-5);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < body->num_nodes(); ++i) {
    if (body->rest(i).x() < kLength / 2 - 1e-6) continue;
    sum += body->rest(i).z() - run.state.q[3 * i + 2];
    ++count;
  }
  return sum / count;
}

TEST(SoftLocking, QuadraticElementsBendAsTheSolidDoes) {
  for (const double nu : {0.3, 0.45, 0.49}) {
    const double solid = solid_drop(nu), beam = beam_drop(nu);
    // A root that cannot warp holds more the more it would.
    EXPECT_LT(solid, beam) << nu;
    EXPECT_GT(solid, 0.94 * beam) << nu;
    const auto linear = Elasticity::linear_corotational;
    const double two = drop(SoftElement::quadratic, {10, 2, 2}, nu, linear);
    const double one = drop(SoftElement::quadratic, {5, 1, 1}, nu, linear);
    std::printf("nu %.2f: solid %.4f mm, beam %.4f; quadratic 10 x 2 x 2 %+.2f %%, 5 x 1 x 1 %+.2f %%\n", nu,
                1e3 * solid, 1e3 * beam, 100 * (two / solid - 1), 100 * (one / solid - 1));
    EXPECT_NEAR(two, solid, 0.01 * solid) << nu;
    EXPECT_NEAR(one, solid, 0.06 * solid) << nu;
  }
}

// All elasticities are the same solid where strains are small.
TEST(SoftLocking, SoDoAllElasticities) {
  const double solid = solid_drop(0.49);
  for (const Elasticity elasticity :
       {Elasticity::corotated, Elasticity::neo_hookean, Elasticity::saint_venant_kirchhoff})
    EXPECT_NEAR(drop(SoftElement::quadratic, {10, 2, 2}, 0.49, elasticity), solid, 0.015 * solid)
        << static_cast<int>(elasticity);
}

// What docs/soft_bodies.md says of linear elements: too stiff, and more so near nu = 0.5.
TEST(SoftLocking, LinearElementsLock) {
  const auto off = [&](double nu) {
    const double solid = solid_drop(nu);
    const double part =
        drop(SoftElement::linear, {20, 4, 4}, nu, Elasticity::linear_corotational) / solid - 1;
    std::printf("nu %.2f: linear 20 x 4 x 4 %+.2f %%\n", nu, 100 * part);
    return part;
  };
  EXPECT_NEAR(off(0.3), -0.115, 0.01);
  EXPECT_NEAR(off(0.45), -0.155, 0.01);
  EXPECT_NEAR(off(0.49), -0.21, 0.01);
}

}  // namespace
}  // namespace capstan::soft_locking_test
