#include "capstan/physics/spin.h"

#include <Eigen/Cholesky>

#include "capstan/math/rotation.h"

namespace capstan {
namespace {

void add_point(double mass, const Vec3& r, Mat3* I) {
  I->noalias() -= mass * r * r.transpose();
  I->diagonal().array() += mass * r.squaredNorm();
}

}  // namespace

Vec3 NodeMasses::mean_of(const Physics::ConstVector& x) const {
  Vec3 sum = Vec3::Zero();
  double all = 0;
  for (int i = 0; i < count; ++i) {
    all += of(i);
    sum += of(i) * node(x, i);
  }
  return sum / all;
}

SpinInertia calc_inertia(const NodeMasses& nodes, const ObjectStep& step) {
  SpinInertia inertia;
  for (int i = 0; i < nodes.count; ++i) {
    inertia.mass += nodes.of(i);
    inertia.centre += nodes.of(i) * nodes.arm(step, i);
  }
  inertia.centre /= inertia.mass;
  for (int i = 0; i < nodes.count; ++i)
    add_point(nodes.of(i), nodes.arm(step, i) - inertia.centre, &inertia.I);
  return inertia;
}

Vec3 MeanSpin::w() const {
  return I.ldlt().solve(L);
}

MeanSpin calc_mean_spin(const NodeMasses& nodes, const Physics::ConstVector& q,
                        const Physics::ConstVector& v) {
  const Vec3 centre = nodes.mean_of(q), speed = nodes.mean_of(v);
  MeanSpin spin;
  for (int i = 0; i < nodes.count; ++i) {
    const Vec3 r = nodes.node(q, i) - centre;
    add_point(nodes.of(i), r, &spin.I);
    spin.L += nodes.of(i) * cross(r, Vec3(nodes.node(v, i) - speed));
  }
  return spin;
}

SpinKeeper make_spin_keeper(const NodeMasses& nodes, const ObjectStep& step, const Vec3& w,
                            const SpinInertia& inertia) {
  const double dt = step.dt, of_v = step.theta1 * step.theta_vq,
               of_v0 = (step.theta1 - 1) * (1 - step.theta_vq);
  const Mat3 Q = rotation_matrix(quat_exp(dt * w));
  const Vec3 mean = nodes.mean_of(step.v0);
  Vec3 moment = Vec3::Zero();
  for (int i = 0; i < nodes.count; ++i) {
    const Vec3 u = nodes.node(step.v0, i) - mean, later = Q * u;
    moment += nodes.of(i) * cross(Vec3(dt * (of_v * later + of_v0 * u)), Vec3(later - u));
  }
  return {inertia.centre, inertia.I.ldlt().solve(moment)};
}

}  // namespace capstan
