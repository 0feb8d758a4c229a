// Rigid transforms. X_AB places frame B in frame A: p_A = R p_B + p.
#pragma once

#include "capstan/math/types.h"

namespace capstan {

struct Transform {
  Mat3 R = Mat3::Identity();  // R_AB
  Vec3 p = Vec3::Zero();      // p_AB: origin of B in A [m]
};

inline Transform operator*(const Transform& X_AB, const Transform& X_BC) {
  return {X_AB.R * X_BC.R, X_AB.R * X_BC.p + X_AB.p};
}
inline Vec3 operator*(const Transform& X_AB, const Vec3& p_B) {
  return X_AB.R * p_B + X_AB.p;
}
inline Transform inverse(const Transform& X) {
  return {X.R.transpose(), -(X.R.transpose() * X.p)};
}

}  // namespace capstan
