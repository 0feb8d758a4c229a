#include "capstan/step/bounce_energy.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// Beyond this it is no correction any more.
constexpr double kLeast = 0.8, kMost = 1.1;

// The kinetic energy with which a body ends the step, when its velocities in it are v and it is moved by
// v + drift.
double calc_end_energy(const Model& model, const Motion& motion, double dt, int t, const Vec6& v,
                       const Vec3& drift) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const Mat3 R = root.X_PL.R.transpose() * motion.placement.X_WL[tree.link_begin].R;
  const Vec3 w = v.tail<3>(), w0 = w - free_turn(model, motion, t),
             L = R * (root.inertia * (R.transpose() * w0));
  const Vec3 centre = v.head<3>() + cross(w, Vec3(R * root.com));
  // A body of revolution that spins fast turns as it would freely: its energy stays.
  if (motion.scratch->turns_freely[t] == FreeTurn::spin)
    return 0.5 * (root.mass * centre.squaredNorm() + L.dot(w0));
  const Vec3 turn = calc_led_turn(model, motion, dt, t, w + drift);
  const Mat3 R1 = rotation_matrix(quat_exp(dt * turn)) * R;
  const Vec3 in_body = R1.transpose() * L;
  return 0.5 * (root.mass * centre.squaredNorm() + in_body.dot(root.inertia.inverse() * in_body));
}

}  // namespace

double scale_of_energy(const Model& model, const Motion& motion, double dt, const VecX& before,
                       const VecX& after, const std::vector<double>& idle, const VecX& drift, double work) {
  const auto is_hit = [&](int t) {
    const Tree& tree = model.trees[t];
    return !(after - before).segment(tree.dof_begin, tree.num_dofs()).isZero(0);
  };
  thread_local std::vector<int> trees;
  trees.clear();
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t)
    if (is_hit(t)) trees.push_back(t);
  const auto turns = [&](int t) { return motion.scratch->turns_freely[t] != FreeTurn::none; };
  if (trees.empty() || std::none_of(trees.begin(), trees.end(), turns)) return 1;
  for (const int t : trees) {
    const Link& root = model.links[model.trees[t].link_begin];
    const bool is_lone = model.trees[t].link_end == model.trees[t].link_begin + 1 &&
                         model.stages[root.stage_begin].type == StageType::free;
    if (!is_lone) return 1;  // of articulated bodies the round's own energy is taken
  }
  const auto gain = [&](double f) {
    double sum = 0;
    for (const int t : trees) {
      const int begin = model.trees[t].dof_begin;
      const Vec6 v = before.segment<6>(begin), change = f * (after - before).segment<6>(begin);
      const Vec3 moved = drift.segment<3>(begin + 3);
      sum += calc_end_energy(model, motion, dt, t, v + change, moved - idle[t] * change.tail<3>()) -
             calc_end_energy(model, motion, dt, t, v, moved);
    }
    return sum;
  };
  // By the secant from 1 on; the gain is nearly a parabola with its roots at 0 and at what is looked for, or
  // near them.
  double f0 = 1, y0 = gain(1) - work, f1 = 0.99, y1 = gain(f1) - work;
  for (int i = 0; i < 6 && y1 != y0; ++i) {
    const double next = std::clamp(f1 - y1 * (f1 - f0) / (y1 - y0), kLeast, kMost);
    f0 = f1, y0 = y1;
    f1 = next, y1 = gain(f1) - work;
    if (std::abs(f1 - f0) < 1e-9) break;
  }
  return std::isfinite(f1) ? f1 : 1;
}

}  // namespace capstan
