#include "capstan/dynamics/lone_turn.h"

#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"

namespace capstan {
namespace {

constexpr double kMostTurn = 1;  // [rad] in a step
constexpr int kPasses = 3;       // the moment of the weight, first where the step begins, then half-way

const Link& root_of(const Model& model, int tree) {
  return model.links[model.trees[tree].link_begin];
}

// Moves the tree along the mean of its velocities for a time, and places it there.
void place_along_mean(const Model& model, const State& state, const VecX& v, double time, int t,
                      Motion::Scratch& s, VecX* q) {
  const Tree& tree = model.trees[t];
  const Link& root = root_of(model, t);
  for (int k = tree.dof_begin; k < tree.dof_end; ++k) s.v_vq[k] = 0.5 * (v[k] + state.v[k]);
  move(model, state.q, s.v_vq, time, q, root.stage_begin, root.stage_end);
  calc_placement(model, *q, &s.placement, tree.link_begin, tree.link_end);
}

}  // namespace

bool turns_alone(const Model& model, const State& state, double dt, int t) {
  const Tree& tree = model.trees[t];
  if (tree.link_end != tree.link_begin + 1 || !conserves_momentum(model, t)) return false;
  if (model.stages[root_of(model, t).stage_begin].type != StageType::ball) return false;
  return dt * state.v.segment<3>(tree.dof_end - 3).norm() <= kMostTurn;
}

void calc_lone_turn(const Model& model, const State& state, double dt, int t, Motion* motion, VecX* v) {
  Motion::Scratch& s = *motion->scratch;
  const Placement* at_forces = &motion->placement;
  for (int i = 0; i < kPasses; ++i) {
    if (i > 0) {
      place_along_mean(model, state, *v, dt / 2, t, s, &s.q);
      at_forces = &s.placement;
    }
    balance_momentum(model, t, state, motion->placement, motion->velocity, *at_forces, s.external, dt, 0.5,
                     &s.momentum, v);
  }
}

void move_lone_turn(const Model& model, const State& state, const VecX& v, double dt, int t, Motion* motion,
                    VecX* q1) {
  place_along_mean(model, state, v, dt, t, *motion->scratch, q1);
}

}  // namespace capstan
