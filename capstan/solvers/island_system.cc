#include "capstan/solvers/island_system.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "capstan/dynamics/objects.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/math/clones.h"
#include "capstan/math/jacobian_kernels.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// In stopping tests, what is moved from outside (model/mocap.h) counts as if it were as heavy as the heaviest
// of the others: its own momentum would hide that of all.
void weigh_mocap(IslandSystem& system) {
  const auto is_moved = [&](int o) {
    const Object& object = system.object(o);
    return object.is_tree() && is_mocap(*system.problem->model, object.link_begin);
  };
  constexpr int kRoot = 6;  // dofs of the root link, the first of its tree
  double least = kInfinity;
  bool any = false;
  for (int o = 0; o < system.num_objects(); ++o) any = any || is_moved(o);
  if (!any) return;
  for (int o = 0; o < system.num_objects(); ++o) {
    for (int k = system.object_start[o] + (is_moved(o) ? kRoot : 0); k < system.object_start[o + 1]; ++k)
      least = std::min(least, system.scale[k]);
  }
  if (std::isinf(least)) least = 1;
  for (int o = 0; o < system.num_objects(); ++o) {
    if (!is_moved(o)) continue;
    auto root = system.scale.segment(system.object_start[o], kRoot);
    root = root.cwiseAbs2() / least;
  }
}

}  // namespace

void IslandSystem::begin(const Problem& p, const Islands& all, const Island& i, IslandMaps* shared,
                         int num_vectors) {
  problem = &p;
  islands = &all;
  island = &i;
  maps = shared;
  const Model& model = *p.model;
  start.assign(1, 0);
  object_start.assign(1, 0);
  A_start_.assign(1, 0);
  pattern_.sizes.clear();
  pattern_.pairs.clear();
  padded_start_.assign(1, 0);
  object_of_block_.clear();
  couplings_.clear();
  diagonal_.clear();
  model_block_.clear();
  has_trees_only_ = true;
  is_condensed_ = false;
  for (int o = 0; o < num_objects(); ++o) add_object(o);
  padded_.assign(padded_start_.back(), 0.0);
  contact_start.assign(1, 0);
  groups_.clear();
  parts_.clear();
  jacobians_.clear();
  dofs_.clear();
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    contact_start.push_back(contact_start.back() + c.contact_end - c.contact_begin);
    groups_.push_back({c.num_rows, static_cast<int>(parts_.size()),
                       static_cast<int>(parts_.size()) + c.part_end - c.part_begin, true});
    for (int a = c.part_begin; a < c.part_end; ++a) {
      add_part(c, p.parts[a]);
      groups_.back().bodies = groups_.back().bodies && parts_.back().size == 6;
    }
    for (int a = c.part_begin; a < c.part_end; ++a) {
      for (int b = c.part_begin; b < a; ++b) {
        pattern_.pairs.push_back({local_block(p.parts[a].block), local_block(p.parts[b].block)});
      }
    }
  }
  arena_.resize((4 + num_vectors) * num_dofs());
  new (&v0) Vector(vector(-4));
  new (&v_star) Vector(vector(-3));
  new (&A_v_star) Vector(vector(-2));
  new (&scale) Vector(vector(-1));
  A_values_.resize(A_start_.back());
  for (int b = 0; b < num_blocks(); ++b) {
    const int n = pattern_.sizes[b];
    if (diagonal_[b] != nullptr) {
      const int id = islands->objects[island->object_begin + object_of_block_[b]];
      const int of_object = model_block_[b] - model.objects[id].block_begin;
      const double* diagonal = motion_of(model, *p.motion, id).factor.matrix.block(of_object, of_object);
      for (int k = 0; k < n; ++k) scale[start[b] + k] = 1 / std::sqrt(diagonal[k * (n + 1)]);
      continue;
    }
    const Object& tree = object(object_of_block_[b]);
    Eigen::Map<MatX> block(A_values_.data() + A_start_[b], n, n);
    expand(model.system_pattern, p.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    scale.segment(start[b], n) = block.diagonal().cwiseSqrt().cwiseInverse();
  }
  weigh_mocap(*this);
  gather(p.v0, v0);
  gather(p.motion->v_star, v_star);
  calc_A_v_star();
  analyzed_ = has_factor_ = false;
}

void IslandSystem::add_object(int o) {
  const Model& model = *problem->model;
  const Object& object = this->object(o);
  const int first = num_blocks();
  const auto add_block = [&](int b) {
    const int size = model.blocks[b].size;
    maps->local_block[b] = num_blocks();
    model_block_.push_back(b);
    object_of_block_.push_back(o);
    start.push_back(start.back() + size);
    pattern_.sizes.push_back(size);
    A_start_.push_back(A_start_.back() + (object.is_tree() ? size * size : 0));
    padded_start_.push_back(padded_start_.back() + (size == 6 ? 0 : padded_size(size)));
  };
  if (object.is_tree()) {
    add_block(object.block_begin);
    diagonal_.push_back(nullptr);
  } else {
    has_trees_only_ = false;
    const Condensation& condensed = condensation(o);
    is_condensed_ = is_condensed_ || !condensed.is_whole();
    std::fill(maps->local_block.begin() + object.block_begin, maps->local_block.begin() + object.block_end,
              -1);
    for (const int b : condensed.blocks()) {
      add_block(object.block_begin + b);
      const int k = static_cast<int>(diagonal_.size()) - first;
      diagonal_.push_back(condensed.matrix().block(k, k));
    }
    const std::vector<std::array<int, 2>>& pairs = condensed.pairs();
    for (int k = 0; k < static_cast<int>(pairs.size()); ++k) {
      couplings_.push_back(condensed.matrix().pair_block(k));
      pattern_.pairs.push_back(
          {first + std::max(pairs[k][0], pairs[k][1]), first + std::min(pairs[k][0], pairs[k][1])});
    }
  }
  object_start.push_back(start.back());
}

// Of whole objects, those blocks that are not in the system included.
void IslandSystem::calc_A_v_star() {
  multiply_A(v_star, A_v_star);
  for (int o = 0; o < num_objects() && !has_trees_only_; ++o) {
    const Object& object = this->object(o);
    if (object.is_tree() || condensation(o).is_whole()) continue;
    product_.resize(object.num_dofs());
    motion_of(*problem->model, *problem->motion, islands->objects[island->object_begin + o])
        .factor.matrix.multiply(problem->motion->v_star.data() + object.dof_begin, product_.data());
    for (const int b : condensation(o).blocks()) {
      const DofBlock& block = problem->model->blocks[object.block_begin + b];
      std::copy_n(product_.data() + block.dof_begin - object.dof_begin, block.size,
                  A_v_star.data() + start[local_block(object.block_begin + b)]);
    }
  }
}

void IslandSystem::add_part(const ConstraintGroup& c, const GroupPart& part) {
  const double* J = problem->jacobians.data() + part.jacobian;
  const int t = local_block(part.block), n = pattern_.sizes[t], rows = c.num_rows;
  LocalPart local{t, start[t], n, padded_start_[t], 0, 0, static_cast<int>(jacobians_.size())};
  if (n != 6) {
    local.dofs = static_cast<int>(dofs_.size());
    const BranchPattern& pattern = problem->model->pattern;
    const int first = problem->model->blocks[part.block].dof_begin;
    if (part.last_dof >= 0) {
      const int* path = pattern.columns.data() + pattern.row_start[part.last_dof];
      const int size = pattern.row_size(part.last_dof);
      dofs_.resize(local.dofs + size);
      for (int i = 0; i < size; ++i) dofs_[local.dofs + i] = path[i] - first;
    } else {
      for (int k = 0; k < n; ++k) {
        if (std::any_of(J + rows * k, J + rows * (k + 1), [](double x) { return x != 0; }))
          dofs_.push_back(k);
      }
    }
    local.dofs_end = static_cast<int>(dofs_.size());
  }
  const int ld = padded_size(n);
  jacobians_.resize(jacobians_.size() + ld * rows, 0.0);
  double* JT = jacobians_.data() + local.jacobian;
  if (n == 6) {
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < 6; ++k) JT[6 * r + k] = J[rows * k + r];
    }
  } else {
    const auto transpose = [&](int num_rows) CAPSTAN_INLINE {
      for (int i = local.dofs; i < local.dofs_end; ++i) {
        const int k = dofs_[i];
        for (int r = 0; r < num_rows; ++r) JT[ld * r + k] = J[num_rows * k + r];
      }
    };
    rows == 3 ? transpose(3) : transpose(rows);
  }
  parts_.push_back(local);
}

IslandSystem::Vector IslandSystem::vector(int i) {
  return {arena_.data() + static_cast<long>(i + 4) * num_dofs(), num_dofs()};
}

void IslandSystem::gather(const VecX& from, Vector to) const {
  for (int o = 0; o < num_objects(); ++o) {
    const Object& object = this->object(o);
    if (object.is_tree() || condensation(o).is_whole()) {
      std::copy_n(from.data() + object.dof_begin, object.num_dofs(), to.data() + object_start[o]);
      continue;
    }
    for (const int b : condensation(o).blocks()) {
      const DofBlock& block = problem->model->blocks[object.block_begin + b];
      std::copy_n(from.data() + block.dof_begin, block.size,
                  to.data() + start[local_block(object.block_begin + b)]);
    }
  }
}

void IslandSystem::scatter_velocities(const ConstVector& from, VecX* to) {
  for (int o = 0; o < num_objects(); ++o) {
    const Object& object = this->object(o);
    if (object.is_tree() || condensation(o).is_whole()) {
      std::copy_n(from.data() + object_start[o], object.num_dofs(), to->data() + object.dof_begin);
      continue;
    }
    const double* free = problem->motion->v_star.data() + object.dof_begin;
    double* v = to->data() + object.dof_begin;
    product_.assign(object.num_dofs(), 0.0);
    for (const int b : condensation(o).blocks()) {
      const DofBlock& block = problem->model->blocks[object.block_begin + b];
      const int first = block.dof_begin - object.dof_begin;
      for (int k = 0; k < block.size; ++k) {
        v[first + k] = from[start[local_block(object.block_begin + b)] + k];
        product_[first + k] = v[first + k] - free[first + k];
      }
    }
    condensation(o).extend(product_.data());
    for (int b = object.block_begin; b < object.block_end; ++b) {
      if (local_block(b) >= 0) continue;
      const DofBlock& block = problem->model->blocks[b];
      for (int k = block.dof_begin - object.dof_begin, n = k + block.size; k < n; ++k)
        v[k] = free[k] + product_[k];
    }
  }
}

CAPSTAN_CLONES void IslandSystem::multiply_A(const ConstVector& x, Vector y) const {
  for (int o = 0; o < num_objects() && !has_trees_only_; ++o) {
    if (object(o).is_tree()) continue;
    condensation(o).matrix().multiply(x.data() + object_start[o], y.data() + object_start[o]);
  }
  for (int t = 0; t < num_blocks(); ++t) {
    if (diagonal_[t] != nullptr) continue;
    const int n = pattern_.sizes[t];
    const double* A = A_values_.data() + A_start_[t];
    const double* __restrict xt = x.data() + start[t];
    double* __restrict yt = y.data() + start[t];
    if (n == 6) {
      double sum[6] = {};
      for (int k = 0; k < 6; ++k) {
        for (int r = 0; r < 6; ++r) sum[r] += A[6 * k + r] * xt[k];
      }
      for (int r = 0; r < 6; ++r) yt[r] = sum[r];
    } else {
      for_each_rows(n, [&]<int Fours>(int i) CAPSTAN_INLINE {
        Four sum[Fours > 0 ? Fours : 1] = {};
        for (int k = 0; k < n; ++k) {
          const double* column = A + n * k + i;
          if constexpr (Fours == 0) sum[0][0] += column[0] * xt[k];
          for (int f = 0; f < Fours; ++f) sum[f] += four(column + 4 * f) * xt[k];
        }
        if constexpr (Fours == 0) yt[i] = sum[0][0];
        for (int f = 0; f < Fours; ++f) four(yt + i + 4 * f) = sum[f];
      });
    }
  }
}

CAPSTAN_CLONES void IslandSystem::calc_motion(const ConstVector& x, std::vector<Vec6>* U,
                                              std::vector<Vec3>* contact_velocity) const {
  U->resize(num_groups());
  contact_velocity->resize(num_contacts());
  for (int t = 0; t < num_blocks(); ++t) {
    if (pattern_.sizes[t] == 6) continue;
    std::copy_n(x.data() + start[t], pattern_.sizes[t], padded_.data() + padded_start_[t]);
  }
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    double u[6] = {};
    const auto body = [&](int p) CAPSTAN_INLINE {
      return std::pair(jacobians_.data() + parts_[p].jacobian, x.data() + parts_[p].start);
    };
    const bool done = with_bodies(group.rows, group.bodies, [&]<int Rows>() CAPSTAN_INLINE {
      calc_motion_of_bodies<Rows>(group.part_begin, group.part_end, body, u);
    });
    if (!done) {
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const LocalPart& part = parts_[p];
        with_sizes(group.rows, part.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
          add_motion<Rows, N>(jacobians_.data() + part.jacobian, group.rows, padded_size(part.size),
                              N > 0 ? x.data() + part.start : padded_.data() + part.padded, u);
        });
      }
    }
    for (int r = 0; r < 6; ++r) (*U)[g][r] = u[r];
    const int begin = contact_start[g], end = contact_start[g + 1];
    if (begin == end) continue;
    if (group.rows == 3) {
      (*contact_velocity)[begin] = Vec3(u[0], u[1], u[2]);
      continue;
    }
    const Mat36* X_of_group = problem->X.data() + this->group(g).contact_begin;
    for (int at = begin; at < end; ++at) {
      const double* X = X_of_group[at - begin].data();
      Four w;
      load(X + 15, &w);
      w *= u[5];
      for (int k = 0; k < 5; ++k) w += four(X + 3 * k) * u[k];
      store(w, (*contact_velocity)[at].data());
    }
  }
}

CAPSTAN_CLONES void IslandSystem::calc_impulse(const std::vector<Vec6>& f, Vector y) const {
  y.setZero();
  std::fill(padded_.begin(), padded_.end(), 0.0);
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    const auto body = [&](int p) CAPSTAN_INLINE {
      return std::pair(jacobians_.data() + parts_[p].jacobian, y.data() + parts_[p].start);
    };
    const bool done = with_bodies(group.rows, group.bodies, [&]<int Rows>() CAPSTAN_INLINE {
      add_impulse_on_bodies<Rows>(group.part_begin, group.part_end, body, f[g].data());
    });
    if (!done) {
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const LocalPart& part = parts_[p];
        with_sizes(group.rows, part.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
          add_impulse<Rows, N>(jacobians_.data() + part.jacobian, group.rows, padded_size(part.size),
                               f[g].data(), N > 0 ? y.data() + part.start : padded_.data() + part.padded);
        });
      }
    }
  }
  for (int t = 0; t < num_blocks(); ++t) {
    if (pattern_.sizes[t] == 6) continue;
    std::copy_n(padded_.data() + padded_start_[t], pattern_.sizes[t], y.data() + start[t]);
  }
}

// Adds J^T G J of every group to the matrix.
CAPSTAN_CLONES void IslandSystem::add_groups(const std::vector<Mat6>& G) {
  BlockMatrix& H = cholesky_.matrix;
  int pair = static_cast<int>(couplings_.size());
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    const int rows = group.rows, parts = group.part_end - group.part_begin;
    if (G[g].diagonal().head(rows).isZero(0)) {  // it does not act, and G is positive semi-definite
      pair += parts * (parts - 1) / 2;
      continue;
    }
    for (int a = group.part_begin; a < group.part_end; ++a) {
      const LocalPart& A = parts_[a];
      const double* JaT = jacobians_.data() + A.jacobian;
      const int na = padded_size(A.size);
      product_.resize(6 * na);
      with_sizes(rows, A.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
        multiply_hessian<Rows, N>(JaT, rows, na, G[g].data(), product_.data());
        add_product<Rows, N, true>(JaT, na, product_.data(), na, dofs(A), num_dofs(A), rows,
                                   H.block(A.block, A.block), A.size);
      });
      // Against the parts before: the block below the diagonal has the rows of the later tree. T^T J = J^T T.
      for (int b = group.part_begin; b < a; ++b, ++pair) {
        const LocalPart& B = parts_[b];
        const double* JbT = jacobians_.data() + B.jacobian;
        const int nb = padded_size(B.size);
        with_sizes(rows, A.size == 6 && B.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
          if (B.block > A.block) {
            add_product<Rows, N, false>(JbT, nb, product_.data(), na, dofs(A), num_dofs(A), rows,
                                        H.pair_block(pair), B.size);
          } else {
            add_product<Rows, N, false>(product_.data(), na, JbT, nb, dofs(B), num_dofs(B), rows,
                                        H.pair_block(pair), A.size);
          }
        });
      }
    }
  }
}

// A alone, into the whole matrix.
void IslandSystem::fill() {
  BlockMatrix& H = cholesky_.matrix;
  H.set_zero_off_diagonal();
  for (int b = 0; b < num_blocks(); ++b) {
    const int n = pattern_.sizes[b];
    std::copy_n(diagonal_[b] != nullptr ? diagonal_[b] : A_values_.data() + A_start_[b], n * n,
                H.block(b, b));
  }
  // One pair may be there several times, of A once and of what was eliminated between any two.
  for (int k = 0; k < static_cast<int>(couplings_.size()); ++k) {
    const auto [row, column] = pattern_.pairs[k];
    std::copy_n(couplings_[k], pattern_.sizes[row] * pattern_.sizes[column], H.pair_block(k));
  }
}

bool IslandSystem::solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G,
                         const ConstVector& gradient, Vector dv) {
  if (problem->deadline != nullptr) problem->deadline->check();
  if (!analyzed_) cholesky_.analyze(pattern_);
  analyzed_ = true;
  fill();
  add_groups(G);
  BlockMatrix& H = cholesky_.matrix;
  for (int i = 0; i < num_dof_laws(); ++i) {
    const int dof = local_dof(dof_law(i).dof);
    const int t = static_cast<int>(std::upper_bound(start.begin(), start.end(), dof) - start.begin()) - 1;
    const int k = dof - start[t];
    H.block(t, t)[k + k * pattern_.sizes[t]] += dof_G[i];
  }
  has_factor_ = static_cast<bool>(cholesky_.factor());
  if (!has_factor_) return false;
  solve_again(gradient, dv);
  return true;
}

void IslandSystem::solve_again(const ConstVector& gradient, Vector dv) const {
  dv = -gradient;
  cholesky_.solve_in_place(dv.data(), 1, dv.size());
}

void IslandSystem::calc_influence(std::span<const int> groups, Eigen::Ref<MatX> W) {
  columns_.clear();
  int row = 0;
  for (const int g : groups) {
    for (int p = groups_[g].part_begin; p < groups_[g].part_end; ++p) {
      const LocalPart& part = parts_[p];
      columns_.push_back(
          {part.block, row, groups_[g].rows, jacobians_.data() + part.jacobian, padded_size(part.size)});
    }
    row += groups_[g].rows;
  }
  cholesky_.project_inverse(columns_, row, W);
}

void IslandSystem::add_influence(std::span<const int> groups, const ConstVector& f, Vector dv) {
  product_.assign(num_dofs(), 0.0);
  int row = 0;
  for (const int g : groups) {
    const int rows = groups_[g].rows;
    for (int p = groups_[g].part_begin; p < groups_[g].part_end; ++p) {
      const LocalPart& part = parts_[p];
      const double* JT = jacobians_.data() + part.jacobian;
      for (int r = 0; r < rows; ++r, JT += padded_size(part.size)) {
        for (int k = 0; k < part.size; ++k) product_[part.start + k] += JT[k] * f[row + r];
      }
    }
    row += rows;
  }
  cholesky_.solve_in_place(product_.data(), 1, num_dofs());
  dv += Eigen::Map<const VecX>(product_.data(), num_dofs());
}

}  // namespace capstan
