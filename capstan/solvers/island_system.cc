#include "capstan/solvers/island_system.h"

#include <new>

#include "capstan/math/branch_matrix.h"

// The kernels below are plain loops; on x86-64 they are compiled for AVX2 as well, and the processor decides.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CAPSTAN_CLONES __attribute__((target_clones("default", "arch=haswell")))
#else
#define CAPSTAN_CLONES
#endif

namespace capstan {
namespace {

// T = G J, with G 6 x 6 (the upper left corner of `rows` counts) and J of `rows` x n. T is 6 x n.
CAPSTAN_CLONES void multiply_hessian(const double* G, const double* J, int rows, int n, double* T) {
  for (int k = 0; k < n; ++k) {
    double t[6] = {};
    for (int j = 0; j < rows; ++j) {
      for (int r = 0; r < 6; ++r) t[r] += G[6 * j + r] * J[rows * k + j];
    }
    for (int r = 0; r < 6; ++r) T[6 * k + r] = t[r];
  }
}

// block (na x nb) += Ja^T T, with Ja given transposed (na x rows) and T 6 x nb.
CAPSTAN_CLONES void add_product(const double* JaT, int na, const double* T, int nb, int rows, double* block) {
  if (na == 6 && rows == 6) {
    for (int k = 0; k < nb; ++k) {
      double sum[6];
      for (int i = 0; i < 6; ++i) sum[i] = block[6 * k + i];
      for (int r = 0; r < 6; ++r) {
        for (int i = 0; i < 6; ++i) sum[i] += JaT[6 * r + i] * T[6 * k + r];
      }
      for (int i = 0; i < 6; ++i) block[6 * k + i] = sum[i];
    }
    return;
  }
  for (int k = 0; k < nb; ++k) {
    for (int r = 0; r < rows; ++r) {
      const double t = T[6 * k + r];
      if (t == 0) continue;  // whole columns are zero where a link does not depend on a dof
      for (int i = 0; i < na; ++i) block[na * k + i] += JaT[na * r + i] * t;
    }
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
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    contact_start.push_back(contact_start.back() + c.contact_end - c.contact_begin);
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
  cholesky_.analyze(pattern_);
}

IslandSystem::Vector IslandSystem::vector(int i) {
  return {arena_.data() + static_cast<long>(i + 4) * num_dofs(), num_dofs()};
}

void IslandSystem::gather(const VecX& from, Vector to) const {
  for (int t = 0; t < num_trees(); ++t) {
    std::copy_n(from.data() + tree(t).dof_begin, pattern_.sizes[t], to.data() + start[t]);
  }
}

void IslandSystem::multiply_A(const ConstVector& x, Vector y) const {
  for (int t = 0; t < num_trees(); ++t) {
    const int n = pattern_.sizes[t];
    const double* A = A_values_.data() + A_start_[t];
    const double* xt = x.data() + start[t];
    double* yt = y.data() + start[t];
    if (n == 6) {
      double sum[6] = {};
      for (int k = 0; k < 6; ++k) {
        for (int r = 0; r < 6; ++r) sum[r] += A[6 * k + r] * xt[k];
      }
      for (int r = 0; r < 6; ++r) yt[r] = sum[r];
    } else {
      y.segment(start[t], n).noalias() = Eigen::Map<const MatX>(A, n, n) * x.segment(start[t], n);
    }
  }
}

void IslandSystem::calc_motion(const ConstVector& x, std::vector<Vec6>* U,
                               std::vector<Vec3>* contact_velocity) const {
  U->resize(num_groups());
  contact_velocity->resize(num_contacts());
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    double u[6] = {};
    for (int p = c.part_begin; p < c.part_end; ++p) {
      const GroupPart& part = problem->parts[p];
      const int rows = c.num_rows, t = local_tree[part.tree], n = pattern_.sizes[t];
      const double* J = problem->jacobians.data() + part.jacobian;
      const double* xt = x.data() + start[t];
      if (rows == 6) {
        for (int k = 0; k < n; ++k) {
          for (int r = 0; r < 6; ++r) u[r] += xt[k] * J[6 * k + r];
        }
      } else {
        for (int k = 0; k < n; ++k) {
          for (int r = 0; r < rows; ++r) u[r] += xt[k] * J[rows * k + r];
        }
      }
    }
    for (int r = 0; r < 6; ++r) (*U)[g][r] = u[r];
    int at = contact_start[g];
    for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
      const double* X = problem->X[i].data();
      double w[3] = {};
      for (int k = 0; k < 6; ++k) {
        for (int r = 0; r < 3; ++r) w[r] += X[3 * k + r] * u[k];
      }
      (*contact_velocity)[at] = Vec3(w[0], w[1], w[2]);
    }
  }
}

void IslandSystem::calc_impulse(const std::vector<Vec6>& f, Vector y) const {
  y.setZero();
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    const double* fg = f[g].data();
    for (int p = c.part_begin; p < c.part_end; ++p) {
      const GroupPart& part = problem->parts[p];
      const int rows = c.num_rows, t = local_tree[part.tree], n = pattern_.sizes[t];
      const double* J = problem->jacobians.data() + part.jacobian;
      double* yt = y.data() + start[t];
      for (int k = 0; k < n; ++k) {
        double sum = 0;
        for (int r = 0; r < rows; ++r) sum += J[rows * k + r] * fg[r];
        yt[k] += sum;
      }
    }
  }
}

// Adds J^T G J of one group to the matrix.
void IslandSystem::add_group(const ConstraintGroup& c, const Mat6& G, int* pair) {
  BlockMatrix& H = cholesky_.matrix;
  const int rows = c.num_rows;
  // The transposed Jacobians of all parts one after the other, and G J of the part at hand.
  int total = 0;
  for (int a = c.part_begin; a < c.part_end; ++a) total += pattern_.sizes[local_tree[problem->parts[a].tree]];
  transposed_.resize(6 * total);
  product_.resize(6 * total);
  double* JT = transposed_.data();
  for (int a = c.part_begin; a < c.part_end; ++a) {
    const int ta = local_tree[problem->parts[a].tree], na = pattern_.sizes[ta];
    const double* J = problem->jacobians.data() + problem->parts[a].jacobian;
    for (int k = 0; k < na; ++k) {
      for (int r = 0; r < rows; ++r) JT[na * r + k] = J[rows * k + r];
    }
    multiply_hessian(G.data(), J, rows, na, product_.data());
    add_product(JT, na, product_.data(), na, rows, H.block(ta, ta));
    // Against the parts before: the block below the diagonal has the rows of the later tree.
    const double* JbT = transposed_.data();
    for (int b = c.part_begin; b < a; ++b, ++*pair) {
      const int tb = local_tree[problem->parts[b].tree], nb = pattern_.sizes[tb];
      double* block = H.pair_block(*pair);
      if (tb > ta) {
        add_product(JbT, nb, product_.data(), na, rows, block);
      } else {
        const double* Jb = problem->jacobians.data() + problem->parts[b].jacobian;
        multiply_hessian(G.data(), Jb, rows, nb, product_.data() + 6 * na);
        add_product(JT, na, product_.data() + 6 * na, nb, rows, block);
      }
      JbT += 6 * nb;
    }
    JT += 6 * na;
  }
}

bool IslandSystem::solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G,
                         const ConstVector& gradient, Vector dv) {
  BlockMatrix& H = cholesky_.matrix;
  H.set_zero();
  for (int t = 0; t < num_trees(); ++t) {
    std::copy(A_values_.begin() + A_start_[t], A_values_.begin() + A_start_[t + 1], H.block(t, t));
  }
  int pair = 0;
  for (int g = 0; g < num_groups(); ++g) add_group(group(g), G[g], &pair);
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
