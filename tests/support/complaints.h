// What readers and compile() say of a scene, without the warnings that a key has no effect: for tests of
// scenes that have every key there is. Those warnings have tests of their own (io/effect_test.cc).
#pragma once

#include <string>

#include "capstan/base/diagnostics.h"

namespace capstan {

inline std::string complaints(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.list) {
    if (d.severity == Severity::error || d.what.find(" has no effect: ") == std::string::npos)
      text += to_string(d) + "\n";
  }
  return text;
}

}  // namespace capstan
