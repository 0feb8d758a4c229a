// Factor and solve of block-sparse matrices like those of contact problems: ours, Eigen's SimplicialLLT (AMD)
// and, where it is installed, CHOLMOD's supernodal factorization, on the same matrix and machine, in turns.
// Each has done its symbolic work before. Prints the least processor time of many calls; ratios above 1 where
// we are faster.
#include <time.h>
#include <Eigen/SparseCholesky>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "capstan/math/block_cholesky.h"
#include "tests/support/block_problems.h"

#ifdef PEER_CHOLMOD
#include <Eigen/CholmodSupport>
#endif

namespace {

using namespace capstan;
using Sparse = Eigen::SparseMatrix<double>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of all threads of this program: other programs on the machine do not count.
double processor_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Least seconds of processor time of each work, measured in turns.
std::vector<double> measure(const std::vector<std::function<void()>>& works) {
  std::vector<double> least(works.size(), 1e9);
  const double end = now() + 2;
  for (int turn = 0; now() < end || turn < 5; ++turn) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      const double start = processor_time();
      works[w]();
      least[w] = std::min(least[w], processor_time() - start);
    }
  }
  return least;
}

void compare(const char* name, const BlockPattern& pattern) {
  BlockCholesky cholesky;
  cholesky.analyze(pattern);
  fill_contact_matrix(pattern, 10, 1, &cholesky.matrix);
  const int n = cholesky.matrix.num_rows();
  Sparse H(n, n);
  {
    std::vector<Eigen::Triplet<double>> entries;
    for (int j = 0; j < cholesky.matrix.num_blocks(); ++j) {
      for (int e = cholesky.matrix.column_start()[j]; e < cholesky.matrix.column_start()[j + 1]; ++e) {
        const int i = cholesky.matrix.entry_row()[e];
        const double* block = cholesky.matrix.entry_block(e);
        for (int c = 0; c < cholesky.matrix.block_size(j); ++c) {
          for (int r = i == j ? c : 0; r < cholesky.matrix.block_size(i); ++r) {
            entries.emplace_back(cholesky.matrix.block_start(i) + r, cholesky.matrix.block_start(j) + c,
                                 block[r + c * cholesky.matrix.block_size(i)]);
          }
        }
      }
    }
    H.setFromTriplets(entries.begin(), entries.end());
  }
  const VecX b = VecX::LinSpaced(n, -1, 1);
  const MatX B = MatX::Random(n, 24);
  VecX x(n), y(n), z(n);
  MatX X;
  BlockPattern other = pattern, empty;  // makes every analyze a new one
  BlockCholesky fresh;
  Eigen::SimplicialLLT<Sparse, Eigen::Lower> simplicial;
  simplicial.analyzePattern(H);
  std::vector<std::function<void()>> works = {
      [&] {
        if (!cholesky.factor()) std::abort();
      },
      [&] {
        x = b;
        cholesky.solve_in_place(x);
      },
      [&] {
        X = B;
        cholesky.solve_in_place(X);
      },
      [&] {
        fresh.analyze(pattern);
        fresh.analyze(empty);
      },
      [&] { simplicial.factorize(H); },
      [&] { y = simplicial.solve(b); },
      [&] { simplicial.analyzePattern(H); },
  };
#ifdef PEER_CHOLMOD
  Eigen::CholmodSupernodalLLT<Sparse, Eigen::Lower> cholmod;
  cholmod.analyzePattern(H);
  works.push_back([&] { cholmod.factorize(H); });
  works.push_back([&] { z = cholmod.solve(b); });
#endif
  for (const auto& work : works) work();  // warm
  if ((x - y).norm() > 1e-9 * y.norm()) std::printf("WRONG: %g\n", (x - y).norm() / y.norm());
  const std::vector<double> t = measure(works);
  const FactorInfo& info = cholesky.info();
  const double ours = t[0] + t[1], theirs = t[4] + t[5];
  std::printf("%-22s %5d %4d %5.2f %6.1f | %8.1f %7.1f %7.1f %8.1f | %9.1f %7.1f %8.1f | %5.2f", name, n,
              info.num_supernodes, static_cast<double>(info.factor_values) / info.matrix_values,
              info.flops / t[0] * 1e-9, t[0] * 1e6, t[1] * 1e6, t[2] * 1e6, t[3] * 1e6, t[4] * 1e6,
              t[5] * 1e6, t[6] * 1e6, theirs / ours);
  if (t.size() > 7) std::printf(" | %8.1f %7.1f | %5.2f", t[7] * 1e6, t[8] * 1e6, (t[7] + t[8]) / ours);
  std::printf("  %s\n", info.ordering == Ordering::nested_dissection ? "nd" : "md");
  std::fflush(stdout);
}

// Humanoids of 27 dofs in a pile: each one dense block, or branches (trunk, two arms, two legs), where a limb
// is coupled to its trunk only and a contact to a limb's trunk as well.
BlockPattern humanoids(int n, bool branches) {
  BlockPattern pattern;
  const std::vector<std::array<int, 2>> contacts = pile_contacts(n, 1);
  if (!branches) {
    pattern.sizes.assign(n, 27);
    pattern.pairs = contacts;
    return pattern;
  }
  for (int i = 0; i < n; ++i) {
    pattern.sizes.insert(pattern.sizes.end(), {9, 3, 3, 6, 6});
    for (int limb = 1; limb <= 4; ++limb) pattern.pairs.push_back({5 * i, 5 * i + limb});
  }
  int k = 0;
  for (const auto& [a, b] : contacts) {  // limb against limb, whatever they are
    const int la = 1 + k % 4, lb = 1 + k / 4 % 4;
    ++k;
    for (const int i : {5 * a, 5 * a + la}) {
      for (const int j : {5 * b, 5 * b + lb}) pattern.pairs.push_back({i, j});
    }
  }
  return pattern;
}

// Nodes that no constraint touches in this step, frozen: a Newton iteration factors only the rest.
void compare_frozen(const char* name, BlockPattern pattern, const std::function<bool(int)>& frozen) {
  BlockCholesky whole, rest;
  whole.analyze(pattern);
  fill_contact_matrix(pattern, 10, 1, &whole.matrix);
  const int n = whole.matrix.num_blocks();
  pattern.frozen.assign(n, 0);
  for (int i = 0; i < n; ++i) pattern.frozen[i] = frozen(i);
  rest.analyze(pattern);
  fill_contact_matrix(pattern, 10, 1, &rest.matrix);
  const auto check = [](const FactorResult& result) {
    if (!result) std::abort();
  };
  const std::vector<double> t = measure(
      {[&] { check(whole.factor()); }, [&] { check(rest.factor_frozen()); }, [&] { check(rest.factor()); }});
  std::printf("%s: factor_frozen %.1f, factor %.1f; none frozen: factor %.1f\n", name, t[1] * 1e6, t[2] * 1e6,
              t[0] * 1e6);
}

}  // namespace

int main() {
  std::printf("microseconds; fill is values of L / values of the lower triangle of H\n");
  std::printf("%-22s %5s %4s %5s %6s | %8s %7s %7s %8s | %9s %7s %8s | %5s", "", "rows", "sn", "fill",
              "GFl/s", "factor", "solve", "24 rhs", "analyze", "LLT", "solve", "analyze", "ratio");
#ifdef PEER_CHOLMOD
  std::printf(" | %8s %7s | %5s", "CHOLMOD", "solve", "ratio");
#endif
  std::printf("\n");
  for (const int n : {8, 40, 80, 160, 320, 1000}) {
    compare(("pile of " + std::to_string(n)).c_str(), {std::vector<int>(n, 6), pile_contacts(n, 1), {}});
  }
  compare("22 humanoids", humanoids(22, false));
  compare("22 humanoids, branches", humanoids(22, true));
  BlockPattern nodes{std::vector<int>(2000, 3), pile_contacts(2000, 1), {}};
  compare("2000 nodes of 3", nodes);
  BlockPattern rod{std::vector<int>(500, 4), {}, {}};
  for (int i = 1; i < 500; ++i) rod.pairs.push_back({i, i - 1});
  compare("rod of 500 nodes", rod);
  compare_frozen("rod of 500 nodes, every 10th touched", rod, [](int i) { return i % 10 != 0; });
  compare_frozen("2000 nodes of 3, 1 of 40 touched", nodes, [](int i) { return i % 40 != 0; });
  compare_frozen("2000 nodes of 3, half touched", nodes, [](int i) { return i % 2 != 0; });
}
