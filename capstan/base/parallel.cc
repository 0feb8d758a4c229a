#include "capstan/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace capstan {
namespace {

// How long a thread that has nothing to do stays awake. A step has some ten loops with short serial parts in
// between; to sleep and wake in each takes longer than most of them.
constexpr std::chrono::microseconds kAwake(200);
constexpr int kPatience = 1000;  // pauses before others get the processor

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether this thread is in an iteration. (That a loop is open does not tell: one that is closed may still
// have iterations under way.)
thread_local bool in_loop = false;

}  // namespace

// The caller opens a loop, takes part in it, closes it, and waits for those who are inside. A thread that
// wakes too late finds the loop closed; nobody waits for it. Each thread has a share of the iterations, the
// same part of every loop, so that what it works on stays in its cache; then it takes from the others'.
struct Threads::Arena {
  explicit Arena(int count) : shares(count) {
    // Spinning only helps those who have a processor each.
    awake = static_cast<unsigned>(count) <= std::thread::hardware_concurrency() ? kAwake : kAwake.zero();
    try {
      for (int i = 1; i < count; ++i) workers.emplace_back([this, i] { work(i); });
    } catch (...) {  // the system has no more threads
      end();
      throw;
    }
  }
  ~Arena() { end(); }

  void run(int n, void (*f)(const void*, int), const void* c) {
    body = f, context = c;
    const int count = static_cast<int>(shares.size());
    for (int i = 0, begin = 0; i < count; ++i) {
      shares[i].next.store(begin, std::memory_order_relaxed);
      shares[i].end = begin = static_cast<int>(static_cast<long long>(n) * (i + 1) / count);
    }
    open = true;
    call();
    in_loop = true;
    take_part(0);
    in_loop = false;
    open = false;
    for (int i = 0; inside > 0; ++i) i < kPatience ? pause() : std::this_thread::yield();
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

 private:
  struct alignas(64) Share {
    std::atomic<int> next = 0;
    int end = 0;
  };

  void end() {
    stop = true;
    call();
    for (std::thread& t : workers) t.join();
  }

  void call() {
    ++calls;
    if (asleep > 0) calls.notify_all();
  }

  void take_part(int me) {
    const int count = static_cast<int>(shares.size());
    for (int k = 0; k < count; ++k) take_from(&shares[(me + k) % count]);
  }

  void take_from(Share* share) {
    while (share->next.load(std::memory_order_relaxed) < share->end) {
      const int i = share->next.fetch_add(1, std::memory_order_relaxed);
      if (i >= share->end) return;
      try {
        body(context, i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  }

  void work(int me) {
    in_loop = true;
    for (unsigned seen = 0; !stop;) {
      seen = wait_beyond(seen);
      ++inside;
      if (open) take_part(me);
      --inside;
    }
  }

  // The number of calls, once it is not `seen` any more.
  unsigned wait_beyond(unsigned seen) {
    using Clock = std::chrono::steady_clock;
    for (const Clock::time_point until = Clock::now() + awake; Clock::now() < until;) {
      for (int i = 0; i < 64; ++i, pause()) {
        if (const unsigned now = calls; now != seen) return now;
      }
    }
    ++asleep;
    calls.wait(seen);
    --asleep;
    return calls;
  }

  // The loop: written only while it is closed and nobody is inside.
  void (*body)(const void*, int) = nullptr;
  const void* context = nullptr;
  std::vector<Share> shares;
  // Sequentially consistent: of two threads that each write one of these and then read another, at least one
  // sees what the other wrote.
  std::atomic<bool> open = false, stop = false;
  std::atomic<int> inside = 0, asleep = 0;
  std::atomic<unsigned> calls = 0;

  std::chrono::microseconds awake;
  std::mutex mutex;
  std::exception_ptr error;  // the first
  std::vector<std::thread> workers;
};

Threads::Threads(int count) : count_(std::max(1, count)) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;
Threads::Threads(Threads&&) noexcept = default;
Threads& Threads::operator=(Threads&&) noexcept = default;

void Threads::run(int n, void (*body)(const void*, int), const void* context) const {
  if (in_loop) {
    for (int i = 0; i < n; ++i) body(context, i);
    return;
  }
  arena_->run(n, body, context);
}

const Threads& one_thread() {
  static const Threads one(1);
  return one;
}

}  // namespace capstan
