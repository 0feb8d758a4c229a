#include "capstan/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace capstan::parallel_test {
namespace {

TEST(Threads, EveryIterationRunsOnce) {
  for (const int count : {1, 2, 3, 8}) {
    const Threads threads(count);
    for (const int n : {0, 1, 2, 7, 64, 1001}) {
      std::vector<int> runs(n, 0);
      for (int round = 0; round < 20; ++round) threads.for_each(n, [&](int i) { ++runs[i]; });
      EXPECT_EQ(runs, std::vector<int>(n, 20)) << count << " threads, " << n;
      std::vector<int> covered(n, 0);
      threads.for_each_block(n, 10, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) ++covered[i];
      });
      EXPECT_EQ(covered, std::vector<int>(n, 1)) << count << " threads, " << n;
    }
  }
}

// Loops that follow each other at once, and after pauses in which the threads fall asleep: each sees what the
// one before wrote.
TEST(Threads, LoopsSeeWhatTheOneBeforeWrote) {
  for (const int count : {2, 8}) {
    const Threads threads(count);
    std::vector<long> a(50, 1), b(50, 0);
    for (int round = 0; round < 3000; ++round) {
      threads.for_each(50, [&](int i) { b[i] = a[(i + 25) % 50] + 1; });
      threads.for_each(50, [&](int i) { a[i] = b[(i + 25) % 50]; });
      if (round % 300 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(a, std::vector<long>(50, 3001));
  }
}

// Both threads must come: each waits for the other.
TEST(Threads, IterationsRunAtTheSameTime) {
  const Threads threads(2);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> here = 0;
    threads.for_each(2, [&](int) {
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    EXPECT_EQ(here, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Threads, AnExceptionReachesTheCallerAfterAllHaveEnded) {
  for (const int count : {1, 2, 8}) {
    const Threads threads(count);
    std::atomic<int> runs = 0;
    const auto body = [&](int i) {
      ++runs;
      if (i == 3) throw std::runtime_error("three");
    };
    EXPECT_THROW(threads.for_each(100, body), std::runtime_error);
    if (count > 1) {
      EXPECT_EQ(runs, 100);
    }
    runs = 0;
    threads.for_each(3, body);  // and it goes on
    EXPECT_EQ(runs, 3);
  }
}

TEST(Threads, ALoopWithinALoopIsAPlainOne) {
  const Threads threads(4);
  std::vector<int> runs(100, 0);
  threads.for_each(10, [&](int i) { threads.for_each(10, [&](int j) { ++runs[10 * i + j]; }); });
  EXPECT_EQ(runs, std::vector<int>(100, 1));
}

// One begins when the caller has done its part of the outer loop and waits for the others.
TEST(Threads, ALoopWithinALoopMayBeginLate) {
  const Threads threads(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<int> runs(20, 0);
  std::atomic<int> here = 0;
  threads.for_each(2, [&](int i) {
    ++here;
    while (here < 2) std::this_thread::yield();
    if (std::this_thread::get_id() != caller) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    threads.for_each(10, [&](int j) { ++runs[10 * i + j]; });
  });
  EXPECT_EQ(runs, std::vector<int>(20, 1));
}

TEST(Threads, CanBeMovedWhileAtRest) {
  Threads a(2);
  Threads b = std::move(a);
  a = Threads(3);
  std::atomic<int> sum = 0;
  for (const Threads* t : {&a, &b}) t->for_each(100, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 9900);
}

}  // namespace
}  // namespace capstan::parallel_test
