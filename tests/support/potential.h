// One check for everything that is a convex potential of a velocity: cost l, impulse gamma = -dl/dv, Hessian
// G = d2l/dv2. Finite differences are taken with many step sizes, and the best one counts for each entry,
// because laws have widths from 1e-6 to 1e2 m/s: a wrong formula agrees with none of them.
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

namespace capstan::test {

// evaluate(v, double* cost, Vec* gamma, Mat* G) of an N-vector. `width` is a length [m/s] within which the
// potential is smooth around v, not larger than the distance to the nearest border of a region.
template <int N, class Evaluate>
void check_potential(const Evaluate& evaluate, const Eigen::Matrix<double, N, 1>& v, double width) {
  using Vec = Eigen::Matrix<double, N, 1>;
  using Mat = Eigen::Matrix<double, N, N>;
  double cost;
  Vec gamma;
  Mat G;
  evaluate(v, &cost, &gamma, &G);
  ASSERT_TRUE(std::isfinite(cost) && gamma.allFinite() && G.allFinite());
  EXPECT_GE(cost, 0);
  EXPECT_EQ(G, Mat(G.transpose()));
  const double G_max = G.cwiseAbs().maxCoeff();
  EXPECT_GE(Eigen::SelfAdjointEigenSolver<Mat>(G).eigenvalues().minCoeff(), -1e-13 * G_max);

  Vec gradient_error = Vec::Constant(1e300);
  Mat hessian_error = Mat::Constant(1e300);
  Vec gradient_best = Vec::Zero();
  Mat hessian_best = Mat::Zero();
  for (double h = 0.25 * width; h > 1e-7 * width; h *= 0.2) {
    for (int i = 0; i < N; ++i) {
      double costs[4];
      Vec gammas[4];
      const double at[4] = {-2, -1, 1, 2};
      for (int s = 0; s < 4; ++s) {
        Mat unused;
        evaluate(v + at[s] * h * Vec::Unit(i), &costs[s], &gammas[s], &unused);
      }
      const double first = (costs[0] - 8 * costs[1] + 8 * costs[2] - costs[3]) / (12 * h);
      const Vec second = (gammas[0] - 8 * gammas[1] + 8 * gammas[2] - gammas[3]) / (12 * h);
      if (std::abs(first + gamma[i]) < gradient_error[i]) {
        gradient_error[i] = std::abs(first + gamma[i]);
        gradient_best[i] = first;
      }
      for (int j = 0; j < N; ++j) {
        if (std::abs(second[j] + G(j, i)) < hessian_error(j, i)) {
          hessian_error(j, i) = std::abs(second[j] + G(j, i));
          hessian_best(j, i) = -second[j];
        }
      }
    }
  }
  // Round-off of the differences, from the values and from v itself, over the largest usable step.
  const double gamma_noise = 1e-14 * (gamma.norm() + G_max * v.norm()) / width;
  const double cost_noise = 1e-14 * (cost + gamma.norm() * v.norm()) / width;
  for (int i = 0; i < N; ++i) {
    EXPECT_LE(gradient_error[i], 1e-7 * std::abs(gamma[i]) + cost_noise + 1e-30)
        << "gradient " << i << ": " << -gamma[i] << ", by differences " << gradient_best[i] << "\n at v "
        << v.transpose();
    for (int j = 0; j < N; ++j) {
      EXPECT_LE(hessian_error(j, i), 1e-6 * std::sqrt(G(i, i) * G(j, j)) + gamma_noise + 1e-30)
          << "Hessian " << j << i << ": " << G(j, i) << ", by differences " << hessian_best(j, i)
          << "\n at v " << v.transpose();
    }
  }
}

}  // namespace capstan::test
