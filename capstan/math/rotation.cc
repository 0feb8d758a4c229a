#include "capstan/math/rotation.h"

#include <cmath>

namespace capstan {

Vec4 quat_from_matrix(const Mat3& R) {
  // Shepperd's method: divide by the largest of the four components.
  const double trace = R.trace();
  Vec4 q;
  if (trace > R(0, 0) && trace > R(1, 1) && trace > R(2, 2)) {
    q << 1 + trace, R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1);
  } else if (R(0, 0) > R(1, 1) && R(0, 0) > R(2, 2)) {
    q << R(2, 1) - R(1, 2), 1 + 2 * R(0, 0) - trace, R(0, 1) + R(1, 0), R(0, 2) + R(2, 0);
  } else if (R(1, 1) > R(2, 2)) {
    q << R(0, 2) - R(2, 0), R(0, 1) + R(1, 0), 1 + 2 * R(1, 1) - trace, R(1, 2) + R(2, 1);
  } else {
    q << R(1, 0) - R(0, 1), R(0, 2) + R(2, 0), R(1, 2) + R(2, 1), 1 + 2 * R(2, 2) - trace;
  }
  q /= q.norm();
  return q[0] < 0 ? Vec4(-q) : q;
}

Vec4 quat_from_axis_angle(const Vec3& unit_axis, double angle) {
  const double s = std::sin(angle / 2);
  return {std::cos(angle / 2), s * unit_axis.x(), s * unit_axis.y(), s * unit_axis.z()};
}

Vec4 quat_exp(const Vec3& phi) {
  const double angle2 = phi.squaredNorm();
  const double angle = std::sqrt(angle2);
  // sin(angle/2)/angle; below 1e-4 the next series term, angle^4/3840, is under 1e-19.
  const double s = angle < 1e-4 ? 0.5 - angle2 / 48 : std::sin(angle / 2) / angle;
  Vec4 q(std::cos(angle / 2), s * phi.x(), s * phi.y(), s * phi.z());
  return q / q.norm();
}

Vec3 quat_log(const Vec4& q_in) {
  const Vec4 q = q_in[0] < 0 ? Vec4(-q_in) : q_in;  // the shorter turn
  const Vec3 u(q[1], q[2], q[3]);
  const double s = u.norm();
  if (s < 1e-8) return 2 / q[0] * u;
  return 2 * std::atan2(s, q[0]) / s * u;
}

Mat3 rotation_about(const Vec3& k, double c, double s) {
  const double t = 1 - c;
  Mat3 R;
  R << c + k.x() * k.x() * t, k.x() * k.y() * t - k.z() * s, k.x() * k.z() * t + k.y() * s,  //
      k.y() * k.x() * t + k.z() * s, c + k.y() * k.y() * t, k.y() * k.z() * t - k.x() * s,   //
      k.z() * k.x() * t - k.y() * s, k.z() * k.y() * t + k.x() * s, c + k.z() * k.z() * t;
  return R;
}

Mat3 left_jacobian(const Vec3& phi) {
  // J_l = I + (1 - cos a)/a^2 [phi]x + (a - sin a)/a^3 [phi]x^2
  const double a2 = phi.squaredNorm();
  const double a = std::sqrt(a2);
  const double b = a < 1e-3 ? 0.5 - a2 / 24 : (1 - std::cos(a)) / a2;
  const double c = a < 1e-2 ? 1.0 / 6 - a2 / 120 + a2 * a2 / 5040 : (a - std::sin(a)) / (a2 * a);
  const Mat3 S = skew(phi);
  return Mat3::Identity() + b * S + c * S * S;
}

Mat3 left_jacobian_inverse(const Vec3& phi) {
  // J_l^-1 = I - [phi]x/2 + (1/a^2 - (1 + cos a)/(2 a sin a)) [phi]x^2
  const double a2 = phi.squaredNorm();
  const double a = std::sqrt(a2);
  const double c = a < 1e-2 ? 1.0 / 12 + a2 / 720 + a2 * a2 / 30240 : 1 / a2 - 0.5 / (a * std::tan(a / 2));
  const Mat3 S = skew(phi);
  return Mat3::Identity() - 0.5 * S + c * S * S;
}

Vec4 quat_between(const Vec3& a, const Vec3& b) {
  const double w = 1 + a.dot(b);
  Vec4 q;
  if (w < 1e-12) {
    Vec3 e = Vec3::Zero();
    int smallest = 0;
    a.cwiseAbs().minCoeff(&smallest);
    e[smallest] = 1;
    const Vec3 axis = cross(a, e);
    q << 0, axis;
  } else {
    q << w, cross(a, b);
  }
  return q / q.norm();
}

Mat3 frame_from_z(const Vec3& z) {
  // Duff et al. 2017, branchless orthonormal basis, with the sign chosen so that it is right-handed.
  const double sign = std::copysign(1.0, z.z());
  const double a = -1 / (sign + z.z());
  const double b = z.x() * z.y() * a;
  Mat3 R;
  R.col(0) = Vec3(1 + sign * z.x() * z.x() * a, sign * b, -sign * z.x());
  R.col(1) = Vec3(b, sign + z.y() * z.y() * a, -z.y());
  R.col(2) = z;
  return R;
}

}  // namespace capstan
