// Plots over time as SVG.
#pragma once

#include <string>
#include <vector>

namespace capstan {

struct Series {
  std::string name;
  std::vector<double> x, y;  // of one length; points that are not finite break the line
};

struct PlotOptions {
  int width = 960, height = 400;  // [px]
  std::string title, x_label = "time [s]", y_label;
};

std::string draw_plot(const std::vector<Series>& series, const PlotOptions& options);

// About `count` round numbers (1, 2 or 5 times a power of ten apart) that cover [low, high].
std::vector<double> round_ticks(double low, double high, int count);

// Several SVG pictures of one size side by side, row by row.
std::string arrange(const std::vector<std::string>& pictures, int columns, int width, int height);

}  // namespace capstan
