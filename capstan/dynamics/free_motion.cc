#include "capstan/dynamics/free_motion.h"

#include <fmt/core.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/dynamics/free_body.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/math/rotation.h"

namespace capstan {

namespace {

constexpr int kDofsInBlock = 24;  // for one thread at a time: a free body takes less than a microsecond

// Trees that no force joins to others: whole trees one after the other, one alone as a rule, and all that lie
// between two that a tendon or an actuator joins. Each is balanced apart, so that what one does depends on
// no other.
struct Batch {
  int tree_begin = 0, tree_end = 0;
  int link_begin = 0, link_end = 0;
  int stage_begin = 0, stage_end = 0;
  double mass = 0;          // [kg]
  ForceRange forces;        // has the range of dofs
  bool has_forces = false;  // else k_1 and its gradient stay zero
  bool is_piecewise_linear = false;
  bool is_free_body = false;
  int iterations = 0;
  double residual = 0;
  bool converged = true;

  int num_dofs() const { return forces.dof_end - forces.dof_begin; }
  auto of(VecX& x) const { return x.segment(forces.dof_begin, num_dofs()); }
  auto of(const VecX& x) const { return x.segment(forces.dof_begin, num_dofs()); }
};

std::vector<Batch> make_batches(const Model& model) {
  const int n = static_cast<int>(model.trees.size());
  std::vector<int> reach(n);  // the last tree that must be in one batch with this one
  for (int t = 0; t < n; ++t) reach[t] = t;
  const auto join = [&](const Transmission& transmission) {
    if (transmission.terms.empty() || transmission.tree >= 0) return;
    int first = n, last = 0;
    for (const auto& term : transmission.terms) {
      const int t = model.links[model.dofs[term.dof].link].tree;
      first = std::min(first, t), last = std::max(last, t);
    }
    reach[first] = std::max(reach[first], last);
  };
  for (const ModelTendon& tendon : model.tendons) join(tendon.transmission);
  for (const ModelActuator& actuator : model.actuators) join(actuator.transmission);
  std::vector<Batch> batches;
  std::vector<int> bounds = {0};
  for (int t = 0; t < n;) {
    Batch b;
    b.tree_begin = t;
    for (int last = reach[t]; t <= last; ++t) last = std::max(last, reach[t]);
    b.tree_end = t;
    b.link_begin = model.trees[b.tree_begin].link_begin;
    b.link_end = model.trees[t - 1].link_end;
    b.stage_begin = model.links[b.link_begin].stage_begin;
    b.stage_end = model.links[b.link_end - 1].stage_end;
    for (int l = b.link_begin; l < b.link_end; ++l) b.mass += model.links[l].mass;
    bounds.push_back(model.trees[t - 1].dof_end);
    batches.push_back(std::move(b));
  }
  std::vector<ForceRange> ranges = make_force_ranges(model, bounds);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    Batch& b = batches[i];
    b.forces = std::move(ranges[i]);
    b.has_forces = !b.forces.joints.empty() || !b.forces.tendons.empty() || !b.forces.actuators.empty();
    for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k)
      b.has_forces = b.has_forces || model.dofs[k].stiffness > 0 || model.dofs[k].damping != 0;
    b.is_piecewise_linear = is_piecewise_linear(model, b.forces);
    b.is_free_body = b.tree_end == b.tree_begin + 1 && !b.has_forces && is_free_body(model, b.tree_begin);
  }
  return batches;
}

// At least kDofsInBlock dofs each, but the last.
std::vector<int> make_blocks(const std::vector<Batch>& batches) {
  std::vector<int> blocks = {0};
  int dofs = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    dofs += batches[i].num_dofs();
    if (dofs < kDofsInBlock && i + 1 < batches.size()) continue;
    blocks.push_back(static_cast<int>(i) + 1);
    dofs = 0;
  }
  return blocks;
}

}  // namespace

struct Motion::Scratch {
  std::vector<Batch> batches;
  std::vector<int> blocks;  // batches [blocks[i], blocks[i + 1]) for one thread
  Placement placement;      // at q^theta
  Velocity velocity;        // at q^theta, v^theta
  TreeWorkspace tree;
  DerivativesWorkspace derivatives;
  ForceGradient gradient;
  VecX q, v, v_vq, a;            // where the residual is evaluated
  VecX tau, inverse, external;   // k_1, ID, external forces
  VecX M;                        // mass matrix at q^theta
  VecX m, m_trial, v_trial, dv;  // residuals and steps
  VecX M_dv;                     // in calc_residual
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
  motion.velocity = make_velocity(model);
  motion.A = motion.A_factor = VecX::Zero(model.system_pattern.num_values());
  motion.v_star = VecX::Zero(nv);
  motion.scratch = std::make_shared<Motion::Scratch>();
  motion.drives = find_drives(model);
  motion.released.reserve(motion.drives.size());
  Motion::Scratch& s = *motion.scratch;
  s.batches = make_batches(model);
  s.blocks = make_blocks(s.batches);
  s.placement = make_placement(model);
  s.velocity = make_velocity(model);
  s.tree = make_tree_workspace(model);
  s.derivatives = make_derivatives_workspace(model);
  s.gradient = make_force_gradient(model);
  s.momentum = make_momentum_workspace(model);
  s.q = VecX::Zero(model.num_positions);
  s.M = VecX::Zero(model.pattern.num_values());
  for (VecX* x :
       {&s.v, &s.v_vq, &s.a, &s.tau, &s.inverse, &s.external, &s.m, &s.m_trial, &s.v_trial, &s.dv, &s.M_dv}) {
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
  if (!state.rest.empty() && state.rest.size() != model.trees.size()) {
    throw InputError({},
                     fmt::format("the state tells of {} trees whether they sleep; the model has {}",
                                 state.rest.size(), model.trees.size()),
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
void calc_joint_forces(const Model& model, const Batch& b, const State& state, double dt,
                       const Scheme& scheme, const VecX& v, Scratch& s, bool again = false) {
  if (!b.has_forces) return;
  b.of(s.v_vq) = scheme.theta_vq * b.of(v) + (1 - scheme.theta_vq) * b.of(state.v);
  b.of(s.v) = scheme.theta1 * b.of(v) + (1 - scheme.theta1) * b.of(state.v);
  move(model, state.q, s.v_vq, scheme.theta1 * dt, &s.q, b.stage_begin, b.stage_end);
  calc_forces(model, b.forces, s.q, s.v, state.control, &s.tau, &s.gradient, again);
}

// f(term) for each tendon and actuator of a batch whose gradient is in A.
template <class F>
void each_term(const ForceGradient& gradient, const ForceRange& range, const F& f) {
  for (const int i : range.tendons) f(gradient.terms[i]);
  for (const int i : range.actuators) f(gradient.terms[gradient.first_actuator + i]);
}

// A of equation 15 from M at q^theta and the gradient of k_1, for the dofs [begin, end) of whole trees.
void assemble_system(const Model& model, const Batch& b, int begin, int end, double dt, const Scheme& scheme,
                     const Scratch& s, VecX* A) {
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

// m(v), with M, velocities and k_1 left in the scratch memory.
void calc_residual(const Model& model, const Batch& b, const State& state, double dt, const Scheme& scheme,
                   const VecX& v, Scratch& s, VecX* m) {
  if (scheme.theta > 0) {
    b.of(s.v_vq) = scheme.theta_vq * b.of(v) + (1 - scheme.theta_vq) * b.of(state.v);
    b.of(s.v) = scheme.theta * b.of(v) + (1 - scheme.theta) * b.of(state.v);
    b.of(s.a) = (b.of(v) - b.of(state.v)) / dt;
    move(model, state.q, s.v_vq, scheme.theta * dt, &s.q, b.stage_begin, b.stage_end);
    calc_placement(model, s.q, &s.placement, b.link_begin, b.link_end);
    calc_velocity(model, s.placement, s.v, &s.velocity, b.link_begin, b.link_end);
    calc_inverse_dynamics(model, s.placement, s.velocity, &s.a, &s.tree, &s.inverse, b.link_begin,
                          b.link_end);
    b.of(*m) = dt * b.of(s.inverse);
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
double scaled_norm(const Model& model, const Batch& b, const VecX& M, const VecX& m) {
  double sum = 0;
  for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k)
    sum += m[k] * m[k] / M[model.pattern.row_start[k + 1] - 1];
  return std::sqrt(sum);
}

// What |m| is judged against: the momentum there is, what each kind of force brings in the step, and the
// weight (so that forces which balance, or a pendulum that hangs still, do not make the scale vanish).
double momentum_scale(const Model& model, const Batch& b, const State& state, double dt, Scratch& s) {
  multiply(model.pattern, s.M.data(), state.v.data(), s.m_trial.data(), b.forces.dof_begin, b.forces.dof_end);
  return scaled_norm(model, b, s.M, s.m_trial) +
         dt * (scaled_norm(model, b, s.M, s.inverse) + scaled_norm(model, b, s.M, s.gradient.magnitude)) +
         dt * model.options.gravity.norm() * std::sqrt(b.mass);
}

// One Newton direction for the implicit schemes: the exact Jacobian of m at v, tree by tree.
void calc_implicit_direction(const Model& model, const Batch& b, const State& state, double dt,
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
void make_system(const Model& model, const Batch& b, int begin, int end, double dt, const Scheme& scheme,
                 Motion* motion) {
  assemble_system(model, b, begin, end, dt, scheme, *motion->scratch, &motion->A);
  factor_system(model, begin, end, motion);
}

// A at the gradient of k_1, and s.dv = -A^-1 m.
void calc_newton_step(const Model& model, const Batch& b, double dt, const Scheme& scheme, const VecX& m,
                      Motion* motion) {
  VecX& dv = motion->scratch->dv;
  make_system(model, b, b.forces.dof_begin, b.forces.dof_end, dt, scheme, motion);
  b.of(dv) = -b.of(m);
  solve_in_place(model.system_pattern, motion->A_factor.data(), dv.data(), b.forces.dof_begin,
                 b.forces.dof_end);
}

// v* and A of the theta-method.
void solve_momentum_balance(const Model& model, const State& state, double dt, const Scheme& scheme, Batch& b,
                            Motion* motion) {
  Scratch& s = *motion->scratch;
  b.converged = true;
  b.iterations = 0;
  b.residual = 0;
  calc_mass_matrix(model, motion->placement, &s.tree, &s.M, b.link_begin, b.link_end);
  VecX& v = motion->v_star;
  b.of(v) = b.of(state.v);
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

bool all_are(std::span<const char> trees, const Batch& b) {
  return !trees.empty() && std::all_of(trees.begin() + b.tree_begin, trees.begin() + b.tree_end,
                                       [](char is) { return is != 0; });
}

}  // namespace

void calc_free_motion(const Model& model, const State& state, const Input& input, double dt,
                      const Scheme& scheme, std::span<const char> asleep, std::span<const char> unchanged,
                      const Threads& threads, Motion* motion) {
  check_sizes(model, state, input);
  Scratch& s = *motion->scratch;
  motion->released.clear();
  if (scheme.theta > 0 && s.jacobian.empty()) {  // a tree of many dofs has a large one
    for (const Tree& tree : model.trees) {
      s.jacobian.push_back(MatX::Zero(tree.num_dofs(), tree.num_dofs()));
      s.lu.emplace_back(tree.num_dofs());
    }
  }
  const auto each_batch = [&](const auto& f) {
    threads.for_each(static_cast<int>(s.blocks.size()) - 1, [&](int block) {
      for (int i = s.blocks[block]; i < s.blocks[block + 1]; ++i) f(s.batches[i]);
    });
  };
  const bool is_placed = take_placement(state.q, &s.momentum, &motion->placement);
  const auto place = [&](Batch& b) {
    if (all_are(unchanged, b)) return;
    for (int t = b.tree_begin; t < b.tree_end && !is_placed; ++t) {
      if (copy_placement(model, s.momentum, state.q, t, &motion->placement)) continue;
      calc_placement(model, state.q, &motion->placement, model.trees[t].link_begin, model.trees[t].link_end);
    }
    calc_velocity(model, motion->placement, state.v, &motion->velocity, b.link_begin, b.link_end);
  };
  const auto balance = [&](Batch& b) {
    if (all_are(unchanged, b)) {
      if (b.has_forces && model.options.conserve_momentum) b.of(s.external) += b.of(s.tau);
      return;
    }
    if (all_are(asleep, b)) {
      b.of(motion->v_star).setZero();
      b.iterations = 0;
      b.residual = 0;
      b.converged = true;
      return;
    }
    if (b.is_free_body && scheme.theta == 0 && model.options.conserve_momentum) {
      calc_free_body(model, state, s.external, dt, scheme.theta_vq, b.tree_begin, motion);
      b.iterations = 1;
      b.residual = 0;
      b.converged = true;
      return;
    }
    solve_momentum_balance(model, state, dt, scheme, b, motion);
    if (!model.options.conserve_momentum || !b.of(motion->v_star).allFinite()) return;
    b.of(s.external) += b.of(s.tau);
    const Placement& at_forces = scheme.theta > 0 ? s.placement : motion->placement;
    for (int t = b.tree_begin; t < b.tree_end; ++t) {
      if (!conserves_momentum(model, t)) continue;
      balance_momentum(model, t, state, motion->placement, motion->velocity, at_forces, s.external, dt,
                       scheme.theta_vq, &s.momentum, &motion->v_star);
    }
  };
  if (input.body_forces.empty()) {
    calc_external(model, motion->placement, input, &s.external);
    each_batch([&](Batch& b) {  // while what was placed is in the cache
      place(b);
      balance(b);
    });
  } else {
    each_batch(place);
    calc_external(model, motion->placement, input, &s.external);
    each_batch(balance);
  }
  motion->iterations = 0;
  motion->residual = 0;
  motion->converged = true;
  for (const Batch& b : s.batches) {
    motion->iterations = std::max(motion->iterations, b.iterations);
    if (!(b.residual <= motion->residual)) motion->residual = b.residual;
    motion->converged = motion->converged && b.converged;
  }
}

void balance_after_constraints(const Model& model, const State& state, double dt, const Scheme& scheme,
                               int tree, Motion* motion, VecX* v) {
  Scratch& s = *motion->scratch;
  balance_momentum(model, tree, state, motion->placement, motion->velocity,
                   scheme.theta > 0 ? s.placement : motion->placement, s.external, dt, scheme.theta_vq,
                   &s.momentum, v);
}

void balance_end(const Model& model, const VecX& v, double dt, double theta_vq, int begin, int end,
                 Motion* motion, VecX* q1) {
  balance_position(model, motion->placement, motion->velocity, v, dt, theta_vq, begin, end,
                   &motion->scratch->momentum, q1);
}

namespace {

// f(tree) once for each tree that a transmission acts on.
template <class F>
void each_tree(const Model& model, const Transmission& transmission, const F& f) {
  const auto tree_of = [&](const Transmission::Term& term) {
    return model.links[model.dofs[term.dof].link].tree;
  };
  const auto& terms = transmission.terms;
  if (transmission.tree >= 0) return f(transmission.tree);
  for (auto i = terms.begin(); i != terms.end(); ++i) {
    const int t = tree_of(*i);
    if (std::none_of(terms.begin(), i, [&](const auto& before) { return tree_of(before) == t; })) f(t);
  }
}

// c A^-1 c^T of a transmission; x is scratch.
double calc_delassus(const Model& model, const Motion& motion, const Transmission& c, VecX* x) {
  const BranchPattern& pattern = model.system_pattern;
  if (c.terms.size() == 1) {
    const int dof = c.terms[0].dof, n = pattern.row_size(dof);
    x->head(n).setZero();
    (*x)[n - 1] = c.terms[0].coefficient;
    half_solve_in_place(pattern, motion.A_factor.data(), dof, x->data());
    return x->head(n).squaredNorm();
  }
  double sum = 0;
  each_tree(model, c, [&](int t) {
    const Tree& tree = model.trees[t];
    x->segment(tree.dof_begin, tree.num_dofs()).setZero();
    for (const auto& term : c.terms) {
      if (term.dof >= tree.dof_begin && term.dof < tree.dof_end) (*x)[term.dof] += term.coefficient;
    }
    solve_in_place(pattern, motion.A_factor.data(), x->data(), tree.dof_begin, tree.dof_end);
    for (const auto& term : c.terms) {
      if (term.dof >= tree.dof_begin && term.dof < tree.dof_end) sum += term.coefficient * (*x)[term.dof];
    }
  });
  return sum;
}

}  // namespace

void release_drives(const Model& model, const State& state, double dt, const Scheme& scheme,
                    std::span<char> trees, Motion* motion) {
  enum : char { kNo, kYes, kOldSystem, kNewSystem };  // the last two have drives
  const double kk = dt * dt * scheme.theta1 * scheme.theta_vq, dd = dt * scheme.theta1;
  Scratch& s = *motion->scratch;
  const std::size_t first = motion->released.size();
  if (dd == 0) return;
  for (bool more = true; more;) {
    more = false;
    for (const Drive& drive : motion->drives) {
      int marked = 0, count = 0;
      if (drive.transmission.tree >= 0) continue;
      each_tree(model, drive.transmission, [&](int t) { ++count, marked += trees[t] != kNo; });
      if (marked == 0 || marked == count) continue;
      each_tree(model, drive.transmission, [&](int t) { trees[t] = kYes; });
      more = true;
    }
  }
  for (int i = 0; i < static_cast<int>(motion->drives.size()); ++i) {
    const Drive& drive = motion->drives[i];
    const Transmission& c = drive.transmission;
    if (trees[model.links[model.dofs[c.terms.front().dof].link].tree] == kNo) continue;
    // s.q and s.v are still where k_1 was evaluated last, which is at v*.
    const DriveForce f = calc_drive_force(model, drive, s.q, s.v, state.control);
    ReleasedDrive r{i, 0, dt * f.force, kk * f.stiffness + dd * f.damping, dt * f.lower, dt * f.upper};
    for (const auto& term : c.terms) r.rate += term.coefficient * motion->v_star[term.dof];
    motion->released.push_back(r);
    each_tree(model, c, [&](int t) { trees[t] = std::max(trees[t], char{kOldSystem}); });
    for (const Drive::Member& member : drive.members) {
      ForceGradient::Term& gradient = s.gradient.terms[s.gradient.first_actuator + member.actuator];
      if (gradient.stiffness == 0 && gradient.damping == 0) continue;
      gradient.stiffness = gradient.damping = 0;
      trees[c.tree] = kNewSystem;
    }
  }
  for (const Batch& b : s.batches) {
    for (int t = b.tree_begin; t < b.tree_end; ++t) {
      const Tree& tree = model.trees[t];
      if (trees[t] == kNewSystem) make_system(model, b, tree.dof_begin, tree.dof_end, dt, scheme, motion);
      s.dv.segment(tree.dof_begin, tree.num_dofs()).setZero();
    }
  }
  for (ReleasedDrive& r : std::span(motion->released).subspan(first)) {
    const Transmission& c = motion->drives[r.drive].transmission;
    r.delassus = calc_delassus(model, *motion, c, &s.v_trial);
    for (const auto& term : c.terms)
      s.dv[term.dof] -= term.coefficient * std::clamp(r.impulse, r.lower, r.upper);
  }
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (trees[t] < kOldSystem) continue;
    const int begin = model.trees[t].dof_begin, end = model.trees[t].dof_end;
    solve_in_place(model.system_pattern, motion->A_factor.data(), s.dv.data(), begin, end);
    motion->v_star.segment(begin, end - begin) += s.dv.segment(begin, end - begin);
  }
}

}  // namespace capstan
