// Pages of docs/ and the programs that they show.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace capstan::test {

// A file of the source tree.
inline std::string read_text(const std::string& file) {
  std::ifstream in(CAPSTAN_SOURCE_DIR "/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What stands between the first `begin` and the next `end`.
inline std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t a = text.find(begin);
  EXPECT_NE(a, std::string::npos) << begin;
  if (a == std::string::npos) return "";
  return text.substr(a + begin.size(), text.find(end, a + begin.size()) - a - begin.size());
}

}  // namespace capstan::test
