// Tries robots as others wrote them: hands over to tools/robots.py, beside this program's scenes or in the
// source tree that it was built from, which runs this program and MuJoCo on each file in turn.
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "apps/capstan/commands.h"
#include "capstan/base/diagnostics.h"

namespace capstan::cli {

int robots(const RobotsOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error), source = CAPSTAN_ROBOTS_SOURCE;
  fs::path script = program.parent_path().parent_path() / "share/capstan/tools/robots.py";
  if (!fs::exists(script, error)) script = source / "tools/robots.py";
  if (!fs::exists(script, error)) {
    throw InputError(
        {}, fmt::format("there is no {}: install Capstan, or run it from its source tree", script.string()));
  }
  for (const std::string& folder : options.folders) {
    if (!fs::is_directory(folder, error))
      throw InputError({folder, 0}, "this is no folder", "give folders that hold .xml, .urdf or .sdf files");
  }
  if (!(options.seconds > 0) || !(options.limit > 0))
    throw UsageError("--seconds and --limit must be above 0; --load-only does not simulate");
  std::string python = options.python;
  if (python.empty()) {
    const fs::path own = source / "build/python/bin/python3";
    python = fs::exists(own, error) ? own.string() : "python3";
  }
  std::vector<std::string> arguments = {python, script.string(), "--capstan", program.string()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("--markdown", options.markdown);
  add("--json", options.json);
  add("--match", options.match);
  add("--note", options.note);
  add("--seconds", fmt::format("{:g}", options.seconds));
  add("--limit", fmt::format("{:g}", options.limit));
  if (options.load_only) arguments.push_back("--load-only");
  arguments.push_back("--");
  arguments.insert(arguments.end(), options.folders.begin(), options.folders.end());
  hand_over(arguments, "install it, or name another with --python");
}

}  // namespace capstan::cli
