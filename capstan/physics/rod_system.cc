// m(v), A, incremental potential, gradient and stiffness of a rod (physics/rod.h), by sweeps over edges and
// joints.
//
// A joint has 11 dofs of three blocks, an edge 6 of two. The convex tangent takes the exact matrix of an
// element where it is positive definite together with the element's share of M. Else it takes less of it: of
// a joint the part of its strains, k g g^T, without that of its stresses; of an edge as much of its pressure
// as that share bears.
//
// Damping acts on the change of strains in the step: with h = theta1 dt,
//
//   stress = k (s - s_rest) + beta k (s - s_0) / h,
//
// so that a rigid turn, however large, is not damped, and the incremental potential is that of a spring.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "capstan/math/block_matrix.h"
#include "capstan/physics/rod.h"

namespace capstan {
namespace {

constexpr double kHeldInertia = 1e12;     // [kg or kg m^2] of dofs that no force moves
constexpr double kMostNegative = 0.9;     // of its share of M, that an element may take away
constexpr double kEdgeShare = 0.25;       // of a node's mass, for each of its two edges
constexpr double kJointShare = 0.5 / 3;   // for each of the three joints that it belongs to
constexpr double kJointAngleShare = 0.5;  // of an edge's inertia, for each of its two joints
constexpr double kRoundOff = 1e-15;       // of a strain, times |x| / L

// The 11 dofs of a joint: two whole blocks and the first three dofs of the third.
template <class Vector>
Vec11 gather(const Vector& x, int a, int b, int c) {
  Vec11 y;
  y << x.template segment<4>(4 * a), x.template segment<4>(4 * b), x.template segment<3>(4 * c);
  return y;
}

void add_to(int a, int b, int c, const Vec11& y, Eigen::Ref<VecX> x) {
  x.segment<4>(4 * a) += y.head<4>();
  x.segment<4>(4 * b) += y.segment<4>(4);
  x.segment<3>(4 * c) += y.tail<3>();
}

bool is_positive(const Mat11& H, const Vec11& share) {
  Mat11 sum = H;
  sum.diagonal() += kMostNegative * share;
  return Eigen::LLT<Mat11>(sum).info() == Eigen::Success;
}

// The upper left corner of a block with that many rows += B.
template <int R, int C, class B>
void add_to(double* block, int rows, const B& b) {
  Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, C>>(block, rows, C).template topRows<R>() += b;
}

// The pair's block += B, which is (i, j) with i above or below j.
template <int R, int C, class B>
void add_pair(int pair, int i, int j, const B& b, BlockMatrix* A) {
  double* block = A->pair_block(pair);
  if (i > j) {
    add_to<R, C>(block, A->block_size(i), b);
  } else {
    add_to<C, R>(block, A->block_size(j), b.transpose());
  }
}

}  // namespace

RodEdge Rod::edge_in_step(const ObjectStep& step, const ConstVector& v, int i) const {
  const double now = step.theta1 * step.dt * step.theta_vq,
               before = step.theta1 * step.dt * (1 - step.theta_vq);
  const int a = 4 * i, b = 4 * after(i);
  return moved_edge(step.q0, i, now * v.segment<3>(a) + before * step.v0.segment<3>(a),
                    now * v.segment<3>(b) + before * step.v0.segment<3>(b),
                    now * v[a + 3] + before * step.v0[a + 3]);
}

ImpulseSize Rod::calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                             BlockMatrix* A) const {
  const double dt = step.dt, h = step.theta1 * dt, EA = spec_.young_modulus * section_.area;
  const double damping = h > 0 ? spec_.beta / h : 0;  // of k, on the change of strain
  const double per_q = h * step.theta_vq * dt;        // of K in A
  const bool damps = spec_.beta > 0;
  double farthest = 0, force = 0, moment = 0;  // [m], [N], [N m], the largest
  if (A != nullptr) A->set_zero();
  for (int i = 0; i < num_nodes_; ++i) {
    const int n = 4 * i + 4 <= num_dofs() ? 4 : 3;
    double* D = A != nullptr ? A->block(i, i) : nullptr;
    for (int k = 0; k < n; ++k) {
      const int dof = 4 * i + k;
      const double M = held_[dof] ? kHeldInertia : inertia_[dof];
      m[dof] = M * (v[dof] - step.v0[dof]);
      if (D != nullptr) D[k * (n + 1)] = M;
      if (held_[dof]) continue;
      const double rate = step.theta1 * v[dof] + (1 - step.theta1) * step.v0[dof];
      m[dof] += dt * (spec_.alpha * M * rate - step.force[dof]);
      if (k < 3) m[dof] -= dt * M * step.gravity[k];
      if (D != nullptr) D[k * (n + 1)] += h * spec_.alpha * M;
      double& largest = k < 3 ? force : moment;
      largest = std::max(largest, std::abs(step.force[dof]));
    }
    farthest = std::max(farthest, node(step.q0, i).cwiseAbs().maxCoeff());
    force = std::max(force, inertia_[4 * i] * step.gravity.norm());
  }
  // What acts on held dofs changes nothing; A has their inertia alone.
  const auto free = [&](int dof) { return held_[dof] ? 0.0 : 1.0; };
  const bool any_held = has_held_;

  RodEdge e, f = edge_in_step(step, v, 0), e0, f0;
  if (damps) f0 = edge(step.q0, 0);
  double stretch_round_off = 0, bend_round_off = 0;  // [N], [N m]
  for (int i = 0; i < num_edges(); ++i) {
    e = f;
    e0 = f0;
    const int a = i, b = after(i);
    const double L = rest_length_[i];
    const Vec3 t = e.tangent;
    double rate = 0;  // of strain, times h or per time
    if (damps) rate = h > 0 ? (e.length - e0.length) / L : t.dot(node(step.v0, b) - node(step.v0, a)) / L;
    const double N = EA * (e.length / L - 1 + (h > 0 ? damping : spec_.beta) * rate);
    Vec3 free_a = Vec3::Ones(), free_b = Vec3::Ones();
    if (any_held) {
      free_a = Vec3(free(4 * a), free(4 * a + 1), free(4 * a + 2));
      free_b = Vec3(free(4 * b), free(4 * b + 1), free(4 * b + 2));
    }
    m.segment<3>(4 * a) -= dt * N * t.cwiseProduct(free_a);
    m.segment<3>(4 * b) += dt * N * t.cwiseProduct(free_b);
    force = std::max(force, std::abs(N));
    stretch_round_off = std::max(stretch_round_off, kRoundOff * EA * (1 + damping) * farthest / L);
    if (A != nullptr && per_q > 0) {
      const double along = per_q * (1 + damping) * EA / L;
      double across = per_q * N / e.length;
      if (tangent == Tangent::convex) {
        const double share = kEdgeShare * std::min(inertia_[4 * a], inertia_[4 * b]);
        across = std::max(across, -0.5 * kMostNegative * share);
      }
      Mat3 G = (along - across) * t * t.transpose();
      G.diagonal().array() += across;
      if (!any_held) {
        add_to<3, 3>(A->block(a, a), A->block_size(a), G);
        add_to<3, 3>(A->block(b, b), A->block_size(b), G);
        add_pair<3, 3>(edge_pair_[i], b, a, -G, A);
      } else {
        add_to<3, 3>(A->block(a, a), A->block_size(a), free_a.asDiagonal() * G * free_a.asDiagonal());
        add_to<3, 3>(A->block(b, b), A->block_size(b), free_b.asDiagonal() * G * free_b.asDiagonal());
        add_pair<3, 3>(edge_pair_[i], b, a, -(free_b.asDiagonal() * G * free_a.asDiagonal()), A);
      }
    }

    if (i >= num_joints()) continue;
    f = edge_in_step(step, v, after(i));
    const int c = after(b);
    const double twist = calc_reference_twist(e, f, reference_twist(step.q0, i));
    const JointGradient g = calc_joint_gradient(e, f);
    const Vec3 k = stiffness(i), s = calc_joint_strain(e, f, twist);
    Vec3 stress = s - rest_strain_[i];
    if (damps) {
      f0 = edge(step.q0, after(i));
      if (h > 0) {
        stress += damping * (s - calc_joint_strain(e0, f0, reference_twist(step.q0, i)));
      } else {
        stress += spec_.beta * (g.transpose() * gather(step.v0, a, b, c));
      }
    }
    stress = k.cwiseProduct(stress);
    Vec11 open = Vec11::Ones();
    for (int r = 0; any_held && r < 11; ++r)
      open[r] = free(r < 4 ? 4 * a + r : r < 8 ? 4 * b + r - 4 : 4 * c + r - 8);
    const Vec11 push = g.lazyProduct(stress);
    add_to(a, b, c, dt * push.cwiseProduct(open), m);
    moment = std::max(moment, stress.cwiseAbs().maxCoeff());
    force = std::max(force, push.cwiseAbs().maxCoeff());
    const double shortest = std::min(e.length, f.length);
    bend_round_off = std::max(bend_round_off, kRoundOff * farthest / shortest * k.maxCoeff() * (1 + damping));
    stretch_round_off = std::max(stretch_round_off, bend_round_off / shortest);
    if (A == nullptr || per_q == 0) continue;

    const JointGradient kg = (per_q * (1 + damping)) * (g * k.asDiagonal());
    Mat11 H = kg.lazyProduct(g.transpose());
    if (tangent == Tangent::exact) {
      add_joint_hessian(e, f, per_q * stress, &H);
    } else {
      const Vec11 of = gather(inertia_, a, b, c);
      Vec11 share = kJointShare * of;
      share[3] = kJointAngleShare * of[3];
      share[7] = kJointAngleShare * of[7];
      Mat11 exact = H;
      add_joint_hessian(e, f, per_q * stress, &exact);
      if (is_positive(exact, share)) H = exact;
    }
    if (any_held && open.minCoeff() == 0) H = open.asDiagonal() * H * open.asDiagonal();
    add_to<4, 4>(A->block(a, a), 4, H.block<4, 4>(0, 0));
    add_to<4, 4>(A->block(b, b), 4, H.block<4, 4>(4, 4));
    add_to<3, 3>(A->block(c, c), A->block_size(c), H.block<3, 3>(8, 8));
    add_pair<4, 4>(edge_pair_[i], b, a, H.block<4, 4>(4, 0), A);
    add_pair<3, 4>(joint_pair_[i], c, a, H.block<3, 4>(8, 0), A);
    add_pair<3, 4>(edge_pair_[b], c, b, H.block<3, 4>(8, 4), A);
  }
  if (A == nullptr) return {};
  // Each measured by the inertia of the dofs it acts on.
  double lightest_node = kHeldInertia, lightest_angle = kHeldInertia;
  for (int i = 0; i < num_nodes_; ++i) {
    const int n = A->block_size(i);
    const double* D = A->block(i, i);
    for (int k = 0; k < n; ++k) {
      double& lightest = k < 3 ? lightest_node : lightest_angle;
      lightest = std::min(lightest, D[k * (n + 1)]);
    }
  }
  const double scale = std::min(lightest_node, lightest_angle);
  const auto size = [&](double of_nodes, double of_angles) {
    return dt * std::sqrt(scale) *
           std::max(of_nodes / std::sqrt(lightest_node), of_angles / std::sqrt(lightest_angle));
  };
  return {size(force, moment), size(stretch_round_off, bend_round_off)};
}

double Rod::calc_potential(const ObjectStep& step, const ConstVector& v) const {
  const double dt = step.dt, h = step.theta1 * dt, EA = spec_.young_modulus * section_.area;
  const double damping = h > 0 ? spec_.beta / h : 0;
  double sum = 0, strain_energy = 0;
  for (int k = 0; k < num_dofs(); ++k) {
    if (held_[k]) continue;
    const double dv = v[k] - step.v0[k], M = inertia_[k];
    double force = step.force[k] - spec_.alpha * M * step.v0[k];
    if (k % 4 < 3) force += M * step.gravity[k % 4];
    sum += 0.5 * (1 + spec_.alpha * h) * M * dv * dv - dt * force * dv;
  }
  if (h * step.theta_vq == 0) return sum;
  const auto add = [&](double k, double s, double s_rest, double s_0) {
    strain_energy += 0.5 * k * ((s - s_rest) * (s - s_rest) + damping * (s - s_0) * (s - s_0));
  };
  RodEdge e, f = edge_in_step(step, v, 0), e0, f0;
  if (damping > 0) f0 = edge(step.q0, 0);
  for (int i = 0; i < num_edges(); ++i) {
    e = f;
    e0 = f0;
    const double L = rest_length_[i];
    add(EA / L, e.length, L, e0.length);
    if (i >= num_joints()) continue;
    f = edge_in_step(step, v, after(i));
    const Vec3 k = stiffness(i);
    const Vec3 s = calc_joint_strain(e, f, calc_reference_twist(e, f, reference_twist(step.q0, i)));
    Vec3 s_0 = Vec3::Zero();
    if (damping > 0) {
      f0 = edge(step.q0, after(i));
      s_0 = calc_joint_strain(e0, f0, reference_twist(step.q0, i));
    }
    for (int r = 0; r < 3; ++r) add(k[r], s[r], rest_strain_[i][r], s_0[r]);
  }
  return sum + strain_energy / (step.theta1 * step.theta_vq);
}

void Rod::calc_gradient(const ConstVector& q, Vector gradient) const {
  gradient.setZero();
  for (int i = 0; i < num_edges(); ++i) {
    const Vec3 pull = tension(q, i) * edge(q, i).tangent;
    gradient.segment<3>(4 * i) -= pull;
    gradient.segment<3>(4 * after(i)) += pull;
  }
  for (int j = 0; j < num_joints(); ++j) {
    const RodEdge e = edge(q, j), f = edge(q, after(j));
    const Vec3 s = calc_joint_strain(e, f, reference_twist(q, j)) - rest_strain_[j];
    const Vec11 push = calc_joint_gradient(e, f) * stiffness(j).cwiseProduct(s);
    add_to(j, after(j), after(after(j)), push, gradient);
  }
}

MatX Rod::calc_stiffness(const ConstVector& q) const {
  MatX K = MatX::Zero(num_dofs(), num_dofs());
  const double EA = spec_.young_modulus * section_.area;
  for (int i = 0; i < num_edges(); ++i) {
    const RodEdge e = edge(q, i);
    const Mat3 tt = e.tangent * e.tangent.transpose();
    const Mat3 G = EA / rest_length_[i] * tt + tension(q, i) / e.length * (Mat3::Identity() - tt);
    const int a = 4 * i, b = 4 * after(i);
    K.block<3, 3>(a, a) += G;
    K.block<3, 3>(b, b) += G;
    K.block<3, 3>(a, b) -= G;
    K.block<3, 3>(b, a) -= G;
  }
  for (int j = 0; j < num_joints(); ++j) {
    const RodEdge e = edge(q, j), f = edge(q, after(j));
    const Vec3 k = stiffness(j), s = calc_joint_strain(e, f, reference_twist(q, j)) - rest_strain_[j];
    const JointGradient g = calc_joint_gradient(e, f);
    Mat11 H = g * k.asDiagonal() * g.transpose();
    add_joint_hessian(e, f, k.cwiseProduct(s), &H);
    const int at[3] = {4 * j, 4 * after(j), 4 * after(after(j))}, size[3] = {4, 4, 3};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c)
        K.block(at[r], at[c], size[r], size[c]) += H.block(4 * r, 4 * c, size[r], size[c]);
    }
  }
  return K;
}

}  // namespace capstan
