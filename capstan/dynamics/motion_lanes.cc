// The free motion of four equal trees at a time (tree_lanes.h): the same equations as for one in
// momentum_balance.cc and momentum.cc. Where all actuators are motors, k_1 is linear in v as long as no
// tendon begins or ceases to pull: one Newton step is the answer, and k_1 there follows from its gradient.
#include <algorithm>
#include <limits>

#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/branch_lanes.h"

namespace capstan {
namespace {

using Scratch = Motion::Scratch;

bool are_equal_ranges(const Range& a, const Range& b) {
  return a.lower == b.lower && a.upper == b.upper;
}
bool are_equal_transmissions(const Transmission& a, const Transmission& b, int dv) {
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [&](const Transmission::Term& x, const Transmission::Term& y) {
                      return x.dof + dv == y.dof && x.coefficient == y.coefficient;
                    });
}
bool are_equal_actuators(const ModelActuator& a, const ModelActuator& b, int dv) {
  return are_equal_transmissions(a.transmission, b.transmission, dv) && a.gain == b.gain &&
         a.bias == b.bias && are_equal_ranges(a.control_range, b.control_range) &&
         are_equal_ranges(a.force_range, b.force_range);
}
bool are_equal_tendons(const ModelTendon& a, const ModelTendon& b, int dv) {
  return are_equal_transmissions(a.transmission, b.transmission, dv) && a.stiffness == b.stiffness &&
         a.damping == b.damping && are_equal_ranges(a.spring_rest, b.spring_rest);
}

// Lanes do not know how lone bodies turn (free_turn.h, offset_body.h).
bool is_apt(const Model& model, const MotionBatch& b) {
  const Link& root = model.links[b.link_begin];
  const bool is_lone = b.link_end == b.link_begin + 1 && root.stage_begin < root.stage_end &&
                       model.stages[root.stage_begin].type == StageType::free;
  return b.tree_end == b.tree_begin + 1 && !is_lone && b.is_piecewise_linear && b.forces.has_motors_only;
}

bool are_equal(const Model& model, const MotionBatch& a, const MotionBatch& b) {
  const int dv = b.forces.dof_begin - a.forces.dof_begin;
  const auto have_equal = [](const std::vector<int>& x, const std::vector<int>& y, const auto& f) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), f);
  };
  return is_apt(model, a) && is_apt(model, b) &&
         have_equal(
             a.forces.tendons, b.forces.tendons,
             [&](int i, int j) { return are_equal_tendons(model.tendons[i], model.tendons[j], dv); }) &&
         have_equal(
             a.forces.actuators, b.forces.actuators,
             [&](int i, int j) { return are_equal_actuators(model.actuators[i], model.actuators[j], dv); }) &&
         are_equal(model, a.tree_begin, b.tree_begin);
}

// Addresses of data[index(tree)] of the lanes; null for lanes that `is_left` tells of, or that repeat a tree.
template <class F>
std::array<const double*, 4> from(const TreeLanes& t, const VecX& data, const F& index) {
  std::array<const double*, 4> places;
  for (int lane = 0; lane < 4; ++lane) places[lane] = data.data() + index(t.trees[lane]);
  return places;
}
template <class F>
std::array<double*, 4> to(const TreeLanes& t, const std::array<bool, 4>& is_left, VecX* data,
                          const F& index) {
  std::array<double*, 4> places = {};
  for (int lane = 0; lane < t.count; ++lane) {
    if (!is_left[lane]) places[lane] = data->data() + index(t.trees[lane]);
  }
  return places;
}

auto first_dof(const Model& model) {
  return [&model](int tree) { return model.trees[tree].dof_begin; };
}
auto first_value(const Model& model) {
  return [&model](int tree) { return model.system_pattern.row_start[model.trees[tree].dof_begin]; };
}
auto first_position(const Model& model) {
  return [&model](int tree) { return model.stages[model.links[model.trees[tree].link_begin].stage_begin].q; };
}

CAPSTAN_INLINE inline void clamp(double lower, double upper, Four* x) {
  const Four low = Four{} + lower, high = Four{} + upper;
  *x = *x < low ? low : *x > high ? high : *x;
}

// How far a tendon is out of its rest range.
CAPSTAN_INLINE inline void calc_stretch(const Range& rest, const Four& length, Four* stretch) {
  *stretch = length < rest.lower ? length - rest.lower : length > rest.upper ? length - rest.upper : Four{};
}

// k_1 at v0 into tau, and what it adds to A; dv, which comes with the bias forces, becomes -m(v0).
CAPSTAN_CLONES void add_joint_forces(const Model& model, const ForceRange* forces[4], const VecX& control,
                                     double dt, const Scheme& scheme, const Scratch& s, TreeLanes* t,
                                     Four* lengths) {
  const int k0 = forces[0]->dof_begin, q0 = first_position(model)(t->trees[0]);
  const int* row_start = model.pattern.row_start.data();
  const int first = row_start[k0];
  for (int k = 0; k < t->num_dofs; ++k) t->tau[k].x = Four{};
  for (std::size_t i = 0; i < forces[0]->actuators.size(); ++i) {
    const ModelActuator& a = model.actuators[forces[0]->actuators[i]];
    Four force;
    gather([&](int lane) CAPSTAN_INLINE { return control[forces[lane]->actuators[i]]; }, &force);
    clamp(a.control_range.lower, a.control_range.upper, &force);
    force = a.gain * force + a.bias[0];
    clamp(a.force_range.lower, a.force_range.upper, &force);
    for (const auto& term : a.transmission.terms) t->tau[term.dof - k0].x += term.coefficient * force;
  }
  const double kk = dt * dt * scheme.theta1 * scheme.theta_vq, dd = dt * scheme.theta1;
  const auto position = [&](int k, Four* q) CAPSTAN_INLINE {  // at q^theta1 with v0
    *q = t->q[model.dofs[k].q - q0].x + (scheme.theta1 * dt) * t->v0[k - k0].x;
  };
  for (int k = 0; k < t->num_dofs; ++k) {
    const ModelDof& dof = model.dofs[k0 + k];
    Four& tau = t->tau[k].x;
    clamp(-dof.effort_limit, dof.effort_limit, &tau);
    tau -= dof.damping * t->v0[k].x;
    double stiffness = dof.stiffness;  // in A
    if (dof.stiffness > 0) {
      const SpringRule rule = find_spring_rule(s, scheme, model, k0 + k, dt);
      const Four way = ((rule.of_v - rule.of_v0) * scheme.theta1 * dt) * t->v0[k].x;
      tau -= dof.stiffness * (t->q[dof.q - q0].x + way - dof.spring_reference);
      stiffness *= rule.of_v;
    }
    t->A[row_start[k0 + k + 1] - 1 - first].x += kk * stiffness + dd * dof.damping;
  }
  for (const int i : forces[0]->tendons) {
    const ModelTendon& tendon = model.tendons[i];
    const auto& terms = tendon.transmission.terms;
    Four length = {}, rate = {}, stretch;
    for (const auto& term : terms) {
      Four q;
      position(term.dof, &q);
      length += term.coefficient * q;
      rate += term.coefficient * t->v0[term.dof - k0].x;
    }
    calc_stretch(tendon.spring_rest, length, &stretch);
    *lengths++ = length;
    const Four force = -tendon.stiffness * stretch - tendon.damping * rate;
    const Four slope = (stretch != 0 ? Four{} + kk * tendon.stiffness : Four{}) + dd * tendon.damping;
    for (const auto& row : terms) {
      t->tau[row.dof - k0].x += row.coefficient * force;
      for (const auto& column : terms) {
        const int begin = row_start[row.dof];
        for (int at = begin; at < row_start[row.dof + 1]; ++at) {
          if (model.pattern.columns[at] == column.dof)
            t->A[at - first].x += (row.coefficient * column.coefficient) * slope;
        }
      }
    }
  }
  for (int k = 0; k < t->num_dofs; ++k) t->dv[k].x = dt * (t->tau[k].x + t->external[k].x - t->dv[k].x);
}

// v*, k_1 there, and with the external forces. Lanes are not good that are not finite, or where a tendon
// begins or ceases to pull: then one step is not the answer.
CAPSTAN_CLONES void take_step(const Model& model, const ForceRange& forces, double dt, const Scheme& scheme,
                              const Scratch& s, TreeLanes* t, const Four* lengths,
                              std::array<bool, 4>* is_good) {
  const int k0 = forces.dof_begin;
  const double way = scheme.theta1 * dt * scheme.theta_vq;  // that dv makes of q^theta1
  for (int k = 0; k < t->num_dofs; ++k) {
    const ModelDof& dof = model.dofs[k0 + k];
    double slope = scheme.theta1 * dof.damping;
    if (dof.stiffness > 0) slope += way * dof.stiffness * find_spring_rule(s, scheme, model, k0 + k, dt).of_v;
    t->tau[k].x -= slope * t->dv[k].x;
  }
  Four zero = {};
  for (const int i : forces.tendons) {
    const ModelTendon& tendon = model.tendons[i];
    const Four length = *lengths++;
    Four change = {}, before, after;
    for (const auto& term : tendon.transmission.terms) change += term.coefficient * t->dv[term.dof - k0].x;
    calc_stretch(tendon.spring_rest, length, &before);
    calc_stretch(tendon.spring_rest, length + way * change, &after);
    const Four force = -tendon.stiffness * (after - before) - (scheme.theta1 * tendon.damping) * change;
    for (const auto& term : tendon.transmission.terms) t->tau[term.dof - k0].x += term.coefficient * force;
    const auto is_same_side = ((before > 0) == (after > 0)) & ((before < 0) == (after < 0));
    zero += is_same_side ? Four{} : Four{} + 1.0;
  }
  for (int k = 0; k < t->num_dofs; ++k) {
    t->v[k].x = t->v0[k].x + t->dv[k].x;
    t->external[k].x += t->tau[k].x;
    zero += 0 * t->v[k].x;
  }
  for (int lane = 0; lane < 4; ++lane) (*is_good)[lane] = zero[lane] == 0;
}

// The tree of each lane as its root carries it.
std::array<CompositeTree, 4> calc_wholes(const TreeLanes& t, const std::array<Vec3, 4>& origin) {
  std::array<RigidInertia, 4> inertia;
  std::array<Vec6, 4> momentum;
  calc_sums(t, &inertia, &momentum);
  std::array<CompositeTree, 4> wholes;
  for (int lane = 0; lane < t.count; ++lane)
    wholes[lane] = make_composite(inertia[lane], momentum[lane], origin[lane]);
  return wholes;
}

std::array<Vec3, 4> origins(const TreeLanes& t) {
  std::array<Vec3, 4> origin;
  store_lanes(&t.origin.x, 3, {origin[0].data(), origin[1].data(), origin[2].data(), origin[3].data()});
  return origin;
}

// balance_momentum().
void balance_roots(const Model& model, const State& state, double dt, const Scheme& scheme,
                   const std::array<bool, 4>& is_left, TreeLanes& t, Motion* motion) {
  Scratch& s = *motion->scratch;
  const Placement& start = motion->placement;
  std::array<Vec3, 4> start_origin;
  for (int lane = 0; lane < 4; ++lane) start_origin[lane] = start.origin[t.trees[lane]];
  const std::array<CompositeTree, 4> before = calc_wholes(t, start_origin);
  for (int k = 0; k < t.num_dofs; ++k)
    t.dv[k].x = scheme.theta_vq * t.v[k].x + (1 - scheme.theta_vq) * t.v0[k].x;
  move(model, t.dv, dt, &t);
  calc_placement(model, &t);
  calc_link_velocities(model, t.v, &t);
  const std::array<CompositeTree, 4> after = calc_wholes(t, origins(t));
  std::array<Transform, 4> X1;
  store_lanes(fours(t.X_WL), 12, {X1[0].R.data(), X1[1].R.data(), X1[2].R.data(), X1[3].R.data()});
  for (int lane = 0; lane < t.count; ++lane) {
    if (is_left[lane]) continue;
    balance_root(model, t.trees[lane], state, start, before[lane], start, s.external, dt, scheme.theta_vq,
                 after[lane], X1[lane], &motion->v_star);
  }
}

}  // namespace

std::vector<MotionLanes> make_motion_lanes(const Model& model, std::vector<MotionBatch>* batches) {
  std::vector<std::vector<int>> kinds;  // equal batches
  for (int i = 0; i < static_cast<int>(batches->size()); ++i) {
    const MotionBatch& b = (*batches)[i];
    if (!are_equal(model, b, b)) continue;  // of a kind that lanes do not know
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const std::vector<int>& equal) {
      return are_equal(model, (*batches)[equal.front()], b);
    });
    kind == kinds.end() ? kinds.push_back({i}) : kind->push_back(i);
  }
  std::vector<MotionLanes> lanes;
  for (const std::vector<int>& equal : kinds) {
    const int n = static_cast<int>(equal.size());
    for (int i = 0; i + 1 < n; i += 4) {  // one that is left over is computed alone
      MotionLanes& group = lanes.emplace_back();
      std::vector<int> trees;
      for (int lane = 0; lane < 4; ++lane) {
        group.batches[lane] = equal[std::min(i + lane, n - 1)];
        MotionBatch& b = (*batches)[group.batches[lane]];
        b.is_in_lanes = true;
        if (i + lane < n) trees.push_back(b.tree_begin);
      }
      group.trees = make_tree_lanes(model, trees);
      group.lengths.resize((*batches)[equal.front()].forces.tendons.size());
    }
  }
  return lanes;
}

void place(const Model& model, const State& state, bool is_placed, MotionLanes& lanes, Motion* motion) {
  TreeLanes& t = lanes.trees;
  load_lanes(from(t, state.q, first_position(model)), t.num_positions, fours(t.q));
  load_lanes(from(t, state.v, first_dof(model)), t.num_dofs, fours(t.v0));
  for (int lane = 0; lane < t.count && !is_placed; ++lane) {
    if (copy_placement(model, motion->scratch->momentum, state.q, t.trees[lane], &motion->placement))
      continue;
    calc_placement(model, &t);
    store_placement(model, t, &motion->placement);
    break;
  }
  load_placement(model, motion->placement, &t);
  calc_velocity(model, t.v0, &t);
  std::array<double*, 4> V = {};
  for (int lane = 0; lane < t.count; ++lane)
    V[lane] = motion->velocity.V[model.trees[t.trees[lane]].link_begin].data();
  store_lanes(fours(t.V), 6 * t.num_links, V);
}

void balance(const Model& model, const State& state, double dt, const Scheme& scheme, MotionLanes& lanes,
             std::array<bool, 4>* is_left, Motion* motion) {
  Scratch& s = *motion->scratch;
  TreeLanes& t = lanes.trees;
  const ForceRange* forces[4];
  for (int lane = 0; lane < 4; ++lane) forces[lane] = &s.batches[lanes.batches[lane]].forces;
  load_lanes(from(t, s.external, first_dof(model)), t.num_dofs, fours(t.external));
  calc_mass_matrix(model, &t);
  calc_inverse_dynamics(model, &t, &t.dv);
  Four* lengths = fours(lanes.lengths);
  add_joint_forces(model, forces, state.control, dt, scheme, s, &t, lengths);
  Four *A = fours(t.A), *dv = fours(t.dv);
  store_lanes(A, t.num_values, to(t, *is_left, &motion->A, first_value(model)));
  const int begin = forces[0]->dof_begin, end = forces[0]->dof_end;
  if (factor(model.pattern, A, 0, begin, end) >= 0) return is_left->fill(true);  // the step will fail
  store_lanes(A, t.num_values, to(t, *is_left, &motion->A_factor, first_value(model)));
  solve_in_place(model.pattern, A, dv, begin, end);
  std::array<bool, 4> is_good;
  take_step(model, *forces[0], dt, scheme, s, &t, lengths, &is_good);
  for (int lane = 0; lane < 4; ++lane) (*is_left)[lane] = (*is_left)[lane] || !is_good[lane];
  store_lanes(fours(t.v), t.num_dofs, to(t, *is_left, &motion->v_star, first_dof(model)));
  store_lanes(fours(t.v), t.num_dofs, to(t, *is_left, &s.v_free, first_dof(model)));
  store_lanes(fours(t.tau), t.num_dofs, to(t, *is_left, &s.tau, first_dof(model)));
  if (!model.options.conserve_momentum) return;
  store_lanes(fours(t.external), t.num_dofs, to(t, *is_left, &s.external, first_dof(model)));
  if (conserves_momentum(model, t.trees[0])) balance_roots(model, state, dt, scheme, *is_left, t, motion);
}

void balance_position(const Model& model, const VecX& v, double dt, double theta_vq, MotionLanes& lanes,
                      Motion* motion, VecX* q1) {
  TreeLanes& t = lanes.trees;
  if (!t.has_free_root || !conserves_momentum(model, t.trees[0])) return;
  const auto first = first_position(model);
  load_lanes(from(t, *q1, first), t.num_positions, fours(t.q));
  load_lanes(from(t, v, first_dof(model)), t.num_dofs, fours(t.v));
  calc_placement(model, &t);
  calc_link_velocities(model, t.v, &t);
  const std::array<CompositeTree, 4> after = calc_wholes(t, origins(t));
  MomentumWorkspace& w = motion->scratch->momentum;
  for (int lane = 0; lane < t.count; ++lane) {
    const int tree = t.trees[lane];
    shift_root(model, motion->placement, motion->velocity, tree, after[lane], dt, theta_vq, q1);
    w.q.segment(first(tree), t.num_positions) = q1->segment(first(tree), t.num_positions);
  }
  load_lanes(from(t, *q1, first), 3, fours(t.q));
  place_origin(model, &t);
  store_placement(model, t, &w.placement);
}

}  // namespace capstan
