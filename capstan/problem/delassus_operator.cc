#include "capstan/problem/delassus_operator.h"

#include <algorithm>

#include "capstan/dynamics/objects.h"

namespace capstan {

DelassusOperator::DelassusOperator(const Problem& problem)
    : problem_(problem),
      num_contacts_(static_cast<int>(problem.contacts.size())),
      num_laws_(static_cast<int>(problem.laws.size())),
      num_rows_(3 * num_contacts_ + num_laws_ + static_cast<int>(problem.dof_laws.size())),
      group_of_contact_(num_contacts_, -1) {
  std::vector<char> is_touched(problem.model->num_objects(), 0);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const ConstraintGroup& group = problem.groups[g];
    for (int i = group.contact_begin; i < group.contact_end; ++i) group_of_contact_[i] = static_cast<int>(g);
    for (int p = group.part_begin; p < group.part_end; ++p)
      is_touched[problem.object_of(problem.parts[p])] = 1;
  }
  for (const DofLaw& law : problem.dof_laws) is_touched[problem.model->dofs[law.dof].object] = 1;
  for (int o = 0; o < problem.model->num_objects(); ++o) {
    if (is_touched[o] != 0) touched_.push_back(o);
  }
}

VecX DelassusOperator::multiply_J(const VecX& v) const {
  VecX rows(num_rows_);
  for (const ConstraintGroup& group : problem_.groups) {
    const Vec6 U = problem_.calc_motion(group, v);
    for (int i = group.contact_begin; i < group.contact_end; ++i)
      rows.segment<3>(row_of_contact(i)) = problem_.X[i] * U;
    for (int r = 0; r < group.num_rows && group.contact_begin == group.contact_end; ++r)
      rows[row_of_law(group.law_begin + r)] = U[r];
  }
  for (std::size_t i = 0; i < problem_.dof_laws.size(); ++i) {
    const DofLaw& law = problem_.dof_laws[i];
    rows[row_of_dof_law(static_cast<int>(i))] = law.sign * v[law.dof];
  }
  return rows;
}

void DelassusOperator::add_JT(const ConstraintGroup& group, const Vec6& impulse, VecX* to) const {
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const GroupPart& part = problem_.parts[p];
    const DofBlock& block = problem_.model->blocks[part.block];
    to->segment(block.dof_begin, block.size) +=
        problem_.jacobian(group, part).transpose() * impulse.head(group.num_rows);
  }
}

VecX DelassusOperator::multiply_JT(const VecX& impulses) const {
  VecX sum = VecX::Zero(problem_.model->num_velocities());
  for (const ConstraintGroup& group : problem_.groups) {
    Vec6 impulse = Vec6::Zero();
    for (int i = group.contact_begin; i < group.contact_end; ++i)
      impulse += problem_.X[i].transpose() * impulses.segment<3>(row_of_contact(i));
    for (int r = 0; r < group.num_rows && group.contact_begin == group.contact_end; ++r)
      impulse[r] = impulses[row_of_law(group.law_begin + r)];
    add_JT(group, impulse, &sum);
  }
  for (std::size_t i = 0; i < problem_.dof_laws.size(); ++i) {
    const DofLaw& law = problem_.dof_laws[i];
    sum[law.dof] += law.sign * impulses[row_of_dof_law(static_cast<int>(i))];
  }
  return sum;
}

void DelassusOperator::solve_touched(VecX* x) const {
  for (const int object : touched_) solve_A(*problem_.model, *problem_.motion, object, x);
}

VecX DelassusOperator::multiply(const VecX& impulses) const {
  VecX x = multiply_JT(impulses);
  solve_touched(&x);
  return multiply_J(x);
}

VecX DelassusOperator::velocity(const VecX& impulses) const {
  VecX x = multiply_JT(impulses);
  solve_touched(&x);
  return problem_.motion->v_star + x;
}

Mat3 DelassusOperator::block(int contact, int other) const {
  const ConstraintGroup& a = problem_.groups[group_of_contact_[contact]];
  const ConstraintGroup& b = problem_.groups[group_of_contact_[other]];
  std::vector<int> objects;
  for (int p = b.part_begin; p < b.part_end; ++p) {
    const int object = problem_.object_of(problem_.parts[p]);
    if (std::find(objects.begin(), objects.end(), object) == objects.end()) objects.push_back(object);
  }
  Mat3 W;
  VecX x;
  for (int k = 0; k < 3; ++k) {
    x = VecX::Zero(problem_.model->num_velocities());
    add_JT(b, problem_.X[other].row(k).transpose(), &x);
    for (const int object : objects) solve_A(*problem_.model, *problem_.motion, object, &x);
    W.col(k) = problem_.X[contact] * problem_.calc_motion(a, x);
  }
  return W;
}

std::vector<Mat3> DelassusOperator::diagonal_blocks() const {
  std::vector<Mat3> blocks(num_contacts_);
  for (int i = 0; i < num_contacts_; ++i) blocks[i] = block(i, i);
  return blocks;
}

}  // namespace capstan
