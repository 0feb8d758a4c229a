#include <algorithm>
#include <cmath>

#include "capstan/dynamics/center_momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/laws/soft_reference.h"
#include "capstan/problem/assembler.h"
#include "capstan/problem/gap.h"
#include "capstan/problem/ties_midway.h"

namespace capstan {
namespace {

// Rigid ties are softer than nothing by this part of the near-rigid R: under a load that accelerates what it
// ties at a, they give way by 2.5e-5 a dt^2. They never open or close, so Newton's method does not mind.
constexpr double kTieSoftness = 0.1;

}  // namespace

// The inverse inertia that a soft constraint goes by in a row; 0: that of the row itself.
double Assembler::soft_weight(const ModelConstraint& c, int row) const {
  const SoftWeights& weights = w.soft_weights;
  if (c.type == ConstraintType::coupler) {
    return weights.dof[model.joints[c.joint_a].v] +
           (c.joint_b >= 0 ? weights.dof[model.joints[c.joint_b].v] : 0.0);
  }
  const int turns = c.type == ConstraintType::weld && row < 3;
  double sum = 0;
  for (const int body : {c.body_a, c.body_b}) {
    const int link = model.bodies[body].link;
    if (link >= model.num_tree_links()) return 0;  // of an object without joints
    sum += weights.link[link][turns];
  }
  return sum;
}

bool Assembler::is_midway() const {
  return moves_along_mean(motion.scratch->scheme);
}

// The laws of a constraint between joints or links. A rigid one anticipates the curvature of its path, the
// part of the gap at the end of the step that J v does not tell: taken from the velocities before the step,
// right to second order in dt, then from those of the answer (center_ties(); step/close_loops.h does the
// rest). Then J v is as far below zero after a
// step as it was above it before, and the constraint does no work (SHAKE); without, a loop that turns at w
// loses w^2 dt of its energy in a second.
//
// Where positions move along the mean of both velocities, rows are those of the place half-way, q0 + dt/2 v0,
// and J v is what the constraint's rate at the end of the step, zero, was there: by as much below zero as the
// velocity before the step is above it, so that impulses along J do no work. The bend of the first half of
// the way tells how much.
Vec6 Assembler::calc_curvature(const ConstraintGroup& group, const ModelConstraint& c, const VecX& v) const {
  const Vec6 before = calc_gap(model, c, state.q, motion.placement),
             ahead = calc_gap(model, c, w.q_ahead, w.ahead), way = dt * problem.calc_motion(group, v);
  return is_midway() ? Vec6(4 * (before - ahead) + 2 * way) : Vec6(ahead - before - way);
}

void Assembler::add_laws(const ConstraintGroup& group, const ModelConstraint& c, const Vec6& phi) {
  const Mat6 W = delassus.calc(group);
  Vec6 curvature = Vec6::Zero();
  if (is_rigid(model, c)) curvature = calc_curvature(group, c, state.v);
  // Rows that are a vector together (a turn, a way) keep its direction when its speed is bounded.
  const int rows = std::min(group.num_rows, 3);
  if (c.soft) {
    const Vec6 rate = problem.calc_motion(group, state.v);
    const double error = phi.head(group.num_rows).norm();
    for (int i = 0; i < group.num_rows; ++i) {
      const double weight = soft_weight(c, i);
      problem.laws.push_back(
          make_soft_law(*c.soft, phi[i], rate[i], error, weight > 0 ? weight : W(i, i), W(i, i), dt));
      w.curvature.resize(problem.laws.size());
    }
    problem.groups.push_back(group);
    return;
  }
  for (int first = 0; first < group.num_rows; first += rows) {
    const double error = phi.segment(first, rows).norm();
    for (int i = first; i < first + rows; ++i) {
      ScalarLaw law = make_law(phi[i], W(i, i), c.stiffness, c.relaxation_time);
      const double R = law.R;
      if (R <= near_rigid_R(W(i, i))) bound_recovery(phi[i], error, &law);
      // A wide turn bends by what both bodies do together, which is not to be undone.
      const bool is_wide_turn = c.type == ConstraintType::weld && first == 0 && law.R < R;
      if (is_wide_turn) law.left = kInfinity;
      if (!is_wide_turn) law.v_hat -= curvature[i] / dt;
      if (is_rigid(model, c)) law.R *= kTieSoftness;
      problem.laws.push_back(law);
      w.curvature.resize(problem.laws.size());
      w.curvature.back() = curvature[i];
    }
  }
  problem.groups.push_back(group);
}

void Assembler::add_coupler(const ModelConstraint& c, int id) {
  const ModelJoint& a = model.joints[c.joint_a];
  double slope = 0;
  if (c.joint_b >= 0) {
    const ModelJoint& b = model.joints[c.joint_b];
    const VecX& q = is_midway() && is_rigid(model, c) ? w.q_ahead : state.q;
    const double x = q[b.q] - model.dofs[b.v].reference;
    double power = 1;
    for (int k = 1; k < 5; ++k, power *= x) slope += k * c.polynomial[k] * power;
  }
  ConstraintGroup group = begin_group(1);
  group.constraint = id;
  const int tree_a = tree_of(model.dofs[a.v].link);
  part_for(&group, tree_a)[a.v - model.trees[tree_a].dof_begin] += 1;
  if (c.joint_b >= 0) {
    const ModelJoint& b = model.joints[c.joint_b];
    const int tree_b = tree_of(model.dofs[b.v].link);
    part_for(&group, tree_b)[b.v - model.trees[tree_b].dof_begin] -= slope;
  }
  add_laws(group, c, calc_gap(model, c, state.q, motion.placement));
}

// Each point is taken where it is, so that the rows are the exact rate of the gap.
void Assembler::set_tie_rows(const ConstraintGroup& group, const ModelConstraint& c) {
  set_zero(group);
  add_motion(group, model.bodies[c.body_a].link, calc_frame(model, *rows_at, c.body_a, *c.X_A).p, -1);
  add_motion(group, model.bodies[c.body_b].link, calc_frame(model, *rows_at, c.body_b, *c.X_B).p, 1);
}

// One row along the line: the three of a tie with the same parts, projected.
void Assembler::set_distance_row(const ConstraintGroup& row, const ModelConstraint& c) {
  const int num_parts = static_cast<int>(problem.parts.size()), before = num_values;
  ConstraintGroup group = begin_group(3);
  for (int p = row.part_begin; p < row.part_end; ++p) find_part(&group, problem.parts[p].block);
  set_tie_rows(group, c);
  const Vec3 gap =
      calc_frame(model, *rows_at, c.body_b, *c.X_B).p - calc_frame(model, *rows_at, c.body_a, *c.X_A).p;
  const double length = gap.norm();
  const Vec3 direction = length > 1e-9 ? Vec3(gap / length) : Vec3(0, 0, 1);
  for (int p = row.part_begin; p < row.part_end; ++p) {
    const int from = problem.parts[group.part_begin + p - row.part_begin].jacobian;
    double* J = problem.jacobians.data() + problem.parts[p].jacobian;
    for (int k = 0; k < model.blocks[problem.parts[p].block].size; ++k) {
      const double* column = problem.jacobians.data() + from + 3 * k;
      J[k] = direction.x() * column[0] + direction.y() * column[1] + direction.z() * column[2];
    }
  }
  problem.parts.resize(num_parts);
  num_values = before;
}

void Assembler::add_tie(const ModelConstraint& c, int id) {
  rows_at = is_midway() && is_rigid(model, c) ? &w.ahead : &motion.placement;
  const int link_a = model.bodies[c.body_a].link, link_b = model.bodies[c.body_b].link;
  if (link_a == link_b) return;  // welded together already
  const bool is_distance = c.type == ConstraintType::distance;
  ConstraintGroup group = begin_group(c.type == ConstraintType::weld ? 6 : is_distance ? 1 : 3);
  group.constraint = id;
  declare_point(&group, link_a, calc_frame(model, *rows_at, c.body_a, *c.X_A).p);
  declare_point(&group, link_b, calc_frame(model, *rows_at, c.body_b, *c.X_B).p);
  if (is_distance) {
    set_distance_row(group, c);
  } else {
    set_tie_rows(group, c);
  }
  add_laws(group, c, calc_gap(model, c, state.q, motion.placement));
}

namespace {

bool is_centered(const Model& model, const ConstraintGroup& group) {
  if (group.constraint < 0 || group.part_begin == group.part_end) return false;
  const ModelConstraint& c = model.constraints[group.constraint];
  return is_rigid(model, c) && is_between_trees(model, c);
}

void set_curvature(int law, double curvature, AssemblyWorkspace* w, Problem* problem) {
  problem->laws[law].v_hat -= (curvature - w->curvature[law]) / problem->dt;
  w->curvature[law] = curvature;
}

void mark_objects(const Problem& problem, const ConstraintGroup& group, std::vector<char>* objects) {
  for (int p = group.part_begin; p < group.part_end; ++p) (*objects)[problem.object_of(problem.parts[p])] = 1;
}

}  // namespace

double center_ties(const State& state, const VecX& v, AssemblyWorkspace* workspace, Problem* problem,
                   std::vector<char>* objects) {
  constexpr double kEnough = 1e-6, kClosed = 1e-12;  // of the curvature; [m or rad]
  constexpr double kMost = 2, kSmall = 1e-6;         // likewise: a change that is believed
  const Model& model = *problem->model;
  AssemblyWorkspace& w = *workspace;
  const double dt = problem->dt;
  w.q_ahead = state.q;
  calc_placement_ahead(model, w.constrained_objects, state.q, v, dt, &w.q_ahead, &w.ahead);
  std::vector<Vec6>& found = w.found_curvature;
  found.clear();
  for (const ConstraintGroup& group : problem->groups) {
    if (!is_centered(model, group)) continue;
    const ModelConstraint& c = model.constraints[group.constraint];
    found.push_back(calc_gap(model, c, w.q_ahead, w.ahead) -
                    calc_gap(model, c, state.q, problem->motion->placement) -
                    dt * problem->calc_motion(group, v));
    double change = 0, before = 0;
    for (int r = 0; r < group.num_rows; ++r) {
      const int law = group.law_begin + r;
      if (std::isinf(problem->laws[law].left)) found.back()[r] = w.curvature[law];  // a wide turn
      change = std::max(change, std::abs(found.back()[r] - w.curvature[law]));
      before = std::max(before, std::abs(w.curvature[law]));
    }
    if (!(change <= std::max(kMost * before, kSmall))) return kInfinity;
  }
  double largest = 0;
  int at = 0;
  for (const ConstraintGroup& group : problem->groups) {
    if (!is_centered(model, group)) continue;
    const Vec6& curvature = found[at++];
    bool is_other = false;
    for (int r = 0; r < group.num_rows; ++r) {
      const int law = group.law_begin + r;
      const double change = std::abs(curvature[r] - w.curvature[law]);
      if (!(change > std::max(kClosed, kEnough * std::abs(curvature[r])))) continue;
      set_curvature(law, curvature[r], &w, problem);
      largest = std::max(largest, change);
      is_other = true;
    }
    if (is_other) mark_objects(*problem, group, objects);
  }
  return largest;
}

void restore_ties(const std::vector<double>& curvature, AssemblyWorkspace* w, Problem* problem,
                  std::vector<char>* objects) {
  for (const ConstraintGroup& group : problem->groups) {
    if (!is_centered(*problem->model, group)) continue;
    for (int r = 0; r < group.num_rows; ++r)
      set_curvature(group.law_begin + r, curvature[group.law_begin + r], w, problem);
    mark_objects(*problem, group, objects);
  }
}

void move_ties_midway(const StepData& data, const VecX& v, const StageScope& scope,
                      AssemblyWorkspace* workspace, Problem* problem, std::vector<char>* objects) {
  AssemblyWorkspace& w = *workspace;
  const Model& model = *problem->model;
  Assembler a{model, data.state, data.input, data.motion, data.contacts, problem->dt, w, *problem, scope};
  a.rows_at = &w.ahead;
  w.q_ahead = data.state.q;
  calc_placement_ahead(model, w.constrained_objects, data.state.q, v, problem->dt / 2, &w.q_ahead, &w.ahead,
                       true);
  for (const ConstraintGroup& group : problem->groups) {
    if (!is_centered(model, group)) continue;
    bool moves = false;
    for (int p = group.part_begin; p < group.part_end; ++p)
      moves = moves || (*objects)[problem->object_of(problem->parts[p])] != 0;
    if (!moves) continue;
    const ModelConstraint& c = model.constraints[group.constraint];
    if (c.type == ConstraintType::distance) {
      a.set_distance_row(group, c);
    } else if (c.type != ConstraintType::coupler) {
      a.set_tie_rows(group, c);
    }
    const Vec6 curvature = a.calc_curvature(group, c, v);
    for (int r = 0; r < group.num_rows; ++r) {
      if (!std::isinf(problem->laws[group.law_begin + r].left))  // a wide turn
        set_curvature(group.law_begin + r, curvature[r], &w, problem);
    }
    mark_objects(*problem, group, objects);
  }
  problem->jacobians.resize(a.num_values);
}

}  // namespace capstan
