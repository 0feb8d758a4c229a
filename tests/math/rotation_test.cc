#include "capstan/math/rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace capstan::rotation_test {
namespace {

Vec3 random_vector(std::mt19937& random, double size) {
  std::uniform_real_distribution<double> u(-size, size);
  return {u(random), u(random), u(random)};
}

TEST(Rotation, QuaternionMatrixAndRotateAgree) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const Vec4 a = quat_exp(random_vector(random, 3)), b = quat_exp(random_vector(random, 3));
    const Vec3 v = random_vector(random, 1);
    EXPECT_LT((rotation_matrix(quat_multiply(a, b)) - rotation_matrix(a) * rotation_matrix(b)).norm(), 1e-14);
    EXPECT_LT((rotate(a, v) - rotation_matrix(a) * v).norm(), 1e-14);
    EXPECT_LT((rotation_matrix(quat_from_matrix(rotation_matrix(a))) - rotation_matrix(a)).norm(), 1e-14);
  }
}

TEST(Rotation, LogInvertsExpAlsoNearZeroAndPi) {
  std::mt19937 random(2);
  for (const double angle : {0.0, 1e-12, 1e-9, 1e-5, 1e-3, 0.1, 1.0, 3.0, 3.14159}) {
    const Vec3 phi = angle * random_vector(random, 1).normalized();
    EXPECT_LT((quat_log(quat_exp(phi)) - phi).norm(), 1e-14 + 1e-13 * angle) << angle;
  }
}

TEST(Rotation, LeftJacobianMatchesFiniteDifferences) {
  std::mt19937 random(3);
  for (const double angle : {1e-9, 1e-5, 0.9e-3, 1.1e-3, 0.9e-2, 1.1e-2, 0.5, 2.0, 3.0}) {
    const Vec3 phi = angle * random_vector(random, 1).normalized();
    const Mat3 J = left_jacobian(phi);
    EXPECT_LT((J * left_jacobian_inverse(phi) - Mat3::Identity()).norm(), 1e-10) << angle;
    const double h = 1e-6;
    for (int k = 0; k < 3; ++k) {
      const Vec3 d = h * Vec3::Unit(k);
      const Vec4 plus = quat_multiply(quat_exp(phi + d), quat_conjugate(quat_exp(phi)));
      const Vec4 minus = quat_multiply(quat_exp(phi - d), quat_conjugate(quat_exp(phi)));
      EXPECT_LT(((quat_log(plus) - quat_log(minus)) / (2 * h) - J.col(k)).norm(), 1e-9) << angle;
    }
  }
}

TEST(Rotation, BetweenTakesOneVectorToTheOtherAlsoWhenOpposite) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    const Vec3 a = random_vector(random, 1).normalized();
    const Vec3 b = i == 0 ? Vec3(-a) : random_vector(random, 1).normalized();
    EXPECT_LT((rotate(quat_between(a, b), a) - b).norm(), 1e-12);
  }
}

TEST(Rotation, FrameFromZIsRightHandedAndOrthonormal) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    const Vec3 z = i < 2 ? Vec3(0, 0, i == 0 ? 1 : -1) : random_vector(random, 1).normalized();
    const Mat3 R = frame_from_z(z);
    EXPECT_LT((R * R.transpose() - Mat3::Identity()).norm(), 1e-14);
    EXPECT_LT((cross(R.col(0), R.col(1)) - z).norm(), 1e-14);
    EXPECT_EQ(R.col(2), z);
  }
}

}  // namespace
}  // namespace capstan::rotation_test
