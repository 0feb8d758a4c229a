// Elastic solids: stress and tangent against differences, the frame of singular values, positive semidefinite
// tangents, and that all four are the same linear solid.
#include "capstan/physics/elasticity.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <random>

namespace capstan::elasticity_test {
namespace {

using Mat9 = Eigen::Matrix<double, 9, 9>;
constexpr Elasticity kNonlinear[] = {Elasticity::corotated, Elasticity::neo_hookean,
                                     Elasticity::saint_venant_kirchhoff};
const Lame kLame = lame_constants(3.0, 0.3);

Mat3 random_matrix(std::mt19937* random, double size) {
  std::normal_distribution<double> normal;
  Mat3 F;
  for (int i = 0; i < 9; ++i) F.data()[i] = size * normal(*random);
  return F;
}

// dP/dF, both column by column.
Mat9 dense(const ElasticTangent& t) {
  Mat9 C;
  for (int k = 0; k < 9; ++k) {
    Mat3 dF = Mat3::Zero();
    dF.data()[k] = 1;
    const Mat3 turned = t.U.transpose() * dF * t.V;
    Mat3 dP = Mat3::Zero();
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      for (int n = 0; n < 3; ++n) dP(i, i) += t.A(i, n) * turned(n, n);
      dP(i, j) = t.a[l] * turned(i, j) + t.b[l] * turned(j, i);
      dP(j, i) = t.a[l] * turned(j, i) + t.b[l] * turned(i, j);
    }
    const Mat3 back = t.U * dP * t.V.transpose();
    C.col(k) = Eigen::Map<const Eigen::Matrix<double, 9, 1>>(back.data());
  }
  return C;
}

TEST(Elasticity, StressAndTangentAreDerivatives) {
  std::mt19937 random(1);
  for (const Elasticity kind : kNonlinear) {
    for (int trial = 0; trial < 50; ++trial) {
      const Mat3 F = Mat3::Identity() + random_matrix(&random, 0.25), P = calc_stress(kind, kLame, F);
      const Mat9 C = dense(calc_elastic_tangent(kind, kLame, F, false));
      constexpr double h = 1e-5;
      for (int k = 0; k < 9; ++k) {
        Mat3 up = F, down = F;
        up.data()[k] += h;
        down.data()[k] -= h;
        const double slope =
            (calc_energy_density(kind, kLame, up) - calc_energy_density(kind, kLame, down)) / (2 * h);
        EXPECT_NEAR(P.data()[k], slope, 1e-8) << static_cast<int>(kind);
        const Mat3 change = (calc_stress(kind, kLame, up) - calc_stress(kind, kLame, down)) / (2 * h);
        for (int i = 0; i < 9; ++i)
          EXPECT_NEAR(C(i, k), change.data()[i], 1e-6 * (1 + C.norm())) << static_cast<int>(kind);
      }
    }
  }
}

TEST(Elasticity, TheProjectedTangentIsPositiveAndElseTheSame) {
  std::mt19937 random(2);
  int changed = 0;
  for (const Elasticity kind : kNonlinear) {
    for (int trial = 0; trial < 200; ++trial) {
      const Mat3 F = random_matrix(&random, 1.0);  // half of them inverted
      const Mat9 exact = dense(calc_elastic_tangent(kind, kLame, F, false)),
                 convex = dense(calc_elastic_tangent(kind, kLame, F, true));
      const auto lowest = [](const Mat9& C) {
        return Eigen::SelfAdjointEigenSolver<Mat9>(Mat9(0.5 * (C + C.transpose()))).eigenvalues()[0];
      };
      EXPECT_LT((convex - convex.transpose()).norm(), 1e-10 * (1 + convex.norm()));
      EXPECT_GT(lowest(convex), -1e-10 * (1 + convex.norm()));
      if (lowest(exact) > 0) {
        EXPECT_LT((exact - convex).norm(), 1e-10 * (1 + exact.norm()));
      } else {
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 100);
}

TEST(Elasticity, AllAreTheSameLinearSolidAtRest) {
  const Mat9 linear = dense(linear_tangent(kLame, Mat3::Identity()));
  for (const Elasticity kind : kNonlinear) {
    EXPECT_LT(calc_stress(kind, kLame, Mat3::Identity()).norm(), 1e-14);
    EXPECT_LT((dense(calc_elastic_tangent(kind, kLame, Mat3::Identity(), false)) - linear).norm(), 1e-12);
  }
  // A stretched bar: E = stress / strain with free sides.
  const double e = 1e-6;
  Mat3 F = Mat3::Identity();
  F.diagonal() << 1 + e, 1 - 0.3 * e, 1 - 0.3 * e;
  const Mat3 P = linear_stress(kLame, Mat3::Identity(), linear_strain(Mat3::Identity(), F));
  EXPECT_NEAR(P(0, 0), 3.0 * e, 1e-12);
  EXPECT_NEAR(P(1, 1), 0, 1e-12);
}

TEST(Elasticity, EnergiesDoNotChangeByARotation) {
  std::mt19937 random(3);
  for (const Elasticity kind : kNonlinear) {
    const Mat3 F = Mat3::Identity() + random_matrix(&random, 0.3),
               R = nearest_rotation(random_matrix(&random, 1));
    EXPECT_NEAR(calc_energy_density(kind, kLame, R * F), calc_energy_density(kind, kLame, F), 1e-12);
    EXPECT_LT((calc_stress(kind, kLame, R * F) - R * calc_stress(kind, kLame, F)).norm(), 1e-12);
  }
}

TEST(SingularFrame, HoldsForAnyMatrix) {
  std::mt19937 random(4);
  std::vector<Mat3> list = {Mat3::Identity(),
                            Mat3::Zero(),
                            -Mat3::Identity(),
                            Vec3(1, 1, 0).asDiagonal(),
                            Vec3(2, 0, 0).asDiagonal(),
                            Vec3(1, 1, -1).asDiagonal(),
                            Vec3(1e-9, 1, 1e3).asDiagonal()};
  for (int i = 0; i < 300; ++i) list.push_back(random_matrix(&random, i % 3 == 0 ? 1e-6 : 1));
  for (const Mat3& F : list) {
    const SingularFrame f = calc_singular_frame(F);
    EXPECT_LT((f.U * f.U.transpose() - Mat3::Identity()).norm(), 1e-12);
    EXPECT_LT((f.V * f.V.transpose() - Mat3::Identity()).norm(), 1e-12);
    EXPECT_GT(f.U.determinant(), 0);
    EXPECT_GT(f.V.determinant(), 0);
    EXPECT_LT((f.U * f.s.asDiagonal() * f.V.transpose() - F).norm(), 1e-12 * (F.norm() + 1e-300)) << F;
    EXPECT_GE(f.s[1], std::abs(f.s[2]) * (1 - 1e-7) - 1e-300);
    const Mat3 R = nearest_rotation(F);
    EXPECT_LT((R * R.transpose() - Mat3::Identity()).norm(), 1e-12);
    EXPECT_GT(R.determinant(), 0);
    const Mat3 S = R.transpose() * F;
    EXPECT_LT((S - S.transpose()).norm(), 1e-11 * (F.norm() + 1e-300)) << F;
  }
}

// Neo-Hookean and corotated bars push back from any compression, through zero volume and beyond.
TEST(Elasticity, InvertedElementsArePushedBack) {
  for (const Elasticity kind : {Elasticity::neo_hookean, Elasticity::corotated}) {
    for (double s = 0.9; s > -2; s -= 0.05) {
      const Mat3 F = Vec3(1, 1, s).asDiagonal();
      EXPECT_LT(calc_stress(kind, kLame, F)(2, 2), 0) << static_cast<int>(kind) << " " << s;
    }
  }
}

}  // namespace
}  // namespace capstan::elasticity_test
