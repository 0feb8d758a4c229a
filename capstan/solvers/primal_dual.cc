// Newton's method on velocities and impulses (newton.h).
#include <algorithm>
#include <cmath>

#include "capstan/laws/resolve.h"
#include "capstan/math/clones.h"
#include "capstan/solvers/primal_dual.h"

namespace capstan {
namespace {

constexpr int kMaxIterations = 40;      // before the line search takes over
constexpr int kPatience = 12;           // iterations that do not halve the merit
constexpr double kSettled = 1e-12;      // of the size of the problem: a merit that the next step finishes
constexpr double kGreatStep = 1e-3;     // of the merit before: a step that needs no help
constexpr double kTooFar = 100;         // a warm start from a cold one, as energies
constexpr double kAboutRight = 1e-2;    // of the size of the problem: a merit that tells where bodies go
constexpr double kNearlySolved = 1e-6;  // likewise: it is solved for what it takes to begin it again
constexpr double kSmallResidual = 0.1;  // of laws at the start: there is no better one
constexpr double kNear = 100;         // times the tolerance: a residual that the last factor may do away with
constexpr double kContraction = 0.1;  // of the residual, in a step with the last factor that is worth another

}  // namespace

void PrimalDual::start_duals(StartDuals from, const NewtonWorkspace* given) {
  dual.resize(system.num_contacts());
  dual_try.resize(system.num_contacts());
  linear_gamma.resize(system.num_contacts());
  slope.resize(system.num_contacts());
  mass.resize(system.num_contacts());
  for (auto* list : {&law_dual, &law_dual_try}) list->resize(6 * system.num_groups());
  for (auto* list : {&dof_dual, &dof_dual_try}) list->resize(system.num_dof_laws());
  law_linear.resize(6 * system.num_groups());
  dof_linear.resize(system.num_dof_laws());
  for_each(
      [&](auto law, int i, int at) {
        Vec3& gamma = dual[at].gamma;
        gamma.setZero();
        mass[at] = kMassFactor * problem().contact_mass[i];
        if (from == StartDuals::from_laws) {
          decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, &gamma, nullptr);
          dual[at].u = contact_v[at];  // on the curve already
        }
        if (from == StartDuals::given) gamma = given->impulse[i];
        linear_gamma[at] = gamma;
        slope[at].setZero();
      },
      [&](int g, int r, int k) {
        double& gamma = law_dual[k].gamma;
        gamma = 0;
        if (from == StartDuals::from_laws) gamma = scalar_impulse(laws[k], law_dual[k].u = U[g][r]);
        if (from == StartDuals::given) gamma = given->law_impulse[system.group(g).law_begin + r];
        law_linear[k] = gamma;
        group_hessian[g](r, r) = 0;
      });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    double& gamma = dof_dual[i].gamma;
    gamma = 0;
    if (from == StartDuals::from_laws) gamma = scalar_impulse(dof_laws[i], dof_dual[i].u = law.sign * v[k]);
    if (from == StartDuals::given) gamma = given->dof_impulse[system.dof_law_id(i)];
    dof_linear[i] = gamma;
    dof_hessian[i] = 0;
  });
}

// At v + alpha dv, with impulses moved by alpha towards those of the linearized laws there: the resolvent of
// every law, and the merit.
CAPSTAN_FLAT_CLONES double PrimalDual::resolve_duals(double alpha) {
  double sum = 0;
  contact_merit.resize(system.num_contacts());
  with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
    const int n = system.num_contacts();
    for (int at = 0; at < n; ++at) {
      const Vec3 full = linear_gamma[at] - slope[at] * contact_dv[at];
      Dual& d = dual_try[at];
      d.gamma = dual[at].gamma + alpha * (full - dual[at].gamma);
      d.u = contact_v[at] + alpha * contact_dv[at] - d.gamma.cwiseQuotient(mass[at]);
    }
    resolve_all<decltype(law)>(contacts.data(), mass.data(), n,
                               [&](int at) CAPSTAN_INLINE -> Vec3& { return dual_try[at].u; });
    for (int at = 0; at < n; ++at) {
      const Vec3 e = dual_try[at].u - (contact_v[at] + alpha * contact_dv[at]);
      sum += contact_merit[at] = e.dot(mass[at].cwiseProduct(e));
    }
  });
  for_each([](auto, int, int) {},
           [&](int g, int r, int k) {
             const double at_v = U[g][r] + alpha * dU[g][r];
             const double full = law_linear[k] - group_hessian[g](r, r) * dU[g][r];
             ScalarDual& d = law_dual_try[k];
             d.gamma = law_dual[k].gamma + alpha * (full - law_dual[k].gamma);
             d.u = capstan::resolve(laws[k], at_v - d.gamma / laws[k].mass);
             sum += laws[k].mass * (d.u - at_v) * (d.u - at_v);
           });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    const double at_v = law.sign * (v[k] + alpha * dv[k]);
    const double full = dof_linear[i] - dof_hessian[i] * law.sign * dv[k];
    ScalarDual& d = dof_dual_try[i];
    d.gamma = dof_dual[i].gamma + alpha * (full - dof_dual[i].gamma);
    d.u = capstan::resolve(law.law, at_v - d.gamma / law.law.mass);
    sum += law.law.mass * (d.u - at_v) * (d.u - at_v);
  });
  return sum;
}

void PrimalDual::accept_duals() {
  std::swap(dual, dual_try);
  std::swap(law_dual, law_dual_try);
  std::swap(dof_dual, dof_dual_try);
}

// Law coulomb: bounds of friction become the normal impulses of the iterate.
void PrimalDual::follow_bounds() {
  for_each(
      [&](auto law, int i, int at) {
        if constexpr (requires(ContactData * d) { decltype(law)::set_bound(0.0, d); }) {
          if (is_inert(contacts[at])) return;
          if (const int point = point_of(i, at); point != at)
            return decltype(law)::set_bound(n0[at] = n0[point], &contacts[at]);
          Vec3 gamma;
          decltype(law)::evaluate(contacts[at], dual[at].u, nullptr, &gamma, nullptr);
          decltype(law)::set_bound(n0[at] = gamma.z(), &contacts[at]);
        }
      },
      [](int, int, int) {});
}

// What momentum lacks of being balanced, as an energy: with the gradient as it is,
void PrimalDual::calc_imbalance() {
  imbalance = 0;
  for (int k = 0; k < v.size(); ++k) imbalance += std::pow(system.scale[k] * gradient[k], 2);
}

// or with impulses that are given. None, as a rule; but v* may be another one since they were found.
void PrimalDual::calc_imbalance_of_duals() {
  sum_groups<false>([&](auto, int, int at, Vec3* gamma, Mat3*) { *gamma = dual[at].gamma; },
                    [&](int, int, int k, double*) { return law_dual[k].gamma; });
  for_each_dof_law([&](const DofLaw& law, int k, int i) { impulse[k] += law.sign * dof_dual[i].gamma; });
  gradient = momentum - impulse;
  calc_imbalance();
}

// Group impulses and Hessians of the laws linearized at their resolvents, as they are at v; the gradient.
CAPSTAN_FLAT_CLONES void PrimalDual::linearize() {
  sum_groups<true>(
      [&](auto law, int, int at, Vec3* gamma, Mat3* G) {
        decltype(law)::evaluate(contacts[at], dual[at].u, nullptr, gamma, G);
        *gamma -= *G * (contact_v[at] - dual[at].u);
        linear_gamma[at] = *gamma;
        slope[at] = *G;
      },
      [&](int g, int r, int k, double* h) {
        double l;
        const double u = law_dual[k].u, gamma = capstan::evaluate(laws[k], u, &l, h);
        return law_linear[k] = gamma - *h * (U[g][r] - u);
      });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    double l;
    const double gamma = capstan::evaluate(law.law, dof_dual[i].u, &l, &dof_hessian[i]);
    dof_linear[i] = gamma - dof_hessian[i] * (law.sign * v[k] - dof_dual[i].u);
    impulse[k] += law.sign * dof_linear[i];
  });
  gradient = momentum - impulse;
}

// Where to start, v being evaluated. With `known`: from its impulses. Else warm, with the impulses of the
// laws at v, which is right for a rest; or cold, with no impulses at v*, where momentum is balanced: false.
bool PrimalDual::start_primal_dual(const NewtonWorkspace* known, const IslandResult& at_v) {
  dv.setZero();
  dU.resize(system.num_groups());
  contact_dv.resize(system.num_contacts());
  if (known != nullptr) {
    for (Vec6& x : dU) x.setZero();
    for (Vec3& x : contact_dv) x.setZero();
    start_duals(StartDuals::given, known);
    calc_imbalance_of_duals();
    merit = resolve_duals(0) + imbalance;
    accept_duals();
    return true;
  }
  calc_imbalance();
  bool warm = true;
  if (at_v.residual > kSmallResidual) {
    system.calc_motion(system.v_star, &dU, &contact_dv);
    std::swap(U, dU);
    std::swap(contact_v, contact_dv);
    v = system.v_star;
    start_duals(StartDuals::zero, nullptr);
    merit = resolve_duals(0);
    warm = is_warm_start_nearer(merit);
    if (warm) {
      std::swap(U, dU);
      std::swap(contact_v, contact_dv);
      v = v_best;
    } else {
      momentum.setZero();
    }
  }
  if (warm) {
    start_duals(StartDuals::from_laws, nullptr);
    merit = imbalance;
  } else {
    accept_duals();
    imbalance = 0;
  }
  return warm;
}

// Both are energies: of the momentum that is not balanced, and the merit. An object counts with at most what
// free motion gives it in the step, so that a few bodies in collision do not decide for a heap at rest.
bool PrimalDual::is_warm_start_nearer(double cold) {
  if (imbalance > kTooFar * cold) return false;  // it would send iterates astray
  object_cold.assign(system.num_objects(), 0.0);
  for (int g = 0; g < system.num_groups(); ++g) {
    double sum = 0;
    for (int at = system.contact_start[g]; at < system.contact_start[g + 1]; ++at) sum += contact_merit[at];
    const ConstraintGroup& c = system.group(g);
    for (int p = c.part_begin; p < c.part_end; ++p) {
      object_cold[system.local_object(problem().parts[p].block)] += sum;
    }
  }
  Adv = system.v_star - system.v0;
  system.multiply_A(Adv, impulse);
  double limited_imbalance = 0, limited_cold = 0;
  for (int t = 0; t < system.num_objects(); ++t) {
    double object_imbalance = 0, limit = 0;
    for (int k = system.object_start[t]; k < system.object_start[t + 1]; ++k) {
      const double d = system.scale[k] * gradient[k], p = system.scale[k] * impulse[k];
      object_imbalance += d * d;
      limit += p * p;
    }
    limited_imbalance += std::min(object_imbalance, limit);
    limited_cold += std::min(object_cold[t], limit);
  }
  return limited_imbalance != limited_cold ? limited_imbalance < limited_cold : imbalance < cold;
}

// Steps from v, whose residual is known, with the factor that led there: near the solution H hardly changes,
// and they cost a fraction of an iteration. False, with v and its motions and momentum as before, if they do
// not lead to the solution.
bool PrimalDual::solve_with_last_factor(const NewtonOptions& options, IslandResult* result) {
  v_try = v;
  std::swap(U, dU);
  std::swap(contact_v, contact_dv);
  for (double last = kInfinity; result->residual < kContraction * last;) {
    last = result->residual;
    ++result->evaluations;
    system.solve_again(gradient, Adv);
    v += Adv;
    system.calc_motion(v, &U, &contact_v);
    Adv = v - system.v_star;
    system.multiply_A(Adv, momentum);
    evaluate_impulses();
    if (is_solved(options, options.relative_tolerance, result)) return true;
  }
  v = v_try;
  std::swap(U, dU);
  std::swap(contact_v, contact_dv);
  Adv = v - system.v_star;
  system.multiply_A(Adv, momentum);
  return false;
}

// From v, its motions and momentum, and the duals. Leaves the last velocity in v and its laws evaluated.
// False when it stalled.
bool PrimalDual::solve_primal_dual(const NewtonOptions& options, const NewtonWorkspace& known,
                                   std::span<const int> idle, int num_followed, IslandResult* result) {
  const int most = std::min(kMaxIterations, options.max_iterations);
  double size = merit;  // an energy, too
  for (int k = 0; k < v.size(); ++k) {
    const double p = system.scale[k] * system.A_v_star[k];
    size += p * p;
  }
  double least = merit;
  int without_progress = 0;
  while (result->iterations < most && without_progress < kPatience) {
    ++result->iterations;
    ++result->factorizations;
    linearize();
    if (!system.solve(group_hessian, dof_hessian, gradient, dv)) return false;
    system.calc_motion(dv, &dU, &contact_dv);
    double alpha = 1, best_alpha = 1, best = kInfinity, last = 0;
    for (int k = 0; k < kMaxHalvings; ++k, alpha /= 2) {
      ++result->evaluations;
      const double trial = resolve_duals(last = alpha) + std::pow(1 - alpha, 2) * imbalance;
      if (trial < best) best = trial, best_alpha = alpha;
      if (k == 0 && trial > std::max(kSettled * size, kGreatStep * merit) &&
          settle_worst_groups(options.most_worst_rows)) {
        ++result->evaluations;
        best = resolve_duals(1);
      }
      if (best < kGoodMerit * merit) break;
    }
    if (!std::isfinite(best)) return false;
    if (best_alpha != last) resolve_duals(best_alpha);
    accept_duals();
    if (result->iterations <= num_followed) {
      follow_bounds();
      ++result->followed_for;
    }
    merit = best;
    imbalance *= std::pow(1 - best_alpha, 2);
    without_progress = merit < 0.5 * least ? 0 : without_progress + 1;
    least = std::min(least, merit);
    v += best_alpha * dv;
    system.calc_motion(v, &U, &contact_v);
    Adv = v - system.v_star;
    system.multiply_A(Adv, momentum);
    if (merit <= options.relative_tolerance * size) {  // else it is far from solved
      // The certificate: the impulses of the laws at v itself.
      evaluate_impulses();
      if (is_solved(options, options.relative_tolerance, result)) return true;
      if (result->residual <= kNear * options.relative_tolerance && solve_with_last_factor(options, result))
        return true;
    }
    result->about_right = merit <= kAboutRight * size;
    const bool rough = options.rough && system.num_objects() >= kObjectsForRough && result->about_right &&
                       merit > kNearlySolved * size;
    result->interrupted = best_alpha == 1 && (rough || closes_any(idle, known.v));
    result->has_duals = result->interrupted;
    if (result->interrupted) return true;
    if (best_alpha * dv.norm() <= kTinyStep * v.norm()) return false;  // the line search has more digits
  }
  return false;
}

// Whether a contact of these groups has an impulse when the island moves at v and the rest at v_others. Those
// that touch an eliminated block of it are left to a look at the answer.
bool PrimalDual::closes_any(std::span<const int> groups, const VecX& v_others) const {
  const auto is_inside = [&](int block) {
    const int island = system.islands->of_object[problem().model->blocks[block].object];
    return island >= 0 && &system.islands->list[island] == system.island;
  };
  return std::any_of(groups.begin(), groups.end(), [&](int g) {
    const ConstraintGroup& group = problem().groups[g];
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const int block = problem().parts[p].block;
      if (is_inside(block) && system.local_block(block) < 0) return false;
    }
    return !is_idle(problem(), group, 0, [&](int block) {
      return is_inside(block) ? v.data() + system.start[system.local_block(block)]
                              : v_others.data() + problem().model->blocks[block].dof_begin;
    });
  });
}

}  // namespace capstan
