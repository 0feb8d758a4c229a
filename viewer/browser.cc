#include "viewer/browser.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "capstan/io/output_file.h"

extern char** environ;

namespace capstan::viewer {
namespace {

namespace fs = std::filesystem;
constexpr int kTimeoutSeconds = 120;

// Runs a program without a shell; true when it ends well within the time.
bool run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  for (int i = 0; i < 20 * kTimeoutSeconds; ++i) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    ::poll(nullptr, 0, 50);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return false;
}

// A folder of our own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "capstan_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw OutputError(name, "the folder cannot be made");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

void take_picture(const std::string& url, int width, int height, const std::string& png) {
  const std::string browser = find_browser();
  if (browser.empty()) {
    throw OutputError(png, "a PNG file needs Chromium (Debian: chromium), which is not installed; SVG and HTML do not");
  }
  const TemporaryFolder folder;
  const fs::path shot = folder / "shot.png";
  // The page's clock runs ahead while nothing waits for the network: drawing is done when the picture is taken.
  const bool ok = run_program({browser, "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
                               "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--hide-scrollbars", "--no-first-run",
                               "--user-data-dir=" + (folder / "profile").string(),
                               fmt::format("--window-size={},{}", width, height), "--virtual-time-budget=4000",
                               "--screenshot=" + shot.string(), url});
  std::error_code error;
  if (!ok || !fs::exists(shot, error)) throw OutputError(png, browser + " could not draw it");
  fs::copy_file(shot, png, fs::copy_options::overwrite_existing, error);
  if (error) throw OutputError(png, error.message());
}

}  // namespace

std::string find_browser() {
  if (const char* given = std::getenv("CAPSTAN_CHROMIUM")) return given;
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::istringstream folders(path ? path : "/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string candidate = folder + "/" + name;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
  }
  return "";
}

void picture_of_svg(const std::string& svg, int width, int height, const std::string& png) {
  const TemporaryFolder folder;
  const fs::path page = folder / "plot.html";
  write_file(page, "<!doctype html><meta charset=utf-8><style>body{margin:0}svg{display:block}</style>" + svg);
  take_picture("file://" + page.string(), width, height, png);
}

void picture_of_html(const std::string& html_file, const std::string& fragment, int width, int height,
                     const std::string& png) {
  take_picture("file://" + fs::absolute(html_file).string() + "#" + fragment, width, height, png);
}

}  // namespace capstan::viewer
