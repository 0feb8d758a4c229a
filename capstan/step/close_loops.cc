#include "capstan/step/close_loops.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/block_cholesky.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/problem/gap.h"
#include "capstan/state/state.h"

namespace capstan {
namespace {

constexpr double kRelativeSoftness = 1e-3;  // R_p / R

}  // namespace

struct LoopWorkspace::Data {
  std::vector<int> trees;  // those in loops
  std::vector<int> local;  // [trees of the model] place in `trees`, or -1
  std::vector<int> start;  // [trees in loops + 1] first local dof
  Placement placement;
  VecX q;                     // positions to try
  VecX d_all;                 // [dofs of the model] the change of positions
  VecX d;                     // [local dofs]
  std::vector<double> error;  // e, of all rows one after the other
  std::vector<int> nonzero;   // dofs that a row of J has
  BlockPattern pattern;
  BlockCholesky cholesky;

  bool in_loop(const Model& model, const ConstraintGroup& group) const {
    return group.constraint >= 0 && group.part_begin < group.part_end &&
           is_rigid(model, model.constraints[group.constraint]) &&
           is_between_trees(model, model.constraints[group.constraint]);
  }
  double calc_error(const Model& model, const Problem& problem, std::span<const double> law_impulse);
  bool factor(const Model& model, const Problem& problem);
  void calc_change(const Model& model, const Problem& problem);
};

LoopWorkspace make_loop_workspace(const Model& model) {
  LoopWorkspace w{std::make_shared<LoopWorkspace::Data>()};
  LoopWorkspace::Data& data = *w.data;
  data.trees = find_constrained_trees(model);
  if (data.trees.empty()) return w;
  data.local.assign(model.trees.size(), -1);
  data.start = {0};
  for (const int t : data.trees) {
    data.local[t] = static_cast<int>(data.start.size()) - 1;
    data.start.push_back(data.start.back() + model.trees[t].num_dofs());
    data.pattern.sizes.push_back(model.trees[t].num_dofs());
  }
  data.placement = make_placement(model);
  data.d_all = VecX::Zero(model.num_velocities());
  data.d = VecX::Zero(data.start.back());
  return w;
}

double LoopWorkspace::Data::calc_error(const Model& model, const Problem& problem,
                                       std::span<const double> law_impulse) {
  double largest = 0;
  error.clear();
  for (const ConstraintGroup& group : problem.groups) {
    if (!in_loop(model, group)) continue;
    const Vec6 gap = calc_gap(model, model.constraints[group.constraint], q, placement);
    for (int r = 0; r < group.num_rows; ++r) {
      const int law = group.law_begin + r;
      // A wide turn closes by its velocity alone; a wide gap to what the law leaves of it.
      const double left = problem.laws[law].left, give = problem.dt * problem.laws[law].R * law_impulse[law];
      error.push_back(std::isinf(left) ? 0 : gap[r] - left + give);
      if (!(std::abs(error.back()) <= largest)) largest = std::abs(error.back());
    }
  }
  return largest;
}

// H = A + J^T R_p^-1 J.
bool LoopWorkspace::Data::factor(const Model& model, const Problem& problem) {
  pattern.pairs.clear();
  for (const ConstraintGroup& group : problem.groups) {
    if (!in_loop(model, group)) continue;
    for (int a = group.part_begin; a < group.part_end; ++a) {
      for (int b = group.part_begin; b < a; ++b)
        pattern.pairs.push_back({local[problem.parts[a].block], local[problem.parts[b].block]});
    }
  }
  cholesky.analyze(pattern);
  BlockMatrix& H = cholesky.matrix;
  H.set_zero();
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const Tree& tree = model.trees[trees[t]];
    expand(model.system_pattern, problem.motion->A.data(), tree.dof_begin, tree.dof_end,
           Eigen::Map<MatX>(H.block(t, t), tree.num_dofs(), tree.num_dofs()));
  }
  int pair = 0;
  for (const ConstraintGroup& group : problem.groups) {
    if (!in_loop(model, group)) continue;
    for (int a = group.part_begin; a < group.part_end; ++a) {
      const auto Ja = problem.jacobian(group, problem.parts[a]);
      const int ta = local[problem.parts[a].block];
      for (int b = group.part_begin; b <= a; ++b) {
        const auto Jb = problem.jacobian(group, problem.parts[b]);
        const int tb = local[problem.parts[b].block];
        // The lower triangle is stored: rows of the later tree.
        const auto& rows = ta >= tb ? Ja : Jb;
        const auto& columns = ta >= tb ? Jb : Ja;
        Eigen::Map<MatX> block(a == b ? H.block(ta, ta) : H.pair_block(pair), rows.cols(), columns.cols());
        for (int r = 0; r < group.num_rows; ++r) {
          const double inverse = 1 / (kRelativeSoftness * problem.laws[group.law_begin + r].R);
          nonzero.clear();  // a loop moves with a few of its tree's dofs
          for (int i = 0; i < rows.cols(); ++i)
            if (rows(r, i) != 0) nonzero.push_back(i);
          for (int j = 0; j < columns.cols(); ++j) {
            if (columns(r, j) == 0) continue;
            const double factor = inverse * columns(r, j);
            for (const int i : nonzero) block(i, j) += factor * rows(r, i);
          }
        }
        if (b < a) ++pair;
      }
    }
  }
  return static_cast<bool>(cholesky.factor());
}

// d = -H^-1 J^T R_p^-1 e.
void LoopWorkspace::Data::calc_change(const Model& model, const Problem& problem) {
  d.setZero();
  int at = 0;
  for (const ConstraintGroup& group : problem.groups) {
    if (!in_loop(model, group)) continue;
    for (int r = 0; r < group.num_rows; ++r, ++at) {
      const double push = -error[at] / (kRelativeSoftness * problem.laws[group.law_begin + r].R);
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const auto J = problem.jacobian(group, problem.parts[p]);
        d.segment(start[local[problem.parts[p].block]], J.cols()) += push * J.row(r).transpose();
      }
    }
  }
  cholesky.solve_in_place(d.data(), 1, d.size());
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const Tree& tree = model.trees[trees[t]];
    d_all.segment(tree.dof_begin, tree.num_dofs()) = d.segment(start[t], tree.num_dofs());
  }
}

double close_loops(const Model& model, const Problem& problem, std::span<const double> law_impulse,
                   LoopWorkspace* workspace, VecX* q1) {
  constexpr double kClosed = 1e-12;  // [m or rad] round-off of positions of metres, and a margin
  constexpr int kMostIterations = 6;
  LoopWorkspace::Data& w = *workspace->data;
  if (w.trees.empty()) return 0;
  w.d_all.setZero();
  w.q = *q1;
  calc_placement_ahead(model, w.trees, *q1, w.d_all, 0, &w.q, &w.placement);
  double error = w.calc_error(model, problem, law_impulse);
  for (int i = 0; i < kMostIterations && error > kClosed; ++i) {
    if (i == 0 && !w.factor(model, problem)) break;
    w.calc_change(model, problem);
    calc_placement_ahead(model, w.trees, *q1, w.d_all, 1, &w.q, &w.placement);
    const double next = w.calc_error(model, problem, law_impulse);
    if (!(next < error)) break;
    *q1 = w.q;
    error = next;
  }
  return error;
}

}  // namespace capstan
