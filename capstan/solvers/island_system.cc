#include "capstan/solvers/island_system.h"

#include <algorithm>
#include <new>

#include "capstan/math/branch_matrix.h"
#include "capstan/math/clones.h"

namespace capstan {
namespace {

// Below, J^T of a part is n x rows, its columns one after the other; n are the dofs of the tree. Rows and N
// are the sizes where the compiler knows them, 0 where it does not: nearly all parts are of a free body (N =
// 6) and have the rows of one contact (3) or of several (6). `dofs` are those of a larger tree that move the
// rows at all; loops over the others would cost less than to tell them apart, but for the columns of a
// product.
template <int Rows, int N>
CAPSTAN_INLINE inline void add_motion(const double* JT, int rows, int size, const double* x, double* u) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  constexpr int kMost = Rows > 0 ? Rows : 6;
  int i = 0;
  if constexpr (N == 0) {
    Four sum[kMost] = {};
    for (; i + 4 <= n; i += 4) {
      const Four at = *reinterpret_cast<const Four*>(x + i);
      for (int r = 0; r < R; ++r) sum[r] += *reinterpret_cast<const Four*>(JT + n * r + i) * at;
    }
    for (int r = 0; r < R; ++r) u[r] += sum_of(sum[r]);
  }
  for (int r = 0; r < R; ++r) {
    double sum = 0;
    for (int k = i; k < n; ++k) sum += JT[n * r + k] * x[k];
    u[r] += sum;
  }
}

template <int Rows, int N>
CAPSTAN_INLINE inline void add_impulse(const double* __restrict JT, int rows, int size,
                                       const double* __restrict f, double* __restrict y) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (Rows > 0) {
    for (int i = 0; i < n; ++i) {
      double sum = y[i];
      for (int r = 0; r < R; ++r) sum += JT[n * r + i] * f[r];
      y[i] = sum;
    }
  } else {
    for (int r = 0; r < R; ++r) {
      for (int i = 0; i < n; ++i) y[i] += JT[n * r + i] * f[r];
    }
  }
}

// T = J^T G, n x rows; G has the leading dimension 6 and is symmetric.
template <int Rows, int N>
CAPSTAN_INLINE inline void multiply_hessian(const double* __restrict JT, int rows, int size,
                                            const double* __restrict G, double* __restrict T) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  for (int r = 0; r < R; ++r) {
    if constexpr (Rows > 0) {
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int s = 0; s < R; ++s) sum += JT[n * s + i] * G[6 * r + s];
        T[n * r + i] = sum;
      }
    } else {
      for (int i = 0; i < n; ++i) T[n * r + i] = 0;
      for (int s = 0; s < R; ++s) {
        for (int i = 0; i < n; ++i) T[n * r + i] += JT[n * s + i] * G[6 * r + s];
      }
    }
  }
}

// block += Ja^T Tb^T for the columns dofs_b and the rows from the column's own on (`lower`) or all; the block
// is that of two whole trees.
template <int Rows, int N, bool kLower>
CAPSTAN_INLINE inline void add_product(const double* __restrict JaT, int na, const double* __restrict Tb,
                                       int nb, const int* dofs_b, int num_b, int rows,
                                       double* __restrict block) {
  const int R = Rows > 0 ? Rows : rows;
  if constexpr (N > 0) {  // so few dofs that the whole block is faster than its lower triangle
    for (int k = 0; k < N; ++k) {
      double sum[N];
      for (int i = 0; i < N; ++i) sum[i] = block[N * k + i];
      for (int r = 0; r < R; ++r) {
        for (int i = 0; i < N; ++i) sum[i] += JaT[N * r + i] * Tb[N * r + k];
      }
      for (int i = 0; i < N; ++i) block[N * k + i] = sum[i];
    }
  } else {
    for (int b = 0; b < num_b; ++b) {
      const int k = dofs_b[b];
      double* column = block + static_cast<long>(na) * k;
      if constexpr (Rows > 0) {
        double t[Rows];
        for (int r = 0; r < Rows; ++r) t[r] = Tb[nb * r + k];
        for (int i = kLower ? k : 0; i < na; ++i) {
          double sum = column[i];
          for (int r = 0; r < Rows; ++r) sum += JaT[na * r + i] * t[r];
          column[i] = sum;
        }
      } else {
        for (int r = 0; r < R; ++r) {
          const double t = Tb[nb * r + k];
          for (int i = kLower ? k : 0; i < na; ++i) column[i] += JaT[na * r + i] * t;
        }
      }
    }
  }
}

// Calls f<Rows, N>() with the sizes as constants if they are the usual ones.
template <class F>
CAPSTAN_INLINE inline void with_sizes(int rows, bool free_bodies, const F& f) {
  if (free_bodies && rows == 3) {
    f.template operator()<3, 6>();
  } else if (free_bodies && rows == 6) {
    f.template operator()<6, 6>();
  } else if (rows == 3) {
    f.template operator()<3, 0>();
  } else if (rows == 6) {
    f.template operator()<6, 0>();
  } else {
    f.template operator()<0, 0>();
  }
}

}  // namespace

void IslandSystem::begin(const Problem& p, const Islands& all, const Island& i, int* local_trees,
                         int num_vectors) {
  problem = &p;
  islands = &all;
  island = &i;
  local_tree = local_trees;
  const Model& model = *p.model;
  const int n = num_trees();
  start.assign(1, 0);
  A_start_.assign(1, 0);
  pattern_.sizes.resize(n);
  pattern_.pairs.clear();
  for (int t = 0; t < n; ++t) {
    const int tree_id = all.trees[i.tree_begin + t], size = model.trees[tree_id].num_dofs();
    local_tree[tree_id] = t;
    start.push_back(start.back() + size);
    pattern_.sizes[t] = size;
    A_start_.push_back(A_start_.back() + size * size);
  }
  contact_start.assign(1, 0);
  groups_.clear();
  parts_.clear();
  jacobians_.clear();
  dofs_.clear();
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    contact_start.push_back(contact_start.back() + c.contact_end - c.contact_begin);
    groups_.push_back({c.num_rows, static_cast<int>(parts_.size()),
                       static_cast<int>(parts_.size()) + c.part_end - c.part_begin});
    for (int a = c.part_begin; a < c.part_end; ++a) add_part(c, p.parts[a]);
    for (int a = c.part_begin; a < c.part_end; ++a) {
      for (int b = c.part_begin; b < a; ++b) {
        pattern_.pairs.push_back({local_tree[p.parts[a].tree], local_tree[p.parts[b].tree]});
      }
    }
  }
  arena_.resize((4 + num_vectors) * num_dofs());
  new (&v0) Vector(vector(-4));
  new (&v_star) Vector(vector(-3));
  new (&A_v_star) Vector(vector(-2));
  new (&scale) Vector(vector(-1));
  A_values_.resize(A_start_.back());
  for (int t = 0; t < n; ++t) {
    const Tree& tree = this->tree(t);
    Eigen::Map<MatX> block(A_values_.data() + A_start_[t], tree.num_dofs(), tree.num_dofs());
    expand(model.system_pattern, p.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    scale.segment(start[t], tree.num_dofs()) = block.diagonal().cwiseSqrt().cwiseInverse();
  }
  gather(p.v0, v0);
  gather(p.motion->v_star, v_star);
  multiply_A(v_star, A_v_star);
  analyzed_ = false;
}

void IslandSystem::add_part(const ConstraintGroup& c, const GroupPart& part) {
  const double* J = problem->jacobians.data() + part.jacobian;
  const int t = local_tree[part.tree], n = pattern_.sizes[t], rows = c.num_rows;
  LocalPart local{t, start[t], n, 0, 0, static_cast<int>(jacobians_.size())};
  if (n != 6) {
    local.dofs = static_cast<int>(dofs_.size());
    const BranchPattern& pattern = problem->model->pattern;
    const int first = problem->model->trees[part.tree].dof_begin;
    if (part.last_dof >= 0) {
      const int* path = pattern.columns.data() + pattern.row_start[part.last_dof];
      for (int i = 0; i < pattern.row_size(part.last_dof); ++i) dofs_.push_back(path[i] - first);
    } else {
      for (int k = 0; k < n; ++k) {
        if (std::any_of(J + rows * k, J + rows * (k + 1), [](double x) { return x != 0; }))
          dofs_.push_back(k);
      }
    }
    local.dofs_end = static_cast<int>(dofs_.size());
  }
  jacobians_.resize(jacobians_.size() + n * rows);
  double* JT = jacobians_.data() + local.jacobian;
  for (int r = 0; r < rows; ++r) {
    for (int k = 0; k < n; ++k) JT[n * r + k] = J[rows * k + r];
  }
  parts_.push_back(local);
}

IslandSystem::Vector IslandSystem::vector(int i) {
  return {arena_.data() + static_cast<long>(i + 4) * num_dofs(), num_dofs()};
}

void IslandSystem::gather(const VecX& from, Vector to) const {
  for (int t = 0; t < num_trees(); ++t) {
    std::copy_n(from.data() + tree(t).dof_begin, pattern_.sizes[t], to.data() + start[t]);
  }
}

CAPSTAN_CLONES void IslandSystem::multiply_A(const ConstVector& x, Vector y) const {
  for (int t = 0; t < num_trees(); ++t) {
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
      std::fill_n(yt, n, 0.0);
      int k = 0;
      for (; k + 4 <= n; k += 4) {  // four columns for each time that y is loaded
        for (int r = 0; r < n; ++r) {
          double sum = yt[r];
          for (int c = 0; c < 4; ++c) sum += A[n * (k + c) + r] * xt[k + c];
          yt[r] = sum;
        }
      }
      for (; k < n; ++k) {
        for (int r = 0; r < n; ++r) yt[r] += A[n * k + r] * xt[k];
      }
    }
  }
}

CAPSTAN_CLONES void IslandSystem::calc_motion(const ConstVector& x, std::vector<Vec6>* U,
                                              std::vector<Vec3>* contact_velocity) const {
  U->resize(num_groups());
  contact_velocity->resize(num_contacts());
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    double u[6] = {};
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const LocalPart& part = parts_[p];
      with_sizes(group.rows, part.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
        add_motion<Rows, N>(jacobians_.data() + part.jacobian, group.rows, part.size, x.data() + part.start,
                            u);
      });
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
      double w[3] = {};
      for (int k = 0; k < 6; ++k) {
        for (int r = 0; r < 3; ++r) w[r] += X[3 * k + r] * u[k];
      }
      (*contact_velocity)[at] = Vec3(w[0], w[1], w[2]);
    }
  }
}

CAPSTAN_CLONES void IslandSystem::calc_impulse(const std::vector<Vec6>& f, Vector y) const {
  y.setZero();
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const LocalPart& part = parts_[p];
      with_sizes(group.rows, part.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
        add_impulse<Rows, N>(jacobians_.data() + part.jacobian, group.rows, part.size, f[g].data(),
                             y.data() + part.start);
      });
    }
  }
}

// Adds J^T G J of every group to the matrix.
CAPSTAN_CLONES void IslandSystem::add_groups(const std::vector<Mat6>& G) {
  BlockMatrix& H = cholesky_.matrix;
  int pair = 0;
  for (int g = 0; g < num_groups(); ++g) {
    const LocalGroup& group = groups_[g];
    const int rows = group.rows;
    for (int a = group.part_begin; a < group.part_end; ++a) {
      const LocalPart& A = parts_[a];
      const double* JaT = jacobians_.data() + A.jacobian;
      product_.resize(6 * A.size);
      with_sizes(rows, A.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
        multiply_hessian<Rows, N>(JaT, rows, A.size, G[g].data(), product_.data());
        add_product<Rows, N, true>(JaT, A.size, product_.data(), A.size, dofs(A), num_dofs(A), rows,
                                   H.block(A.tree, A.tree));
      });
      // Against the parts before: the block below the diagonal has the rows of the later tree. T^T J = J^T T.
      for (int b = group.part_begin; b < a; ++b, ++pair) {
        const LocalPart& B = parts_[b];
        const double* JbT = jacobians_.data() + B.jacobian;
        with_sizes(rows, A.size == 6 && B.size == 6, [&]<int Rows, int N>() CAPSTAN_INLINE {
          if (B.tree > A.tree) {
            add_product<Rows, N, false>(JbT, B.size, product_.data(), A.size, dofs(A), num_dofs(A), rows,
                                        H.pair_block(pair));
          } else {
            add_product<Rows, N, false>(product_.data(), A.size, JbT, B.size, dofs(B), num_dofs(B), rows,
                                        H.pair_block(pair));
          }
        });
      }
    }
  }
}

bool IslandSystem::solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G,
                         const ConstVector& gradient, Vector dv) {
  if (!analyzed_) cholesky_.analyze(pattern_);
  analyzed_ = true;
  BlockMatrix& H = cholesky_.matrix;
  H.set_zero_off_diagonal();
  for (int t = 0; t < num_trees(); ++t) {
    std::copy(A_values_.begin() + A_start_[t], A_values_.begin() + A_start_[t + 1], H.block(t, t));
  }
  add_groups(G);
  const Model& model = *problem->model;
  for (int i = 0; i < num_dof_laws(); ++i) {
    const int dof = dof_law(i).dof, tree = model.links[model.dofs[dof].link].tree, t = local_tree[tree];
    const int k = dof - model.trees[tree].dof_begin;
    H.block(t, t)[k + k * pattern_.sizes[t]] += dof_G[i];
  }
  if (!cholesky_.factor()) return false;
  dv = -gradient;
  cholesky_.solve_in_place(dv.data(), 1, dv.size());
  return true;
}

}  // namespace capstan
