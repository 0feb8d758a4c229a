// The block-sparse Cholesky against Eigen's dense LLT on patterns of every kind, and its promises: frozen
// blocks, reuse, failures that name their block, same bits, no allocation.
#include "capstan/math/block_cholesky.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/SparseCholesky>
#include <atomic>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include "tests/support/block_problems.h"

namespace {
std::atomic<long> allocations{0};
}

// Eigen allocates with malloc, so malloc itself is counted (glibc's own entry is __libc_malloc). The
// sanitizers have their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
#endif

namespace capstan::block_cholesky_test {
namespace {

BlockPattern pile(int n, int size, unsigned seed) {
  return {std::vector<int>(n, size), pile_contacts(n, seed), {}};
}

std::vector<int> random_sizes(int n, int largest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> sizes(n);
  for (int& s : sizes) s = std::uniform_int_distribution<int>(1, largest)(random);
  return sizes;
}

struct Named {
  std::string name;
  BlockPattern pattern;
};

std::vector<Named> patterns() {
  std::vector<Named> list;
  list.push_back({"nothing", {}});
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 47, 48, 49, 50, 51, 97, 150}) {
    list.push_back({"one block of " + std::to_string(size), {{size}, {}, {}}});
  }
  list.push_back({"apart", {random_sizes(20, 9, 1), {}, {}}});
  for (const int size : {1, 3, 4, 6}) {
    const std::string of = " of " + std::to_string(size);
    BlockPattern chain{std::vector<int>(40, size), {}, {}};
    for (int i = 1; i < 40; ++i) chain.pairs.push_back({i - 1, i});
    list.push_back({"chain" + of, chain});
    BlockPattern star{std::vector<int>(30, size), {}, {}};
    for (int i = 0; i < 30; ++i) star.pairs.push_back({i, 17});  // includes (17, 17)
    list.push_back({"star" + of, star});
    BlockPattern grid{std::vector<int>(63, size), {}, {}};
    for (int i = 0; i < 63; ++i) {
      if (i % 9 > 0) grid.pairs.push_back({i, i - 1});
      if (i >= 9) grid.pairs.push_back({i, i - 9});
    }
    list.push_back({"grid" + of, grid});
    list.push_back({"pile" + of, pile(60, size, 3)});
  }
  for (unsigned seed = 0; seed < 12; ++seed) {
    BlockPattern mixed{random_sizes(25, seed % 2 ? 40 : 8, seed), pile_contacts(25, seed), {}};
    mixed.pairs.resize(mixed.pairs.size() * (seed + 1) / 12);  // falls into several components
    list.push_back({"mixed " + std::to_string(seed), mixed});
  }
  BlockPattern complete{random_sizes(14, 12, 5), {}, {}};
  for (int i = 0; i < 14; ++i) {
    for (int j = 0; j < 14; ++j) complete.pairs.push_back({i, j});
  }
  list.push_back({"complete", complete});
  BlockPattern empty_blocks{{6, 0, 6, 0, 3, 0}, {{0, 1}, {1, 2}, {1, 4}, {3, 2}, {5, 3}}, {}};
  list.push_back({"blocks of size 0", empty_blocks});
  BlockPattern two_piles = pile(40, 6, 8);
  for (const auto& [a, b] : pile_contacts(30, 9)) two_piles.pairs.push_back({a + 40, b + 40});
  two_piles.sizes.resize(70, 3);
  list.push_back({"two piles", two_piles});
  return list;
}

void check_solution(const BlockCholesky& cholesky, const std::string& name,
                    const std::vector<int>& numbers_of_columns = {1, 2, 7, 8, 9, 17}) {
  const MatX H = cholesky.matrix.dense();
  const int n = static_cast<int>(H.rows());
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const Eigen::LLT<MatX> twin(H);
  for (const int columns : numbers_of_columns) {
    const MatX b = MatX::NullaryExpr(n, columns, [&] { return normal(random); });
    MatX x = b;
    cholesky.solve_in_place(x);
    const MatX expected = n > 0 ? MatX(twin.solve(b)) : b;
    ASSERT_LE((x - expected).norm(), 1e-12 * (1 + expected.norm())) << name << ", " << columns << " columns";
    ASSERT_LE((H * x - b).norm(), 1e-12 * (1 + H.norm()) * (1 + x.norm())) << name;
  }
}

TEST(BlockCholesky, EqualsDenseOnEveryPatternInEveryOrder) {
  BlockCholesky cholesky;
  for (const auto& [name, pattern] : patterns()) {
    for (const Ordering ordering :
         {Ordering::automatic, Ordering::minimum_degree, Ordering::nested_dissection, Ordering::natural}) {
      cholesky.analyze(pattern, ordering);
      fill_contact_matrix(pattern, 10, 11, &cholesky.matrix);
      const FactorResult result = cholesky.factor();
      ASSERT_TRUE(result) << name << " failed at " << result.failed_block;
      check_solution(cholesky, name);
    }
  }
}

// W = B^T H^-1 B of columns that are zero in most blocks, against dense matrices: from one column to three
// batches of eight, columns in several blocks, blocks that two entries share.
TEST(BlockCholesky, ProjectsItsInverse) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  BlockCholesky cholesky;
  for (const auto& [name, pattern] : patterns()) {
    const int num_blocks = static_cast<int>(pattern.sizes.size());
    if (num_blocks == 0) continue;
    cholesky.analyze(pattern);
    fill_contact_matrix(pattern, 10, 11, &cholesky.matrix);
    ASSERT_TRUE(cholesky.factor()) << name;
    const MatX H = cholesky.matrix.dense();
    std::vector<int> start{0};
    for (const int size : pattern.sizes) start.push_back(start.back() + size);
    for (const int count : {1, 2, 5, 8}) {
      MatX B = MatX::Zero(H.rows(), 3 * count);
      std::vector<MatX> values;
      std::vector<ColumnsInBlock> entries;
      values.reserve(2 * count);
      for (int c = 0; c < 2 * count; ++c) {
        const int block = static_cast<int>(random() % num_blocks), size = pattern.sizes[block];
        // Two rows of padding, which must not be looked at.
        values.push_back(MatX::NullaryExpr(size + 2, 3, [&] { return normal(random); }));
        entries.push_back({block, 3 * (c / 2), 3, values.back().data(), size + 2});
        B.block(start[block], 3 * (c / 2), size, 3) += values.back().topRows(size);
      }
      MatX W = MatX::Constant(3 * count, 3 * count, std::numeric_limits<double>::quiet_NaN());
      cholesky.project_inverse(entries, 3 * count, W);
      const MatX expected = B.transpose() * H.llt().solve(B);
      ASSERT_LE((W - expected).norm(), 1e-12 * (1 + expected.norm())) << name << ", " << count;
      ASSERT_EQ(W, W.transpose());
    }
  }
}

// Large enough for nested dissection and for fronts of many column blocks, with and without frozen blocks.
TEST(BlockCholesky, AgreesWithEigenOnALargePile) {
  BlockPattern pattern = pile(800, 6, 1);
  BlockCholesky cholesky;
  std::vector<VecX> answers;
  for (const bool freeze : {false, true}) {
    pattern.frozen.assign(800, 0);
    for (int i = 0; freeze && i < 800; i += 2) pattern.frozen[i] = 1;
    cholesky.analyze(pattern);
    EXPECT_TRUE(freeze || cholesky.info().ordering == Ordering::nested_dissection);
    fill_contact_matrix(pattern, 10, 1, &cholesky.matrix);
    ASSERT_TRUE(cholesky.factor());
    answers.push_back(VecX::LinSpaced(4800, -1, 1));
    cholesky.solve_in_place(answers.back());
  }
  std::vector<Eigen::Triplet<double>> entries;
  const BlockMatrix& H = cholesky.matrix;
  for (int j = 0; j < 800; ++j) {
    for (int e = H.column_start()[j]; e < H.column_start()[j + 1]; ++e) {
      for (int k = 0; k < 36; ++k) {
        const int row = 6 * H.entry_row()[e] + k % 6, column = 6 * j + k / 6;
        if (row >= column) entries.emplace_back(row, column, H.entry_block(e)[k]);
      }
    }
  }
  Eigen::SparseMatrix<double> S(4800, 4800);
  S.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> twin(S);
  const VecX b = VecX::LinSpaced(4800, -1, 1), expected = twin.solve(b);
  for (const VecX& x : answers) {
    EXPECT_LE((x - expected).norm(), 1e-11 * expected.norm());
    EXPECT_LE((H * x - b).norm(), 1e-11 * b.norm());
  }
}

TEST(BlockCholesky, MultipliesAsDense) {
  BlockCholesky cholesky;
  for (const auto& [name, pattern] : patterns()) {
    cholesky.analyze(pattern);
    fill_contact_matrix(pattern, 10, 11, &cholesky.matrix);
    const VecX x = VecX::LinSpaced(cholesky.matrix.num_rows(), -1, 2);
    EXPECT_LE((cholesky.matrix * x - cholesky.matrix.dense() * x).norm(), 1e-12 * (1 + x.norm()) * 100)
        << name;
  }
}

TEST(BlockCholesky, FrozenBlocksAreEliminatedOnce) {
  BlockCholesky cholesky;
  for (unsigned seed = 0; seed < 10; ++seed) {
    for (auto [name, pattern] : patterns()) {
      const int n = static_cast<int>(pattern.sizes.size());
      if (n < 2) continue;
      std::mt19937 random(seed);
      pattern.frozen.assign(n, 0);
      const unsigned share = seed % 5;  // none to all
      for (char& f : pattern.frozen) f = random() % 4 < share;
      cholesky.analyze(pattern, seed % 3 == 0 ? Ordering::nested_dissection : Ordering::automatic);
      fill_contact_matrix(pattern, 10, seed, &cholesky.matrix);
      ASSERT_TRUE(cholesky.factor_frozen()) << name;
      for (int iteration = 0; iteration < 2; ++iteration) {
        for (int i = 0; i < n; ++i) {
          if (pattern.frozen[i]) continue;
          const int size = cholesky.matrix.block_size(i);
          Eigen::Map<MatX>(cholesky.matrix.block(i, i), size, size) +=
              (1.0 + iteration) * MatX::Identity(size, size);
        }
        ASSERT_TRUE(cholesky.factor()) << name;
        check_solution(cholesky, name + " frozen", {1, 3});
      }
      if (HasFatalFailure()) return;
    }
  }
}

// What they leave behind, against the Schur complement of dense matrices; and their part of a vector for
// which their rows of H x are zero.
TEST(BlockCholesky, FrozenBlocksLeaveASchurComplement) {
  BlockCholesky cholesky;
  int eliminated = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    for (auto [name, pattern] : patterns()) {
      const int n = static_cast<int>(pattern.sizes.size());
      if (n < 2) continue;
      std::mt19937 random(seed);
      pattern.frozen.assign(n, 0);
      for (char& f : pattern.frozen) f = random() % 4 < seed % 5;
      if (seed % 3 == 1) {  // in the order of the whole, less what remains
        BlockPattern whole = pattern;
        whole.frozen.clear();
        BlockCholesky other;
        other.analyze(whole);
        cholesky.analyze(pattern, other.order());
      } else {
        cholesky.analyze(pattern, seed % 3 == 0 ? Ordering::natural : Ordering::automatic);
      }
      fill_contact_matrix(pattern, 10, seed, &cholesky.matrix);
      ASSERT_TRUE(cholesky.factor_frozen()) << name;
      BlockMatrix S;
      S.set_pattern(cholesky.reduced_pattern());
      cholesky.calc_reduced(&S);

      const MatX H = cholesky.matrix.dense();
      std::vector<int> rest, gone;
      std::vector<char> remains(n, 0);
      for (const int b : cholesky.remaining()) remains[b] = 1;
      for (int b = 0; b < n; ++b) {
        EXPECT_TRUE(remains[b] || pattern.frozen[b]) << name << ": block " << b << " may change";
        for (int k = 0; k < cholesky.matrix.block_size(b); ++k)
          (remains[b] ? rest : gone).push_back(cholesky.matrix.block_start(b) + k);
      }
      eliminated += static_cast<int>(gone.size());
      const MatX H_er = H(gone, rest), X_er = -H(gone, gone).llt().solve(H_er);
      const MatX expected = H(rest, rest) + H_er.transpose() * X_er;
      ASSERT_EQ(S.num_rows(), expected.rows()) << name;
      EXPECT_LE((S.dense() - expected).norm(), 1e-12 * H.norm()) << name;

      VecX x = VecX::LinSpaced(H.rows(), -1, 2);
      const VecX x_r = x(rest);
      cholesky.extend_reduced(x.data());
      EXPECT_EQ(VecX(x(rest)), x_r) << name;
      EXPECT_LE((x(gone) - X_er * x_r).norm(), 1e-12 * H.norm()) << name;
    }
  }
  EXPECT_GT(eliminated, 10000);
}

// A frozen block that changes without factor_frozen() keeps its old part in the factor: proof that factor()
// does not visit it.
TEST(BlockCholesky, FactorLeavesFrozenBlocksAlone) {
  BlockPattern pattern = pile(30, 6, 1);
  pattern.frozen.assign(30, 0);
  for (int i = 0; i < 15; ++i) pattern.frozen[i] = 1;
  BlockCholesky cholesky;
  cholesky.analyze(pattern, Ordering::natural);  // every frozen block comes first
  EXPECT_GT(cholesky.info().frozen_flops, 0);
  EXPECT_LT(cholesky.info().frozen_flops, cholesky.info().flops);
  fill_contact_matrix(pattern, 10, 1, &cholesky.matrix);
  ASSERT_TRUE(cholesky.factor());
  const VecX b = VecX::LinSpaced(180, -1, 1);
  VecX x = b, y = b, z = b;
  cholesky.solve_in_place(x);
  cholesky.matrix.block(0, 0)[0] += 5;
  ASSERT_TRUE(cholesky.factor());
  cholesky.solve_in_place(y);
  EXPECT_EQ(x, y);
  ASSERT_TRUE(cholesky.factor_frozen());
  ASSERT_TRUE(cholesky.factor());
  cholesky.solve_in_place(z);
  EXPECT_GT((z - y).norm(), 1e-6);
  EXPECT_LE((cholesky.matrix.dense() * z - b).norm(), 1e-9);
}

TEST(BlockCholesky, ReusesAnEqualPattern) {
  BlockPattern pattern = pile(50, 6, 2);
  BlockCholesky cholesky;
  EXPECT_TRUE(cholesky.analyze(pattern));
  EXPECT_FALSE(cholesky.analyze(pattern));
  std::reverse(pattern.pairs.begin(), pattern.pairs.end());
  for (auto& [a, b] : pattern.pairs) std::swap(a, b);
  pattern.pairs.push_back(pattern.pairs[3]);
  pattern.frozen.assign(50, 0);
  EXPECT_FALSE(cholesky.analyze(pattern)) << "the same set of pairs, written otherwise";
  for (int k = 0; k < static_cast<int>(pattern.pairs.size()); ++k) {
    const auto [a, b] = pattern.pairs[k];
    ASSERT_EQ(cholesky.matrix.pair_block(k), cholesky.matrix.block(std::max(a, b), std::min(a, b)));
  }
  pattern.frozen[4] = 1;
  EXPECT_TRUE(cholesky.analyze(pattern));
  pattern.frozen[4] = 0;
  EXPECT_TRUE(cholesky.analyze(pattern));
  pattern.pairs.resize(20);
  EXPECT_TRUE(cholesky.analyze(pattern));
  pattern.sizes[7] = 5;
  EXPECT_TRUE(cholesky.analyze(pattern));
  EXPECT_FALSE(cholesky.analyze(pattern));
  EXPECT_TRUE(cholesky.analyze(pattern, Ordering::natural));
}

TEST(BlockCholesky, NamesTheBlockThatFails) {
  for (const int bad : {0, 13, 29}) {
    for (const double value :
         {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      BlockPattern pattern = pile(30, 6, 4);
      std::erase_if(pattern.pairs, [&](const auto& p) { return p[0] == bad || p[1] == bad; });
      BlockCholesky cholesky;
      cholesky.analyze(pattern);
      fill_contact_matrix(pattern, 10, 1, &cholesky.matrix);
      double* block = cholesky.matrix.block(bad, bad);
      for (int c = 0; c < 6; ++c) block[4 + 6 * c] = block[c + 24] = 0;
      block[4 + 24] = value;
      const FactorResult result = cholesky.factor();
      EXPECT_FALSE(result);
      EXPECT_EQ(result.failed_block, bad);
      EXPECT_TRUE(result.pivot == value || value != value) << result.pivot;
      EXPECT_ANY_THROW({
        VecX x = VecX::Ones(180);
        cholesky.solve_in_place(x);
      });
    }
  }
  // An indefinite Schur complement shows in the block eliminated last.
  BlockCholesky cholesky;
  cholesky.analyze({{2, 2}, {{1, 0}}, {}}, Ordering::natural);
  cholesky.matrix.set_zero();
  for (const int i : {0, 1}) cholesky.matrix.block(i, i)[0] = cholesky.matrix.block(i, i)[3] = 1;
  cholesky.matrix.block(1, 0)[0] = 2;
  EXPECT_EQ(cholesky.factor().failed_block, 1);
  cholesky.matrix.block(1, 0)[0] = 0.5;
  EXPECT_TRUE(cholesky.factor());
}

TEST(BlockCholesky, RefusesBlocksOutsideThePattern) {
  BlockCholesky cholesky;
  cholesky.analyze({{2, 2, 2}, {{1, 0}}, {}});
  EXPECT_ANY_THROW(cholesky.matrix.block(2, 0));
  EXPECT_ANY_THROW(cholesky.matrix.block(0, 1));
  EXPECT_ANY_THROW(cholesky.analyze({{2, 2}, {{2, 0}}, {}}));
}

TEST(BlockCholesky, SameBitsAgainAndFromThreads) {
  const BlockPattern pattern = pile(120, 6, 5);
  const VecX b = VecX::LinSpaced(720, -1, 1);
  std::vector<VecX> answers;
  BlockCholesky reused;
  reused.analyze(pile(200, 6, 6));  // leaves other values behind in the memory
  fill_contact_matrix(pile(200, 6, 6), 10, 1, &reused.matrix);
  ASSERT_TRUE(reused.factor());
  for (BlockCholesky* cholesky : {&reused, &reused}) {
    cholesky->analyze(pattern);
    fill_contact_matrix(pattern, 10, 1, &cholesky->matrix);
    ASSERT_TRUE(cholesky->factor());
    answers.push_back(b);
    cholesky->solve_in_place(answers.back());
  }
  answers.resize(6, b);
  std::vector<std::thread> threads;
  for (int k = 2; k < 6; ++k) threads.emplace_back([&, k] { reused.solve_in_place(answers[k]); });
  for (std::thread& t : threads) t.join();
  BlockCholesky fresh = BlockCholesky();
  fresh.analyze(pattern);
  fill_contact_matrix(pattern, 10, 1, &fresh.matrix);
  ASSERT_TRUE(fresh.factor());
  answers.push_back(b);
  fresh.solve_in_place(answers.back());
  for (const VecX& x : answers) EXPECT_EQ(x, answers[0]);
}

// Rows of padding hold no values of their own: memory full of NaN from an earlier failure changes nothing.
TEST(BlockCholesky, ForgetsNonFiniteValues) {
  const BlockPattern pattern = pile(40, 5, 5);
  BlockCholesky cholesky;
  cholesky.analyze(pattern);
  for (int j = 0; j < 40; ++j) {
    const int entries = cholesky.matrix.column_start()[j + 1] - cholesky.matrix.column_start()[j];
    std::fill_n(cholesky.matrix.block(j, j), entries * 25, std::numeric_limits<double>::quiet_NaN());
  }
  EXPECT_FALSE(cholesky.factor());
  fill_contact_matrix(pattern, 10, 1, &cholesky.matrix);
  ASSERT_TRUE(cholesky.factor());
  check_solution(cholesky, "after NaN");
  // The scratch memory of solve, for as many and for fewer rows.
  for (const int n : {40, 39, 13}) {
    for (const int columns : {1, 3}) {
      const BlockPattern smaller = pile(n, 5, 6);
      cholesky.analyze(smaller);
      fill_contact_matrix(smaller, 10, 1, &cholesky.matrix);
      ASSERT_TRUE(cholesky.factor());
      MatX x = MatX::Constant(5 * n, columns, std::numeric_limits<double>::quiet_NaN());
      cholesky.solve_in_place(x);
      check_solution(cholesky, "after NaN", {columns});
    }
  }
}

TEST(BlockCholesky, AllocatesNothingAfterWarmUp) {
  // As contacts come and go: a pattern of its own in every step, none with more bodies or pairs than the
  // first.
  std::vector<BlockPattern> steps;
  for (unsigned seed = 0; seed < 12; ++seed) {
    BlockPattern pattern = pile(80, 6, seed);
    pattern.pairs.resize(seed == 0 ? pattern.pairs.size() : 200);
    pattern.frozen.assign(80, 0);
    if (seed % 3 == 1) pattern.frozen[seed] = pattern.frozen[40] = 1;
    steps.push_back(pattern);
  }
  BlockCholesky cholesky;
  VecX x = VecX::Ones(480);
  MatX X = MatX::Ones(480, 10), W(12, 12);
  const MatX J = MatX::Ones(6, 6);
  const ColumnsInBlock columns[] = {{3, 0, 6, J.data(), 6}, {71, 6, 6, J.data(), 6}};
  const auto solve = [&](const BlockPattern& pattern) {
    cholesky.analyze(pattern);
    cholesky.matrix.set_zero();
    for (int i = 0; i < 80; ++i) {
      for (int k = 0; k < 6; ++k) cholesky.matrix.block(i, i)[7 * k] = 100;
    }
    for (int k = 0; k < static_cast<int>(pattern.pairs.size()); ++k) cholesky.matrix.pair_block(k)[3] = 1;
    ASSERT_TRUE(cholesky.factor_frozen());
    ASSERT_TRUE(cholesky.factor());
    cholesky.solve_in_place(x);
    cholesky.solve_in_place(X);
    cholesky.project_inverse(columns, 12, W);
  };
  for (const BlockPattern& pattern : steps) solve(pattern);
  const long before = allocations;
  for (const BlockPattern& pattern : steps) solve(pattern);
  EXPECT_EQ(allocations - before, 0);
}

TEST(BlockCholesky, OrdersKeepFillLow) {
  // A chain needs no fill in any elimination from the ends.
  BlockPattern chain{std::vector<int>(200, 4), {}, {}};
  for (int i = 1; i < 200; ++i) chain.pairs.push_back({i - 1, i});
  std::mt19937 random(1);
  std::vector<int> name(200);
  for (int i = 0; i < 200; ++i) name[i] = i;
  std::shuffle(name.begin(), name.end(), random);
  for (auto& [a, b] : chain.pairs) a = name[a], b = name[b];
  BlockCholesky cholesky;
  cholesky.analyze(chain, Ordering::minimum_degree);
  // Merged supernodes may add zeros, but never as much as half again.
  EXPECT_LE(cholesky.info().factor_values, 1.5 * cholesky.info().matrix_values);
  // A star whose hub is eliminated first would be dense.
  BlockPattern star{std::vector<int>(200, 6), {}, {}};
  for (int i = 1; i < 200; ++i) star.pairs.push_back({0, i});
  cholesky.analyze(star, Ordering::minimum_degree);
  EXPECT_LE(cholesky.info().factor_values, 1.5 * cholesky.info().matrix_values);
  // A large pile takes nested dissection when that is predicted to be faster, and is never slower than
  // either.
  const BlockPattern large = pile(1500, 6, 1);
  cholesky.analyze(large, Ordering::minimum_degree);
  const double by_degree = cholesky.info().flops;
  cholesky.analyze(large, Ordering::nested_dissection);
  const double by_dissection = cholesky.info().flops;
  cholesky.analyze(large);
  EXPECT_LE(cholesky.info().flops, 1.05 * std::min(by_degree, by_dissection));
}

}  // namespace
}  // namespace capstan::block_cholesky_test
