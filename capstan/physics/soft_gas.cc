// The gas in the cavities of a soft body.
//
// Its pressure p, above that around it, pushes nodes by p g, g = dV/dx of the volume V of all cavities
// together: a third of each triangle at its nodes. It is a constant, or that of a sealed gas at constant
// temperature,
//
//   (p + p_around) V = (p_0 + p_around) V_0,   E = (p_0 + p_around) V_0 log(V_0 / V) + p_around (V - V_0),
//
// which a step takes linear in the way d of the nodes: p(V) + dp/dV g.d. So a step takes one tangent of it,
// the matrix of rank one -dp/dV g g^T, which couples all nodes around the cavities: A is dense there. g is
// that where arms are taken (physics/spin.h), so that the gas turns nothing.
//
// Limits: pressure_around and p_0 zero: no gas. V to 0: p grows without limit; below a hundredth of V_0 it is
// that of a hundredth.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/math/block_matrix.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

constexpr double kLeastGasVolume = 0.01;  // of that at the start

}  // namespace

// Parts of the surface that hang together and enclose a negative volume.
void SoftBody::find_cavity() {
  std::vector<int> parent(rest_.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const auto& [a, b, c] : triangles_) {
    parent[root(a)] = root(b);
    parent[root(b)] = root(c);
  }
  std::vector<double> volume(rest_.size(), 0.0);
  for (const auto& [a, b, c] : triangles_) volume[root(a)] += rest_[a].dot(cross(rest_[b], rest_[c])) / 6;
  for (const auto& triangle : triangles_) {
    if (volume[root(triangle[0])] >= 0) continue;
    cavity_.push_back(triangle);
    cavity_nodes_.insert(cavity_nodes_.end(), triangle.begin(), triangle.end());
  }
  std::sort(cavity_nodes_.begin(), cavity_nodes_.end());
  cavity_nodes_.erase(std::unique(cavity_nodes_.begin(), cavity_nodes_.end()), cavity_nodes_.end());
  VecX q(3 * num_nodes());
  for (int i = 0; i < num_nodes(); ++i) q.segment<3>(3 * i) = rest_[i];
  if (!cavity_.empty()) rest_cavity_ = calc_cavity_volume(q);
}

void SoftBody::couple_cavity() {
  const auto end = [&] { return pairs_.begin() + static_cast<std::ptrdiff_t>(num_element_pairs_); };
  for (std::size_t i = 0; i < cavity_nodes_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::array<int, 2> pair = {cavity_nodes_[j], cavity_nodes_[i]};
      const auto at = std::lower_bound(pairs_.begin(), end(), pair);
      if (at != end() && *at == pair) {
        cavity_pairs_.push_back(static_cast<int>(at - pairs_.begin()));
        continue;
      }
      cavity_pairs_.push_back(static_cast<int>(pairs_.size()));
      pairs_.push_back(pair);
    }
  }
}

double SoftBody::calc_cavity_volume(const ConstVector& q) const {
  double sum = 0;
  for (const auto& [a, b, c] : cavity_) {
    const Vec3 first = node(q, cavity_[0][0]);
    sum -= (node(q, a) - first).dot(cross(Vec3(node(q, b) - first), Vec3(node(q, c) - first))) / 6;
  }
  return sum;
}

double SoftBody::calc_pressure(const ConstVector& q) const {
  return spec_.is_sealed ? pressure_at(calc_cavity_volume(q)) : spec_.pressure;
}

double SoftBody::pressure_at(double volume) const {
  const double least = std::max(volume, kLeastGasVolume * rest_cavity_);
  return (spec_.pressure + spec_.pressure_around) * rest_cavity_ / least - spec_.pressure_around;
}

double SoftBody::calc_gas_energy(const ConstVector& q) const {
  if (!spec_.is_sealed) return 0;
  const double volume = calc_cavity_volume(q), least = std::max(volume, kLeastGasVolume * rest_cavity_);
  const double constant = (spec_.pressure + spec_.pressure_around) * rest_cavity_;
  return constant * (std::log(rest_cavity_ / least) - (volume - least) / least) +
         spec_.pressure_around * (volume - rest_cavity_);
}

SoftBody::Gas SoftBody::calc_gas(const ObjectStep& step) const {
  Gas gas;
  gas.g = VecX::Zero(3 * num_nodes());
  double volume = 0;
  const NodeMasses nodes = masses();
  const Vec3 first = nodes.arm(step, cavity_[0][0]);
  for (const auto& [a, b, c] : cavity_) {
    const Vec3 x = nodes.arm(step, a), ab = nodes.arm(step, b) - x, ac = nodes.arm(step, c) - x;
    const Vec3 area = cross(ab, ac) / 6;
    volume -= (x - first).dot(area);
    for (const int i : {a, b, c}) {
      if (!fixed_[i]) gas.g.segment<3>(3 * i) -= area;
    }
  }
  gas.pressure = spec_.pressure;
  gas.of_v = step.theta1 * step.dt * step.theta_vq;
  gas.of_v0 = (step.theta1 - 1) * step.dt * (1 - step.theta_vq);
  if (!spec_.is_sealed) return gas;
  const double least = std::max(volume, kLeastGasVolume * rest_cavity_);
  gas.pressure = pressure_at(volume);
  gas.slope = -(gas.pressure + spec_.pressure_around) / least;
  return gas;
}

void SoftBody::add_gas(const ObjectStep& step, const ConstVector& v, Vector m, BlockMatrix* A) const {
  const Gas gas = calc_gas(step);
  m -= step.dt * (gas.pressure + gas.slope * gas.growth(v, step.v0)) * gas.g;
  const double k = -step.dt * gas.slope * gas.of_v;
  if (A == nullptr || k == 0) return;
  int pair = 0;
  for (std::size_t i = 0; i < cavity_nodes_.size(); ++i) {
    const Vec3 g_i = gas.g.segment<3>(3 * cavity_nodes_[i]), k_i = k * g_i;
    Eigen::Map<Mat3>(A->block(cavity_nodes_[i], cavity_nodes_[i])).noalias() += k_i * g_i.transpose();
    for (std::size_t j = 0; j < i; ++j) {
      const Vec3 g_j = gas.g.segment<3>(3 * cavity_nodes_[j]);
      Eigen::Map<Mat3>(A->pair_block(cavity_pairs_[pair++])).noalias() += k_i * g_j.transpose();
    }
  }
}

// -dt times the integral of p along v - v0.
double SoftBody::calc_gas_potential(const ObjectStep& step, const ConstVector& v) const {
  const Gas gas = calc_gas(step);
  const double rate = gas.g.dot(v - step.v0), then = gas.growth(step.v0, step.v0);
  return -step.dt * rate * (gas.pressure + gas.slope * (then + 0.5 * gas.of_v * rate));
}

}  // namespace capstan
