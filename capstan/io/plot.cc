#include "capstan/io/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "capstan/io/picture.h"

namespace capstan {
namespace {

constexpr std::array<const char*, 8> kColors = {"#1c7ed6", "#2f9e44", "#e8890c", "#343a40",
                                                "#ae3ec9", "#c92a2a", "#0c8599", "#a07d2c"};
constexpr const char* kGrayColor = "#868e96";
constexpr const char* kFont = "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#2b3648\"";
constexpr double kLeft = 84, kTop = 44, kBottom = 52;  // [px]
constexpr double kLetter = 7.2, kLegendSample = 26;    // [px] a wide letter of the legend; line and gap
constexpr int kMaxBuckets = 900;                       // a longer line keeps the extremes of so many parts

// One axis: from values to pixels.
struct Axis {
  bool log = false;
  double low = 0, high = 1;  // of the data, or their logarithms
  double start = 0, size = 1;
  std::vector<double> ticks;

  double map(double value) const { return log ? std::log10(value) : value; }
  bool shows(double value) const { return std::isfinite(value) && (!log || value > 0); }
  double pixel(double value) const { return start + (map(value) - low) / (high - low) * size; }

  // Holds all finite values, or `range`; linear axes end at a tick where `to_ticks`.
  void fit(const std::vector<Series>& series, bool of_x, const std::optional<PlotRange>& range, bool to_ticks,
           int count) {
    low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Series& s : series) {
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        const double value = of_x ? s.x[i] : s.y[i], other = of_x ? s.y[i] : s.x[i];
        if (!shows(value) || !std::isfinite(other)) continue;
        low = std::min(low, map(value)), high = std::max(high, map(value));
      }
    }
    if (range) low = map(range->low), high = map(range->high);
    if (!(low <= high)) low = 0, high = 1;
    if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) low -= 0.5, high += 0.5;
    if (log) {
      if (!range) low -= 0.04 * (high - low), high += 0.04 * (high - low);
      ticks = log_ticks(std::pow(10, low), std::pow(10, high), count);
    } else {
      ticks = round_ticks(low, high, count);
      // Up to the next tick, unless that would leave much of the plot empty.
      const double reach = 0.3 * (high - low);
      if (to_ticks && !range) {
        low = low - ticks.front() < reach ? std::min(low, ticks.front()) : low - 0.15 * reach;
        high = ticks.back() - high < reach ? std::max(high, ticks.back()) : high + 0.15 * reach;
      }
      const double slack = 1e-9 * (high - low);
      std::erase_if(ticks, [&](double t) { return t < low - slack || t > high + slack; });
    }
  }
};

// "0.5", or 10 with a raised exponent for the powers of a logarithmic axis.
std::string tick_text(const Axis& axis, double value) {
  const double exponent = std::log10(std::max(value, std::numeric_limits<double>::min()));
  const bool power = std::abs(exponent - std::round(exponent)) < 1e-9;
  if (!axis.log || !power || (value > 5e-3 && value < 5e3)) return fmt::format("{:.6g}", value);
  return fmt::format("10<tspan dy=\"-5\" font-size=\"10\">{:.0f}</tspan>", std::round(exponent));
}

// The points to draw of a long line: for each of kMaxBuckets stretches its lowest and highest point, so that
// no peak is lost.
std::vector<std::size_t> chosen_points(const Series& s) {
  std::vector<std::size_t> chosen;
  const std::size_t n = s.x.size(), bucket = n / kMaxBuckets + 1;
  for (std::size_t begin = 0; begin < n; begin += bucket) {
    const std::size_t end = std::min(n, begin + bucket);
    if (bucket == 1) {
      chosen.push_back(begin);
      continue;
    }
    std::size_t low = begin, high = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(s.y[i])) {
        chosen.push_back(i);
        continue;
      }
      if (!(s.y[low] <= s.y[i])) low = i;
      if (!(s.y[high] >= s.y[i])) high = i;
    }
    chosen.push_back(std::min(low, high));
    if (low != high) chosen.push_back(std::max(low, high));
  }
  return chosen;
}

const char* dashes(LineStyle style) {
  return style == LineStyle::dashed   ? " stroke-dasharray=\"7 5\""
         : style == LineStyle::dotted ? " stroke-dasharray=\"2 4\""
                                      : "";
}

std::string draw_series(const Series& s, const char* color, const Axis& x, const Axis& y) {
  std::string svg;
  const auto good = [&](std::size_t i) { return x.shows(s.x[i]) && y.shows(s.y[i]); };
  if (s.line != LineStyle::none) {
    svg +=
        fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{} d=\"",
                    color, dashes(s.line));
    bool pen_down = false;
    for (const std::size_t i : chosen_points(s)) {
      if (good(i)) {
        fmt::format_to(std::back_inserter(svg), "{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', x.pixel(s.x[i]),
                       y.pixel(s.y[i]));
      }
      pen_down = good(i);
    }
    svg += "\"/>\n";
  }
  for (std::size_t i = 0; s.markers && i < s.x.size(); ++i) {
    if (!good(i)) continue;
    fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.4\" fill=\"{}\"/>\n",
                   x.pixel(s.x[i]), y.pixel(s.y[i]), color);
  }
  return svg;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  const double raw = std::max((high - low) / std::max(1, count), std::numeric_limits<double>::min());
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
  std::vector<double> ticks;
  for (double k = std::floor(low / step); ticks.size() < 100; ++k) {
    ticks.push_back(k * step);
    if (k * step >= high - 1e-9 * step) break;
  }
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int count) {
  const double first = std::ceil(std::log10(low) - 1e-9), last = std::floor(std::log10(high) + 1e-9);
  const double every = std::max(1.0, std::ceil((last - first + 1) / std::max(1, count)));
  std::vector<double> ticks;
  if (last - first + 1 >= 3) {
    for (double k = std::ceil(first / every) * every; k <= last; k += every) ticks.push_back(std::pow(10, k));
    return ticks;
  }
  for (double k = first - 1; k <= last; ++k) {
    for (const double m : {1.0, 2.0, 5.0}) {
      const double value = m * std::pow(10, k);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back(value);
    }
  }
  return ticks;
}

std::string draw_plot(const std::vector<Series>& series, const PlotOptions& options) {
  std::size_t longest = 0;
  for (const Series& s : series) longest = std::max(longest, s.name.size());
  const double right = longest == 0 ? 24 : 14 + kLegendSample + kLetter * static_cast<double>(longest);
  const double w = options.width - kLeft - right, h = options.height - kTop - kBottom;
  Axis x, y;
  x.log = options.log_x, y.log = options.log_y;
  x.fit(series, true, options.x_range, false, std::max(3, static_cast<int>(w / 90)));
  y.fit(series, false, options.y_range, true, std::max(3, static_cast<int>(h / 55)));
  x.start = kLeft, x.size = w, y.start = kTop + h, y.size = -h;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#f6f7fa\"/>\n"
      "<text x=\"{2}\" y=\"28\" font-size=\"18\" {3}>{4}</text>\n<g font-size=\"13\" {3}>\n",
      options.width, options.height, kLeft, kFont, xml_text(options.title));
  for (const double tick : y.ticks) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#d5dbe4\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        kLeft, y.pixel(tick), w, kLeft - 8, y.pixel(tick) + 4.5, tick_text(y, tick));
  }
  for (const double tick : x.ticks) {
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}v{2:.1f}\" stroke=\"#e4e8ee\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x.pixel(tick), kTop, h, kTop + h + 20, tick_text(x, tick));
  }
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n"
      "<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" viewBox=\"{:.1f} {:.1f} {:.1f} "
      "{:.1f}\">\n",
      kLeft + w / 2, kTop + h + 42, xml_text(options.x_label), kTop + h / 2, xml_text(options.y_label),
      // What leaves the axes is cut, but for the half of a line or marker on their border.
      kLeft - 4, kTop - 4, w + 8, h + 8, kLeft - 4, kTop - 4, w + 8, h + 8);
  int next_color = 0;
  std::string legend;
  double row = kTop + 12;
  for (const Series& s : series) {
    const int index = s.color >= 0 ? s.color : next_color++;
    const char* color = index == Series::kGray ? kGrayColor : kColors[index % kColors.size()];
    svg += draw_series(s, color, x, y);
    if (s.name.empty()) continue;
    if (s.line != LineStyle::none) {
      legend += fmt::format("<path d=\"M{:.1f} {:.1f}h18\" stroke=\"{}\" stroke-width=\"2.6\"{}/>",
                            kLeft + w + 12, row, color, dashes(s.line));
    }
    if (s.markers) {
      legend += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.4\" fill=\"{}\"/>", kLeft + w + 21,
                            row, color);
    }
    legend += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kLeft + w + 12 + kLegendSample,
                          row + 4.5, xml_text(s.name));
    row += 22;
  }
  return svg + "</svg>\n" + legend + "</g>\n</svg>\n";
}

std::string arrange(const std::vector<std::string>& pictures, int columns, int width, int height) {
  constexpr int kGap = 6;
  const int rows = (static_cast<int>(pictures.size()) + columns - 1) / columns;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      columns * width + (columns - 1) * kGap, rows * height + (rows - 1) * kGap);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const int column = static_cast<int>(i) % columns, row = static_cast<int>(i) / columns;
    svg += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", column * (width + kGap),
                       row * (height + kGap), pictures[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace capstan
