#include <cmath>

#include "capstan/laws/recovery.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"
#include "capstan/problem/assembler.h"

namespace capstan {

// Makes room for the Jacobian of a block in the group being built, unless it has one. The part.
int Assembler::find_part(ConstraintGroup* group, int block) {
  for (int p = group->part_begin; p < group->part_end; ++p) {
    if (problem.parts[p].block == block) return p;
  }
  problem.parts.push_back({block, num_values});
  num_values += group->num_rows * model.blocks[block].size;
  if (static_cast<int>(problem.jacobians.size()) < num_values) problem.jacobians.resize(num_values);
  return group->part_end++;
}

// Adds a zeroed Jacobian block for a tree to the group being built, or returns the one it has.
double* Assembler::part_for(ConstraintGroup* group, int tree) {
  const int end = group->part_end, part = find_part(group, tree);
  if (part == end) set_zero(*group, part);
  return problem.jacobians.data() + problem.parts[part].jacobian;
}

// Makes room for the point p_W of a link in the Jacobian of the group being built.
void Assembler::declare_point(ConstraintGroup* group, int link, const Vec3& p_W) {
  if (is_tree(link)) return declare_link(group, link);
  PointPart parts[kMostPointParts];
  const int n = calc_point(model, *rows_at, link, p_W, parts);
  for (int i = 0; i < n; ++i) find_part(group, parts[i].block);
}

void Assembler::declare_link(ConstraintGroup* group, int link) {
  if (link == 0) return;
  const int end = group->part_end, part = find_part(group, tree_of(link));
  // Known where this is the only link of its tree.
  problem.parts[part].last_dof = part == end ? model.links[link].dof_end - 1 : -1;
}

// Adds sign * (motion of the link at p_W) to the rows of a group that has room for it: 6 rows (angular,
// linear), or the linear 3 in the axes R_WC. Never inlined: two links of one tree must get the very same
// numbers for the dofs they share, so that these cancel to zero (step/step.cc).
__attribute__((noinline)) CAPSTAN_CLONES void Assembler::add_motion(const ConstraintGroup& group, int link,
                                                                    const Vec3& p_W, double sign,
                                                                    const Mat3& R_WC) {
  if (link == 0) return;
  if (!is_tree(link)) return add_point(group, link, p_W, sign, R_WC);
  const int tree = tree_of(link), base = model.trees[tree].dof_begin, rows = group.num_rows;
  int part = group.part_begin;
  while (problem.parts[part].block != tree) ++part;
  double* J = problem.jacobians.data() + problem.parts[part].jacobian;
  const Vec3 p = p_W - rows_at->origin[tree];
  // The linear rows are R (linear + angular x p), R = R_CW: Q_i is R (e_i x p).
  Frame R;
  Four Q[3];
  const Mat3 R_CW = R_WC.transpose();
  load({R_CW, Vec3::Zero()}, &R);
  Q[0] = p[1] * R.z - p[2] * R.y;
  Q[1] = p[2] * R.x - p[0] * R.z;
  Q[2] = p[0] * R.y - p[1] * R.x;
  for (int k = model.links[link].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
    const double* S = rows_at->S[k].data();
    double* column = J + rows * (k - base);
    const Four linear = (S[3] * R.x + S[4] * R.y + S[5] * R.z) + (S[0] * Q[0] + S[1] * Q[1] + S[2] * Q[2]);
    if (rows == 6) {
      for (int i = 0; i < 3; ++i) column[i] += sign * S[i];
      column += 3;
    }
    for (int i = 0; i < 3; ++i) column[i] += sign * linear[i];
  }
}

// The same for a point of an object that is not a tree. Its carrier turns as two points of it say that are
// beside the third, w x m1 and w x m2.
void Assembler::add_point(const ConstraintGroup& group, int link, const Vec3& p_W, double sign,
                          const Mat3& R_WC) {
  const int rows = group.num_rows;
  add_rows(group, link, p_W, sign * R_WC.transpose(), rows - 3);
  if (rows < 6) return;
  const Mat3& R = rows_at->X_WL[link].R;
  const Vec3 m1 = R.col(0), m2 = R.col(1), t = R.col(2);
  const Mat3 from_1 = sign * (t * m2.transpose() - m2 * t.transpose()), from_2 = sign * m1 * t.transpose();
  add_rows(group, link, p_W + m1, from_1, 0);
  add_rows(group, link, p_W + m2, from_2, 0);
  add_rows(group, link, p_W, -(from_1 + from_2), 0);
}

// Adds T times the velocity of a point to three rows.
void Assembler::add_rows(const ConstraintGroup& group, int link, const Vec3& p_W, const Mat3& T, int row) {
  PointPart point[kMostPointParts];
  const int n = calc_point(model, *rows_at, link, p_W, point);
  for (int i = 0; i < n; ++i) {
    int part = group.part_begin;
    while (problem.parts[part].block != point[i].block) ++part;
    double* J = problem.jacobians.data() + problem.parts[part].jacobian + row;
    for (int k = 0; k < point[i].size; ++k)
      Eigen::Map<Vec3>(J + group.num_rows * k) += T * Eigen::Map<const Vec3>(point[i].J.data() + 3 * k);
  }
}

// A law that drives phi to zero, near-rigid or with stiffness k, on a row with Delassus estimate W.
ScalarLaw Assembler::make_law(double phi, double W, double stiffness, double relaxation_time) const {
  const double beta = problem.options.constraint_beta, near_rigid = near_rigid_R(W);
  ScalarLaw law;
  // Near-rigid: critically damped at the period beta dt (SAP V-B).
  double tau = relaxation_time < 0 ? beta / std::numbers::pi * dt : relaxation_time;
  double R = std::isinf(stiffness) ? 0 : 1 / (dt * stiffness * (dt + tau));
  if (R < near_rigid) {
    R = near_rigid;
    tau = beta / std::numbers::pi * dt;
  }
  law.R = R;
  law.mass = 1 / std::max(W, 1e-18);
  law.v_hat = -phi / (dt + tau);
  return law;
}

// Makes a near-rigid law undo no more of an error (>= 0, of which phi is a part) in this step than
// laws/recovery.h allows.
void Assembler::bound_recovery(double phi, double error, ScalarLaw* law) const {
  const double tau = problem.options.constraint_beta / std::numbers::pi * dt;
  const double scale = recovery_scale(problem.options.recovery_speed, error, error / (dt + tau));
  law->v_hat *= scale;
  law->R *= std::max(scale, kStiffestRecovery);
  if (scale < 1) law->left = phi + dt * law->v_hat;
}

}  // namespace capstan
