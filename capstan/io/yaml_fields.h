// Typed reading of a YAML map: each key asked for is a known key, and what is left over is reported.
//
// All functions report their problems with file and line, return false (or null) and leave the output as it
// was, so that reading goes on and finds the other problems too.
#pragma once

#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "capstan/io/yaml_tree.h"
#include "capstan/math/types.h"
#include "capstan/scene/scene.h"

namespace capstan {

inline constexpr double kDegree = std::numbers::pi / 180;  // [rad]

struct YamlSource {
  std::string file;
  Diagnostics* diagnostics = nullptr;

  Source at(const YamlNode& node) const { return {file, node.line}; }
};

// What a number may be. NaN never; infinity only where `infinite` is set (written .inf or inf).
struct NumberRule {
  enum class Sign { any, not_negative, positive };
  Sign sign = Sign::any;
  bool infinite = false;
};
inline constexpr NumberRule kAny{};
inline constexpr NumberRule kNotNegative{NumberRule::Sign::not_negative, false};
inline constexpr NumberRule kPositive{NumberRule::Sign::positive, false};
inline constexpr NumberRule kPositiveOrInfinite{NumberRule::Sign::positive, true};
inline constexpr NumberRule kNotNegativeOrInfinite{NumberRule::Sign::not_negative, true};
inline constexpr NumberRule kAnyOrInfinite{NumberRule::Sign::any, true};

// `what` names the value in messages: "mass of body 'hand'".
bool read_number(const YamlSource& source, const YamlNode& node, const std::string& what,
                 const NumberRule& rule, double* value);
// A list of numbers, of a length between the two bounds.
bool read_numbers(const YamlSource& source, const YamlNode& node, const std::string& what, size_t min_count,
                  size_t max_count, const NumberRule& rule, std::vector<double>* values);
bool read_text(const YamlSource& source, const YamlNode& node, const std::string& what, std::string* value);
inline constexpr long kMostBits = (1L << 53) - 1;  // of collision bits: what a double holds exactly
// [lower, upper], lower <= upper; either may be infinite.
bool read_range(const YamlSource& source, const YamlNode& node, const std::string& what, Range* range);

class YamlFields {
 public:
  // `what` names the thing in messages: "body 'hand'". A node that is not a map is reported and reads as
  // empty.
  YamlFields(const YamlSource& source, const YamlNode& node, std::string what);

  // Null when the map does not have the key, or has it with nothing written behind it (which is reported).
  const YamlNode* find(const std::string& key);
  bool has(const std::string& key);

  bool number(const std::string& key, double* value, const NumberRule& rule = kAny);
  bool number(const std::string& key, std::optional<double>* value, const NumberRule& rule = kAny);
  bool integer(const std::string& key, long lower, long upper, long* value);
  bool vec3(const std::string& key, Vec3* value, const NumberRule& rule = kAny);
  bool flag(const std::string& key, bool* value);
  bool text(const std::string& key, std::string* value);
  bool range(const std::string& key, Range* value);
  // One of the words, as its index.
  bool choice(const std::string& key, const std::vector<std::string>& words, int* value);
  // A vector that has a direction: not zero.
  bool direction(const std::string& key, Vec3* value);
  // An angle as `key` [rad] or `key`_deg.
  bool angle(const std::string& key, double* value);
  // Calls `entry` for each item of a list.
  void each(const std::string& key, const std::function<void(const YamlNode&)>& entry);
  // Of keys that exclude each other, reports when more than one is there; the number that are.
  int at_most_one(const std::vector<std::string>& keys);

  // PREFIXsolref and PREFIXsolimp, of which either may be left out.
  void soft_reference(const std::string& prefix, std::optional<SoftReference>* value);
  // Where the key is written: a warning that it has no effect here, and why.
  void no_effect(const std::string& key, const std::string& why, const std::string& remedy);

  // Unknown keys, with what was probably meant. Call it when all known keys have been asked for.
  void done();
  // Another word that people use for one of the keys; done() then says which.
  void hint(const std::string& other_word, const std::string& key) { hints_[other_word] = key; }

  void error(const YamlNode& node, const std::string& what, const std::string& remedy = "");
  Source where() const { return source_.at(node_); }
  Source where(const std::string& key) const;
  const YamlSource& source() const { return source_; }
  const YamlNode& node() const { return node_; }
  const std::string& what() const { return what_; }
  void rename(std::string what) { what_ = std::move(what); }
  std::string of(const std::string& key) const { return key + " of " + what_; }

 private:
  const YamlSource& source_;
  const YamlNode& node_;
  std::string what_;
  std::vector<std::string> known_;
  std::map<std::string, std::string> hints_;
};

}  // namespace capstan
