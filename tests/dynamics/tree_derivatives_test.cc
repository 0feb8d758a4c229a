#include "capstan/dynamics/tree_derivatives.h"

#include <gtest/gtest.h>

#include "tests/support/random_scene.h"

namespace capstan::tree_derivatives_test {
namespace {

// Against central differences of inverse dynamics, on random trees with every joint type.
TEST(TreeDerivatives, MatchFiniteDifferencesOfInverseDynamics) {
  test::Random random(11);
  for (int trial = 0; trial < 40; ++trial) {
    const Model model = compile(test::random_scene(random, 1 + trial % 8));
    const int n = model.num_velocities();
    if (n == 0) continue;
    const State s = test::random_state(random, model, 3);
    VecX a(n);
    for (double& x : a) x = test::uniform(random, -5, 5);
    Placement placement = make_placement(model);
    Velocity velocity = make_velocity(model);
    TreeWorkspace workspace = make_tree_workspace(model);
    const auto inverse_dynamics = [&](const VecX& q, const VecX& v) {
      VecX tau(n);
      calc_placement(model, q, &placement);
      calc_velocity(model, placement, v, &velocity);
      calc_inverse_dynamics(model, placement, velocity, &a, &workspace, &tau);
      return tau;
    };
    const double h = 1e-5;
    MatX numeric_q(n, n), numeric_v(n, n);
    for (int k = 0; k < n; ++k) {
      VecX plus = s.q, minus = s.q;
      move(model, s.q, VecX::Unit(n, k), h, &plus);
      move(model, s.q, VecX::Unit(n, k), -h, &minus);
      numeric_q.col(k) = (inverse_dynamics(plus, s.v) - inverse_dynamics(minus, s.v)) / (2 * h);
      numeric_v.col(k) = (inverse_dynamics(s.q, s.v + h * VecX::Unit(n, k)) -
                          inverse_dynamics(s.q, s.v - h * VecX::Unit(n, k))) /
                         (2 * h);
    }
    const VecX tau = inverse_dynamics(s.q, s.v);
    DerivativesWorkspace derivatives = make_derivatives_workspace(model);
    calc_derivative_terms(model, placement, velocity, s.v, a, &derivatives);
    MatX analytic_q = MatX::Zero(n, n), analytic_v = MatX::Zero(n, n);
    for (std::size_t t = 0; t < model.trees.size(); ++t) {
      const Tree& tree = model.trees[t];
      const int b = tree.dof_begin, m = tree.num_dofs();
      MatX block = MatX::Zero(m, m);
      add_derivatives(model, placement, velocity, derivatives, static_cast<int>(t), 1, 0, block);
      analytic_q.block(b, b, m, m) = block;
      block.setZero();
      add_derivatives(model, placement, velocity, derivatives, static_cast<int>(t), 0, 1, block);
      analytic_v.block(b, b, m, m) = block;
    }
    const double scale = 1 + tau.cwiseAbs().maxCoeff();
    EXPECT_LT((analytic_q - numeric_q).cwiseAbs().maxCoeff(), 1e-7 * scale) << "trial " << trial;
    EXPECT_LT((analytic_v - numeric_v).cwiseAbs().maxCoeff(), 1e-7 * scale) << "trial " << trial;
  }
}

}  // namespace
}  // namespace capstan::tree_derivatives_test
