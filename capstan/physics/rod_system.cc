// m(v), A, gradient and stiffness of a rod (physics/rod.h): one sweep over edges and joints, without memory.
//
// A joint has 11 dofs of three blocks, an edge 6 of two. A takes the exact matrix of an element where it is
// positive definite together with the element's share of M. Else it takes less of it: of a joint the part of
// its strains, k g g^T, without that of its stresses; of an edge as much of its pressure as that share bears.
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
// Round-off of a strain, times |x| / L, over the accuracy that free motion is solved to.
constexpr double kRoundOff = 1e-15 / 1e-10;

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

// A(block i, block j) += B, where i may be above j; B has the rows and columns of the dofs it is about.
template <int R, int C>
void add_to(int i, int j, const Eigen::Matrix<double, R, C>& B, BlockMatrix* A) {
  if (i < j) return add_to<C, R>(j, i, B.transpose(), A);
  const int rows = A->block_size(i);
  Eigen::Map<MatX>(A->block(i, j), rows, A->block_size(j)).template topLeftCorner<R, C>() += B;
}

}  // namespace

double Rod::calc_system(const ObjectStep& step, const ConstVector& v_end, Vector m, BlockMatrix* A) const {
  // Where forces are taken; linearized ones are continued from there to v_end by A.
  const ConstVector v(spec_.linearized ? step.v0 : v_end);
  const bool linear = spec_.linearized;
  const double dt = step.dt, h = step.theta1 * dt, E = spec_.young_modulus, beta = spec_.beta;
  const double per_q = h * step.theta_vq * dt, per_v = h;  // of K and of damping in A
  const int edges = num_edges();
  const auto rate = [&](const auto& x, const auto& x0) { return step.theta1 * x + (1 - step.theta1) * x0; };
  double farthest = 0, force = 0, moment = 0;  // [m], [N], [N m], the largest
  A->set_zero();
  for (int i = 0; i < num_nodes_; ++i) {
    const int n = A->block_size(i);
    double* D = A->block(i, i);
    for (int k = 0; k < n; ++k) {
      const int dof = 4 * i + k;
      const double M = held_[dof] ? kHeldInertia : inertia_[dof];
      m[dof] = M * (v[dof] - step.v0[dof]);
      D[k * (n + 1)] = M;
      if (held_[dof]) {
        m[dof] = M * (v_end[dof] - step.v0[dof]);
        continue;
      }
      m[dof] += dt * (spec_.alpha * M * rate(v[dof], step.v0[dof]) - step.force[dof]);
      if (k < 3) m[dof] -= dt * M * step.gravity[k];
      D[k * (n + 1)] += per_v * spec_.alpha * M;
      if (linear) m[dof] += D[k * (n + 1)] * (v_end[dof] - v[dof]);
      (k < 3 ? force : moment) = std::max(k < 3 ? force : moment, std::abs(step.force[dof]));
    }
    farthest = std::max(farthest, node(step.q0, i).cwiseAbs().maxCoeff());
    force = std::max(force, inertia_[4 * i] * step.gravity.norm());
  }
  // What acts on held dofs changes nothing; A has their inertia alone.
  const auto free = [&](int dof) { return held_[dof] ? 0.0 : 1.0; };

  const auto moved = [&](int i) {
    const auto along = [&](int first) -> Vec3 {
      return h * (step.theta_vq * v.segment<3>(first) + (1 - step.theta_vq) * step.v0.segment<3>(first));
    };
    const double turn = h * (step.theta_vq * v[4 * i + 3] + (1 - step.theta_vq) * step.v0[4 * i + 3]);
    return moved_edge(step.q0, i, along(4 * i), along(4 * after(i)), turn);
  };

  RodEdge e, f = moved(0);
  for (int i = 0; i < edges; ++i) {
    e = f;
    const int a = i, b = after(i);
    const double L = rest_length_[i], EA = E * section_.area;
    const Vec3 t = e.tangent;
    const double strain_rate =
        t.dot(rate(node(v, b), node(step.v0, b)) - rate(node(v, a), node(step.v0, a))) / L;
    const double N = EA * (e.length / L - 1 + beta * strain_rate);
    const Vec3 free_a(free(4 * a), free(4 * a + 1), free(4 * a + 2));
    const Vec3 free_b(free(4 * b), free(4 * b + 1), free(4 * b + 2));
    m.segment<3>(4 * a) -= dt * N * t.cwiseProduct(free_a);
    m.segment<3>(4 * b) += dt * N * t.cwiseProduct(free_b);
    force = std::max({force, std::abs(N), kRoundOff * EA * farthest / L});
    const double along = (per_q + per_v * beta) * EA / L;
    const double share = kEdgeShare * std::min(inertia_[4 * a], inertia_[4 * b]);
    const double across = std::max(per_q * N / e.length, -0.5 * kMostNegative * share);
    const Mat3 tt = t * t.transpose();
    const Mat3 G = along * tt + across * (Mat3::Identity() - tt);
    add_to<3, 3>(a, a, free_a.asDiagonal() * G * free_a.asDiagonal(), A);
    add_to<3, 3>(b, b, free_b.asDiagonal() * G * free_b.asDiagonal(), A);
    if (linear) {
      const Vec3 go = G * ((node(v_end, b) - node(v, b)).cwiseProduct(free_b) -
                           (node(v_end, a) - node(v, a)).cwiseProduct(free_a));
      m.segment<3>(4 * a) -= go.cwiseProduct(free_a);
      m.segment<3>(4 * b) += go.cwiseProduct(free_b);
    }
    add_to<3, 3>(b, a, -(free_b.asDiagonal() * G * free_a.asDiagonal()), A);

    if (i >= num_joints()) continue;
    f = moved(after(i));
    const int c = after(b);
    const double twist = calc_reference_twist(e, f, reference_twist(step.q0, i));
    const JointGradient g = calc_joint_gradient(e, f);
    const Vec3 k = stiffness(i);
    const Vec11 u = rate(gather(v, a, b, c), gather(step.v0, a, b, c));
    const Vec3 s = calc_joint_strain(e, f, twist) - rest_strain_[i];
    const Vec3 stress = k.cwiseProduct(s + beta * (g.transpose() * u));
    Vec11 open;
    for (int r = 0; r < 11; ++r) open[r] = free(r < 4 ? 4 * a + r : r < 8 ? 4 * b + r - 4 : 4 * c + r - 8);
    const Vec11 push = g * stress;
    add_to(a, b, c, dt * push.cwiseProduct(open), m);
    const double round_off = kRoundOff * farthest / std::min(e.length, f.length) * k.maxCoeff();
    moment = std::max({moment, stress.cwiseAbs().maxCoeff(), round_off});
    force = std::max({force, push.cwiseAbs().maxCoeff(), round_off / std::min(e.length, f.length)});
    if (per_q == 0 && per_v == 0) continue;

    const Vec11 of = gather(inertia_, a, b, c);
    Vec11 joint_share = kJointShare * of;
    joint_share[3] = kJointAngleShare * of[3];
    joint_share[7] = kJointAngleShare * of[7];
    Mat11 of_strains = Mat11::Zero();
    for (int r = 0; r < 3; ++r)
      of_strains.noalias() += ((per_q + per_v * beta) * k[r] * g.col(r)) * g.col(r).transpose();
    Mat11 H = of_strains;
    add_joint_hessian(e, f, per_q * stress, &H);
    if (!is_positive(H, joint_share)) H = of_strains;
    if (open.minCoeff() == 0) H = open.asDiagonal() * H * open.asDiagonal();
    if (linear) add_to(a, b, c, H * (gather(v_end, a, b, c) - gather(v, a, b, c)), m);
    add_to<4, 4>(a, a, H.block<4, 4>(0, 0), A);
    add_to<4, 4>(b, b, H.block<4, 4>(4, 4), A);
    add_to<3, 3>(c, c, H.block<3, 3>(8, 8), A);
    add_to<4, 4>(b, a, H.block<4, 4>(4, 0), A);
    add_to<3, 4>(c, a, H.block<3, 4>(8, 0), A);
    add_to<3, 4>(c, b, H.block<3, 4>(8, 4), A);
  }

  // The largest impulse, each measured by the inertia of the dofs it acts on.
  double lightest_node = kHeldInertia, lightest_angle = kHeldInertia;
  for (int i = 0; i < num_nodes_; ++i) {
    const int n = A->block_size(i);
    const double* D = A->block(i, i);
    for (int k = 0; k < n; ++k) {
      double& lightest = k < 3 ? lightest_node : lightest_angle;
      lightest = std::min(lightest, D[k * (n + 1)]);
    }
  }
  const double scaled = std::max(force / std::sqrt(lightest_node), moment / std::sqrt(lightest_angle));
  return dt * scaled * std::sqrt(std::min(lightest_node, lightest_angle));
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
