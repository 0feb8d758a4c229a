#include "capstan/dynamics/free_turn.h"

#include <Eigen/LU>

#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kLargestTurn = 1;       // [rad] in a step
constexpr double kSmallestTurn = 1e-11;  // [rad] in a step: what turns less has g = 0

}  // namespace

bool turns_freely(const Model& model, const State& state, double dt, const Scheme& scheme, int t) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  return is_staggered(scheme) && model.options.conserve_momentum && tree.link_end == tree.link_begin + 1 &&
         conserves_momentum(model, t) && model.stages[root.stage_begin].type == StageType::free &&
         !is_isotropic(root.inertia) && dt * state.v.segment<3>(tree.dof_end - 3).norm() <= kLargestTurn;
}

Vec3 calc_mean_turn(const Mat3& I, const Vec3& L, double dt, Vec3* g) {
  const Vec3 start = I.inverse() * L;
  if (dt * start.norm() < kSmallestTurn) {
    g->setZero();
    return start;
  }
  const Vec3 inverse = I.diagonal().cwiseInverse();  // for the guess, near enough for any body
  const Vec3 guess = start - dt * inverse.cwiseProduct(cross(start, L));
  *g = 0.5 * (solve_turn(I, Vec3::Zero(), start, L, dt, 0.5, guess) - start);
  return start + *g;
}

void begin_free_turn(const Model& model, const State& state, double dt, const Scheme& scheme, int t,
                     Motion* motion) {
  Motion::Scratch& s = *motion->scratch;
  s.turns_freely[t] = turns_freely(model, state, dt, scheme, t);
  if (s.turns_freely[t] == 0) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Mat3 R = root.X_PL.R.transpose() * motion->placement.X_WL[tree.link_begin].R;
  const Vec3 w1 = R.transpose() * motion->v_star.segment<3>(iw);  // has L where it leads
  const Mat3 turn = rotation_matrix(quat_exp(dt * w1));
  const Vec3 L = turn * (root.inertia * (turn.transpose() * w1));
  Vec3 g;
  const Vec3 w = R * calc_mean_turn(root.inertia, L, dt, &g);
  motion->v_star.segment<3>(iv) += cross(Vec3(motion->v_star.segment<3>(iw) - w), Vec3(R * root.com));
  motion->v_star.segment<3>(iw) = w;
  s.turn.segment<3>(iw) = R * g;
}

double center_free_turn(const Model& model, double dt, int t, const VecX& v, Motion* motion) {
  constexpr double kEnough = 1e-8;
  const Motion::Scratch& s = *motion->scratch;
  if (s.turns_freely[t] == 0) return 0;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const Mat3 R = root.X_PL.R.transpose() * motion->placement.X_WL[tree.link_begin].R;
  const Vec3 w = v.segment<3>(tree.dof_begin + 3), before = free_turn(model, *motion, t);
  Vec3 g;
  calc_mean_turn(root.inertia, root.inertia * (R.transpose() * (w - before)), dt, &g);
  const double change = (R * g - before).norm();
  if (!(change > kEnough * w.norm())) return 0;
  set_free_turn(model, t, R * g, motion);
  return change / w.norm();
}

Vec3 free_turn(const Model& model, const Motion& motion, int t) {
  if (motion.scratch->turns_freely[t] == 0) return Vec3::Zero();
  return motion.scratch->turn.segment<3>(model.trees[t].dof_end - 3);
}

void set_free_turn(const Model& model, int t, const Vec3& g, Motion* motion) {
  if (motion->scratch->turns_freely[t] == 0) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Mat3 R = root.X_PL.R.transpose() * motion->placement.X_WL[tree.link_begin].R;
  const Vec3 change = g - free_turn(model, *motion, t);
  motion->v_star.segment<3>(iv) -= cross(change, Vec3(R * root.com));
  motion->v_star.segment<3>(iw) += change;
  motion->scratch->turn.segment<3>(iw) = g;
}

void end_free_turn(const Model& model, const VecX& q1, double dt, int t, const Motion& motion, VecX* v) {
  const Motion::Scratch& s = *motion.scratch;
  if (s.turns_freely[t] == 0) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Vec3 w = v->segment<3>(iw), g = s.turn.segment<3>(iw);
  if (g.isZero(0) && dt * w.norm() < kSmallestTurn) return;
  const Mat3 R0 = root.X_PL.R.transpose() * motion.placement.X_WL[tree.link_begin].R;
  const Mat3 R1 = rotation_matrix(q1.segment<4>(model.stages[root.stage_begin].q + 3));
  const Vec3 L = R0 * (root.inertia * (R0.transpose() * (w - g)));
  const Vec3 w1 = R1 * (root.inertia.inverse() * (R1.transpose() * L));
  v->segment<3>(iv) += cross(Vec3(w - w1), Vec3(R1 * root.com));
  v->segment<3>(iw) = w1;
}

}  // namespace capstan
