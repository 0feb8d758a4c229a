// Rotations as matrices, unit quaternions (w, x, y, z) and rotation vectors.
//
// R_AB takes components in frame B to components in frame A: p_A = R_AB p_B. A rotation vector phi turns by
// |phi| radians about phi/|phi|. A turn phi expressed in the outer frame A acts from the left:
// R' = exp(phi) R. Limits: exp, log and their Jacobians use series near zero and are smooth there; log is
// taken in [0, pi].
#pragma once

#include "capstan/math/types.h"

namespace capstan {

inline Vec4 identity_quat() {
  return {1, 0, 0, 0};
}

// Hamilton product: R(quat_multiply(a, b)) = R(a) R(b).
inline Vec4 quat_multiply(const Vec4& a, const Vec4& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
          a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
          a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}

inline Vec4 quat_conjugate(const Vec4& q) {
  return {q[0], -q[1], -q[2], -q[3]};
}

// Matrix of a unit quaternion.
inline Mat3 rotation_matrix(const Vec4& q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  Mat3 R;
  R << w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),  //
      2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),   //
      2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z;
  return R;
}

inline Vec3 rotate(const Vec4& q, const Vec3& v) {
  const Vec3 u(q[1], q[2], q[3]);
  const Vec3 t = 2 * cross(u, v);
  return v + q[0] * t + cross(u, t);
}

// Unit quaternion of a rotation matrix, with w >= 0.
Vec4 quat_from_matrix(const Mat3& R);

// Unit quaternion of a turn by `angle` radians about a unit axis.
Vec4 quat_from_axis_angle(const Vec3& unit_axis, double angle);

// exp: unit quaternion of a rotation vector; log: its inverse, norm in [0, pi].
Vec4 quat_exp(const Vec3& phi);
Vec3 quat_log(const Vec4& q);

// Matrix of a turn about a unit axis (Rodrigues), from its cosine and sine.
Mat3 rotation_about(const Vec3& unit_axis, double cosine, double sine);

// [a]x, so that skew(a) b = a x b.
inline Mat3 skew(const Vec3& a) {
  Mat3 S;
  S << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return S;
}

// Left Jacobian of exp: exp(phi + d) = exp(J_l(phi) d) exp(phi) to first order; and its inverse.
Mat3 left_jacobian(const Vec3& phi);
Mat3 left_jacobian_inverse(const Vec3& phi);

// The shortest rotation that takes unit vector a to unit vector b; opposite vectors turn about an axis
// perpendicular to both, chosen by the smallest component of a.
Vec4 quat_between(const Vec3& a, const Vec3& b);

// Two unit vectors that complete unit z to a right-handed frame (x, y, z); continuous in each half z.z() >=
// 0, z.z() < 0.
Mat3 frame_from_z(const Vec3& z);

}  // namespace capstan
