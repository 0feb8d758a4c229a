#include "capstan/rigid/rigid_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "capstan/dynamics/objects.h"

namespace capstan {

Vec3 project_to_cone(const Vec3& x, double mu) {
  const double t = x.head<2>().norm();
  if (t <= mu * x.z()) return x;
  if (mu * t <= -x.z()) return Vec3::Zero();
  const double n = (x.z() + mu * t) / (1 + mu * mu);
  return Vec3(mu * n * x.x() / t, mu * n * x.y() / t, n);
}

Vec2 project_to_polygon(const Vec2& x, double radius, int directions) {
  // The edge that x is over: all others are farther away. Along it, between its two corners.
  const double sector = 2 * std::numbers::pi / directions;
  const double middle = (std::floor(std::atan2(x.y(), x.x()) / sector) + 0.5) * sector;
  const Vec2 out(std::cos(middle), std::sin(middle)), along(-out.y(), out.x());
  const double edge = radius * std::cos(0.5 * sector), half = radius * std::sin(0.5 * sector);
  if (x.dot(out) <= edge) return x;
  return edge * out + std::clamp(x.dot(along), -half, half) * along;
}

RigidProblem::RigidProblem(const Problem& problem, const Contacts& contacts, const RigidOptions& options)
    : problem_(&problem), num_dofs_(problem.model->num_velocities()), dt_(problem.dt), options_(options) {
  const DelassusOperator delassus(problem);
  free = delassus.multiply_J(problem.motion->v_star);
  b = VecX::Zero(free.size());
  R = b;
  for (const ConstraintGroup& group : problem.groups) {
    for (int i = group.contact_begin; i < group.contact_end; ++i)
      add_contact(contacts, i, delassus.row_of_contact(i), group);
  }
  for (const ConstraintGroup& group : problem.groups) {
    for (int r = 0; r < group.num_rows && group.contact_begin == group.contact_end; ++r) {
      const int law = group.law_begin + r;
      MatX X = MatX::Zero(1, group.num_rows);
      X(0, r) = 1;
      add_scalar(delassus.row_of_law(law), problem.laws[law], pieces_of(group, X));
    }
  }
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i) {
    const DofLaw& law = problem.dof_laws[i];
    add_scalar(delassus.row_of_dof_law(static_cast<int>(i)), law.law,
               {{problem.model->dofs[law.dof].object, law.dof, MatX::Constant(1, 1, law.sign)}});
  }
}

RigidProblem::RigidProblem(const MatX& J, const VecX& given_free, double dt,
                           const std::vector<RigidBlock>& given, const RigidOptions& options)
    : b(VecX::Zero(given_free.size())),
      R(VecX::Zero(given_free.size())),
      free(given_free),
      num_dofs_(static_cast<int>(J.cols())),
      dt_(dt),
      options_(options) {
  for (const RigidBlock& block : given) add_block(block, {{0, 0, J.middleRows(block.row, block.num_rows)}});
}

// Friction against turning: each row between bounds by the normal impulse that is known before the step.
void RigidProblem::add_turning(const Contacts& contacts, int i, int row, const ConstraintGroup& group) {
  if (options_.model == RigidModel::frictionless) return;
  const ContactData& data = problem_->contacts[i];
  const int num_rows = contacts.rows[i] == ContactRows::rolling ? 2 : 1;
  for (int r = 0; r < num_rows; ++r) {
    ScalarLaw law;
    law.R = 0;
    law.upper = data.mu_xx * data.normal_impulse;
    law.lower = -law.upper;
    free[row + r] += data.bias[r];
    add_scalar(row + r, law, pieces_of(group, problem_->X[i].row(r).leftCols(group.num_rows)));
  }
}

void RigidProblem::add_contact(const Contacts& contacts, int i, int row, const ConstraintGroup& group) {
  if (contacts.kind[i] == ContactKind::withdrawn) return;
  if (!contacts.is_point(i)) return add_turning(contacts, i, row, group);
  const ContactMaterial& material = contacts.material[i];
  // The models of the field do not know that surfaces turn.
  const Vec3 surface = (problem_->contacts[i].bias - problem_->sticking_bias[i]).cwiseProduct(Vec3(1, 1, 0));
  RigidBlock block;
  block.row = row;
  block.num_rows = 3;
  block.mu = std::min(material.friction, kLargestFriction);
  block.gap = contacts.distance[i];
  block.before = problem_->X[i] * problem_->calc_motion(group, problem_->v0);
  block.restitution = material.restitution;
  // Slower than twice what forces change in a step, it rests.
  block.threshold = std::max(material.restitution_threshold, 2 * std::abs(free[row + 2] - block.before.z()));
  block.before += surface;
  free.segment<3>(row) += surface;
  free[row + 2] += contacts.gap_rate[i];
  add_block(block, pieces_of(group, problem_->X[i].leftCols(group.num_rows)));
}

void RigidProblem::add_scalar(int row, const ScalarLaw& law, const std::vector<Piece>& pieces) {
  RigidBlock block;
  block.row = row;
  block.lower = law.lower;
  block.upper = law.upper;
  block.v_hat = law.v_hat;
  block.compliance = law.R;
  add_block(block, pieces);
}

void RigidProblem::apply_model(RigidBlock* block) {
  const int row = block->row;
  b.segment(row, block->num_rows) = free.segment(row, block->num_rows);
  if (!block->is_contact()) {
    b[row] -= block->v_hat;
    R[row] = block->compliance;
    return;
  }
  const Compliance compliance = calc_compliance(options_, dt_);
  const bool by_velocity = stabilization_of(options_) == RigidStabilization::baumgarte;
  const double left = std::min(block->gap + options_.allowance, 0.0);
  b[row + 2] += block->gap > 0 ? block->gap / dt_ : by_velocity ? compliance.erp * left / dt_ : 0;
  R[row + 2] = compliance.cfm;
  const bool closes = b[row + 2] < 0, touches = closes || block->gap <= 0;
  block->bounces = block->restitution > 0 && closes && block->before.z() < -block->threshold &&
                   options_.restitution != RigidRestitution::none;
  if (block->bounces) {
    b[row + 2] = free[row + 2];
    if (options_.restitution == RigidRestitution::newton)
      b[row + 2] += block->restitution * block->before.z();
  }
  const double drag = dt_ * options_.viscosity;
  block->sticks = touches && (options_.model == RigidModel::no_slip ||
                              (options_.model == RigidModel::viscous && drag > 0));
  if (options_.model == RigidModel::viscous && drag > 0) R.segment<2>(row).setConstant(1 / drag);
  if (touches && options_.model == RigidModel::viscous_explicit)
    block->given = -drag * block->before.head<2>();
}

std::vector<RigidProblem::Piece> RigidProblem::pieces_of(const ConstraintGroup& group, const MatX& X) const {
  std::vector<Piece> pieces;
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const GroupPart& part = problem_->parts[p];
    pieces.push_back({problem_->object_of(part), problem_->model->blocks[part.block].dof_begin,
                      X * problem_->jacobian(group, part)});
  }
  return pieces;
}

// One part for each object: A^-1 spreads an impulse over all of its dofs.
void RigidProblem::add_block(RigidBlock block, const std::vector<Piece>& pieces) {
  const int rows = block.num_rows;
  apply_model(&block);
  block.part_begin = static_cast<int>(parts_.size());
  for (const Piece& piece : pieces) {
    int p = block.part_begin;
    while (p < static_cast<int>(parts_.size()) && parts_[p].object != piece.object) ++p;
    if (p == static_cast<int>(parts_.size())) {
      const int begin = problem_ ? problem_->model->objects[piece.object].dof_begin : 0;
      const int n = problem_ ? problem_->model->objects[piece.object].num_dofs() : num_dofs_;
      const int at = static_cast<int>(values_.size());
      parts_.push_back({begin, n, piece.object, at, at + rows * n});
      values_.resize(values_.size() + 2 * rows * n, 0);
    }
    const Part& part = parts_[p];
    Eigen::Map<MatX>(values_.data() + part.J, rows, part.size)
        .middleCols(piece.dof_begin - part.dof_begin, piece.J.cols()) += piece.J;
  }
  block.part_end = static_cast<int>(parts_.size());
  finish_block(block);
}

void RigidProblem::finish_block(RigidBlock block) {
  const int rows = block.num_rows;
  Mat3 W = Mat3::Zero();
  VecX column(problem_ ? num_dofs_ : 0);
  for (int p = block.part_begin; p < block.part_end; ++p) {
    const Part& part = parts_[p];
    Eigen::Map<MatX> Y(values_.data() + part.Y, part.size, rows);
    Y = J_of(part, rows).transpose();
    for (int r = 0; r < rows && problem_; ++r) {
      column.segment(part.dof_begin, part.size) = Y.col(r);
      capstan::solve_A(*problem_->model, *problem_->motion, part.object, &column);
      Y.col(r) = column.segment(part.dof_begin, part.size);
    }
    W.topLeftCorner(rows, rows) += J_of(part, rows) * Y;
  }
  for (int r = 0; r < rows; ++r) W(r, r) += R[block.row + r];
  // Where mechanisms leave a contact no freedom, its block is singular; what is added to it here only makes
  // steps of sweeps shorter.
  block.W = W;
  block.W.diagonal().array() += 1e-12 * W.trace();
  block.rho = 1 / std::max(W.topLeftCorner(rows, rows).trace(), 1e-300);
  blocks.push_back(block);
}

void RigidProblem::set_model(RigidModel model) {
  options_.model = model;
  for (RigidBlock& block : blocks) block.sticks = false, block.given.setZero(), block.bound = 0;
}

Vec3 RigidProblem::calc_u(const RigidBlock& block, const VecX& dv, const Vec3& x) const {
  Vec3 u = Vec3::Zero();
  const int rows = block.num_rows;
  for (int r = 0; r < rows; ++r) u[r] = b[block.row + r] + R[block.row + r] * x[r];
  for (int p = block.part_begin; p < block.part_end; ++p)
    u.head(rows) += J_of(parts_[p], rows) * dv.segment(parts_[p].dof_begin, parts_[p].size);
  return u;
}

void RigidProblem::add_impulse(const RigidBlock& block, const Vec3& dx, VecX* dv) const {
  const int rows = block.num_rows;
  for (int p = block.part_begin; p < block.part_end; ++p)
    dv->segment(parts_[p].dof_begin, parts_[p].size) += Y_of(parts_[p], rows) * dx.head(rows);
}

void RigidProblem::add_row(const RigidBlock& block, int r, double factor, VecX* f) const {
  for (int p = block.part_begin; p < block.part_end; ++p)
    f->segment(parts_[p].dof_begin, parts_[p].size) +=
        factor * J_of(parts_[p], block.num_rows).row(r).transpose();
}

double RigidProblem::multiply_row(const RigidBlock& block, int r, const VecX& v) const {
  double sum = 0;
  for (int p = block.part_begin; p < block.part_end; ++p)
    sum += J_of(parts_[p], block.num_rows).row(r).dot(v.segment(parts_[p].dof_begin, parts_[p].size));
  return sum;
}

VecX RigidProblem::solve_A(const VecX& f) const {
  VecX x = f;
  if (problem_ == nullptr) return x;
  for (int o = 0; o < problem_->model->num_objects(); ++o) {
    const Object& object = problem_->model->objects[o];
    if (!f.segment(object.dof_begin, object.num_dofs()).isZero(0))
      capstan::solve_A(*problem_->model, *problem_->motion, o, &x);
  }
  return x;
}

MatX RigidProblem::calc_A() const {
  if (problem_ == nullptr) return MatX::Identity(num_dofs_, num_dofs_);
  MatX A = MatX::Zero(num_dofs_, num_dofs_);
  VecX unit = VecX::Zero(num_dofs_), column = VecX::Zero(num_dofs_);
  for (int o = 0; o < problem_->model->num_objects(); ++o) {
    const Object& object = problem_->model->objects[o];
    const int n = object.num_dofs();
    for (int k = object.dof_begin; k < object.dof_begin + n; ++k) {
      unit[k] = 1;
      multiply_A(*problem_->model, *problem_->motion, o, unit, &column);
      A.col(k).segment(object.dof_begin, n) = column.segment(object.dof_begin, n);
      unit[k] = 0;
    }
  }
  return A;
}

VecX RigidProblem::calc_dv(const VecX& x) const {
  VecX dv = VecX::Zero(num_dofs_);
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
  struct Place {
    const RigidBlock* block;
    const Part* part;
  };
  std::vector<std::vector<Place>> of_object(problem_ ? problem_->model->num_objects() : 1);
  for (const RigidBlock& block : blocks) {
    for (int p = block.part_begin; p < block.part_end; ++p)
      of_object[parts_[p].object].push_back({&block, &parts_[p]});
  }
  for (const std::vector<Place>& places : of_object) {
    for (const Place& i : places) {
      for (const Place& j : places) {
        W.block(i.block->row, j.block->row, i.block->num_rows, j.block->num_rows) +=
            J_of(*i.part, i.block->num_rows) * Y_of(*j.part, j.block->num_rows);
      }
    }
  }
  W.diagonal() += R;
  return W;
}

Vec3 RigidProblem::project(const RigidBlock& block, const Vec3& x) const {
  if (!block.is_contact()) return Vec3(std::clamp(x[0], block.lower, block.upper), 0, 0);
  const RigidModelTraits& model = traits(options_.model);
  if (model.has_cone) return project_to_cone(x, block.mu);
  const double n = std::max(x.z(), 0.0);
  if (model.has_fixed_rules)
    return block.sticks ? Vec3(x.x(), x.y(), n) : Vec3(block.given.x(), block.given.y(), n);
  if (model.is_polyhedral) {
    const Vec2 t = project_to_polygon(x.head<2>(), block.mu * n, options_.directions);
    return Vec3(t.x(), t.y(), n);
  }
  const double bound = options_.model == RigidModel::box ? block.mu * n : block.bound;
  return Vec3(std::clamp(x.x(), -bound, bound), std::clamp(x.y(), -bound, bound), n);
}

Vec3 RigidProblem::conditioned(const RigidBlock& block, const Vec3& u) const {
  if (!block.is_contact() || options_.model != RigidModel::ncp) return u;
  return Vec3(u.x(), u.y(), u.z() + block.mu * u.head<2>().norm());
}

double RigidProblem::size() const {
  const double size = b.size() > 0 ? b.cwiseAbs().maxCoeff() : 0;
  return size > 0 ? size : 1;
}

double RigidProblem::calc_residual(const VecX& x) const {
  const VecX dv = calc_dv(x);
  double worst = 0;
  for (const RigidBlock& block : blocks) {
    const Vec3 at = segment(block, x);
    const Vec3 u = conditioned(block, calc_u(block, dv, at));
    const double off = (at - project(block, at - block.rho * u)).norm() / block.rho;
    if (!std::isfinite(off)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, off);
  }
  return worst / size();
}

}  // namespace capstan
