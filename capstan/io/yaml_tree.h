// A YAML document as a plain tree that knows its lines.
//
// Built from yaml-cpp's parser events rather than its Node, so that duplicate keys, aliases and depth can be
// judged: an alias shares the node it names, and the size of a node counts what it would be written out, so
// that a few lines of aliases of aliases cannot ask for unbounded work.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/io/read.h"

namespace capstan {

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  int line = 0;
  std::string text;                                    // scalar
  std::vector<std::string> keys;                       // map: of items, in the order written
  std::vector<int> key_lines;                          // map
  std::vector<std::shared_ptr<const YamlNode>> items;  // list or map
  long size = 1;                                       // nodes in all, aliases written out
};

// Null when the text is not YAML; the reason is then in `diagnostics`. A key that a map has twice is an
// error, and the first one is kept.
std::shared_ptr<const YamlNode> parse_yaml(const std::string& text, const std::string& file,
                                           const ReadLimits& limits, Diagnostics* diagnostics);

// "a number", "a list of 3", "a map", "'red'": for messages. Long texts are cut.
std::string describe(const YamlNode& node);

}  // namespace capstan
