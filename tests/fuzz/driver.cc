// Runs a fuzz target without libFuzzer, the same way on every machine:
//
//   driver [--runs n] [--seed n] FILE|FOLDER...
//
// Every file is run as it is, then n mutations of files that are chosen at random. A run ends the process
// when it crashes, throws, or takes longer than a bound; the input is then in the file 'finding_<target>'.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "tests/fuzz/fuzz.h"

// Targets without a mutator of their own.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                                     std::size_t max_size, unsigned int seed);

namespace {

namespace fs = std::filesystem;
using capstan::fuzz::Random;

constexpr std::size_t kMaxBytes = 1 << 16;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSecondsForOne = 200;
#else
constexpr int kSecondsForOne = 20;
constexpr rlim_t kMostMemory = rlim_t{4} << 30;
#endif
Random mutator_random(0);

std::vector<std::string> read_all(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

std::string mutate(const std::string& input, Random* random) {
  std::vector<std::uint8_t> bytes(kMaxBytes);
  const std::size_t size = std::min(input.size(), bytes.size());
  std::memcpy(bytes.data(), input.data(), size);
  const auto seed = static_cast<unsigned int>(random->next());
  mutator_random = Random(random->next());
  const std::size_t n = LLVMFuzzerCustomMutator != nullptr
                            ? LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed)
                            : LLVMFuzzerMutate(bytes.data(), size, bytes.size());
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)};
}

void run(const std::string& input, int finding) {
  // Stays, should this be the end.
  if (ftruncate(finding, 0) != 0 || pwrite(finding, input.data(), input.size(), 0) < 0) std::abort();
  // Of processor time, since others may be busy; a wait without end is found, too.
  const itimerval bound{{0, 0}, {kSecondsForOne, 0}}, none{};
  setitimer(ITIMER_PROF, &bound, nullptr);
  alarm(10 * kSecondsForOne);
  // A copy of its own, so that a sanitizer sees what is read beyond its end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
  setitimer(ITIMER_PROF, &none, nullptr);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  const std::string text =
      capstan::fuzz::mutate_bytes({reinterpret_cast<const char*>(data), size}, &mutator_random);
  const std::size_t n = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), n);
  return n;
}

int main(int argc, char** argv) {
  long runs = 0;
  long seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--runs" || word == "--seed") && i + 1 < argc) {
      (word == "--runs" ? runs : seed) = std::stol(argv[++i]);
    } else {
      paths.push_back(word);
    }
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const std::string finding_path = "finding_" + fs::path(argv[0]).filename().string();
  const int finding = open(finding_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  const auto began = std::chrono::steady_clock::now();
  const std::vector<std::string> inputs = read_all(paths);
  if (inputs.empty()) {
    std::cerr << "no inputs\n";
    return 1;
  }
  for (const std::string& input : inputs) run(input, finding);
  Random random(static_cast<std::uint64_t>(seed));
  for (long i = 0; i < runs; ++i) {
    std::string input = inputs[random.below(inputs.size())];
    for (std::size_t n = 1 + random.below(2); n > 0; --n) input = mutate(input, &random);
    run(input, finding);
  }
  close(finding);
  fs::remove(finding_path);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::cout << fs::path(argv[0]).filename().string() << ": " << inputs.size() << " inputs as they are, "
            << runs << " mutations of them, no finding, " << seconds << " s\n";
}
