// Scenes as text, for tests.
#pragma once

#include <string>

#include "capstan/io/read.h"

namespace capstan::test {

inline Scene scene_of(const std::string& text) {
  Diagnostics diagnostics;
  return read_yaml_text("capstan: 1\n" + text, {}, &diagnostics);
}

}  // namespace capstan::test
