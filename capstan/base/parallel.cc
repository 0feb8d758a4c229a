#include "capstan/base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace capstan {

struct Threads::Arena {
  explicit Arena(int count)
      : control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)),
        arena(count) {}
  tbb::global_control control;  // more threads than processors, if that is asked for
  tbb::task_arena arena;
};

Threads::Threads(int count) : count_(std::max(1, count)) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;
Threads::Threads(Threads&&) noexcept = default;
Threads& Threads::operator=(Threads&&) noexcept = default;

void Threads::run(int n, void (*body)(const void*, int), const void* context) const {
  arena_->arena.execute([&] {
    // One at a time: iterations differ in size, and the long ones come first.
    tbb::parallel_for(
        tbb::blocked_range<int>(0, n, 1),
        [&](const tbb::blocked_range<int>& range) {
          for (int i = range.begin(); i < range.end(); ++i) body(context, i);
        },
        tbb::simple_partitioner());
  });
}

}  // namespace capstan
