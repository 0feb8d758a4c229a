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
#include "capstan/solvers/primal_dual.h"

namespace capstan {
namespace {

constexpr int kMostRows =
    36;  // whole fours; the leading dimension of W and M, whose rows of padding are zero
constexpr int kMostGroups = 16;
constexpr int kDofsForARow = 8;  // of the island: a small one has its next step for less
constexpr int kLeastRows = 6;
constexpr double kNegligible = 1e-3;  // of the merit of all contacts
constexpr int kMostSteps = 12;
constexpr double kOfOthers = 0.1, kOfBefore = 1e-8;  // merits that are small enough

CAPSTAN_INLINE inline Four& four(double* x) {
  return *reinterpret_cast<Four*>(x);
}
CAPSTAN_INLINE inline const Four& four(const double* x) {
  return *reinterpret_cast<const Four*>(x);
}

// Columns [row, row + Size) of M = 1 + W dG, where dG is zero but for Size x Size at (row, row).
template <int Size>
CAPSTAN_INLINE inline void set_columns(const double* W, int n, const double* dG, int row, double* M) {
  for (int i = 0; i < n; i += 4) {
    for (int c = 0; c < Size; ++c) {
      Four sum = {};
      for (int k = 0; k < Size; ++k) sum += four(W + kMostRows * (row + k) + i) * dG[Size * c + k];
      four(M + kMostRows * (row + c) + i) = sum;
    }
  }
  for (int c = row; c < row + Size; ++c) M[kMostRows * c + c] += 1;
}
CAPSTAN_CLONES void set_columns(const double* W, int n, const double* dG, int size, int row, double* M) {
  if (size == 3) {
    set_columns<3>(W, n, dG, row, M);
  } else {
    set_columns<6>(W, n, dG, row, M);
  }
}

// y += W f
CAPSTAN_CLONES void add_product(const double* W, int n, const double* f, double* y) {
  for (int i = 0; i < n; i += 4) {
    Four sum = four(y + i);
    for (int k = 0; k < n; ++k) sum += four(W + kMostRows * k + i) * f[k];
    four(y + i) = sum;
  }
}

// x = M^-1 x by Gaussian elimination with exchange of rows; M is overwritten.
CAPSTAN_CLONES void solve_dense(int n, double* M, double* x) {
  for (int k = 0; k < n; ++k) {
    const double* const column = M + kMostRows * k;
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
    }
    if (pivot != k) {
      for (int j = k; j < n; ++j) std::swap(M[k + kMostRows * j], M[pivot + kMostRows * j]);
      std::swap(x[k], x[pivot]);
    }
    const int first = (k + 1) / 4 * 4;
    const double inverse = 1 / column[k];
    double factors[kMostRows];  // of row k, to subtract from the rows below; none for those above
    for (int i = first; i < n; i += 4) four(factors + i) = four(column + i) * inverse;
    for (int i = first; i <= k; ++i) factors[i] = 0;
    for (int j = k + 1; j < n; ++j) {
      double* const other = M + kMostRows * j;
      const double value = other[k];
      for (int i = first; i < n; i += 4) four(other + i) -= four(factors + i) * value;
    }
    for (int i = first; i < n; i += 4) four(x + i) -= four(factors + i) * x[k];
  }
  for (int k = n - 1; k >= 0; --k) {
    const double* const column = M + kMostRows * k;
    x[k] /= column[k];
    for (int i = 0; i < k; ++i) x[i] -= column[i] * x[k];
  }
}

// The Jacobian of a contact in the motions of its group, three or six.
template <int Size>
decltype(auto) jacobian(const Problem& problem, int i) {
  if constexpr (Size == 3) {
    return Mat3(Mat3::Identity());
  } else {
    return (problem.X[i]);
  }
}
// Calls f(J, size) with it.
template <class F>
void with_jacobian(const Problem& problem, int i, int rows, const F& f) {
  if (rows == 3) {
    f(jacobian<3>(problem, i), std::integral_constant<int, 3>());
  } else {
    f(jacobian<6>(problem, i), std::integral_constant<int, 6>());
  }
}

}  // namespace

// The groups with the largest merit, and the contacts of those. Returns the merit of all others.
double PrimalDual::find_worst_groups(int most_rows) {
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
      worst_contacts.push_back({i, at, row, rows, dual_try[at], dual_try[at], linear_gamma[at], slope[at]});
    }
    row += rows;
  }
  worst.resize(count);
  return std::max(0.0, rest);
}

// The merit of the worst groups when their motion goes by alpha from x to `full`, and their impulses from
// where they are to the linear ones there.
double PrimalDual::try_worst_groups(const ConstVector& x, const ConstVector& full, double alpha) {
  double sum = 0;
  with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
    for (WorstContact& c : worst_contacts) {
      with_jacobian(problem(), c.i, c.rows, [&](const auto& J, auto size) {
        const Vec3 from = J * x.segment<size()>(c.row), to = J * full.segment<size()>(c.row);
        const Vec3 at_v = contact_v[c.at] + from + alpha * (to - from), rho = mass[c.at];
        c.next.gamma = c.now.gamma + alpha * (c.linear_gamma - c.slope * to - c.now.gamma);
        c.next.u =
            Resolvent<decltype(law)>::resolve(contacts[c.at], rho, at_v - c.next.gamma.cwiseQuotient(rho));
        const Vec3 e = c.next.u - at_v;
        sum += e.dot(rho.cwiseProduct(e));
      });
    }
  });
  return sum;
}

// After the step dv and resolve_duals(1): makes dv, its motions and the linearization of the worst groups
// anew. False if there is nothing to gain; then all is as it was.
bool PrimalDual::settle_worst_groups(int most_rows) {
  const double others = find_worst_groups(most_rows);
  if (worst.empty()) return false;
  const int n = worst_contacts.back().row + worst_contacts.back().rows;
  double W_values[kMostRows * kMostRows], M[kMostRows * kMostRows], columns[4][kMostRows] = {};
  Eigen::Map<MatX, 0, Eigen::OuterStride<kMostRows>> W(W_values, n, n);
  Eigen::Map<VecX> x0(columns[0], n), x(columns[1], n), full(columns[2], n), f(columns[3], n);
  system.calc_influence(worst, W);
  for (int k = 0; k < n; ++k) std::fill(W_values + kMostRows * k + n, W_values + kMostRows * (k + 1), 0.0);
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
  for (int k = 0; k < kMostSteps && least > kOfOthers * others + kOfBefore * before; ++k) {
    f.setZero();
    with_law(problem().options.law, problem().options.normal_law, [&](auto law) {
      auto c = worst_contacts.begin();
      const auto add_group = [&](auto size) {
        const int first = c->row;
        Eigen::Matrix<double, size(), size()> dG = Eigen::Matrix<double, size(), size()>::Zero();
        for (; c != worst_contacts.end() && c->row == first; ++c) {
          decltype(law)::evaluate(contacts[c->at], c->now.u, nullptr, &c->linear_gamma, &c->slope);
          c->linear_gamma -= c->slope * (contact_v[c->at] - c->now.u);
          const auto& J = jacobian<size()>(problem(), c->i);
          dG.noalias() += J.transpose() * ((c->slope - slope[c->at]) * J);
          f.segment<size()>(first) += J.transpose() * (c->linear_gamma - linear_gamma[c->at]);
        }
        set_columns(W_values, n, dG.data(), size(), first, M);
      };
      while (c != worst_contacts.end()) {
        if (c->rows == 3) {
          add_group(std::integral_constant<int, 3>());
        } else {
          add_group(std::integral_constant<int, 6>());
        }
      }
    });
    full = x0;
    add_product(W_values, n, f.data(), full.data());
    solve_dense(n, M, full.data());
    double alpha = 1, best_alpha = 1, best = kInfinity, last = 0;
    for (int h = 0; h < kMaxHalvings; ++h, alpha /= 2) {
      const double trial = try_worst_groups(x, full, last = alpha);
      if (trial < best) best = trial, best_alpha = alpha;
      if (trial < kGoodMerit * least) break;
    }
    if (!std::isfinite(best)) return false;
    least = best_alpha == last ? best : try_worst_groups(x, full, best_alpha);
    for (WorstContact& c : worst_contacts) c.now = c.next;
    x += best_alpha * (full - x);
  }
  if (!(least < before)) return false;

  f.setZero();
  for (const WorstContact& c : worst_contacts) {
    with_jacobian(problem(), c.i, c.rows, [&](const auto& J, auto size) {
      const Vec3 motion = J * x.segment<size()>(c.row);
      const Vec3 linear = c.now.gamma + c.slope * motion;  // through the point that was reached
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
