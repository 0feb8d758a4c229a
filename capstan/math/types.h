// Fixed-size vectors and matrices. Double precision throughout; only Eigen's core is included, because
// every file of the library includes this one.
#pragma once

#include <Eigen/Core>
#include <limits>

#include "capstan/math/alignment.h"
#include "capstan/math/small_operators.h"

namespace capstan {

using Vec2 = Eigen::Vector2d;
using Vec3 = Eigen::Vector3d;
using Vec4 = Eigen::Vector4d;
using Vec6 = Eigen::Matrix<double, 6, 1>;
using VecX = Eigen::VectorXd;
using Mat2 = Eigen::Matrix2d;
using Mat3 = Eigen::Matrix3d;
using Mat6 = Eigen::Matrix<double, 6, 6>;
using MatX = Eigen::MatrixXd;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Cross product by components. Eigen's own lives in a heavier header.
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y() * b.z() - a.z() * b.y(), a.z() * b.x() - a.x() * b.z(), a.x() * b.y() - a.y() * b.x()};
}

}  // namespace capstan
