// When a step is to give up: a time that is over, or somebody who asks. Those that iterate or go through long
// lists call check() now and then; what they throw ends the step, whose state stays what it was.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>

namespace capstan {

class Deadline {
 public:
  // Thrown by check(); no exception of std, so that nobody takes it for another one.
  struct Passed {
    bool stopped;  // asked for; else the time is over
  };

  Deadline() = default;  // never
  // From now on; `stop` may be null and is asked by all threads.
  Deadline(double seconds, const std::atomic<bool>* stop)
      : is_timed_(seconds < std::numeric_limits<double>::infinity()),
        begin_(is_timed_ ? Clock::now() : Clock::time_point()),
        seconds_(seconds),
        stop_(stop) {}

  void check() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw Passed{true};
    if (is_timed_ && std::chrono::duration<double>(Clock::now() - begin_).count() > seconds_)
      throw Passed{false};
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool is_timed_ = false;
  Clock::time_point begin_;
  double seconds_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace capstan
