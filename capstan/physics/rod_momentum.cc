// Momentum of a rod (physics/rod.h), and how a step keeps it (physics/spin.h).
//
// Sections turn with the edges: to the nodes' angular momentum comes J gamma' t of each edge, whose t turns
// with the nodes.
#include <Eigen/Cholesky>

#include "capstan/physics/rod.h"

namespace capstan {
namespace {

constexpr int kBalancings = 2;  // t at the end of a step is where the balanced velocities lead
// Of the sum of a rod's moments of inertia, added to each where its spin is estimated: about the axis of a
// slender rod inertia is that of its sections, and angular momentum that of its vibration.
constexpr double kSlender = 0.01;

}  // namespace

// `swing` turns the rod, too, and the keeper gives what is left.
SpinKeeper Rod::keep_spin(const ObjectStep& step, std::span<const Vec3> swing) const {
  if (!keeps_momentum(step)) return {};
  MeanSpin spin = calc_mean_spin(masses(), step.q0, step.v0);
  SpinInertia inertia = calc_inertia(masses(), step);
  spin.I.diagonal().array() += kSlender * spin.I.trace();
  inertia.I.diagonal().array() += kSlender * inertia.I.trace();
  SpinKeeper keeper = make_spin_keeper(masses(), step, spin.w(), inertia);
  if (swing.empty()) return keeper;
  Vec3 moment = Vec3::Zero();
  for (int i = 0; i < num_edges(); ++i)
    moment += step.dt * cross(Vec3(node(step.q0, after(i)) - node(step.q0, i)), swing[i]);
  keeper.d -= inertia.I.ldlt().solve(moment);
  return keeper;
}

// What is left of m without inner forces must have no sum and no moment.
void Rod::balance(const ObjectStep& step, Vector v) const {
  if (!keeps_momentum(step)) return;
  const double dt = step.dt, of_v = 1 + dt * spec_.alpha * step.theta1,
               of_v0 = 1 - dt * spec_.alpha * (1 - step.theta1);
  const NodeMasses nodes = masses();
  const SpinInertia inertia = calc_inertia(nodes, step);
  const auto tangent = [&](int i, bool at_end) {
    Vec3 span = node(step.q0, after(i)) - node(step.q0, i);
    if (at_end) {
      span += dt * step.theta_vq * (node(v, after(i)) - node(v, i)) +
              dt * (1 - step.theta_vq) * (node(step.v0, after(i)) - node(step.v0, i));
    }
    return Vec3(span.normalized());
  };
  for (int k = 0; k < kBalancings; ++k) {
    Vec3 sum = Vec3::Zero(), moment = Vec3::Zero();
    Mat3 I = inertia.I;
    for (int i = 0; i < num_nodes_; ++i) {
      const double M = nodes.of(i);
      const Vec3 p =
          M * (of_v * node(v, i) - of_v0 * node(step.v0, i) - dt * step.gravity) - dt * node(step.force, i);
      sum += p;
      moment += cross(Vec3(nodes.arm(step, i) - inertia.centre), p);
    }
    for (int i = 0; i < num_edges(); ++i) {
      const int dof = 4 * i + 3;
      const double J = inertia_[dof];
      const Vec3 t0 = tangent(i, false), t = tangent(i, true);
      moment += of_v * J * v[dof] * t - (of_v0 * J * step.v0[dof] + dt * step.force[dof]) * t0;
      I.noalias() += J * t * t.transpose();
    }
    const Vec3 shift = sum / (of_v * inertia.mass), d = I.ldlt().solve(moment) / of_v;
    for (int i = 0; i < num_edges(); ++i) v[4 * i + 3] -= d.dot(tangent(i, true));
    for (int i = 0; i < num_nodes_; ++i)
      v.segment<3>(4 * i) -= shift + cross(d, Vec3(nodes.arm(step, i) - inertia.centre));
  }
}

Vec6 Rod::calc_momentum(const ConstVector& q, const ConstVector& v) const {
  Vec6 sum = Vec6::Zero();
  for (int i = 0; i < num_nodes_; ++i) {
    if (!is_free(i)) continue;
    const Vec3 p = inertia_[4 * i] * node(v, i);
    sum.head<3>() += cross(node(q, i), p);
    sum.tail<3>() += p;
  }
  for (int i = 0; i < num_edges(); ++i) {
    if (!held_[4 * i + 3]) sum.head<3>() += inertia_[4 * i + 3] * v[4 * i + 3] * edge(q, i).tangent;
  }
  return sum;
}

double Rod::calc_mass(const ConstVector& q, Vec3* moment) const {
  double sum = 0;
  moment->setZero();
  for (int i = 0; i < num_nodes_; ++i) {
    if (!is_free(i)) continue;
    sum += inertia_[4 * i];
    *moment += inertia_[4 * i] * node(q, i);
  }
  return sum;
}

}  // namespace capstan
