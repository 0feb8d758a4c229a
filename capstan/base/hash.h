// A 64-bit hash of bytes (FNV-1a), the same on every machine of one byte order. For states and models, not
// for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace capstan {

struct Hash {
  std::uint64_t value = 14695981039346656037ull;

  void add(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) value = (value ^ p[i]) * 1099511628211ull;
  }
  void add(double x) { add(&x, sizeof x); }
  void add(std::int64_t x) { add(&x, sizeof x); }
  void add(const std::string& s) {
    add(static_cast<std::int64_t>(s.size()));
    add(s.data(), s.size());
  }
};

}  // namespace capstan
