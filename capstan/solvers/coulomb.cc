// Coulomb's law: friction limited by mu times the normal impulse of the same step.
//
// With lagged friction (laws/lagged.h) an island's problem is convex for any bounds n0 of its contacts. Its
// answer v(n0) has normal impulses n(v), and Coulomb's law holds where they are the bounds themselves,
//
//   n(v(n0)) = n0.
//
// Where motion goes on much as in the last step, so that a solve can start from the velocities before it,
// those impulses are good bounds. Where it does not (a hit, a fall), bounds follow the impulses of the first
// iterations: an island in motion is not to find the answer in which the bounds of yesterday jam it. In
// islands of at most kExactContacts contacts (those of rods and patches do not count, up to
// kMostExactContacts), what is left then is done by Newton's method for n0. A change x of the bounds moves
// the answer, and that the impulses,
//
//   H dv = J^T B x,   dn = -diag(n') J_n dv,     B = d gamma_t / d n0,  n' >= 0 the slope of the normal law,
//
// and (1 - dn/dx) x = n - n0 is solved by GMRES, each product of which is one back-substitution with the
// factor of H. (Taking n for the next n0, Haslinger's fixed point, does not converge for what is tall and
// thin: a domino's friction turns it onto its edge.) v goes along by dv, so that the next convex solve has
// little to do. Where a contact opens or begins to stick on the way, so that the error does not halve, the
// part of x at which the error along x vanishes is sought by regula falsi. Where more friction brings about
// more normal impulse than it needs, a jam, or, in islands of at most kWedged contacts, where the rest does
// not help, bounds grow as long as the cone is less violated from round to round: a roller between two wheels
// or the block of a brake that locks was lost for good in the first step whose start was cold. Every round is
// a convex problem, certified like any other; what rounds improve is
//
//   |gamma_t(v; n) - gamma_t(v; n0)|  <=  kConeTolerance (|gamma| + kSmallContact max |gamma|),
//
// the error of friction at its own normal impulse. `cone_violation` is the largest, over the bracket.
// Contacts that stick need no round, whatever their bounds. Limits: mu = 0, nothing to do. The fixed point
// need not exist (Painleve's rod, which digs itself in), nor be unique: then the best of kMostRounds stands.
//
// Larger islands are left where following them led, unless a cone is violated by more than kFarOut then: a
// few rounds bring that down (in a row of dominoes friction was 20 times mu n without, and the wave took
// three times as long). In heaps the points of a face share a load that 5e-6 m/s shift, so that bounds of
// single points jump and rounds, each as dear as a solve, do not settle. They follow once in a step, when its
// contacts are found (NewtonOptions::settle_friction): until then an island whose friction is far out counts
// as unfinished. Beyond kMostExactContacts nothing more is done. cone_violation tells in any case.
#include <algorithm>
#include <cmath>

#include "capstan/solvers/island_solver.h"

namespace capstan {
namespace {

// Up to so many contacts of an island its friction is settled. Of contacts among trees, and of all: those of
// other objects share no faces.
constexpr int kExactContacts = 256, kMostExactContacts = 512;
constexpr int kFollowed = 12;  // iterations
constexpr int kFollowedRoughly = 3;
// A cone violation with the bounds of the last step beyond which a solve begins anew and follows. (With 1,
// rows of dominoes jam at small time steps, in which nearly all starts are warm.)
constexpr double kFarOut = 0.3;
constexpr double kConeTolerance = 1e-3, kRoughCone = 0.1;
constexpr double kSmallContact = 1e-2;
constexpr double kSmallTurning = 1e-6;  // mu of rolling friction (laws/turning.h), by which its error counts
constexpr int kMostRounds = 30, kFewRounds = 3;
constexpr int kMostIterations = 150;  // in all rounds, until the last one begins
constexpr int kMostTrials = 5;        // along one change of the bounds
constexpr double kKrylovTolerance = 0.03;
constexpr double kGrowth = 4;  // of bounds where friction jams,
constexpr int kWedged = 64;    // in islands of at most so many contacts also where nothing else helps,
constexpr double kLessViolated = 0.9;            // while the cone is less violated from round to round
constexpr double kSmallest = 0.1, kLargest = 3;  // of a bound, and a normal impulse, by which it may change

template <class Law>
constexpr bool kHasBound = requires(ContactData* d) {
  Law::set_bound(0.0, d);
};

}  // namespace

void IslandSolver::begin(const Problem& problem, const Islands& islands, const Island& island,
                         const std::vector<double>& bounds_of_all, IslandMaps* maps) {
  IslandIterate::begin(problem, islands, island, bounds_of_all, maps);
  bounds.assign(n0.size(), {});
  for (std::size_t i = 0; i < n0.size(); ++i) bounds[i].first_n0 = n0[i];
}

IslandResult IslandSolver::solve(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                                 std::span<const int> idle, Followed before) {
  if (!bounds.empty()) return solve_coulomb(options, known, go_on, idle, before);
  IslandResult result;
  solve_convex(options, known, go_on, idle, {}, &result);
  return result;
}

// At contact_v: returns the cone violation.
double IslandSolver::measure_friction() {
  double most = 0, violation = 0;
  for_each(
      [&](auto law, int i, int at) {
        if constexpr (kHasBound<decltype(law)>) {
          using Law = decltype(law);
          Bound& b = bounds[at];
          const int point = point_of(i, at);
          const Vec3& velocity = contact_v[at];
          Vec3 gamma, other;
          Mat3 G;
          Law::evaluate(contacts[at], velocity, nullptr, &gamma, &G);
          b.n = point == at ? gamma.z() : bounds[point].n;
          b.slope = point == at ? G(2, 2) : 0;
          b.weight = point == at ? 1 : std::max(kSmallTurning, contacts[at].mu_xx);
          const Vec3 bias = contacts[at].bias;
          b.derivative = Law::bound_derivative(
              contacts[at], SoftSlip(contacts[at], velocity.x() + bias.x(), velocity.y() + bias.y()));
          ContactData d = contacts[at];
          Law::set_bound(b.n, &d);
          Law::evaluate(d, velocity, nullptr, &other, nullptr);
          b.error = (gamma - other).norm();
          b.size = other.norm();
          most = std::max(most, b.size);
        }
      },
      [](int, int, int) {});
  for (const Bound& b : bounds) {
    if (b.error > 0) violation = std::max(violation, b.error / (b.size + b.weight * kSmallContact * most));
  }
  return violation;
}

// Adv = H^-1 J^T B change, and the velocities of contacts that it gives in contact_dv.
void IslandSolver::apply_bounds(const BoundVector& change) {
  for (int g = 0; g < system.num_groups(); ++g) {
    const ConstraintGroup& c = system.group(g);
    Vec6 f = Vec6::Zero();
    int at = system.contact_start[g];
    for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
      const Vec2 change_of_friction = bounds[at].derivative * change[point_of(i, at)];
      if (c.num_rows == 3) {
        f.head<2>() = change_of_friction;
      } else {
        f.noalias() += problem().X[i].topRows<2>().transpose() * change_of_friction;
      }
    }
    group_impulse[g] = -f;
  }
  system.calc_impulse(group_impulse, impulse);
  system.solve_again(impulse, Adv);
  system.calc_motion(Adv, &dU, &contact_dv);
}

// The change of all bounds that makes them the normal impulses, to first order. Where friction brings about
// more normal impulse than it was given the bound for (agreement < 0), a jam, that leads away from the
// answer: there bounds grow until the contact sticks.
bool IslandSolver::find_bound_change() {
  const int n = system.num_contacts();
  dU.resize(system.num_groups());
  contact_dv.resize(n);
  evaluate(v, true);
  gradient = momentum - impulse;
  if (!system.solve(group_hessian, dof_hessian, gradient, dv)) return false;
  // GMRES.
  const std::size_t size_of_all = static_cast<std::size_t>(kMostKrylov + 2) * (n + n % 2);
  if (bound_values.size() < size_of_all) bound_values.resize(size_of_all);
  BoundVector change = bound_change();
  double R[kMostKrylov + 1][kMostKrylov] = {}, cosine[kMostKrylov], sine[kMostKrylov], rest[kMostKrylov + 1];
  BoundVector first = krylov(0);
  for (int i = 0; i < n; ++i) first[i] = bounds[i].n - n0[i];
  leave_to_points(first);
  const double size = first.norm();
  if (!(size > 0)) return false;
  first /= size;
  rest[0] = size;
  int m = 0;
  while (m < kMostKrylov && std::abs(rest[m]) > kKrylovTolerance * size) {
    BoundVector last = krylov(m), next = krylov(m + 1);
    apply_bounds(last);
    for (int i = 0; i < n; ++i) next[i] = last[i] + bounds[i].slope * contact_dv[i].z();
    for (int j = 0; j <= m; ++j) {
      R[j][m] = next.dot(krylov(j));
      next -= R[j][m] * krylov(j);
    }
    double below = next.norm();
    if (below > 0) next /= below;
    for (int j = 0; j < m; ++j) {
      const double a = R[j][m], b = R[j + 1][m];
      R[j][m] = cosine[j] * a + sine[j] * b;
      R[j + 1][m] = cosine[j] * b - sine[j] * a;
    }
    const double r = std::hypot(R[m][m], below);
    if (!(r > 0)) break;
    cosine[m] = R[m][m] / r;
    sine[m] = below / r;
    R[m][m] = r;
    rest[m + 1] = -sine[m] * rest[m];
    rest[m] *= cosine[m];
    ++m;
    if (!(below > 0)) break;
  }
  change.setZero();
  for (int j = m - 1; j >= 0; --j) {
    for (int i = j + 1; i < m; ++i) rest[j] -= R[j][i] * rest[i];
    rest[j] /= R[j][j];
  }
  for (int j = 0; j < m; ++j) change += rest[j] * krylov(j);
  if (!change.allFinite()) return false;
  double agreement = 0;
  for (int i = 0; i < n; ++i) agreement += change[i] * (bounds[i].n - n0[i]);
  jams = !(agreement > 0);
  if (jams) grow_bounds();
  return true;
}

// The change from the best round's bounds beyond its normal impulses, until contacts stick.
void IslandSolver::grow_bounds() {
  BoundVector change = bound_change();
  for (int i = 0; i < system.num_contacts(); ++i)
    change[i] = kGrowth * (bounds[i].best_n - bounds[i].best_n0);
  leave_to_points(change);
}

// What turns has the bound of its point, and no change of its own.
void IslandSolver::leave_to_points(BoundVector change) const {
  if (problem().turning.empty()) return;
  for_each([&](auto, int i, int at) { change[at] = point_of(i, at) == at ? change[at] : 0; },
           [](int, int, int) {});
}

// Velocities count from zero again, after a line search. Where its answer needs digits of v that are lost by
// that, as very stiff contacts do, impulses are those that it had.
void IslandSolver::leave_base(const NewtonOptions& options, IslandResult* result) {
  if (base.squaredNorm() == 0) return;
  const bool may_lose = result->converged && !result->has_duals;
  if (may_lose) keep_impulses();
  v += base;
  set_laws();
  evaluate(v, false);
  IslandResult now;
  result->has_duals =
      result->has_duals || (may_lose && !is_solved(options, options.relative_tolerance, &now));
}

// Duals become the impulses of the laws where they were evaluated last.
void IslandSolver::keep_impulses() {
  dual.resize(contacts.size());
  law_dual.resize(6 * system.num_groups());
  dof_dual.resize(system.num_dof_laws());
  for_each(
      [&](auto law, int, int at) {
        decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, &dual[at].gamma, nullptr);
      },
      [&](int g, int r, int k) { law_dual[k].gamma = scalar_impulse(laws[k], U[g][r]); });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    dof_dual[i].gamma = scalar_impulse(dof_laws[i], law.sign * v[k]);
  });
}

// The convex problem with the bounds as they are, from v.
void IslandSolver::solve_with_bounds(const NewtonOptions& options, const NewtonWorkspace& known,
                                     std::span<const int> idle, IslandResult* total) {
  set_bounds();
  IslandResult result;
  v_best = v;
  const double cost = evaluate(v, false);
  if (!is_solved(options, options.relative_tolerance, &result)) {
    start_duals(StartDuals::from_laws, nullptr);
    calc_imbalance();
    merit = imbalance;
    dv.setZero();
    for (Vec6& x : dU) x.setZero();
    for (Vec3& x : contact_dv) x.setZero();
    if (options.globalization != Globalization::primal_dual ||
        !solve_primal_dual(options, known, idle, 0, &result))
      solve_from_best(options, cost, &result);
  }
  if (result.converged) leave_base(options, &result);
  ++result.friction_rounds;
  result.followed = total->followed;
  result.add_effort(*total);
  *total = result;
}

bool IslandSolver::has_exact_friction() const {
  int among_trees = 0;
  for (int g = 0; g < system.num_groups(); ++g) {
    const ConstraintGroup& c = system.group(g);
    bool trees_only = !c.is_patch;  // whose points share their load by their stiffness
    for (int p = c.part_begin; p < c.part_end && trees_only; ++p)
      trees_only = problem().model->objects[problem().object_of(problem().parts[p])].is_tree();
    if (!trees_only) continue;
    for (int i = c.contact_begin; i < c.contact_end; ++i) among_trees += problem().is_point(i);
  }
  return among_trees <= kExactContacts && system.num_contacts() <= kMostExactContacts;
}

IslandResult IslandSolver::solve_coulomb(const NewtonOptions& options, const NewtonWorkspace& known,
                                         bool go_on, std::span<const int> idle, Followed before) {
  const bool is_exact = has_exact_friction();
  const int iterations = is_exact ? kFollowed : kFollowedRoughly;
  const bool has_followed = before == Followed::large;
  const bool was_left = !is_exact && go_on && options.settle_friction && !has_followed;
  // Late contacts, whose bounds nobody knows, came into an island that had to follow before.
  const bool follows_again = is_exact && go_on && before == Followed::exact && system.is_condensed();
  IslandResult result;
  for (const bool follows : {false, true}) {
    if ((was_left || follows_again) && !follows) continue;
    if (follows && result.followed_for > 0) break;  // that was a cold start, and would be the same one
    const IslandResult earlier = result;
    if (follows && !was_left) {
      for (std::size_t i = 0; i < n0.size(); ++i) n0[i] = bounds[i].first_n0;
      set_bounds();
    }
    result = {};
    find_solution(options, known, go_on, idle, {iterations, follows ? iterations : 0}, &result);
    result.add_effort(earlier);
    const bool follows_exactly = is_exact && (follows || before == Followed::exact);
    result.followed = has_followed || was_left ? Followed::large
                      : follows_exactly        ? Followed::exact
                                               : Followed::no;
    if (result.interrupted) break;
    const bool is_start = go_on && result.iterations == 0;  // what it goes on from is the answer
    const auto measure = [&] {
      leave_base(options, &result);
      return measure_friction();
    };
    result.cone_violation = measure();
    const bool is_far = result.cone_violation > kFarOut, is_left = !is_exact && !follows && result.converged;
    const bool may_follow = !is_left && !follows && !options.keep_bounds && result.followed_for == 0;
    if (may_follow && (!result.converged || is_far)) continue;
    polish(options, &result);
    result.cone_violation = measure();
    if (is_left) {
      result.interrupted = is_far && !has_followed;
      break;
    }
    if (is_exact || (is_far && system.num_contacts() <= kMostExactContacts))
      settle_friction(options, known, idle, is_exact, &result);
    if (!is_exact || result.interrupted || result.cone_violation <= kConeTolerance) break;
    if (!follows && is_start) break;  // there is nothing to follow: the same rounds again
  }
  if (!follows_again || result.converged || result.interrupted) return result;
  const IslandResult earlier = result;
  result = solve_coulomb(options, known, go_on, idle, Followed::no);
  result.add_effort(earlier);
  return result;
}

void IslandSolver::settle_friction(const NewtonOptions& options, const NewtonWorkspace& known,
                                   std::span<const int> idle, bool is_exact, IslandResult* total) {
  const double tolerance = is_exact ? kConeTolerance : kRoughCone;
  const int most_rounds = is_exact ? kMostRounds : kFewRounds;
  double violation = total->cone_violation;
  if (!total->converged || violation <= tolerance) return;
  if (!options.settle_friction) {
    total->interrupted = true;
    return;
  }
  const int n = system.num_contacts();
  const auto sum_errors = [&] {
    double sum = 0;
    for (const Bound& b : bounds) sum += b.error;
    return sum;
  };
  const auto sum_along = [&] {  // the error along the change of bounds
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += bound_change()[i] * (bounds[i].n - n0[i]);
    return sum;
  };
  IslandResult best;
  const auto keep = [&] {
    best = *total;
    best_v = v;
    for (int i = 0; i < n; ++i) bounds[i].best_n0 = n0[i], bounds[i].best_n = bounds[i].n;
    if (total->has_duals) best_dual = dual, best_law_dual = law_dual, best_dof_dual = dof_dual;
  };
  keep();
  double least = sum_errors(), least_violation = violation, part = 1, low = 0, high = kInfinity, at_low = 0,
         at_high = 0;
  bool is_better = true;
  int trials = 0;
  const int most_iterations = total->iterations + kMostIterations;
  for (int round = 0; round < most_rounds && total->iterations < most_iterations; ++round) {
    if (is_better) {
      if (!find_bound_change()) break;
      part = 1, low = 0, high = kInfinity, at_low = sum_along();
      trials = 0;
    }
    for (int i = 0; i < n; ++i) {
      const Bound& b = bounds[i];
      const double smallest = b.best_n > 0 ? kSmallest * std::min(b.best_n0, b.best_n) : 0;
      n0[i] = std::clamp(b.best_n0 + part * bound_change()[i], smallest,
                         kLargest * std::max(b.best_n, b.best_n0));
    }
    if (!problem().turning.empty())
      for_each([&](auto, int i, int at) { n0[at] = n0[point_of(i, at)]; }, [](int, int, int) {});
    if (is_better) {
      BoundVector moved = krylov(0);
      for (int i = 0; i < n; ++i) moved[i] = n0[i] - bounds[i].best_n0;
      apply_bounds(moved);
      v += Adv;
    }
    solve_with_bounds(options, known, idle, total);
    if (total->interrupted) return;
    if (!total->converged) {
      is_better = false;
      break;
    }
    violation = measure_friction();
    const double error = sum_errors();
    ++trials;
    is_better = error < (trials < 3 ? 0.5 : 0.9) * least || violation <= tolerance ||
                (jams && violation < kLessViolated * least_violation);
    if (is_better) {
      keep();
      least = error;
      least_violation = violation;
      if (violation <= tolerance) break;
      continue;
    }
    if (trials == kMostTrials) {
      if (jams || n > kWedged) break;
      jams = true;  // there may be an answer that sticks
      grow_bounds();
      part = 1, low = 0, high = kInfinity, at_low = 0, trials = 0;
      continue;
    }
    const double at = sum_along();
    if (at < 0) {
      high = part, at_high = at;
    } else {
      low = part, at_low = at;
    }
    part = high < kInfinity ? low + (high - low) * std::clamp(at_low / (at_low - at_high), 0.15, 0.85)
                            : 2 * part;
  }
  if (!is_better) {
    v = best_v;
    for (int i = 0; i < n; ++i) n0[i] = bounds[i].best_n0;
    set_laws();
    evaluate(v, false);
    if (best.has_duals) dual = best_dual, law_dual = best_law_dual, dof_dual = best_dof_dual;
    total->residual = best.residual;
    total->converged = best.converged;
    total->has_duals = best.has_duals;
    total->at_round_off = best.at_round_off;
    violation = measure_friction();
  }
  total->cone_violation = violation;
}

}  // namespace capstan
