#include "capstan/problem/delassus.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <numeric>

#include "capstan/dynamics/objects.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/math/branch_product.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"

namespace capstan {
namespace {

// Where a thread solves with the factor of A: 8 numbers for each dof. Allocates only when it grows.
double* solve_scratch(int num_dofs) {
  thread_local std::vector<double> scratch;
  if (static_cast<int>(scratch.size()) < 8 * num_dofs) scratch.resize(8 * num_dofs);
  return scratch.data();
}

}  // namespace

void Delassus::calc_inverse(int t) const {
  AssemblyWorkspace::Inverse& inverse = w.inverse[t];
  const Tree& tree = model.trees[t];
  Mat6 A;
  expand(model.system_pattern, motion.A.data(), tree.dof_begin, tree.dof_end, A);
  const Link& root = model.links[tree.link_begin];
  inverse.is_body = tree.link_end == tree.link_begin + 1 && root.stage_end == root.stage_begin + 1 &&
                    A.topRightCorner<3, 3>().isZero(0) && A.topLeftCorner<3, 3>().isDiagonal(0) &&
                    A(0, 0) == A(1, 1) && A(1, 1) == A(2, 2);
  if (inverse.is_body) {
    const Mat3 turn = A.bottomRightCorner<3, 3>().inverse();
    inverse.matrix.setZero();
    inverse.matrix.diagonal().head<3>().setConstant(1 / A(0, 0));
    inverse.matrix.bottomRightCorner<3, 3>() = turn;
    inverse.turn_W = root.X_PL.R * turn * root.X_PL.R.transpose();
    return;
  }
  for (int i = 0; i < 6; ++i) {
    w.column.segment<6>(tree.dof_begin) = Vec6::Unit(i);
    solve_in_place(model.system_pattern, motion.A_factor.data(), w.column.data(), tree.dof_begin,
                   tree.dof_end);
    inverse.matrix.col(i) = w.column.segment<6>(tree.dof_begin);
  }
}

// The dofs that may move the rows of a part, and all their ancestors in the pattern of A.
std::span<const int> Delassus::dofs_of(const GroupPart& part) const {
  const BranchPattern& pattern = model.system_pattern;
  if (part.last_dof >= 0) {
    return {pattern.columns.data() + pattern.row_start[part.last_dof],
            static_cast<std::size_t>(pattern.row_size(part.last_dof))};
  }
  const Tree& tree = model.trees[part.block];
  thread_local std::vector<int> all;
  all.resize(tree.num_dofs());
  std::iota(all.begin(), all.end(), tree.dof_begin);
  return all;
}

CAPSTAN_CLONES Mat6 Delassus::calc(const ConstraintGroup& group) const {
  Mat6 W = Mat6::Zero();
  const int rows = group.num_rows;
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const GroupPart& part = problem.parts[p];
    if (!is_tree(part)) {
      add_of_object(group, p, &W);
      continue;
    }
    const Tree& tree = model.trees[part.block];
    const auto J = problem.jacobian(group, part);
    if (rows == 6 && tree.num_dofs() == 6) {
      const Mat6 J6 = J, JA = J6 * inverse(part.block).matrix;
      W.noalias() += JA * J6.transpose();
      continue;
    }
    if (rows == 3 && tree.num_dofs() == 6) {
      const Mat36 J3 = J, JA = J3 * inverse(part.block).matrix;
      W.topLeftCorner<3, 3>().noalias() += JA * J3.transpose();
      continue;
    }
    const std::span<const int> dofs = dofs_of(part);
    double* X = solve_scratch(tree.num_dofs());
    const int size = rows <= 3 ? 3 : 6, columns = rows <= 3 ? 4 : 8;
    for (const int k : dofs) {
      double* x = X + columns * (k - tree.dof_begin);
      const double* column = J.data() + rows * (k - tree.dof_begin);
      if (rows == 3) {
        Four four;
        load(column, &four);
        *reinterpret_cast<Four*>(x) = four;
        continue;
      }
      for (int r = 0; r < columns; ++r) x[r] = r < rows ? column[r] : 0;
    }
    double product[48];
    std::fill_n(product, size * columns, 0.0);
    add_inverse_product(model.system_pattern, motion.A_factor.data(), dofs, tree.dof_begin, size, X, product);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < rows; ++j) W(i, j) += product[columns * i + j];
    }
  }
  return W;
}

// J A_bb^-1 J^T of one block of an object that is not a tree.
void Delassus::add_of_block(const ConstraintGroup& group, const GroupPart& part, int id, Mat6* W) const {
  using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
  const int n = model.blocks[part.block].size, b = part.block - model.objects[id].block_begin;
  const Eigen::Map<const MatX> A(motion_of(model, motion, id).factor.matrix.block(b, b), n, n);
  const Block J = problem.jacobian(group, part), whole = A.selfadjointView<Eigen::Lower>();
  const Block X = whole.llt().solve(Block(J.transpose()));
  W->topLeftCorner(group.num_rows, group.num_rows) += J * X;
}

// Of all parts on one object that is not a tree, when `first` is the first of them: A^-1 couples its blocks.
void Delassus::add_of_object(const ConstraintGroup& group, int first, Mat6* W) const {
  const int id = problem.object_of(problem.parts[first]), rows = group.num_rows;
  for (int p = group.part_begin; p < first; ++p) {
    if (problem.object_of(problem.parts[p]) == id) return;
  }
  if (model.objects[id].physics->has_local_mass()) {
    for (int p = first; p < group.part_end; ++p) {
      if (problem.object_of(problem.parts[p]) == id) add_of_block(group, problem.parts[p], id, W);
    }
    return;
  }
  thread_local std::vector<double> transposed;
  thread_local std::vector<ColumnsInBlock> columns;
  transposed.resize(6 * 6 * (group.part_end - first));
  columns.clear();
  double* JT = transposed.data();
  for (int p = first; p < group.part_end; ++p) {
    const GroupPart& part = problem.parts[p];
    if (problem.object_of(part) != id) continue;
    const auto J = problem.jacobian(group, part);
    const int n = static_cast<int>(J.cols());
    Eigen::Map<MatX>(JT, n, rows) = J.transpose();
    columns.push_back({part.block - model.objects[id].block_begin, 0, rows, JT, n});
    JT += 36;
  }
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6> product(rows, rows);
  project_inverse(motion_of(model, motion, id), columns, rows, product);
  W->topLeftCorner(rows, rows) += product;
}

CAPSTAN_CLONES Vec3 Delassus::calc_diagonal(const ConstraintGroup& group) const {
  const auto parts = std::span(problem.parts).subspan(group.part_begin, group.part_end - group.part_begin);
  if (std::any_of(parts.begin(), parts.end(), [](const GroupPart& part) { return part.last_dof < 0; }))
    return calc(group).diagonal().head<3>();
  double W[4] = {};
  for (const GroupPart& part : parts) {
    const Tree& tree = model.trees[part.block];
    const double* J = problem.jacobians.data() + part.jacobian;
    double* x = solve_scratch(tree.num_dofs());
    const int rows = group.num_rows;
    for (const int k : dofs_of(part)) {
      const double* column = J + rows * (k - tree.dof_begin);
      Four four = {column[0], 0, 0, 0};
      if (rows == 3) load(column, &four);
      if (rows == 2) four[1] = column[1];
      *reinterpret_cast<Four*>(x) = four;
      x += 4;
    }
    add_inverse_diagonal(model.system_pattern, motion.A_factor.data(), part.last_dof,
                         solve_scratch(tree.num_dofs()), W);
  }
  return {W[0], W[1], W[2]};
}

double Delassus::calc(int dof) const {
  const int m = model.system_pattern.row_size(dof);
  Eigen::Map<VecX> half(solve_scratch(m), m);
  half.setZero();
  half[m - 1] = 1;
  half_solve_in_place(model.system_pattern, motion.A_factor.data(), dof, half.data());
  return half.squaredNorm();
}

}  // namespace capstan
