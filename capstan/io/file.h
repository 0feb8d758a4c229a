// Whole files into memory, with the messages a user needs when that fails.
#pragma once

#include <string>

#include "capstan/base/diagnostics.h"

namespace capstan {

// Reads all bytes of a regular file. False when it is missing, a directory, empty, not readable or larger
// than max_bytes; the reason is then an error at `where` that names the path tried. `kind` is the word the
// message uses: "scene", "mesh".
bool read_file(const std::string& path, long max_bytes, const std::string& kind, const Source& where,
               std::string* bytes, Diagnostics* diagnostics);

// ".stl" of "a/Part.STL": the extension in small letters.
std::string lower_extension(const std::string& path);

}  // namespace capstan
