// Measures Capstan against the simulators that are installed: hands over to bench/compare.py of the source
// tree that this program was built from, which runs one program for each of them.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/capstan/commands.h"
#include "capstan/base/diagnostics.h"

namespace capstan::cli {

int bench(const BenchOptions& options) {
  const std::string script = CAPSTAN_BENCH_SOURCE "/compare.py";
  if (!std::filesystem::exists(script)) {
    throw InputError(
        {}, fmt::format("there is no {}: benchmarks need the source tree; clone it and run 'make bench'",
                        script));
  }
  if (options.quick && options.full) throw UsageError("--quick and --full contradict each other");
  std::vector<std::string> arguments = {"python3", script};
  if (options.full) arguments.push_back("--full");
  if (options.docs) arguments.push_back("--docs");
  if (!options.only.empty()) arguments.insert(arguments.end(), {"--only", options.only});
  if (options.time_limit > 0) {
    arguments.insert(arguments.end(), {"--time-limit", fmt::format("{:g}", options.time_limit)});
  }
  hand_over(arguments, "install it, or run the programs of build/bench/peers");
}

void hand_over(std::vector<std::string> arguments, const std::string& remedy) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  throw InputError({},
                   fmt::format("{} cannot be started ({}); {}", arguments[0], std::strerror(errno), remedy));
}

}  // namespace capstan::cli
