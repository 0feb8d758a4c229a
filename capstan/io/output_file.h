// Files out. A file that cannot be written is told with its path and the system's reason (no such folder, no
// permission, disk full).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace capstan {

// what() names the file and says why it cannot be written.
class OutputError : public std::runtime_error {
 public:
  OutputError(const std::string& path, const std::string& reason);
};

// The whole content at once: written beside `path`, brought to disk, then renamed over it, so that a reader
// finds the old content or the new, never a part. Throws OutputError; `path` is then as it was.
void write_file(const std::string& path, const void* data, std::size_t bytes);
void write_file(const std::string& path, const std::string& text);

// For those who write to disk every few seconds: of a clock that never goes back.
double seconds_now();

// Both paths lead to one existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace capstan
