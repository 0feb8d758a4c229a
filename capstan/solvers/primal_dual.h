// Newton's method on velocities and impulses (newton.h), with the contacts that hold it up settled apart
// (worst_groups.cc). Internal to solvers/.
#pragma once

#include "capstan/solvers/multipliers.h"

namespace capstan {

// Masses of single contacts are taken larger than they are, because several contacts share a body. Chosen on
// heaps that land, where 2 to 5 did about equally well.
constexpr double kMassFactor = 3;
constexpr double kGoodMerit = 0.9;  // of the merit before: a step is not halved any more
constexpr int kMaxHalvings = 4;

class PrimalDual : protected Multipliers {
 protected:
  // Bounds of friction follow the impulses of its first `num_followed` iterations.
  bool solve_primal_dual(const NewtonOptions& options, const NewtonWorkspace& known,
                         std::span<const int> idle, int num_followed, IslandResult* result);
  // Where it starts: true, if warm.
  bool start_primal_dual(const NewtonWorkspace* known, const IslandResult& at_v);
  enum class StartDuals { zero, from_laws, given };
  void start_duals(StartDuals from, const NewtonWorkspace* given);
  double merit = 0;      // of v and its duals: how far these are from their laws, and
  double imbalance = 0;  // momentum, which every step takes nearer to its balance, from it
  void calc_imbalance();

 private:
  bool solve_with_last_factor(const NewtonOptions& options, IslandResult* result);
  bool is_warm_start_nearer(double cold);
  void calc_imbalance_of_duals();
  double resolve_duals(double alpha);
  void accept_duals();
  void follow_bounds();
  void linearize();
  bool closes_any(std::span<const int> groups, const VecX& v_others) const;

  // Where laws are linearized is dual.u; with what slope, and the linearized impulse at v. `_try` at the
  // point that is being tried.
  std::vector<Dual> dual_try;
  std::vector<ScalarDual> law_dual_try, dof_dual_try;
  std::vector<Vec3> linear_gamma;
  std::vector<Mat3> slope;
  std::vector<double> law_linear, dof_linear;
  std::vector<Vec3> mass;             // [contacts] behind each
  std::vector<double> contact_merit;  // [contacts] what each adds to it, where resolve_duals() was last
  std::vector<double> object_cold;    // [objects] merit of its contacts in a cold start

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
};

}  // namespace capstan
