// Plots of a log or a recording, as SVG, or as PNG by way of Chromium.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "apps/capstan/commands.h"
#include "capstan/base/closest_name.h"
#include "capstan/io/file.h"
#include "capstan/io/output_file.h"
#include "capstan/io/plot.h"
#include "capstan/io/recording_hdf5.h"
#include "viewer/browser.h"

namespace capstan::cli {
namespace {

constexpr long kMaxLogBytes = 4L << 30;
constexpr std::size_t kMaxLines = 12;  // in one plot

struct Table {
  std::vector<std::string> names, units;
  std::vector<std::vector<double>> columns;
};

// RFC 4180 without line breaks inside fields, which our names do not have.
std::vector<std::string> split_csv(const std::string& line) {
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
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

Table read_csv(const std::string& path) {
  if (is_hdf5_file(path)) {
    throw InputError(Source{path, 0}, kHdf5, "give a .csv log or a .capstan recording");
  }
  Diagnostics diagnostics;
  std::string text;
  if (!read_file(path, kMaxLogBytes, "log", {path, 0}, &text, &diagnostics)) throw InputError(diagnostics);
  Table table;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  for (const std::string& field : split_csv(line)) {
    const std::size_t unit = field.rfind(" [");
    table.names.push_back(field.substr(0, unit));
    table.units.push_back(unit == std::string::npos ? "" : field.substr(unit + 2, field.size() - unit - 3));
  }
  table.columns.resize(table.names.size());
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::vector<std::string> fields = split_csv(line);
    if (fields.size() != table.names.size()) {
      if (lines.eof()) break;  // the run was killed within a line
      throw InputError(
          Source{path, number},
          fmt::format("the line has {} fields, the first one has {}", fields.size(), table.names.size()),
          "give a log that 'capstan run --log' wrote");
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      char* end = nullptr;
      table.columns[i].push_back(std::strtod(fields[i].c_str(), &end));
      if (end == fields[i].c_str()) {
        throw InputError(Source{path, number}, fmt::format("'{}' is not a number", fields[i]),
                         "give a log that 'capstan run --log' wrote");
      }
    }
  }
  return table;
}

Table read_recording(const std::string& path) {
  LoadedRecording loaded(path);
  Table table;
  const LogHeader header = log_header(loaded.model, path, loaded.recording.header().options);
  for (const LogColumn& c : header.columns) table.names.push_back(c.name), table.units.push_back(c.unit);
  const auto num_logged = static_cast<Eigen::Index>(log_numbers().size());
  for (Eigen::Index i = num_logged; i < static_cast<Eigen::Index>(loaded.recording.header().numbers.size());
       ++i) {
    table.names.push_back(loaded.recording.header().numbers[static_cast<std::size_t>(i)].name);
    table.units.push_back(loaded.recording.header().numbers[static_cast<std::size_t>(i)].unit);
  }
  table.columns.resize(table.names.size());
  VecX row;
  for (long f = 0; f < loaded.recording.num_frames(); ++f) {
    const RecordedFrame& frame = loaded.recording.frame(f);
    make_log_row(loaded.model, frame.state, frame.numbers, &row);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      table.columns[i].push_back(row[static_cast<Eigen::Index>(i)]);
  }
  return table;
}

// Columns that a word asks for: one of that name, else all of which it is a part between dots.
std::vector<std::size_t> find_columns(const Table& table, const std::string& word) {
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < table.names.size(); ++i) {
    if (table.names[i] == word) return {i};
    const std::string dotted = "." + table.names[i] + ".";
    if (dotted.find("." + word + ".") != std::string::npos) found.push_back(i);
  }
  if (!found.empty()) return found;
  const std::string near = closest_name(word, table.names);
  throw UsageError(fmt::format(
      "there is no column '{}'; {}the first are {}", word,
      near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
      fmt::join(table.names.begin(),
                table.names.begin() + static_cast<long>(std::min<std::size_t>(12, table.names.size())),
                ", ")));
}

}  // namespace

int plot(const PlotCommandOptions& o) {
  const std::string kind = lower_extension(o.out);
  if (kind != ".svg" && kind != ".png")
    throw UsageError(fmt::format("a plot is .svg or .png, not '{}'", o.out));
  if (same_file(o.log, o.out)) throw UsageError("the output is the log itself; choose another name");
  const Table table = is_recording(o.log) ? read_recording(o.log) : read_csv(o.log);
  std::istringstream words(o.y);
  std::vector<std::string> pictures;
  constexpr int kWidth = 960, kHeight = 400;
  for (std::string word; std::getline(words, word, ',');) {
    if (word.empty()) continue;
    const std::vector<std::size_t> columns = find_columns(table, word);
    if (columns.size() > kMaxLines) {
      throw UsageError(
          fmt::format("'{}' is a part of {} columns; at most {} fit into a plot. Say which, such as '{}'",
                      word, columns.size(), kMaxLines, table.names[columns.front()]));
    }
    PlotOptions options;
    options.width = kWidth;
    options.height = kHeight;
    options.title = fmt::format("{}: {}", std::filesystem::path(o.log).stem().string(), word);
    const std::string& unit = table.units[columns.front()];
    options.y_label = unit == "1" || unit.empty() ? word : fmt::format("{} [{}]", word, unit);
    std::vector<Series> series;
    for (const std::size_t i : columns) {
      const std::string& name = table.names[i];
      const bool short_name = columns.size() > 1 && name.starts_with(word + ".");
      series.push_back(
          {short_name ? name.substr(word.size() + 1) : name, table.columns[0], table.columns[i]});
    }
    pictures.push_back(draw_plot(series, options));
  }
  if (pictures.empty()) throw UsageError("--y names no columns; give some, such as --y energy,contacts");
  const std::string svg = arrange(pictures, 1, kWidth, kHeight);
  if (kind == ".svg") {
    write_file(o.out, svg);
  } else {
    viewer::picture_of_svg(svg, kWidth, static_cast<int>(pictures.size()) * (kHeight + 6) - 6, o.out);
  }
  fmt::print("{}: {} plot{}, {} points\n", o.out, pictures.size(), pictures.size() == 1 ? "" : "s",
             table.columns[0].size());
  return kOk;
}

}  // namespace capstan::cli
