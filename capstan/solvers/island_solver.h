// Newton's method on one island: what its ways of globalization share (newton.h tells what they are).
// Internal to solvers/.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "capstan/laws/contact_laws.h"
#include "capstan/laws/series.h"
#include "capstan/solvers/island_system.h"
#include "capstan/solvers/newton.h"

namespace capstan {

constexpr double kTinyStep = 1e-6;  // of v: from here on its digits run out on the way to the optimum

// Primal-dual: masses of single contacts are taken larger than they are, because several contacts share a
// body. Chosen on heaps that land, where 2 to 5 did about equally well.
constexpr double kMassFactor = 3;
constexpr double kGoodMerit = 0.9;  // of the merit before: a step is not halved any more
constexpr int kMaxHalvings = 4;

// Law coulomb: up to so many contacts of an island its friction is settled, by so many products in a round.
// Of contacts among trees, and of all: those of other objects share no faces.
constexpr int kExactContacts = 32, kMostExactContacts = 512, kMostKrylov = 20;

struct IslandResult {
  bool converged = false;
  int iterations = 0, factorizations = 0, evaluations = 0;
  double residual = 0;
  bool interrupted = false;   // contacts have to come in before it makes sense to go on
  bool about_right = true;    // where it was interrupted
  bool at_round_off = false;  // steps are tiny and do not reduce the residual any more
  bool has_duals = false;     // the impulses are the duals, not those of the laws at v
  int friction_rounds = 0;
  double cone_violation = 0;

  void add_effort(const IslandResult& earlier) {
    iterations += earlier.iterations;
    factorizations += earlier.factorizations;
    evaluations += earlier.evaluations;
    friction_rounds += earlier.friction_rounds;
  }
};

// Law coulomb: in how many iterations of a solve bounds of friction follow the impulses, when it begins
// without impulses (cold) and when it goes on from known ones.
struct Following {
  int cold = 0, warm = 0;
};

template <class Law>
bool has_impulse(const ContactData& contact, const Vec3& v) {
  if constexpr (requires { Law::has_impulse(contact, v); }) {
    return Law::has_impulse(contact, v);
  } else {
    Vec3 gamma;
    Law::evaluate(contact, v, nullptr, &gamma, nullptr);
    return gamma != Vec3::Zero();
  }
}

// Whether no contact of a group of contacts has an impulse, nor would have one if its surfaces approached
// each other faster by `margin` [m/s]. velocity(block) points to the velocities of a block.
template <class F>
bool is_idle(const Problem& problem, const ConstraintGroup& group, double margin, const F& velocity) {
  double U[6] = {};
  const auto add_parts = [&](auto rows) {
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const DofBlock& block = problem.model->blocks[problem.parts[p].block];
      const int n = block.size;
      const double *J = problem.jacobians.data() + problem.parts[p].jacobian,
                   *v = velocity(problem.parts[p].block);
      const auto add = [&](int k) {
        for (int r = 0; r < rows; ++r) U[r] += v[k] * J[rows * k + r];
      };
      if (const int last = problem.parts[p].last_dof; n > 6 && last >= 0) {
        const int first = block.dof_begin;
        for (int k = last; k >= 0; k = problem.model->pattern.parent[k]) add(k - first);
      } else {
        for (int k = 0; k < n; ++k) add(k);
      }
    }
  };
  if (group.num_rows == 3) {
    add_parts(std::integral_constant<int, 3>());
  } else {  // contacts have three or six
    add_parts(std::integral_constant<int, 6>());
  }
  const Eigen::Map<const Vec6> motion(U);
  return with_law(problem.options.law, problem.options.normal_law, [&](auto law) {
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      Vec3 v = group.num_rows == 3 ? Vec3(motion.head<3>()) : Vec3(problem.X[i] * motion);
      v.z() -= margin;
      if (has_impulse<decltype(law)>(problem.contacts[i], v)) return false;
    }
    return true;
  });
}

struct IslandSolver {
  using Vector = IslandSystem::Vector;
  using ConstVector = IslandSystem::ConstVector;

  void begin(const Problem& problem, const Islands& islands, const Island& island,
             const std::vector<double>& bounds, int* local_block);
  // From the velocities before the step; or, with `go_on`, from the velocities and impulses of `known`.
  // Returns early, interrupted, when an iterate closes one of the `idle` groups of contacts; those may touch
  // other objects, too, which move as in `known`.
  IslandResult solve(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                     std::span<const int> idle);
  // The answer: impulses to the workspace, velocities to `v_all`.
  void finish(bool has_duals, NewtonWorkspace* workspace, VecX* v_all) const;

 private:
  IslandSystem system;
  Vector v{nullptr, 0}, dv{nullptr, 0}, gradient{nullptr, 0}, momentum{nullptr, 0}, impulse{nullptr, 0},
      Adv{nullptr, 0}, v_try{nullptr, 0}, base{nullptr, 0}, v_best{nullptr, 0}, best_v{nullptr, 0},
      free_impulse{nullptr, 0};
  std::vector<Vec6> U, dU, group_impulse;  // [groups]
  std::vector<Mat6> group_hessian;
  std::vector<Vec3> contact_v, contact_dv;  // [contacts]
  std::vector<double> dof_hessian;          // [dof laws]

  // Contacts and laws as seen from `base`: v, v* and all laws count from there, so that the answer is base +
  // v. The line search moves the base; before it, base is zero.
  std::vector<ContactData> contacts;  // [contacts]
  std::vector<ScalarLaw> laws;        // [6 groups]
  std::vector<ScalarLaw> dof_laws;    // [dof laws]

  // Primal-dual: the impulse of each contact, scalar law (six for a group) and dof law; where its law is
  // linearized, with what slope; the linearized impulse at v. `_try` at the point that is being tried.
  struct Dual {
    Vec3 gamma, u;
  };
  std::vector<Dual> dual, dual_try;
  std::vector<Vec3> linear_gamma;
  std::vector<Mat3> slope;
  struct ScalarDual {
    double gamma, u;
  };
  std::vector<ScalarDual> law_dual, law_dual_try, dof_dual, dof_dual_try;
  std::vector<double> law_linear, dof_linear;

  const Problem& problem() const { return *system.problem; }

  // Calls contact(law, i, at) for each contact, i in the problem and at in the island, and row(g, r, k) for
  // each scalar law, k = 6 g + r.
  template <class Contact, class Row>
  void for_each(const Contact& contact, const Row& row) const {
    with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
      for (int g = 0; g < system.num_groups(); ++g) {
        const ConstraintGroup& c = system.group(g);
        int at = system.contact_start[g];
        for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) contact(law, i, at);
        for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) row(g, r, 6 * g + r);
      }
    });
  }
  // Calls f(law, k, i) for each dof law, k its local dof.
  template <class F>
  void for_each_dof_law(const F& f) const {
    for (int i = 0; i < system.num_dof_laws(); ++i) {
      const DofLaw& law = system.dof_law(i);
      f(law, system.local_dof(law.dof), i);
    }
  }

  // Sums impulses (and Hessians) to group_impulse (and group_hessian), then impulse = J^T of it. The two
  // functions give those of one contact, contact(law, i, at, &gamma, &G), and of one row, row(g, r, k, &h).
  template <bool kHessian, class Contact, class Row>
  void sum_groups(const Contact& contact, const Row& row) {
    with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
      for (int g = 0; g < system.num_groups(); ++g) {
        const ConstraintGroup& c = system.group(g);
        int at = system.contact_start[g];
        if (c.num_rows == 3 && system.has_contacts(c)) {  // one contact, whose velocity is U
          Vec3 gamma;
          Mat3 G;
          contact(law, c.contact_begin, at, &gamma, kHessian ? &G : nullptr);
          group_impulse[g].head<3>() = gamma;
          if (kHessian) group_hessian[g].topLeftCorner<3, 3>() = G;
          continue;
        }
        Vec6 f = Vec6::Zero();
        Mat6 H;
        if (kHessian) H.setZero();
        for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
          Vec3 gamma;
          Mat3 G;
          contact(law, i, at, &gamma, kHessian ? &G : nullptr);
          const Mat36& X = problem().X[i];
          if (kHessian) {
            if (G(0, 0) == 0 && G(2, 2) == 0) continue;  // open
            const Mat36 GX = G * X;
            H.noalias() += X.transpose() * GX;
          }
          f.noalias() += X.transpose() * gamma;
        }
        for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) {
          double h;
          f[r] = row(g, r, 6 * g + r, &h);
          if (kHessian) H(r, r) = h;
        }
        group_impulse[g] = f;
        if (kHessian) group_hessian[g] = H;
      }
    });
    system.calc_impulse(group_impulse, impulse);
  }

  void solve_convex(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                    std::span<const int> idle, const Following& following, IslandResult* result);
  void solve_from_best(const NewtonOptions& options, double best, IslandResult* result);
  void set_laws();
  double evaluate(const ConstVector& at, bool with_hessian);
  void evaluate_impulses();
  bool is_solved(const NewtonOptions& options, double tolerance, IslandResult* result);
  double residual_of_objects(double smallest);
  std::vector<double> object_residual,
      object_impulse;  // [objects] squared, scaled as in the stopping test [J]
  bool try_level();
  bool try_guess(const NewtonOptions& options, double* cost, IslandResult* result);
  double friction = 0, pressure = 0;  // [N s] sums over contacts, where evaluate() was last

  // primal_dual.cc
  // Bounds of friction follow the impulses of its first `num_followed` iterations.
  bool solve_primal_dual(const NewtonOptions& options, const NewtonWorkspace& known,
                         std::span<const int> idle, int num_followed, IslandResult* result);
  bool solve_with_last_factor(const NewtonOptions& options, IslandResult* result);
  bool start_primal_dual(const NewtonWorkspace* known, const IslandResult& at_v);
  bool is_warm_start_nearer(double imbalance, double cold);
  std::vector<double> object_cold;  // [objects] merit of its contacts in a cold start
  enum class StartDuals { zero, from_laws, given };
  void start_duals(StartDuals from, const NewtonWorkspace* given);
  double resolve_duals(double alpha);
  void accept_duals();
  void follow_bounds();
  void linearize();
  bool closes_any(std::span<const int> groups, const VecX& v_others) const;
  std::vector<Vec3> mass;             // [contacts] behind each
  double merit = 0;                   // of v and its duals
  std::vector<double> contact_merit;  // [contacts] what each adds to it, where resolve_duals() was last

  // worst_groups.cc
  bool settle_worst_groups(int most_rows);
  double find_worst_groups(int most_rows);
  double try_worst_groups(const ConstVector& x, const ConstVector& full, double alpha);
  struct WorstContact {
    int i, at;          // in the problem and in the island
    int row, rows;      // of its group, among those of all worst groups
    Dual now, next;     // where it is, and where it was tried last
    Vec3 linear_gamma;  // as above
    Mat3 slope;
  };
  std::vector<int> worst;
  std::vector<WorstContact> worst_contacts;

  // coulomb.cc
  using BoundVector = Eigen::Map<VecX, Eigen::Aligned16>;  // [contacts]
  IslandResult solve_coulomb(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                             std::span<const int> idle);
  void settle_friction(const NewtonOptions& options, const NewtonWorkspace& known, std::span<const int> idle,
                       IslandResult* result);
  void set_bounds();
  double measure_friction();
  bool find_bound_change();
  void leave_base();
  void solve_with_bounds(const NewtonOptions& options, const NewtonWorkspace& known,
                         std::span<const int> idle, IslandResult* result);
  bool has_exact_friction() const;
  void apply_bounds(const BoundVector& change);
  struct Bound {
    double n0 = 0;                   // [N s]
    double first_n0 = 0;             // that of the last step or solve
    double best_n0 = 0, best_n = 0;  // those of the best round
    double n = 0, slope = 0;         // normal impulse at v, and how it falls with the normal velocity
    double error = 0;                // [N s] of friction with the bound n0 in place of n
    double size = 0;                 // [N s] of the impulse with n
    Vec2 derivative = Vec2::Zero();  // of friction by n0
  };
  std::vector<Bound> bounds;         // [contacts] of the law coulomb; empty for others
  std::vector<double> bound_values;  // of the vectors below; memory only grows
  BoundVector krylov(int i) {
    const int n = system.num_contacts();
    return {bound_values.data() + static_cast<long>(i) * (n + n % 2), n};
  }
  BoundVector bound_change() { return krylov(kMostKrylov + 1); }

  // line_search.cc
  void solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                         IslandResult* result);
  LineDerivatives along(double alpha) const;
  double exact_step(double slope, double accuracy, IslandResult* result);
  void recenter();

  // multipliers.cc. With series_stiffness > 0, evaluate() and along() take each contact in series with a
  // compliance: rho is that many times the mass of the contact, and the multiplier strains it already.
  void solve_by_multipliers(const NewtonOptions& options, IslandResult* result);
  bool solve_in_series(const NewtonOptions& options, double tolerance, int most_iterations,
                       IslandResult* result);
  bool update_multipliers(const NewtonOptions& options, IslandResult* result);
  void sum_groups_in_series();
  template <class Law>
  SeriesPoint evaluate_in_series(Law, int i, int at, const Vec3& velocity) const {
    const Vec3 rho = series_stiffness * problem().contact_mass[i];
    return Series<Law>::evaluate(contacts[at], rho, velocity - multiplier[at].cwiseQuotient(rho));
  }
  double series_stiffness = 0;
  std::vector<Vec3> multiplier;  // [contacts] impulse of the last answer
};

}  // namespace capstan
