// Where Newton's method is on one island: a velocity, the laws there, and the test whether it is the
// solution. All ways of globalization work on this. Internal to solvers/.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "capstan/laws/contact_laws.h"
#include "capstan/laws/series.h"
#include "capstan/solvers/island_system.h"
#include "capstan/solvers/newton.h"

namespace capstan {

constexpr double kTinyStep = 1e-6;  // of v: from here on its digits run out on the way to the optimum

// Law coulomb: whether bounds of friction have followed the impulses in this step, by the size of the island.
enum class Followed : char { no, exact, large };

struct IslandResult {
  bool converged = false;
  int iterations = 0, factorizations = 0, evaluations = 0;
  double residual = 0;
  bool interrupted = false;   // contacts have to come in before it makes sense to go on
  bool about_right = true;    // where it was interrupted
  bool at_round_off = false;  // steps are tiny and do not reduce the residual any more
  bool has_duals = false;     // the impulses are the duals, not those of the laws at v
  int friction_rounds = 0;
  int followed_for = 0;  // iterations in which bounds of friction followed
  Followed followed = Followed::no;
  double cone_violation = 0;

  void add_effort(const IslandResult& earlier) {
    iterations += earlier.iterations;
    factorizations += earlier.factorizations;
    evaluations += earlier.evaluations;
    friction_rounds += earlier.friction_rounds;
    followed_for += earlier.followed_for;
  }
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

class IslandIterate {
 protected:
  using Vector = IslandSystem::Vector;
  using ConstVector = IslandSystem::ConstVector;

  void begin(const Problem& problem, const Islands& islands, const Island& island,
             const std::vector<double>& bounds, IslandMaps* maps);
  // The answer: impulses to the workspace, velocities to `v_all`.
  void finish(bool has_duals, NewtonWorkspace* workspace, VecX* v_all);

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
  std::vector<double> n0;  // [contacts] bounds of friction, where a solve finds them (law coulomb); or empty

  // Impulses that are unknowns of their own, of each contact, scalar law (six for a group) and dof law; and
  // the velocity at which its law has them.
  struct Dual {
    Vec3 gamma, u;
  };
  struct ScalarDual {
    double gamma, u;
  };
  std::vector<Dual> dual;
  std::vector<ScalarDual> law_dual, dof_dual;

  // With series_stiffness > 0 each contact is in series with a compliance (solvers/multipliers.cc): rho is
  // that many times the mass of the contact, and the multiplier strains it already.
  double series_stiffness = 0;
  std::vector<Vec3> multiplier;  // [contacts] impulse of the last answer
  template <class Law>
  SeriesPoint evaluate_in_series(Law, int i, int at, const Vec3& velocity) const {
    const Vec3 rho = series_stiffness * problem().contact_mass[i];
    return Series<Law>::evaluate(contacts[at], rho, velocity - multiplier[at].cwiseQuotient(rho));
  }

  const Problem& problem() const { return *system.problem; }
  // That of its point, whose normal impulse bounds it (laws/turning.h); i in the problem, at in the island.
  int point_of(int i, int at) const {
    return problem().turning.empty() ? at : at - problem().turning[i].back;
  }
  void set_laws();
  void set_bounds();
  double evaluate(const ConstVector& at, bool with_hessian);
  void evaluate_impulses();
  bool is_solved(const NewtonOptions& options, double tolerance, IslandResult* result);
  double friction = 0, pressure = 0;  // [N s] sums over contacts, where evaluate() was last

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

 private:
  bool may_cancel(double norm) const;
  double residual_of_objects(double smallest);
  std::vector<double> object_residual,
      object_impulse;  // [objects] squared, scaled as in the stopping test [J]
};

}  // namespace capstan
