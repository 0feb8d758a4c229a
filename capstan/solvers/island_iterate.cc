#include "capstan/solvers/island_iterate.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/clones.h"

namespace capstan {
namespace {

// An object's momentum is balanced to so many times the tolerance, of its own impulses in this step. Momentum
// that it has from before, and what other objects have, do not count there: a fast or heavy one would hide
// it.
constexpr double kObjectTolerance = 100;
constexpr double kRoundOff = 1e-13;  // of the island's momentum, or of impulses that cancel

}  // namespace

void IslandIterate::begin(const Problem& p, const Islands& islands, const Island& island,
                          const std::vector<double>& bounds_of_all, IslandMaps* maps) {
  Vector* const vectors[] = {&v,     &dv,   &gradient, &momentum, &impulse,     &Adv,
                             &v_try, &base, &v_best,   &best_v,   &free_impulse};
  system.begin(p, islands, island, maps, static_cast<int>(std::size(vectors)));
  int k = 0;
  for (Vector* x : vectors) new (x) Vector(system.vector(k++));
  group_impulse.resize(system.num_groups());
  group_hessian.resize(system.num_groups());
  dof_hessian.resize(system.num_dof_laws());
  contacts.resize(system.num_contacts());
  laws.resize(6 * system.num_groups());
  dof_laws.resize(system.num_dof_laws());
  n0.clear();
  if (traits(p.options.law).finds_bounds) {
    n0.resize(system.num_contacts());
    for_each([&](auto, int i, int at) { n0[at] = bounds_of_all[i]; }, [](int, int, int) {});
  }
  set_laws();
}

// Contacts and laws as the problem has them.
void IslandIterate::set_laws() {
  const Problem& p = problem();
  base.setZero();
  system.gather(p.motion->v_star, system.v_star);
  for (int g = 0; g < system.num_groups(); ++g) {
    const ConstraintGroup& c = system.group(g);
    std::copy(p.contacts.begin() + c.contact_begin, p.contacts.begin() + c.contact_end,
              contacts.begin() + system.contact_start[g]);
    for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) laws[6 * g + r] = p.laws[c.law_begin + r];
  }
  for (int i = 0; i < system.num_dof_laws(); ++i) dof_laws[i] = system.dof_law(i).law;
  set_bounds();
}

void IslandIterate::set_bounds() {
  if (n0.empty()) return;
  for_each(
      [&](auto law, int, int at) {
        if constexpr (requires(ContactData * d) { decltype(law)::set_bound(0.0, d); }) {
          if (!is_inert(contacts[at])) decltype(law)::set_bound(n0[at], &contacts[at]);
        }
      },
      [](int, int, int) {});
}

// Impulses of all laws at contact_v, U and v.
CAPSTAN_FLAT_CLONES void IslandIterate::evaluate_impulses() {
  sum_groups<false>(
      [&](auto law, int, int at, Vec3* gamma, Mat3*) {
        decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, gamma, nullptr);
      },
      [&](int g, int r, int k, double*) { return scalar_impulse(laws[k], U[g][r]); });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    impulse[k] += law.sign * scalar_impulse(dof_laws[i], law.sign * v[k]);
  });
}

// Cost at `at`; leaves motions, momentum, impulses and Hessians.
CAPSTAN_FLAT_CLONES double IslandIterate::evaluate(const ConstVector& at, bool with_hessian) {
  system.calc_motion(at, &U, &contact_v);
  Adv = at - system.v_star;
  system.multiply_A(Adv, momentum);
  double cost = 0.5 * Adv.dot(momentum);
  friction = pressure = 0;
  const auto row = [&](int g, int r, int k, double* h) {
    double l;
    const double gamma = capstan::evaluate(laws[k], U[g][r], &l, h);
    cost += l;
    return gamma;
  };
  const auto contact = [&](auto law, int, int c, Vec3* gamma, Mat3* G) {
    double l;
    decltype(law)::evaluate(contacts[c], contact_v[c], &l, gamma, G);
    cost += l;
    friction += gamma->head<2>().norm();
    pressure += gamma->z();
  };
  if (series_stiffness > 0) {  // no one asks for its cost
    sum_groups<true>(
        [&](auto law, int i, int c, Vec3* gamma, Mat3* G) {
          const SeriesPoint p = evaluate_in_series(law, i, c, contact_v[c]);
          *gamma = p.gamma;
          *G = p.G;
        },
        row);
  } else if (with_hessian) {
    sum_groups<true>(contact, row);
  } else {
    sum_groups<false>(contact, row);
  }
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    double l;
    impulse[k] += law.sign * capstan::evaluate(dof_laws[i], law.sign * at[k], &l, &dof_hessian[i]);
    cost += l;
  });
  return cost;
}

// The stopping test at v, whose momentum and impulses are there: of the island, and of each of its objects.
bool IslandIterate::is_solved(const NewtonOptions& options, double tolerance, IslandResult* result) {
  double p = 0, j = 0, r = 0;
  bool objects_are_solved = true;
  object_residual.resize(system.num_objects());
  object_impulse.resize(system.num_objects());
  for (int t = 0; t < system.num_objects(); ++t) {
    double j_t = 0, r_t = 0;
    for (int k = system.object_start[t]; k < system.object_start[t + 1]; ++k) {
      const double d = system.scale[k] * system.scale[k];
      const double Av = momentum[k] + system.A_v_star[k];
      gradient[k] = momentum[k] - impulse[k];
      p += d * Av * Av;
      j_t += d * impulse[k] * impulse[k];
      r_t += d * gradient[k] * gradient[k];
    }
    object_residual[t] = r_t;
    object_impulse[t] = j_t;
    objects_are_solved =
        objects_are_solved && std::sqrt(r_t) <= kObjectTolerance * tolerance * std::sqrt(j_t);
    j += j_t;
    r += r_t;
  }
  const double size = std::sqrt(std::max(p, j)), norm = std::sqrt(r);
  result->residual = size == 0 && !std::isnan(norm) ? 0 : norm / size;  // max(p, j) may hide a NaN
  result->converged = norm <= options.absolute_tolerance + tolerance * size;
  if (result->converged && !objects_are_solved) {
    result->residual = std::max(result->residual, residual_of_objects(kRoundOff * size) / kObjectTolerance);
    result->converged = result->residual <= tolerance || norm <= options.absolute_tolerance;
  }
  // Converged by the absolute tolerance: single impulses may cancel, and the residual is relative to these.
  if (result->converged && result->residual > tolerance)
    result->residual = std::min(result->residual, residual_of_objects(0));
  if (!result->converged && may_cancel(norm)) {
    const double relative = residual_of_objects(0);
    if (relative <= kRoundOff) {
      result->residual = relative;
      result->converged = true;
    }
  }
  return result->converged;
}

// Whether a residual is so small beside the impulses of single contacts and constraints that it may be their
// round-off: what is clamped, or begins deep inside another thing on both sides of its hinge, has large ones
// whose sum is nothing, and no digit of that sum is right.
bool IslandIterate::may_cancel(double norm) const {
  constexpr double kMay = 1e-9;            // times lever arms that are not looked at here
  if (series_stiffness > 0) return false;  // whose impulses are not those of the laws
  double largest = 0, scale = 0;
  for (int g = 0; g < system.num_groups(); ++g) {
    for (int r = 0; r < system.group(g).num_rows; ++r) {
      largest = std::max(largest, std::abs(group_impulse[g][r]));
    }
  }
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    largest = std::max(largest, std::abs(scalar_impulse(dof_laws[i], law.sign * v[k])));
  });
  for (int k = 0; k < system.num_dofs(); ++k) scale = std::max(scale, system.scale[k]);
  return norm <= kMay * scale * largest;
}

// The largest residual of an object relative to its own impulses in the step: that of free motion, their sum,
// and the largest of a contact or constraint, so that bodies which squeeze each other do not seem to have
// none.
double IslandIterate::residual_of_objects(double smallest) {
  Adv = base + system.v_star - system.v0;
  system.multiply_A(Adv, free_impulse);
  for (int t = 0; t < system.num_objects(); ++t) {
    double sum = 0;
    for (int k = system.object_start[t]; k < system.object_start[t + 1]; ++k) {
      const double p = system.scale[k] * free_impulse[k];
      sum += p * p;
    }
    object_impulse[t] = std::max(object_impulse[t], sum);
  }
  const auto add = [&](int g, double squared) {
    const ConstraintGroup& c = system.group(g);
    for (int p = c.part_begin; p < c.part_end; ++p) {
      double& size = object_impulse[system.local_object(problem().parts[p].block)];
      size = std::max(size, squared);
    }
  };
  with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      for (int i = c.contact_begin, at = system.contact_start[g]; i < c.contact_end; ++i, ++at) {
        Vec3 gamma;
        decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, &gamma, nullptr);
        add(g, gamma.dot(gamma.cwiseQuotient(problem().contact_mass[i])));
      }
      for (int row = 0; row < c.num_rows && !system.has_contacts(c); ++row) {
        const ScalarLaw& scalar = laws[6 * g + row];
        const double gamma = scalar_impulse(scalar, U[g][row]);
        add(g, gamma * gamma / scalar.mass);
      }
    }
  });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    const auto after = std::upper_bound(system.object_start.begin(), system.object_start.end(), k);
    double& size = object_impulse[after - system.object_start.begin() - 1];
    const double gamma = scalar_impulse(dof_laws[i], law.sign * v[k]);
    size = std::max(size, gamma * gamma / dof_laws[i].mass);
  });
  double largest = 0;
  for (int t = 0; t < system.num_objects(); ++t) {
    const double norm = std::sqrt(object_residual[t]);
    if (norm > smallest) largest = std::max(largest, norm / std::sqrt(std::max(object_impulse[t], 1e-300)));
  }
  return largest;
}

// Impulses come from the very contact_v and U that were judged: computed anew from v they would differ by
// round-off, which stiff contacts amplify. Or they are the duals.
void IslandIterate::finish(bool has_duals, NewtonWorkspace* workspace, VecX* v_all) {
  v_try = base + v;
  system.scatter_velocities(v_try, v_all);
  for_each(
      [&](auto law, int i, int at) {
        if (!n0.empty()) workspace->bound[i] = n0[at];
        if (has_duals) {
          workspace->impulse[i] = dual[at].gamma;
        } else {
          decltype(law)::evaluate(contacts[at], contact_v[at], nullptr, &workspace->impulse[i], nullptr);
        }
      },
      [&](int g, int r, int k) {
        workspace->law_impulse[system.group(g).law_begin + r] =
            has_duals ? law_dual[k].gamma : scalar_impulse(laws[k], U[g][r]);
      });
  for_each_dof_law([&](const DofLaw& law, int k, int i) {
    workspace->dof_impulse[system.dof_law_id(i)] =
        has_duals ? dof_dual[i].gamma : scalar_impulse(dof_laws[i], law.sign * v[k]);
  });
}

}  // namespace capstan
