#include "capstan/io/yaml_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "capstan/base/closest_name.h"

namespace capstan {
namespace {

// The text is a number, infinite and NaN included.
bool parse_number(std::string_view text, double* value) {
  double sign = 1;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    if (text[0] == '-') sign = -1;
    text.remove_prefix(1);
  }
  if (text.empty() || text[0] == '+' || text[0] == '-') return false;
  if (text == ".inf" || text == ".Inf" || text == ".INF" || text == "inf") {
    *value = sign * kInfinity;
    return true;
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN" || text == "nan") {
    *value = std::nan("");
    return true;
  }
  double magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (end != text.data() + text.size()) return false;
  // from_chars leaves the value alone when it is too large or too small; the exponent's sign tells which.
  if (error == std::errc::result_out_of_range) {
    const size_t exponent = text.find_first_of("eE");
    const bool small =
        exponent != std::string_view::npos ? text.substr(exponent + 1, 1) == "-" : text[0] == '0';
    magnitude = small ? 0 : kInfinity;
  } else if (error != std::errc()) {
    return false;
  }
  *value = sign * magnitude;
  return true;
}

}  // namespace

bool read_number(const YamlSource& source, const YamlNode& node, const std::string& what,
                 const NumberRule& rule, double* value) {
  const Source where = source.at(node);
  double number = 0;
  if (node.kind != YamlNode::Kind::scalar || !parse_number(node.text, &number)) {
    source.diagnostics->error(where, fmt::format("{} is {}, not a number", what, describe(node)),
                              "write one plain number in SI units, without the unit");
    return false;
  }
  if (std::isnan(number)) {
    source.diagnostics->error(where, fmt::format("{} is not a number (NaN)", what), "write a number");
    return false;
  }
  if (std::isinf(number) && !rule.infinite) {
    source.diagnostics->error(where, fmt::format("{} is '{}', which is not finite", what, node.text),
                              "write a finite number");
    return false;
  }
  if (rule.sign == NumberRule::Sign::positive && !(number > 0)) {
    source.diagnostics->error(where, fmt::format("{} is {}", what, number), "write a number above 0");
    return false;
  }
  if (rule.sign == NumberRule::Sign::not_negative && !(number >= 0)) {
    source.diagnostics->error(where, fmt::format("{} is {}", what, number), "write 0 or a number above it");
    return false;
  }
  *value = number;
  return true;
}

bool read_numbers(const YamlSource& source, const YamlNode& node, const std::string& what, size_t min_count,
                  size_t max_count, const NumberRule& rule, std::vector<double>* values) {
  const std::string wanted = min_count == max_count ? fmt::format("{} numbers", min_count)
                                                    : fmt::format("{} to {} numbers", min_count, max_count);
  if (node.kind != YamlNode::Kind::list || node.items.size() < min_count || node.items.size() > max_count) {
    source.diagnostics->error(source.at(node),
                              fmt::format("{} is {}, not a list of {}", what, describe(node), wanted),
                              min_count == 3 && max_count == 3 ? "write it as [x, y, z]" : "");
    return false;
  }
  std::vector<double> numbers(node.items.size());
  bool ok = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    ok &= read_number(source, *node.items[i], fmt::format("number {} of {}", i + 1, what), rule, &numbers[i]);
  }
  if (ok) *values = std::move(numbers);
  return ok;
}

bool read_text(const YamlSource& source, const YamlNode& node, const std::string& what, std::string* value) {
  if (node.kind != YamlNode::Kind::scalar) {
    source.diagnostics->error(source.at(node), fmt::format("{} is {}, not a word", what, describe(node)));
    return false;
  }
  *value = node.text;
  return true;
}

bool read_range(const YamlSource& source, const YamlNode& node, const std::string& what, Range* range) {
  std::vector<double> v;
  if (!read_numbers(source, node, what, 2, 2, kAnyOrInfinite, &v)) return false;
  if (!(v[0] <= v[1])) {
    source.diagnostics->error(source.at(node), fmt::format("{} is [{}, {}]", what, v[0], v[1]),
                              "write the lower end first");
    return false;
  }
  *range = {v[0], v[1]};
  return true;
}

YamlFields::YamlFields(const YamlSource& source, const YamlNode& node, std::string what)
    : source_(source), node_(node), what_(std::move(what)) {
  if (node_.kind != YamlNode::Kind::map) {
    error(node_, fmt::format("{} is {}, not a map", what_, describe(node_)),
          "write 'key: value' lines, or {key: value, ...}");
  }
}

bool YamlFields::has(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return std::find(node_.keys.begin(), node_.keys.end(), key) != node_.keys.end();
}

const YamlNode* YamlFields::find(const std::string& key) {
  if (!has(key)) return nullptr;
  const auto at = std::find(node_.keys.begin(), node_.keys.end(), key) - node_.keys.begin();
  const YamlNode& value = *node_.items[at];
  if (value.kind == YamlNode::Kind::null) {
    source_.diagnostics->error({source_.file, node_.key_lines[at]}, fmt::format("{} is empty", of(key)),
                               "write a value, or leave the key out");
    return nullptr;
  }
  return &value;
}

Source YamlFields::where(const std::string& key) const {
  const auto at = std::find(node_.keys.begin(), node_.keys.end(), key) - node_.keys.begin();
  return {source_.file, at < std::ssize(node_.keys) ? node_.key_lines[at] : node_.line};
}

bool YamlFields::number(const std::string& key, double* value, const NumberRule& rule) {
  const YamlNode* node = find(key);
  return node && read_number(source_, *node, of(key), rule, value);
}

bool YamlFields::number(const std::string& key, std::optional<double>* value, const NumberRule& rule) {
  double number_value = 0;
  if (!number(key, &number_value, rule)) return false;
  *value = number_value;
  return true;
}

bool YamlFields::integer(const std::string& key, long lower, long upper, long* value) {
  const YamlNode* node = find(key);
  if (!node) return false;
  double read = 0;
  if (!read_number(source_, *node, of(key), kAny, &read)) return false;
  if (read != std::floor(read) || read < static_cast<double>(lower) || read > static_cast<double>(upper)) {
    error(*node, fmt::format("{} is {}", of(key), describe(*node)),
          fmt::format("write a whole number from {} to {}", lower, upper));
    return false;
  }
  *value = static_cast<long>(read);
  return true;
}

bool YamlFields::vec3(const std::string& key, Vec3* value, const NumberRule& rule) {
  const YamlNode* node = find(key);
  std::vector<double> v;
  if (!node || !read_numbers(source_, *node, of(key), 3, 3, rule, &v)) return false;
  *value = {v[0], v[1], v[2]};
  return true;
}

bool YamlFields::flag(const std::string& key, bool* value) {
  const YamlNode* node = find(key);
  if (!node) return false;
  if (node->kind != YamlNode::Kind::scalar || (node->text != "true" && node->text != "false")) {
    error(*node, fmt::format("{} is {}", of(key), describe(*node)), "write true or false");
    return false;
  }
  *value = node->text == "true";
  return true;
}

bool YamlFields::text(const std::string& key, std::string* value) {
  const YamlNode* node = find(key);
  return node && read_text(source_, *node, of(key), value);
}

bool YamlFields::range(const std::string& key, Range* value) {
  const YamlNode* node = find(key);
  return node && read_range(source_, *node, of(key), value);
}

bool YamlFields::choice(const std::string& key, const std::vector<std::string>& words, int* value) {
  std::string word;
  if (!text(key, &word)) return false;
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    std::string all;
    for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
    const std::string meant = closest_name(word, words);
    error(*find(key), fmt::format("{} is {}", of(key), describe(*find(key))),
          meant.empty() ? "write one of: " + all
                        : fmt::format("did you mean '{}'? The words are: {}", meant, all));
    return false;
  }
  *value = static_cast<int>(found - words.begin());
  return true;
}

bool YamlFields::direction(const std::string& key, Vec3* value) {
  Vec3 v;
  if (!vec3(key, &v)) return false;
  if (!(v.norm() > 1e-12) || !std::isfinite(v.norm())) {
    error(*find(key), fmt::format("{} has no direction", of(key)),
          "write a vector of a length near 1, such as [0, 0, 1]");
    return false;
  }
  *value = v;
  return true;
}

bool YamlFields::angle(const std::string& key, double* value) {
  if (at_most_one({key, key + "_deg"}) > 1) return false;
  double degrees = 0;
  if (number(key + "_deg", &degrees)) {
    *value = degrees * kDegree;
    return true;
  }
  return number(key, value);
}

void YamlFields::each(const std::string& key, const std::function<void(const YamlNode&)>& entry) {
  const YamlNode* list = find(key);
  if (!list) return;
  if (list->kind != YamlNode::Kind::list) {
    error(*list, fmt::format("{} is {}, not a list", of(key), describe(*list)), "begin each entry with '- '");
    return;
  }
  for (const auto& item : list->items) entry(*item);
}

int YamlFields::at_most_one(const std::vector<std::string>& keys) {
  std::string all;
  int count = 0;
  std::string last;
  for (const std::string& key : keys) {
    if (!has(key)) continue;
    ++count;
    last = key;
    all += (all.empty() ? "" : " and ") + key;
  }
  if (count > 1) {
    source_.diagnostics->error(where(last), fmt::format("{} has {}", what_, all), "write only one of them");
  }
  return count;
}

void YamlFields::soft_reference(const std::string& prefix, std::optional<SoftReference>* value) {
  SoftReference read;
  bool any = false;
  const auto numbers = [&](const std::string& key, std::size_t least, auto* to) {
    std::vector<double> list;
    const YamlNode* node = find(key);
    if (node == nullptr || !read_numbers(source_, *node, of(key), least, to->size(), kAny, &list)) return;
    std::copy(list.begin(), list.end(), to->begin());
    any = true;
  };
  numbers(prefix + "solref", 2, &read.solref);
  numbers(prefix + "solimp", 2, &read.solimp);
  if (any) *value = read;
}

void YamlFields::no_effect(const std::string& key, const std::string& why, const std::string& remedy) {
  if (!has(key)) return;
  source_.diagnostics->warning(where(key), fmt::format("{} has no effect: {}", of(key), why), remedy);
}

void YamlFields::done() {
  for (size_t i = 0; i < node_.keys.size(); ++i) {
    const std::string& key = node_.keys[i];
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto other_word = hints_.find(key);
    std::string all;
    for (const std::string& k : known_) all += (all.empty() ? "" : ", ") + k;
    source_.diagnostics->not_understood({source_.file, node_.key_lines[i]},
                                        fmt::format("{} has the unknown key '{}'", what_, key.substr(0, 40)),
                                        other_word != hints_.end()
                                            ? fmt::format("did you mean '{}'?", other_word->second)
                                            : did_you_mean(key, known_, "the keys are: " + all));
  }
}

void YamlFields::error(const YamlNode& node, const std::string& what, const std::string& remedy) {
  source_.diagnostics->error(source_.at(node), what, remedy);
}

}  // namespace capstan
