// Plain statics of rods for tests: equilibria by a dense Newton method, modes by dense eigenvalues.
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <vector>

#include "capstan/physics/rod.h"

namespace capstan::test {

inline VecX initial(const Rod& rod) {
  VecX q(rod.layout().num_positions), v(rod.num_dofs());
  rod.set_initial(q, v);
  return q;
}

// Along x from the origin; the first edge is clamped. A beam of `length` from the middle of that edge on.
inline RodSpec cantilever(int edges, double length) {
  RodSpec spec;
  const double h = length / (edges - 0.5);
  for (int i = 0; i <= edges; ++i) spec.nodes.push_back({(i - 0.5) * h, 0, 0});
  spec.director = Vec3(0, 0, 1);
  spec.section = {RodSectionType::circle, 0.01, 0, TorsionConstant::exact};
  spec.young_modulus = 1e7;
  spec.poisson_ratio = 0.3;
  spec.density = 1000;
  spec.clamped_edges = {0};
  return spec;
}

inline VecX moved(const Rod& rod, const VecX& q, const VecX& v, double dt) {
  VecX q1(q.size());
  rod.move(q, v, dt, q1);
  return q1;
}
inline VecX gradient(const Rod& rod, const VecX& q) {
  VecX g(rod.num_dofs());
  rod.calc_gradient(q, g);
  return g;
}

// Where the dead load and the rod are in equilibrium, by Newton's method from q.
inline VecX settle(const Rod& rod, VecX q, const VecX& force) {
  for (int k = 0; k < 60; ++k) {
    VecX residual = force - gradient(rod, q);
    MatX K = rod.calc_stiffness(q);
    for (int i = 0; i < rod.num_dofs(); ++i) {
      if (!rod.is_held(i)) continue;
      residual[i] = 0;
      K.row(i).setZero();
      K.col(i).setZero();
      K(i, i) = 1;
    }
    const VecX dq = K.ldlt().solve(residual);
    q = moved(rod, q, dq, 1);
    if (dq.cwiseAbs().maxCoeff() < 1e-9) return q;  // the error after it: its square
  }
  ADD_FAILURE() << "no equilibrium found";
  return q;
}

// Of the dofs that are not held, ascending; by_mass: the squares of frequencies [rad^2/s^2].
inline VecX eigenvalues_of(const Rod& rod, const VecX& q, bool by_mass) {
  const MatX K = rod.calc_stiffness(q);
  std::vector<int> free;
  for (int i = 0; i < rod.num_dofs(); ++i) {
    if (!rod.is_held(i)) free.push_back(i);
  }
  MatX own(free.size(), free.size());
  for (int i = 0; i < own.rows(); ++i) {
    for (int j = 0; j < own.cols(); ++j) {
      const double scale = by_mass ? std::sqrt(rod.inertia()[free[i]] * rod.inertia()[free[j]]) : 1;
      own(i, j) = K(free[i], free[j]) / scale;
    }
  }
  return Eigen::SelfAdjointEigenSolver<MatX>(own, Eigen::EigenvaluesOnly).eigenvalues();
}

}  // namespace capstan::test
