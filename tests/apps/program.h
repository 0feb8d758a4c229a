// Runs the real capstan program.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace capstan::test {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string program() {
  return CAPSTAN_BINARY_DIR "/apps/capstan/capstan";
}

inline std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A folder of its own for a test, removed at the end; the shell runs in it.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/capstan_test_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

  // `line` as a shell reads it; "capstan" is the program.
  Outcome shell(const std::string& line) const {
    const fs::path out = path_ / ".out", err = path_ / ".err";
    const std::string command = "cd '" + path_.string() + "' && capstan() { '" + program() +
                                "' \"$@\"; }; { " + line + "\n} >'" + out.string() + "' 2>'" + err.string() +
                                "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(out), read_text(err)};
  }
  Outcome capstan(const std::string& arguments) const { return shell("capstan " + arguments); }

 private:
  fs::path path_;
};

// A started program, to be signalled.
class Started {
 public:
  Started(const Folder& folder, const std::vector<std::string>& arguments) {
    pid_ = fork();
    if (pid_ == 0) {
      if (chdir(folder.path().c_str()) != 0) _exit(127);
      if (!std::freopen(".started_out", "wb", stdout) || !std::freopen(".started_err", "wb", stderr))
        _exit(127);
      std::vector<char*> argv = {const_cast<char*>("capstan")};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      execv(program().c_str(), argv.data());
      _exit(127);
    }
  }
  int stop(int signal) const {  // the exit code, 128 + signal when it was killed
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

// Waits until the file is larger than `bytes`; false after 20 s.
inline bool wait_for_size(const std::string& path, std::uintmax_t bytes) {
  for (int i = 0; i < 400; ++i) {
    std::error_code error;
    if (fs::exists(path, error) && fs::file_size(path, error) > bytes) return true;
    usleep(50'000);
  }
  return false;
}

// Waits until the file, larger than `bytes`, was just written to and then left alone for a fifth of the time
// between batches: a kill now falls between two of them. False after 20 s.
inline bool wait_for_batch(const std::string& path, std::uintmax_t bytes) {
  if (!wait_for_size(path, bytes)) return false;
  const fs::file_time_type before = fs::last_write_time(path);
  fs::file_time_type last = before;
  int still = 0;
  for (int i = 0; i < 4000; ++i) {
    usleep(5'000);
    const fs::file_time_type now = fs::last_write_time(path);
    still = now == last ? still + 1 : 0;
    last = now;
    if (now != before && still == 20) return true;
  }
  return false;
}

}  // namespace capstan::test
