#include "capstan/io/controls_csv.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "capstan/io/file.h"

namespace capstan {

namespace {

constexpr long kMaxBytes = 256L << 20;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// RFC 4180 without line breaks inside fields.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[i++];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  for (std::string& field : fields) field = trimmed(field);
  return fields;
}

std::string column_name(std::string name) {
  if (const auto bracket = name.rfind(" ["); bracket != std::string::npos && name.back() == ']')
    name.resize(bracket);
  if (name.ends_with(".control")) name.resize(name.size() - 8);
  return name;
}

}  // namespace

std::vector<ControlPoint> read_controls_csv(const std::string& path, Interpolation interpolation,
                                            Diagnostics* diagnostics) {
  std::vector<ControlPoint> points;
  std::string content;
  if (!read_file(path, kMaxBytes, "controls", {path, 0}, &content, diagnostics)) return points;
  std::istringstream lines(content);
  std::vector<std::string> names;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const Source where{path, ++number};
    const std::string text = trimmed(line);
    if (text.empty() || text[0] == '#') continue;
    const std::vector<std::string> fields = split(line);
    if (names.empty()) {
      for (const std::string& field : fields) names.push_back(column_name(field));
      if (names[0] == "time" && names.size() > 1) continue;
      diagnostics->error(where, "the first line does not name the columns",
                         "write 'time,' and names of actuators");
      return points;
    }
    if (fields.size() != names.size()) {
      diagnostics->error(where, fmt::format("{} fields for {} columns", fields.size(), names.size()),
                         "write one for each column; it may be empty");
      return points;
    }
    ControlPoint point;
    point.where = where;
    point.interpolation = interpolation;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].empty() && i > 0) continue;
      double value = 0;
      const char *begin = fields[i].data(), *end = begin + fields[i].size();
      const auto [next, problem] = std::from_chars(begin, end, value);
      if (problem != std::errc() || next != end || !std::isfinite(value)) {
        diagnostics->error(where, fmt::format("'{}' in column '{}' is not a number", fields[i], names[i]),
                           "write a finite number, such as 0.5");
        return points;
      }
      if (i == 0) {
        point.time = value;
      } else {
        point.control[names[i]] = value;
      }
    }
    points.push_back(std::move(point));
  }
  if (points.empty())
    diagnostics->error({path, 0}, "the file has no controls",
                       "write a line of names, and a line for each time");
  return points;
}

}  // namespace capstan
