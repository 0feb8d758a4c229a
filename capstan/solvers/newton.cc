#include "capstan/solvers/newton.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "capstan/laws/resolve.h"
#include "capstan/solvers/island_system.h"

namespace capstan {
namespace {

// Masses of single contacts are taken larger than they are, because several contacts share a body. Chosen on
// heaps that land, where 2 to 5 did about equally well.
constexpr double kMassFactor = 3;
constexpr int kMaxPrimalDual = 40;  // iterations before the line search takes over
constexpr int kMaxHalvings = 4;
constexpr double kTinyStep = 1e-6;  // of v: from here on its digits run out on the way to the optimum

struct IslandResult {
  bool converged = false;
  int iterations = 0, factorizations = 0, evaluations = 0;
  double residual = 0;
  bool at_round_off = false;  // steps are tiny and do not reduce the residual any more
};

struct IslandSolver {
  using Vector = IslandSystem::Vector;
  using ConstVector = IslandSystem::ConstVector;
  enum { kV, kDv, kGradient, kMomentum, kImpulse, kAdv, kTry, kBase, kBest, kNumVectors };

  IslandSystem system;
  Vector v{nullptr, 0}, dv{nullptr, 0}, gradient{nullptr, 0}, momentum{nullptr, 0}, impulse{nullptr, 0},
      Adv{nullptr, 0}, v_try{nullptr, 0}, base{nullptr, 0}, v_best{nullptr, 0};
  std::vector<Vec6> U, dU, group_impulse;  // [groups]
  std::vector<Mat6> group_hessian;
  std::vector<Vec3> contact_v, contact_dv;  // [contacts]
  std::vector<double> dof_hessian;          // [dof laws]

  // Contacts and laws as seen from `base`: v, v* and all laws count from there, so that the answer is base +
  // v. The line search moves the base; before it, base is zero.
  std::vector<ContactData> contacts, original;  // [contacts]
  std::vector<ScalarLaw> laws;                  // [6 groups]
  std::vector<ScalarLaw> dof_laws;              // [dof laws]

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

  void begin(const Problem& p, const Island& island, int* local_tree) {
    system.begin(p, island, local_tree, kNumVectors);
    int k = 0;
    for (Vector* x : {&v, &dv, &gradient, &momentum, &impulse, &Adv, &v_try, &base, &v_best}) {
      new (x) Vector(system.vector(k++));
    }
    group_impulse.resize(system.num_groups());
    group_hessian.resize(system.num_groups());
    dof_hessian.resize(system.num_dof_laws());
    base.setZero();
    contacts.resize(system.num_contacts());
    laws.resize(6 * system.num_groups());
    dof_laws.resize(system.num_dof_laws());
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      std::copy(p.contacts.begin() + c.contact_begin, p.contacts.begin() + c.contact_end,
                contacts.begin() + system.contact_start[g]);
      for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r)
        laws[6 * g + r] = p.laws[c.law_begin + r];
    }
    for (int i = 0; i < system.num_dof_laws(); ++i) dof_laws[i] = system.dof_law(i).law;
  }

  IslandResult solve(const NewtonOptions& options);
  bool solve_primal_dual(const NewtonOptions& options, IslandResult* result);
  void solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                         IslandResult* result);
  void solve_by_continuation(const NewtonOptions& options, IslandResult* result);
  void recenter();

  template <class F>
  void with_contact_law(const F& f) const {
    with_law(problem().options.law, problem().options.normal_law, f);
  }
  double evaluate(const ConstVector& at, bool with_hessian);
  void evaluate_impulses(bool with_hessian, double* cost);
  bool is_solved(const NewtonOptions& options, double tolerance, IslandResult* result);
  void start_duals(bool from_laws);
  double resolve_duals(double alpha);
  void accept_duals();
  void linearize();
  double exact_step(double slope, IslandResult* result);
  double armijo_step(double slope, double cost, IslandResult* result);
  LineDerivatives along(double alpha) const;
  void finish(NewtonWorkspace* workspace);
};

// Impulses (and Hessians) of all laws at contact_v and U; v has the dofs.
void IslandSolver::evaluate_impulses(bool with_hessian, double* cost) {
  double sum = 0;
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      Vec6 f = Vec6::Zero();
      Mat6 H = Mat6::Zero();
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        double l;
        Vec3 gamma;
        Mat3 G;
        Law::evaluate(contacts[at], contact_v[at], cost ? &l : nullptr, &gamma, with_hessian ? &G : nullptr);
        if (cost) sum += l;
        const Mat36& X = problem().X[i];
        f.noalias() += X.transpose() * gamma;
        if (with_hessian) {
          const Mat36 GX = G * X;
          H.noalias() += X.transpose() * GX;
        }
      }
      if (!system.has_contacts(c)) {
        for (int r = 0; r < c.num_rows; ++r) {
          double l, h;
          f[r] = capstan::evaluate(laws[6 * g + r], U[g][r], &l, &h);
          sum += l;
          H(r, r) = h;
        }
      }
      group_impulse[g] = f;
      if (with_hessian) group_hessian[g] = H;
    }
  });
  system.calc_impulse(group_impulse, impulse);
  if (cost) *cost = sum;
}

// Cost at `at`; leaves motions, momentum, impulses and Hessians.
double IslandSolver::evaluate(const ConstVector& at, bool with_hessian) {
  system.calc_motion(at, &U, &contact_v);
  Adv = at - system.v_star;
  system.multiply_A(Adv, momentum);
  const double kinetic = 0.5 * Adv.dot(momentum);
  double cost;
  evaluate_impulses(with_hessian, &cost);
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    const int k = system.local_dof(law.dof);
    double l;
    impulse[k] += law.sign * capstan::evaluate(dof_laws[i], law.sign * at[k], &l, &dof_hessian[i]);
    cost += l;
  }
  return kinetic + cost;
}

// The stopping test at v, whose momentum and impulses are there.
bool IslandSolver::is_solved(const NewtonOptions& options, double tolerance, IslandResult* result) {
  double p = 0, j = 0, r = 0;
  for (int k = 0; k < v.size(); ++k) {
    const double d = system.scale[k] * system.scale[k];
    const double Av = momentum[k] + system.A_v_star[k];
    gradient[k] = momentum[k] - impulse[k];
    p += d * Av * Av;
    j += d * impulse[k] * impulse[k];
    r += d * gradient[k] * gradient[k];
  }
  const double size = std::sqrt(std::max(p, j)), norm = std::sqrt(r);
  result->residual = size > 0 ? norm / size : 0;
  result->converged = norm <= options.absolute_tolerance + tolerance * size;
  return result->converged;
}

// --- Primal-dual -------------------------------------------------------------------------------------------

// Impulses to start from: those of the laws at v, or none.
void IslandSolver::start_duals(bool from_laws) {
  dual.resize(system.num_contacts());
  dual_try.resize(system.num_contacts());
  linear_gamma.resize(system.num_contacts());
  slope.resize(system.num_contacts());
  contact_dv.assign(system.num_contacts(), Vec3::Zero());
  for (auto* list : {&law_dual, &law_dual_try}) list->resize(6 * system.num_groups());
  for (auto* list : {&dof_dual, &dof_dual_try}) list->resize(system.num_dof_laws());
  law_linear.resize(6 * system.num_groups());
  dof_linear.resize(system.num_dof_laws());
  dU.assign(system.num_groups(), Vec6::Zero());
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        dual[at].gamma.setZero();
        if (from_laws) Law::evaluate(problem().contacts[i], contact_v[at], nullptr, &dual[at].gamma, nullptr);
        slope[at].setZero();
        linear_gamma[at] = dual[at].gamma;
      }
      for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) {
        law_dual[6 * g + r].gamma =
            from_laws ? scalar_impulse(problem().laws[c.law_begin + r], U[g][r]) : 0.0;
        law_linear[6 * g + r] = law_dual[6 * g + r].gamma;
        group_hessian[g](r, r) = 0;
      }
    }
  });
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    const double x = law.sign * v[system.local_dof(law.dof)];
    dof_linear[i] = dof_dual[i].gamma = from_laws ? scalar_impulse(law.law, x) : 0.0;
    dof_hessian[i] = 0;
  }
}

// At v + alpha dv, with impulses moved by alpha towards those of the linearized laws there: the resolvent of
// every law, and the merit.
double IslandSolver::resolve_duals(double alpha) {
  double merit = 0;
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        const Vec3 rho = kMassFactor * problem().contact_mass[i];
        const Vec3 at_v = contact_v[at] + alpha * contact_dv[at];
        const Vec3 full = linear_gamma[at] - slope[at] * contact_dv[at];
        Dual& d = dual_try[at];
        d.gamma = dual[at].gamma + alpha * (full - dual[at].gamma);
        d.u = Resolvent<Law>::resolve(problem().contacts[i], rho, at_v - d.gamma.cwiseQuotient(rho));
        const Vec3 e = d.u - at_v;
        merit += e.dot(rho.cwiseProduct(e));
      }
      if (system.has_contacts(c)) continue;
      for (int r = 0; r < c.num_rows; ++r) {
        const ScalarLaw& row = problem().laws[c.law_begin + r];
        const int k = 6 * g + r;
        const double at_v = U[g][r] + alpha * dU[g][r];
        const double full = law_linear[k] - group_hessian[g](r, r) * dU[g][r];
        law_dual_try[k].gamma = law_dual[k].gamma + alpha * (full - law_dual[k].gamma);
        law_dual_try[k].u = capstan::resolve(row, at_v - law_dual_try[k].gamma / row.mass);
        merit += row.mass * (law_dual_try[k].u - at_v) * (law_dual_try[k].u - at_v);
      }
    }
  });
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    const int k = system.local_dof(law.dof);
    const double at_v = law.sign * (v[k] + alpha * dv[k]);
    const double full = dof_linear[i] - dof_hessian[i] * law.sign * dv[k];
    dof_dual_try[i].gamma = dof_dual[i].gamma + alpha * (full - dof_dual[i].gamma);
    dof_dual_try[i].u = capstan::resolve(law.law, at_v - dof_dual_try[i].gamma / law.law.mass);
    merit += law.law.mass * (dof_dual_try[i].u - at_v) * (dof_dual_try[i].u - at_v);
  }
  return merit;
}

void IslandSolver::accept_duals() {
  std::swap(dual, dual_try);
  std::swap(law_dual, law_dual_try);
  std::swap(dof_dual, dof_dual_try);
}

// Group impulses and Hessians of the laws linearized at their resolvents, as they are at v; the gradient.
void IslandSolver::linearize() {
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      Vec6 f = Vec6::Zero();
      Mat6 H = Mat6::Zero();
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        Vec3 gamma;
        Mat3& G = slope[at];
        Law::evaluate(problem().contacts[i], dual[at].u, nullptr, &gamma, &G);
        gamma -= G * (contact_v[at] - dual[at].u);
        linear_gamma[at] = gamma;
        if (G(0, 0) == 0 && G(2, 2) == 0) continue;  // open
        const Mat36& X = problem().X[i];
        f.noalias() += X.transpose() * gamma;
        const Mat36 GX = G * X;
        H.noalias() += X.transpose() * GX;
      }
      for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) {
        double l, h;
        const double u = law_dual[6 * g + r].u;
        const double gamma = capstan::evaluate(problem().laws[c.law_begin + r], u, &l, &h);
        f[r] = law_linear[6 * g + r] = gamma - h * (U[g][r] - u);
        H(r, r) = h;
      }
      group_impulse[g] = f;
      group_hessian[g] = H;
    }
  });
  system.calc_impulse(group_impulse, impulse);
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    const int k = system.local_dof(law.dof);
    double l;
    const double gamma = capstan::evaluate(law.law, dof_dual[i].u, &l, &dof_hessian[i]);
    dof_linear[i] = gamma - dof_hessian[i] * (law.sign * v[k] - dof_dual[i].u);
    impulse[k] += law.sign * dof_linear[i];
  }
  gradient = momentum - impulse;
}

// Leaves the last velocity in v and its laws evaluated. False when it stalled.
bool IslandSolver::solve_primal_dual(const NewtonOptions& options, IslandResult* result) {
  // Warm: the laws at v0 have the impulses of a rest. Cold: impulses of zero, at v*, where momentum is
  // balanced. The nearer one, both measured as energies.
  double imbalance = 0;
  for (int k = 0; k < v.size(); ++k) {
    const double d = system.scale[k] * gradient[k];
    imbalance += d * d;
  }
  dv.setZero();
  v_try = v;
  v = system.v_star;
  system.calc_motion(v, &U, &contact_v);
  start_duals(false);
  double merit = resolve_duals(0);
  if (imbalance < merit) {
    v = v_try;
    system.calc_motion(v, &U, &contact_v);
    start_duals(true);
    merit = imbalance + resolve_duals(0);
    Adv = v - system.v_star;
    system.multiply_A(Adv, momentum);
  } else {
    momentum.setZero();
  }
  accept_duals();
  const int most = std::min(kMaxPrimalDual, options.max_iterations);
  while (result->iterations < most) {
    ++result->iterations;
    ++result->factorizations;
    linearize();
    if (!system.solve(group_hessian, dof_hessian, gradient, dv)) return false;
    system.calc_motion(dv, &dU, &contact_dv);
    double alpha = 1, best_alpha = 1, best = kInfinity, last = 0;
    for (int k = 0; k < kMaxHalvings; ++k, alpha /= 2) {
      ++result->evaluations;
      const double trial = resolve_duals(last = alpha);
      if (trial < best) best = trial, best_alpha = alpha;
      if (trial < 0.9 * merit) break;
    }
    if (!std::isfinite(best)) return false;
    if (best_alpha != last) resolve_duals(best_alpha);
    accept_duals();
    merit = best;
    v += best_alpha * dv;
    system.multiply_A(dv, Adv);
    momentum += best_alpha * Adv;
    for (std::size_t i = 0; i < contact_v.size(); ++i) contact_v[i] += best_alpha * contact_dv[i];
    for (std::size_t i = 0; i < U.size(); ++i) U[i] += best_alpha * dU[i];
    // The certificate: impulses of the laws at v itself.
    evaluate_impulses(false, nullptr);
    for (int i = 0; i < system.num_dof_laws(); ++i) {
      const DofLaw& law = system.dof_law(i);
      const int k = system.local_dof(law.dof);
      impulse[k] += law.sign * scalar_impulse(law.law, law.sign * v[k]);
    }
    if (is_solved(options, options.relative_tolerance, result)) {
      // Sums over the iterations may have drifted: what counts is v.
      evaluate(v, false);
      return is_solved(options, options.relative_tolerance, result);
    }
    if (best_alpha * dv.norm() <= kTinyStep * v.norm()) return false;  // the line search has more digits
  }
  return false;
}

// --- Line search -------------------------------------------------------------------------------------------

// First and second derivative of the laws' cost at v + alpha dv.
LineDerivatives IslandSolver::along(double alpha) const {
  LineDerivatives d;
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        double first, second;
        Law::evaluate_along(contacts[at], contact_v[at] + alpha * contact_dv[at], contact_dv[at], &first,
                            &second);
        d.first += first;
        d.second += second;
      }
      for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) {
        double l, h;
        const double gamma = capstan::evaluate(laws[6 * g + r], U[g][r] + alpha * dU[g][r], &l, &h);
        d.first -= gamma * dU[g][r];
        d.second += h * dU[g][r] * dU[g][r];
      }
    }
  });
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    const int k = system.local_dof(law.dof);
    const double dx = law.sign * dv[k];
    double l, h;
    const double gamma = capstan::evaluate(dof_laws[i], law.sign * v[k] + alpha * dx, &l, &h);
    d.first -= gamma * dx;
    d.second += h * dx * dx;
  }
  return d;
}

// The root of the derivative along dv (slope: its value at 0, negative).
double IslandSolver::exact_step(double slope0, IslandResult* result) {
  system.multiply_A(dv, Adv);
  const double first0 = dv.dot(momentum), second0 = dv.dot(Adv);  // of the quadratic part
  const auto derivative = [&](double alpha) {
    ++result->evaluations;
    const LineDerivatives d = along(alpha);
    return LineDerivatives{first0 + alpha * second0 + d.first, second0 + d.second};
  };
  double low = 0, high = 1;
  LineDerivatives at_high = derivative(high);
  const double enough = 1e-12 * std::abs(slope0);
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

// The largest of 1, 1/2, 1/4, ... that lets the cost fall by a part of what the slope promises.
double IslandSolver::armijo_step(double slope0, double cost, IslandResult* result) {
  constexpr double kPart = 1e-4;
  double alpha = 1;
  for (int i = 0; i < 60; ++i, alpha /= 2) {
    ++result->evaluations;
    v_try = v + alpha * dv;
    if (evaluate(v_try, false) <= cost + kPart * alpha * slope0) break;
  }
  return alpha;
}

// Counts everything from the present v, whose laws are evaluated. In a hard impact one bit of v moves the
// impulse of a stiff contact by more than the tolerance; counted from nearby, v and the laws keep all their
// digits.
void IslandSolver::recenter() {
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    contacts[i].bias.x() += contact_v[i].x();
    contacts[i].bias.y() += contact_v[i].y();
    contacts[i].normal.v_hat -= contact_v[i].z();
  }
  for (std::size_t i = 0; i < laws.size(); ++i) laws[i].v_hat -= U[i / 6][i % 6];
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    dof_laws[i].v_hat -= law.sign * v[system.local_dof(law.dof)];
  }
  base += v;
  system.v_star -= v;
  v.setZero();
}

// From v. Ends when the residual is at most `tolerance`, or round-off hides any further progress.
void IslandSolver::solve_line_search(const NewtonOptions& options, double tolerance, int most_iterations,
                                     IslandResult* result) {
  constexpr int kEnough = 10;  // tiny steps in a row without progress
  double cost = evaluate(v, true), least = kInfinity;
  int stalled = 0;
  while (!is_solved(options, tolerance, result)) {
    if (result->residual < 0.5 * least) stalled = 0;
    least = std::min(least, result->residual);
    result->at_round_off = stalled >= kEnough;
    if (result->at_round_off || result->iterations >= most_iterations || !std::isfinite(result->residual))
      break;
    ++result->iterations;
    ++result->factorizations;
    if (!system.solve(group_hessian, dof_hessian, gradient, dv)) break;
    const double slope0 = dv.dot(gradient);
    if (!(slope0 < 0)) break;
    double alpha;
    if (options.globalization == Globalization::armijo) {
      alpha = armijo_step(slope0, cost, result);
    } else {
      system.calc_motion(dv, &dU, &contact_dv);
      alpha = exact_step(slope0, result);
    }
    const bool tiny = alpha * dv.norm() <= kTinyStep * v.norm();
    stalled = tiny ? stalled + 1 : 0;
    v += alpha * dv;
    if (tiny) {
      evaluate(v, false);
      recenter();
    }
    cost = evaluate(v, true);
  }
}

// Hard contacts with a small stiction tolerance make steep curved valleys, along which Newton's method may
// creep. Here stiffness is first taken a millionth and the stiction tolerance as wide as the speeds at hand;
// both return to what they are tenfold at a time, each answer the start for the next. The point where this
// began stays the answer until a better one is found, so that the cost never rises.
void IslandSolver::solve_by_continuation(const NewtonOptions& options, IslandResult* result) {
  constexpr double kLoose = 1e-2;
  constexpr int kIterationsEach = 60;
  const double best_cost = evaluate(v, false);
  v_best = base + v;
  original = contacts;
  double width = 0, narrowest = kInfinity;  // [m/s]
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const double mu = std::max({contacts[i].mu_xx, contacts[i].mu_yy, 1e-9});
    width = std::max(width, (contact_v[i] + contacts[i].bias).head<2>().norm());
    narrowest = std::min(narrowest, contacts[i].slip / mu);
  }
  const auto set = [&](double stiffness) {
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      contacts[i].slip = std::max(original[i].slip, std::max(contacts[i].mu_xx, contacts[i].mu_yy) * width);
      contacts[i].normal.c0 = stiffness * original[i].normal.c0;
      contacts[i].normal.c1 = stiffness * original[i].normal.c1;
    }
  };
  double stiffness = 1e-6;
  while ((width > narrowest || stiffness < 1) && result->iterations < options.max_iterations) {
    set(stiffness);
    solve_line_search(options, kLoose, std::min(options.max_iterations, result->iterations + kIterationsEach),
                      result);
    width *= 0.1;
    stiffness = std::min(1.0, 10 * stiffness);
  }
  const bool ended = result->iterations < options.max_iterations;
  width = 0;
  set(1);
  solve_line_search(options, options.relative_tolerance, options.max_iterations, result);
  if (result->converged || (ended && evaluate(v, false) <= best_cost)) return;
  v = v_best - base;
  evaluate(v, false);
  is_solved(options, options.relative_tolerance, result);
}

IslandResult IslandSolver::solve(const NewtonOptions& options) {
  constexpr int kPatience = 60;  // iterations of the line search; nearly all problems need fewer
  IslandResult result;
  v = system.v0;
  const double cost_v0 = evaluate(v, false);
  if (is_solved(options, options.relative_tolerance, &result)) return result;
  if (options.globalization == Globalization::primal_dual && solve_primal_dual(options, &result))
    return result;
  // The best of v0, v* and where the primal-dual iteration got to.
  double best = cost_v0;
  v_try = system.v0;
  if (result.iterations > 0 && v.allFinite()) {
    const double cost = evaluate(v, false);
    if (cost < best) best = cost, v_try = v;
  }
  v = evaluate(system.v_star, false) < best ? system.v_star : v_try;
  const bool soft_friction = problem().options.law != ContactLaw::sap && !contacts.empty();
  const int patience = std::min(options.max_iterations, result.iterations + kPatience);
  solve_line_search(options, options.relative_tolerance, soft_friction ? patience : options.max_iterations,
                    &result);
  if (!result.converged && !result.at_round_off && soft_friction && result.iterations == patience &&
      patience < options.max_iterations) {
    solve_by_continuation(options, &result);
  }
  return result;
}

// Impulses come from the very contact_v and U that were judged: computed anew from v they would differ by
// round-off, which stiff contacts amplify.
void IslandSolver::finish(NewtonWorkspace* workspace) {
  const Model& model = *problem().model;
  for (int t = 0; t < system.num_trees(); ++t) {
    const Tree& tree = model.trees[problem().island_trees[system.island->tree_begin + t]];
    workspace->v.segment(tree.dof_begin, tree.num_dofs()) =
        base.segment(system.start[t], tree.num_dofs()) + v.segment(system.start[t], tree.num_dofs());
  }
  with_contact_law([&](auto law) {
    using Law = decltype(law);
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& c = system.group(g);
      int at = system.contact_start[g];
      for (int i = c.contact_begin; i < c.contact_end; ++i, ++at) {
        Law::evaluate(contacts[at], contact_v[at], nullptr, &workspace->impulse[i], nullptr);
      }
      for (int r = 0; r < c.num_rows && !system.has_contacts(c); ++r) {
        workspace->law_impulse[c.law_begin + r] = scalar_impulse(laws[6 * g + r], U[g][r]);
      }
    }
  });
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    workspace->dof_impulse[problem().island_dof_laws[system.island->dof_law_begin + i]] =
        scalar_impulse(dof_laws[i], law.sign * v[system.local_dof(law.dof)]);
  }
}

}  // namespace

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
      report.at_round_off = result.at_round_off;
    }
  }
  return report;
}

}  // namespace capstan
