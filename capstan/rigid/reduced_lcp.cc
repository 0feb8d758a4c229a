// no_slip, viscous and frictionless contact by the modified principal pivoting method: rows that hold as
// equations are eliminated, what is left are normal impulses and joint limits, 0 <= z _|_ w >= 0.
//
//   equations without compliance (no slip): a set E of full rank, by FIND-INDICES
//   equations with compliance (welds, drives, viscous friction): x = -(J dv + b) / R, so that K = A + J^T J /
//   R takes the place of A
//   P = K^-1 - K^-1 E^T (E K^-1 E^T)^-1 E K^-1
//   w = N P N^T z + q
//
// Points of a face that is flat to some digits have rows that nearly depend on others; to obey those too
// takes impulses that are thousands of times too large. They are left out, and taken in only if the judge
// misses them.
//
// The n x n matrix is never formed: with m dofs the work is O(m^3 + m^2 n). Scalars with two bounds (drives)
// are equations until their impulse is beyond one, which it then has; and equations again when that pushes
// the wrong way.
//
// Limits: those bounds are looked for in rounds, at first all at once, then one at a time; where they do not
// settle, block pivoting on the whole matrix has the last word. Source: Drumwright 2015, sections
// IV to VI and Algorithms 1 and 2.
#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "capstan/rigid/factored_lcp.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

constexpr double kIndependent[] = {1e-6, 1e-8, 1e-10};  // part of a row's squared length; tried in turn
constexpr int kRoundsOfAll = 8, kMostRounds = 100;      // in which all wrong scalars change; in all

enum class Rule : char { equation, plain, given };

struct Row {
  const RigidBlock* block;
  int r;
  Rule rule;
  double value = 0;  // given

  int index() const { return block->row + r; }
};

std::vector<Row> make_rows(const RigidProblem& problem) {
  std::vector<Row> rows;
  for (const RigidBlock& block : problem.blocks) {
    if (block.is_contact()) {
      for (int r = 0; r < 2; ++r)
        rows.push_back({&block, r, block.sticks ? Rule::equation : Rule::given, block.given[r]});
      rows.push_back({&block, 2, Rule::plain});
    } else {
      const Rule rule = block.lower == block.upper                    ? Rule::given
                        : block.lower == 0 && std::isinf(block.upper) ? Rule::plain
                                                                      : Rule::equation;
      rows.push_back({&block, 0, rule, rule == Rule::given ? block.lower : 0});
    }
  }
  return rows;
}

class Reduced {
 public:
  Reduced(const RigidProblem& problem, const std::vector<Row>& rows, double independent)
      : problem_(problem), independent_(independent) {
    VecX f = VecX::Zero(problem.num_dofs());  // impulses that are known
    for (const Row& row : rows) {
      if (row.rule == Rule::plain) {
        plain_.push_back(row);
      } else if (row.rule == Rule::given) {
        problem.add_row(*row.block, row.r, row.value, &f);
      } else if (problem.R[row.index()] > 0) {
        soft_.push_back(row);
      } else {
        hard_.push_back(row);
      }
    }
    eliminate_soft(&f);
    eliminate_hard(f);
  }

  RigidResult solve(const std::vector<Row>& rows, const LcpOptions& options) const {
    FactoredLcp lcp;
    lcp.num_dofs = problem_.num_dofs();
    lcp.multiply_N = [this](const VecX& v) {
      VecX w(plain_.size());
      for (std::size_t i = 0; i < plain_.size(); ++i)
        w[static_cast<long>(i)] = problem_.multiply_row(*plain_[i].block, plain_[i].r, v);
      return w;
    };
    lcp.row = [this](int i) { return row_of(plain_[i]); };
    lcp.solve_A = [this](const VecX& f) { return solve_P(f); };
    lcp.q = lcp.multiply_N(base_);
    lcp.compliance = VecX::Zero(lcp.q.size());
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      lcp.q[static_cast<long>(i)] += problem_.b[plain_[i].index()];
      lcp.compliance[static_cast<long>(i)] = problem_.R[plain_[i].index()];
    }
    const FactoredLcpResult found = solve_modified_ppm(lcp, options);
    RigidResult result;
    result.iterations = found.iterations;
    result.x = VecX::Zero(problem_.num_rows());
    for (const Row& row : rows) {
      if (row.rule == Rule::given) result.x[row.index()] = row.value;
    }
    VecX f = VecX::Zero(problem_.num_dofs());
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      const double z = found.z[static_cast<long>(i)];
      result.x[plain_[i].index()] = z;
      if (z != 0) problem_.add_row(*plain_[i].block, plain_[i].r, z, &f);
    }
    const VecX dv = base_ + found.velocity_change;
    if (!kept_.empty()) {
      const VecX x = S_.solve(-bias_ - X_ * (free_ + solve_K(f)));
      for (std::size_t i = 0; i < kept_.size(); ++i)
        result.x[hard_[kept_[i]].index()] = x[static_cast<long>(i)];
    }
    for (const Row& row : soft_) {
      const int i = row.index();
      result.x[i] = -(problem_.multiply_row(*row.block, row.r, dv) + problem_.b[i]) / problem_.R[i];
    }
    return result;
  }

 private:
  VecX row_of(const Row& row) const {
    VecX f = VecX::Zero(problem_.num_dofs());
    problem_.add_row(*row.block, row.r, 1, &f);
    return f;
  }
  VecX solve_K(const VecX& f) const { return soft_.empty() ? problem_.solve_A(f) : VecX(K_.solve(f)); }
  VecX solve_P(const VecX& f) const {
    VecX v = solve_K(f);
    if (!kept_.empty()) v -= Y_ * S_.solve(X_ * v);
    return v;
  }

  void eliminate_soft(VecX* f) {
    if (soft_.empty()) return;
    MatX K = problem_.calc_A();
    for (const Row& row : soft_) {
      const VecX j = row_of(row);
      const int i = row.index();
      K.selfadjointView<Eigen::Lower>().rankUpdate(j, 1 / problem_.R[i]);
      *f -= problem_.b[i] / problem_.R[i] * j;
    }
    K_.compute(K);
  }

  void eliminate_hard(const VecX& f) {
    free_ = solve_K(f);
    kept_ = find_independent_rows(
        static_cast<int>(hard_.size()), [this](int i) { return row_of(hard_[i]); },
        [this](const VecX& g) { return solve_K(g); }, independent_);
    const long k = static_cast<long>(kept_.size()), m = problem_.num_dofs();
    base_ = free_;
    if (k == 0) return;
    X_.resize(k, m);
    Y_.resize(m, k);
    bias_.resize(k);
    for (long i = 0; i < k; ++i) {
      const Row& row = hard_[kept_[i]];
      const VecX j = row_of(row);
      X_.row(i) = j.transpose();
      Y_.col(i) = solve_K(j);
      bias_[i] = problem_.b[row.index()];
    }
    S_.compute(X_ * Y_);
    base_ -= Y_ * S_.solve(X_ * free_ + bias_);
  }

  const RigidProblem& problem_;
  double independent_;
  std::vector<Row> plain_, soft_, hard_;
  std::vector<int> kept_;  // of hard_
  Eigen::LLT<MatX> K_, S_;
  MatX X_, Y_;               // E and K^-1 E^T
  VecX free_, base_, bias_;  // dv without z: by known impulses alone, with equations; b of E
};

// Scalars beyond a bound are held there, and let go where that pushes the wrong way. True: another round.
bool revise(const RigidProblem& problem, const VecX& x, bool only_first, std::vector<Row>* rows) {
  bool changed = false;
  const VecX dv = problem.calc_dv(x);
  for (Row& row : *rows) {
    if (changed && only_first) break;
    if (row.block->is_contact() || row.rule == Rule::plain || row.block->lower == row.block->upper) continue;
    const RigidBlock& block = *row.block;
    const double at = x[block.row], u = problem.calc_u(block, dv, Vec3(at, 0, 0))[0];
    if (row.rule == Rule::equation && (at < block.lower || at > block.upper)) {
      row.rule = Rule::given;
      row.value = at < block.lower ? block.lower : block.upper;
      changed = true;
    } else if (row.rule == Rule::given && (row.value == block.lower ? u < 0 : u > 0)) {
      row.rule = Rule::equation;
      changed = true;
    }
  }
  return changed;
}

// In rounds, until the bounds of scalars settle; into `best`, if it is better. How many pivots.
int solve_in_rounds(const RigidProblem& problem, double independent, const LcpOptions& options,
                    RigidResult* best) {
  std::vector<Row> rows = make_rows(problem);
  int iterations = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    RigidResult result = Reduced(problem, rows, independent).solve(rows, options);
    iterations += result.iterations;
    result.residual = problem.calc_residual(result.x);
    const bool again = revise(problem, result.x, round >= kRoundsOfAll, &rows);
    if (result.residual < best->residual) *best = result;
    if (best->residual <= problem.options().tolerance || !again) break;
  }
  return iterations;
}

}  // namespace

RigidResult solve_reduced(const RigidProblem& problem, const VecX&) {
  RigidResult best;
  best.residual = std::numeric_limits<double>::infinity();
  LcpOptions options;
  options.deadline = problem.deadline();
  options.max_iterations = problem.options().max_iterations;
  std::vector<double> history;
  options.residuals = &history;
  int iterations = 0;
  for (const double independent : kIndependent) {
    iterations += solve_in_rounds(problem, independent, options, &best);
    if (best.residual <= problem.options().tolerance) break;
  }
  if (best.residual > problem.options().tolerance) {  // with the whole matrix
    RigidResult other = solve_boxed(problem, best.x, *find_rigid_solver("block_pivoting"));
    iterations += other.iterations;
    if (other.residual < best.residual) best = std::move(other);
  }
  best.iterations = iterations;
  best.history = std::move(history);
  best.history_step = 1;
  best.converged = best.residual <= problem.options().tolerance;
  return best;
}

}  // namespace capstan
