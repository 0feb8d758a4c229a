#include "capstan/dynamics/free_turn.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kLargestTurn = 1;       // [rad] in a step
constexpr double kSlowSpin = 0.3;        // [rad] in a step
constexpr double kSmallestTurn = 1e-11;  // [rad] in a step: what turns less has g = 0
constexpr double kSame = 1e-9;           // moments, directions and lengths of a body of revolution

bool can_turn_freely(const Model& model, int t) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  return model.options.conserve_momentum && tree.link_end == tree.link_begin + 1 &&
         conserves_momentum(model, t) && model.stages[root.stage_begin].type == StageType::free &&
         !is_isotropic(root.inertia);
}

// Whether a shape is the same after any turn about an axis through `centre`; lengths count from `size`.
bool is_round(const ModelShape& s, const Vec3& centre, const Vec3& axis, double size) {
  if (s.has_moving_surface || s.flexible >= 0 || s.field) return false;
  const Vec3 arm = s.X_LS.p - centre;
  if (cross(axis, arm).norm() > kSame * size) return false;
  const auto is_along = [&](int k) { return cross(axis, Vec3(s.X_LS.R.col(k))).norm() <= kSame; };
  switch (s.collider.type) {
    case ColliderType::sphere:
      return true;
    case ColliderType::capsule:
    case ColliderType::cylinder:
      return is_along(2);
    case ColliderType::ellipsoid:
      for (int k = 0; k < 3; ++k) {
        const double a = s.collider.size[(k + 1) % 3], b = s.collider.size[(k + 2) % 3];
        if (is_along(k)) return std::abs(a - b) <= kSame * a;
      }
      return false;
    default:
      return false;
  }
}

// Body axes to those of the dofs, where the step begins.
Mat3 start_axes(const Model& model, const Motion& motion, int t) {
  const int l = model.trees[t].link_begin;
  return model.links[l].X_PL.R.transpose() * motion.placement.X_WL[l].R;
}

bool is_spinner(const Motion& motion, int t) {
  return motion.scratch->turns_freely[t] == FreeTurn::spin;
}

Spinner spinner_of(const Motion& motion, int t) {
  return is_spinner(motion, t) ? motion.scratch->spinners[t] : Spinner{};
}

// Where the axis is that a turn by `angle` leads to, less where it was.
Vec3 move_axis(const Vec3& axis, const Vec3& angle) {
  return rotation_matrix(quat_exp(angle)) * axis - axis;
}

}  // namespace

Spinner find_spinner(const Model& model, int t) {
  if (!can_turn_freely(model, t)) return {};
  const int l = model.trees[t].link_begin;
  const Link& root = model.links[l];
  const Eigen::SelfAdjointEigenSolver<Mat3> principal(root.inertia);
  const Vec3& I = principal.eigenvalues();
  Spinner spinner;
  for (const int k : {0, 2}) {
    const double across = I[2 - k];
    if (std::abs(I[1] - across) > kSame * I[2] || !(across > 0)) continue;
    spinner = {principal.eigenvectors().col(k), across, 1 - I[k] / across};
  }
  if (spinner.across == 0) return {};
  const double size = std::sqrt(I[2] / root.mass);
  if (cross(spinner.axis, root.com).norm() > kSame * size) return {};
  for (const ModelShape& s : model.shapes)
    if (s.link == l && s.collides && !is_round(s, root.com, spinner.axis, size)) return {};
  return spinner;
}

FreeTurn find_free_turn(const Model& model, const State& state, double dt, const Motion& motion, int t) {
  if (!motion.scratch->is_staggered || !can_turn_freely(model, t)) return FreeTurn::none;
  const Vec3 w = state.v.segment<3>(model.trees[t].dof_end - 3);
  const Spinner& spinner = motion.scratch->spinners[t];
  const double angle = dt * w.norm();
  if (spinner.across == 0 || angle <= kSlowSpin)
    return angle <= kLargestTurn ? FreeTurn::mean : FreeTurn::none;
  const Vec3 axis = start_axes(model, motion, t) * spinner.axis;
  return dt * cross(w, axis).norm() <= kLargestTurn ? FreeTurn::spin : FreeTurn::none;
}

Vec3 calc_mean_turn(const Mat3& I, const Spinner& spinner, const Vec3& L, double dt, Vec3* g) {
  const Vec3 start = I.inverse() * L;
  g->setZero();
  if (dt * start.norm() < kSmallestTurn) return start;
  if (spinner.across != 0) {
    const Vec3 &axis = spinner.axis, turn = L / spinner.across;
    *g = cross(axis, Vec3(move_axis(axis, dt * turn) / dt - cross(turn, axis)));
    return start + *g;
  }
  const Vec3 inverse = I.diagonal().cwiseInverse();  // for the guess, near enough for any body
  const Vec3 guess = start - dt * inverse.cwiseProduct(cross(start, L));
  *g = 0.5 * (solve_turn(I, Vec3::Zero(), start, L, dt, 0.5, guess) - start);
  return start + *g;
}

Vec3 calc_spin(const Model& model, const Motion& motion, int t, const Vec3& w) {
  return is_spinner(motion, t) ? calc_idle_spin(model, motion, t, w) : Vec3(Vec3::Zero());
}

Vec3 calc_idle_spin(const Model& model, const Motion& motion, int t, const Vec3& w) {
  if (motion.scratch->spinners[t].across == 0) return Vec3::Zero();
  const Vec3 axis = start_axes(model, motion, t) * motion.scratch->spinners[t].axis;
  return axis.dot(w) * axis;
}

Vec3 calc_led_turn(const Model& model, const Motion& motion, double dt, int t, const Vec3& w) {
  if (!is_spinner(motion, t)) return w;
  const Spinner& spinner = motion.scratch->spinners[t];
  const Vec3 axis = start_axes(model, motion, t) * spinner.axis, u = w - free_turn(model, motion, t);
  const Vec3 way = move_axis(axis, dt * (u - spinner.share * axis.dot(u) * axis)), turn = cross(axis, way);
  const double sine = turn.norm(), angle = std::atan2(sine, 1 + axis.dot(way));
  return sine > 0 ? Vec3(angle / (dt * sine) * turn) : Vec3(Vec3::Zero());
}

void take_out_spins(const Model& model, const Motion& motion, double dt, bool at_end, VecX* v) {
  for (const int t : motion.scratch->with_spinners) {
    if (!is_spinner(motion, t)) continue;
    const int iv = model.trees[t].dof_begin, iw = iv + 3;
    const Vec3 w = v->segment<3>(iw), led = calc_led_turn(model, motion, dt, t, w);
    Vec3 arm = start_axes(model, motion, t) * model.links[model.trees[t].link_begin].com;
    if (at_end) arm = rotation_matrix(quat_exp(dt * led)) * arm;
    v->segment<3>(iv) += cross(Vec3(w - led), arm);
    v->segment<3>(iw) = led;
  }
}

void add_spins(const Model& model, const Motion& motion, double dt, const VecX& q0, const VecX& v, VecX* q1) {
  for (const int t : motion.scratch->with_spinners) {
    if (!is_spinner(motion, t)) continue;
    const Tree& tree = model.trees[t];
    const Spinner& spinner = motion.scratch->spinners[t];
    const Vec3 axis = start_axes(model, motion, t) * spinner.axis;
    const Vec3 u = v.segment<3>(tree.dof_begin + 3) - free_turn(model, motion, t);
    const double spin = spinner.share * axis.dot(u);
    const int at = model.stages[model.links[tree.link_begin].stage_begin].q + 3;
    const Vec4 turned = quat_multiply(quat_exp(dt * (u - spin * axis)), q0.segment<4>(at));
    const Vec4 spun = quat_multiply(turned, quat_exp(dt * spin * spinner.axis));
    q1->segment<4>(at) = spun / spun.norm();
  }
}

double calc_nodding(const Model& model, const Motion& motion, const VecX& v, int t) {
  if (!is_spinner(motion, t)) return 0;
  const Spinner& spinner = motion.scratch->spinners[t];
  const Vec3 axis = start_axes(model, motion, t) * spinner.axis;
  return (1 - spinner.share) * std::abs(axis.dot(v.segment<3>(model.trees[t].dof_end - 3)));
}

bool has_spinners(const Motion& motion) {
  return !motion.scratch->with_spinners.empty();
}

void forget_spinners(const std::vector<int>& trees, Motion* motion) {
  for (const int t : trees) {
    motion->scratch->spinners[t] = {};
    std::erase(motion->scratch->with_spinners, t);
  }
}

void begin_free_turn(const Model& model, const State& state, double dt, int t, Motion* motion) {
  Motion::Scratch& s = *motion->scratch;
  s.turns_freely[t] = find_free_turn(model, state, dt, *motion, t);
  if (s.turns_freely[t] == FreeTurn::none) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Mat3 R = start_axes(model, *motion, t);
  const Vec3 w1 = R.transpose() * motion->v_star.segment<3>(iw);  // has L where it leads
  const Mat3 turn = rotation_matrix(quat_exp(dt * w1));
  Vec3 L = turn * (root.inertia * (turn.transpose() * w1)), g = Vec3::Zero();
  if (is_spinner(*motion, t) && s.tau.segment<6>(iv).isZero(0)) {  // it may turn too far for that
    const Vec3 force = s.external.segment<3>(iv), torque = s.external.segment<3>(iw);
    L = root.inertia * (R.transpose() * state.v.segment<3>(iw)) +
        dt * (R.transpose() * torque - cross(root.com, Vec3(R.transpose() * force)));
  }
  const Vec3 w = R * calc_mean_turn(root.inertia, spinner_of(*motion, t), L, dt, &g);
  motion->v_star.segment<3>(iv) += cross(Vec3(motion->v_star.segment<3>(iw) - w), Vec3(R * root.com));
  motion->v_star.segment<3>(iw) = w;
  s.turn.segment<3>(iw) = R * g;
}

double center_free_turn(const Model& model, double dt, int t, const VecX& v, Motion* motion) {
  constexpr double kEnough = 1e-8;
  const Motion::Scratch& s = *motion->scratch;
  if (s.turns_freely[t] == FreeTurn::none) return 0;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const Mat3 R = start_axes(model, *motion, t);
  const Vec3 w = v.segment<3>(tree.dof_begin + 3), before = free_turn(model, *motion, t);
  Vec3 g;
  calc_mean_turn(root.inertia, spinner_of(*motion, t), root.inertia * (R.transpose() * (w - before)), dt, &g);
  const double change = (R * g - before).norm();
  if (!(change > kEnough * w.norm())) return 0;
  set_free_turn(model, t, R * g, motion);
  return change / w.norm();
}

Vec3 free_turn(const Model& model, const Motion& motion, int t) {
  if (motion.scratch->turns_freely[t] == FreeTurn::none) return Vec3::Zero();
  return motion.scratch->turn.segment<3>(model.trees[t].dof_end - 3);
}

void set_free_turn(const Model& model, int t, const Vec3& g, Motion* motion) {
  if (motion->scratch->turns_freely[t] == FreeTurn::none) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Mat3 R = start_axes(model, *motion, t);
  const Vec3 change = g - free_turn(model, *motion, t);
  motion->v_star.segment<3>(iv) -= cross(change, Vec3(R * root.com));
  motion->v_star.segment<3>(iw) += change;
  motion->scratch->turn.segment<3>(iw) = g;
}

void end_free_turn(const Model& model, const VecX& q1, double dt, int t, const Motion& motion, VecX* v) {
  const Motion::Scratch& s = *motion.scratch;
  if (s.turns_freely[t] == FreeTurn::none) return;
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Vec3 w = v->segment<3>(iw), g = s.turn.segment<3>(iw);
  if (g.isZero(0) && dt * w.norm() < kSmallestTurn) return;
  const Mat3 R0 = start_axes(model, motion, t);
  const Mat3 R1 = rotation_matrix(q1.segment<4>(model.stages[root.stage_begin].q + 3));
  const Vec3 L = R0 * (root.inertia * (R0.transpose() * (w - g)));
  const Vec3 w1 = R1 * (root.inertia.inverse() * (R1.transpose() * L));
  v->segment<3>(iv) += cross(Vec3(w - w1), Vec3(R1 * root.com));
  v->segment<3>(iw) = w1;
}

}  // namespace capstan
