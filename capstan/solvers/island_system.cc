#include "capstan/solvers/island_system.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "capstan/dynamics/objects.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"

namespace capstan {
namespace {

// Jacobians of a free body have six rows, those of larger trees whole fours, of which the last end with
// zeros.
constexpr int padded_size(int dofs) {
  return dofs == 6 ? 6 : (dofs + 3) / 4 * 4;
}
CAPSTAN_INLINE inline Four& four(double* x) {
  return *reinterpret_cast<Four*>(x);
}
CAPSTAN_INLINE inline const Four& four(const double* x) {
  return *reinterpret_cast<const Four*>(x);
}
CAPSTAN_INLINE inline Two& two(double* x) {
  return *reinterpret_cast<Two*>(x);
}
CAPSTAN_INLINE inline const Two& two(const double* x) {
  return *reinterpret_cast<const Two*>(x);
}

// Below, J^T of a part is n x rows, its columns one after the other; n is padded_size(). Rows and N are the
// sizes where the compiler knows them, 0 where it does not: nearly all parts are of a free body (N = 6) and
// have the rows of one contact (3) or of several (6). x and y of larger trees are padded, too.
template <int Rows, int N>
CAPSTAN_INLINE inline void add_motion(const double* JT, int rows, int size, const double* x, double* u) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += JT[n * r + i] * x[i];
      u[r] += sum;
    }
  } else {
    Four sum[Rows > 0 ? Rows : 6] = {};
    for (int i = 0; i < n; i += 4) {
      for (int r = 0; r < R; ++r) sum[r] += four(JT + n * r + i) * four(x + i);
    }
    for (int r = 0; r < R; ++r) u[r] += sum_of(sum[r]);
  }
}

// The motions of a group whose trees are all free bodies.
template <int Rows, class F>
CAPSTAN_INLINE inline void calc_motion_of_bodies(int part_begin, int part_end, const F& part, double* u) {
  Four sum4[Rows] = {};
  Two sum2[Rows] = {};
  for (int p = part_begin; p < part_end; ++p) {
    const auto [JT, x] = part(p);
    const Four x4 = four(x);
    const Two x2 = two(x + 4);
    for (int r = 0; r < Rows; ++r) {
      sum4[r] += four(JT + 6 * r) * x4;
      sum2[r] += two(JT + 6 * r + 4) * x2;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    const Two sum = sum2[r] + __builtin_shufflevector(sum4[r], sum4[r], 0, 1) +
                    __builtin_shufflevector(sum4[r], sum4[r], 2, 3);
    u[r] = sum[0] + sum[1];
  }
}

template <int Rows, int N>
CAPSTAN_INLINE inline void add_impulse(const double* JT, int rows, int size, const double* f, double* y) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      for (int i = 0; i < n; ++i) y[i] += JT[n * r + i] * f[r];
    }
  } else {
    for (int i = 0; i < n; i += 4) {
      Four sum = four(y + i);
      for (int r = 0; r < R; ++r) sum += four(JT + n * r + i) * f[r];
      four(y + i) = sum;
    }
  }
}

// The impulses f of a group on its trees, which are all free bodies.
template <int Rows, class F>
CAPSTAN_INLINE inline void add_impulse_on_bodies(int part_begin, int part_end, const F& part,
                                                 const double* f) {
  for (int p = part_begin; p < part_end; ++p) {
    const auto [JT, y] = part(p);
    Four y4 = four(y);
    Two y2 = two(y + 4);
    for (int r = 0; r < Rows; ++r) {
      y4 += four(JT + 6 * r) * f[r];
      y2 += two(JT + 6 * r + 4) * f[r];
    }
    four(y) = y4;
    two(y + 4) = y2;
  }
}

// T = J^T G, n x rows; G has the leading dimension 6 and is symmetric.
template <int Rows, int N>
CAPSTAN_INLINE inline void multiply_hessian(const double* JT, int rows, int size, const double* G,
                                            double* T) {
  const int R = Rows > 0 ? Rows : rows, n = N > 0 ? N : size;
  if constexpr (N > 0) {
    for (int r = 0; r < R; ++r) {
      Four t4 = {};
      Two t2 = {};
      for (int s = 0; s < R; ++s) {
        t4 += four(JT + 6 * s) * G[6 * r + s];
        t2 += two(JT + 6 * s + 4) * G[6 * r + s];
      }
      four(T + 6 * r) = t4;
      two(T + 6 * r + 4) = t2;
    }
  } else {
    for (int i = 0; i < n; i += 4) {
      Four J[Rows > 0 ? Rows : 6];
      for (int r = 0; r < R; ++r) J[r] = four(JT + n * r + i);
      for (int r = 0; r < R; ++r) {
        Four sum = {};
        for (int s = 0; s < R; ++s) sum += J[s] * G[6 * r + s];
        four(T + n * r + i) = sum;
      }
    }
  }
}

// block += Ja^T Tb^T; the block is that of two whole trees and has `height` rows. Of larger trees only the
// columns dofs_b, since the others of Tb are zero, and if kLower the lower triangle (with some of the upper).
template <int Rows, int N, bool kLower>
CAPSTAN_INLINE inline void add_product(const double* JaT, int na, const double* Tb, int nb, const int* dofs_b,
                                       int num_b, int rows, double* block, int height) {
  const int R = Rows > 0 ? Rows : rows;
  if constexpr (N > 0) {
    for (int k = 0; k < 6; ++k) {
      if (!kLower || k < 4) {
        Four sum = four(block + 6 * k);
        for (int r = 0; r < R; ++r) sum += four(JaT + 6 * r) * Tb[6 * r + k];
        four(block + 6 * k) = sum;
      }
      Two sum = two(block + 6 * k + 4);
      for (int r = 0; r < R; ++r) sum += two(JaT + 6 * r + 4) * Tb[6 * r + k];
      two(block + 6 * k + 4) = sum;
    }
  } else {
    if (height < 4) {
      for (int b = 0; b < num_b; ++b) {
        double* column = block + height * dofs_b[b];
        for (int i = 0; i < height; ++i) {
          for (int r = 0; r < R; ++r) column[i] += JaT[na * r + i] * Tb[nb * r + dofs_b[b]];
        }
      }
      return;
    }
    const int over = height % 4;
    const Four first = {1, over > 1 ? 1.0 : 0, over > 2 ? 1.0 : 0, 0};  // those that no other four has
    for (int b = 0; b < num_b; b += 2) {  // two columns for each time that J is loaded
      const bool two = b + 1 < num_b;
      const int k = dofs_b[b], l = two ? dofs_b[b + 1] : k, top = kLower ? k : 0;
      double* x = block + static_cast<long>(height) * k;
      double* y = block + static_cast<long>(height) * l;
      double t[Rows > 0 ? Rows : 6] = {}, u[Rows > 0 ? Rows : 6] = {};
      for (int r = 0; r < R; ++r) t[r] = Tb[nb * r + k], u[r] = Tb[nb * r + l];
      int i = height - 4;
      for (; i >= 0 && i > top - 4; i -= 4) {  // from below, where all columns end
        Four sum = four(x + i), sum2 = four(y + i);
        for (int r = 0; r < R; ++r) {
          const Four J = four(JaT + na * r + i);
          sum += J * t[r];
          sum2 += J * u[r];
        }
        four(x + i) = sum;
        if (two) four(y + i) = sum2;
      }
      if (i <= top - 4 || over == 0) continue;
      Four sum = four(x), sum2 = four(y);
      for (int r = 0; r < R; ++r) {
        const Four J = four(JaT + na * r) * first;
        sum += J * t[r];
        sum2 += J * u[r];
      }
      four(x) = sum;
      if (two) four(y) = sum2;
    }
  }
}

// f<Fours>(i) for rows [i, i + 4 Fours), or with Fours = 0 for row i, such that each of n rows is in one or
// two.
template <class F>
CAPSTAN_INLINE inline void for_each_rows(int n, const F& f) {
  if (n >= 16) {
    for (int i = n - 16; i > 0; i -= 16) f.template operator()<4>(i);
    f.template operator()<4>(0);
  } else if (n >= 4) {
    for (int i = n - 4; i > 0; i -= 4) f.template operator()<1>(i);
    f.template operator()<1>(0);
  } else {
    for (int i = 0; i < n; ++i) f.template operator()<0>(i);
  }
}

// Calls f<Rows, N>() with the sizes as constants if they are the usual ones; N is 6 whenever all trees have
// six dofs, because those have no padding.
template <class F>
CAPSTAN_INLINE inline void with_sizes(int rows, bool free_bodies, const F& f) {
  if (free_bodies && rows == 3) {
    f.template operator()<3, 6>();
  } else if (free_bodies && rows == 6) {
    f.template operator()<6, 6>();
  } else if (free_bodies) {
    f.template operator()<0, 6>();
  } else if (rows == 3) {
    f.template operator()<3, 0>();
  } else if (rows == 6) {
    f.template operator()<6, 0>();
  } else {
    f.template operator()<0, 0>();
  }
}

// Calls f<Rows>() where all trees of a group are free bodies and its rows are as usual.
template <class F>
CAPSTAN_INLINE inline bool with_bodies(int rows, bool bodies, const F& f) {
  if (!bodies || (rows != 3 && rows != 6)) return false;
  if (rows == 3) {
    f.template operator()<3>();
  } else {
    f.template operator()<6>();
  }
  return true;
}

}  // namespace

void IslandSystem::begin(const Problem& p, const Islands& all, const Island& i, int* local_blocks,
                         int num_vectors) {
  problem = &p;
  islands = &all;
  island = &i;
  local_block = local_blocks;
  const Model& model = *p.model;
  start.assign(1, 0);
  object_start.assign(1, 0);
  A_start_.assign(1, 0);
  pattern_.sizes.clear();
  pattern_.pairs.clear();
  pattern_.frozen.clear();
  padded_start_.assign(1, 0);
  object_of_block_.clear();
  couplings_.clear();
  diagonal_.clear();
  has_trees_only_ = true;
  for (int o = 0; o < num_objects(); ++o) {
    const Object& object = this->object(o);
    for (int b = object.block_begin; b < object.block_end; ++b) {
      const int size = model.blocks[b].size;
      local_block[b] = num_blocks();
      object_of_block_.push_back(o);
      start.push_back(start.back() + size);
      pattern_.sizes.push_back(size);
      A_start_.push_back(A_start_.back() + (object.is_tree() ? size * size : 0));
      padded_start_.push_back(padded_start_.back() + (size == 6 ? 0 : padded_size(size)));
    }
    object_start.push_back(start.back());
    diagonal_.resize(num_blocks(), nullptr);
    if (object.is_tree()) continue;
    has_trees_only_ = false;
    const ObjectMotion& motion = motion_of(model, *p.motion, all.objects[i.object_begin + o]);
    const int first = local_block[object.block_begin];
    for (int b = first; b < num_blocks(); ++b)
      diagonal_[b] = motion.factor.matrix.block(b - first, b - first);
    for (int k = 0; k < static_cast<int>(motion.pairs.size()); ++k) {
      const auto [low, high] = std::minmax(motion.pairs[k][0], motion.pairs[k][1]);
      couplings_.push_back({first + high, first + low, motion.factor.matrix.pair_block(k), false});
      pattern_.pairs.push_back({first + high, first + low});
    }
  }
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
        pattern_.pairs.push_back({local_block[p.parts[a].block], local_block[p.parts[b].block]});
      }
    }
  }
  if (!has_trees_only_) {
    pattern_.frozen.assign(num_blocks(), 1);
    for (const LocalPart& part : parts_) pattern_.frozen[part.block] = 0;
    for (int k = 0; k < num_dof_laws(); ++k) {
      const auto after = std::upper_bound(start.begin(), start.end(), local_dof(dof_law(k).dof));
      pattern_.frozen[after - start.begin() - 1] = 0;
    }
    for (Coupling& c : couplings_)
      c.is_constant = pattern_.frozen[c.row] != 0 || pattern_.frozen[c.column] != 0;
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
      for (int k = 0; k < n; ++k) scale[start[b] + k] = 1 / std::sqrt(diagonal_[b][k * (n + 1)]);
      continue;
    }
    const Object& tree = object(object_of_block_[b]);
    Eigen::Map<MatX> block(A_values_.data() + A_start_[b], n, n);
    expand(model.system_pattern, p.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    scale.segment(start[b], n) = block.diagonal().cwiseSqrt().cwiseInverse();
  }
  gather(p.v0, v0);
  gather(p.motion->v_star, v_star);
  multiply_A(v_star, A_v_star);
  analyzed_ = false;
}

void IslandSystem::add_part(const ConstraintGroup& c, const GroupPart& part) {
  const double* J = problem->jacobians.data() + part.jacobian;
  const int t = local_block[part.block], n = pattern_.sizes[t], rows = c.num_rows;
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
    std::copy_n(from.data() + object(o).dof_begin, object_start[o + 1] - object_start[o],
                to.data() + object_start[o]);
  }
}

CAPSTAN_CLONES void IslandSystem::multiply_A(const ConstVector& x, Vector y) const {
  for (int o = 0; o < num_objects() && !has_trees_only_; ++o) {
    if (object(o).is_tree()) continue;
    motion_of(*problem->model, *problem->motion, islands->objects[island->object_begin + o])
        .factor.matrix.multiply(x.data() + object_start[o], y.data() + object_start[o]);
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
void IslandSystem::fill_once() {
  BlockMatrix& H = cholesky_.matrix;
  H.set_zero_off_diagonal();
  for (int b = 0; b < num_blocks(); ++b) {
    const int n = pattern_.sizes[b];
    std::copy_n(diagonal_[b] != nullptr ? diagonal_[b] : A_values_.data() + A_start_[b], n * n,
                H.block(b, b));
  }
  for (int k = 0; k < static_cast<int>(couplings_.size()); ++k) {
    const Coupling& c = couplings_[k];
    std::copy_n(c.values, pattern_.sizes[c.row] * pattern_.sizes[c.column], H.pair_block(k));
  }
}

// The same, but for blocks that are frozen: those are eliminated.
void IslandSystem::fill_again() {
  BlockMatrix& H = cholesky_.matrix;
  const int num_couplings = static_cast<int>(couplings_.size());
  for (int k = num_couplings; k < static_cast<int>(pattern_.pairs.size()); ++k) {
    const auto [a, b] = pattern_.pairs[k];
    std::fill_n(H.pair_block(k), pattern_.sizes[a] * pattern_.sizes[b], 0.0);
  }
  for (int b = 0; b < num_blocks(); ++b) {
    const int n = pattern_.sizes[b];
    if (pattern_.frozen[b] == 0)
      std::copy_n(diagonal_[b] != nullptr ? diagonal_[b] : A_values_.data() + A_start_[b], n * n,
                  H.block(b, b));
  }
  for (int k = 0; k < num_couplings; ++k) {
    const Coupling& c = couplings_[k];
    if (!c.is_constant)
      std::copy_n(c.values, pattern_.sizes[c.row] * pattern_.sizes[c.column], H.pair_block(k));
  }
}

bool IslandSystem::solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G,
                         const ConstVector& gradient, Vector dv) {
  if (problem->deadline != nullptr) problem->deadline->check();
  const bool is_first = !analyzed_;
  if (is_first) cholesky_.analyze(pattern_);
  analyzed_ = true;
  if (is_first || has_trees_only_) {
    fill_once();
  } else {
    fill_again();
  }
  add_groups(G);
  BlockMatrix& H = cholesky_.matrix;
  for (int i = 0; i < num_dof_laws(); ++i) {
    const int dof = local_dof(dof_law(i).dof);
    const int t = static_cast<int>(std::upper_bound(start.begin(), start.end(), dof) - start.begin()) - 1;
    const int k = dof - start[t];
    H.block(t, t)[k + k * pattern_.sizes[t]] += dof_G[i];
  }
  if (!cholesky_.factor()) return false;
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
