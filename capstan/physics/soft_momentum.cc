// Momentum of a soft body (physics/soft_body.h), and how a step keeps it.
//
// With x = q0 + (1 - theta_vq) dt v0, a step to q1 = q0 + dt v^theta_vq changes the angular momentum by
//
//   sum q1 x M v1 - sum q0 x M v0 = sum x x M (v1 - v0),
//
// because v x M v vanishes in the sum. So it is kept if inner forces have no moment about x. They have none
// about where they are taken, x_f: at the end of a step (midpoint: in its middle, which is as good). What a
// body that spins at w loses by that, w^2 dt of its angular momentum in a second, is given back as the
// impulses M (d x r) of a rigid rotation, r from the centre of mass of x.
//
// How much that is, follows from a body that goes on to spin as it does: its velocities u, seen from the
// centre of mass, turn by Q = exp(dt w), which takes inner forces and the correction together the impulses
// M (Q - 1) u; so I d = sum (x_f - x) x M (Q - 1) u. It is known before the step, and A and the potential
// have nothing of it but a force.
// What is left for a body that nothing touches, of the order of its vibration, balance() takes away after
// the step. Contacts then turn a body by where they are at the end of the step, with which a soft wheel
// rolls on as a rigid one does.
#include <Eigen/Cholesky>
#include <algorithm>

#include "capstan/math/rotation.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

template <int N>
Eigen::Matrix<double, 3, N> velocities_of(const std::array<int, N>& nodes, const Eigen::Ref<const VecX>& v) {
  Eigen::Matrix<double, 3, N> u;
  for (int a = 0; a < N; ++a) u.col(a) = v.template segment<3>(3 * nodes[a]);
  return u;
}

}  // namespace

// Where arms are taken from: x above.
Vec3 SoftBody::arm(const ObjectStep& step, int i) const {
  return node(step.q0, i) + (1 - step.theta_vq) * step.dt * node(step.v0, i);
}

SoftBody::Inertia SoftBody::calc_inertia(const ObjectStep& step) const {
  Inertia inertia;
  for (int i = 0; i < num_nodes(); ++i) {
    inertia.mass += node_mass_[i];
    inertia.centre += node_mass_[i] * arm(step, i);
  }
  inertia.centre /= inertia.mass;
  for (int i = 0; i < num_nodes(); ++i) {
    const Vec3 r = arm(step, i) - inertia.centre;
    inertia.I.noalias() -= node_mass_[i] * r * r.transpose();
    inertia.I.diagonal().array() += node_mass_[i] * r.squaredNorm();
  }
  return inertia;
}

bool SoftBody::keeps_momentum(const ObjectStep& step) const {
  return step.conserves_momentum && !has_fixed_;
}

SoftBody::SpinKeeper SoftBody::make_spin_keeper(const ObjectStep& step) const {
  if (!keeps_momentum(step)) return {};
  const double dt = step.dt, of_v = step.theta1 * step.theta_vq,
               of_v0 = (step.theta1 - 1) * (1 - step.theta_vq);
  const Mat3 Q = rotation_matrix(quat_exp(dt * mean_spin(step.q0, step.v0)));
  const Vec3 mean = mean_of(step.v0);
  Vec3 moment = Vec3::Zero();
  for (int i = 0; i < num_nodes(); ++i) {
    const Vec3 u = node(step.v0, i) - mean, later = Q * u;
    moment += node_mass_[i] * cross(Vec3(dt * (of_v * later + of_v0 * u)), Vec3(later - u));
  }
  const Inertia inertia = calc_inertia(step);
  return {inertia.centre, inertia.I.ldlt().solve(moment)};
}

Vec3 SoftBody::mean_of(const ConstVector& x) const {
  Vec3 sum = Vec3::Zero();
  double mass = 0;
  for (int i = 0; i < num_nodes(); ++i) {
    mass += node_mass_[i];
    sum += node_mass_[i] * node(x, i);
  }
  return sum / mass;
}

// Of the whole body: its angular momentum over its inertia.
Vec3 SoftBody::mean_spin(const ConstVector& q, const ConstVector& v) const {
  if (has_fixed_) return Vec3::Zero();
  const Vec3 centre = mean_of(q), speed = mean_of(v);
  Mat3 I = Mat3::Zero();
  Vec3 L = Vec3::Zero();
  for (int i = 0; i < num_nodes(); ++i) {
    const Vec3 r = node(q, i) - centre;
    I.noalias() -= node_mass_[i] * r * r.transpose();
    I.diagonal().array() += node_mass_[i] * r.squaredNorm();
    L += node_mass_[i] * cross(r, Vec3(node(v, i) - speed));
  }
  return I.ldlt().solve(L);
}

// What is left of m without inner forces must have no sum and no moment.
void SoftBody::balance(const ObjectStep& step, Vector v) const {
  if (!keeps_momentum(step)) return;
  const double dt = step.dt, of_v = 1 + dt * spec_.alpha * step.theta1,
               of_v0 = 1 - dt * spec_.alpha * (1 - step.theta1);
  const Inertia inertia = calc_inertia(step);
  Vec3 sum = Vec3::Zero(), moment = Vec3::Zero();
  const auto add = [&](int i, const Vec3& p) {
    sum += p;
    moment += cross(Vec3(arm(step, i) - inertia.centre), p);
  };
  add_momentum([&](int i, const Vec3& p) { add(i, of_v * p); }, v);
  add_momentum([&](int i, const Vec3& p) { add(i, -of_v0 * p); }, step.v0);
  for (int i = 0; i < num_nodes(); ++i) add(i, -dt * (node(step.force, i) + node_mass_[i] * step.gravity));
  Mat3 I = inertia.I;
  if (!spec_.lumped_mass) {  // its own, of M (e x r)
    VecX turn(v.size());
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < num_nodes(); ++i)
        turn.segment<3>(3 * i) = cross(Vec3(Vec3::Unit(k)), Vec3(arm(step, i) - inertia.centre));
      Vec3 column = Vec3::Zero();
      add_momentum([&](int i, const Vec3& p) { column += cross(Vec3(arm(step, i) - inertia.centre), p); },
                   turn);
      I.col(k) = column;
    }
  }
  const Vec3 shift = sum / (of_v * inertia.mass), d = I.ldlt().solve(moment) / of_v;
  for (int i = 0; i < num_nodes(); ++i)
    v.segment<3>(3 * i) -= shift + cross(d, Vec3(arm(step, i) - inertia.centre));
}

// f(node, momentum): all of them, by parts.
template <class F>
void SoftBody::add_momentum(const F& f, const ConstVector& v) const {
  if (spec_.lumped_mass) {
    for (int i = 0; i < num_nodes(); ++i) {
      if (!fixed_[i]) f(i, node_mass_[i] * node(v, i));
    }
    return;
  }
  std::visit(
      [&](const auto& elements) {
        constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
        for (std::size_t e = 0; e < elements.nodes.size(); ++e) {
          const Eigen::Matrix<double, 3, N> p =
              velocities_of<N>(elements.nodes[e], v) * (elements.mass[e] * elements.mass_shares);
          for (int a = 0; a < N; ++a) {
            if (!fixed_[elements.nodes[e][a]]) f(elements.nodes[e][a], Vec3(p.col(a)));
          }
        }
      },
      elements_);
}

Vec6 SoftBody::calc_momentum(const ConstVector& q, const ConstVector& v) const {
  Vec6 sum = Vec6::Zero();
  add_momentum(
      [&](int i, const Vec3& p) {
        sum.head<3>() += cross(node(q, i), p);
        sum.tail<3>() += p;
      },
      v);
  return sum;
}

double SoftBody::calc_kinetic_energy(const ConstVector&, const ConstVector& v) const {
  double sum = 0;
  if (spec_.lumped_mass) {
    for (int i = 0; i < num_nodes(); ++i) {
      if (!fixed_[i]) sum += 0.5 * node_mass_[i] * node(v, i).squaredNorm();
    }
    return sum;
  }
  std::visit(
      [&](const auto& elements) {
        constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
        for (std::size_t e = 0; e < elements.nodes.size(); ++e) {
          const auto u = velocities_of<N>(elements.nodes[e], v);
          sum += 0.5 * elements.mass[e] * u.cwiseProduct(u * elements.mass_shares).sum();
        }
      },
      elements_);
  return sum;
}

double SoftBody::calc_mass(const ConstVector& q, Vec3* moment) const {
  double sum = 0;
  moment->setZero();
  for (int i = 0; i < num_nodes(); ++i) {
    if (fixed_[i]) continue;
    sum += node_mass_[i];
    *moment += node_mass_[i] * node(q, i);
  }
  return sum;
}

double SoftBody::calc_speed(const ConstVector&, const ConstVector& v) const {
  double speed = 0;
  for (int i = 0; i < num_nodes(); ++i) speed = std::max(speed, node(v, i).norm());
  return speed;
}

}  // namespace capstan
