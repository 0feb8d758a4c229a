// The theta-method on one batch: Newton's method on m(v) = 0 (free_motion.h tells what m and A are).
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/dynamics/center_momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

using Scratch = Motion::Scratch;

// Springs so slow that (w dt)^2 = dt^2 k / m is below the first keep their energy; those above the second are
// implicit, which damps them.
constexpr double kSlowSpring = 4, kFastSpring = 16;

}  // namespace

SpringRule find_spring_rule(const Motion::Scratch& scratch, const Scheme& scheme, const Model& model, int k,
                            double dt) {
  if (!is_staggered(scheme) || scheme.theta1 != 1) return {};
  const double x = dt * dt * model.dofs[k].stiffness / scratch.spring_mass[k];
  const double implicit = std::clamp((x - kSlowSpring) / (kFastSpring - kSlowSpring), 0.0, 1.0);
  return {implicit + (1 - implicit) / 4, (1 - implicit) / 4};
}

namespace {

// k_1 at (q^theta1, v^theta1) into s.tau, with its gradient.
void calc_joint_forces(const Model& model, const MotionBatch& b, const State& state, double dt,
                       const Scheme& scheme, const VecX& v, Scratch& s, bool again = false) {
  if (!b.has_forces) return;
  b.of(s.v_vq) = scheme.theta_vq * b.of(v) + (1 - scheme.theta_vq) * b.of(state.v);
  b.of(s.v) = scheme.theta1 * b.of(v) + (1 - scheme.theta1) * b.of(state.v);
  move(model, state.q, s.v_vq, scheme.theta1 * dt, &s.q, b.stage_begin, b.stage_end);
  calc_forces(model, b.forces, s.q, s.v, state.control, &s.tau, &s.gradient, again);
  for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k) {
    const double stiffness = model.dofs[k].stiffness;
    if (stiffness == 0) continue;
    const SpringRule rule = find_spring_rule(s, scheme, model, k, dt);
    s.tau[k] += stiffness * dt * ((1 - rule.of_v) * v[k] + rule.of_v0 * state.v[k]);
    s.gradient.stiffness[k] *= rule.of_v;
  }
}

// f(term) for each tendon and actuator of a batch whose gradient is in A.
template <class F>
void each_term(const ForceGradient& gradient, const ForceRange& range, const F& f) {
  for (const int i : range.tendons) f(gradient.terms[i]);
  for (const int i : range.actuators) f(gradient.terms[gradient.first_actuator + i]);
}

// A of equation 15 from M at q^theta and the gradient of k_1, for the dofs [begin, end) of whole trees.
void assemble_system(const Model& model, const MotionBatch& b, int begin, int end, double dt,
                     const Scheme& scheme, const Scratch& s, VecX* A) {
  const double kk = dt * dt * scheme.theta1 * scheme.theta_vq, dd = dt * scheme.theta1;
  const BranchPattern& pattern = model.system_pattern;
  const int begin_of_A = pattern.row_start[begin], size = pattern.row_start[end] - begin_of_A;
  const int begin_of_M = model.pattern.row_start[begin], end_of_M = model.pattern.row_start[end];
  if (end_of_M - begin_of_M == size) {  // the same pattern
    A->segment(begin_of_A, size) = s.M.segment(begin_of_M, size);
  } else {
    A->segment(begin_of_A, size).setZero();
    for (int i = begin_of_M; i < end_of_M; ++i) (*A)[model.mass_in_system[i]] = s.M[i];
  }
  if (dd == 0) return;
  for (int k = begin; k < end; ++k) {
    (*A)[pattern.row_start[k + 1] - 1] += kk * s.gradient.stiffness[k] + dd * s.gradient.damping[k];
  }
  each_term(s.gradient, b.forces, [&](const ForceGradient::Term& term) {
    const double c = kk * term.stiffness + dd * term.damping;
    const int first = term.transmission->terms.front().dof;
    if (c == 0 || first < begin || first >= end) return;
    const auto is_cut = [&](int dof) { return term.is_actuator && s.gradient.saturated[dof]; };
    for (const auto& i : term.transmission->terms) {
      if (is_cut(i.dof)) continue;
      for (const auto& j : term.transmission->terms) {
        if (j.dof > i.dof || is_cut(j.dof)) continue;
        for (int at = pattern.row_start[i.dof]; at < pattern.row_start[i.dof + 1]; ++at) {
          if (pattern.columns[at] == j.dof) (*A)[at] += c * i.coefficient * j.coefficient;
        }
      }
    }
  });
}

// Where v leads with an implicit scheme: dt times what accelerates the tree, in the scratch memory `inverse`.
void calc_inertia(const Model& model, const MotionBatch& b, const State& state, double dt,
                  const Scheme& scheme, const VecX& v, Scratch& s) {
  b.of(s.v_vq) = scheme.theta_vq * b.of(v) + (1 - scheme.theta_vq) * b.of(state.v);
  b.of(s.v) = scheme.theta * b.of(v) + (1 - scheme.theta) * b.of(state.v);
  b.of(s.a) = (b.of(v) - b.of(state.v)) / dt;
  move(model, state.q, s.v_vq, scheme.theta * dt, &s.q, b.stage_begin, b.stage_end);
  calc_placement(model, s.q, &s.placement, b.link_begin, b.link_end);
  calc_velocity(model, s.placement, s.v, &s.velocity, b.link_begin, b.link_end);
  calc_inverse_dynamics(model, s.placement, s.velocity, &s.a, &s.tree, &s.inverse, b.link_begin, b.link_end);
}

// m(v), with M, velocities and k_1 left in the scratch memory.
void calc_residual(const Model& model, const MotionBatch& b, const State& state, double dt,
                   const Scheme& scheme, const VecX& v, Scratch& s, VecX* m) {
  if (scheme.theta > 0) {
    calc_inertia(model, b, state, dt, scheme, v, s);
    b.of(*m) = dt * b.of(s.inverse);
    if (b.has_paths) take_paths(model, b.forces, s.placement, s.q, &s.gradient);
  } else {  // s.M and s.inverse (the bias forces) are those of q0, v0
    b.of(s.dv) = b.of(v) - b.of(state.v);
    b.of(*m) = dt * b.of(s.inverse);
    if (!b.of(s.dv).isZero(0)) {
      multiply(model.pattern, s.M.data(), s.dv.data(), s.M_dv.data(), b.forces.dof_begin, b.forces.dof_end);
      b.of(*m) += b.of(s.M_dv);
    }
  }
  calc_joint_forces(model, b, state, dt, scheme, v, s);
  b.of(*m) -= dt * (b.of(s.tau) + b.of(s.external));
}

// Size of m, each component in units of its own momentum: sqrt(sum m_k^2 / M_kk).
double scaled_norm(const Model& model, const MotionBatch& b, const VecX& M, const VecX& m) {
  double sum = 0;
  for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k)
    sum += m[k] * m[k] / M[model.pattern.row_start[k + 1] - 1];
  return std::sqrt(sum);
}

// What |m| is judged against: the momentum there is, what each kind of force brings in the step, and the
// weight (so that forces which balance, or a pendulum that hangs still, do not make the scale vanish).
double momentum_scale(const Model& model, const MotionBatch& b, const State& state, double dt, Scratch& s) {
  multiply(model.pattern, s.M.data(), state.v.data(), s.m_trial.data(), b.forces.dof_begin, b.forces.dof_end);
  return scaled_norm(model, b, s.M, s.m_trial) +
         dt * (scaled_norm(model, b, s.M, s.inverse) + scaled_norm(model, b, s.M, s.gradient.magnitude)) +
         dt * model.options.gravity.norm() * std::sqrt(b.mass);
}

// One Newton direction for the implicit schemes: the exact Jacobian of m at v, tree by tree.
void calc_implicit_direction(const Model& model, const MotionBatch& b, const State& state, double dt,
                             const Scheme& scheme, const VecX& v, Scratch& s, const VecX& m, VecX* dv) {
  b.of(s.v) = scheme.theta * b.of(v) + (1 - scheme.theta) * b.of(state.v);
  b.of(s.a) = (b.of(v) - b.of(state.v)) / dt;
  calc_derivative_terms(model, s.placement, s.velocity, s.v, s.a, &s.derivatives, b.link_begin, b.link_end);
  const double kk = dt * dt * scheme.theta * scheme.theta_vq, dd = dt * scheme.theta;
  b.of(s.v_vq) = scheme.theta_vq * b.of(v) + (1 - scheme.theta_vq) * b.of(state.v);
  for (int t = b.tree_begin; t < b.tree_end; ++t) {
    const Tree& tree = model.trees[t];
    const int base = tree.dof_begin, n = tree.num_dofs();
    MatX& J = s.jacobian[t];
    // Columns of dq^theta/dv: theta dt theta_vq, times the left Jacobian of exp on quaternions.
    J.setZero();
    add_derivatives(model, s.placement, s.velocity, s.derivatives, t, kk, 0, J);
    for (int l = tree.link_begin; l < tree.link_end; ++l) {
      for (int g = model.links[l].stage_begin; g < model.links[l].stage_end; ++g) {
        const Stage& stage = model.stages[g];
        if (stage.type != StageType::ball && stage.type != StageType::free) continue;
        const int iv = stage.type == StageType::ball ? stage.v : stage.v + 3;
        const Mat3 T = left_jacobian(scheme.theta * dt * s.v_vq.segment<3>(iv));
        for (int i = 0; i < n; ++i) {
          const Eigen::RowVector3d row = J.block<1, 3>(i, iv - base) * T;
          J.block<1, 3>(i, iv - base) = row;
        }
      }
    }
    add_derivatives(model, s.placement, s.velocity, s.derivatives, t, 0, dd, J);
    for (int k = base; k < tree.dof_end; ++k) {
      const int begin = model.pattern.row_start[k], end = model.pattern.row_start[k + 1];
      for (int i = begin; i < end - 1; ++i) {
        const int c = model.pattern.columns[i] - base;
        J(k - base, c) += s.M[i];
        J(c, k - base) += s.M[i];
      }
      J(k - base, k - base) += s.M[end - 1] + kk * s.gradient.stiffness[k] + dd * s.gradient.damping[k];
    }
  }
  each_term(s.gradient, b.forces, [&](const ForceGradient::Term& term) {
    const double c = kk * term.stiffness + dd * term.damping;
    if (c == 0) return;
    const int t = term.transmission->tree, base = model.trees[t].dof_begin;
    for (const auto& i : term.transmission->terms) {
      if (term.is_actuator && s.gradient.saturated[i.dof]) continue;
      for (const auto& j : term.transmission->terms) {
        s.jacobian[t](i.dof - base, j.dof - base) += c * i.coefficient * j.coefficient;
      }
    }
  });
  for (int t = b.tree_begin; t < b.tree_end; ++t) {
    const Tree& tree = model.trees[t];
    s.lu[t].compute(s.jacobian[t]);
    dv->segment(tree.dof_begin, tree.num_dofs()) = s.lu[t].solve(m.segment(tree.dof_begin, tree.num_dofs()));
  }
  b.of(*dv) *= -1;
}

// A stays positive definite for every finite state; where it is not, NaN in v* tells.
void factor_system(const Model& model, int begin, int end, Motion* motion) {
  const BranchPattern& pattern = model.system_pattern;
  const int first = pattern.row_start[begin], size = pattern.row_start[end] - first;
  motion->A_factor.segment(first, size) = motion->A.segment(first, size);
  if (factor(pattern, motion->A_factor.data(), 0, begin, end) >= 0) {
    motion->A_factor.segment(first, size).setConstant(std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

void make_system(const Model& model, const MotionBatch& b, int begin, int end, double dt,
                 const Scheme& scheme, Motion* motion) {
  assemble_system(model, b, begin, end, dt, scheme, *motion->scratch, &motion->A);
  factor_system(model, begin, end, motion);
}

namespace {

// A at the gradient of k_1, and s.dv = -A^-1 m.
void calc_newton_step(const Model& model, const MotionBatch& b, double dt, const Scheme& scheme,
                      const VecX& m, Motion* motion) {
  VecX& dv = motion->scratch->dv;
  make_system(model, b, b.forces.dof_begin, b.forces.dof_end, dt, scheme, motion);
  b.of(dv) = -b.of(m);
  solve_in_place(model.system_pattern, motion->A_factor.data(), dv.data(), b.forces.dof_begin,
                 b.forces.dof_end);
}

}  // namespace

double center_velocity_terms(const Model& model, const State& state, double dt, const Scheme& scheme,
                             const MotionBatch& b, const VecX& v_end, Motion* motion) {
  constexpr int kMostPasses = 12;
  constexpr double kTolerance = 1e-9, kContraction = 0.7;
  Scratch& s = *motion->scratch;
  VecX& v = motion->v_star;
  b.of(s.v_trial) = b.of(v);
  b.of(s.m) = b.of(v_end) - b.of(v);  // what constraints change, which stays
  b.of(s.a) = b.of(s.inverse);
  const auto norm = [&](const auto& x) {
    double sum = 0;
    for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k)
      sum += motion->A[model.system_pattern.row_start[k + 1] - 1] * x(k) * x(k);
    return std::sqrt(sum);
  };
  // What changes by more than there is (a drive that starts) has no mean that tells more than the beginning.
  if (!(norm([&](int k) { return v_end[k] - state.v[k]; }) <= norm([&](int k) { return state.v[k]; })))
    return 0;
  double last = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMostPasses; ++i) {
    b.of(s.v) = 0.5 * (b.of(state.v) + b.of(v) + b.of(s.m));
    calc_velocity(model, motion->placement, s.v, &s.velocity, b.link_begin, b.link_end);
    calc_inverse_dynamics(model, motion->placement, s.velocity, nullptr, &s.tree, &s.inverse, b.link_begin,
                          b.link_end);
    b.of(s.dv) = -dt * (b.of(s.inverse) - b.of(s.a));
    solve_in_place(model.system_pattern, motion->A_factor.data(), s.dv.data(), b.forces.dof_begin,
                   b.forces.dof_end);
    const double change = norm([&](int k) { return s.v_trial[k] + s.dv[k] - v[k]; });
    if (!(change <= kContraction * last)) {  // it turns too far in a step
      b.of(v) = b.of(s.v_trial);
      b.of(s.inverse) = b.of(s.a);
      return 0;
    }
    b.of(v) = b.of(s.v_trial) + b.of(s.dv);
    last = change;
    if (change <= kTolerance * norm([&](int k) { return s.v[k]; })) break;
  }
  calc_joint_forces(model, b, state, dt, scheme, v, s);
  const double speed = norm([&](int k) { return s.v[k]; });
  return speed > 0 ? norm([&](int k) { return s.dv[k]; }) / speed : 0;
}

namespace {

void solve_with_bias(const Model& model, const State& state, double dt, const Scheme& scheme, MotionBatch& b,
                     Motion* motion) {
  Scratch& s = *motion->scratch;
  b.converged = true;
  b.iterations = 0;
  b.residual = 0;
  calc_mass_matrix(model, motion->placement, &s.tree, &s.M, b.link_begin, b.link_end);
  VecX& v = motion->v_star;
  b.of(v) = b.of(state.v);
  if (b.has_paths) take_paths(model, b.forces, motion->placement, state.q, &s.gradient);
  if (scheme.theta == 0) {
    calc_inverse_dynamics(model, motion->placement, motion->velocity, nullptr, &s.tree, &s.inverse,
                          b.link_begin, b.link_end);
  }

  // Newton on m(v) = 0 from v0. With theta = theta1 = 0 one step is the answer, and with theta = 0 it is one
  // too unless an effort limit begins or ceases to hold.
  constexpr int kMaxIterations = 50;
  constexpr double kTolerance = 1e-14, kAcceptable = 1e-9;
  calc_residual(model, b, state, dt, scheme, v, s, &s.m);
  double norm = scaled_norm(model, b, s.M, s.m);
  if (!std::isfinite(norm)) {  // a force or a state that is not finite, or too large: NaN in v* tells where
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k) {
      if (!std::isfinite(s.m[k])) v[k] = kNan;
    }
    if (b.of(v).allFinite()) b.of(v).setConstant(kNan);
    b.residual = kNan;
    b.converged = false;
    return;
  }
  std::uint64_t assembled = 0;
  if (scheme.theta == 0 && b.is_piecewise_linear) {  // as a rule one step is the answer
    assembled = signature(s.gradient, b.forces);
    calc_newton_step(model, b, dt, scheme, s.m, motion);
    b.of(s.v_trial) = b.of(v) + b.of(s.dv);
    calc_joint_forces(model, b, state, dt, scheme, s.v_trial, s, true);
    if (assembled == signature(s.gradient, b.forces)) {
      b.of(v) = b.of(s.v_trial);
      b.iterations = 1;
      return;
    }
    calc_residual(model, b, state, dt, scheme, v, s, &s.m);
  }
  const double scale = norm + momentum_scale(model, b, state, dt, s);
  for (; b.iterations < kMaxIterations; ++b.iterations) {
    if (scheme.theta > 0) {
      calc_mass_matrix(model, s.placement, &s.tree, &s.M, b.link_begin, b.link_end);
      calc_implicit_direction(model, b, state, dt, scheme, v, s, s.m, &s.dv);
    } else {
      assembled = signature(s.gradient, b.forces);
      calc_newton_step(model, b, dt, scheme, s.m, motion);
    }
    b.of(s.v_trial) = b.of(v) + b.of(s.dv);
    if (scheme.theta == 0 && scheme.theta1 == 0) {
      b.of(v) = b.of(s.v_trial);
      ++b.iterations;
      return;
    }
    // Backtracking on |m|; s.dv is scratch of calc_residual, so the step is kept as v_trial - v.
    double step = 1, trial = 0;
    for (int k = 0; k < 30; ++k) {
      calc_residual(model, b, state, dt, scheme, s.v_trial, s, &s.m_trial);
      trial = scaled_norm(model, b, s.M, s.m_trial);
      if (trial <= (1 - 1e-4 * step) * norm || trial <= kTolerance * scale) break;
      step /= 2;
      b.of(s.v_trial) = b.of(v) + 0.5 * (b.of(s.v_trial) - b.of(v));
    }
    const bool better = trial < norm;
    if (better) {
      b.of(v) = b.of(s.v_trial);
      b.of(s.m) = b.of(s.m_trial);
      norm = trial;
    } else {
      calc_residual(model, b, state, dt, scheme, v, s, &s.m);
    }
    if (!better || norm <= kTolerance * scale) {
      ++b.iterations;
      break;
    }
  }
  b.residual = scale > 0 ? norm / scale : 0;
  b.converged = b.residual <= kAcceptable;
  // A at v*, for the contact problem.
  if (scheme.theta > 0) {
    calc_residual(model, b, state, dt, scheme, v, s, &s.m_trial);
    calc_mass_matrix(model, s.placement, &s.tree, &s.M, b.link_begin, b.link_end);
  } else if (assembled == signature(s.gradient, b.forces)) {
    return;
  }
  make_system(model, b, b.forces.dof_begin, b.forces.dof_end, dt, scheme, motion);
}

}  // namespace

double center_momentum(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                       const VecX& v, Motion* motion) {
  constexpr double kEnough = 1e-9;
  Scratch& s = *motion->scratch;
  const auto b = std::partition_point(s.batches.begin(), s.batches.end(),
                                      [&](const MotionBatch& batch) { return batch.tree_end <= tree; });
  const int begin = model.trees[tree].dof_begin, end = model.trees[tree].dof_end;
  const auto of_tree = [&](auto& x) { return x.segment(begin, end - begin); };
  calc_inertia(model, *b, state, dt, scheme, s.v_free, s);
  calc_mass_matrix(model, s.placement, &s.tree, &s.M, b->link_begin, b->link_end);
  of_tree(s.m) = of_tree(s.inverse);
  of_tree(s.dv) = of_tree(v) - of_tree(s.v_free);
  multiply(model.pattern, s.M.data(), s.dv.data(), s.M_dv.data(), begin, end);
  calc_inertia(model, *b, state, dt, scheme, v, s);
  of_tree(s.dv) = of_tree(s.M_dv) - dt * (of_tree(s.inverse) - of_tree(s.m));
  solve_in_place(model.system_pattern, motion->A_factor.data(), s.dv.data(), begin, end);
  const auto norm = [&](const auto& x) {
    double sum = 0;
    for (int k = begin; k < end; ++k)
      sum += motion->A[model.system_pattern.row_start[k + 1] - 1] * x(k) * x(k);
    return std::sqrt(sum);
  };
  const double change = norm([&](int k) { return s.dv[k] - s.centering[k]; }),
               speed = norm([&](int k) { return v[k]; });
  if (!(change > kEnough * speed)) return 0;
  of_tree(motion->v_star) += of_tree(s.dv) - of_tree(s.centering);
  of_tree(s.centering) = of_tree(s.dv);
  return change / speed;
}

void forget_centering(const Model& model, int tree, Motion* motion) {
  const Tree& t = model.trees[tree];
  VecX& centering = motion->scratch->centering;
  motion->v_star.segment(t.dof_begin, t.num_dofs()) -= centering.segment(t.dof_begin, t.num_dofs());
  centering.segment(t.dof_begin, t.num_dofs()).setZero();
}

void solve_momentum_balance(const Model& model, const State& state, double dt, const Scheme& scheme,
                            MotionBatch& b, Motion* motion) {
  solve_with_bias(model, state, dt, scheme, b, motion);
  if (b.has_velocity_terms && is_staggered(scheme) && b.of(motion->v_star).allFinite())
    center_velocity_terms(model, state, dt, scheme, b, motion->v_star, motion);
}

}  // namespace capstan
