#include "capstan/solvers/newton.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "capstan/laws/contact_laws.h"
#include "capstan/math/block_cholesky.h"
#include "capstan/math/branch_matrix.h"

namespace capstan {
namespace {

// Of two columns with up to six rows; six is by far the most common.
inline double column_dot(const double* a, const double* b, int rows) {
  if (rows == 6) return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
  double sum = 0;
  for (int r = 0; r < rows; ++r) sum += a[r] * b[r];
  return sum;
}

struct IslandResult {
  bool converged = false;
  int iterations = 0, factorizations = 0, evaluations = 0;
  double residual = 0;
};

}  // namespace

// Solves one island. Vectors are local: the dofs of the island's trees one after the other.
struct IslandSolver {
  const Problem* problem = nullptr;
  const Island* island = nullptr;
  int* local_tree = nullptr;     // [trees of the model] position in its island, shared by all solvers
  std::vector<int> start;        // [island trees + 1] first local dof
  std::vector<double> A_values;  // dense block of A of each tree; memory only grows
  std::vector<int> A_start;
  std::vector<double> arena;  // of the vectors below
  using Vector = Eigen::Map<VecX>;
  using ConstVector = Eigen::Ref<const VecX>;
  Vector v{nullptr, 0}, v_star{nullptr, 0}, dv{nullptr, 0}, gradient{nullptr, 0}, momentum{nullptr, 0},
      impulse{nullptr, 0}, scale{nullptr, 0}, Adv{nullptr, 0}, v_try{nullptr, 0}, change{nullptr, 0};
  std::vector<Vec6> U, dU;  // [island groups]
  std::vector<Vec6> group_impulse;
  std::vector<Mat6> group_hessian;
  std::vector<Vec3> contact_v, contact_dv;  // [contacts of the island, in order of groups]
  std::vector<double> dof_hessian;          // [island dof laws]
  BlockPattern pattern;
  BlockCholesky cholesky;

  int num_trees() const { return island->tree_end - island->tree_begin; }
  const ConstraintGroup& group(int g) const {
    return problem->groups[problem->island_groups[island->group_begin + g]];
  }
  int num_groups() const { return island->group_end - island->group_begin; }
  int num_dof_laws() const { return island->dof_law_end - island->dof_law_begin; }
  const DofLaw& dof_law(int i) const {
    return problem->dof_laws[problem->island_dof_laws[island->dof_law_begin + i]];
  }
  int local_dof(int dof) const {
    const Model& model = *problem->model;
    const int tree = model.links[model.dofs[dof].link].tree;
    return start[local_tree[tree]] + dof - model.trees[tree].dof_begin;
  }

  void begin(const Problem& p, const Island& i, int* local_trees);
  IslandResult solve(const NewtonOptions& options);
  double evaluate(const ConstVector& at, bool with_hessian);
  void multiply_A(const ConstVector& x, Vector* y) const;
  Eigen::Map<const MatX> A(int t) const {
    return {A_values.data() + A_start[t], pattern.sizes[t], pattern.sizes[t]};
  }
  bool calc_direction();
  double line_search(double slope, int* evaluations);
  LineDerivatives along(double alpha) const;
  void calc_motion(const ConstVector& x, std::vector<Vec6>* motion) const;
  void finish(NewtonWorkspace* workspace);
};

void IslandSolver::begin(const Problem& p, const Island& i, int* local_trees) {
  problem = &p;
  island = &i;
  local_tree = local_trees;
  const Model& model = *p.model;
  const int n = num_trees();
  start.assign(1, 0);
  A_start.assign(1, 0);
  pattern.sizes.resize(n);
  pattern.pairs.clear();
  for (int t = 0; t < n; ++t) {
    const int tree_id = p.island_trees[i.tree_begin + t];
    const Tree& tree = model.trees[tree_id];
    local_tree[tree_id] = t;
    start.push_back(start.back() + tree.num_dofs());
    pattern.sizes[t] = tree.num_dofs();
    A_start.push_back(A_start.back() + tree.num_dofs() * tree.num_dofs());
  }
  const int dofs = start.back();
  arena.resize(10 * dofs);
  int used = 0;
  for (Vector* x : {&v, &v_star, &dv, &gradient, &momentum, &impulse, &scale, &Adv, &v_try, &change}) {
    new (x) Vector(arena.data() + dofs * used++, dofs);
  }
  A_values.resize(A_start.back());
  for (int t = 0; t < n; ++t) {
    const Tree& tree = model.trees[p.island_trees[i.tree_begin + t]];
    v_star.segment(start[t], tree.num_dofs()) = p.motion->v_star.segment(tree.dof_begin, tree.num_dofs());
    v.segment(start[t], tree.num_dofs()) = p.v0.segment(tree.dof_begin, tree.num_dofs());
    Eigen::Map<MatX> block(A_values.data() + A_start[t], tree.num_dofs(), tree.num_dofs());
    expand(model.system_pattern, p.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    scale.segment(start[t], tree.num_dofs()) = block.diagonal().cwiseSqrt().cwiseInverse();
  }
  U.resize(num_groups());
  dU.resize(num_groups());
  group_impulse.resize(num_groups());
  group_hessian.resize(num_groups());
  dof_hessian.resize(num_dof_laws());
  int contacts = 0;
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    contacts += c.contact_end - c.contact_begin;
    for (int a = c.part_begin; a < c.part_end; ++a) {
      for (int b = c.part_begin; b < a; ++b) {
        pattern.pairs.push_back({local_tree[p.parts[a].tree], local_tree[p.parts[b].tree]});
      }
    }
  }
  contact_v.resize(contacts);
  contact_dv.resize(contacts);
  cholesky.analyze(pattern);
}

void IslandSolver::multiply_A(const ConstVector& x, Vector* y) const {
  for (int t = 0; t < num_trees(); ++t) {
    const int n = pattern.sizes[t];
    y->segment(start[t], n).noalias() = A(t) * x.segment(start[t], n);
  }
}

void IslandSolver::calc_motion(const ConstVector& x, std::vector<Vec6>* motion) const {
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    Vec6 u = Vec6::Zero();
    for (int p = c.part_begin; p < c.part_end; ++p) {
      const GroupPart& part = problem->parts[p];
      const int rows = c.num_rows, n = problem->model->trees[part.tree].num_dofs();
      const double* J = problem->jacobians.data() + part.jacobian;
      const double* xt = x.data() + start[local_tree[part.tree]];
      for (int k = 0; k < n; ++k, J += rows) {
        for (int r = 0; r < rows; ++r) u[r] += xt[k] * J[r];
      }
    }
    (*motion)[g] = u;
  }
}

// Cost at `at`; leaves the impulses (and Hessians) of groups and dof laws, and contact velocities.
double IslandSolver::evaluate(const ConstVector& at, bool with_hessian) {
  calc_motion(at, &U);
  change = at - v_star;
  multiply_A(change, &momentum);
  double cost = 0.5 * change.dot(momentum);
  const ContactOptions& o = problem->options;
  with_law(o.law, o.normal_law, [&](auto law) {
    using Law = decltype(law);
    int at_contact = 0;
    for (int g = 0; g < num_groups(); ++g) {
      const ConstraintGroup& c = group(g);
      Vec6 f = Vec6::Zero();
      Mat6 H = Mat6::Zero();
      for (int i = c.contact_begin; i < c.contact_end; ++i) {
        const Mat36& X = problem->X[i];
        const Vec3 vc = X * U[g];
        contact_v[at_contact++] = vc;
        double l;
        Vec3 gamma;
        Mat3 G;
        Law::evaluate(problem->contacts[i], vc, &l, &gamma, with_hessian ? &G : nullptr);
        cost += l;
        f.noalias() += X.transpose() * gamma;
        if (with_hessian) {
          const Mat36 GX = G * X;
          H.noalias() += X.transpose() * GX;
        }
      }
      if (c.contact_begin == c.contact_end) {
        for (int r = 0; r < c.num_rows; ++r) {
          double l, h;
          f[r] = capstan::evaluate(problem->laws[c.law_begin + r], U[g][r], &l, &h);
          cost += l;
          H(r, r) = h;
        }
      }
      group_impulse[g] = f;
      if (with_hessian) group_hessian[g] = H;
    }
  });
  impulse.setZero();
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    for (int p = c.part_begin; p < c.part_end; ++p) {
      const auto J = problem->jacobian(c, problem->parts[p]);
      const int at_dof = start[local_tree[problem->parts[p].tree]];
      for (int k = 0; k < J.cols(); ++k) {
        impulse[at_dof + k] += column_dot(J.col(k).data(), group_impulse[g].data(), c.num_rows);
      }
    }
  }
  for (int i = 0; i < num_dof_laws(); ++i) {
    const DofLaw& law = dof_law(i);
    const int k = local_dof(law.dof);
    double l;
    impulse[k] += law.sign * capstan::evaluate(law.law, law.sign * at[k], &l, &dof_hessian[i]);
    cost += l;
  }
  return cost;
}

bool IslandSolver::calc_direction() {
  BlockMatrix& H = cholesky.matrix;
  H.set_zero();
  for (int t = 0; t < num_trees(); ++t) {
    Eigen::Map<MatX>(H.block(t, t), pattern.sizes[t], pattern.sizes[t]) = A(t);
  }
  int pair = 0;
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    const int rows = c.num_rows;
    for (int a = c.part_begin; a < c.part_end; ++a) {
      const auto Ja = problem->jacobian(c, problem->parts[a]);
      const int ta = local_tree[problem->parts[a].tree];
      // Rows of the block: G J_a, column by column, against every part up to and including this one.
      for (int k = 0; k < Ja.cols(); ++k) {
        const double* column = Ja.data() + rows * k;
        Vec6 GJ = Vec6::Zero();
        for (int j = 0; j < rows; ++j) GJ += column[j] * group_hessian[g].col(j);
        double* diagonal = H.block(ta, ta);
        const int n = static_cast<int>(Ja.cols());
        for (int i = k; i < n; ++i) {
          diagonal[i + n * k] += column_dot(Ja.data() + rows * i, GJ.data(), rows);
        }
        int at = pair;
        for (int b = c.part_begin; b < a; ++b, ++at) {
          const auto Jb = problem->jacobian(c, problem->parts[b]);
          const int tb = local_tree[problem->parts[b].tree];
          double* block = H.pair_block(at);
          if (ta > tb) {
            for (int j = 0; j < Jb.cols(); ++j)
              block[k + n * j] += column_dot(Jb.data() + rows * j, GJ.data(), rows);
          } else {
            const int nb = static_cast<int>(Jb.cols());
            for (int j = 0; j < nb; ++j)
              block[j + nb * k] += column_dot(Jb.data() + rows * j, GJ.data(), rows);
          }
        }
      }
      pair += a - c.part_begin;
    }
  }
  for (int i = 0; i < num_dof_laws(); ++i) {
    const Model& model = *problem->model;
    const int dof = dof_law(i).dof, tree = model.links[model.dofs[dof].link].tree, t = local_tree[tree];
    const int k = dof - model.trees[tree].dof_begin;
    H.block(t, t)[k + k * model.trees[tree].num_dofs()] += dof_hessian[i];
  }
  if (!cholesky.factor()) return false;
  dv = -gradient;
  cholesky.solve_in_place(dv.data(), 1, dv.size());
  return true;
}

// First and second derivative of the cost at v + alpha dv, up to a constant of the quadratic part that
// `along` adds.
LineDerivatives IslandSolver::along(double alpha) const {
  LineDerivatives d;
  const ContactOptions& o = problem->options;
  with_law(o.law, o.normal_law, [&](auto law) {
    using Law = decltype(law);
    int at = 0;
    for (int g = 0; g < num_groups(); ++g) {
      const ConstraintGroup& c = group(g);
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        double first, second;
        Law::evaluate_along(problem->contacts[i], contact_v[at] + alpha * contact_dv[at], contact_dv[at],
                            &first, &second);
        d.first += first;
        d.second += second;
      }
      if (c.contact_begin == c.contact_end) {
        for (int r = 0; r < c.num_rows; ++r) {
          double l, h;
          const double gamma =
              capstan::evaluate(problem->laws[c.law_begin + r], U[g][r] + alpha * dU[g][r], &l, &h);
          d.first -= gamma * dU[g][r];
          d.second += h * dU[g][r] * dU[g][r];
        }
      }
    }
  });
  for (int i = 0; i < num_dof_laws(); ++i) {
    const DofLaw& law = dof_law(i);
    const int k = local_dof(law.dof);
    const double dx = law.sign * dv[k];
    double l, h;
    const double gamma = capstan::evaluate(law.law, law.sign * v[k] + alpha * dx, &l, &h);
    d.first -= gamma * dx;
    d.second += h * dx * dx;
  }
  return d;
}

// The root of the derivative along dv (slope: its value at 0, negative).
double IslandSolver::line_search(double slope, int* evaluations) {
  calc_motion(dv, &dU);
  int at = 0;
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    for (int i = c.contact_begin; i < c.contact_end; ++i) contact_dv[at++] = problem->X[i] * dU[g];
  }
  double first0 = 0, second0 = 0;  // of the quadratic part: dv.A (v - v*), dv.A dv
  multiply_A(dv, &Adv);
  first0 = dv.dot(momentum);
  second0 = dv.dot(Adv);
  const auto derivative = [&](double alpha) {
    ++*evaluations;
    const LineDerivatives d = along(alpha);
    return LineDerivatives{first0 + alpha * second0 + d.first, second0 + d.second};
  };
  // Most steps: the full Newton step is within round-off of the minimum, or good enough.
  double low = 0, high = 1;
  LineDerivatives at_high = derivative(high);
  const double enough = 1e-12 * std::abs(slope);
  if (std::abs(at_high.first) <= enough) return high;
  while (at_high.first < 0 && high < 1e3) {
    low = high;
    high *= 2;
    at_high = derivative(high);
  }
  if (at_high.first <= 0) return high;
  double alpha = low == 0 ? 1 : low, last_width = high - low;
  LineDerivatives d = low == 0 ? at_high : derivative(alpha);
  for (int i = 0; i < 100; ++i) {
    if (d.first > 0) high = alpha;
    if (d.first < 0) low = alpha;
    double next = alpha - d.first / d.second;
    const bool newton = next > low && next < high && std::abs(next - alpha) < 0.5 * last_width;
    if (!newton) next = 0.5 * (low + high);
    last_width = std::abs(next - alpha);
    if (next == alpha || high - low < 1e-15 * high) break;
    alpha = next;
    d = derivative(alpha);
    if (std::abs(d.first) <= enough) break;
  }
  return alpha;
}

IslandResult IslandSolver::solve(const NewtonOptions& options) {
  IslandResult result;
  // The better of v0 and v*.
  const double cost_v0 = evaluate(v, false), cost_free = evaluate(v_star, false);
  if (cost_free < cost_v0) v = v_star;
  evaluate(v, true);
  for (;;) {
    gradient = momentum - impulse;
    double p = 0, j = 0, r = 0;
    multiply_A(v, &Adv);
    for (int k = 0; k < v.size(); ++k) {
      const double d = scale[k];
      p += d * d * Adv[k] * Adv[k];
      j += d * d * impulse[k] * impulse[k];
      r += d * d * gradient[k] * gradient[k];
    }
    const double size = std::sqrt(std::max(p, j)), norm = std::sqrt(r);
    result.residual = size > 0 ? norm / size : 0;
    if (norm <= options.absolute_tolerance + options.relative_tolerance * size) {
      result.converged = true;
      break;
    }
    if (result.iterations >= options.max_iterations || !std::isfinite(norm)) break;
    ++result.iterations;
    ++result.factorizations;
    if (!calc_direction()) break;
    const double slope = dv.dot(gradient);
    if (!(slope < 0)) break;
    const double alpha = line_search(slope, &result.evaluations);
    v_try = v + alpha * dv;
    evaluate(v_try, true);
    v = v_try;
  }
  return result;
}

void IslandSolver::finish(NewtonWorkspace* workspace) {
  const Model& model = *problem->model;
  for (int t = 0; t < num_trees(); ++t) {
    const Tree& tree = model.trees[problem->island_trees[island->tree_begin + t]];
    workspace->v.segment(tree.dof_begin, tree.num_dofs()) = v.segment(start[t], tree.num_dofs());
  }
  const ContactOptions& o = problem->options;
  for (int g = 0; g < num_groups(); ++g) {
    const ConstraintGroup& c = group(g);
    for (int i = c.contact_begin; i < c.contact_end; ++i) {
      capstan::evaluate(o.law, o.normal_law, problem->contacts[i], problem->X[i] * U[g], nullptr,
                        &workspace->impulse[i], nullptr);
    }
    if (c.contact_begin == c.contact_end) {
      for (int r = 0; r < c.num_rows; ++r) workspace->law_impulse[c.law_begin + r] = group_impulse[g][r];
    }
  }
  for (int i = 0; i < num_dof_laws(); ++i) {
    const int id = problem->island_dof_laws[island->dof_law_begin + i];
    const DofLaw& law = problem->dof_laws[id];
    workspace->dof_impulse[id] = scalar_impulse(law.law, law.sign * v[local_dof(law.dof)]);
  }
}

// One solver for each place in the order of size, so that patterns mostly stay the same from step to step.
struct NewtonWorkspace::Solvers {
  std::vector<std::unique_ptr<IslandSolver>> list;
  std::vector<int> local_tree;  // [trees]; islands share no tree
  std::vector<int> order;       // islands, largest first
  std::vector<IslandResult> results;
};

NewtonWorkspace make_newton_workspace(const Model& model) {
  NewtonWorkspace w;
  w.v = VecX::Zero(model.num_velocities());
  w.solvers = std::make_shared<NewtonWorkspace::Solvers>();
  w.solvers->local_tree.resize(model.trees.size());
  return w;
}

SolverReport solve_newton(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace) {
  SolverReport report;
  workspace->v = problem.motion->v_star;
  workspace->impulse.assign(problem.contacts.size(), Vec3::Zero());
  workspace->law_impulse.assign(problem.laws.size(), 0);
  workspace->dof_impulse.assign(problem.dof_laws.size(), 0);
  report.islands = static_cast<int>(problem.islands.size());
  NewtonWorkspace::Solvers& s = *workspace->solvers;
  while (static_cast<int>(s.list.size()) < report.islands) s.list.push_back(std::make_unique<IslandSolver>());
  s.order.resize(report.islands);
  std::iota(s.order.begin(), s.order.end(), 0);
  std::sort(s.order.begin(), s.order.end(), [&](int a, int b) {
    const int size_a = problem.islands[a].group_end - problem.islands[a].group_begin;
    const int size_b = problem.islands[b].group_end - problem.islands[b].group_begin;
    return size_a != size_b ? size_a > size_b : a < b;
  });
  s.results.resize(report.islands);
  threads.for_each(report.islands, [&](int k) {
    IslandSolver& solver = *s.list[k];
    solver.begin(problem, problem.islands[s.order[k]], s.local_tree.data());
    s.results[s.order[k]] = solver.solve(options);
    solver.finish(workspace);
  });
  for (int i = 0; i < report.islands; ++i) {
    const IslandResult& result = s.results[i];
    report.iterations += result.iterations;
    report.most_iterations = std::max(report.most_iterations, result.iterations);
    report.factorizations += result.factorizations;
    report.line_search_evaluations += result.evaluations;
    report.converged = report.converged && result.converged;
    if (!(result.residual <= report.momentum_residual)) {
      report.momentum_residual = result.residual;
      report.worst_island = i;
    }
  }
  return report;
}

}  // namespace capstan
