// Plots as SVG: lines and markers over linear or logarithmic axes, with the legend beside the data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace capstan {

enum class LineStyle { solid, dashed, dotted, none };

struct Series {
  std::string name;          // in the legend; "" leaves the series out of it
  std::vector<double> x, y;  // of one length; points that are not finite, or not positive on a logarithmic
                             // axis, break the line
  LineStyle line = LineStyle::solid;
  bool markers = false;  // a dot at every point
  int color = -1;        // of the palette; negative: the next one. kGray for references
  static constexpr int kGray = 1000;
};

struct PlotRange {
  double low = 0, high = 1;
};

struct PlotOptions {
  int width = 960, height = 400;  // [px]
  std::string title, x_label = "time [s]", y_label;
  bool log_x = false, log_y = false;
  std::optional<PlotRange> x_range, y_range;  // what is shown; absent: all of the data
};

std::string draw_plot(const std::vector<Series>& series, const PlotOptions& options);

// About `count` round numbers (1, 2 or 5 times a power of ten apart) that cover [low, high].
std::vector<double> round_ticks(double low, double high, int count);

// Powers of ten within [low, high], both positive; also 2 and 5 times them where there are fewer than three,
// and every second, third, ... one where there are more than `count`.
std::vector<double> log_ticks(double low, double high, int count);

// Several SVG pictures of one size side by side, row by row.
std::string arrange(const std::vector<std::string>& pictures, int columns, int width, int height);

}  // namespace capstan
