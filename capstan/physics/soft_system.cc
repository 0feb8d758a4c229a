// m(v), A, incremental potential, energies and gradient of a soft body (physics/soft_body.h), by sweeps over
// its elements.
//
// Damping acts on the change of the linear strain in the step: with h = theta1 dt,
//
//   P = dpsi/dF + beta / h R C (e - e_0),   e = sym(R^T F),   e_0 = sym(R_0^T F_0),
//
// R_0 the rotation of F_0 at the beginning of the step, R that turned on by the spin of the whole body.
#include <algorithm>
#include <cmath>

#include "capstan/math/block_matrix.h"
#include "capstan/math/rotation.h"
#include "capstan/physics/soft_body.h"
#include "capstan/physics/soft_lanes.h"

namespace capstan {
namespace {

constexpr double kHeldMass = 1e12;       // [kg] of nodes that no force moves
constexpr double kSoftRoundOff = 1e-15;  // of a strain, times |x| over the size of an element

template <int N>
Eigen::Matrix<double, 3, N> gather(const std::array<int, N>& nodes, const Eigen::Ref<const VecX>& x) {
  Eigen::Matrix<double, 3, N> y;
  for (int a = 0; a < N; ++a) y.col(a) = x.template segment<3>(3 * nodes[a]);
  return y;
}

// Where the nodes of an element are when its forces are taken, and where they were.
template <int N>
struct Places {
  Eigen::Matrix<double, 3, N> before, x;
  Places(const std::array<int, N>& nodes, const ObjectStep& step, const Eigen::Ref<const VecX>& v) {
    const double now = step.theta1 * step.dt * step.theta_vq,
                 then = step.theta1 * step.dt * (1 - step.theta_vq);
    before = gather<N>(nodes, step.q0);
    x = before + now * gather<N>(nodes, v);
    if (then != 0) x += then * gather<N>(nodes, step.v0);
  }
};

// The lower block of nodes a > b of an element: that of the layout's pair is (larger, smaller).
void add_pair(int pair, int node_a, int node_b, const Mat3& K, BlockMatrix* A) {
  Eigen::Map<Mat3> block(A->pair_block(pair));
  if (node_a > node_b) {
    block += K;
  } else {
    block += K.transpose();
  }
}

// The blocks of one element, of nodes a >= b: number a (a + 1) / 2 + b.
template <int N>
using Blocks = std::array<Mat3, N*(N + 1) / 2>;

// blocks += factor * those of a tangent.
template <int N>
void add_tangent(const ElasticTangent& t, const Eigen::Matrix<double, 3, N>& gradients, double factor,
                 Blocks<N>* blocks) {
  const Eigen::Matrix<double, 3, N> g = t.V.transpose() * gradients;
  const Mat3 U = t.U, Ut = factor * U.transpose();
  for (int a = 0; a < N; ++a) {
    for (int b = 0; b <= a; ++b) {
      const Mat3 UK = U * tangent_block(t, g.col(a), g.col(b));
      (*blocks)[a * (a + 1) / 2 + b].noalias() += UK * Ut;
    }
  }
}

// The same for the linear solid, whose tangent is simpler.
template <int N>
void add_linear_tangent(const Lame& m, const Mat3& R, const Eigen::Matrix<double, 3, N>& gradients,
                        double factor, Blocks<N>* blocks) {
  const Eigen::Matrix<double, 3, N> g = R * gradients;
  const double mu = factor * m.mu, lambda = factor * m.lambda;
  for (int a = 0; a < N; ++a) {
    const Vec3 ga = g.col(a), mu_a = mu * ga, lambda_a = lambda * ga;
    for (int b = 0; b <= a; ++b) {
      const Vec3 gb = g.col(b);
      Mat3& K = (*blocks)[a * (a + 1) / 2 + b];
      K.noalias() += lambda_a * gb.transpose();
      K.noalias() += gb * mu_a.transpose();
      K.diagonal().array() += mu_a.dot(gb);
    }
  }
}

// That of a pressure that is `factor` times the sum of spread . x.
template <int N>
void add_mean_tangent(const Eigen::Matrix<double, 3, N>& spread, double factor, Blocks<N>* blocks) {
  for (int a = 0; a < N; ++a) {
    const Vec3 push = factor * spread.col(a);
    for (int b = 0; b <= a; ++b) (*blocks)[a * (a + 1) / 2 + b].noalias() += push * spread.col(b).transpose();
  }
}

}  // namespace

// Four elements at a time. Returns how many were added: the last three may be left.
int SoftBody::add_in_lanes(const SoftElements<4>& elements, const SoftLaneStep& lane_step,
                           const ObjectStep& step, const ConstVector& v, Vector m, BlockMatrix* A,
                           double* largest) const {
  const double now = step.theta1 * step.dt * step.theta_vq,
               then = step.theta1 * step.dt * (1 - step.theta_vq);
  const bool makes_blocks = A != nullptr && lane_step.block > 0;
  const double *const q0 = step.q0.data(), *const v0 = step.v0.data();
  SoftLanes lanes;
  int first = 0;
  for (; first + 4 <= static_cast<int>(elements.nodes.size()); first += 4) {
    for (int l = 0; l < 4; ++l) {
      const int e = first + l;
      lanes.weight[l] = elements.weight[e];
      for (int a = 0; a < 4; ++a) {
        const int begin = 3 * elements.nodes[e][a];
        for (int i = 0; i < 3; ++i) {
          lanes.before[a][i][l] = q0[begin + i];
          lanes.x[a][i][l] = q0[begin + i] + now * v[begin + i] + then * v0[begin + i];
          lanes.gradients[a][i][l] = elements.gradients[e](i, a);
        }
      }
    }
    calc_soft_lanes(lane_step, makes_blocks, &lanes);
    for (int l = 0; l < 4; ++l) {
      const std::array<int, 4>& nodes = elements.nodes[first + l];
      const std::array<int, 6>& pairs = elements.pairs[first + l];
      const auto add_block = [&](int number, bool transposed, double* to) {
        const double* from = reinterpret_cast<const double*>(lanes.blocks[number]) + l;
        for (int j = 0; j < 3; ++j) {
          for (int i = 0; i < 3; ++i) to[3 * j + i] += from[4 * (transposed ? 3 * i + j : 3 * j + i)];
        }
      };
      for (int a = 0; a < 4; ++a) {
        for (int i = 0; i < 3; ++i) *largest = std::max(*largest, std::abs(lanes.push[a][i][l]));
        if (fixed_[nodes[a]] != 0) continue;
        for (int i = 0; i < 3; ++i) m[3 * nodes[a] + i] += lanes.push[a][i][l];
        if (!makes_blocks) continue;
        add_block(a * (a + 1) / 2 + a, false, A->block(nodes[a], nodes[a]));
        for (int b = 0; b < a; ++b) {
          if (fixed_[nodes[b]] != 0) continue;
          double* const to = A->pair_block(pairs[a * (a - 1) / 2 + b]);
          if (nodes[a] > nodes[b]) {
            add_block(a * (a + 1) / 2 + b, false, to);
          } else {
            add_block(a * (a + 1) / 2 + b, true, to);
          }
        }
      }
    }
  }
  return first;
}

template <int N>
ImpulseSize SoftBody::add_elements(const SoftElements<N>& elements, const ObjectStep& step,
                                   const ConstVector& v, Vector m, Tangent tangent, BlockMatrix* A) const {
  constexpr int kPoints = SoftElements<N>::kPoints;
  const double dt = step.dt, h = step.theta1 * dt, beta = spec_.beta;
  const double damping = h > 0 ? beta / h : 0, per_q = h * step.theta_vq * dt;
  const bool is_linear = spec_.elasticity == Elasticity::linear_corotational, damps = beta > 0;
  const Mat3 spin = is_linear || damps ? rotation_matrix(quat_exp(h * mean_spin(step.q0, step.v0))) : Mat3();
  const double share = mean_lambda_ / kPoints;  // points of an element have the same weight
  double largest = 0;
  int first = 0;
  if constexpr (N == 4) {
    if (is_linear && h > 0 && share == 0 && spec_.lumped_mass)
      first =
          add_in_lanes(elements, {lame_, spin, damping, dt, per_q * (1 + damping)}, step, v, m, A, &largest);
  }
  for (int e = first; e < static_cast<int>(elements.nodes.size()); ++e) {
    const std::array<int, N>& nodes = elements.nodes[e];
    const Places<N> places(nodes, step, v);
    Eigen::Matrix<double, 3, N> push = Eigen::Matrix<double, 3, N>::Zero();
    Blocks<N> blocks;
    const bool makes_blocks = A != nullptr && (per_q > 0 || !spec_.lumped_mass);
    if (makes_blocks) blocks.fill(Mat3::Zero());
    std::array<Mat3, kPoints> F, R, strain;       // strain: what the linear law acts on
    double pressure_of_strain = 0, pressure = 0;  // of the mean dilations
    for (int p = 0; p < kPoints; ++p) {
      const auto& G = elements.gradients[e * kPoints + p];
      F[p] = places.x * G.transpose();
      if (is_linear || damps) {
        const Mat3 F0 = places.before * G.transpose(), R0 = nearest_rotation(F0);
        R[p].noalias() = spin * R0;
        const Mat3 now = linear_strain(R[p], F[p]);
        strain[p] = is_linear ? now : Mat3(Mat3::Zero());
        if (damps && h > 0) strain[p] += damping * (now - linear_strain(R0, F0));
        if (damps && h == 0) {
          Mat3 rate = R0.transpose() * (gather<N>(nodes, step.v0) * G.transpose());
          strain[p] += 0.5 * beta * (rate + rate.transpose());
        }
        pressure_of_strain += share * strain[p].trace();
      }
      if (!is_linear && share != 0) pressure += share * calc_dilation(spec_.elasticity, F[p]);
    }
    using Spread = Eigen::Matrix<double, 3, N>;  // of the pressures above to the nodes [m^2]
    Spread spread_of_strain = Spread::Zero(), spread = Spread::Zero();
    const double part = (is_linear ? 1 : 0) + damping;
    for (int p = 0; p < kPoints; ++p) {
      const auto& G = elements.gradients[e * kPoints + p];
      const double w = elements.weight[e * kPoints + p];
      Mat3 P = Mat3::Zero();
      if (is_linear || damps) P = linear_stress(lame_, R[p], strain[p]);
      if (!is_linear) P += calc_stress(spec_.elasticity, lame_, F[p]);
      if (share != 0) {
        if (is_linear || damps) {
          P += pressure_of_strain * R[p];
          spread_of_strain.noalias() += w * R[p] * G;
        }
        if (!is_linear) {
          const Mat3 D = calc_dilation_gradient(spec_.elasticity, F[p]);
          P += pressure * D;
          spread.noalias() += w * D * G;
        }
      }
      push.noalias() += (dt * w) * P * G;
      if (A == nullptr || per_q == 0) continue;
      if (part > 0) add_linear_tangent<N>(lame_, R[p], G, per_q * w * part, &blocks);
      if (!is_linear) {
        const ElasticTangent t =
            calc_elastic_tangent(spec_.elasticity, lame_, F[p], tangent == Tangent::convex, pressure);
        add_tangent<N>(t, G, per_q * w, &blocks);
      }
    }
    if (share != 0 && A != nullptr && per_q > 0) {
      const double factor = per_q * share / elements.weight[e * kPoints];
      if (part > 0) add_mean_tangent<N>(spread_of_strain, factor * part, &blocks);
      if (!is_linear) add_mean_tangent<N>(spread, factor, &blocks);
    }
    largest = std::max(largest, push.cwiseAbs().maxCoeff());
    if (!spec_.lumped_mass) {
      const Eigen::Matrix<double, N, N> M = elements.mass[e] * elements.mass_shares;
      const auto v1 = gather<N>(nodes, v), v0 = gather<N>(nodes, step.v0);
      push += ((v1 - v0) + dt * spec_.alpha * (step.theta1 * v1 + (1 - step.theta1) * v0)) * M;
      for (int a = 0; makes_blocks && a < N; ++a) {
        for (int b = 0; b <= a; ++b)
          blocks[a * (a + 1) / 2 + b].diagonal().array() += (1 + h * spec_.alpha) * M(a, b);
      }
    }
    for (int a = 0; a < N; ++a) {
      if (fixed_[nodes[a]] != 0) continue;
      m.template segment<3>(3 * nodes[a]) += push.col(a);
      if (!makes_blocks) continue;
      Eigen::Map<Mat3>(A->block(nodes[a], nodes[a])) += blocks[a * (a + 1) / 2 + a];
      for (int b = 0; b < a; ++b) {
        if (fixed_[nodes[b]] == 0)
          add_pair(elements.pairs[e][a * (a - 1) / 2 + b], nodes[a], nodes[b], blocks[a * (a + 1) / 2 + b],
                   A);
      }
    }
  }
  return {largest, 0};
}

ImpulseSize SoftBody::calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                                  BlockMatrix* A) const {
  const double dt = step.dt, h = step.theta1 * dt;
  const SpinKeeper keeper = keep_spin(step);
  double farthest = 0, force = 0;
  if (A != nullptr) A->set_zero();
  for (int i = 0; i < num_nodes(); ++i) {
    const Vec3 v_i = node(v, i), v_0 = node(step.v0, i), external = node(step.force, i);
    const double M = fixed_[i] ? kHeldMass : spec_.lumped_mass ? node_mass_[i] : 0.0;
    Vec3 own = M * (v_i - v_0);
    double diagonal = M;
    if (!fixed_[i]) {
      own -= dt * (external + node_mass_[i] * step.gravity) +
             node_mass_[i] * keeper.change(masses().arm(step, i));
      own += dt * spec_.alpha * M * (step.theta1 * v_i + (1 - step.theta1) * v_0);
      diagonal += h * spec_.alpha * M;
      force =
          std::max({force, external.cwiseAbs().maxCoeff(), std::abs(node_mass_[i]) * step.gravity.norm()});
    }
    m.segment<3>(3 * i) = own;
    if (A != nullptr) Eigen::Map<Mat3>(A->block(i, i)).diagonal().setConstant(diagonal);
    farthest = std::max(farthest, node(step.q0, i).cwiseAbs().maxCoeff());
  }
  if (has_gas()) add_gas(step, v, m, A);
  const ImpulseSize inner = std::visit(
      [&](const auto& elements) { return add_elements(elements, step, v, m, tangent, A); }, elements_);
  const double damping = h > 0 ? spec_.beta / h : 0;
  return {std::max(dt * force, inner.largest), kSoftRoundOff * dt * stiffest_ * (1 + damping) * farthest};
}

template <int N>
double SoftBody::sum_energies(const SoftElements<N>& elements, const ObjectStep& step,
                              const ConstVector& v) const {
  constexpr int kPoints = SoftElements<N>::kPoints;
  const double h = step.theta1 * step.dt, damping = h > 0 ? spec_.beta / h : 0;
  const bool is_linear = spec_.elasticity == Elasticity::linear_corotational;
  const Mat3 spin =
      is_linear || damping > 0 ? rotation_matrix(quat_exp(h * mean_spin(step.q0, step.v0))) : Mat3();
  double sum = 0;
  for (int e = 0; e < static_cast<int>(elements.nodes.size()); ++e) {
    const Places<N> places(elements.nodes[e], step, v);
    double mean = 0, mean_change = 0;  // dilations
    for (int p = 0; p < kPoints; ++p) {
      const auto& G = elements.gradients[e * kPoints + p];
      const double w = elements.weight[e * kPoints + p];
      const Mat3 F = places.x * G.transpose();
      if (is_linear || damping > 0) {
        const Mat3 F0 = places.before * G.transpose(), R0 = nearest_rotation(F0);
        const Mat3 strain = linear_strain(spin * R0, F), change = strain - linear_strain(R0, F0);
        if (is_linear) sum += w * linear_energy(lame_, strain);
        if (damping > 0) sum += w * damping * linear_energy(lame_, change);
        if (is_linear) mean += strain.trace() / kPoints;
        mean_change += change.trace() / kPoints;
      }
      if (!is_linear) {
        sum += w * calc_energy_density(spec_.elasticity, lame_, F);
        mean += calc_dilation(spec_.elasticity, F) / kPoints;
      }
    }
    sum += 0.5 * mean_lambda_ * kPoints * elements.weight[e * kPoints] *
           (mean * mean + damping * mean_change * mean_change);
  }
  return sum;
}

double SoftBody::calc_potential(const ObjectStep& step, const ConstVector& v) const {
  const double dt = step.dt, h = step.theta1 * dt;
  const SpinKeeper keeper = keep_spin(step);
  double sum = 0;
  for (int i = 0; i < num_nodes(); ++i) {
    if (fixed_[i]) continue;
    const Vec3 dv = node(v, i) - node(step.v0, i);
    sum -= dt * dv.dot(node(step.force, i) + node_mass_[i] * step.gravity);
    sum -= node_mass_[i] * dv.dot(keeper.change(masses().arm(step, i)));
    if (!spec_.lumped_mass) continue;
    const double M = node_mass_[i];
    sum +=
        0.5 * (1 + spec_.alpha * h) * M * dv.squaredNorm() + dt * spec_.alpha * M * dv.dot(node(step.v0, i));
  }
  if (has_gas()) sum += calc_gas_potential(step, v);
  const auto add_consistent = [&](const auto& elements) {
    constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
    for (int e = 0; e < static_cast<int>(elements.nodes.size()); ++e) {
      const auto v0 = gather<N>(elements.nodes[e], step.v0);
      Eigen::Matrix<double, 3, N> dv = gather<N>(elements.nodes[e], v) - v0;
      for (int a = 0; a < N; ++a) {
        if (fixed_[elements.nodes[e][a]]) dv.col(a).setZero();
      }
      const Eigen::Matrix<double, 3, N> p = dv * (elements.mass[e] * elements.mass_shares);
      sum += 0.5 * (1 + spec_.alpha * h) * dv.cwiseProduct(p).sum() +
             dt * spec_.alpha * v0.cwiseProduct(p).sum();
    }
  };
  if (!spec_.lumped_mass) std::visit(add_consistent, elements_);
  if (h * step.theta_vq == 0) return sum;
  const double strain =
      std::visit([&](const auto& elements) { return sum_energies(elements, step, v); }, elements_);
  return sum + strain / (step.theta1 * step.theta_vq);
}

double SoftBody::calc_elastic_energy(const ConstVector& q) const {
  const double gas = calc_gas_energy(q);
  const bool is_linear = spec_.elasticity == Elasticity::linear_corotational;
  return std::visit(
      [&](const auto& elements) {
        constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
        constexpr int kPoints = std::decay_t<decltype(elements)>::kPoints;
        double sum = gas;
        for (int e = 0; e < static_cast<int>(elements.nodes.size()); ++e) {
          const auto x = gather<N>(elements.nodes[e], q);
          double mean = 0;
          for (int k = e * kPoints; k < (e + 1) * kPoints; ++k) {
            const Mat3 F = x * elements.gradients[k].transpose();
            if (is_linear) {
              const Mat3 strain = linear_strain(nearest_rotation(F), F);
              sum += elements.weight[k] * linear_energy(lame_, strain);
              mean += strain.trace() / kPoints;
            } else {
              sum += elements.weight[k] * calc_energy_density(spec_.elasticity, lame_, F);
              mean += calc_dilation(spec_.elasticity, F) / kPoints;
            }
          }
          sum += 0.5 * mean_lambda_ * kPoints * elements.weight[e * kPoints] * mean * mean;
        }
        return sum;
      },
      elements_);
}

void SoftBody::calc_gradient(const ConstVector& q, Vector gradient) const {
  gradient.setZero();
  const bool is_linear = spec_.elasticity == Elasticity::linear_corotational;
  std::visit(
      [&](const auto& elements) {
        constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
        constexpr int kPoints = std::decay_t<decltype(elements)>::kPoints;
        for (int e = 0; e < static_cast<int>(elements.nodes.size()); ++e) {
          const auto& nodes = elements.nodes[e];
          const auto x = gather<N>(nodes, q);
          std::array<Mat3, kPoints> P, D;
          double pressure = 0;
          for (int p = 0; p < kPoints; ++p) {
            const Mat3 F = x * elements.gradients[e * kPoints + p].transpose();
            if (is_linear) {
              D[p] = nearest_rotation(F);
              const Mat3 strain = linear_strain(D[p], F);
              P[p] = linear_stress(lame_, D[p], strain);
              pressure += mean_lambda_ * strain.trace() / kPoints;
            } else {
              D[p] = calc_dilation_gradient(spec_.elasticity, F);
              P[p] = calc_stress(spec_.elasticity, lame_, F);
              pressure += mean_lambda_ * calc_dilation(spec_.elasticity, F) / kPoints;
            }
          }
          for (int p = 0; p < kPoints; ++p) {
            const int k = e * kPoints + p;
            const Eigen::Matrix<double, 3, N> push =
                elements.weight[k] * (P[p] + pressure * D[p]) * elements.gradients[k];
            for (int a = 0; a < N; ++a) gradient.segment<3>(3 * nodes[a]) += push.col(a);
          }
        }
      },
      elements_);
}

SoftStrain SoftBody::calc_strain(const ConstVector& q) const {
  return std::visit(
      [&](const auto& elements) {
        constexpr int N = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(elements.nodes[0])>>);
        constexpr int kPoints = std::decay_t<decltype(elements)>::kPoints;
        SoftStrain strain;
        for (int k = 0; k < static_cast<int>(elements.weight.size()); ++k) {
          const Mat3 F = gather<N>(elements.nodes[k / kPoints], q) * elements.gradients[k].transpose();
          const Vec3 s = calc_singular_frame(F).s;
          strain.volume += elements.weight[k] * s.prod();
          strain.largest = std::max(strain.largest, (s.array() - 1).abs().maxCoeff());
          strain.inverted += s[2] < 0;
        }
        return strain;
      },
      elements_);
}

}  // namespace capstan
