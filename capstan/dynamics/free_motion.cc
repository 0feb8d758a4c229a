#include "capstan/dynamics/free_motion.h"

#include <fmt/core.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "capstan/dynamics/momentum.h"
#include "capstan/math/rotation.h"

namespace capstan {

struct Motion::Scratch {
  Placement placement;  // at q^theta
  Velocity velocity;    // at q^theta, v^theta
  TreeWorkspace tree;
  DerivativesWorkspace derivatives;
  ForceGradient gradient;
  VecX q, v, v_vq, a;            // where the residual is evaluated
  VecX tau, inverse, external;   // k_1, ID, external forces
  VecX M;                        // mass matrix at q^theta
  VecX m, m_trial, v_trial, dv;  // residuals and steps
  std::vector<MatX> jacobian;    // [trees] of m, for the implicit schemes
  std::vector<Eigen::PartialPivLU<MatX>> lu;
  MomentumWorkspace momentum;
};

Scheme scheme(Integrator integrator) {
  switch (integrator) {
    case Integrator::explicit_euler:
      return {0, 0, 0};
    case Integrator::symplectic_euler:
      return {0, 1, 0};
    case Integrator::semi_implicit:
      return {0, 1, 1};
    case Integrator::implicit_euler:
      return {1, 1, 1};
    case Integrator::midpoint:
      return {0.5, 0.5, 0.5};
  }
  return {};
}

Motion make_motion(const Model& model) {
  Motion motion;
  const int nv = model.num_velocities();
  motion.placement = make_placement(model);
  motion.A = motion.A_factor = VecX::Zero(model.system_pattern.num_values());
  motion.v_star = VecX::Zero(nv);
  motion.scratch = std::make_shared<Motion::Scratch>();
  Motion::Scratch& s = *motion.scratch;
  s.placement = make_placement(model);
  s.velocity = make_velocity(model);
  s.tree = make_tree_workspace(model);
  s.derivatives = make_derivatives_workspace(model);
  s.gradient = make_force_gradient(model);
  s.momentum = make_momentum_workspace(model);
  s.q = VecX::Zero(model.num_positions);
  s.M = VecX::Zero(model.pattern.num_values());
  for (VecX* x :
       {&s.v, &s.v_vq, &s.a, &s.tau, &s.inverse, &s.external, &s.m, &s.m_trial, &s.v_trial, &s.dv}) {
    *x = VecX::Zero(nv);
  }
  return motion;
}

namespace {

using Scratch = Motion::Scratch;

// Sizes that do not fit the model would be read beyond their end.
void check_sizes(const Model& model, const State& state, const Input& input) {
  const int nq = model.num_positions, nv = model.num_velocities();
  const int nu = static_cast<int>(model.actuators.size());
  if (state.q.size() != nq || state.v.size() != nv || state.control.size() != nu) {
    throw InputError(
        {},
        fmt::format("the state has {} positions, {} velocities and {} controls; the model has {}, "
                    "{} and {}",
                    state.q.size(), state.v.size(), state.control.size(), nq, nv, nu),
        "begin with initial_state() of the same model");
  }
  if (input.generalized_force.size() != 0 && input.generalized_force.size() != nv) {
    throw InputError({},
                     fmt::format("generalized_force has {} numbers; the model has {} dofs",
                                 input.generalized_force.size(), nv),
                     "give one number for each dof, or none");
  }
  for (const BodyForce& f : input.body_forces) {
    if (f.body >= 0 && f.body < static_cast<int>(model.bodies.size())) continue;
    throw InputError(
        {},
        fmt::format("a force acts on body {}; the model has bodies 0 to {}", f.body, model.bodies.size() - 1),
        "take the index from Model::find_body()");
  }
}

void calc_external(const Model& model, const Placement& placement, const Input& input, VecX* external) {
  if (input.generalized_force.size() > 0) {
    *external = input.generalized_force;
  } else {
    external->setZero();
  }
  for (const BodyForce& f : input.body_forces) {
    const int l = model.bodies[f.body].link;
    if (l == 0) continue;
    Vec6 wrench;
    wrench << f.torque_W + cross(Vec3(f.point_W - placement.origin[model.links[l].tree]), f.force_W),
        f.force_W;
    for (int k = model.links[l].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
      (*external)[k] += placement.S[k].dot(wrench);
    }
  }
}

// k_1 at (q^theta1, v^theta1) into s.tau, with its gradient.
void calc_joint_forces(const Model& model, const State& state, double dt, const Scheme& scheme, const VecX& v,
                       Scratch& s) {
  s.v_vq = scheme.theta_vq * v + (1 - scheme.theta_vq) * state.v;
  s.v = scheme.theta1 * v + (1 - scheme.theta1) * state.v;
  move(model, state.q, s.v_vq, scheme.theta1 * dt, &s.q);
  calc_forces(model, s.q, s.v, state.control, &s.tau, &s.gradient);
}

// A of equation 15 from M at q^theta and the gradient of k_1.
void assemble_system(const Model& model, double dt, const Scheme& scheme, const Scratch& s, VecX* A) {
  const double kk = dt * dt * scheme.theta1 * scheme.theta_vq, dd = dt * scheme.theta1;
  A->setZero();
  for (int i = 0; i < model.pattern.num_values(); ++i) (*A)[model.mass_in_system[i]] = s.M[i];
  if (dd == 0) return;
  const BranchPattern& pattern = model.system_pattern;
  for (int k = 0; k < model.num_velocities(); ++k) {
    (*A)[pattern.row_start[k + 1] - 1] += kk * s.gradient.stiffness[k] + dd * s.gradient.damping[k];
  }
  for (const ForceGradient::Term& term : s.gradient.terms) {
    const double c = kk * term.stiffness + dd * term.damping;
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
  }
}

// m(v), with M, velocities and k_1 left in the scratch memory.
void calc_residual(const Model& model, const State& state, double dt, const Scheme& scheme, const VecX& v,
                   Scratch& s, VecX* m) {
  if (scheme.theta > 0) {
    s.v_vq = scheme.theta_vq * v + (1 - scheme.theta_vq) * state.v;
    s.v = scheme.theta * v + (1 - scheme.theta) * state.v;
    s.a = (v - state.v) / dt;
    move(model, state.q, s.v_vq, scheme.theta * dt, &s.q);
    calc_placement(model, s.q, &s.placement);
    calc_velocity(model, s.placement, s.v, &s.velocity);
    calc_inverse_dynamics(model, s.placement, s.velocity, &s.a, &s.tree, &s.inverse);
    *m = dt * s.inverse;
  } else {  // s.M and s.inverse (the bias forces) are those of q0, v0
    s.dv = v - state.v;
    multiply(model.pattern, s.M.data(), s.dv.data(), m->data());
    *m += dt * s.inverse;
  }
  calc_joint_forces(model, state, dt, scheme, v, s);
  *m -= dt * (s.tau + s.external);
}

// Size of m, each component in units of its own momentum: sqrt(sum m_k^2 / M_kk).
double scaled_norm(const Model& model, const VecX& M, const VecX& m) {
  double sum = 0;
  for (int k = 0; k < m.size(); ++k) sum += m[k] * m[k] / M[model.pattern.row_start[k + 1] - 1];
  return std::sqrt(sum);
}

// What |m| is judged against: the momentum there is, what each kind of force brings in the step, and the
// weight (so that forces which balance, or a pendulum that hangs still, do not make the scale vanish).
double momentum_scale(const Model& model, const State& state, double dt, Scratch& s) {
  multiply(model.pattern, s.M.data(), state.v.data(), s.m_trial.data());
  return scaled_norm(model, s.M, s.m_trial) +
         dt * (scaled_norm(model, s.M, s.inverse) + scaled_norm(model, s.M, s.gradient.magnitude)) +
         dt * model.options.gravity.norm() * std::sqrt(total_mass(model));
}

// One Newton direction for the implicit schemes: the exact Jacobian of m at v, tree by tree.
void calc_implicit_direction(const Model& model, const State& state, double dt, const Scheme& scheme,
                             const VecX& v, Scratch& s, const VecX& m, VecX* dv) {
  if (s.jacobian.empty()) {  // at the first implicit step: a tree of many dofs has a large one
    for (const Tree& tree : model.trees) {
      s.jacobian.push_back(MatX::Zero(tree.num_dofs(), tree.num_dofs()));
      s.lu.emplace_back(tree.num_dofs());
    }
  }
  s.v = scheme.theta * v + (1 - scheme.theta) * state.v;
  s.a = (v - state.v) / dt;
  calc_derivative_terms(model, s.placement, s.velocity, s.v, s.a, &s.derivatives);
  const double kk = dt * dt * scheme.theta * scheme.theta_vq, dd = dt * scheme.theta;
  s.v_vq = scheme.theta_vq * v + (1 - scheme.theta_vq) * state.v;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Tree& tree = model.trees[t];
    const int base = tree.dof_begin, n = tree.num_dofs();
    MatX& J = s.jacobian[t];
    // Columns of dq^theta/dv: theta dt theta_vq, times the left Jacobian of exp on quaternions.
    J.setZero();
    add_derivatives(model, s.placement, s.velocity, s.derivatives, static_cast<int>(t), kk, 0, J);
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
    add_derivatives(model, s.placement, s.velocity, s.derivatives, static_cast<int>(t), 0, dd, J);
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
  for (const ForceGradient::Term& term : s.gradient.terms) {
    const int t = term.transmission->tree, base = model.trees[t].dof_begin;
    const double c = kk * term.stiffness + dd * term.damping;
    for (const auto& i : term.transmission->terms) {
      if (term.is_actuator && s.gradient.saturated[i.dof]) continue;
      for (const auto& j : term.transmission->terms) {
        s.jacobian[t](i.dof - base, j.dof - base) += c * i.coefficient * j.coefficient;
      }
    }
  }
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Tree& tree = model.trees[t];
    s.lu[t].compute(s.jacobian[t]);
    dv->segment(tree.dof_begin, tree.num_dofs()) = s.lu[t].solve(m.segment(tree.dof_begin, tree.num_dofs()));
  }
  *dv *= -1;
}

// A stays positive definite for every finite state; where it is not, NaN in v* tells.
void factor_system(const Model& model, Motion* motion) {
  motion->A_factor = motion->A;
  if (factor(model.system_pattern, motion->A_factor.data()) >= 0) {
    motion->A_factor.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
}

// v* and A of the theta-method.
void solve_momentum_balance(const Model& model, const State& state, const Input& input, double dt,
                            const Scheme& scheme, Motion* motion) {
  Scratch& s = *motion->scratch;
  motion->converged = true;
  motion->iterations = 0;
  motion->residual = 0;
  calc_placement(model, state.q, &motion->placement);
  calc_external(model, motion->placement, input, &s.external);
  calc_mass_matrix(model, motion->placement, &s.tree, &s.M);
  calc_velocity(model, motion->placement, state.v, &s.velocity);
  VecX& v = motion->v_star;
  v = state.v;
  if (scheme.theta == 0) {
    calc_inverse_dynamics(model, motion->placement, s.velocity, nullptr, &s.tree, &s.inverse);
  }

  // Newton on m(v) = 0 from v0. With theta = theta1 = 0 one step is the answer, and with theta = 0 it is one
  // too unless an effort limit begins or ceases to hold.
  constexpr int kMaxIterations = 50;
  constexpr double kTolerance = 1e-14, kAcceptable = 1e-9;
  calc_residual(model, state, dt, scheme, v, s, &s.m);
  double norm = scaled_norm(model, s.M, s.m);
  if (!std::isfinite(norm)) {  // a force or a state that is not finite, or too large: NaN in v* tells where
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (int k = 0; k < v.size(); ++k) {
      if (!std::isfinite(s.m[k])) v[k] = kNan;
    }
    if (v.allFinite()) v.setConstant(kNan);
    motion->residual = kNan;
    motion->converged = false;
    return;
  }
  const double scale = norm + momentum_scale(model, state, dt, s);
  std::uint64_t assembled = 0;
  for (; motion->iterations < kMaxIterations; ++motion->iterations) {
    if (scheme.theta > 0) {
      calc_mass_matrix(model, s.placement, &s.tree, &s.M);
      calc_implicit_direction(model, state, dt, scheme, v, s, s.m, &s.dv);
    } else {
      assembled = signature(s.gradient);
      assemble_system(model, dt, scheme, s, &motion->A);
      factor_system(model, motion);
      s.dv = -s.m;
      solve_in_place(model.system_pattern, motion->A_factor.data(), s.dv.data());
    }
    s.v_trial = v + s.dv;
    if (scheme.theta == 0 && scheme.theta1 == 0) {
      v = s.v_trial;
      ++motion->iterations;
      return;
    }
    // Backtracking on |m|; s.dv is scratch of calc_residual, so the step is kept as v_trial - v.
    double step = 1, trial = 0;
    for (int k = 0; k < 30; ++k) {
      calc_residual(model, state, dt, scheme, s.v_trial, s, &s.m_trial);
      trial = scaled_norm(model, s.M, s.m_trial);
      if (trial <= (1 - 1e-4 * step) * norm || trial <= kTolerance * scale) break;
      step /= 2;
      s.v_trial = v + 0.5 * (s.v_trial - v);
    }
    const bool better = trial < norm;
    if (better) {
      v = s.v_trial;
      s.m.swap(s.m_trial);
      norm = trial;
    } else {
      calc_residual(model, state, dt, scheme, v, s, &s.m);
    }
    if (!better || norm <= kTolerance * scale) {
      ++motion->iterations;
      break;
    }
  }
  motion->residual = scale > 0 ? norm / scale : 0;
  motion->converged = motion->residual <= kAcceptable;
  // A at v*, for the contact problem.
  if (scheme.theta > 0) {
    calc_residual(model, state, dt, scheme, v, s, &s.m_trial);
    calc_mass_matrix(model, s.placement, &s.tree, &s.M);
  } else if (assembled == signature(s.gradient)) {
    return;
  }
  assemble_system(model, dt, scheme, s, &motion->A);
  factor_system(model, motion);
}

}  // namespace

void calc_free_motion(const Model& model, const State& state, const Input& input, double dt,
                      const Scheme& scheme, Motion* motion) {
  check_sizes(model, state, input);
  solve_momentum_balance(model, state, input, dt, scheme, motion);
  if (!model.options.conserve_momentum || !motion->v_star.allFinite()) return;
  Scratch& s = *motion->scratch;
  s.external += s.tau;
  balance_momentum(model, state, motion->placement, scheme.theta > 0 ? s.placement : motion->placement,
                   s.external, dt, scheme.theta_vq, &s.momentum, &motion->v_star);
}

void balance_after_constraints(const Model& model, const State& state, double dt, const Scheme& scheme,
                               int tree, Motion* motion, VecX* v) {
  Scratch& s = *motion->scratch;
  balance_momentum(model, tree, state, motion->placement, scheme.theta > 0 ? s.placement : motion->placement,
                   s.external, dt, scheme.theta_vq, &s.momentum, v);
}

}  // namespace capstan
