#include "capstan/io/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace capstan {
namespace fs = std::filesystem;

OutputError::OutputError(const std::string& path, const std::string& reason)
    : std::runtime_error(fmt::format("error: cannot write '{}': {}", path, reason)) {}

void write_file(const std::string& path, const void* data, std::size_t bytes) {
  const std::string part = fmt::format("{}.{}.part", path, ::getpid());
  if (fs::is_directory(path)) throw OutputError(path, "it is a folder");
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw OutputError(path, std::strerror(errno));
  const auto give_up = [&] {
    const int reason = errno;
    ::close(file);
    ::unlink(part.c_str());
    throw OutputError(path, std::strerror(reason));
  };
  const char* p = static_cast<const char*>(data);
  for (std::size_t left = bytes; left > 0;) {
    const ssize_t written = ::write(file, p, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up();
    p += written;
    left -= static_cast<std::size_t>(written);
  }
  if (::fsync(file) != 0 && errno != EINVAL) give_up();
  if (::rename(part.c_str(), path.c_str()) != 0) give_up();
  ::close(file);
}

void write_file(const std::string& path, const std::string& text) {
  write_file(path, text.data(), text.size());
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

}  // namespace capstan
