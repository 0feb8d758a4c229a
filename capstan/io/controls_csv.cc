#include "capstan/io/controls_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

#include "capstan/base/closest_name.h"
#include "capstan/io/file.h"

namespace capstan {

namespace {

constexpr long kMaxControlsBytes = 256L << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // that spreadsheets write

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// RFC 4180 without line breaks inside fields; false: a quote is not closed.
bool split(const std::string& line, std::vector<std::string>* list) {
  std::vector<std::string>& fields = *list;
  fields.assign(1, "");
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
  return !quoted;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) list += (i ? ", " : "") + names[i];
  return names.size() > kMost ? fmt::format("{} and {} more", list, names.size() - kMost) : list;
}

constexpr std::string_view kLogged = ".control";  // what a log has after the name of an actuator

constexpr const char* kUnread = "\n";  // in place of a name: fields have no line breaks

// The names of the columns. A log has columns "NAME.control" among others, which are not read unless they are
// names of actuators.
std::vector<std::string> columns_of(const std::vector<std::string>& fields,
                                    const std::vector<std::string>& actuators) {
  std::vector<std::string> columns;
  bool is_log = false;
  for (std::string name : fields) {
    if (const auto bracket = name.rfind(" ["); bracket != std::string::npos && name.back() == ']')
      name.resize(bracket);
    is_log = is_log || name.ends_with(kLogged);
    columns.push_back(std::move(name));
  }
  for (std::size_t i = 1; i < columns.size(); ++i) {
    std::string& name = columns[i];
    if (name.ends_with(kLogged)) {
      name.resize(name.size() - kLogged.size());
    } else if (is_log && std::find(actuators.begin(), actuators.end(), name) == actuators.end()) {
      name = kUnread;
    }
  }
  return columns;
}

// Whether the first line's names will do.
bool check_names(const Source& where, const std::vector<std::string>& names,
                 const std::vector<std::string>& actuators, Diagnostics* diagnostics) {
  if (names[0] != "time" || names.size() < 2) {
    diagnostics->error(where, fmt::format("the first line, '{}', does not name the columns", names[0]),
                       "write 'time,' and names of actuators, with commas between them");
    return false;
  }
  bool ok = true;
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == kUnread) continue;
    const bool known = std::find(actuators.begin(), actuators.end(), names[i]) != actuators.end();
    if (!known) {
      diagnostics->error(where, fmt::format("column '{}' is no actuator of the scene", names[i]),
                         did_you_mean(names[i], actuators,
                                      actuators.empty() ? "the scene has none: add 'actuators:' to it"
                                                        : fmt::format("known are {}", listed(actuators))));
    } else if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
               names.begin() + static_cast<std::ptrdiff_t>(i)) {
      diagnostics->error(where, fmt::format("there are two columns '{}'", names[i]), "leave one of them out");
    } else {
      continue;
    }
    ok = false;
  }
  return ok;
}

// One line of numbers.
bool read_point(const Source& where, const std::vector<std::string>& names,
                const std::vector<std::string>& fields, ControlPoint* point, Diagnostics* diagnostics) {
  if (fields.size() != names.size()) {
    diagnostics->error(where, fmt::format("{} fields for {} columns", fields.size(), names.size()),
                       "write one for each column; it may be empty");
    return false;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0 && (fields[i].empty() || names[i] == kUnread)) continue;
    double value = 0;
    const char *begin = fields[i].data(), *end = begin + fields[i].size();
    const auto [next, problem] = std::from_chars(begin, end, value);
    if (problem != std::errc() || next != end || !std::isfinite(value)) {
      diagnostics->error(where, fmt::format("'{}' in column '{}' is not a number", fields[i], names[i]),
                         "write a finite number, such as 0.5");
      return false;
    }
    (i == 0 ? point->time : point->control[names[i]]) = value;
  }
  return true;
}

}  // namespace

std::vector<ControlPoint> read_controls_csv(const std::string& path,
                                            const std::vector<std::string>& actuators,
                                            Interpolation interpolation, Diagnostics* diagnostics) {
  std::vector<ControlPoint> points;
  std::string content;
  if (!read_file(path, kMaxControlsBytes, "controls", {path, 0}, &content, diagnostics)) return points;
  if (content.starts_with(kByteOrderMark)) content.erase(0, kByteOrderMark.size());
  std::istringstream lines(content);
  std::vector<std::string> names, fields;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const Source where{path, ++number};
    const std::string text = trimmed(line);
    if (text.empty() || text[0] == '#') continue;
    if (!split(line, &fields)) {
      diagnostics->error(where, "a quote (\") is not closed", "close it in the same line");
      return points;
    }
    if (names.empty()) {
      names = columns_of(fields, actuators);
      if (!check_names(where, names, actuators, diagnostics)) return points;
      continue;
    }
    ControlPoint point;
    point.where = where;
    point.interpolation = interpolation;
    if (!read_point(where, names, fields, &point, diagnostics)) return points;
    if (!points.empty() && point.time < points.back().time) {
      diagnostics->error(
          where,
          fmt::format("the line for {:g} s comes after the one for {:g} s", point.time, points.back().time),
          "write the lines in the order of time");
      return points;
    }
    points.push_back(std::move(point));
  }
  if (points.empty()) {
    diagnostics->error({path, 0}, "the file has no controls",
                       "write a line of names, and a line for each time");
  }
  return points;
}

}  // namespace capstan
