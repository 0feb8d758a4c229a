// m(v), A, incremental potential, gradient and stiffness of a rod (physics/rod.h), by sweeps over edges and
// joints: m and A four joints at a time (physics/rod_lanes.h), gradient and stiffness plainly.
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
//
// Midpoint neither follows nor damps stretch waves that cross an edge within a step, and their errors put
// energy into what swings. Stretch of such rods has a beta of kStretchDamping dt at least: what a step does
// not resolve is then gone after some hundred steps, while at w dt = 0.1, a weight that bounces on its rope,
// the damping ratio is 0.001.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "capstan/math/block_matrix.h"
#include "capstan/math/clones.h"
#include "capstan/physics/rod.h"
#include "capstan/physics/rod_lanes.h"

namespace capstan {
namespace {

using Mat4 = Eigen::Matrix4d;

constexpr double kHeldInertia = 1e12;     // [kg or kg m^2] of dofs that no force moves
constexpr double kMostNegative = 0.9;     // of its share of M, that an element may take away
constexpr double kEdgeShare = 0.25;       // of a node's mass, for each of its two edges
constexpr double kJointShare = 0.5 / 3;   // for each of the three joints that it belongs to
constexpr double kJointAngleShare = 0.5;  // of an edge's inertia, for each of its two joints
constexpr double kStretchDamping = 0.02;  // of a time step: beta of stretch with midpoint
constexpr double kRoundOff = 1e-15;       // of a strain, times |x| / L

// Memory of one thread, for the rod that it is at.
struct Scratch {
  RodEdgeRows edges, before;
  std::vector<double> way, rate, strain, strain_before, rest_strain, rest_length;
  std::vector<RodElement> elements, without_stress;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}
void fit(std::size_t size, std::vector<double>* x) {
  if (x->size() < size) x->resize(size);
}

void add_to(int a, int b, int c, const Vec11& y, Eigen::Ref<VecX> x) {
  x.segment<4>(4 * a) += y.head<4>();
  x.segment<4>(4 * b) += y.segment<4>(4);
  x.segment<3>(4 * c) += y.tail<3>();
}

Eigen::Map<const Mat4> block_of(const std::array<double, 16>& values) {
  return Eigen::Map<const Mat4>(values.data());
}

// Of the element alone, with its share of M, whether it is positive definite.
bool is_positive(const RodElement& H, const Vec11& share) {
  Mat11 sum = Mat11::Zero();
  sum.block<4, 4>(0, 0) = block_of(H.aa);
  sum.block<4, 4>(4, 0) = block_of(H.ba);
  sum.block<3, 4>(8, 0) = block_of(H.ca).topRows<3>();
  sum.block<4, 4>(4, 4) = block_of(H.bb);
  sum.block<3, 4>(8, 4) = block_of(H.cb).topRows<3>();
  sum.block<3, 3>(8, 8) = Eigen::Map<const Eigen::Matrix<double, 4, 3>>(H.cc.data()).topRows<3>();
  sum.diagonal() += kMostNegative * share;
  return Eigen::LLT<Mat11>(sum).info() == Eigen::Success;  // reads what is below the diagonal
}

// Block += B, both of four rows.
template <int Columns>
void add_four(const double* B, double* block) {
  for (int c = 0; c < Columns; ++c)
    *reinterpret_cast<Four*>(block + 4 * c) += *reinterpret_cast<const Four*>(B + 4 * c);
}
// Of any number of rows.
template <int Columns>
void add_rows(const double* B, int rows, double* block) {
  for (int c = 0; c < Columns; ++c) {
    for (int r = 0; r < rows; ++r) block[r + rows * c] += B[r + 4 * c];
  }
}
// The block of a pair (i, j), which is that below the diagonal, += B, which is (i, j).
void add_pair(const std::array<double, 16>& B, int pair, int i, int j, BlockMatrix* A) {
  double* const block = A->pair_block(pair);
  const int rows = A->block_size(std::max(i, j));
  if (i > j && rows == 4) {
    add_four<4>(B.data(), block);
  } else if (i > j) {
    add_rows<4>(B.data(), rows, block);
  } else {  // around the end of a ring, where all have four
    Eigen::Map<Mat4> sum(block);
    sum += block_of(B).transpose();
  }
}

// Takes away what acts on held dofs: `open` has 0 for these, else 1.
void hold(const std::array<double, 12>& open, RodElement* H) {
  const double *a = open.data(), *b = a + 4, *c = a + 8;
  for (int k = 0; k < 12; ++k) H->push[k] *= open[k];
  const auto scale = [](const double* rows, const double* columns, int n, double* B) {
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 4; ++r) B[r + 4 * k] *= rows[r] * columns[k];
    }
  };
  scale(a, a, 4, H->aa.data());
  scale(b, a, 4, H->ba.data());
  scale(c, a, 4, H->ca.data());
  scale(b, b, 4, H->bb.data());
  scale(c, b, 4, H->cb.data());
  scale(c, c, 3, H->cc.data());
}

}  // namespace

// Edges where the forces of a step are taken, q^theta1, when it ends with v; with strains of joints. And, for
// damping, where they were.
void Rod::place_in_step(const ObjectStep& step, const ConstVector& v, bool damps) const {
  Scratch& s = scratch();
  const int n = num_dofs(), edges = num_edges(), joints = num_joints();
  const double now = step.theta1 * step.dt * step.theta_vq,
               before = step.theta1 * step.dt * (1 - step.theta_vq);
  fit(n + 1, &s.way);
  for (int k = 0; k < n; ++k) s.way[k] = now * v[k] + before * step.v0[k];
  s.way[n] = 0;
  const RodEdgeSource source = {
      edges, num_nodes_, spec_.closed, step.q0.data(), step.q0.data() + director_begin(), s.way.data()};
  make_edges(source, &s.edges);
  fit(3 * s.edges.stride, &s.strain);
  const double* const beta = step.q0.data() + twist_begin();
  calc_joint_strains(s.edges, joints, beta, false, s.strain.data());
  if (!damps) return;
  RodEdgeSource at_rest = source;
  at_rest.way = nullptr;
  make_edges(at_rest, &s.before);
  fit(3 * s.before.stride, &s.strain_before);
  calc_joint_strains(s.before, joints, beta, true, s.strain_before.data());
}

double Rod::stretch_damping(const ObjectStep& step) const {
  const double h = step.theta1 * step.dt;
  if (h == 0) return 0;
  if (step.theta_vq == 1) return spec_.beta / h;
  const double edges_in_a_step = step.dt * wave_speed() / rest_length_[0],
               x = edges_in_a_step * edges_in_a_step;
  return std::max(spec_.beta, kStretchDamping * step.dt * x / (1 + x)) / h;
}

void Rod::add_stretch(const ObjectStep& step, int i, Tangent tangent, Vector m, BlockMatrix* A,
                      double* largest) const {
  const Scratch& s = scratch();
  const double dt = step.dt, h = step.theta1 * dt, EA = spec_.young_modulus * section_.area;
  const double damping = stretch_damping(step), per_q = h * step.theta_vq * dt;
  const int a = i, b = after(i);
  const double L = length_factor(step.q0) * rest_length_[i], length = s.edges.row(RodEdgeRows::kLength)[i];
  const Vec3 t = s.edges.vector(RodEdgeRows::kTangent, i);
  double stretch = length / L - 1;
  if (damping > 0) {
    stretch += damping * (length - s.before.row(RodEdgeRows::kLength)[i]) / L;
  } else if (spec_.beta > 0) {
    stretch += spec_.beta * t.dot(node(step.v0, b) - node(step.v0, a)) / L;
  }
  const double N = EA * stretch;
  const auto open = [&](int k) { return Vec3(free(4 * k), free(4 * k + 1), free(4 * k + 2)); };
  const Vec3 open_a = open(a), open_b = open(b);
  m.segment<3>(4 * a) -= dt * N * t.cwiseProduct(open_a);
  m.segment<3>(4 * b) += dt * N * t.cwiseProduct(open_b);
  *largest = std::max(*largest, std::abs(N));
  if (A == nullptr || per_q == 0) return;
  const double along = per_q * (1 + damping) * EA / L;
  double across = per_q * N / length;
  if (tangent == Tangent::convex) {
    const double share = kEdgeShare * std::min(inertia_[4 * a], inertia_[4 * b]);
    across = std::max(across, -0.5 * kMostNegative * share);
  }
  Mat4 G = Mat4::Zero();
  G.topLeftCorner<3, 3>() = (along - across) * t * t.transpose();
  for (int k = 0; k < 3; ++k) G(k, k) += across;
  const Vec4 rows_a = {open_a.x(), open_a.y(), open_a.z(), 0},
             rows_b = {open_b.x(), open_b.y(), open_b.z(), 0};
  const Mat4 aa = rows_a.asDiagonal() * G * rows_a.asDiagonal(),
             bb = rows_b.asDiagonal() * G * rows_b.asDiagonal();
  add_rows<3>(aa.data(), A->block_size(a), A->block(a, a));
  add_rows<3>(bb.data(), A->block_size(b), A->block(b, b));
  std::array<double, 16> ba;
  Eigen::Map<Mat4>(ba.data()) = -(rows_b.asDiagonal() * G * rows_a.asDiagonal());
  add_pair(ba, edge_pair_[i], b, a, A);
}

void Rod::add_element(int j, double dt, RodElement* H, Vector m, BlockMatrix* A) const {
  const int a = j, b = after(a), c = after(b);
  if (has_held_) {
    std::array<double, 12> open = {};
    for (int k = 0; k < 11; ++k) open[k] = free(k < 4 ? 4 * a + k : k < 8 ? 4 * b + k - 4 : 4 * c + k - 8);
    if (*std::min_element(open.begin(), open.begin() + 11) == 0) hold(open, H);
  }
  const double* const push = H->push.data();
  for (int k = 0; k < 4; ++k) {
    m[4 * a + k] += dt * push[k];
    m[4 * b + k] += dt * push[4 + k];
  }
  for (int k = 0; k < 3; ++k) m[4 * c + k] += dt * push[8 + k];
  if (A == nullptr) return;
  add_four<4>(H->aa.data(), A->block(a, a));
  add_four<4>(H->bb.data(), A->block(b, b));
  if (A->block_size(c) == 4) {
    add_four<3>(H->cc.data(), A->block(c, c));
  } else {
    add_rows<3>(H->cc.data(), 3, A->block(c, c));
  }
  add_pair(H->ba, edge_pair_[a], b, a, A);
  add_pair(H->ca, joint_pair_[a], c, a, A);
  add_pair(H->cb, edge_pair_[b], c, b, A);
}

ImpulseSize Rod::calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                             BlockMatrix* A) const {
  const double dt = step.dt, h = step.theta1 * dt, EA = spec_.young_modulus * section_.area;
  const double damping = h > 0 ? spec_.beta / h : 0;               // of k, on the change of strain
  const double per_q = A != nullptr ? h * step.theta_vq * dt : 0;  // of K in A
  const std::span<const Vec3> swing = calc_swing(step);
  const SpinKeeper keeper = keep_spin(step, swing);
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
    if (keeper.is_on()) m.segment<3>(4 * i) -= inertia_[4 * i] * keeper.change(masses().arm(step, i));
    farthest = std::max(farthest, node(step.q0, i).cwiseAbs().maxCoeff());
    force = std::max(force, inertia_[4 * i] * step.gravity.norm());
  }
  for (int i = 0; i < static_cast<int>(swing.size()); ++i) {
    if (is_free(i)) m.segment<3>(4 * i) += dt * swing[i];
    if (is_free(after(i))) m.segment<3>(4 * after(i)) -= dt * swing[i];
    force = std::max(force, swing[i].norm());
  }

  const int edges = num_edges(), joints = num_joints();
  const double of_stretch = stretch_damping(step);
  const bool damps = spec_.beta > 0, is_convex = tangent == Tangent::convex && per_q > 0;
  place_in_step(step, v, of_stretch > 0);
  Scratch& s = scratch();
  fit(edges + 1, &s.rest_length);
  const double factor = length_factor(step.q0);
  for (int i = 0; i <= edges; ++i) s.rest_length[i] = factor * rest_length_[i < edges ? i : 0];
  if (static_cast<int>(s.elements.size()) < joints) s.elements.resize(joints);
  RodElementSource source;
  source.joints = joints;
  source.strain = s.strain.data();
  source.rest_strain = joints > 0 ? rest_strain_[0].data() : nullptr;
  if (natural_factor(step.q0) != 1) {
    fit(3 * joints, &s.rest_strain);
    for (int j = 0; j < joints; ++j) Eigen::Map<Vec3>(&s.rest_strain[3 * j]) = natural_strain(step.q0, j);
    source.rest_strain = s.rest_strain.data();
  }
  source.rest_length = s.rest_length.data();
  source.EA = EA;
  source.EI_1 = spec_.young_modulus * section_.second_moment[0];
  source.EI_2 = spec_.young_modulus * section_.second_moment[1];
  source.GJ = shear_modulus_ * section_.torsion;
  if (damps && h > 0) {
    source.damping = damping;
    source.strain_before = s.strain_before.data();
  } else if (damps) {
    source.damping = spec_.beta;
    fit(4 * (num_nodes_ + 2), &s.rate);
    std::copy_n(step.v0.data(), num_dofs(), s.rate.begin());
    std::copy_n(step.v0.data(), std::min(8, num_dofs()), s.rate.begin() + num_dofs());
    source.rate = s.rate.data();
  }
  if (of_stretch > 0) {
    source.stretch_damping = of_stretch;
    source.length_before = s.before.row(RodEdgeRows::kLength);
  }
  source.per_q = per_q;
  source.has_stretch = !is_convex;
  RodLargest largest;
  calc_elements(s.edges, source, s.elements.data(), &largest);
  if (is_convex) {
    if (static_cast<int>(s.without_stress.size()) < joints) s.without_stress.resize(joints);
    source.has_stress = false;
    calc_elements(s.edges, source, s.without_stress.data(), &largest);
    for (int j = 0; j < joints; ++j) {
      const int a = j, b = after(a), c = after(b);
      Vec11 share;
      share << kJointShare * inertia_.segment<4>(4 * a), kJointShare * inertia_.segment<4>(4 * b),
          kJointShare * inertia_.segment<3>(4 * c);
      share[3] = kJointAngleShare * inertia_[4 * a + 3];
      share[7] = kJointAngleShare * inertia_[4 * b + 3];
      if (!is_positive(s.elements[j], share)) s.elements[j] = s.without_stress[j];
    }
  }
  for (int j = 0; j < joints; ++j) add_element(j, dt, &s.elements[j], m, per_q > 0 ? A : nullptr);
  for (int i = is_convex ? 0 : joints; i < edges; ++i) add_stretch(step, i, tangent, m, A, &force);
  if (A == nullptr) return {};
  force = std::max(force, largest.force);
  moment = std::max(moment, largest.moment);
  double shortest = largest.shortest, shortest_at_rest = kInfinity;
  for (int i = 0; i < edges; ++i) shortest_at_rest = std::min(shortest_at_rest, s.rest_length[i]);
  double stretch_round_off = kRoundOff * EA * (1 + of_stretch) * farthest / shortest_at_rest;    // [N]
  const double bend_round_off = kRoundOff * farthest / shortest * largest.bend * (1 + damping);  // [N m]
  stretch_round_off = std::max(stretch_round_off, bend_round_off / shortest);
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
  const double damping = h > 0 ? spec_.beta / h : 0, of_stretch = stretch_damping(step);
  double sum = 0, strain_energy = 0;
  for (int k = 0; k < num_dofs(); ++k) {
    if (held_[k]) continue;
    const double dv = v[k] - step.v0[k], M = inertia_[k];
    double force = step.force[k] - spec_.alpha * M * step.v0[k];
    if (k % 4 < 3) force += M * step.gravity[k % 4];
    sum += 0.5 * (1 + spec_.alpha * h) * M * dv * dv - dt * force * dv;
  }
  const std::span<const Vec3> swing = calc_swing(step);
  for (int i = 0; i < static_cast<int>(swing.size()); ++i) {
    const auto change = [&](int k) {
      return is_free(k) ? Vec3(node(v, k) - node(step.v0, k)) : Vec3::Zero();
    };
    sum -= dt * swing[i].dot(change(after(i)) - change(i));
  }
  if (const SpinKeeper keeper = keep_spin(step, swing); keeper.is_on()) {
    for (int i = 0; i < num_nodes_; ++i) {
      const Vec3 dv = node(v, i) - node(step.v0, i);
      sum -= inertia_[4 * i] * dv.dot(keeper.change(masses().arm(step, i)));
    }
  }
  if (h * step.theta_vq == 0) return sum;
  place_in_step(step, v, of_stretch > 0);
  const Scratch& scratched = scratch();
  const auto add = [&](double k, double s, double s_rest, double damped, double s_0) {
    strain_energy += 0.5 * k * ((s - s_rest) * (s - s_rest) + damped * (s - s_0) * (s - s_0));
  };
  const double *length = scratched.edges.row(RodEdgeRows::kLength),
               *length_before = of_stretch > 0 ? scratched.before.row(RodEdgeRows::kLength) : length;
  for (int i = 0; i < num_edges(); ++i) {
    const double L = length_factor(step.q0) * rest_length_[i];
    add(EA / L, length[i], L, of_stretch, length_before[i]);
  }
  const double *strain = scratched.strain.data(),
               *strain_before = damping > 0 ? scratched.strain_before.data() : strain;
  for (int j = 0; j < num_joints(); ++j) {
    const Vec3 k = stiffness(step.q0, j), rest = natural_strain(step.q0, j);
    for (int r = 0; r < 3; ++r) {
      const int at = r * scratched.edges.stride + j;
      add(k[r], strain[at], rest[r], damping, strain_before[at]);
    }
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
    const Vec3 s = calc_joint_strain(e, f, reference_twist(q, j)) - natural_strain(q, j);
    const Vec11 push = calc_joint_gradient(e, f) * stiffness(q, j).cwiseProduct(s);
    add_to(j, after(j), after(after(j)), push, gradient);
  }
}

MatX Rod::calc_stiffness(const ConstVector& q) const {
  MatX K = MatX::Zero(num_dofs(), num_dofs());
  const double EA = spec_.young_modulus * section_.area;
  for (int i = 0; i < num_edges(); ++i) {
    const RodEdge e = edge(q, i);
    const Mat3 tt = e.tangent * e.tangent.transpose();
    const Mat3 G =
        EA / (length_factor(q) * rest_length_[i]) * tt + tension(q, i) / e.length * (Mat3::Identity() - tt);
    const int a = 4 * i, b = 4 * after(i);
    K.block<3, 3>(a, a) += G;
    K.block<3, 3>(b, b) += G;
    K.block<3, 3>(a, b) -= G;
    K.block<3, 3>(b, a) -= G;
  }
  for (int j = 0; j < num_joints(); ++j) {
    const RodEdge e = edge(q, j), f = edge(q, after(j));
    const Vec3 k = stiffness(q, j), s = calc_joint_strain(e, f, reference_twist(q, j)) - natural_strain(q, j);
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
