#include "capstan/io/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "capstan/io/picture.h"

namespace capstan {
namespace {

constexpr std::array<const char*, 6> kColors = {"#1c7ed6", "#2f9e44", "#e8890c",
                                                "#343a40", "#ae3ec9", "#c92a2a"};
constexpr const char* kFont = "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#2b3648\"";
constexpr double kLeft = 84, kRight = 130, kTop = 44, kBottom = 52;  // [px]
constexpr std::size_t kMaxPoints = 2000;                             // of one line

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

std::string draw_plot(const std::vector<Series>& series, const PlotOptions& options) {
  double x0 = std::numeric_limits<double>::infinity(), x1 = -x0, y0 = x0, y1 = -x0;
  for (const Series& s : series) {
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      if (!std::isfinite(s.y[i])) continue;
      x0 = std::min(x0, s.x[i]), x1 = std::max(x1, s.x[i]);
      y0 = std::min(y0, s.y[i]), y1 = std::max(y1, s.y[i]);
    }
  }
  if (!(x0 <= x1)) x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  if (!(x1 > x0)) x1 = x0 + 1;
  if (!(y1 - y0 > 1e-12 * std::max(std::abs(y0), std::abs(y1)))) y0 -= 0.5, y1 += 0.5;
  const std::vector<double> x_ticks = round_ticks(x0, x1, 8), y_ticks = round_ticks(y0, y1, 5);
  y0 = std::min(y0, y_ticks.front()), y1 = std::max(y1, y_ticks.back());
  const double w = options.width - kLeft - kRight, h = options.height - kTop - kBottom;
  const auto px = [&](double x) { return kLeft + (x - x0) / (x1 - x0) * w; };
  const auto py = [&](double y) { return kTop + (y1 - y) / (y1 - y0) * h; };

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#f6f7fa\"/>\n"
      "<text x=\"{2}\" y=\"28\" font-size=\"18\" {3}>{4}</text>\n<g font-size=\"13\" {3}>\n",
      options.width, options.height, kLeft, kFont, xml_text(options.title));
  for (const double y : y_ticks) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#d5dbe4\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.6g}</text>\n",
        kLeft, py(y), w, kLeft - 8, py(y) + 4.5, y);
  }
  for (const double x : x_ticks) {
    if (x < x0 - 1e-9 || x > x1 + 1e-9 * (x1 - x0)) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n", px(x),
                       kTop + h + 20, x);
  }
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kLeft + w / 2, kTop + h + 42, xml_text(options.x_label), kTop + h / 2, xml_text(options.y_label));
  for (std::size_t k = 0; k < series.size(); ++k) {
    const Series& s = series[k];
    const char* color = kColors[k % kColors.size()];
    const std::size_t stride = std::max<std::size_t>(1, s.x.size() / kMaxPoints);
    svg += fmt::format(
        "<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\" d=\"", color);
    bool pen_down = false;
    for (std::size_t i = 0; i < s.x.size(); i += stride) {
      const bool good = std::isfinite(s.y[i]);
      if (good) {
        fmt::format_to(std::back_inserter(svg), "{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', px(s.x[i]),
                       py(s.y[i]));
      }
      pen_down = good;
    }
    svg += fmt::format(
        "\"/>\n<path d=\"M{0:.1f} {1:.1f}h18\" stroke=\"{2}\" stroke-width=\"3\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
        kLeft + w + 14, kTop + 12 + 22.0 * static_cast<double>(k), color, kLeft + w + 40,
        kTop + 16.5 + 22.0 * static_cast<double>(k), xml_text(s.name));
  }
  return svg + "</g>\n</svg>\n";
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
