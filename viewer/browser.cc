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
bool run_program(const std::vector<std::string>& arguments, int seconds = kTimeoutSeconds) {
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
  for (int i = 0; i < 20 * seconds; ++i) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    ::poll(nullptr, 0, 50);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return false;
}

void take_picture(const std::string& url, int width, int height, const std::string& png) {
  const std::string browser = find_browser();
  if (browser.empty()) {
    throw OutputError(
        png, "a PNG file needs Chromium (Debian: chromium), which is not installed; SVG and HTML do not");
  }
  const TemporaryFolder folder;
  const std::string shot = folder / "shot.png";
  // The page's clock runs ahead while nothing waits for the network: drawing is done when the picture is
  // taken. Now and then Chromium never ends with this clock, so that it gets other chances: a picture takes a
  // few seconds as a rule.
  const std::vector<std::string> command = {browser,
                                            "--headless=new",
                                            "--no-sandbox",
                                            "--use-angle=swiftshader",
                                            "--enable-unsafe-swiftshader",
                                            "--ignore-gpu-blocklist",
                                            "--hide-scrollbars",
                                            "--no-first-run",
                                            "--user-data-dir=" + (folder / "profile"),
                                            fmt::format("--window-size={},{}", width, height),
                                            "--virtual-time-budget=1500",
                                            "--screenshot=" + shot,
                                            url};
  const bool ok = run_program(command, kTimeoutSeconds / 6) || run_program(command, kTimeoutSeconds / 2) ||
                  run_program(command);
  std::error_code error;
  if (!ok || !fs::exists(shot, error)) {
    throw OutputError(png,
                      browser + fmt::format(" did not draw it in three tries, the last of {} s; a loaded "
                                            "machine may need another, and SVG files need no browser",
                                            kTimeoutSeconds));
  }
  fs::copy_file(shot, png, fs::copy_options::overwrite_existing, error);
  if (error) throw OutputError(png, error.message());
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  path_ = (fs::temp_directory_path() / "capstan_XXXXXX").string();
  if (!::mkdtemp(path_.data())) throw OutputError(path_, "the folder cannot be made");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

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
  const std::string page = folder / "plot.html";
  write_file(page,
             "<!doctype html><meta charset=utf-8><style>body{margin:0}svg{display:block}</style>" + svg);
  take_picture("file://" + page, width, height, png);
}

void picture_of_html(const std::string& html_file, const std::string& fragment, int width, int height,
                     const std::string& png) {
  take_picture("file://" + fs::absolute(html_file).string() + "#" + fragment, width, height, png);
}

void film_of_html(const std::string& html_file, const std::string& fragment, int width, int height,
                  double fps, const std::string& film) {
  const std::string script = CAPSTAN_VIEWER_FOLDER "/page/film.mjs";
  if (find_browser().empty() || !fs::exists(script)) {
    throw OutputError(
        film,
        "a film needs Chromium, ffmpeg, node and the viewer's npm packages (Debian: chromium, ffmpeg, "
        "nodejs, npm; then build again); .html and .glb do not");
  }
  const TemporaryFolder folder;
  const std::string frames = folder / "frames";
  fs::create_directory(frames);
  constexpr int kFilmSeconds = 3600;
  if (!run_program({"node", script, fs::absolute(html_file).string(), fragment, std::to_string(width),
                    std::to_string(height), frames},
                   kFilmSeconds)) {
    throw OutputError(film, "the frames could not be drawn");
  }
  const std::string rate = fmt::format("{}", fps), pattern = frames + "/%06d.png";
  const std::string part = folder / (film.ends_with(".gif") ? "film.gif" : "film.mp4");
  // A palette of its own for a GIF; a size that H.264 takes (even) and players know (yuv420p) for MP4.
  const bool ok = film.ends_with(".gif")
                      ? run_program({"ffmpeg", "-y", "-framerate", rate, "-i", pattern, "-filter_complex",
                                     "split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse", part},
                                    kFilmSeconds)
                      : run_program({"ffmpeg", "-y", "-framerate", rate, "-i", pattern, "-vf",
                                     "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264", "-pix_fmt",
                                     "yuv420p", "-crf", "20", "-movflags", "+faststart", part},
                                    kFilmSeconds);
  std::error_code error;
  if (!ok || !fs::exists(part, error)) throw OutputError(film, "ffmpeg could not write it (Debian: ffmpeg)");
  fs::copy_file(part, film, fs::copy_options::overwrite_existing, error);
  if (error) throw OutputError(film, error.message());
}

}  // namespace capstan::viewer
