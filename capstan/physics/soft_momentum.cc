// Momentum of a soft body (physics/soft_body.h), and how a step keeps it (physics/spin.h).
#include <Eigen/Cholesky>
#include <algorithm>

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

bool SoftBody::keeps_momentum(const ObjectStep& step) const {
  return step.conserves_momentum && !has_fixed_;
}

NodeMasses SoftBody::masses() const {
  return {node_mass_.data(), 1, 3, num_nodes()};
}

// Of the whole body.
Vec3 SoftBody::mean_spin(const ConstVector& q, const ConstVector& v) const {
  return has_fixed_ ? Vec3(Vec3::Zero()) : calc_mean_spin(masses(), q, v).w();
}

SpinKeeper SoftBody::keep_spin(const ObjectStep& step) const {
  if (!keeps_momentum(step)) return {};
  return make_spin_keeper(masses(), step, mean_spin(step.q0, step.v0), calc_inertia(masses(), step));
}

// What is left of m without inner forces must have no sum and no moment.
void SoftBody::balance(const ObjectStep& step, Vector v) const {
  if (!keeps_momentum(step)) return;
  const double dt = step.dt, of_v = 1 + dt * spec_.alpha * step.theta1,
               of_v0 = 1 - dt * spec_.alpha * (1 - step.theta1);
  const NodeMasses nodes = masses();
  const SpinInertia inertia = calc_inertia(nodes, step);
  Vec3 sum = Vec3::Zero(), moment = Vec3::Zero();
  const auto add = [&](int i, const Vec3& p) {
    sum += p;
    moment += cross(Vec3(nodes.arm(step, i) - inertia.centre), p);
  };
  add_momentum([&](int i, const Vec3& p) { add(i, of_v * p); }, v);
  add_momentum([&](int i, const Vec3& p) { add(i, -of_v0 * p); }, step.v0);
  for (int i = 0; i < num_nodes(); ++i) add(i, -dt * (node(step.force, i) + node_mass_[i] * step.gravity));
  Mat3 I = inertia.I;
  if (!spec_.lumped_mass) {  // its own, of M (e x r)
    VecX turn(v.size());
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < num_nodes(); ++i)
        turn.segment<3>(3 * i) = cross(Vec3(Vec3::Unit(k)), Vec3(nodes.arm(step, i) - inertia.centre));
      Vec3 column = Vec3::Zero();
      add_momentum(
          [&](int i, const Vec3& p) { column += cross(Vec3(nodes.arm(step, i) - inertia.centre), p); }, turn);
      I.col(k) = column;
    }
  }
  const Vec3 shift = sum / (of_v * inertia.mass), d = I.ldlt().solve(moment) / of_v;
  for (int i = 0; i < num_nodes(); ++i)
    v.segment<3>(3 * i) -= shift + cross(d, Vec3(nodes.arm(step, i) - inertia.centre));
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
