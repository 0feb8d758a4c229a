// What the step would take from a rope that swings, given back (physics/rod.h), with integrator
// semi_implicit.
//
// Forces at the end of a step damp all that vibrates at w by w^2 dt / 2: stretch waves, which no step of
// milliseconds follows, and a pendulum of 1 m, which loses a third of its swing in 20 s at 5 ms. What swings
// is carried by the direction of the tension T. With u = P (v_b - v_a) / |e| the rate at which an edge turns
// (P takes the part across it), the step has on each edge
//
//   T t(q1) = T t(q0) + T dt u,
//
// the second of which is the damping. Given back is what u was before the step,
//
//   F = sqrt(T0) S sqrt(T0) dt u0,
//
// a force known before the step, -F on the node where the edge begins, F on the other one. Where S is 1, a
// wave then has the balance (M + dt^2 K) (v - v0) = -dt K q0, whose steps multiply to the determinant 1: it
// keeps its energy at any dt. S = (1 + D)^-1 lets only what turns slowly pass: D is the graph Laplacian of
// the edges with the weights x / kFastest at joints, x = T0 dt^2 / (M |e|). So a mode gets
// back w^2 dt^2 / (1 + w^2 dt^2 / kFastest) of its momentum at most: all of what a step resolves, little of
// the rest, and a rope whose tension ends within a step gains no more than that. A rope that turns as a whole
// passes. As S <= 1, what is given back is never more than what T0 would take: where tension stays, a step
// gains no energy.
//
// Limits: a rod of which an edge turns by more than 0.2 rad in a step, as the end of a whip, has its tension
// elsewhere at the end of it, and gets nothing back, less and less from 0.1 rad on. Pressure gets nothing
// back, nor does bending or twist. T0 is the lesser of the tensions at the beginning and where the rod would
// be without forces. S does not look across the last joint of a ring.
#include <algorithm>
#include <cmath>

#include "capstan/physics/rod.h"

namespace capstan {
namespace {

constexpr double kFastest = 0.25;  // (w dt)^2 of a mode that gets back half of what it loses
constexpr double kGivenBack = 0.995;
constexpr double kSlowTurn = 0.1, kFastTurn = 0.2;  // [rad] in a step of the edge that turns most

struct SwingScratch {
  std::vector<double> root, pivot;  // [edges] sqrt(T0); of the tridiagonal factor
  std::vector<Vec3> force;          // [edges]
};
SwingScratch& swing_scratch() {
  thread_local SwingScratch s;
  return s;
}

}  // namespace

std::span<const Vec3> Rod::calc_swing(const ObjectStep& step) const {
  if (!(step.theta == 0 && step.theta_vq == 1 && step.theta1 == 1)) return {};
  SwingScratch& s = swing_scratch();
  const int n = num_edges();
  if (static_cast<int>(s.force.size()) < n) {
    s.force.resize(n);
    s.root.resize(n);
    s.pivot.resize(n);
  }
  const double dt = step.dt, EA = spec_.young_modulus * section_.area, factor = length_factor(step.q0);
  bool any = false;
  double most = 0;
  for (int i = 0; i < n; ++i) {
    const int k = after(i);
    const Vec3 e = node(step.q0, k) - node(step.q0, i), way = dt * (node(step.v0, k) - node(step.v0, i));
    const double square = e.squaredNorm(), length = std::sqrt(square), L = factor * rest_length_[i];
    const double T = EA * (std::min(length, Vec3(e + way).norm()) / L - 1);
    s.root[i] = T > 0 ? std::sqrt(T) : 0;
    const Vec3 turn = (way - way.dot(e) / square * e) / length;
    s.force[i] = s.root[i] * turn;
    most = std::max(most, turn.norm());
    any = any || (T > 0 && !turn.isZero(0));
  }
  if (!any || !(most < kFastTurn)) return {};
  const double share = kGivenBack * std::min(1.0, (kFastTurn - most) / (kFastTurn - kSlowTurn));
  // (1 + D) y = sqrt(T0) dt u, by elimination from the first edge on.
  const auto weight = [&](int i) {  // of the joint between edges i and i + 1
    const double T = s.root[i] * s.root[i + 1];
    return T * dt * dt / (kFastest * inertia_[4 * (i + 1)] * factor * rest_length_[i]);
  };
  double before = 0;
  for (int i = 0; i < n; ++i) {
    const double next = i + 1 < n ? weight(i) : 0;
    s.pivot[i] = 1 + before + next;
    if (i > 0) {
      s.pivot[i] -= before * before / s.pivot[i - 1];
      s.force[i] += before / s.pivot[i - 1] * s.force[i - 1];
    }
    before = next;
  }
  for (int i = n - 1; i >= 0; --i) {
    if (i + 1 < n) s.force[i] += weight(i) * s.force[i + 1];
    s.force[i] /= s.pivot[i];
  }
  for (int i = 0; i < n; ++i) {
    const Vec3 e = node(step.q0, after(i)) - node(step.q0, i);
    s.force[i] = share * s.root[i] * Vec3(s.force[i] - s.force[i].dot(e) / e.squaredNorm() * e);
  }
  return {s.force.data(), static_cast<std::size_t>(n)};
}

// S of a rod that turns by the same angle from edge to edge, which its Laplacian has as an eigenvalue.
double Rod::calc_turned_share(const ConstVector& q, const ConstVector& v, int i, double dt) const {
  if (i == 0 || i + 1 >= num_edges()) return 1;
  const Vec3 e = node(q, after(i)) - node(q, i), way = dt * (node(v, after(i)) - node(v, i));
  const double L = length_factor(q) * rest_length_[i];
  const double T = spec_.young_modulus * section_.area * (std::min(e.norm(), Vec3(e + way).norm()) / L - 1);
  if (!(T > 0)) return 1;
  const auto direction = [&](int k) { return Vec3(node(q, after(k)) - node(q, k)).normalized(); };
  const double angle = 0.5 * (direction(i + 1) - direction(i - 1)).norm();
  return 1 - kGivenBack / (1 + T * dt * dt / (inertia_[4 * i] * L) * angle * angle / kFastest);
}

}  // namespace capstan
