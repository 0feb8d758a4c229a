#include "capstan/io/file.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace capstan {

bool read_file(const std::string& path, long max_bytes, const std::string& kind, const Source& where,
               std::string* bytes, Diagnostics* diagnostics) {
  namespace fs = std::filesystem;
  bytes->clear();
  auto fail = [&](const std::string& what, const std::string& remedy) {
    diagnostics->error(where, fmt::format("{} file '{}' {}", kind, path, what), remedy);
    return false;
  };
  if (path.empty() || path.find('\0') != std::string::npos) return fail("has no usable name", "write a path");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none) {
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
      return fail("cannot be opened: " + error.message(), "check the path and its permissions");
    }
    std::string remedy = "check the path";
    const fs::path here = fs::current_path(error);
    if (!error && fs::path(path).is_relative()) {
      remedy += fmt::format("; it is looked for in '{}'", here.string());
    }
    return fail("does not exist", remedy);
  }
  if (fs::is_directory(status)) return fail("is a directory", "name a file in it");
  if (!fs::is_regular_file(status)) return fail("is not a regular file", "name a file on disk");
  const auto size = fs::file_size(path, error);
  if (error) return fail("cannot be read: " + error.message(), "");
  if (size == 0) return fail("is empty", "");
  if (size > static_cast<std::uintmax_t>(max_bytes)) {
    return fail(fmt::format("has {} bytes, the limit is {}", size, max_bytes),
                "make it smaller, or raise the limit (ReadLimits)");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return fail("cannot be opened", "check its permissions");
  bytes->resize(size);
  if (std::fread(bytes->data(), 1, size, file.get()) != size) {
    return fail("cannot be read to its end", "check the disk, and that nothing is writing to it");
  }
  return true;
}

std::string lower_extension(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

}  // namespace capstan
