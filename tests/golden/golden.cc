// golden FILE            compares the state of ten shipped scenes after some hundred steps with the hashes in
// FILE golden --print         prints them as FILE has them, for this machine and build
//
// A hash is of every bit of a state, so that a change of results is seen however small it is, and on purpose
// only. Bits are the same for any number of threads, but not for every processor and compiler: fused
// multiply-add rounds once where plain instructions round twice, and where it is used is the compiler's
// choice. FILE has a line for each *class* of machine and build and each scene; tests/golden/README.md tells
// what to do when a hash changes. Exit code 77 (skipped) where FILE has no line of this class.
#include <fmt/core.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "capstan/io/read.h"
#include "capstan/step/step.h"

namespace capstan {
namespace {

struct GoldenScene {
  const char* file;
  int num_steps;
  const char* keyframe;
};

// Heaps, thin bodies, large islands, belts, impacts, loops and robots with motors.
constexpr GoldenScene kScenes[] = {
    {"clutter.yaml", 300, ""},      {"card_house_and_ball.yaml", 300, ""},
    {"pyramid.yaml", 200, ""},      {"dominoes.yaml", 200, ""},
    {"conveyor.yaml", 300, ""},     {"newtons_cradle.yaml", 500, ""},
    {"gyroscope.yaml", 500, ""},    {"scissor_lift.yaml", 300, ""},
    {"humanoid.xml", 300, "squat"}, {"quadruped.yaml", 300, ""},
};

// Instruction sets that give the same bits have one name; "" is a class that nobody can know.
std::string instruction_set() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  __builtin_cpu_init();
  const bool kernels = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool clones = __builtin_cpu_supports("x86-64-v3");
  if (kernels != clones) return "";
  return clones ? "x86-64-v3" : "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

// "" where bits depend on more than a class can name: -march=native, sanitizers, other compilers.
std::string machine_class() {
  const std::string instructions = instruction_set(), build = CAPSTAN_BUILD_CLASS;
  if (instructions.empty() || build.empty()) return "";
#if defined(__GNUC__) && !defined(__clang__)
  return fmt::format("{},gcc-{},{}", instructions, __GNUC__, build);
#else
  return "";
#endif
}

std::string calc_hash(const GoldenScene& golden, int threads) {
  const Model model = compile(read_scene(std::string(CAPSTAN_SOURCE_DIR "/scenes/") + golden.file));
  StepOptions options = step_options(model);
  options.threads = threads;
  State state = *golden.keyframe != '\0' ? keyframe_state(model, golden.keyframe) : initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < golden.num_steps; ++i) step(model, options, {}, &state, &workspace);
  return fmt::format("{:016x}", hash(state));
}

using Hashes = std::map<std::string, std::string>;  // by scene

std::map<std::string, Hashes> read_hashes(const std::string& path) {
  std::map<std::string, Hashes> classes;
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string name, scene, steps, value;
    if (line.empty() || line[0] == '#') continue;
    if (!(words >> name >> scene >> steps >> value)) throw std::runtime_error(path + ": " + line);
    classes[name][scene + " " + steps] = value;
  }
  if (classes.empty()) throw std::runtime_error("there is not one hash in " + path);
  return classes;
}

std::string key(const GoldenScene& golden) {
  return fmt::format("{} {}", golden.file, golden.num_steps);
}

// Exit code.
int check(const std::string& path) {
  const std::string name = machine_class();
  const auto classes = read_hashes(path);
  const auto mine = classes.find(name);
  if (name.empty() || mine == classes.end()) {
    std::cout << "golden: skipped, there are no hashes for this machine and build ("
              << (name.empty() ? "of no class" : name) << ")\n";
    return 77;
  }
  int wrong = 0;
  for (const GoldenScene& golden : kScenes) {
    const auto expected = mine->second.find(key(golden));
    const std::string kept = expected == mine->second.end() ? "none" : expected->second;
    for (const int threads : {1, 2}) {
      const std::string value = calc_hash(golden, threads);
      if (value == kept) continue;
      ++wrong;
      std::cout << fmt::format("golden: {} after {} steps with {} thread(s) is {}, and was {}\n", golden.file,
                               golden.num_steps, threads, value, kept);
    }
  }
  if (wrong > 0) {
    std::cout << "golden: results are other ones than before (class " << name << ").\n"
              << "If that is meant, run 'make golden' and tell in the commit what changed and why;\n"
              << "if not, it is a fault: tests/golden/README.md tells how to find it.\n";
    return 1;
  }
  std::cout << fmt::format("golden: {} scenes have the bits of {}\n", std::size(kScenes), name);
  return 0;
}

int print() {
  const std::string name = machine_class();
  if (name.empty()) {
    std::cerr << "golden: no class can be told for this machine and build\n";
    return 77;
  }
  for (const GoldenScene& golden : kScenes) {
    std::cout << fmt::format("{} {} {}\n", name, key(golden), calc_hash(golden, 1)) << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: golden FILE | --print\n";
    return 64;
  }
  try {
    return std::strcmp(argv[1], "--print") == 0 ? capstan::print() : capstan::check(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
