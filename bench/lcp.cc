// Solvers of linear complementarity problems side by side, as the tables of docs/solvers.md:
//
//   heaps      random heaps of boxes, redundant faces, frictionless: iterations, time and residual of every
//   solver contacts   the modified PPM at fixed dofs and growing contacts: time and its exponent dofs the
//   same at fixed contacts per body and growing bodies
//
// Usage: lcp [heaps | contacts | dofs]; without an argument all of them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "capstan/rigid/factored_lcp.h"
#include "capstan/rigid/lcp.h"
#include "tests/rigid/lcp_problems.h"

namespace capstan {
namespace {

template <class Function>
double milliseconds(const Function& function) {  // the median of several
  std::vector<double> times;
  for (int k = 0; k < 5; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    function();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (times.back() > 1000) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void print_row(const char* name, const char* status, int iterations, double time, double residual) {
  std::printf("| %s | %s | %d | %.2f | %.0e |\n", name, status, iterations, time, residual);
}

void compare_heap(int bodies, int contacts, double ratio) {
  Random random(11);
  const MatX J = heap_rows(random, bodies, contacts);
  const VecX masses = heap_masses(random, bodies, ratio), q = J * random_vector(random, 6 * bodies);
  const LcpProblem problem = make_plain_lcp(J * masses.cwiseInverse().asDiagonal() * J.transpose(), q);
  std::printf("\n%d bodies, %d contacts, masses over %g\n\n", bodies, contacts, ratio);
  std::printf("| solver | status | iterations | ms | residual |\n|---|---|---|---|---|\n");
  for (const LcpSolver& solver : lcp_solvers()) {
    LcpResult result;
    const double time = milliseconds([&] { result = solver.solve(problem, {}); });
    print_row(solver.name, name(result.status), result.iterations, time, result.residual);
  }
  const FactoredLcp factored = make_factored_lcp(
      J, [&masses](const VecX& f) -> VecX { return f.cwiseQuotient(masses); }, q);
  FactoredLcpResult result;
  const double time = milliseconds([&] { result = solve_modified_ppm(factored); });
  print_row("modified_ppm, on N and A^-1", name(result.status), result.iterations, time,
            natural_residual(problem, result.z));
}

// One body pressed onto many contacts, m = 6: only n grows.
void grow_contacts() {
  std::printf("\nmodified PPM, 6 dofs\n\n| contacts | pivots | ms | exponent |\n|---|---|---|---|\n");
  double before = 0;
  for (const int n : {100, 300, 1000, 3000, 10000}) {
    double time = 0, pivots = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      Random random(seed);
      MatX N = random_matrix(random, n, 6);
      N.col(2) = N.col(2).cwiseAbs() + VecX::Ones(n);
      VecX v = VecX::Zero(6);
      v[2] = -1;
      const FactoredLcp problem = make_factored_lcp(
          N, [](const VecX& f) { return f; }, N * v);
      FactoredLcpResult result;
      time += milliseconds([&] { result = solve_modified_ppm(problem); }) / 10;
      pivots += result.iterations / 10.0;
    }
    std::printf(
        "| %d | %.1f | %.4f | %.2f |\n", n, pivots, time,
        before > 0 ? std::log(time / before) / std::log(n == 300 || n == 3000 ? 3.0 : 10 / 3.0) : 0.0);
    before = time;
  }
}

void grow_dofs() {
  std::printf(
      "\nmodified PPM, 8 contacts for each body\n\n| dofs | contacts | pivots | ms |\n|---|---|---|---|\n");
  for (const int bodies : {5, 10, 20, 40}) {
    Random random(3);
    const MatX N = heap_rows(random, bodies, 8 * bodies);
    const FactoredLcp problem = make_factored_lcp(
        N, [](const VecX& f) { return f; }, N * random_vector(random, 6 * bodies));
    FactoredLcpResult result;
    const double time = milliseconds([&] { result = solve_modified_ppm(problem); });
    std::printf("| %d | %d | %d | %.2f |\n", 6 * bodies, 8 * bodies, result.iterations, time);
  }
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  using namespace capstan;
  const std::string_view what = argc > 1 ? argv[1] : "all";
  if (what == "all" || what == "heaps") {
    compare_heap(10, 80, 1);
    compare_heap(10, 80, 1000);
    compare_heap(40, 320, 10);
  }
  if (what == "all" || what == "contacts") grow_contacts();
  if (what == "all" || what == "dofs") grow_dofs();
}
