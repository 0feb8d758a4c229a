// Nonlinear elimination of the contacts that keep Newton's method from converging (newton.h).
//
// After a few iterations nearly all of the merit is that of a few contacts, which turn the direction of their
// slip or open and close while all others hardly change. More steps with all bodies serve little more than
// them. So when a step is known, those contacts go on alone. The others stay linear, which leaves a small
// dense problem in the motion x that the step gives to the worst groups of contacts,
//
//   x = x0 + W (f(x) - f0(x)),     W = J H^-1 J^T
//
// with x0 the motion by the step as it is, f the impulses of their laws and f0 the linear ones that the step
// took them for. It is solved by the same primal-dual iteration. Then the step is made anew with the laws
// linearized at that solution: still a step of Newton's method, from better points of the laws.
//
// Nonlinear elimination is due to Lanzkron, Rose and Wilkes (1996); Cai and Keyes (2002) sped up Newton's
// method for flows with shocks by it.
#include <algorithm>
#include <cmath>

#include "capstan/laws/resolve.h"
#include "capstan/math/clones.h"
#include "capstan/solvers/island_solver.h"

namespace capstan {
namespace {

constexpr int kMostRows = 48;
constexpr int kMostGroups = 16;
constexpr int kDofsForARow = 8;  // of the island: a small one has its next step for less
constexpr int kLeastRows = 6;
constexpr double kNegligible = 1e-3;  // of the merit of all contacts
constexpr int kMostIterations = 12;
constexpr double kOfOthers = 0.1, kOfBefore = 1e-8;  // merits that are small enough

// M += W dG, where dG is zero but for Size x Size at (row, row).
template <int Size>
CAPSTAN_INLINE inline void add_product(const double* W, int n, const double* dG, int row, double* M) {
  for (int c = 0; c < Size; ++c) {
    for (int k = 0; k < Size; ++k) {
      const double g = dG[Size * c + k];
      for (int i = 0; i < n; ++i) M[n * (row + c) + i] += W[n * (row + k) + i] * g;
    }
  }
}
CAPSTAN_CLONES void add_product(const double* __restrict W, int n, const double* dG, int size, int row,
                                double* __restrict M) {
  if (size == 3) {
    add_product<3>(W, n, dG, row, M);
  } else {
    add_product<6>(W, n, dG, row, M);
  }
}

// y += W f
CAPSTAN_CLONES void add_product(const double* __restrict W, int n, const double* f, double* __restrict y) {
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < n; ++i) y[i] += W[n * k + i] * f[k];
  }
}

// x = M^-1 x by Gaussian elimination with exchange of rows; M is overwritten.
CAPSTAN_CLONES void solve_dense(int n, double* __restrict M, double* __restrict x) {
  for (int k = 0; k < n; ++k) {
    double* const column = M + n * k;
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
    }
    if (pivot != k) {
      for (int j = k; j < n; ++j) std::swap(M[k + n * j], M[pivot + n * j]);
      std::swap(x[k], x[pivot]);
    }
    const double inverse = 1 / column[k];
    for (int i = k + 1; i < n; ++i) column[i] *= inverse;
    for (int j = k + 1; j < n; ++j) {
      double* const other = M + n * j;
      const double factor = other[k];
      for (int i = k + 1; i < n; ++i) other[i] -= column[i] * factor;
    }
    for (int i = k + 1; i < n; ++i) x[i] -= column[i] * x[k];
  }
  for (int k = n - 1; k >= 0; --k) {
    const double* const column = M + n * k;
    x[k] /= column[k];
    for (int i = 0; i < k; ++i) x[i] -= column[i] * x[k];
  }
}

// Calls f(J, size) with the Jacobian of a contact in the `size` motions of its group.
template <class F>
void with_jacobian(const Problem& problem, int i, int rows, const F& f) {
  if (rows == 3) {
    f(Mat3(Mat3::Identity()), std::integral_constant<int, 3>());
  } else {
    f(problem.X[i], std::integral_constant<int, 6>());
  }
}

}  // namespace

// The groups with the largest merit, and the contacts of those. Returns the merit of all others.
double IslandSolver::find_worst_groups(int most_rows) {
  worst.clear();
  worst_contacts.clear();
  most_rows = std::min({most_rows, kMostRows, system.num_dofs() / kDofsForARow});
  if (most_rows < kLeastRows) return 0;
  double merits[kMostGroups], rest = 0;
  for (int g = 0; g < system.num_groups(); ++g) {
    double merit_of_group = 0;
    for (int at = system.contact_start[g]; at < system.contact_start[g + 1]; ++at) {
      merit_of_group += contact_merit[at];
    }
    rest += merit_of_group;
    const bool full = worst.size() == kMostGroups;
    if (!(merit_of_group > (full ? merits[kMostGroups - 1] : 0))) continue;
    if (!full) worst.push_back(g);
    int k = static_cast<int>(worst.size()) - 1;
    for (; k > 0 && merits[k - 1] < merit_of_group; --k) {
      merits[k] = merits[k - 1];
      worst[k] = worst[k - 1];
    }
    merits[k] = merit_of_group;
    worst[k] = g;
  }
  const double negligible = kNegligible * rest;
  int count = 0, row = 0;
  for (const int g : worst) {
    const int rows = system.num_rows(g);
    if (!(rest > negligible) || row + rows > most_rows) break;
    rest -= merits[count++];
    int i = system.group(g).contact_begin;
    for (int at = system.contact_start[g]; at < system.contact_start[g + 1]; ++at, ++i) {
      worst_contacts.push_back(
          {i, at, row, rows, dual_try[at].gamma, dual_try[at].u, linear_gamma[at], slope[at]});
    }
    row += rows;
  }
  worst.resize(count);
  return std::max(0.0, rest);
}

// The merit of the worst groups when their motion goes by alpha from x to `full`, and their impulses from
// where they are to the linear ones there.
double IslandSolver::try_worst_groups(const ConstVector& x, const ConstVector& full, double alpha,
                                      bool accept) {
  double sum = 0;
  with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
    for (WorstContact& c : worst_contacts) {
      with_jacobian(problem(), c.i, c.rows, [&](const auto& J, auto size) {
        const Vec3 from = J * x.segment<size()>(c.row), to = J * full.segment<size()>(c.row);
        const Vec3 at_v = contact_v[c.at] + from + alpha * (to - from), rho = mass_behind(c.i);
        const Vec3 gamma = c.gamma + alpha * (c.linear_gamma - c.slope * to - c.gamma);
        const Vec3 u =
            Resolvent<decltype(law)>::resolve(contacts[c.at], rho, at_v - gamma.cwiseQuotient(rho));
        const Vec3 e = u - at_v;
        sum += e.dot(rho.cwiseProduct(e));
        if (accept) {
          c.gamma = gamma;
          c.u = u;
        }
      });
    }
  });
  return sum;
}

// After the step dv and resolve_duals(1): makes dv, its motions and the linearization of the worst groups
// anew. False if there is nothing to gain; then all is as it was.
bool IslandSolver::settle_worst_groups(int most_rows) {
  const double others = find_worst_groups(most_rows);
  if (worst.empty()) return false;
  const int n = worst_contacts.back().row + worst_contacts.back().rows;
  double W_values[kMostRows * kMostRows], M_values[kMostRows * kMostRows], columns[4][kMostRows];
  Eigen::Map<MatX> W(W_values, n, n), M(M_values, n, n);
  Eigen::Map<VecX> x0(columns[0], n), x(columns[1], n), full(columns[2], n), f(columns[3], n);
  system.calc_influence(worst, W);
  double before = 0;
  for (const WorstContact& c : worst_contacts) before += contact_merit[c.at];
  int row = 0;
  for (const int g : worst) {
    x0.segment(row, system.num_rows(g)) = dU[g].head(system.num_rows(g));
    row += system.num_rows(g);
  }
  x = x0;

  // With dG and df the changes of slopes and impulses at v: (1 + W dG) x = x0 + W df.
  double least = before;
  for (int k = 0; k < kMostIterations && least > kOfOthers * others + kOfBefore * before; ++k) {
    M.setIdentity();
    f.setZero();
    with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
      for (WorstContact& c : worst_contacts) {
        decltype(law)::evaluate(contacts[c.at], c.u, nullptr, &c.linear_gamma, &c.slope);
        c.linear_gamma -= c.slope * (contact_v[c.at] - c.u);
        with_jacobian(problem(), c.i, c.rows, [&](const auto& J, auto size) {
          const Eigen::Matrix<double, size(), size()> dG = J.transpose() * (c.slope - slope[c.at]) * J;
          add_product(W_values, n, dG.data(), size(), c.row, M_values);
          f.segment<size()>(c.row) += J.transpose() * (c.linear_gamma - linear_gamma[c.at]);
        });
      }
    });
    full = x0;
    add_product(W_values, n, f.data(), full.data());
    solve_dense(n, M_values, full.data());
    double alpha = 1, best_alpha = 1, best = kInfinity;
    for (int h = 0; h < kMaxHalvings; ++h, alpha /= 2) {
      const double trial = try_worst_groups(x, full, alpha, false);
      if (trial < best) best = trial, best_alpha = alpha;
      if (trial < kGoodMerit * least) break;
    }
    if (!std::isfinite(best)) return false;
    least = try_worst_groups(x, full, best_alpha, true);
    x += best_alpha * (full - x);
  }
  if (!(least < before)) return false;

  f.setZero();
  for (const WorstContact& c : worst_contacts) {
    with_jacobian(problem(), c.i, c.rows, [&](const auto& J, auto size) {
      const Vec3 motion = J * x.segment<size()>(c.row);
      const Vec3 linear = c.gamma + c.slope * motion;  // through the point that was reached
      f.segment<size()>(c.row) +=
          J.transpose() * (linear - linear_gamma[c.at] - (c.slope - slope[c.at]) * motion);
      linear_gamma[c.at] = linear;
      slope[c.at] = c.slope;
    });
  }
  system.add_influence(worst, f, dv);
  system.calc_motion(dv, &dU, &contact_dv);
  return true;
}

}  // namespace capstan
