// The experiments of the program 'capstan': they are in another one beside it, capstan-experiments, so that
// who only wants a demo need not compile them.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/capstan/commands.h"

namespace capstan::cli {

int run_experiments(const ExperimentsOptions& options) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = folder / "capstan-experiments";
  if (!std::filesystem::exists(program, error)) {
    throw UsageError("the experiments are a program of their own, " + program +
                     ", which is not built; 'make build' builds it");
  }
  std::vector<std::string> words = {"capstan", "experiments"};
  if (options.all) words.push_back("--all");
  if (options.is_short) words.push_back("--short");
  words.insert(words.end(), {"--out", options.out, "--"});
  words.insert(words.end(), options.names.begin(), options.names.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw UsageError("cannot start " + program + ": " + std::strerror(errno));
}

}  // namespace capstan::cli
