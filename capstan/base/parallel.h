// A parallel loop whose results do not depend on the number of threads: iteration i writes only what belongs
// to i, and whoever needs a sum takes it afterwards in the order of i.
#pragma once

#include <memory>
#include <type_traits>

namespace capstan {

// Up to `count` threads, the caller's included; made once and kept. With one thread nothing is started and a
// loop is a plain one; so is one within an iteration of another, of these threads or of others.
class Threads {
 public:
  explicit Threads(int count = 1);
  ~Threads();
  Threads(Threads&&) noexcept;
  Threads& operator=(Threads&&) noexcept;

  int count() const { return count_; }

  // body(i) for every i in [0, n), in any order. An exception is thrown on to the caller once all have ended.
  template <class Body>
  void for_each(int n, Body&& body) const {
    if (count_ <= 1 || n <= 1) {
      for (int i = 0; i < n; ++i) body(i);
      return;
    }
    using Function = const std::remove_reference_t<Body>;
    run(
        n, [](const void* context, int i) { (*static_cast<Function*>(context))(i); }, &body);
  }

  // body(begin, end) for blocks of [0, n) of about `size` each.
  template <class Body>
  void for_each_block(int n, int size, Body&& body) const {
    if (count_ <= 1 || n <= size) {
      if (n > 0) body(0, n);
      return;
    }
    for_each((n + size - 1) / size, [&](int i) { body(i * size, (i + 1) * size < n ? (i + 1) * size : n); });
  }

 private:
  void run(int n, void (*body)(const void* context, int i), const void* context) const;

  int count_ = 1;
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

// The caller's own.
const Threads& one_thread();

}  // namespace capstan
