// Spatial (6-vector) algebra about one point O, in world axes. A motion vector is (angular, linear velocity
// of the body-fixed point that is at O); a force vector is (moment about O, force). Featherstone 2008,
// chapter 2.
#pragma once

#include "capstan/math/transform.h"
#include "capstan/math/types.h"

namespace capstan {

// v x m: rate of a motion vector m that is carried along with velocity v.
inline Vec6 cross_motion(const Vec6& v, const Vec6& m) {
  Vec6 r;
  r << v[1] * m[2] - v[2] * m[1], v[2] * m[0] - v[0] * m[2], v[0] * m[1] - v[1] * m[0],
      v[1] * m[5] - v[2] * m[4] + v[4] * m[2] - v[5] * m[1],
      v[2] * m[3] - v[0] * m[5] + v[5] * m[0] - v[3] * m[2],
      v[0] * m[4] - v[1] * m[3] + v[3] * m[1] - v[4] * m[0];
  return r;
}

// v x* f: rate of a force vector f that is carried along with velocity v. (v x m).f = -m.(v x* f).
inline Vec6 cross_force(const Vec6& v, const Vec6& f) {
  Vec6 r;
  r << v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4],
      v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5],
      v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3],  //
      v[1] * f[5] - v[2] * f[4], v[2] * f[3] - v[0] * f[5], v[0] * f[4] - v[1] * f[3];
  return r;
}

// Inertia of a rigid body about O: ten numbers. f = I v is
//   moment = Ibar w + h x v,   force = m v - h x w,   h = m c,   Ibar = I_c + m (|c|^2 1 - c c^T).
struct RigidInertia {
  double mass = 0;                                        // [kg]
  Vec3 h = Vec3::Zero();                                  // [kg m] mass times centre of mass, from O
  double xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;  // [kg m^2] about O

  RigidInertia& operator+=(const RigidInertia& o) {
    mass += o.mass;
    h += o.h;
    xx += o.xx, yy += o.yy, zz += o.zz, xy += o.xy, xz += o.xz, yz += o.yz;
    return *this;
  }
  Mat3 rotational() const {
    Mat3 I;
    I << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    return I;
  }
};

inline Vec6 operator*(const RigidInertia& I, const Vec6& v) {
  const double hx = I.h.x(), hy = I.h.y(), hz = I.h.z();
  Vec6 f;
  f << I.xx * v[0] + I.xy * v[1] + I.xz * v[2] + hy * v[5] - hz * v[4],
      I.xy * v[0] + I.yy * v[1] + I.yz * v[2] + hz * v[3] - hx * v[5],
      I.xz * v[0] + I.yz * v[1] + I.zz * v[2] + hx * v[4] - hy * v[3],  //
      I.mass * v[3] - hy * v[2] + hz * v[1], I.mass * v[4] - hz * v[0] + hx * v[2],
      I.mass * v[5] - hx * v[1] + hy * v[0];
  return f;
}

// Inertia about O of a body with mass m, centre of mass c (from O) and rotational inertia I_c about it.
inline RigidInertia make_rigid_inertia(double m, const Vec3& c, const Mat3& I_c) {
  RigidInertia I;
  I.mass = m;
  I.h = m * c;
  I.xx = I_c(0, 0) + m * (c.y() * c.y() + c.z() * c.z());
  I.yy = I_c(1, 1) + m * (c.x() * c.x() + c.z() * c.z());
  I.zz = I_c(2, 2) + m * (c.x() * c.x() + c.y() * c.y());
  I.xy = I_c(0, 1) - m * c.x() * c.y();
  I.xz = I_c(0, 2) - m * c.x() * c.z();
  I.yz = I_c(1, 2) - m * c.y() * c.z();
  return I;
}

inline Mat6 to_matrix(const RigidInertia& I) {
  Mat6 M;
  const Vec3& h = I.h;
  M << I.xx, I.xy, I.xz, 0, -h.z(), h.y(),  //
      I.xy, I.yy, I.yz, h.z(), 0, -h.x(),   //
      I.xz, I.yz, I.zz, -h.y(), h.x(), 0,   //
      0, h.z(), -h.y(), I.mass, 0, 0,       //
      -h.z(), 0, h.x(), 0, I.mass, 0,       //
      h.y(), -h.x(), 0, 0, 0, I.mass;
  return M;
}

}  // namespace capstan
