#include "capstan/dynamics/free_motion.h"
#include "capstan/physics/physics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/dynamics/center_momentum.h"
#include "capstan/dynamics/free_body.h"
#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/dynamics/objects.h"
#include "capstan/dynamics/offset_body.h"
#include "capstan/dynamics/place_carriers.h"
#include "capstan/dynamics/struck_objects.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

using Scratch = Motion::Scratch;

constexpr int kDofsInBlock = 24;  // for one thread at a time: a free body takes less than a microsecond
constexpr std::size_t kManyBlocks = 400;  // of an object, for nested dissection

std::vector<MotionBatch> make_batches(const Model& model) {
  const int n = static_cast<int>(model.trees.size());
  std::vector<int> reach(n);  // the last tree that must be in one batch with this one
  for (int t = 0; t < n; ++t) reach[t] = t;
  const auto join = [&](const Transmission& transmission) {
    if (transmission.terms.empty() || transmission.tree >= 0) return;
    int first = n, last = 0;
    for (const auto& term : transmission.terms) {
      const int t = model.dofs[term.dof].object;
      first = std::min(first, t), last = std::max(last, t);
    }
    reach[first] = std::max(reach[first], last);
  };
  for (const ModelTendon& tendon : model.tendons) join(tendon.transmission);
  for (const ModelActuator& actuator : model.actuators) join(actuator.transmission);
  std::vector<MotionBatch> batches;
  std::vector<int> bounds = {0};
  for (int t = 0; t < n;) {
    MotionBatch b;
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
    MotionBatch& b = batches[i];
    b.forces = std::move(ranges[i]);
    b.has_forces = !b.forces.joints.empty() || !b.forces.tendons.empty() || !b.forces.actuators.empty();
    for (int k = b.forces.dof_begin; k < b.forces.dof_end; ++k)
      b.has_forces = b.has_forces || model.dofs[k].stiffness > 0 || model.dofs[k].damping != 0;
    b.has_paths = has_paths(model, b.forces);
    b.is_piecewise_linear = is_piecewise_linear(model, b.forces);
    for (int t = b.tree_begin; t < b.tree_end; ++t) {
      const Tree& tree = model.trees[t];
      const int stages = model.links[tree.link_end - 1].stage_end - model.links[tree.link_begin].stage_begin;
      b.has_velocity_terms = b.has_velocity_terms || (stages > 1 && !conserves_momentum(model, t));
    }
    b.is_free_body = b.tree_end == b.tree_begin + 1 && !b.has_forces && is_free_body(model, b.tree_begin);
  }
  return batches;
}

// At least kDofsInBlock dofs each that are not in lanes, but the last.
std::vector<int> make_blocks(const std::vector<MotionBatch>& batches) {
  std::vector<int> blocks = {0};
  int dofs = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    dofs += batches[i].is_in_lanes ? 0 : batches[i].num_dofs();
    if (dofs < kDofsInBlock && i + 1 < batches.size()) continue;
    blocks.push_back(static_cast<int>(i) + 1);
    dofs = 0;
  }
  return blocks;
}

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
  if (state.a.size() != 0 && state.a.size() != nv) {
    throw InputError({},
                     fmt::format("the state has {} accelerations; the model has {} dofs", state.a.size(), nv),
                     "give one number for each dof, or none");
  }
  if (!state.rest.empty() && state.rest.size() != model.objects.size()) {
    throw InputError({},
                     fmt::format("the state tells of {} objects whether they sleep; the model has {}",
                                 state.rest.size(), model.objects.size()),
                     "begin with initial_state() of the same model");
  }
  if (input.generalized_force.size() != 0 && input.generalized_force.size() != nv) {
    throw InputError({},
                     fmt::format("generalized_force has {} numbers; the model has {} dofs",
                                 input.generalized_force.size(), nv),
                     "give one number for each dof, or none");
  }
  for (const BodyForce& f : input.body_forces) {
    if (f.body >= 0 && f.body < static_cast<int>(model.bodies.size())) {
      continue;
    }
    throw InputError(
        {},
        fmt::format("a force acts on body {}; the model has bodies 0 to {}", f.body, model.bodies.size() - 1),
        "take the index from Model::find_body()");
  }
}

// A force at a point of a carrier.
void add_force_at(const Model& model, const Placement& placement, int link, const Vec3& p_W,
                  const Vec3& force_W, VecX* external) {
  PointPart parts[kMostPointParts];
  const int n = calc_point(model, placement, link, p_W, parts);
  for (int i = 0; i < n; ++i) {
    const int first = model.blocks[parts[i].block].dof_begin;
    for (int k = 0; k < parts[i].size; ++k)
      (*external)[first + k] += force_W.dot(Eigen::Map<const Vec3>(parts[i].J.data() + 3 * k));
  }
}
// A torque as two couples, which together do no work when the carrier stretches.
void add_torque_at(const Model& model, const Placement& placement, int link, const Vec3& p_W,
                   const Vec3& torque_W, VecX* external) {
  const double size = torque_W.norm();
  if (size == 0) return;
  const Mat3 R = frame_from_z(torque_W / size);
  const Vec3 a = R.col(0), b = R.col(1);
  const auto add = [&](const Vec3& at, const Vec3& force) {
    add_force_at(model, placement, link, p_W + at, 0.25 * size * force, external);
  };
  add(a, b);
  add(-a, -b);
  add(b, -a);
  add(-b, a);
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
    if (!model.objects[model.links[l].object].is_tree()) {
      add_force_at(model, placement, l, f.point_W, f.force_W, external);
      add_torque_at(model, placement, l, f.point_W, f.torque_W, external);
      continue;
    }
    Vec6 wrench;
    wrench << f.torque_W + cross(Vec3(f.point_W - placement.origin[model.links[l].object]), f.force_W),
        f.force_W;
    for (int k = model.links[l].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
      (*external)[k] += placement.S[k].dot(wrench);
    }
  }
}

bool all_are(std::span<const char> trees, const MotionBatch& b) {
  return !trees.empty() && std::all_of(trees.begin() + b.tree_begin, trees.begin() + b.tree_end,
                                       [](char is) { return is != 0; });
}

// f(lanes) or g(batch) for all of them.
template <class F, class G>
void for_all(Scratch& s, const Threads& threads, const F& f, const G& g) {
  const int lanes = static_cast<int>(s.lanes.size()), blocks = static_cast<int>(s.blocks.size()) - 1;
  threads.for_each(lanes + blocks, [&](int task) {
    if (task < lanes) return f(s.lanes[task]);
    for (int i = s.blocks[task - lanes]; i < s.blocks[task - lanes + 1]; ++i) {
      if (!s.batches[i].is_in_lanes) g(s.batches[i]);
    }
  });
}

// Where a tree in lanes is placed alone, the bits may be others than the next step's.
void forget_placement(const Model& model, int tree, Scratch& s) {
  const Tree& t = model.trees[tree];
  for (int g = model.links[t.link_begin].stage_begin; g < model.links[t.link_end - 1].stage_end; ++g)
    s.momentum.q[model.stages[g].q] = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

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

// What joint springs move: the diagonal of M where all joints are at 0, as if nothing else were free. The
// same for trees that are equal.
static VecX calc_spring_mass(const Model& model) {
  VecX q = model.initial.q, M(model.pattern.num_values()), mass(model.num_velocities());
  for (const Stage& stage : model.stages)
    if (stage.type != StageType::ball && stage.type != StageType::free) q[stage.q] = 0;
  Placement placement = make_placement(model);
  calc_placement(model, q, &placement, 1, model.num_tree_links());
  TreeWorkspace workspace = make_tree_workspace(model);
  calc_mass_matrix(model, placement, &workspace, &M, 1, model.num_tree_links());
  for (int k = 0; k < model.num_velocities(); ++k)
    mass[k] = model.dofs[k].stiffness > 0 ? M[model.pattern.row_start[k + 1] - 1] : 1;
  return mass;
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
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    const Object& object = model.objects[i];
    ObjectMotion& w = *motion.objects.emplace_back(std::make_shared<ObjectMotion>());
    const ObjectLayout layout = object.physics->layout();
    w.pairs = layout.pairs;
    const BlockPattern pattern{layout.block_sizes, layout.pairs, {}};
    w.factor.analyze(pattern);
    w.band.analyze(w.factor.matrix);
    if (!w.band.is_worth_it() && layout.block_sizes.size() >= kManyBlocks) {  // once: the best order pays
      const double flops = w.factor.info().flops;
      w.factor.analyze(pattern, Ordering::nested_dissection);
      if (w.factor.info().flops > flops) w.factor.analyze(pattern);
      if (w.factor.info().ordering == Ordering::nested_dissection) w.order = w.factor.order();
    }
    for (VecX* x : {&w.u, &w.m, &w.added, &w.m_end, &w.dv, &w.work}) *x = VecX::Zero(object.num_dofs());
  }
  Motion::Scratch& s = *motion.scratch;
  s.spring_mass = calc_spring_mass(model);
  s.batches = make_batches(model);
  s.lanes = make_motion_lanes(model, &s.batches);
  s.blocks = make_blocks(s.batches);
  s.placement = make_placement(model);
  s.velocity = make_velocity(model);
  s.tree = make_tree_workspace(model);
  s.derivatives = make_derivatives_workspace(model);
  s.gradient = make_force_gradient(model);
  s.momentum = make_momentum_workspace(model);
  s.q = VecX::Zero(model.num_positions);
  s.M = VecX::Zero(model.pattern.num_values());
  for (VecX* x : {&s.v, &s.v_vq, &s.a, &s.tau, &s.inverse, &s.external, &s.m, &s.m_trial, &s.v_trial, &s.dv,
                  &s.M_dv, &s.turn, &s.v_free, &s.centering, &s.v_balanced, &s.balancing}) {
    *x = VecX::Zero(nv);
  }
  s.turns_freely.assign(model.trees.size(), FreeTurn::none);
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    s.spinners.push_back(find_spinner(model, t));
    if (s.spinners[t].across != 0) s.with_spinners.push_back(t);
  }
  return motion;
}

void calc_free_motion(const Model& model, const State& state, const Input& input, double dt,
                      const Scheme& scheme, const StageScope& scope, Motion* motion) {
  check_sizes(model, state, input);
  if (motion->v_star.size() != model.num_velocities()) {
    throw InputError({}, "the workspace is that of another model, or was made before an object was added",
                     "call make_workspace() after the model is complete");
  }
  Scratch& s = *motion->scratch;
  motion->released.clear();
  s.scheme = scheme;
  s.is_staggered = is_staggered(scheme);
  if (scheme.theta > 0 && s.jacobian.empty()) {  // a tree of many dofs has a large one
    for (const Tree& tree : model.trees) {
      s.jacobian.push_back(MatX::Zero(tree.num_dofs(), tree.num_dofs()));
      s.lu.emplace_back(tree.num_dofs());
    }
  }
  const bool is_placed = take_placement(state.q, &s.momentum, &motion->placement);
  const auto place_batch = [&](MotionBatch& b) {
    if (all_are(scope.unchanged, b)) return;
    for (int t = b.tree_begin; t < b.tree_end && !is_placed; ++t) {
      if (copy_placement(model, s.momentum, state.q, t, &motion->placement)) continue;
      calc_placement(model, state.q, &motion->placement, model.trees[t].link_begin, model.trees[t].link_end);
    }
    calc_velocity(model, motion->placement, state.v, &motion->velocity, b.link_begin, b.link_end);
  };
  const auto balance_batch = [&](MotionBatch& b) {
    if (all_are(scope.unchanged, b)) {
      if (b.has_forces && model.options.conserve_momentum) b.of(s.external) += b.of(s.tau);
      return;
    }
    if (all_are(scope.asleep, b)) {
      b.of(motion->v_star).setZero();
      std::fill(s.turns_freely.begin() + b.tree_begin, s.turns_freely.begin() + b.tree_end, FreeTurn::none);
      b.iterations = 0;
      b.residual = 0;
      b.converged = true;
      return;
    }
    if (b.is_free_body && scheme.theta == 0 && model.options.conserve_momentum) {
      calc_free_body(model, state, s.external, dt, scheme, b.tree_begin, motion);
      b.iterations = 1;
      b.residual = 0;
      b.converged = true;
      return;
    }
    if (b.is_in_lanes) {  // place() leaves out the bias, and does not see what is not finite
      calc_velocity(model, motion->placement, state.v, &motion->velocity, b.link_begin, b.link_end);
    }
    solve_momentum_balance(model, state, dt, scheme, b, motion);
    b.of(s.v_free) = b.of(motion->v_star);
    if (!model.options.conserve_momentum || !b.of(motion->v_star).allFinite()) return;
    b.of(s.external) += b.of(s.tau);
    const Placement& at_forces = scheme.theta > 0 ? s.placement : motion->placement;
    for (int t = b.tree_begin; t < b.tree_end; ++t) {
      if (!conserves_momentum(model, t)) continue;
      balance_momentum(model, t, state, motion->placement, motion->velocity, at_forces, s.external, dt,
                       scheme.theta_vq, &s.momentum, &motion->v_star);
      if (has_offset(model, *motion, t)) tell_at_start(model, *motion, dt, t, &motion->v_star);
      begin_free_turn(model, state, dt, t, motion);
    }
  };
  const auto are_unchanged = [&](const MotionLanes& lanes) {
    return std::all_of(lanes.batches.begin(), lanes.batches.end(),
                       [&](int i) { return all_are(scope.unchanged, s.batches[i]); });
  };
  const auto place_lanes = [&](MotionLanes& lanes) {
    if (!are_unchanged(lanes)) place(model, state, is_placed, lanes, motion);
  };
  const auto balance_lanes = [&](MotionLanes& lanes) {
    std::array<bool, 4> is_left;
    for (int i = 0; i < 4; ++i) is_left[i] = all_are(scope.asleep, s.batches[lanes.batches[i]]);
    if (scheme.theta > 0 || are_unchanged(lanes) || !std::count(is_left.begin(), is_left.end(), false)) {
      is_left.fill(true);
    } else {
      balance(model, state, dt, scheme, lanes, &is_left, motion);
    }
    for (int i = 0; i < lanes.trees.count; ++i) {
      MotionBatch& b = s.batches[lanes.batches[i]];
      if (is_left[i]) {
        balance_batch(b);
        continue;
      }
      b.iterations = 1;
      b.residual = 0;
      b.converged = true;
      if (!b.has_velocity_terms || !is_staggered(scheme)) continue;
      calc_velocity(model, motion->placement, state.v, &motion->velocity, b.link_begin, b.link_end);
      calc_inverse_dynamics(model, motion->placement, motion->velocity, nullptr, &s.tree, &s.inverse,
                            b.link_begin, b.link_end);
      center_velocity_terms(model, state, dt, scheme, b, motion->v_star, motion);
    }
  };
  if (input.body_forces.empty()) {
    calc_external(model, motion->placement, input, &s.external);
    for_all(  // both while what was placed is in the cache
        s, scope.threads,
        [&](MotionLanes& lanes) {
          place_lanes(lanes);
          balance_lanes(lanes);
        },
        [&](MotionBatch& b) {
          place_batch(b);
          balance_batch(b);
        });
  } else {
    for_all(s, scope.threads, place_lanes, place_batch);
    place_objects(model, state.q, &motion->placement);
    calc_external(model, motion->placement, input, &s.external);
    for_all(s, scope.threads, balance_lanes, balance_batch);
  }
  motion->iterations = 0;
  motion->residual = 0;
  motion->converged = true;
  forget_struck_objects(model, motion);
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    const Object& object = model.objects[i];
    place_object(model, state.q, i, &motion->placement);
    calc_twists(model, motion->placement, state.v, i, &motion->velocity.V);
    if (scope.is_asleep(i)) {
      motion->v_star.segment(object.dof_begin, object.num_dofs()).setZero();
      continue;
    }
    calc_object_motion({model, state, dt, scheme}, i, motion);
    const ObjectMotion& w = motion_of(model, *motion, i);
    motion->iterations = std::max(motion->iterations, w.iterations);
    motion->converged = motion->converged && w.converged;
  }
  for (const MotionBatch& b : s.batches) {
    if (!all_are(scope.unchanged, b)) {
      b.of(s.v_balanced) = b.of(motion->v_star);
      b.of(s.balancing).setZero();
    }
    if (moves_along_mean(scheme) && !all_are(scope.unchanged, b))
      b.of(s.centering) = b.of(motion->v_star) - b.of(s.v_free);
    motion->iterations = std::max(motion->iterations, b.iterations);
    if (!(b.residual <= motion->residual)) motion->residual = b.residual;
    motion->converged = motion->converged && b.converged;
  }
}

bool center_velocity_terms(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                           const VecX& v, Motion* motion) {
  constexpr double kEnough = 1e-8;
  const std::vector<MotionBatch>& batches = motion->scratch->batches;
  const auto b = std::partition_point(batches.begin(), batches.end(),
                                      [&](const MotionBatch& batch) { return batch.tree_end <= tree; });
  return b->has_velocity_terms && center_velocity_terms(model, state, dt, scheme, *b, v, motion) > kEnough;
}

void balance_after_constraints(const Model& model, const State& state, double dt, const Scheme& scheme,
                               int tree, Motion* motion, VecX* v) {
  Scratch& s = *motion->scratch;
  balance_momentum(model, tree, state, motion->placement, motion->velocity,
                   scheme.theta > 0 ? s.placement : motion->placement, s.external, dt, scheme.theta_vq,
                   &s.momentum, v);
  forget_placement(model, tree, s);
}

void begin_balancing(const Model& model, int tree, Motion* motion) {
  Scratch& s = *motion->scratch;
  const Tree& t = model.trees[tree];
  const auto of_tree = [&](auto& x) { return x.segment(t.dof_begin, t.num_dofs()); };
  of_tree(s.balancing) = of_tree(s.v_free) - of_tree(s.v_balanced);
  for (VecX* x : {&motion->v_star, &s.v_balanced}) of_tree(*x) += of_tree(s.balancing);
}

double balance_touched(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                       const VecX& v, Motion* motion) {
  Scratch& s = *motion->scratch;
  const Tree& t = model.trees[tree];
  const auto of_tree = [&](auto& x) { return x.segment(t.dof_begin, t.num_dofs()); };
  const auto of_root = [&](auto& x) {
    return x.segment(t.dof_begin, model.links[t.link_begin].dof_end - t.dof_begin);
  };
  of_tree(s.dv) = of_tree(v) - of_tree(s.v_balanced);
  multiply_A(model, *motion, tree, s.dv, &s.M_dv);
  of_root(s.dv) = of_root(s.external) + of_root(s.M_dv) / dt;
  of_tree(s.v_trial) = of_tree(v);
  balance_momentum(model, tree, state, motion->placement, motion->velocity,
                   scheme.theta > 0 ? s.placement : motion->placement, s.dv, dt, scheme.theta_vq, &s.momentum,
                   &s.v_trial);
  forget_placement(model, tree, s);
  of_tree(s.dv) = of_tree(s.v_trial) - of_tree(v);
  const auto norm = [&](const VecX& x) {
    multiply_A(model, *motion, tree, x, &s.M_dv);
    return std::sqrt(std::max(0.0, of_tree(x).dot(of_tree(s.M_dv))));
  };
  double mass = 0;
  for (int l = t.link_begin; l < t.link_end; ++l) mass += model.links[l].mass;
  const double change = norm(s.dv), speed = norm(v) + dt * model.options.gravity.norm() * std::sqrt(mass);
  if (!(change > kSettledBalance * speed)) return 0;
  for (VecX* x : {&motion->v_star, &s.v_balanced, &s.balancing}) of_tree(*x) += of_tree(s.dv);
  return change / speed;
}

void forget_balancing(const Model& model, int tree, Motion* motion) {
  Scratch& s = *motion->scratch;
  const Tree& t = model.trees[tree];
  const auto of_tree = [&](auto& x) { return x.segment(t.dof_begin, t.num_dofs()); };
  for (VecX* x : {&motion->v_star, &s.v_balanced}) of_tree(*x) -= of_tree(s.balancing);
  of_tree(s.balancing).setZero();
}

namespace {

// Without the shift.
void move_trees(const Model& model, const State& state, const VecX& v, double dt, double theta_vq, int begin,
                int end, Scratch& s, VecX* q1) {
  const Tree &first = model.trees[begin], &last = model.trees[end - 1];
  const int dof = first.dof_begin, n = last.dof_end - dof;
  s.v_vq.segment(dof, n) = theta_vq * v.segment(dof, n) + (1 - theta_vq) * state.v.segment(dof, n);
  move(model, state.q, s.v_vq, dt, q1, model.links[first.link_begin].stage_begin,
       model.links[last.link_end - 1].stage_end);
}

}  // namespace

void move_on(const Model& model, const State& state, const VecX& v, double dt, double theta_vq,
             const Threads& threads, Motion* motion, VecX* q1) {
  Scratch& s = *motion->scratch;
  const int num_trees = static_cast<int>(model.trees.size());
  threads.for_each_block(
      num_trees, kDofsInBlock * num_trees / std::max(1, model.num_velocities()) + 1,
      [&](int begin, int end) { move_trees(model, state, v, dt, theta_vq, begin, end, s, q1); });
  for (int i = num_trees; i < model.num_objects(); ++i) {
    const Object& o = model.objects[i];
    const double of_v = is_struck(*motion, i) ? 1 : theta_vq;
    s.v_vq.segment(o.dof_begin, o.num_dofs()) =
        of_v * v.segment(o.dof_begin, o.num_dofs()) + (1 - of_v) * state.v.segment(o.dof_begin, o.num_dofs());
    move_object(model, i, state.q, s.v_vq, dt, q1);
  }
  if (!model.options.conserve_momentum) return;
  for_all(
      s, threads, [&](MotionLanes& lanes) { balance_position(model, v, dt, theta_vq, lanes, motion, q1); },
      [&](const MotionBatch& b) {
        if (b.is_free_body) return;
        balance_position(model, motion->placement, motion->velocity, v, dt, theta_vq, b.tree_begin,
                         b.tree_end, &s.momentum, q1);
      });
}

void move_on(const Model& model, const State& state, const VecX& v, double dt, int tree, Motion* motion,
             VecX* q1, Placement* placement) {
  Scratch& s = *motion->scratch;
  if (!model.objects[tree].is_tree()) {
    move_object(model, tree, state.q, v, dt, q1);
    return place_carriers(model, *q1, tree, placement);
  }
  const VecX* v_end = &v;
  if (has_offset(model, *motion, tree)) {
    const Tree& t = model.trees[tree];
    s.v.segment(t.dof_begin, t.num_dofs()) = v.segment(t.dof_begin, t.num_dofs());
    tell_at_end(model, *motion, dt, tree, v.segment<3>(t.dof_end - 3), &s.v);
    v_end = &s.v;
  }
  move_trees(model, state, *v_end, dt, 1, tree, tree + 1, s, q1);
  if (model.options.conserve_momentum)
    balance_position(model, motion->placement, motion->velocity, *v_end, dt, 1, tree, tree + 1, &s.momentum,
                     q1);
  if (!copy_placement(model, s.momentum, *q1, tree, placement))
    calc_placement(model, *q1, placement, model.trees[tree].link_begin, model.trees[tree].link_end);
  forget_placement(model, tree, s);
}

}  // namespace capstan
