#include "capstan/rigid/rigid_problem.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/objects.h"

namespace capstan {

Vec3 project_to_cone(const Vec3& x, double mu) {
  const double t = x.head<2>().norm();
  if (t <= mu * x.z()) return x;
  if (mu * t <= -x.z()) return Vec3::Zero();
  const double n = (x.z() + mu * t) / (1 + mu * mu);
  return Vec3(mu * n * x.x() / t, mu * n * x.y() / t, n);
}

RigidProblem::RigidProblem(const Problem& problem, const Contacts& contacts, const RigidOptions& options)
    : problem_(&problem), options_(options) {
  const DelassusOperator delassus(problem);
  b = delassus.multiply_J(problem.motion->v_star);
  R = VecX::Zero(b.size());
  for (int i = 0; i < contacts.size(); ++i) {
    RigidBlock block;
    block.row = delassus.row_of_contact(i);
    block.num_rows = 3;
    block.mu = contacts.material[i].friction;
    const double gap = contacts.distance[i];
    b.segment<2>(block.row) += problem.contacts[i].bias.head<2>();
    b[block.row + 2] += contacts.gap_rate[i] + (gap > 0 ? gap : options.erp * gap) / problem.dt;
    if (contacts.kind[i] == ContactKind::withdrawn) block.mu = -1;
    add_block(delassus, block);
  }
  const auto add_scalar = [&](int row, const ScalarLaw& law) {
    RigidBlock block;
    block.row = row;
    block.lower = law.lower;
    block.upper = law.upper;
    b[row] -= law.v_hat;
    R[row] = law.R;
    add_block(delassus, block);
  };
  for (std::size_t i = 0; i < problem.laws.size(); ++i)
    add_scalar(delassus.row_of_law(static_cast<int>(i)), problem.laws[i]);
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i)
    add_scalar(delassus.row_of_dof_law(static_cast<int>(i)), problem.dof_laws[i].law);
}

void RigidProblem::add_block(const DelassusOperator& delassus, RigidBlock block) {
  if (block.mu < 0) return;  // a contact that was taken back
  const Model& model = *problem_->model;
  const int rows = block.num_rows;
  // One generalized impulse for each row; objects that it acts on.
  MatX JT(model.num_velocities(), rows);
  VecX unit = VecX::Zero(delassus.num_rows());
  for (int r = 0; r < rows; ++r) {
    unit[block.row + r] = 1;
    JT.col(r) = delassus.multiply_JT(unit);
    unit[block.row + r] = 0;
  }
  block.part_begin = static_cast<int>(parts_.size());
  Mat3 W = Mat3::Zero();
  VecX column;
  for (int o = 0; o < model.num_objects(); ++o) {
    const Object& object = model.objects[o];
    const int n = object.num_dofs();
    if (JT.middleRows(object.dof_begin, n).isZero(0)) continue;
    Part part{object.dof_begin, n, static_cast<int>(values_.size()), 0};
    values_.resize(values_.size() + 2 * rows * n);
    part.Y = part.J + rows * n;
    Eigen::Map<MatX>(values_.data() + part.J, rows, n) = JT.middleRows(object.dof_begin, n).transpose();
    for (int r = 0; r < rows; ++r) {
      column = JT.col(r);
      solve_A(model, *problem_->motion, o, &column);
      Eigen::Map<MatX>(values_.data() + part.Y, n, rows).col(r) = column.segment(object.dof_begin, n);
    }
    W.topLeftCorner(rows, rows) += Eigen::Map<MatX>(values_.data() + part.J, rows, n) *
                                   Eigen::Map<MatX>(values_.data() + part.Y, n, rows);
    parts_.push_back(part);
  }
  block.part_end = static_cast<int>(parts_.size());
  for (int r = 0; r < rows; ++r) W(r, r) += R[block.row + r];
  block.W = W;
  block.rho = 1 / std::max(W.topLeftCorner(rows, rows).trace(), 1e-300);
  blocks.push_back(block);
}

Vec3 RigidProblem::calc_u(const RigidBlock& block, const VecX& dv, const Vec3& x) const {
  Vec3 u = Vec3::Zero();
  const int rows = block.num_rows;
  for (int r = 0; r < rows; ++r) u[r] = b[block.row + r] + R[block.row + r] * x[r];
  for (int p = block.part_begin; p < block.part_end; ++p) {
    const Part& part = parts_[p];
    u.head(rows) += Eigen::Map<const MatX>(values_.data() + part.J, rows, part.size) *
                    dv.segment(part.dof_begin, part.size);
  }
  return u;
}

void RigidProblem::add_impulse(const RigidBlock& block, const Vec3& dx, VecX* dv) const {
  const int rows = block.num_rows;
  for (int p = block.part_begin; p < block.part_end; ++p) {
    const Part& part = parts_[p];
    dv->segment(part.dof_begin, part.size) +=
        Eigen::Map<const MatX>(values_.data() + part.Y, part.size, rows) * dx.head(rows);
  }
}

VecX RigidProblem::calc_dv(const VecX& x) const {
  VecX dv = VecX::Zero(problem_->model->num_velocities());
  for (const RigidBlock& block : blocks) add_impulse(block, segment(block, x), &dv);
  return dv;
}

VecX RigidProblem::calc_u(const VecX& x) const {
  const VecX dv = calc_dv(x);
  VecX u = VecX::Zero(num_rows());
  for (const RigidBlock& block : blocks) set_segment(block, calc_u(block, dv, segment(block, x)), &u);
  return u;
}

MatX RigidProblem::calc_W() const {
  MatX W = MatX::Zero(num_rows(), num_rows());
  VecX x = VecX::Zero(num_rows());
  for (int k = 0; k < num_rows(); ++k) {
    x[k] = 1;
    const VecX dv = calc_dv(x);
    for (const RigidBlock& block : blocks) {
      const Vec3 u = calc_u(block, dv, segment(block, x));
      for (int r = 0; r < block.num_rows; ++r) W(block.row + r, k) = u[r] - b[block.row + r];
    }
    x[k] = 0;
  }
  return W;
}

Vec3 RigidProblem::project(const RigidBlock& block, const Vec3& x) const {
  if (!block.is_contact()) return Vec3(std::clamp(x[0], block.lower, block.upper), 0, 0);
  if (options_.model != RigidModel::box) return project_to_cone(x, block.mu);
  const double n = std::max(x.z(), 0.0), bound = block.mu * n;
  return Vec3(std::clamp(x.x(), -bound, bound), std::clamp(x.y(), -bound, bound), n);
}

Vec3 RigidProblem::conditioned(const RigidBlock& block, const Vec3& u) const {
  if (!block.is_contact() || options_.model != RigidModel::ncp) return u;
  return Vec3(u.x(), u.y(), u.z() + block.mu * u.head<2>().norm());
}

double RigidProblem::calc_residual(const VecX& x) const {
  const VecX dv = calc_dv(x);
  double worst = 0;
  for (const RigidBlock& block : blocks) {
    const Vec3 at = segment(block, x);
    const Vec3 u = conditioned(block, calc_u(block, dv, at));
    worst = std::max(worst, (at - project(block, at - block.rho * u)).norm() / block.rho);
  }
  const double size = b.size() > 0 ? b.cwiseAbs().maxCoeff() : 0;
  return size > 0 ? worst / size : worst;
}

}  // namespace capstan
