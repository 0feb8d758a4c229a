// What all fuzz targets share (README.md). A target is the function LLVMFuzzerTestOneInput() in a file of its
// own; it is linked with libFuzzer ('make fuzz') or with driver.cc ('make test').
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "capstan/io/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Optional: changes `data` in place, which may grow to max_size; returns its new size.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);
// libFuzzer's own mutator of bytes, or that of driver.cc.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace capstan::fuzz {

// Of the target: the name of the file that its input is written to, whose extension tells the format. For
// targets that differ in it alone.
extern const char* const kFile;

// A finding: the target ends the process, so that the input is kept.
inline void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: finding: %s\n", what.c_str());
  std::abort();
}

// What a small file may ask for, so that one run stays short.
constexpr ReadLimits kLimits = {1 << 16, 64, 3000, 50, 2000};

// The path of a file with these bytes and this name, in a folder of this process which also has
// tetrahedron.obj for scenes that ask for a mesh. It is written over by the next call with the name.
std::string file_of(const std::string& name, std::string_view bytes);

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

// Some bytes flipped, inserted, taken out or copied.
std::string mutate_bytes(std::string text, Random* random);

// The same for scenes: numbers become other numbers, among them those that break things; words become other
// words of the text; lines are taken out, copied and exchanged. Most results are still YAML or XML.
std::string mutate_text(std::string text, Random* random);

// For LLVMFuzzerCustomMutator(): mutate_text(), and one time in 16 LLVMFuzzerMutate().
std::size_t mutate_text_in_place(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                 unsigned int seed);

}  // namespace capstan::fuzz
